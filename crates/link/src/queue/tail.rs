//! Queues that know nothing but their limit: drop-tail drops what does not fit, a ring refuses it.

use super::discipline::{Discipline, QueueSettings, QueueSite};
use super::limit::QueueLimit;
use airtcp_core::{Rng, parameters};

parameters! {
    /// A queue that drops what does not fit.
    pub struct DropTail {
        /// How much may wait, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(1000), "Linux, default txqueuelen";
    }
}

impl QueueSettings for DropTail {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn start(&self, _: &QueueSite, _: Rng) -> Discipline {
        Discipline::DropTail(self.limit)
    }
}

parameters! {
    /// A device ring that refuses what does not fit, for senders with a queue of their own.
    pub struct Ring {
        /// How much may wait, not counting the packet in transmission.
        pub limit: QueueLimit = QueueLimit::Packets(2), "ours: the next packet is there when the transmitter is free";
    }
}

impl QueueSettings for Ring {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn start(&self, _: &QueueSite, _: Rng) -> Discipline {
        Discipline::Ring(self.limit)
    }
}
