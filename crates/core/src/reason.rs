//! Why packets come into being and why they end: the vocabulary of conservation.
//!
//! For every element, *in + created = sent + held + consumed + discarded*, and every creation
//! and discard carries one of these reasons.

macro_rules! reasons {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every reason, in declaration order; `reason as usize` indexes it.
            pub const ALL: &[$name] = &[$($name::$variant),+];
            /// The name used in results, metrics and traces.
            pub const fn label(self) -> &'static str {
                match self { $($name::$variant => $label,)+ }
            }
        }
    };
}

reasons! {
    /// Why an element made a packet.
    CreateReason {
        /// A TCP endpoint sent a segment.
        Transmit = "transmit",
        /// A cached copy answers a loss on the link.
        Repair = "repair",
        /// A second copy of a packet, sent while the link had nothing else to do.
        Redundant = "redundant",
        /// A second copy of an acknowledgment, to notify a sender.
        DuplicateAck = "duplicate_ack",
        /// A link or medium delivered a frame twice.
        Duplicate = "duplicate",
        /// A message between two of our own boxes.
        Control = "control",
        /// Redundancy of an erasure code, consumed at the other end of the link.
        Code = "code",
        /// An acknowledgment made of the medium's own (AS-TCP).
        EmulatedAck = "emulated_ack",
        /// A lost packet, computed from an erasure code's block.
        Recovered = "recovered",
        /// A part of an acknowledgment, sent ahead of the whole (Fast-TCP).
        PartialAck = "partial_ack",
    }
}

reasons! {
    /// Why a packet went no further.
    DropReason {
        /// The queue before a link or shaper was full.
        QueueFull = "queue_full",
        /// Active queue management dropped it to slow its sender, although there was room.
        Aqm = "aqm",
        /// The link lost it.
        Loss = "loss",
        /// The link was down.
        Outage = "outage",
        /// Its content was damaged and a checksum said so.
        Corrupted = "corrupted",
        /// It is longer than the link's MTU and may not be fragmented here.
        TooBig = "too_big",
        /// Its hop limit ran out.
        HopLimit = "hop_limit",
        /// No route leads to its destination.
        NoRoute = "no_route",
        /// No connection wants it.
        NoSocket = "no_socket",
        /// The element already passed the same bytes on.
        Duplicate = "duplicate",
        /// An acknowledgment that a scheme keeps from the sender.
        Suppressed = "suppressed",
        /// A buffer with a stated bound was full.
        MemoryLimit = "memory_limit",
        /// A device refused it.
        Device = "device",
        /// The medium's retry limit was reached: nobody acknowledged it.
        RetryLimit = "retry_limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_index_their_own_table() {
        for (index, reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
        for (index, reason) in CreateReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
    }
}
