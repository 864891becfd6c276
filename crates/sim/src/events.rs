//! What events are about, and the place that each has in the queue.

use crate::index::{ElementId, FanId, JointId, PipeId, WlanId};
use crate::queue::{EventQueue, Source};

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The next packet of a fan arrives.
    Fan(FanId),
    /// Packets enter a pipe.
    Joint(JointId),
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

/// The sources of a run: fans, joints, cells, then pipes, then timeouts, then ready signals, then the sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources {
    pub fans: usize,
    pub joints: usize,
    pub pipes: usize,
    pub cells: usize,
    pub elements: usize,
    /// So many elements, the first ones, may find a port full: a host's never is.
    pub schemes: usize,
}

impl Sources {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.sample() + 1
    }

    /// A queue for their events: fans, joints and cells have most, pipes beside them few, and timeouts are mostly set anew
    /// before they are due.
    pub fn queue(&self) -> EventQueue {
        EventQueue::new(self.first_pipe(), self.first_timeout(), self.count())
    }

    fn first_pipe(&self) -> usize {
        self.first_cell() + self.cells
    }

    fn first_cell(&self) -> usize {
        self.fans + self.joints
    }

    fn first_timeout(&self) -> usize {
        self.first_pipe() + self.pipes
    }

    fn sample(&self) -> usize {
        self.first_timeout() + self.elements + self.schemes
    }

    /// The place of an event.
    #[inline]
    pub fn of(&self, kind: Kind) -> Source {
        let place = match kind {
            Kind::Fan(fan) => usize::from(fan),
            Kind::Joint(joint) => self.fans + usize::from(joint),
            Kind::Arrival(pipe) => self.first_pipe() + usize::from(pipe),
            Kind::Cell(cell) => self.first_cell() + usize::from(cell),
            Kind::Timeout(element) => self.first_timeout() + usize::from(element),
            Kind::Ready(element) => {
                debug_assert!(usize::from(element) < self.schemes, "hosts, which come behind, are never refused");
                self.first_timeout() + self.elements + usize::from(element)
            }
            Kind::Sample => self.sample(),
        };
        place as Source
    }

    /// The event at a place.
    #[inline]
    pub fn kind(&self, source: Source) -> Kind {
        let place = source as usize;
        if place < self.fans {
            return Kind::Fan(place.into());
        }
        if place < self.first_cell() {
            return Kind::Joint((place - self.fans).into());
        }
        if place < self.first_pipe() {
            return Kind::Cell((place - self.first_cell()).into());
        }
        if place < self.first_timeout() {
            return Kind::Arrival((place - self.first_pipe()).into());
        }
        let element = place - self.first_timeout();
        if element < self.elements {
            Kind::Timeout(element.into())
        } else if element < self.elements + self.schemes {
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
        let sources = Sources { fans: 2, joints: 1, pipes: 4, cells: 2, elements: 3, schemes: 2 };
        for source in 0..sources.count() as Source {
            assert_eq!(sources.of(sources.kind(source)), source);
        }
        assert_eq!(sources.kind(sources.count() as Source - 1), Kind::Sample);
    }
}
