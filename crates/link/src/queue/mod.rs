//! The queue before the transmitter.
//!
//! As in a router, the limit holds for what *waits*: the packet in transmission has left the queue. A packet that
//! finds the transmitter idle is accepted whatever the limit.
//!
//! A [`Queue`] is what a file says, a `Discipline` the same at work. Drop-tail, ring, RED and header-first decide on
//! arrival, so a link knows a packet's departure when it is sent and keeps no queue at all, only the turns to come. CoDel
//! and FQ-CoDel decide on departure: they hold their packets until the transmitter is free. Who has no transmitter, a
//! scheme's egress, keeps packets in a [`Buffer`], under any of these disciplines.
//!
//! A further discipline is one file, which implements `QueueSettings`, and one line in [`Queue`].

mod buffer;
mod codel;
mod discipline;
mod fifo;
mod fq_codel;
mod header_first;
mod header_levels;
mod held;
mod kinds;
mod limit;
mod red;
mod signals;
mod tail;

pub use buffer::Buffer;
pub use codel::Codel;
pub use discipline::QueueSite;
pub(crate) use discipline::{Arrival, Discipline};
pub use fq_codel::FqCodel;
pub use header_first::HeaderFirst;
pub use header_levels::HeaderLevels;
pub use kinds::Queue;
pub use limit::QueueLimit;
pub use red::Red;
pub(crate) use signals::Signals;
pub use tail::{DropTail, Ring};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use airtcp_core::ValueType;
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
            ("{ kind = \"red\", min = \"16packets\" }", "no more than"),
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
