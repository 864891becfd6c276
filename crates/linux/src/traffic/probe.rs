//! A ping beside the traffic: small datagrams to a node and back, at a steady pace.
//!
//! The kernel says when each arrived at either end, and the time that the far end held it is subtracted. The result is
//! the time on the path, whatever else the machine does. A lost one counts as longer than any that came, as in the simulator.

use super::flow::{STACK, TrafficError, since};
use super::result::{RttPercentiles, percentiles, percentiles_with};
use crate::sys::clock::wall_clock_ns;
use crate::sys::netns::NetNs;
use crate::sys::poll::PollSet;
use crate::sys::probe_socket::ProbeSocket;
use airtcp_core::{Duration, Instant};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread::JoinHandle;

/// Number, when it was sent, and how long it took to the far end.
const CONTENT: usize = 24;
/// IPv6 and UDP headers at most.
const HEADERS: u64 = 48;
/// How long the last ones may take.
const DRAIN: Duration = Duration::from_secs(2);
const MAX_NS: u64 = 60_000_000_000;

/// A probe; times count from the run's origin.
#[derive(Clone, Debug)]
pub struct ProbeSpec {
    /// Name for results and errors.
    pub name: String,
    /// Namespace and address of the end that asks.
    pub from: (NetNs, IpAddr),
    /// Namespace and address of the end that answers.
    pub to: (NetNs, IpAddr),
    /// Time between two.
    pub every: Duration,
    /// Bytes of the IP packet, as far as headers and content allow.
    pub size: u32,
    /// The part of the run in which they are sent.
    pub window: (Duration, Duration),
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// The name it was started with.
    pub name: String,
    /// How many were sent.
    pub sent: u64,
    /// How many came back.
    pub received: u64,
    /// There and back.
    pub rtt: RttPercentiles,
    /// The same over all that were sent: one that did not come back took the whole window. (RFC 2681, 5.1)
    pub rtt_or_lost: RttPercentiles,
}

/// A probe on its thread.
#[derive(Debug)]
pub struct RunningProbe(JoinHandle<Result<ProbeResult, TrafficError>>);

impl RunningProbe {
    /// Waits for the end, soon after that of the probe's window.
    pub fn join(self) -> Result<ProbeResult, TrafficError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Starts a probe in the run that began at `origin` (CLOCK_MONOTONIC).
pub fn start_probe(spec: ProbeSpec, origin: Instant) -> Result<RunningProbe, TrafficError> {
    let failed = |action| {
        let flow = spec.name.clone();
        move |source| TrafficError::Socket { flow, action, source }
    };
    let bind = |(namespace, address): &(NetNs, IpAddr)| {
        namespace.run(|| ProbeSocket::bind(SocketAddr::new(*address, 0))).and_then(|result| result)
    };
    let near = bind(&spec.from).map_err(failed("open a socket to ask"))?;
    let far = bind(&spec.to).map_err(failed("open a socket to answer"))?;
    let (start, end) = (failed("start a thread"), failed("send or receive"));
    let run = move || Probe::new(&spec, near, far).and_then(|probe| probe.run(&spec, origin)).map_err(end);
    let thread = std::thread::Builder::new().name("airtcp-probe".into()).stack_size(STACK).spawn(run);
    thread.map(RunningProbe).map_err(start)
}

struct Probe {
    near: ProbeSocket,
    far: ProbeSocket,
    addresses: [SocketAddr; 2],
    datagram: Vec<u8>,
    times: Histogram<u64>,
    sent: u64,
    /// When those were sent that have no answer, by number.
    unanswered: BTreeMap<u64, Duration>,
}

impl Probe {
    fn new(spec: &ProbeSpec, near: ProbeSocket, far: ProbeSocket) -> io::Result<Self> {
        let addresses = [near.local_addr()?, far.local_addr()?];
        let content = (u64::from(spec.size).saturating_sub(HEADERS) as usize).max(CONTENT);
        let times = Histogram::new_with_bounds(1, MAX_NS, 3).expect("bounds and precision are constants in range");
        Ok(Probe { near, far, addresses, datagram: vec![0; content], times, sent: 0, unanswered: BTreeMap::new() })
    }

    fn run(mut self, spec: &ProbeSpec, origin: Instant) -> io::Result<ProbeResult> {
        let (from, until) = spec.window;
        let mut next = from;
        let mut set = PollSet::new();
        while since(origin) < until + DRAIN && (next < until || self.times.len() < self.sent) {
            let now = since(origin);
            if next < until && next <= now {
                self.ask(now)?;
                next += spec.every;
            }
            self.answer()?;
            self.take_answers()?;
            let wait = if next < until { next.saturating_sub(since(origin)) } else { Duration::from_millis(20) };
            set.clear();
            set.add_readable(self.near.as_fd());
            set.add_readable(self.far.as_fd());
            set.wait(Some(wait))?;
        }
        let lost = self.waited_longest(since(origin));
        let longest = until.saturating_sub(from).max(Duration::from_nanos(self.times.max()));
        Ok(ProbeResult {
            name: spec.name.clone(),
            sent: self.sent,
            received: self.times.len(),
            rtt: percentiles(&self.times),
            rtt_or_lost: percentiles_with(&self.times, lost, longest),
        })
    }

    /// How many wait for an answer for as long as the longest took that came; the others tell nothing yet.
    fn waited_longest(&self, now: Duration) -> u64 {
        let longest = Duration::from_nanos(self.times.max());
        self.unanswered.values().filter(|sent| now.saturating_sub(**sent) >= longest).count() as u64
    }

    fn ask(&mut self, now: Duration) -> io::Result<()> {
        self.datagram[..8].copy_from_slice(&self.sent.to_be_bytes());
        self.datagram[8..16].copy_from_slice(&wall_clock_ns().to_be_bytes());
        self.unanswered.insert(self.sent, now);
        self.sent += 1;
        tolerate(self.near.send_to(&self.datagram, self.addresses[1]))
    }

    /// Sends received probes back, with the time that they were held.
    fn answer(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; self.datagram.len()];
        while let Some((len, arrived)) = self.far.receive(&mut buffer)? {
            if len < CONTENT {
                continue;
            }
            let took = arrived.saturating_sub(number(&buffer[8..16]));
            buffer[16..24].copy_from_slice(&took.to_be_bytes());
            buffer[8..16].copy_from_slice(&wall_clock_ns().to_be_bytes());
            tolerate(self.far.send_to(&buffer[..len], self.addresses[0]))?;
        }
        Ok(())
    }

    fn take_answers(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; self.datagram.len()];
        while let Some((len, arrived)) = self.near.receive(&mut buffer)? {
            if len >= CONTENT && self.unanswered.remove(&number(&buffer[..8])).is_some() {
                let back = arrived.saturating_sub(number(&buffer[8..16]));
                self.times.saturating_record(number(&buffer[16..24]) + back);
            }
        }
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A full device queue is a lost probe, as a full link is.
pub(super) fn tolerate(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) => Ok(()),
        other => other,
    }
}
