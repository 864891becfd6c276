//! One direction of a link in the topology: the link model, its ends, and the schemes there.

use crate::index::{ElementId, FanId, JointId, LinkId, NodeId, PipeId};
use crate::queue::Since;
use crate::spares::Spares;
use crate::tap::{Direction, Tap, Tapped};
use crate::topology::LinkSpec;
use airtcp_core::{DropReason, Instant, Packet};
use airtcp_link::{Link, Stays};
use typed_index_collections::{TiSlice, TiVec};

/// A link direction between two nodes.
///
/// In this order in memory, so that a packet that goes straight on behind one of the same length and goal touches two cache
/// lines of it: the second ends within the [`Link`].
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Pipe {
    pub ways: Ways,
    /// When the last packet that went straight on came out, and since when it had been the next.
    last_out: (Instant, Since),
    /// The host that takes what comes out of the fan of this pipe here; nobody if there is none, or another element sees it first.
    pub home: ElementId,
    pub to: NodeId,
    pub link: Link,
    id: LinkId,
    /// Packets may go straight on from this pipe into those that only such pipes feed.
    pub is_express: bool,
    /// From the link's second node to its first.
    is_reverse: bool,
    /// The scheme element that gets packets before they enter.
    pub before: Option<ElementId>,
    /// The scheme element that gets packets when they come out.
    pub after: Option<ElementId>,
    pub feed: Feed,
    /// Packets that end behind this pipe come out of a fan, with those of others.
    pub fan: Option<FanId>,
    /// When a packet came out last, if any did with an event.
    pub last_arrival: Since,
}

const _: () = assert!(size_of::<Pipe>() == 320, "five cache lines");

/// "links.air.forward": what a direction of the link of this name is called.
pub fn name_of(link: &str, is_reverse: bool) -> String {
    format!("links.{link}.{}", if is_reverse { "reverse" } else { "forward" })
}

/// Where packets go from a pipe, by their goals, as far as it was looked up. Ways are marked before the first packet, and stay.
#[derive(Debug)]
#[repr(C)]
pub struct Ways {
    /// The goal of the last packet, nobody's before the first, and where that went: in most pipes all have the same goal.
    pub last: (NodeId, Option<Onward>),
    /// All, in pipes that packets for several goals pass.
    known: Option<Box<KnownWays>>,
}

/// By goal, as far as it was looked up.
type KnownWays = TiVec<NodeId, Option<Option<Onward>>>;

impl Default for Ways {
    fn default() -> Ways {
        Ways { last: (NodeId::NONE, None), known: None }
    }
}

impl Ways {
    /// If it was looked up; it is that of the last packet from now on.
    pub fn again(&mut self, goal: NodeId) -> Option<Option<Onward>> {
        let onward = self.known.as_ref()?.get(goal).copied().flatten()?;
        self.last = (goal, onward);
        Some(onward)
    }

    /// Where it is kept whether it was looked up, in pipes that packets for several goals pass.
    #[inline]
    pub fn place(&self, goal: NodeId) -> Option<&Option<Option<Onward>>> {
        self.known.as_ref()?.get(goal)
    }

    /// What was looked up.
    pub fn note(&mut self, goal: NodeId, onward: Option<Onward>) {
        if self.last.0 != NodeId::NONE {
            let known = self.known.get_or_insert_default();
            for (goal, onward) in [self.last, (goal, onward)] {
                known.resize(known.len().max(usize::from(goal) + 1), None);
                known[goal] = Some(onward);
            }
        }
        self.last = (goal, onward);
    }
}

/// Where a packet goes from a pipe without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// Straight into the pipe that only this one feeds.
    Pipe(PipeId),
    /// Before a pipe where it waits for its turn among those of other pipes.
    Joint(JointId),
    /// To its goal, out of a fan.
    Fan(FanId),
}

impl Onward {
    /// True if it passes a node that nobody looks at.
    #[inline]
    pub fn passes_node(self) -> bool {
        !matches!(self, Onward::Fan(_))
    }
}

/// Where the packets come from that enter a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// From the node at its beginning.
    Node,
    /// Straight from the only pipe that feeds it.
    Pipe(PipeId),
    /// Straight from several.
    Pipes(JointId),
}

impl Pipe {
    /// A pipe without schemes, in a direction of a link, to node `to`.
    pub fn new(id: LinkId, is_reverse: bool, link: Link, to: NodeId) -> Self {
        Pipe {
            ways: Ways::default(),
            last_out: (Instant::ZERO, Since::default()),
            home: ElementId::NONE,
            is_express: false,
            is_reverse,
            link,
            id,
            to,
            before: None,
            after: None,
            feed: Feed::Node,
            fan: None,
            last_arrival: Since::default(),
        }
    }

    /// What it is called, where these are the links.
    pub fn name(&self, links: &TiSlice<LinkId, LinkSpec>) -> String {
        name_of(&links[self.id].name, self.is_reverse)
    }

    /// Which direction it is, for taps.
    pub fn direction(&self) -> Direction {
        Direction { link: self.id.into(), reverse: self.is_reverse }
    }

