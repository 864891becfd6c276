//! What a BSS tells the network.

use airtcp_core::{DropReason, Packet, TxStatus};

/// What came of an exchange.
#[derive(Debug)]
pub enum Report {
    /// A packet arrived.
    Delivered {
        /// The interface that sent it.
        from: usize,
        /// The interface that received it.
        to: usize,
        /// The packet.
        packet: Packet,
    },
    /// A packet was given up.
    Dropped {
        /// The interface that sent it.
        from: usize,
        /// The interface it was for.
        to: usize,
        /// The packet.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// What became of a tracked packet.
    Status {
        /// Who is told.
        element: usize,
        /// What.
        status: TxStatus,
    },
    /// A ring that was full has room again.
    Room {
        /// The interface it belongs to.
        from: usize,
    },
}
