//! *Is it for me?* Watches a link, takes nothing from it and changes nothing, and says whether gateways would gain anything.
//!
//! | file | job |
//! |---|---|
//! | `headers` | what the first bytes of a packet tell |
//! | `stream` | the data of a TCP connection one way: what was lost before it came here, and what behind |
//! | `marks`, `waiting` | round trips, and whether packets wait in a queue |
//! | `rate`, `series` | what is carried, and all of it over time |
//! | `watch` | all flows, within bounds |
//! | `hop`, `answer` | probes between the two ends of the hop, and who answers them |
//! | `evidence` | what was seen, in numbers |
//! | `model`, `judge` | from these numbers to a sentence |

mod answer;
mod evidence;
mod headers;
mod hop;
mod judge;
mod marks;
mod model;
mod rate;
mod series;
mod stream;
mod waiting;
mod watch;

pub use answer::answer;
pub use evidence::{Bytes, Evidence, Hop, Peer, Repairs, Way, share};
pub use hop::{LONG, Prober, SHORT};
pub use judge::{Answer, Verdict, judge};
pub use series::Row;
pub use watch::Watcher;

use crate::gateway::control::Secret;
use crate::sys::poll::PollSet;
use crate::sys::tap::Tap;
use crate::sys::{clock, entropy, interface};
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Probes beside what is watched take at most this share of its bytes, and are at most so many a second: 34 kbit/s each way.
const PROBE_SHARE: f64 = 0.02;
const PROBE_EVERY: Duration = Duration::from_millis(20);
/// With nothing to be a share of, and until somebody answers.
const IDLE_EVERY: Duration = Duration::from_secs(1);
/// Batches of packets between two looks at the clock.
const BATCHES: usize = 16;
/// A link that went away is looked for so often.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// The least time that answers are waited for at the end of a probing.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// What to watch.
#[derive(Debug)]
pub struct Watched {
    /// The interface.
    pub link: String,
    /// The other end of the hop, if the file names one; it is sent probes.
    pub peer: Option<SocketAddr>,
    /// The secret that both ends share.
    pub secret: Option<Secret>,
    /// What the scheme repairs.
    pub repairs: Repairs,
    /// The link's rate, as the file tells it.
    pub told_bps: Option<u64>,
}

/// What came of watching, or of probing.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The numbers.
    pub evidence: Evidence,
    /// The same over time.
    pub rows: Vec<Row>,
}

/// Watches a link for `time` (without one, for ever), or until `stop` is set.
///
/// # Errors
/// There is no such link at the start, or the process may not listen on it.
pub fn observe(watched: &Watched, time: Option<Duration>, stop: &AtomicBool) -> io::Result<Observation> {
    let tap = open(&watched.link)?;
    let prober = watched.peer.map(|peer| Prober::start(peer, watched.secret.as_ref(), Some(&watched.link)));
    let mut prober = prober.transpose()?;
    let began = tap.tells_from();
    let mut tap = Some(tap);
    let until = time.map(|time| began + time);
    let mut watcher = Watcher::new(began, u64::from_be_bytes(entropy::bytes()?));
    let (mut allowance, mut unseen) = (Allowance::new(began), 0);
    while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| clock::now() < until) {
        wait(tap.as_ref(), prober.as_ref())?;
        if let Some(listening) = &mut tap
            && let Err(_gone) = take(listening, &mut watcher, &mut allowance)
        {
            unseen += listening.dropped();
            tap = None;
        }
        if tap.is_none() {
            tap = open(&watched.link).ok();
        }
        if let Some(prober) = &mut prober {
            prober.take();
            if allowance.may_send(clock::now(), prober.is_answered()) {
                prober.send(SHORT);
            }
        }
    }
    unseen += tap.map_or(0, |tap| tap.dropped());
    let told = watcher.evidence(clock::now());
    let hop = prober.as_mut().and_then(Prober::hop);
    let peer = match (&hop, watched.peer) {
        (Some(_), _) => Peer::Answers,
        (None, Some(_)) => Peer::Silent,
        (None, None) => Peer::None,
    };
    let told_bps = watched.told_bps.map(|bps| bps as f64);
    let evidence = Evidence { unseen_packets: unseen, peer, repairs: watched.repairs, told_bps, hop, ..told };
    Ok(Observation { evidence, rows: watcher.rows().to_vec() })
}

fn open(link: &str) -> io::Result<Tap> {
    Tap::open(interface::index(link)?, headers::SNAP)
}

