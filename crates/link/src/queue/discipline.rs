//! What a queue discipline is: the interface between the settings of one discipline, a file of this folder, and whoever
//! has a queue of it.

use super::header_levels::HeaderLevels;
use super::held::{DepartureQueue, Held};
use super::limit::QueueLimit;
use super::signals::Signals;
use airtcp_core::{Backlog, CONTROL_DSCP, Duration, Instant, Packet, Rate, Rng};
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Debug;

/// What a queue may know of the transmitter that it stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSite {
    /// Rate at which the queue is emptied; none if that is not known, or at once.
    pub rate: Option<Rate>,
    /// Propagation of the link, one way.
    pub delay: Duration,
    /// Longest IP packet that the link takes, in bytes.
    pub mtu: u32,
}

/// What the settings of a discipline answer; each kind of [`Queue`](super::Queue) does.
pub(crate) trait QueueSettings {
    /// How much may wait.
    fn limit(&self) -> QueueLimit;

    /// Whether the values make sense together.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether they also do at this place.
    fn check_at(&self, _site: &QueueSite) -> Result<(), String> {
        Ok(())
    }

    /// DSCP by which header packets of TCP Decoupling are told from other traffic. (DEC-12)
    fn header_dscp(&self) -> u8 {
        CONTROL_DSCP
    }

    /// The queue at work, with a random stream of its own.
    fn start(&self, site: &QueueSite, rng: Rng) -> Discipline;
}

/// A queue at work, by when it decides what becomes of a packet. Every kind of queue is one of these four, so whoever
/// has a queue matches them all and knows no kind by name.
#[derive(Debug)]
pub(crate) enum Discipline {
    /// On arrival, and only by its limit: what does not fit is dropped. The fast path of a link.
    DropTail(QueueLimit),
    /// The same, but what does not fit is given back to the sender.
    Ring(QueueLimit),
    /// On arrival, by a rule of its own.
    Arrival(Box<dyn ArrivalQueue>),
    /// On departure: it holds the packets.
    Departure(Held),
}

impl Discipline {
    /// A queue that decides on departure.
    pub(crate) fn departure(queue: impl DepartureQueue + 'static) -> Self {
        Discipline::Departure(Held::new(Box::new(queue)))
    }

    /// Works from now on as `next` would, a fresh one, and keeps what it holds and knows; false if it cannot, and nothing changes.
    pub(crate) fn adopt(&mut self, next: &Discipline) -> bool {
        match (self, next) {
            (Discipline::DropTail(limit), Discipline::DropTail(other))
            | (Discipline::Ring(limit), Discipline::Ring(other)) => {
                *limit = *other;
                true
            }
            (Discipline::Departure(held), Discipline::Departure(other)) => held.adopt(other),
            _ => false,
        }
    }
}

/// What a packet finds when it arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    /// When the transmitter has sent all that came before.
    pub(crate) free_at: Instant,
    /// What waits; the packet in transmission has left the queue.
    pub(crate) waiting: Backlog,
}

impl Arrival {
    /// Whether the transmitter waits for the packet. Then it is transmitted whatever the limit.
    pub(crate) fn is_idle(&self) -> bool {
        self.free_at <= self.now
    }
}

/// A discipline that decides on arrival. It holds no packets: its owner does, and says what waits.
pub(crate) trait ArrivalQueue: Debug + Send {
    /// Decides on a packet; gives it back, perhaps marked, if it may wait.
    fn admit(&mut self, arrival: &Arrival, packet: Packet, signals: &mut Signals<'_>) -> Option<Packet>;

    /// The transmitter has another rate, or the link another delay, from now on.
    fn set_site(&mut self, _site: &QueueSite) {}

    /// The header packets that waited until `now`, if the discipline counts them. (DEC-C28)
    fn header_levels(&self, _now: Instant) -> Option<HeaderLevels> {
        None
    }
}
