//! One direction of a link in the topology: the link model, its ends, and the schemes there.

use crate::tap::{Direction, Tap, Tapped};
use airtcp_core::{DropReason, Instant, Packet};
use airtcp_link::Link;

/// A link direction between two nodes.
#[derive(Debug)]
pub struct Pipe {
    /// "links.air.forward"
    pub name: String,
    pub direction: Direction,
    pub link: Link,
    pub to: usize,
    /// The scheme element a packet meets before it enters, outermost last.
    pub before: Option<usize>,
    /// The scheme element a packet meets when it comes out.
    pub after: Option<usize>,
    /// When the event that is pending in the queue is due; the end of time without one.
    pub scheduled: Instant,
}

impl Pipe {
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
        tap.on_sent(now, self.direction, &packet);
        self.link.send(now, packet, &mut |packet, reason| tap.on_lost(now, self.direction, &packet, reason));
    }

    #[cold]
    fn try_send_seen(&mut self, now: Instant, packet: Packet, tap: &mut dyn Tap) -> Result<bool, Packet> {
        let (seen, mut lost) = (packet.clone(), Vec::new());
        let taken = self.link.try_send(now, packet, &mut |packet, reason| lost.push((packet, reason)))?;
        tap.on_sent(now, self.direction, &seen);
        for (packet, reason) in lost {
            tap.on_lost(now, self.direction, &packet, reason);
        }
        Ok(taken)
    }

    #[cold]
    fn advance_seen(&mut self, now: Instant, tap: &mut dyn Tap) {
        self.link.advance(now, &mut |packet, reason| tap.on_lost(now, self.direction, &packet, reason));
    }

    /// The time to queue an event for, if the pending one is not early enough.
    #[inline(always)]
    pub fn needs_event(&mut self) -> Option<Instant> {
        let next = self.link.next_event().filter(|next| *next < self.scheduled)?;
        self.scheduled = next;
        Some(next)
    }
}

/// The link counted it; nothing is left to do.
fn drop_packet(packet: Packet, _reason: DropReason) {
    drop(packet);
}
