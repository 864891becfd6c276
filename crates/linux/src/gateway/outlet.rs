//! What waits for its turn on a link that peers share: packets and control messages in the order they were sent.

use airtcp_core::{Packet, Port, Token};
use std::collections::VecDeque;

/// What a call sent, in the order of sending: a POLL must not overtake the packets that it asks about. `M` is a message, or
/// the place of one.
pub(super) enum Outgoing<M> {
    Packet(Port, Packet, Option<Token>),
    Control(M),
    /// A message that may leave some packets and messages later.
    LateControl(M),
}

/// What waits keeps its own copy of a message.
pub(super) type Waiting = Outgoing<Vec<u8>>;

/// A queue of what is to leave through the link.
#[derive(Default)]
pub(super) struct Outlet {
    waiting: VecDeque<(Waiting, u32)>,
    bytes: u64,
    limit: u64,
}

impl Outlet {
    /// At most so many bytes wait.
    pub fn new(limit: u64) -> Outlet {
        Outlet { limit, ..Outlet::default() }
    }

    /// Lets something wait, which takes so many bytes of the link.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn push(&mut self, item: Waiting, bytes: u32) -> Result<(), Waiting> {
        if self.bytes + u64::from(bytes) > self.limit {
            return Err(item);
        }
        self.bytes += u64::from(bytes);
        self.waiting.push_back((item, bytes));
        Ok(())
    }

    /// The first.
    pub fn pop(&mut self) -> Option<Waiting> {
        let (item, bytes) = self.waiting.pop_front()?;
        self.bytes -= u64::from(bytes);
        Some(item)
    }

    /// Bytes of the item behind `skipped` others.
    pub fn bytes_at(&self, skipped: usize) -> Option<u32> {
        self.waiting.get(skipped).map(|(_, bytes)| *bytes)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Packets that wait.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().filter_map(|(item, _)| match item {
            Outgoing::Packet(_, packet, _) => Some(packet),
            Outgoing::Control(_) | Outgoing::LateControl(_) => None,
        })
    }
}
