//! When a host has something to do.

use crate::fetch::fetch;
use crate::index::SocketId;
use airtcp_core::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to so many, room is made for one at a time.
const FEW: usize = 4;

/// See the module.
pub struct Deadlines {
    /// Of its sockets, possibly outdated: the socket's own deadline decides.
    sockets: BinaryHeap<Reverse<(Instant, SocketId)>>,
    /// The earliest of all; the end of time for none. It is asked for after every packet, and few packets change it.
    first: Instant,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines { sockets: BinaryHeap::new(), first: Instant::MAX }
    }
}

impl Deadlines {
    /// The earliest; the end of time for none.
    #[inline]
    pub fn first(&self) -> Instant {
        self.first
    }

    /// Sees to it that there is one for a socket no later than `due`; `armed` is that which it has.
    #[inline]
    pub fn arm(&mut self, armed: &mut Instant, socket: SocketId, due: Instant) {
        if due < *armed {
            *armed = due;
            self.push(due, socket);
        }
    }

    fn push(&mut self, due: Instant, socket: SocketId) {
        // Otherwise each of thousands of hosts with one socket would have room for four.
        if self.sockets.len() < FEW {
            self.sockets.reserve_exact(1);
        }
        self.sockets.push(Reverse((due, socket)));
        self.first = self.first.min(due);
    }

    /// The earliest of a socket, if it is due at `now`.
    pub fn due(&self, now: Instant) -> Option<(Instant, SocketId)> {
        self.sockets.peek().map(|Reverse(deadline)| *deadline).filter(|(due, _)| *due <= now)
    }

    /// Takes the earliest of a socket out. [`Deadlines::settle`] has to follow.
    pub fn pop(&mut self) {
        self.sockets.pop();
    }

    /// The earliest of a socket is at `due` from now on; the end of time for never. [`Deadlines::settle`] has to follow.
    pub fn put_off(&mut self, due: Instant) {
        if due == Instant::MAX {
            self.pop();
        } else if let Some(mut first) = self.sockets.peek_mut() {
            first.0.0 = due;
        }
    }

    /// What is not of sockets is due at `others`. If that is later than it was, who comes when it was due finds out.
    pub fn note(&mut self, others: Instant) {
        self.first = self.first.min(others);
    }

    /// What is not of sockets is due at `others`.
    pub fn settle(&mut self, others: Instant) {
        self.first = self.sockets.peek().map_or(others, |Reverse((due, _))| others.min(*due));
    }

    /// Has what will be looked at fetched.
    pub fn fetch(&self) {
        self.sockets.peek().into_iter().for_each(fetch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_known_whatever_comes_and_goes() {
        let [mut armed, mut other] = [Instant::MAX; 2];
        let [one, two] = [1, 2].map(SocketId::from);
        let at = Instant::from_nanos;
        let mut deadlines = Deadlines::default();
        assert_eq!(deadlines.first(), Instant::MAX);
        deadlines.arm(&mut armed, one, at(5));
        deadlines.arm(&mut armed, one, at(7));
        deadlines.arm(&mut other, two, at(3));
        assert_eq!((deadlines.first(), armed, other), (at(3), at(5), at(3)));
        assert_eq!([2, 3].map(|now| deadlines.due(at(now))), [None, Some((at(3), two))]);
        deadlines.pop();
        deadlines.settle(Instant::MAX);
        assert_eq!(deadlines.first(), at(5));
        deadlines.settle(at(4));
        assert_eq!(deadlines.first(), at(4));
        for (others, first) in [(9, 4), (2, 2)] {
            deadlines.note(at(others));
            assert_eq!(deadlines.first(), at(first));
        }
        assert_eq!(deadlines.due(at(9)), Some((at(5), one)));
        for (due, first) in [(at(8), at(8)), (Instant::MAX, Instant::MAX)] {
            deadlines.put_off(due);
            deadlines.settle(Instant::MAX);
            assert_eq!(deadlines.first(), first);
        }
    }
}
