//! What a BSS tells the network.

use crate::index::{ElementId, InterfaceId};
use airtcp_core::{DropReason, Packet, TxStatus};

/// What came of an exchange.
#[derive(Debug)]
pub enum Report {
    /// A packet arrived.
    Delivered {
        /// The interface that sent it.
        from: InterfaceId,
        /// The interface that received it.
        to: InterfaceId,
        /// The packet.
        packet: Packet,
    },
    /// A packet was given up.
    Dropped {
        /// The interface that sent it.
        from: InterfaceId,
        /// The interface it was for.
        to: InterfaceId,
        /// The packet.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// What became of a tracked packet.
    Status {
        /// Who is told.
        element: ElementId,
        /// What.
        status: TxStatus,
    },
    /// A ring that was full has room again.
    Room {
        /// The interface it belongs to.
        from: InterfaceId,
    },
}
