//! Segments that arrive together are taken as one, as by Linux's generic receive offload (`tcp_gro_receive()`,
//! `gro_flush_timeout`): one acknowledgment answers a batch, and the window grows once.
//!
//! A batch takes full segments in order with the same timestamps. It ends with the first that is shorter or pushed, with
//! 64 KiB, and after a time from its first segment on. Data are handed on as they arrive: only acknowledgments wait.

use crate::config::Config;
use airtcp_core::{Duration, Instant, Timestamps};

/// The longest batch in bytes (Linux `gro_max_size`).
const MOST: u32 = 65_536;

/// A segment that arrived in order.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Bytes of data.
    pub len: u32,
    /// Its timestamps.
    pub stamps: Option<Timestamps>,
    /// It is the last that was written (PSH), or of the connection (FIN).
    pub ends: bool,
}

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It waits for others until then at the latest.
    Begins(Instant),
    /// It has joined a batch that goes on.
    Joins,
    /// It has ended the batch.
    Ends,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    longest: Duration,
    /// Bytes in the batch; 0 if there is none.
    len: u32,
    /// Bytes of its first segment.
    segment: u32,
    stamps: Option<Timestamps>,
}

impl Batch {
    /// An empty one; `None` if each segment is taken by itself.
    pub fn new(config: &Config) -> Option<Self> {
        config.gro_flush_timeout.map(|longest| Batch { longest, len: 0, segment: 0, stamps: None })
    }

    /// True if `piece` does not belong to the batch: take that first.
    pub fn refuses(&self, piece: &Piece) -> bool {
        self.len > 0 && (piece.stamps != self.stamps || piece.len > self.segment || self.len + piece.len > MOST)
    }

    /// Adds a segment that is not refused.
    pub fn add(&mut self, now: Instant, piece: &Piece) -> Taken {
        let begins = self.len == 0;
        if begins {
            (self.segment, self.stamps) = (piece.len, piece.stamps);
        }
        self.len += piece.len;
        if piece.ends || piece.len < self.segment || self.len + self.segment > MOST {
            Taken::Ends
        } else if begins {
            Taken::Begins(now.saturating_add(self.longest))
        } else {
            Taken::Joins
        }
    }

    /// Takes the batch: its bytes, if there are any.
    pub fn take(&mut self) -> Option<u32> {
        Some(core::mem::take(&mut self.len)).filter(|len| *len > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::ZERO;

    fn batch() -> Batch {
        Batch::new(&Config { gro_flush_timeout: Some(Duration::from_micros(50)), ..Config::default() }).unwrap()
    }

    fn piece(len: u32) -> Piece {
        Piece { len, stamps: None, ends: false }
    }

    #[test]
    fn full_segments_are_one_until_a_shorter_or_a_pushed_one_ends_the_batch() {
        for last in [piece(999), Piece { ends: true, ..piece(1000) }] {
            let mut batch = batch();
            assert_eq!(batch.add(START, &piece(1000)), Taken::Begins(START + Duration::from_micros(50)));
            assert_eq!(batch.add(START, &piece(1000)), Taken::Joins);
            assert_eq!(batch.add(START, &last), Taken::Ends);
            assert_eq!((batch.take(), batch.take()), (Some(2000 + last.len), None));
        }
    }

    #[test]
    fn a_batch_has_64_kib_and_one_pair_of_timestamps() {
        let mut batch = batch();
        let taken = (0..65).map(|_| batch.add(START, &piece(1000))).filter(|taken| *taken == Taken::Ends).count();
        assert_eq!((taken, batch.take()), (1, Some(65_000)));
        batch.add(START, &piece(1000));
        let stamps = Some(Timestamps { value: 1, echo: 0 });
        assert!(batch.refuses(&Piece { stamps, ..piece(1000) }));
        assert!(batch.refuses(&piece(1001)));
        assert!(!batch.refuses(&piece(1000)));
    }
}
