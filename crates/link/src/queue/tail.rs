//! Queues that know nothing but their limit: drop-tail drops what does not fit, a ring refuses it.

use super::QueueLimit;
use airtcp_core::parameters;
use alloc::string::String;

parameters! {
    /// A queue that drops what does not fit.
    pub struct DropTail {
        /// How much may wait, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(1000), "Linux, default txqueuelen";
    }
}

impl DropTail {
    pub(super) fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

parameters! {
    /// A device ring that refuses what does not fit, for senders with a queue of their own.
    pub struct Ring {
        /// How much may wait, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(2), "ours: the next packet is there when the transmitter is free";
    }
}

impl Ring {
    pub(super) fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
