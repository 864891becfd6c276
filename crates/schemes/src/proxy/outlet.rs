//! What leaves the box through one of its ports, and what waits for it.
//!
//! A ring gives back what it has no room for, and a host's TCP is then not asked for more. The box does the same: one
//! packet that was refused waits here, and connections keep theirs until the port has room. A packet dropped instead
//! would be a loss that the box made itself, repaired after a timeout only where the other end has no SACK.

use super::delivery::Sent;
use super::relay::Relay;
use crate::tracker::Tracker;
use airtcp_core::{Backlog, Context, FlowKey, Packet, Port};
use alloc::collections::VecDeque;

/// One port: open, or closed until it says that it has room.
#[derive(Debug)]
pub(super) struct Outlet {
    port: Port,
    /// What the port gave back.
    refused: Option<(Packet, Option<Sent>)>,
    /// What is on its way through a medium that tells of deliveries; used where packets come with a note.
    pub awaited: Tracker<Sent>,
    /// Flows that may have something to send, next first, each once.
    turns: VecDeque<u32>,
}

impl Outlet {
    pub fn new(port: Port) -> Self {
        Outlet { port, refused: None, awaited: Tracker::new(), turns: VecDeque::new() }
    }

    /// Sends a packet, one with a note so that its delivery is told; false if the port refused it, which keeps it here.
    pub fn send(&mut self, cx: &mut Context<'_>, packet: Packet, note: Option<Sent>) -> bool {
        let sent = match note {
            Some(note) => self.awaited.send(cx, packet, note),
            None => cx.try_send(self.port, packet),
        };
        if let Err(packet) = sent {
            self.refused = Some((packet, note));
        }
        self.is_open()
    }

    /// The port has room again: sends what it refused. True if more may follow.
    pub fn reopen(&mut self, cx: &mut Context<'_>) -> bool {
        match self.refused.take() {
            Some((packet, note)) => self.send(cx, packet, note),
            None => true,
        }
    }

    /// True while nothing waits that the port refused.
    pub fn is_open(&self) -> bool {
        self.refused.is_none()
    }

    /// Puts a flow behind all that wait, if it does not.
    #[cold]
    pub fn wait_for_turn(&mut self, slot: u32, relay: &mut Relay) {
        if !core::mem::replace(&mut relay.waits[usize::from(self.port.0)], true) {
            self.turns.push_back(slot);
        }
    }

    /// One turn of a flow, which does not wait here or was the first: a packet, or all that it has while nobody else wants to
    /// send. `tells`: the link has told of a delivery.
    #[inline]
    pub fn take_turn(&mut self, cx: &mut Context<'_>, slot: u32, flow: &FlowKey, relay: &mut Relay, tells: bool) {
        let index = usize::from(self.port.0);
        while let Some((mut packet, is_last)) = relay.poll_transmit(cx, self.port) {
            let deliveries = relay.deliveries.as_mut().filter(|_| self.port == Port::LINK);
            let note = deliveries.and_then(|deliveries| deliveries.note_leaving(*flow, &mut packet, tells));
            if !self.send(cx, packet, note) || self.is_wanted() {
                relay.waits[index] = true;
                return self.turns.push_back(slot);
            }
            if is_last {
                break;
            }
        }
        relay.waits[index] = false;
    }

    /// The flow whose turn it is.
    pub fn pop(&mut self) -> Option<u32> {
        self.turns.pop_front()
    }

    /// True if a flow waits.
    pub fn is_wanted(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Takes a flow out of its turn.
    pub fn forget(&mut self, slot: u32) {
        self.turns.retain(|other| *other != slot);
    }

    /// The packet that was refused.
    pub fn held(&self) -> Backlog {
        self.refused
            .as_ref()
            .map_or_else(Backlog::default, |(packet, _)| Backlog { packets: 1, bytes: u64::from(packet.wire_len()) })
    }

    /// Nobody waits at an open port, and nobody waits twice.
    pub fn check(&self, flows: usize) -> Result<(), &'static str> {
        if self.is_open() && self.is_wanted() {
            return Err("a split flow waits at a port that has room");
        }
        if self.turns.len() > flows {
            return Err("a split flow waits twice for its turn");
        }
        Ok(())
    }
}
