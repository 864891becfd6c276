//! The kinds of queue, as files write them: a line each.

use super::discipline::{Discipline, QueueSettings, QueueSite};
use super::limit::QueueLimit;
use super::{Codel, DropTail, FqCodel, HeaderFirst, Red, Ring};
use crate::table::{self, kinds};
use airtcp_core::{Rng, Value, ValueError, ValueType};
use alloc::string::String;

kinds! {
    /// What happens to a packet that finds the transmitter busy.
    pub enum Queue as QueueSettings {
        /// First in, first out; what does not fit is dropped.
        DropTail(DropTail) = "droptail";
        /// A small ring that refuses what does not fit, so that the sender keeps it in a queue of its own.
        Ring(Ring) = "ring";
        /// Random early detection: the longer the queue was of late, the likelier an arriving packet is dropped.
        Red(Red) = "red";
        /// Controlled delay: drops at the head while packets waited longer than a target for a whole interval.
        Codel(Codel) = "codel";
        /// A queue with CoDel for each flow, served in turn; flows that send little go first.
        FqCodel(FqCodel) = "fq-codel";
        /// First in, first out, for TCP Decoupling: drops header packets above a threshold, so that no data is lost.
        HeaderFirst(HeaderFirst) = "header-first";
    }
}

impl Queue {
    /// How much may wait.
    pub fn limit(&self) -> QueueLimit {
        self.settings().limit()
    }

    /// DSCP by which header packets are counted among what is dropped. (DEC-12)
    pub(crate) fn header_dscp(&self) -> u8 {
        self.settings().header_dscp()
    }

    /// Whether the values make sense before such a transmitter.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn check_at(&self, site: &QueueSite) -> Result<(), String> {
        self.settings().check().and_then(|()| self.settings().check_at(site))
    }

    /// The queue at work, with `rng` for its own use.
    pub(crate) fn start(&self, site: &QueueSite, rng: Rng) -> Discipline {
        self.settings().start(site, rng)
    }
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail(DropTail::default())
    }
}

/// A limit alone means drop-tail.
impl ValueType for Queue {
    const KIND: &'static str = "limit or table, \"75kB\" or { kind = \"droptail\", limit = \"75kB\" }";
    fn read(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Table(_) => table::read(value),
            _ => QueueLimit::read(value).map(|limit| Queue::DropTail(DropTail { limit })),
        }
    }
    fn write(&self) -> String {
        table::write(self)
    }
}
