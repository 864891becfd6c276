//! What leaves a circuit, and how much of it has left.

use airtcp_core::Packet;

/// What leaves a circuit.
#[derive(Debug)]
pub enum Departure {
    /// A packet that was offered, as it came.
    Data(Packet),
    /// A packet made here: a header packet, or what opens a control TCP and keeps it.
    Control(Packet),
}

/// What a circuit did so far. Bytes are IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets that control TCPs let out.
    pub data_packets: u64,
    /// Their bytes.
    pub data_bytes: u64,
    /// Packets that the guaranteed bandwidth let out.
    pub guaranteed_packets: u64,
    /// Their bytes.
    pub guaranteed_bytes: u64,
    /// Header packets, those sent again included.
    pub header_packets: u64,
    /// Of those, sent again.
    pub header_retransmissions: u64,
}
