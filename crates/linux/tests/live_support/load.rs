//! Many files at a time for as long as it is wanted, and how evenly they went on.

use super::{AIR_BPS, Path, seconds, sleep_ms};
use airtcp_core::{Duration, Instant};
use airtcp_linux::sys::{clock, sched};
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{self, FlowSpec, Outcome, RunningFlow};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Between two looks at what arrived.
const LOOK_MS: u64 = 10;
/// Nobody reads samples of these flows. On two cores the turns of hundreds of threads take seconds if each does more than it must, and
/// flows stand still with packets in their sockets.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// SCHED_FIFO priority of the hosts' threads, below gateways and emulator: other machines do not wait until a router has looked over its
/// next program.
const HOSTS: u8 = 1;
/// No file may take longer.
const DEADLINE: Duration = Duration::from_secs(600);

/// Bytes of a file that takes 10 s where so many share the air, and 2.5 s where few do.
pub fn file_bytes(flows: u64) -> u64 {
    AIR_BPS / 8 / flows * if flows < 20 { 5 } else { 20 } / 2
}

/// Files of kernel TCP, each replaced by the next one when it is through.
pub struct Load {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Calm>,
}

/// How evenly files went on.
pub struct Calm {
    /// The longest time of each file in which nothing of it arrived, the shortest first.
    pub stalls: Vec<Duration>,
    /// The longest time in which nothing of any file arrived.
    pub together: Duration,
    /// What arrived until the last file began, in bit/s.
    pub rate: u64,
    /// Retransmission timeouts of all files.
    pub timeouts: u64,
    /// How long files were begun.
    pub span: Duration,
}

impl Calm {
    /// Files that stood still for longer than this.
    pub fn longer_than(&self, time: Duration) -> usize {
        self.stalls.iter().filter(|stall| **stall > time).count()
    }

    /// The longest stall of any file.
    pub fn longest(&self) -> Duration {
        self.stalls.last().copied().unwrap_or_default()
    }

    /// Panics if more files stood still for longer than `time` than of `others`, beyond chance (three standard deviations of the
    /// difference); and if any did, where none of the others did.
    pub fn assert_no_worse_than(&self, others: &Calm, time: Duration) {
        let [(bad, all), (bad_before, all_before)] =
            [self, others].map(|calm| (calm.longer_than(time) as f64, calm.stalls.len() as f64));
        let common = (bad + bad_before) / (all + all_before);
        let chance = (common * (1.0 - common) * (1.0 / all + 1.0 / all_before)).sqrt();
        let allowed = if bad_before == 0.0 { 0.0 } else { bad_before / all_before + 3.0 * chance };
        assert!(
            bad / all <= allowed,
            "{bad} of {all} files stood still for more than {time}, {allowed:.3} of them may"
        );
    }
}

impl fmt::Display for Calm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |percent: usize| self.stalls.get(self.stalls.len().saturating_sub(1) * percent / 100);
        let at = |percent| at(percent).copied().map_or(0.0, seconds);
        write!(
            f,
            "{} files, {:.1} Mbit/s, {} timeouts; longest stall of half of them {:.2} s, of 9 in 10 {:.2} s, of any {:.2} s; \
             {} over 1 s; of all together {:.2} s",
            self.stalls.len(),
            self.rate as f64 / 1e6,
            self.timeouts,
            at(50),
            at(90),
            at(100),
            self.longer_than(Duration::from_secs(1)),
            seconds(self.together),
        )
    }
}

impl Load {
    /// Has `flows` files of `bytes` under way from now on.
    pub fn start(path: &Path, flows: u64, bytes: u64) -> Load {
        let origin = path.restart(1, None);
        let of_family = |family| path.file(family, bytes, 0, DEADLINE);
        let specs = Family::BOTH.map(|family| FlowSpec {
            sample_every: SAMPLE_EVERY,
            priority: Some(HOSTS),
            ..of_family(family)
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let keep = move || {
            sched::set_fifo(HOSTS).expect("root");
            Files::new(specs, origin, flows).keep(&told)
        };
        Load { is_over, thread: std::thread::spawn(keep) }
    }

    /// The same while nothing happens to the gateways, for as long as files were begun beside it. A shorter run says little: of 200 flows,
    /// none of the files stood still for a second in one half minute and one in twelve in another.
    pub fn undisturbed(path: &Path, flows: u64, beside: &Calm) -> Calm {
        let load = Load::start(path, flows, file_bytes(flows));
        std::thread::sleep(std::time::Duration::from_nanos(beside.span.as_nanos()));
        load.finish()
    }

    /// Begins no more files, and waits for those that are under way. Each has arrived whole.
    pub fn finish(self) -> Calm {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Files {
    specs: [FlowSpec; 2],
    origin: Instant,
    running: Vec<RunningFlow>,
    started: u64,
    /// Bytes of those that are through.
    done: u64,
    stalls: Vec<Duration>,
    timeouts: u64,
}

impl Files {
    fn new(specs: [FlowSpec; 2], origin: Instant, flows: u64) -> Files {
        let mut files =
            Files { specs, origin, running: Vec::new(), started: 0, done: 0, stalls: Vec::new(), timeouts: 0 };
        (0..flows).for_each(|_| files.begin());
        files
    }

    fn begin(&mut self) {
        let seed = self.started;
        self.started += 1;
        let spec = FlowSpec { seed, ..self.specs[seed as usize % 2].clone() };
        self.running.push(traffic::start(spec, self.origin).expect("a thread"));
    }

    fn keep(mut self, is_over: &AtomicBool) -> Calm {
        let (mut arrived, mut since, mut together) = (0, clock::now(), Duration::ZERO);
        let mut at_end = None;
        while !self.running.is_empty() {
            sleep_ms(LOOK_MS);
            let is_over = is_over.load(Ordering::Relaxed);
            let ended = self.bury();
            let (total, now) = (self.arrived(), clock::now());
            if total > arrived {
                (arrived, since) = (total, now);
            }
            together = together.max(now.saturating_since(since));
            if is_over {
                at_end = at_end.or(Some((total, now.saturating_since(self.origin))));
            } else {
                (0..ended).for_each(|_| self.begin());
            }
        }
        let (total, span) = at_end.unwrap_or_default();
        let rate = (u128::from(total) * 8_000_000_000 / u128::from(span.as_nanos().max(1))) as u64;
        self.stalls.sort_unstable();
        Calm { stalls: self.stalls, together, rate, timeouts: self.timeouts, span }
    }

    fn arrived(&self) -> u64 {
        self.done + self.running.iter().map(|flow| flow.progress().received_bytes()).sum::<u64>()
    }

    /// Takes what is through, which has arrived whole; how many that are.
    fn bury(&mut self) -> usize {
        let ended: Vec<_> = self.running.extract_if(.., |flow| flow.is_finished()).collect();
        let count = ended.len();
        for flow in ended {
            let result = flow.join().expect("sockets");
            assert_eq!((&result.outcome, result.received_bytes), (&Outcome::Complete, result.sent_bytes));
            assert!(result.stream_is_intact(), "a file differs");
            self.done += result.received_bytes;
            self.timeouts += result.timeouts.unwrap_or(0);
            self.stalls.push(result.longest_stall);
        }
        count
    }
}
