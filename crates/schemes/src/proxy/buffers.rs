//! How long the buffers of split flows are, so that all of them together stay below the bound of memory.
//!
//! A flow begins with short ones. While what one of its connections has in flight fills more than half of its buffer, the
//! buffer holds it back, as on a long way behind a fast link; then all its buffers double. Many flows that begin have the
//! other half of the memory.

use super::relay::Relay;

/// Most memory of a buffer for `size` bytes, whose segments may be tiny.
const fn memory_of(size: u64) -> u64 {
    size + size / 4 + (8 << 10)
}

/// See the module.
#[derive(Debug)]
pub struct Buffers {
    /// Of a flow that begins, bytes.
    pub first: u64,
    /// Of one that grew, bytes.
    pub largest: u64,
    /// What a flow needs beside them.
    state: u64,
    max_memory: u64,
    /// Memory of all flows beyond what they began with.
    grown: u64,
}

impl Buffers {
    /// That never grow.
    pub fn new(first: u64, state: u64, max_memory: u64) -> Buffers {
        Buffers { first, largest: first, state, max_memory, grown: 0 }
    }

    /// That grow.
    pub fn growing_to(self, largest: u64) -> Buffers {
        Buffers { largest: largest.max(self.first), ..self }
    }

    /// Memory that is set aside for a flow at its start.
    pub fn cost_of_first(&self) -> u64 {
        4 * memory_of(self.first) + self.state
    }

    /// Whether one more flow may begin beside so many.
    pub fn have_room(&self, flows: usize) -> bool {
        // One always may: a small bound is kept by short buffers.
        flows == 0 || (flows as u64 + 1) * self.cost_of_first() + self.grown <= self.max_memory
    }

    /// Doubles the buffers of a flow that they hold back, one of so many, if there is memory for it.
    pub fn fit(&mut self, relay: &mut Relay, flows: usize) {
        let (now, next) = (relay.buffer(), 2 * relay.buffer());
        if next > self.largest || relay.most_in_flight() <= now / 2 {
            return;
        }
        let more = 4 * (memory_of(next) - memory_of(now));
        if flows as u64 * self.cost_of_first() + self.grown + more <= self.max_memory / 2 {
            self.grown += more;
            relay.set_buffers(next);
        }
    }

    /// A flow is over.
    pub fn release(&mut self, relay: &Relay) {
        self.grown -= 4 * (memory_of(relay.buffer()) - memory_of(self.first));
    }
}
