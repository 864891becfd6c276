//! Many files at a time for as long as it is wanted, and how evenly they went on.

use super::{Path, seconds, sleep_ms};
use airtcp_core::{Duration, Instant};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{self, FlowSpec, Outcome, RunningFlow};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Between two looks at what arrived.
const LOOK_MS: u64 = 10;
/// No file may take longer.
const DEADLINE: Duration = Duration::from_secs(600);

/// Files of kernel TCP, each replaced by the next one when it is through.
pub struct Load {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Calm>,
}

/// How long nothing arrived.
pub struct Calm {
    /// The longest wait of each file.
    pub stalls: Vec<Duration>,
    /// Of all files together.
    pub together: Duration,
    /// What arrived, in bit/s.
    pub rate: u64,
}

impl Calm {
    /// Files that waited longer than this.
    pub fn longer_than(&self, time: Duration) -> usize {
        self.stalls.iter().filter(|stall| **stall > time).count()
    }

    /// The longest wait of any file.
    pub fn longest(&self) -> Duration {
        self.stalls.last().copied().unwrap_or_default()
    }
}

impl fmt::Display for Calm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |percent: usize| self.stalls.get(self.stalls.len().saturating_sub(1) * percent / 100);
        let at = |percent| at(percent).copied().map_or(0.0, seconds);
        write!(
            f,
            "{} files at {:.1} Mbit/s, longest wait of a file: half {:.2} s, 9 of 10 {:.2} s, all {:.2} s, {} over 1 s; of all together {:.2} s",
            self.stalls.len(),
            self.rate as f64 / 1e6,
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
        let specs = Family::BOTH.map(|family| path.file(family, bytes, 0, DEADLINE));
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        Load { is_over, thread: std::thread::spawn(move || Files::new(specs, origin, flows).keep(&told)) }
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
}

impl Files {
    fn new(specs: [FlowSpec; 2], origin: Instant, flows: u64) -> Files {
        let mut files = Files { specs, origin, running: Vec::new(), started: 0, done: 0, stalls: Vec::new() };
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
        let mut rate = None;
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
                let span = now.saturating_since(self.origin).as_nanos().max(1);
                rate = rate.or(Some((u128::from(total) * 8_000_000_000 / u128::from(span)) as u64));
            } else {
                (0..ended).for_each(|_| self.begin());
            }
        }
        self.stalls.sort_unstable();
        Calm { stalls: self.stalls, together, rate: rate.unwrap_or(0) }
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
            self.stalls.push(result.longest_stall);
        }
        count
    }
}
