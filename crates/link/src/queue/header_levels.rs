//! What a queue that counts header packets of TCP Decoupling reports of them.

use airtcp_core::Duration;

/// The header packets that waited in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderLevels {
    /// How many may wait.
    pub threshold: u64,
    /// How many wait.
    pub waiting: u64,
    /// Most that ever waited.
    pub most: u64,
    /// Time they waited so far, all together: over the length of the run this is how many waited on average.
    pub waited: Duration,
}
