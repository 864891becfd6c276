//! Known traffic before a live run tests whether every link behaves as configured.
//!
//! UDP probes cross each direction of each link between its own two namespaces, side by side as far
//! as the emulator carries so many at once, within a second or two. *Bursts* of full-size packets that fit in the queue leave at
//! the link's rate: the time between the first and the last arrival tells it. *Spaced* small
//! packets find the link idle: the time from sending to arrival tells the delay, and how many
//! arrive tells the loss, which is compared within bounds that chance exceeds about once in a
//! million tests. Jitter, duplication, reordering, corruption and outages are left out here.

mod judge;

use super::EmulatorError;
use super::report::EmulatorReport;
use crate::sys::netns::NetNs;
use crate::sys::probe_socket::ProbeSocket;
use crate::sys::{clock, sched};
use crate::testbed::{Family, LinkSpec, Testbed, TestbedError};
use airtcp_core::{Duration, Instant, Rate};
use airtcp_link::{DropTail, LinkSettings, Loss, Queue, QueueLimit};
use judge::{Arrival, DELAY_TOLERANCE, Observation};
use std::io;
use std::net::SocketAddr;

/// Headers of IPv4 and UDP.
const HEADERS: u32 = 28;
/// Sequence number and time of sending.
const STAMP: usize = 16;
/// IP bytes of a spaced probe.
const SMALL: u32 = HEADERS + STAMP as u32;
const BURSTS: u64 = 3;
/// How long one burst keeps its link busy at most, and how many packets it has.
const BURST_TIME: Duration = Duration::from_millis(60);
const BURST_PACKETS: u64 = 400;
/// Directions whose rates are no more than this together have their bursts at the same time: with more the emulator,
/// one thread, is what is measured; in a run they are not all full at once.
const SIDE_BY_SIDE: Rate = Rate::from_bps(2_000_000_000);
const SPACED_TIME: Duration = Duration::from_millis(350);
const TICK: Duration = Duration::from_millis(1);
/// Spaced probes per tick on a link with loss; one suffices for the delay.
const PROBES_PER_TICK: u64 = 8;
/// Below the emulator's priority, above everything else.
const PRIORITY: u8 = 45;

/// What the probes measured on one direction of a link.
#[derive(Clone, Debug)]
pub struct LinkTest {
    /// The scenario's name, for example `links.air.forward`.
    pub name: String,
    /// The rate asked for; `None` is "as fast as it goes", not tested.
    pub rate_asked: Option<Rate>,
    /// The rate at which bursts arrived.
    pub rate_seen: Option<Rate>,
    /// Delay asked for, with the transmission of a probe.
    pub delay_asked: Duration,
    /// Median delay of spaced probes; `None` if none arrived.
    pub delay_seen: Option<Duration>,
    /// Share of spaced probes that the link is to lose.
    pub loss_asked_ratio: f64,
    /// Share that did not arrive.
    pub loss_seen_ratio: f64,
    /// Spaced probes sent.
    pub probes: u64,
    /// What is out of bounds, in one sentence each.
    pub problems: Vec<String>,
}

impl LinkTest {
    /// |seen ÷ asked − 1| of the rate; 0 for a link without one.
    pub fn rate_error_ratio(&self) -> f64 {
        match (self.rate_asked, self.rate_seen) {
            (Some(asked), Some(seen)) => (seen.bps() as f64 / asked.bps() as f64 - 1.0).abs(),
            (Some(_), None) => 1.0,
            (None, _) => 0.0,
        }
    }
}

/// The verdict on an emulator, kept with the run that follows.
#[derive(Clone, Debug)]
pub struct SelfTest {
    /// True if every direction is within its bounds.
    pub valid: bool,
    /// The largest error of a rate.
    pub rate_error_ratio: f64,
    /// 95th percentile of how late packets were released.
    pub release_error_p95: Duration,
    /// Loss asked for in the direction that loses most.
    pub loss_asked_ratio: f64,
    /// Loss seen by the probes in the same direction.
    pub loss_seen_ratio: f64,
    /// Every direction.
    pub links: Vec<LinkTest>,
    /// Everything that is out of bounds.
    pub problems: Vec<String>,
    /// How long the test took.
    pub took: Duration,
}

/// Tests every link with its present settings. The emulator must be restarted before a run.
pub fn self_test(testbed: &Testbed, seed: u64) -> Result<SelfTest, TestbedError> {
    let begin = clock::now();
    let links = &testbed.spec().links;
    let tested = links.iter().map(|l| [testable(&l.forward), testable(&l.reverse)]).collect();
    testbed.emulator().restart(seed, Some(tested), Duration::ZERO)?;
    let mut probes = Vec::new();
    for link in links {
        for end in 0..2 {
            probes.push(Probe::new(testbed, link, end)?);
        }
    }
    let work = std::thread::scope(|scope| {
        scope.spawn(|| run(&mut probes)).join().unwrap_or_else(|p| std::panic::resume_unwind(p))
    });
    work.map_err(|source| EmulatorError::Io { action: "send probes", source })?;
    let report = testbed.emulator().report()?;
    Ok(judge(probes, &report, clock::now().saturating_since(begin)))
}

