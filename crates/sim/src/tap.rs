//! Looking at the packets of a run as they pass: captures and traces.
//!
//! A tap sees and changes nothing, so a run with one has the same trace hash as the run without. What a packet was
//! made for is in the packet itself ([`Packet::origin`]).

use airtcp_core::{DropReason, Instant, Packet};

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Direction {
    /// Position of the link in the topology, in the order in which links were added.
    pub link: usize,
    /// From the link's second node to its first.
    pub reverse: bool,
}

/// Sees every packet at both ends of every link, and every packet that ends before its goal.
pub trait Tap {
    /// A packet was given to a link, where it may still have to wait in its queue.
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet);

    /// A packet that was given to a link will not come out at its other end. A link decides most losses, also those in
    /// the air, when it is given the packet: this call then follows that of [`Tap::on_sent`] at once.
    fn on_lost(&mut self, at: Instant, direction: Direction, packet: &Packet, reason: DropReason);

    /// A packet came out of a link.
    fn on_arrived(&mut self, at: Instant, direction: Direction, packet: &Packet);

    /// A packet went no further between two links: at a host, a scheme or a node. `place` is the name that counters
    /// of drops use, `schemes.repair.a`.
    fn on_dropped(&mut self, at: Instant, place: &str, packet: &Packet, reason: DropReason);
}

/// A tap, or none.
pub struct Tapped<'t>(Option<&'t mut dyn Tap>);

impl<'t> Tapped<'t> {
    pub fn new(tap: Option<&'t mut dyn Tap>) -> Self {
        Tapped(tap)
    }

    /// The tap, if this run has one.
    #[inline]
    pub fn get(&mut self) -> Option<&mut dyn Tap> {
        match &mut self.0 {
            Some(tap) => Some(&mut **tap),
            None => None,
        }
    }
}
