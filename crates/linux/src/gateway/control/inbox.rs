//! Datagrams that were taken from a socket together, and are looked at one by one.

use crate::sys::hop_limit_socket::{Arrival, HopLimitSocket, MANY};
use std::io;
use std::ops::Range;

/// Longest datagram of UDP.
const LONGEST: usize = 65_535;

/// What was taken and is not yet looked at.
#[derive(Debug)]
pub(super) struct Inbox {
    buffer: Box<[u8]>,
    arrivals: [Option<Arrival>; MANY],
    next: usize,
    /// There were no more when these were taken.
    is_all: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        // Only what datagrams are written to takes memory.
        Inbox { buffer: vec![0; MANY * LONGEST].into_boxed_slice(), arrivals: [None; MANY], next: 0, is_all: false }
    }
}

impl Inbox {
    /// The next datagram: where it is, and what is known of it.
    ///
    /// # Errors
    /// As [`HopLimitSocket::receive`]; `WouldBlock`, too, behind the last of those that were there when it looked.
    pub fn next(&mut self, socket: &HopLimitSocket) -> io::Result<(Range<usize>, Arrival)> {
        loop {
            if let Some(arrival) = self.arrivals.get_mut(self.next).and_then(Option::take) {
                let start = self.next * LONGEST;
                self.next += 1;
                return Ok((start..start + arrival.length, arrival));
            }
            if std::mem::take(&mut self.is_all) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            (self.next, self.arrivals) = (0, [None; MANY]);
            let mut places = self.arrivals.iter_mut();
            socket.receive_many(self.buffer.chunks_mut(LONGEST), |arrival| {
                if let Some(place) = places.next() {
                    *place = Some(arrival);
                }
            })?;
            self.is_all = self.arrivals[MANY - 1].is_none();
        }
    }

    /// A datagram, until the next is asked for.
    pub fn datagram(&self, place: &Range<usize>) -> &[u8] {
        &self.buffer[place.clone()]
    }
}
