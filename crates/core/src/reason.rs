//! Why packets come into being and why they end: the vocabulary of conservation.
//!
//! For every element, *received + created = sent + held + consumed + discarded*, and every creation
//! and discard carries one of these reasons. A scheme may declare more ([`declare!`](crate::declare!)).

use crate::label::labels;

labels! {
    /// Why an element made a packet.
    CreateReason {
        /// A TCP endpoint sent a segment.
        TRANSMIT = "transmit",
        /// A cached copy answers a loss on the link.
        REPAIR = "repair",
        /// A second copy of an acknowledgment, to notify a sender.
        DUPLICATE_ACK = "duplicate_ack",
        /// A link or medium delivered a frame twice.
        DUPLICATE = "duplicate",
        /// A message between two of our own boxes.
        CONTROL = "control",
        /// A lost packet, computed from an erasure code's block.
        RECOVERED = "recovered",
    }
}

labels! {
    /// Why a packet went no further.
    DropReason {
        /// The queue before a link or shaper was full.
        QUEUE_FULL = "queue_full",
        /// Active queue management dropped it to slow its sender, although there was room.
        AQM = "aqm",
        /// The link lost it.
        LOSS = "loss",
        /// The link was down.
        OUTAGE = "outage",
        /// Its content was damaged and a checksum said so.
        CORRUPTED = "corrupted",
        /// It is longer than the link's MTU and may not be fragmented here.
        TOO_BIG = "too_big",
        /// Its hop limit ran out.
        HOP_LIMIT = "hop_limit",
        /// No route leads to its destination.
        NO_ROUTE = "no_route",
        /// No connection wants it.
        NO_SOCKET = "no_socket",
        /// The element already passed the same bytes on.
        DUPLICATE = "duplicate",
        /// An acknowledgment that a scheme keeps from the sender.
        SUPPRESSED = "suppressed",
        /// A buffer with a stated bound was full.
        MEMORY_LIMIT = "memory_limit",
        /// A device refused it.
        DEVICE = "device",
        /// The medium's retry limit was reached: nobody acknowledged it.
        RETRY_LIMIT = "retry_limit",
    }
}
