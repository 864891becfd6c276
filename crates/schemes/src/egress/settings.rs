//! What an egress queue is made of.

use crate::Site;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Duration, Rate};
use airtcp_link::{DropTail, FqCodel, Queue, QueueLimit};

/// A queue whose limit nobody knows holds this much time at its rate.
const DEFAULT_TIME: Duration = Duration::from_millis(100);
/// Limit of a queue of which neither limit nor rate is known: packets wait here only while the link refuses them.
const BYTES_WITHOUT_RATE: u64 = 1 << 20;
/// Two full-size packets always fit.
const LEAST_BYTES: u64 = 2 * 1500;

/// What an egress queue is made of.
#[derive(Clone, Debug)]
pub struct EgressSettings {
    /// Rate at which it is emptied, in IP bits; without one packets leave as fast as the link takes them.
    pub rate: Option<Rate>,
    /// Discipline and limit. The lane of repairs has the same limit.
    pub queue: QueueSize,
    /// Bound on the IP bytes of all that waits; one packet may always wait.
    pub max_bytes: u64,
    /// With so many bytes waiting or more, packets of ECN-capable transports are marked (RFC 3168).
    pub ecn_threshold: Option<u64>,
}

impl EgressSettings {
    /// The queue before the link of `site`: what is not configured is taken from the link, and a quarter of the memory
    /// bounds each lane.
    pub fn at(site: &Site<'_>, rate: Option<Rate>, queue: Option<&Queue>) -> Self {
        EgressSettings::bounded(site, rate, queue, [BYTES_WITHOUT_RATE, site.max_memory.0 / 4])
    }

    /// The same with at most so many bytes in each lane, also where there is no rate.
    pub(crate) fn within(site: &Site<'_>, rate: Option<Rate>, queue: Option<&Queue>, most: u64) -> Self {
        EgressSettings::bounded(site, rate, queue, [most; 2])
    }

    fn bounded(
        site: &Site<'_>,
        rate: Option<Rate>,
        queue: Option<&Queue>,
        [without_rate, most]: [u64; 2],
    ) -> EgressSettings {
        let rate = rate.or(site.link.rate);
        let limit = match queue {
            None => site.link.queue.map(|limit| limit.0),
            Some(Queue::DropTail(DropTail { limit: QueueLimit::Bytes(limit) })) => Some(*limit),
            // Its limit may count packets, and what they take does not follow from it.
            Some(queue) => {
                let settings = EgressSettings::new(rate, QueueSize::Fixed(queue.clone()));
                return EgressSettings { max_bytes: most, ..settings };
            }
        };
        let by_rate = QueueSize::ByRate { without_rate, most };
        EgressSettings::new(rate, limit.map_or(by_rate, |limit| QueueSize::bytes(clamped(limit, most))))
    }

    /// A queue of this rate and size, not marking.
    pub fn new(rate: Option<Rate>, queue: QueueSize) -> Self {
        EgressSettings { rate, queue, max_bytes: u64::MAX, ecn_threshold: None }
    }
}

/// How an egress queue finds its discipline and limit.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueSize {
    /// This queue, whatever the rate.
    Fixed(Queue),
    /// Drop-tail with 100 ms at the rate, whatever it is at the time.
    ByRate {
        /// Bytes while there is no rate: then packets only wait for a link that refuses them.
        without_rate: u64,
        /// Most bytes.
        most: u64,
    },
}

impl QueueSize {
    /// Drop-tail with so many bytes.
    pub fn bytes(limit: u64) -> Self {
        QueueSize::Fixed(Queue::DropTail(DropTail { limit: QueueLimit::Bytes(limit) }))
    }

    /// Drop-tail with so many packets.
    pub fn packets(limit: u64) -> Self {
        QueueSize::Fixed(Queue::DropTail(DropTail { limit: QueueLimit::Packets(limit) }))
    }

    /// The limit at a rate.
    pub fn limit(&self, rate: Option<Rate>) -> QueueLimit {
        match self {
            QueueSize::Fixed(queue) => queue.limit(),
            QueueSize::ByRate { without_rate, most } => {
                QueueLimit::Bytes(clamped(rate.map_or(*without_rate, |rate| rate.bytes_in(DEFAULT_TIME)), *most))
            }
        }
    }

    /// The queue at a rate.
    pub(super) fn queue(&self, rate: Option<Rate>) -> Queue {
        match self {
            QueueSize::Fixed(queue) => queue.clone(),
            QueueSize::ByRate { .. } => Queue::DropTail(DropTail { limit: self.limit(rate) }),
        }
    }
}

/// Refuses a rate at which nothing would ever leave.
pub(crate) fn check_rate(rate: Option<Rate>) -> Result<(), ParameterError> {
    match rate {
        Some(rate) if rate.bps() == 0 => Err(ParameterError::bad(
            "rate",
            "at a rate of zero nothing would ever leave; write the link's rate, or auto",
        )),
        _ => Ok(()),
    }
}

/// A lone CUBIC sender keeps a link busy if so much waits, up to a round trip of 230 ms.
pub(crate) const FLOW_TARGET: Duration = Duration::from_millis(100);

/// A queue for each flow, so that who sends little waits for nobody. A lone CUBIC sender gives up three tenths of its
/// window for a drop, and then leaves the link idle unless 0.43 round trips of its packets wait: with RFC 8290's target
/// of 5 ms for a twelfth of the time at 60 ms. With 100 ms it does not up to 230 ms (docs/gsnoop.md has the sweep).
///
/// Of many flows each has a small part of the rate, so what one of them sent waits for long, and a segment that is sent again waits
/// behind that. So none shares its queue while another is free, and repeats are spared (docs/gsnoop.md has the sweep).
pub(crate) fn flow_queue() -> FqCodel {
    let longer = FqCodel { target: FLOW_TARGET, interval: FLOW_TARGET * 3, ..FqCodel::default() };
    FqCodel { ways: 8, spares_repeats: true, ..longer }
}

/// The same before a link, where what waited an interval beyond the target is dropped, but for the time in which the link stood still.
/// That also bounds senders that heed no marks: BBR of a QUIC stack filled 6 MB of the queue, where the link alone would have dropped.
/// So many bytes of a flow go ahead of flows that have sent more.
pub(crate) fn link_queue(head_start: u32) -> Queue {
    Queue::FqCodel(FqCodel { overdue: Some(1), head_start, ..flow_queue() })
}

fn clamped(bytes: u64, most: u64) -> u64 {
    bytes.clamp(LEAST_BYTES, most.max(LEAST_BYTES))
}
