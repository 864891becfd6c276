//! The turns of a transmitter that have not begun, in the order in which they will.
//!
//! Every packet of a busy link waits here, so this is a list that is read from its front and written at its end: unlike in a
//! ring, where a turn is needs no arithmetic. What has begun is left out when the memory is full, or all of it has.

use airtcp_core::{Backlog, Instant, count_bytes};
use alloc::vec::Vec;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    bytes: u64,
    /// Beginning and length in bytes.
    all: Vec<(Instant, u32)>,
    /// So many of them have begun.
    begun: usize,
}

/// Memory for more turns is given back once none waits.
const LEAST_CAPACITY: usize = 4;

impl Turns {
    /// Adds one that begins behind all others.
    #[inline(always)]
    pub(crate) fn push(&mut self, begin: Instant, bytes: u32) {
        if self.all.len() == self.all.capacity() {
            self.make_room();
        }
        self.all.push((begin, bytes));
        count_bytes(&mut self.bytes, bytes);
    }

    /// Each is moved once at most for each that has begun.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if 2 * self.begun >= self.all.len() {
            self.all.drain(..self.begun);
            self.begun = 0;
        }
        self.all.reserve(1);
    }

    /// What begins by `now` waits no longer.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant) {
        while let Some((begin, bytes)) = self.all.get(self.begun) {
            if *begin > now {
                return;
            }
            self.bytes -= u64::from(*bytes);
            self.begun += 1;
        }
        if self.begun > 0 {
            self.clear();
        }
    }

    /// All have begun. After a burst memory for another would be kept for good.
    fn clear(&mut self) {
        self.begun = 0;
        self.all.clear();
        if self.all.capacity() > LEAST_CAPACITY {
            self.all = Vec::new();
        }
    }

    /// When the first begins.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.all.get(self.begun).map(|(begin, _)| *begin)
    }

    /// Of all that wait.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.all.len() - self.begun, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;
    use alloc::collections::VecDeque;

    #[test]
    fn turns_that_have_begun_are_left_out_and_their_memory_with_them() {
        let (mut turns, mut plain, mut rng) = (Turns::default(), VecDeque::new(), Rng::derive(1, "turns"));
        let (mut now, mut end, mut most) = (0, 0, 0);
        for step in 0..20_000 {
            let (begin, bytes) = (end + rng.below(3), rng.below(1500) as u32);
            turns.push(Instant::from_nanos(begin), bytes);
            plain.push_back((begin, bytes));
            end = begin;
            // It is never idle for the first half of the time.
            now = if step < 10_000 { end.saturating_sub(30) } else { end.saturating_sub(rng.below(20)) }.max(now);
            turns.begin(Instant::from_nanos(now));
            while plain.front().is_some_and(|(begin, _)| *begin <= now) {
                plain.pop_front();
            }
            let bytes = plain.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
            assert_eq!(turns.backlog(), Backlog { packets: plain.len(), bytes });
            assert_eq!(turns.first().map(Instant::as_nanos), plain.front().map(|(begin, _)| *begin));
            most = most.max(turns.all.capacity());
        }
        assert!(most <= 256, "{most}");
        turns.begin(Instant::MAX);
        assert_eq!((turns.first(), turns.all.capacity() <= LEAST_CAPACITY), (None, true));
    }
}
