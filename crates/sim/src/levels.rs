//! Levels that a run records over time: queues of links, and what elements of schemes tell of themselves.

use crate::index::LinkId;
use airtcp_core::Gauge;

/// A level to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// IP bytes that wait for a link's transmitter: the most since the sample before.
    Queue {
        /// Which link.
        link: LinkId,
        /// From the node named second to the one named first.
        reverse: bool,
    },
    /// Header packets that wait in a link's header-first queue; zero for another kind of queue. (DEC-23)
    Headers {
        /// Which link.
        link: LinkId,
        /// From the node named second to the one named first.
        reverse: bool,
    },
    /// What the elements of a scheme say, all together; zero without such a scheme.
    Gauge {
        /// Name of the scheme.
        scheme: String,
        /// Which level.
        gauge: Gauge,
    },
}
