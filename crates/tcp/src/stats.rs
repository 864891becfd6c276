//! Counters of one end of a connection.

use airtcp_core::Duration;
use core::mem::offset_of;

/// What happened so far. Segments and bytes; bytes are payload. What is counted most comes first, in memory as here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stats {
    /// Segments of any kind taken in.
    pub segments_received: u64,
    /// Segments of any kind handed out.
    pub segments_sent: u64,
    /// Pure acknowledgments sent.
    pub acks_sent: u64,
    /// Payload received for the first time, in any order.
    pub bytes_received: u64,
    /// Payload handed to the application in order.
    pub bytes_delivered: u64,
    /// Data segments received above a hole.
    pub out_of_order_segments_received: u64,
    /// Payload cumulatively acknowledged by the peer.
    pub bytes_acknowledged: u64,
    /// Segments with payload handed out, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload handed out, retransmissions included.
    pub bytes_sent: u64,
    /// Round-trip times measured.
    pub rtt_samples: u64,
    /// The last of them.
    pub latest_rtt: Duration,
    /// Duplicate acknowledgments received.
    pub dupacks_received: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Of the segments that were sent again, tail loss probes.
    pub loss_probes: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Times fast recovery began, and tail loss probes that repaired a loss.
    pub fast_recoveries: u64,
    /// Of those, recoveries that kept the window because the loss was notified (ELN).
    pub spared_recoveries: u64,
    /// Times the window was reduced for ECN.
    pub ecn_reductions: u64,
    /// Times a reduction was undone because nothing had been lost.
    pub spurious_recoveries: u64,
    /// Retransmissions found lost again.
    pub lost_retransmissions: u64,
    /// Times the receiver took back what it had selectively acknowledged.
    pub renegings: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Keepalive probes sent.
    pub keepalive_probes: u64,
    /// Data segments received that held nothing new.
    pub duplicate_segments_received: u64,
    /// Data segments dropped because too many tiny ones are kept.
    pub segments_without_memory: u64,
    /// Acknowledgments that reported a duplicate (D-SACK) received.
    pub dsacks_received: u64,
    /// Segments received with a CE mark.
    pub ce_received: u64,
    /// Segments dropped for a wrong checksum.
    pub corrupted_segments: u64,
    /// Segments dropped as outside the window, too old, or not of this connection.
    pub rejected_segments: u64,
}

impl Stats {
    /// What is counted often is in so many bytes.
    pub(crate) const OFTEN: usize = offset_of!(Stats, loss_probes);
}
