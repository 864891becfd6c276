//! A queue that keeps its packets until the transmitter is free, because it decides on departure.

use super::signals::Signals;
use airtcp_core::{Backlog, Duration, Instant, Packet};
use alloc::boxed::Box;
use core::any::Any;
use core::fmt::Debug;

/// What a discipline that decides on departure has to do. Time never goes back between calls.
pub(crate) trait DepartureQueue: Any + Debug + Send {
    /// Takes a packet, or drops one or several, this one or others. With `whatever_the_limit` the transmitter waits
    /// for it, so no limit applies. False if this packet was dropped.
    fn enqueue(&mut self, now: Instant, packet: Packet, whatever_the_limit: bool, signals: &mut Signals<'_>) -> bool;

    /// The packet that the transmitter, free at `now`, sends next; drops or marks on the way. None when all that
    /// waited was dropped.
    fn dequeue(&mut self, now: Instant, signals: &mut Signals<'_>) -> Option<Packet>;

    /// Works from now on as `next` would, a fresh one, and keeps what it holds and knows; false if it cannot, and nothing changes.
    fn adopt(&mut self, next: &dyn Any) -> bool;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Flows of which more than one packet waits, where each has a queue.
    fn waiting_flows(&self) -> Option<usize> {
        None
    }

    /// Puts `packet` in the place of the newest of its flow, if it covers that; not where flows share a queue.
    ///
    /// # Errors
    /// `packet` itself.
    fn replace_newest(&mut self, packet: Packet, _covers: &dyn Fn(&Packet, &Packet) -> bool) -> Result<Packet, Packet> {
        Err(packet)
    }

    /// Packets may wait for `least`, or as long as configured, and `extra` more.
    fn allow(&mut self, least: Duration, extra: Duration);
}

/// A queue and since when something waits in it.
#[derive(Debug)]
pub(crate) struct Held {
    queue: Box<dyn DepartureQueue>,
    /// When a packet last came to an empty queue; nothing can depart before.
    waiting_since: Instant,
}

impl Held {
    pub(crate) fn new(queue: Box<dyn DepartureQueue>) -> Self {
        Held { queue, waiting_since: Instant::ZERO }
    }

    pub(crate) fn adopt(&mut self, next: &Held) -> bool {
        self.queue.adopt(&*next.queue as &dyn Any)
    }

    /// A packet comes; the transmitter is free at `free_at`. False if the packet was dropped.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        free_at: Instant,
        packet: Packet,
        signals: &mut Signals<'_>,
    ) -> bool {
        let is_empty = self.backlog().packets == 0;
        if is_empty {
            self.waiting_since = now;
        }
        self.queue.enqueue(now, packet, is_empty && free_at <= now, signals)
    }

    /// When the transmitter, free at `free_at`, takes the next packet; none if nothing waits.
    pub(crate) fn next_turn(&self, free_at: Instant) -> Option<Instant> {
        (self.backlog().packets > 0).then(|| free_at.max(self.waiting_since))
    }

    pub(crate) fn dequeue(&mut self, at: Instant, signals: &mut Signals<'_>) -> Option<Packet> {
        self.queue.dequeue(at, signals)
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    pub(crate) fn waiting_flows(&self) -> Option<usize> {
        self.queue.waiting_flows()
    }

    pub(crate) fn replace_newest(
        &mut self,
        packet: Packet,
        covers: &dyn Fn(&Packet, &Packet) -> bool,
    ) -> Result<Packet, Packet> {
        self.queue.replace_newest(packet, covers)
    }

    pub(crate) fn allow(&mut self, least: Duration, extra: Duration) {
        self.queue.allow(least, extra);
    }
}
