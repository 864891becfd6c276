//! What events are about, and the place that each has in the queue.

use crate::index::{ElementId, PipeId, WlanId};
use crate::queue::Source;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The next packet of a pipe arrives, or has its turn in the queue there.
    Arrival(PipeId),
    /// An exchange on the medium of a cell ends.
    Cell(WlanId),
    /// An element's timeout.
    Timeout(ElementId),
    /// A full port of an element has room again.
    Ready(ElementId),
    /// Measure and check.
    Sample,
}

/// The sources of a run: pipes, then cells, then timeouts, then ready signals, then the sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources {
    pub pipes: usize,
    pub cells: usize,
    pub elements: usize,
}

impl Sources {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.first_timeout() + 2 * self.elements + 1
    }

    fn first_timeout(&self) -> usize {
        self.pipes + self.cells
    }

    /// The place of an event.
    #[inline]
    pub fn of(&self, kind: Kind) -> Source {
        let place = match kind {
            Kind::Arrival(pipe) => usize::from(pipe),
            Kind::Cell(cell) => self.pipes + usize::from(cell),
            Kind::Timeout(element) => self.first_timeout() + usize::from(element),
            Kind::Ready(element) => self.first_timeout() + self.elements + usize::from(element),
            Kind::Sample => self.first_timeout() + 2 * self.elements,
        };
        place as Source
    }

    /// The event at a place.
    #[inline]
    pub fn kind(&self, source: Source) -> Kind {
        let place = source as usize;
        if place < self.pipes {
            return Kind::Arrival(place.into());
        }
        if place < self.first_timeout() {
            return Kind::Cell((place - self.pipes).into());
        }
        let element = place - self.first_timeout();
        if element < self.elements {
            Kind::Timeout(element.into())
        } else if element < 2 * self.elements {
            Kind::Ready((element - self.elements).into())
        } else {
            Kind::Sample
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_its_event() {
        let sources = Sources { pipes: 4, cells: 2, elements: 3 };
        for source in 0..sources.count() as Source {
            assert_eq!(sources.of(sources.kind(source)), source);
        }
        assert_eq!(sources.kind(sources.count() as Source - 1), Kind::Sample);
    }
}
