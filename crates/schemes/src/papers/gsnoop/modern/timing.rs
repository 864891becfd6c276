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
