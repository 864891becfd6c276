//! What a scheme believes of the link that it sends into, over time: to be held against what the link did.

use airtcp_core::{Duration, Element, Gauge, Instant};

/// What an element that empties the queue before a link believes at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Belief {
    /// When.
    pub at: Instant,
    /// What the link carries, in bit/s; 0 while nothing is known.
    pub rate_bps: u64,
    /// How long packets wait in the link itself.
    pub link_wait: Duration,
    /// Bytes that wait in the element's own queue.
    pub queue_bytes: u64,
}

impl Belief {
    /// What `element` believes; `None` if it knows no rate.
    pub(crate) fn of(element: &dyn Element, at: Instant) -> Option<Belief> {
        let mut belief = Belief { at, ..Belief::default() };
        let mut has_rate = false;
        element.observe(&mut |gauge, level| {
            if gauge == Gauge::RATE_BPS {
                (belief.rate_bps, has_rate) = (level, true);
            } else if gauge == Gauge::LINK_WAIT_NS {
                belief.link_wait = Duration::from_nanos(level);
            } else if gauge == Gauge::QUEUE_BYTES {
                belief.queue_bytes = level;
            }
        });
        has_rate.then_some(belief)
    }
}
