//! What two ends of a hop that repair wait for, unless they are told.

use super::PACKET_BYTES;
use crate::egress::time_on_link;
use airtcp_core::{Duration, Rate};

/// What a full-size packet takes on a link of this rate.
pub(crate) fn packet_time(rate: Option<Rate>) -> Duration {
    time_on_link(rate, PACKET_BYTES).min(Duration::from_millis(100))
}

/// What is added to a round trip before an answer counts as late. A quarter of the round trip covers its jitter; three
/// packet times what a repair waits for, its own transmission and one more repair ahead of it.
pub(crate) fn guard(rtt: Duration, packet_time: Duration) -> Duration {
    (rtt / 4).max(Duration::from_millis(1)).saturating_add(packet_time * 3)
}

/// How long a packet waits for the repair of an earlier one. SPEC 7.3, modern mode (4), has 4 x (rtt + guard), which ends as
/// the answer to the fourth request comes: a timer that is late by a few milliseconds, or a packet ahead of it, and it comes
/// in vain. One more makes the last try count. Time for a repair and for a second one there must be, also where the link
/// alone takes longer than half a second (a satellite's).
pub(crate) fn hold(rtt: Duration, guard: Duration, tries: u8) -> Duration {
    let a_try = rtt.saturating_add(guard);
    let two_tries = a_try.saturating_mul(2).saturating_add(guard);
    let all_tries = a_try.saturating_mul(u64::from(tries) + 1);
    all_tries.clamp(Duration::from_millis(50), two_tries.max(Duration::from_millis(500)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_are_as_far_apart_as_can_be_told_wait_as_long() {
        let guard = guard(Duration::MAX, packet_time(None));
        assert_eq!(hold(Duration::MAX, guard, u8::MAX), Duration::MAX);
    }
}
