//! How long the buffers of split flows are, so that all of them together stay below the bound of memory.
//!
//! A flow begins with short ones. While what one of its connections has in flight fills more than half of its buffer, the
//! buffer holds it back, as on a long way behind a fast link; then all its buffers double. Many flows that begin have the
//! other half of the memory.

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

    /// What the buffers of a flow, one of so many, are to hold: twice `now` if so much in flight fills more than half of one
    /// and there is memory for it.
    pub fn grow(&mut self, now: u64, in_flight: u64, flows: usize) -> Option<u64> {
        let next = 2 * now;
        if next > self.largest || in_flight <= now / 2 {
            return None;
        }
        let more = 4 * (memory_of(next) - memory_of(now));
        let is_room = flows as u64 * self.cost_of_first() + self.grown + more <= self.max_memory / 2;
        self.grown += if is_room { more } else { 0 };
        is_room.then_some(next)
    }

    /// A flow is over whose buffers held so much.
    pub fn release(&mut self, buffer: u64) {
        self.grown -= 4 * (memory_of(buffer) - memory_of(self.first));
    }
}