    /// Since when a packet has been the next to come out that entered at `entered`, comes out at `at` and goes straight on: since
    /// then, or since the one before came out. What comes out at once has been so for as long.
    #[inline]
    pub fn next_since(&mut self, entered: Since, at: Instant) -> Since {
        let (last_at, last_since) = self.last_out;
        let since = if at == last_at { last_since } else { entered.later(last_since.then(last_at)) };
        self.last_out = (at, since);
        since
    }

    /// Sends a packet; what is lost is counted by the link.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: Packet, tap: &mut Tapped<'_>) {
        match tap.get() {
            None => {
                self.link.send(now, packet, &mut drop_packet);
            }
            Some(tap) => self.send_seen(now, packet, tap),
        }
    }

    /// Sends a packet of `bytes` on the medium straight through: see [`Link::send_through`].
    ///
    /// # Errors
    /// Why it does not come out: then it belongs to [`Pipe::keep`].
    #[inline(always)]
    pub fn send_through(
        &mut self,
        now: Instant,
        packet: &Packet,
        bytes: u32,
        tap: &mut Tapped<'_>,
    ) -> Result<Instant, Stays> {
        let passed = self.link.send_through(now, tap.limit(), bytes);
        passed.or_else(|stays| self.send_seen_through(now, stays, packet, bytes, tap))
    }

    /// What stays because there is a tap passes as others do, once that has seen it.
    #[cold]
    #[inline(never)]
    fn send_seen_through(
        &mut self,
        now: Instant,
        stays: Stays,
        packet: &Packet,
        bytes: u32,
        tapped: &mut Tapped<'_>,
    ) -> Result<Instant, Stays> {
        let until = tapped.until();
        let Some(tap) = tapped.get() else { return Err(stays) };
        let passed = match stays {
            Stays::Late(at) if at <= until => {
                self.link.count_through(bytes);
                Ok(at)
            }
            stays => Err(stays),
        };
        let direction = self.direction();
        tap.on_sent(now, direction, packet);
        passed.into_iter().for_each(|at| tap.on_arrived(at, direction, packet));
        passed
    }

    /// Takes a packet that did not come out of [`Pipe::send_through`].
    #[cold]
    #[inline(never)]
    pub fn keep(&mut self, now: Instant, stays: Stays, packet: Packet, tap: &mut Tapped<'_>, spares: &mut Spares) {
        let direction = self.direction();
        self.link.keep(now, stays, packet, &mut |packet, reason| {
            if let Some(tap) = tap.get() {
                tap.on_lost(now, direction, &packet, reason);
            }
            spares.keep(packet);
        });
    }

    /// Sends a packet unless the link's ring is full; false if it was dropped before it could be transmitted.
    ///
    /// # Errors
    /// The packet itself.
    #[inline]
    pub fn try_send(&mut self, now: Instant, packet: Packet, tap: &mut Tapped<'_>) -> Result<bool, Packet> {
        match tap.get() {
            None => self.link.try_send(now, packet, &mut drop_packet),
            Some(tap) => self.try_send_seen(now, packet, tap),
        }
    }

    /// Serves a queue that decides on departure.
    #[inline]
    pub fn advance(&mut self, now: Instant, tap: &mut Tapped<'_>) {
        match tap.get() {
            None => self.link.advance(now, &mut drop_packet),
            Some(tap) => self.advance_seen(now, tap),
        }
    }

    // Apart and cold, so that a run without a tap is compiled as if there were none.
    #[cold]
    fn send_seen(&mut self, now: Instant, packet: Packet, tap: &mut dyn Tap) {
        let direction = self.direction();
        tap.on_sent(now, direction, &packet);
        self.link.send(now, packet, &mut |packet, reason| tap.on_lost(now, direction, &packet, reason));
    }

    #[cold]
    fn try_send_seen(&mut self, now: Instant, packet: Packet, tap: &mut dyn Tap) -> Result<bool, Packet> {
        let (seen, mut lost) = (packet.clone(), Vec::new());
        let taken = self.link.try_send(now, packet, &mut |packet, reason| lost.push((packet, reason)))?;
        tap.on_sent(now, self.direction(), &seen);
        for (packet, reason) in lost {
            tap.on_lost(now, self.direction(), &packet, reason);
        }
        Ok(taken)
    }

    #[cold]
    fn advance_seen(&mut self, now: Instant, tap: &mut dyn Tap) {
        let direction = self.direction();
        self.link.advance(now, &mut |packet, reason| tap.on_lost(now, direction, &packet, reason));
    }
}

/// The link counted it; nothing is left to do.
fn drop_packet(packet: Packet, _reason: DropReason) {
    drop(packet);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_known_again_once_several_were_looked_up() {
        let ([a, b, c], mut ways) = ([5, 0, 2].map(NodeId::at), Ways::default());
        let (on, off) = (Some(Onward::Pipe(PipeId::at(1))), None);
        ways.note(a, on);
        assert_eq!((ways.last, ways.again(b)), ((a, on), None));
        ways.note(b, off);
        assert_eq!((ways.again(a), ways.last), (Some(on), (a, on)));
        assert_eq!((ways.again(b), ways.last), (Some(off), (b, off)));
        assert_eq!((ways.again(c), ways.last), (None, (b, off)));
    }
}
