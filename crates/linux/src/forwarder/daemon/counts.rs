//! What the loop of a forwarder counts.

/// What the loop counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Datagrams that came, whatever they were.
    pub datagrams_received: u64,
    /// Datagrams that the kernel took.
    pub datagrams_sent: u64,
    /// Datagrams that it refused: no way there.
    pub datagrams_unsent: u64,
    /// Connections of applications that were taken.
    pub accepted: u64,
    /// Of these, reset because the peer is not in reach.
    pub refused_peer: u64,
    /// Wishes of the peer that the file does not allow.
    pub refused_not_allowed: u64,
    /// Wishes of the peer that no host took.
    pub refused_by_host: u64,
    /// Times that the peer was silent for too long.
    pub gave_up: u64,
    /// Bytes that wait for applications, now.
    pub bytes_held: u64,
    /// Datagrams of applications that the kernel dropped: its buffer was full, because the circuit was slower.
    pub stream_dropped: u64,
    /// Datagrams of applications longer than what fits.
    pub stream_too_long: u64,
    /// Datagrams of the peer that the target's host did not take.
    pub stream_not_given: u64,
}

impl Counts {
    /// All of them by name.
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("datagrams_received", self.datagrams_received),
            ("datagrams_sent", self.datagrams_sent),
            ("datagrams_unsent", self.datagrams_unsent),
            ("accepted", self.accepted),
            ("refused_peer", self.refused_peer),
            ("refused_not_allowed", self.refused_not_allowed),
            ("refused_by_host", self.refused_by_host),
            ("gave_up", self.gave_up),
            ("bytes_held", self.bytes_held),
            ("stream_dropped", self.stream_dropped),
            ("stream_too_long", self.stream_too_long),
            ("stream_not_given", self.stream_not_given),
        ]
    }
}
