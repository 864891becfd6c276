//! Times that depend on the distance of the two ends.

use super::feedback;
use crate::egress::Egress;
use crate::hop::times;
use crate::selective_repeat::Patience;
use airtcp_core::Duration;

/// There is time for so many repairs of a packet, where it is short.
const REPAIRS: u8 = 4;
/// Nobody waits for longer than a day.
const LONGEST: Duration = Duration::from_secs(86_400);
/// Acknowledgments are at least so far apart, unless something is missing.
const LEAST_ACK_DELAY: Duration = Duration::from_millis(1);
/// They take one part in so many of the way back.
const FEEDBACK_PARTS: u64 = 512;
/// But they need not be further apart than the longer of a round trip and this.
const MOST_ACK_DELAY: Duration = Duration::from_millis(50);

/// What the ends wait for now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// The round trip between them.
    pub rtt: Duration,
    /// Added to a round trip before an answer counts as late.
    pub guard: Duration,
    /// No packet waits longer for another.
    pub hold: Duration,
    /// Nothing is acknowledged later, unless it takes too much of the way back.
    pub ack_delay: Duration,
}

impl Timing {
    /// At a round trip of `rtt`; `hold` is what is configured.
    pub fn new(rtt: Duration, egress: &Egress, hold: Option<Duration>) -> Timing {
        // Whatever is configured or measured, sums of these stay in range.
        let rtt = rtt.min(LONGEST);
        let guard = times::guard(rtt, times::packet_time(egress.rate()));
        let hold = hold.unwrap_or_else(|| times::hold(rtt, guard, REPAIRS)).min(LONGEST);
        let feedback = feedback::cost(egress).saturating_mul(FEEDBACK_PARTS).min(rtt.max(MOST_ACK_DELAY));
        Timing { rtt, guard, hold, ack_delay: (rtt / 4).max(LEAST_ACK_DELAY).max(feedback) }
    }

    /// Tries that a packet has before those behind it wait no longer.
    pub fn rounds(&self) -> u64 {
        self.hold.as_nanos() / (self.rtt + self.guard).as_nanos().max(1)
    }

    /// The same for the receiving half.
    pub fn patience(&self) -> Patience {
        Patience { ack_delay: self.ack_delay, hold: self.hold }
    }
}
