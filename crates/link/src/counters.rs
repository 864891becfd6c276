//! What a link has done.

use airtcp_core::{Counts, DropReason, Instant};

/// Counts since the link was made. *in + duplicated = delivered + held + dropped*, in packets and in bytes.
///
/// The first four are what every packet counts in that waits in the link; they are next to each other in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LinkCounters {
    /// Packets that were sent into the link; packets a full ring refused are not among them.
    pub packets_in: u64,
    /// Their IP bytes.
    pub bytes_in: u64,
    /// Packets received at the far end.
    pub packets_delivered: u64,
    /// Their IP bytes.
    pub bytes_delivered: u64,
    /// Second copies made by the link.
    pub duplicated: u64,
    /// Their IP bytes.
    pub bytes_duplicated: u64,
    /// Packets held back so that later ones may overtake them.
    pub reordered: u64,
    /// Packets damaged on their way.
    pub corrupted: u64,
    /// Packets of ECN-capable transports that the queue marked instead of dropping them (RFC 3168).
    pub marked: u64,
    /// Packets dropped, by reason.
    pub dropped: Counts<DropReason>,
    /// Header packets of TCP Decoupling among them (DEC-12), alike.
    pub headers_dropped: Counts<DropReason>,
    /// IP bytes of all dropped packets.
    pub bytes_dropped: u64,
    /// When the queue dropped its first packet, for want of room or to slow its sender.
    pub first_queue_drop: Option<Instant>,
}

impl LinkCounters {
    /// Packets that the queue dropped, for want of room or to slow their senders.
    pub fn dropped_by_queue(&self) -> u64 {
        self.dropped.get(DropReason::QUEUE_FULL) + self.dropped.get(DropReason::AQM)
    }

    /// Of these, header packets of TCP Decoupling; the rest is data and all other traffic. (DEC-23)
    pub fn headers_dropped_by_queue(&self) -> u64 {
        self.headers_dropped.get(DropReason::QUEUE_FULL) + self.headers_dropped.get(DropReason::AQM)
    }

    /// Packets dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.total()
    }
}
