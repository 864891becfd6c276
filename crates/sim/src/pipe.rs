//! One direction of a link in the topology: the link model, its ends, and the schemes there.

use airtcp_core::{DropReason, Instant, Packet};
use airtcp_link::Link;

/// A link direction between two nodes.
#[derive(Debug)]
pub struct Pipe {
    /// "links.air.forward"
    pub name: String,
    pub link: Link,
    pub to: usize,
    /// The scheme element a packet meets before it enters, outermost last.
    pub before: Option<usize>,
    /// The scheme element a packet meets when it comes out.
    pub after: Option<usize>,
    /// The event in the queue, if one is pending.
    pub scheduled: Option<Instant>,
}

impl Pipe {
    /// Sends a packet; what is lost is counted by the link.
    pub fn send(&mut self, now: Instant, packet: Packet) {
        self.link.send(now, packet, &mut drop_packet);
    }

    /// The time to queue an event for, if the pending one is not early enough.
    pub fn needs_event(&mut self) -> Option<Instant> {
        let next = self.link.next_event()?;
        if self.scheduled.is_some_and(|scheduled| scheduled <= next) {
            return None;
        }
        self.scheduled = Some(next);
        Some(next)
    }
}

/// The link counted it; nothing is left to do.
pub fn drop_packet(packet: Packet, _reason: DropReason) {
    drop(packet);
}