fn wait(tap: Option<&Tap>, prober: Option<&Prober>) -> io::Result<()> {
    let mut set = PollSet::new();
    let sockets = tap.map(AsFd::as_fd).into_iter().chain(prober.map(AsFd::as_fd));
    for socket in sockets {
        set.add_readable(socket);
    }
    set.wait(Some(if tap.is_some() { PROBE_EVERY } else { LOOK_AGAIN })).map(drop)
}

fn take(tap: &mut Tap, watcher: &mut Watcher, allowance: &mut Allowance) -> io::Result<()> {
    for _ in 0..BATCHES {
        let taken = tap.take(|copied| {
            allowance.passed(copied.bytes);
            watcher.take(copied.at, copied.is_out, copied.bytes);
        })?;
        if taken == 0 {
            break;
        }
    }
    Ok(())
}

/// When a probe may be sent beside the traffic of others.
struct Allowance {
    bytes: f64,
    last: Instant,
}

impl Allowance {
    fn new(now: Instant) -> Allowance {
        // The first probe leaves at once.
        Allowance {
            bytes: SHORT as f64,
            last: Instant::from_nanos(now.as_nanos().saturating_sub(IDLE_EVERY.as_nanos())),
        }
    }

    fn passed(&mut self, bytes: &[u8]) {
        let length = headers::read(bytes).map_or(0, |glance| glance.length);
        self.bytes = (self.bytes + f64::from(length) * PROBE_SHARE).min(10.0 * SHORT as f64);
    }

    fn may_send(&mut self, now: Instant, is_answered: bool) -> bool {
        let since = now.saturating_since(self.last);
        // With the headers of IP and UDP.
        let price = SHORT as f64 + 28.0;
        let may = since >= IDLE_EVERY || (is_answered && since >= PROBE_EVERY && self.bytes >= price);
        if may {
            (self.bytes, self.last) = ((self.bytes - price).max(0.0), now);
        }
        may
    }
}

/// How a probing is bounded: at most 240 probes in trains and [`Bounds::spaced`] beside them.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long it takes at most.
    pub time: Duration,
    /// Bytes a second, but for trains.
    pub bytes_per_second: u64,
}

/// Ten trains, so far apart.
const TRAINS: usize = 10;
const TRAIN: usize = 24;
const TRAIN_EVERY: Duration = Duration::from_millis(250);

impl Bounds {
    /// Time between two spaced probes.
    fn every(self) -> Duration {
        let bytes = (LONG + 28) as u64;
        Duration::from_nanos(bytes * 1_000_000_000 / self.bytes_per_second.max(1))
    }

    /// Spaced probes at most.
    pub fn spaced(self) -> u64 {
        let left = self.time.saturating_sub(TRAIN_EVERY * TRAINS as u64).saturating_sub(LAST_ANSWERS);
        left.as_nanos() / self.every().as_nanos().max(1)
    }

    /// Bytes that are sent at most, over IPv4.
    pub fn bytes(self) -> u64 {
        (self.spaced() + (TRAINS * TRAIN) as u64) * (LONG + 28) as u64
    }
}

/// Measures a hop by probes alone; ends before its time if nobody answers.
///
/// # Errors
/// No such interface, or the system's.
pub fn probe(peer: SocketAddr, secret: Option<&Secret>, bounds: Bounds, stop: &AtomicBool) -> io::Result<Observation> {
    let mut prober = Prober::start(peer, secret, None)?;
    let began = clock::now();
    for _ in 0..TRAINS {
        prober.send_train(TRAIN);
        listen(&mut prober, clock::now() + TRAIN_EVERY, stop)?;
    }
    let until = began + bounds.time.saturating_sub(LAST_ANSWERS);
    if prober.is_answered() {
        while clock::now() < until && !stop.load(Ordering::Relaxed) {
            prober.send(LONG);
            listen(&mut prober, clock::now() + bounds.every(), stop)?;
        }
        listen(&mut prober, clock::now() + LAST_ANSWERS, stop)?;
    }
    let hop = prober.hop();
    let peer = if hop.is_some() { Peer::Answers } else { Peer::Silent };
    let seconds = clock::now().saturating_since(began).as_nanos() as f64 / 1e9;
    Ok(Observation { evidence: Evidence { seconds, peer, hop, ..Evidence::default() }, rows: Vec::new() })
}

fn listen(prober: &mut Prober, until: Instant, stop: &AtomicBool) -> io::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        prober.take();
        let left = until.saturating_since(clock::now());
        if left.is_zero() {
            break;
        }
        let mut set = PollSet::new();
        set.add_readable(prober.as_fd());
        set.wait(Some(left))?;
    }
    Ok(())
}