/// The part of the settings that the probes can judge. A managed queue would drop of a burst what
/// it should; the burst has to pass to show the rate. What varies is tested in the middle of its values.
fn testable(settings: &LinkSettings) -> LinkSettings {
    let wire = LinkSettings::default();
    LinkSettings {
        rate: settings.rate.nominal().into(),
        delay: settings.delay.nominal().into(),
        loss: if settings.loss.is_varying() {
            Loss::bernoulli(settings.loss.mean(SMALL))
        } else {
            settings.loss.clone()
        },
        queue: Queue::DropTail(DropTail { limit: settings.queue.limit() }),
        jitter: wire.jitter,
        reorder: wire.reorder,
        duplicate: wire.duplicate,
        corrupt: wire.corrupt,
        outage: wire.outage,
        impaired_until: wire.impaired_until,
        ..settings.clone()
    }
}

/// One direction under test.
struct Probe {
    sender: ProbeSocket,
    receiver: ProbeSocket,
    to: SocketAddr,
    /// Time between groups of spaced probes, and when the next one leaves.
    interval: Duration,
    next_group: Instant,
    seen: Observation,
}

impl Probe {
    fn new(testbed: &Testbed, link: &LinkSpec, end: usize) -> Result<Self, TestbedError> {
        let bind = |end: usize| -> Result<ProbeSocket, TestbedError> {
            let node = &link.between[end];
            let namespace: &NetNs = testbed.namespace(node).expect("checked with the spec");
            let address = testbed.link_address(&link.name, node, Family::V4);
            let address = SocketAddr::new(address.expect("checked with the spec"), 0);
            let socket = namespace.run(|| ProbeSocket::bind(address)).and_then(|result| result);
            socket.map_err(no_socket)
        };
        let (sender, receiver) = (bind(end)?, bind(1 - end)?);
        let to = receiver.local_addr().map_err(no_socket)?;
        let (settings, way) = if end == 0 { (&link.forward, "forward") } else { (&link.reverse, "reverse") };
        let settings = &testable(settings);
        let burst_size = settings.mtu.min(1500);
        let transmission = |bytes| match settings.rate.constant() {
            Some(rate) => rate.serialisation(bytes, &mut 0),
            None => Duration::ZERO,
        };
        let lossy = settings.loss.mean(SMALL).parts_per_billion() > 0;
        let interval = TICK.max(transmission(SMALL) * 2);
        let fitting = (interval.as_nanos() / 2).checked_div(transmission(SMALL).as_nanos());
        let seen = Observation {
            name: format!("links.{}.{way}", link.name),
            settings: settings.clone(),
            bursts: BURSTS,
            burst_packets: burst_packets(settings, burst_size, transmission(burst_size)),
            burst_size,
            spaced_from: 0,
            sent: 0,
            group: if lossy { fitting.unwrap_or(u64::MAX).clamp(1, PROBES_PER_TICK) } else { 1 },
            arrivals: Vec::new(),
        };
        Ok(Probe { sender, receiver, to, interval, next_group: Instant::ZERO, seen })
    }

    fn send(&mut self, bytes: u32) -> io::Result<()> {
        let mut data = [0; 1500];
        data[..8].copy_from_slice(&self.seen.sent.to_le_bytes());
        data[8..STAMP].copy_from_slice(&clock::wall_clock_ns().to_le_bytes());
        self.seen.sent += 1;
        self.sender.send_to(&data[..(bytes - HEADERS) as usize], self.to)
    }

    fn collect(&mut self) -> io::Result<()> {
        let mut data = [0; 2048];
        while let Some((len, arrived_at)) = self.receiver.receive(&mut data)? {
            if len >= STAMP {
                let word = |from: usize| u64::from_le_bytes(data[from..from + 8].try_into().expect("8 bytes"));
                let arrival = Arrival { sequence: word(0), sent_at: word(8), arrived_at };
                self.seen.arrivals.push(arrival);
            }
        }
        Ok(())
    }
}

fn no_socket(source: io::Error) -> TestbedError {
    EmulatorError::Io { action: "open a probe socket", source }.into()
}

/// As many packets as the queue takes with a fifth to spare, for a limited time.
fn burst_packets(settings: &LinkSettings, size: u32, transmission: Duration) -> u64 {
    let limit = match settings.queue.limit() {
        QueueLimit::Bytes(bytes) => bytes / u64::from(size),
        QueueLimit::Packets(packets) => packets,
    };
    let fitting = limit * 4 / 5 + 1;
    let in_time = BURST_TIME.as_nanos().checked_div(transmission.as_nanos()).unwrap_or(0);
    fitting.min(in_time).clamp(2, BURST_PACKETS)
}

