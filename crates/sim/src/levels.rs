//! Levels that a run records over time: queues of links, and what elements of schemes tell of themselves.

use crate::element::Slot;
use crate::pipe::Pipe;
use airtcp_core::{Gauge, Instant};

/// A level to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// IP bytes that wait for a link's transmitter: the most since the sample before.
    Queue {
        /// Which link, by its place in the topology.
        link: usize,
        /// From the node named second to the one named first.
        reverse: bool,
    },
    /// Header packets that wait in a link's header-first queue; zero for another kind of queue. (DEC-23)
    Headers {
        /// Which link, by its place in the topology.
        link: usize,
        /// From the node named second to the one named first.
        reverse: bool,
    },
    /// What the boxes of a scheme say, all together; zero without such a scheme.
    Gauge {
        /// Name of the scheme.
        scheme: String,
        /// Which level.
        gauge: Gauge,
    },
}

/// A scheme's name, slug and boxes.
type Placed = (String, &'static str, Vec<usize>);

impl Level {
    /// The level now.
    pub(crate) fn read(&self, now: Instant, pipes: &mut [Pipe], elements: &[Slot], schemes: &[Placed]) -> u64 {
        match self {
            Level::Queue { link, reverse } => {
                pipes.get_mut(2 * link + usize::from(*reverse)).map_or(0, |pipe| pipe.link.take_queue_peak(now))
            }
            Level::Headers { link, reverse } => {
                let levels = pipes.get(2 * link + usize::from(*reverse)).and_then(|pipe| pipe.link.header_levels(now));
                levels.map_or(0, |levels| levels.waiting)
            }
            Level::Gauge { scheme, gauge } => {
                let placed = schemes.iter().filter(|(name, ..)| name == scheme).flat_map(|(.., placed)| placed);
                let mut sum = 0;
                for index in placed {
                    elements[*index].body.as_element().observe(&mut |found, level| {
                        sum += if found == *gauge { level } else { 0 };
                    });
                }
                sum
            }
        }
    }
}
