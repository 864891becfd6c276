//! Times that depend on the distance of the two gateways.

use airtcp_core::Duration;

/// What the gateways wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Their round trip.
    pub rtt: Duration,
    /// What is added to a round trip before an answer counts as late.
    pub guard: Duration,
    /// How long a gap is held open for a repair.
    pub hold: Duration,
    /// Requests for a missing range.
    pub tries: u8,
}

/// A quarter of the round trip covers its jitter; three packet times what a repair waits for, its
/// own transmission and one more repair ahead of it.
pub(super) fn auto_guard(rtt: Duration, packet_time: Duration) -> Duration {
    (rtt / 4).max(Duration::from_millis(1)) + packet_time * 3
}

/// Modern mode (4) has 4 x (rtt + guard), which ends as the answer to the fourth request comes: a timer that is late by
/// a few milliseconds, or a packet ahead of it, and it comes in vain. One more makes the last try count. Time for a
/// repair and for a second one there must be, also where the link alone takes longer than half a second (a
/// satellite's).
pub(super) fn auto_hold(rtt: Duration, guard: Duration, tries: u8) -> Duration {
    let two_tries = (rtt + guard) * 2 + guard;
    let all_tries = (rtt + guard) * (u64::from(tries) + 1);
    all_tries.clamp(Duration::from_millis(50), two_tries.max(Duration::from_millis(500)))
}