fn run(probes: &mut [Probe]) -> io::Result<()> {
    // Without the priority the test is only less exact, and says so itself.
    let _ = sched::set_fifo(PRIORITY);
    let _ = sched::set_exact_timers();
    let mut rest = &mut *probes;
    while !rest.is_empty() {
        let count = side_by_side(rest.iter().map(|probe| probe.seen.settings.rate.constant()));
        let (group, others) = rest.split_at_mut(count);
        bursts(group)?;
        rest = others;
    }
    let begin = clock::now();
    for probe in probes.iter_mut() {
        probe.seen.spaced_from = probe.seen.sent;
        probe.next_group = begin;
    }
    let mut tick = begin;
    while tick < begin + SPACED_TIME {
        for probe in probes.iter_mut().filter(|probe| probe.next_group <= tick) {
            for _ in 0..probe.seen.group {
                probe.send(SMALL)?;
            }
            probe.next_group += probe.interval;
        }
        tick += TICK;
        sleep(tick.saturating_since(clock::now()));
    }
    let delay = probes.iter().map(|probe| probe.seen.settings.delay.nominal()).max().unwrap_or_default();
    sleep(delay + Duration::from_millis(20));
    probes.iter_mut().try_for_each(Probe::collect)
}

/// How many of directions with these rates, the first ones, are tested at once: one at least.
fn side_by_side(rates: impl Iterator<Item = Option<Rate>>) -> usize {
    let sums = rates.scan(0, |sum: &mut u64, rate| {
        *sum = sum.saturating_add(rate.map_or(0, Rate::bps));
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= SIDE_BY_SIDE.bps()).count().max(1)
}

fn bursts(probes: &mut [Probe]) -> io::Result<()> {
    let longest = probes.iter().map(|probe| probe.seen.burst_time()).max().unwrap_or_default();
    for _ in 0..BURSTS {
        for probe in probes.iter_mut().filter(|probe| probe.seen.settings.rate.constant().is_some()) {
            for _ in 0..probe.seen.burst_packets {
                probe.send(probe.seen.burst_size)?;
            }
        }
        sleep(longest + Duration::from_millis(5));
    }
    Ok(())
}

fn sleep(span: Duration) {
    std::thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
}

fn judge(probes: Vec<Probe>, report: &EmulatorReport, took: Duration) -> SelfTest {
    let links: Vec<LinkTest> = probes.iter().map(|probe| probe.seen.judge()).collect();
    let mut problems: Vec<String> = links.iter().flat_map(|link| link.problems.iter().cloned()).collect();
    // A virtual machine whose core is taken away for 10 ms in this second has a hundredth of its
    // packets that late whatever the emulator does; a thread without its priority, far more.
    let release_error_p95 = report.release_error.p95;
    if release_error_p95 > DELAY_TOLERANCE {
        problems.push(format!("packets are released {release_error_p95} late (95th percentile)"));
    }
    if !report.is_conserved() {
        problems.push("the emulator lost count of its packets".into());
    }
    let worst = links.iter().max_by(|a, b| a.loss_asked_ratio.total_cmp(&b.loss_asked_ratio));
    SelfTest {
        valid: problems.is_empty(),
        rate_error_ratio: links.iter().map(LinkTest::rate_error_ratio).fold(0.0, f64::max),
        release_error_p95,
        loss_asked_ratio: worst.map_or(0.0, |link| link.loss_asked_ratio),
        loss_seen_ratio: worst.map_or(0.0, |link| link.loss_seen_ratio),
        links,
        problems,
        took,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ValueType;

    #[test]
    fn probes_meet_the_limit_of_a_managed_queue_but_not_its_management() {
        let queue = Queue::read(&"{ kind = \"red\", limit = \"40packets\" }".into()).unwrap();
        let tested = testable(&LinkSettings { queue, ..LinkSettings::default() });
        assert_eq!(tested.queue, Queue::read(&"40packets".into()).unwrap());
    }

    #[test]
    fn directions_are_tested_side_by_side_up_to_a_rate_and_one_at_least() {
        let gbit = |rates: &[u64]| side_by_side(rates.iter().map(|rate| Some(Rate::from_bps(rate * 1_000_000_000))));
        assert_eq!([gbit(&[1, 1, 1]), gbit(&[0, 0, 0, 2, 0, 1]), gbit(&[10, 1]), gbit(&[1])], [2, 5, 1, 1]);
        assert_eq!(side_by_side([None, None, Some(SIDE_BY_SIDE)].into_iter()), 3);
    }

    #[test]
    fn a_burst_fits_in_the_queue_and_in_its_time() {
        let mut settings = LinkSettings { rate: "10Mbit".parse().ok().into(), ..LinkSettings::default() };
        let transmission = Duration::from_micros(1200);
        assert_eq!(burst_packets(&settings, 1500, transmission), 50);
        settings.queue = Queue::read(&"{ kind = \"droptail\", limit = \"20packets\" }".into()).unwrap();
        assert_eq!(burst_packets(&settings, 1500, transmission), 17);
    }
}
