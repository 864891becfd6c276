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
    /// Bytes of the next that were looked at: datagrams that the kernel joined.
    seen: usize,
    /// There were no more when these were taken.
    is_all: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        // Only what datagrams are written to takes memory.
        Inbox {
            buffer: vec![0; MANY * LONGEST].into_boxed_slice(),
            arrivals: [None; MANY],
            next: 0,
            seen: 0,
            is_all: false,
        }
    }
}

impl Inbox {
    /// The next datagram: where it is, and what is known of it.
    ///
    /// # Errors
    /// As [`HopLimitSocket::receive`]; `WouldBlock`, too, behind the last of those that were there when it looked.
    pub fn next(&mut self, socket: &HopLimitSocket) -> io::Result<(Range<usize>, Arrival)> {
        loop {
            if let Some(arrival) = self.arrivals.get(self.next).copied().flatten() {
                let (start, end) = (self.seen, arrival.length.min(self.seen + arrival.segment));
                let base = self.next * LONGEST;
                (self.next, self.seen) = if end < arrival.length { (self.next, end) } else { (self.next + 1, 0) };
                return Ok((base + start..base + end, arrival));
            }
            if std::mem::take(&mut self.is_all) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            (self.next, self.seen, self.arrivals) = (0, 0, [None; MANY]);
            let mut places = self.arrivals.iter_mut();
            socket.receive_many(self.buffer.chunks_mut(LONGEST), |arrival| {
                if let Some(place) = places.next() {
                    *place = Some(arrival);
                }
            })?;
            self.is_all = self.arrivals[MANY - 1].is_none();
        }
    }

    /// True if there is one that was taken and not looked at: nobody is told of it by the socket.
    pub fn has_more(&self) -> bool {
        self.arrivals.get(self.next).is_some_and(Option::is_some)
    }

    /// A datagram, until the next is asked for.
    pub fn datagram(&self, place: &Range<usize>) -> &[u8] {
        &self.buffer[place.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_datagram_is_looked_at_by_itself_and_in_order() {
        let socket = HopLimitSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.join_datagrams().unwrap();
        let here = socket.local_addr().unwrap();
        let data: Vec<u8> = (0..25).collect();
        // More than are taken at once.
        for _ in 0..MANY + 3 {
            socket.send_segments(&data, 10, None, here).unwrap();
            socket.send_to(b"", here).unwrap();
        }
        let (mut inbox, mut seen) = (Inbox::default(), Vec::new());
        for _ in 0..2 {
            while let Ok((place, _)) = inbox.next(&socket) {
                seen.push(inbox.datagram(&place).to_vec());
            }
        }
        let parts = [&data[..10], &data[10..20], &data[20..], &[]];
        assert_eq!(seen.len(), 4 * (MANY + 3));
        assert!(seen.iter().zip(parts.iter().cycle()).all(|(seen, part)| seen == part), "{seen:?}");
    }
}
