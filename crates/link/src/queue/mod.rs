//! The queue before the transmitter.
//!
//! As in a router, the limit holds for what *waits*: the packet in transmission has left the queue. A packet that
//! finds the transmitter idle is accepted whatever the limit.
//!
//! A [`Queue`] is what a file says, a [`Discipline`] the same at work. Drop-tail, ring, RED and header-first decide on arrival, so
//! the link knows a packet's departure when it is sent and keeps no queue at all, only the turns to come. CoDel and
//! FQ-CoDel decide on departure: they are a [`PacketQueue`] that the link holds and serves whenever the transmitter
//! becomes free. A further discipline is one file, one line in [`Queue`] and one in [`Discipline::new`].

mod codel;
mod fifo;
mod fq_codel;
mod header_first;
mod held;
mod limit;
mod red;
mod signals;
mod tail;

pub use codel::Codel;
pub use fq_codel::FqCodel;
pub(crate) use header_first::Facts;
pub use header_first::{HeaderFirst, HeaderLevels};
pub(crate) use held::{Held, PacketQueue};
pub use limit::QueueLimit;
pub use red::Red;
pub(crate) use signals::Signals;
pub use tail::{DropTail, Ring};

use crate::settings::LinkSettings;
use crate::table::{self, kinds};
use airtcp_core::{CONTROL_DSCP, Rng, Value, ValueError, ValueType};
use alloc::boxed::Box;
use alloc::string::String;
use codel::CodelQueue;
use fq_codel::FqCodelQueue;
use header_first::HeaderDropper;
use red::EarlyDetection;

kinds! {
    /// What happens to a packet that finds the transmitter busy.
    pub enum Queue {
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
        match self {
            Queue::DropTail(queue) => queue.limit,
            Queue::Ring(ring) => ring.limit,
            Queue::Red(red) => red.limit,
            Queue::Codel(codel) => codel.limit,
            Queue::FqCodel(queue) => queue.limit,
            Queue::HeaderFirst(queue) => queue.limit,
        }
    }

    /// DSCP by which the link counts header packets among what it drops. (DEC-12)
    pub(crate) fn control_dscp(&self) -> u8 {
        match self {
            Queue::HeaderFirst(queue) => queue.dscp,
            _ => CONTROL_DSCP,
        }
    }

    /// Whether the values make sense on a link of these settings.
    pub(crate) fn check_on(&self, facts: Facts) -> Result<(), String> {
        match self {
            Queue::HeaderFirst(queue) => queue.check_on(facts),
            _ => Ok(()),
        }
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

/// A queue at work.
#[derive(Debug)]
pub(crate) enum Discipline {
    /// Drops on arrival what does not fit.
    DropTail(QueueLimit),
    /// Refuses on arrival what does not fit.
    Ring(QueueLimit),
    /// Drops or marks on arrival.
    Red(Box<EarlyDetection>),
    /// Drops on arrival what does not fit, and headers above a threshold.
    HeaderFirst(Box<HeaderDropper>),
    /// Decides on departure.
    Held(Held),
}

impl Discipline {
    /// The queue of a link with these settings, with `rng` for its own use.
    pub(crate) fn new(settings: &LinkSettings, mut rng: Rng) -> Self {
        let held = |queue: Box<dyn PacketQueue>| Discipline::Held(Held::new(queue));
        match &settings.queue {
            Queue::DropTail(queue) => Discipline::DropTail(queue.limit),
            Queue::Ring(ring) => Discipline::Ring(ring.limit),
            Queue::Red(red) => Discipline::Red(Box::new(EarlyDetection::new(red, settings.rate, rng))),
            Queue::Codel(codel) => held(Box::new(CodelQueue::new(codel, settings.mtu))),
            Queue::FqCodel(queue) => held(Box::new(FqCodelQueue::new(queue, settings.mtu, &mut rng))),
            Queue::HeaderFirst(queue) => Discipline::HeaderFirst(Box::new(HeaderDropper::new(queue, settings.facts()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_queue_is_written_as_a_table_and_read_from_a_limit_too() {
        let queue = Queue::read(&"75kB".into()).unwrap();
        assert_eq!(queue.write(), "{ kind = \"droptail\", limit = \"75kB\" }");
        assert_eq!(Queue::read(&queue.write().into()), Ok(queue));
        assert!(
            Queue::read(&"{ kind = \"dropttail\" }".into())
                .unwrap_err()
                .to_string()
                .contains("did you mean 'droptail'?")
        );
        assert!(Queue::read(&"{ limt = \"1kB\" }".into()).unwrap_err().to_string().contains("did you mean 'limit'?"));
    }

    #[test]
    fn every_kind_reads_back_what_it_wrote() {
        for kind in <Queue as table::Table>::KINDS {
            let queue =
                Queue::read(&std::format!("{{ kind = \"{}\", limit = \"7packets\" }}", kind.name).into()).unwrap();
            assert_eq!(queue.limit(), QueueLimit::Packets(7), "{}", kind.name);
            assert_eq!(Queue::read(&queue.write().into()), Ok(queue));
        }
    }

    #[test]
    fn values_that_contradict_each_other_are_refused() {
        for (text, word) in [
            ("{ kind = \"red\", min = \"15packets\" }", "below"),
            ("{ kind = \"red\", min = \"5kB\" }", "unit"),
            ("{ kind = \"red\", mean_packet = \"0B\" }", "mean_packet"),
            ("{ kind = \"red\", weight = \"0%\" }", "weight"),
            ("{ kind = \"codel\", target = \"0ms\" }", "target"),
            ("{ kind = \"codel\", target = \"100ms\" }", "target"),
            ("{ kind = \"fq-codel\", flows = 0 }", "flows"),
            ("{ kind = \"fq-codel\", flows = 70000 }", "flows"),
            ("{ kind = \"fq-codel\", quantum = 20 }", "quantum"),
            ("{ kind = \"fq-codel\", interval = \"5ms\" }", "target"),
            ("{ kind = \"header-first\", threshold = 0 }", "threshold"),
            ("{ kind = \"header-first\", vmss = \"0B\" }", "vmss"),
            ("{ kind = \"header-first\", dscp = 64 }", "DSCP"),
        ] {
            let error = Queue::read(&text.into()).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
