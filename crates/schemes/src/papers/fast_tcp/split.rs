//! An acknowledgment of many segments, sent as a series of partial ones, so that it does not release a burst (FTC-9).
//!
//! The parts say nothing that the whole does not: each acknowledges less, and promises exactly the right edge of the
//! window that the whole promises, so the edge never moves back and never beyond what the receiver said. That needs the
//! window's scale, parts whose distance from the whole is a multiple of its unit, and room in the window field.
//!
//! After a repair a series would do harm, so [`super::flow`] allows none: a NewReno sender sends the segment behind a
//! partial acknowledgment again, one after a timeout goes back to it, and Linux, whose first unacknowledged segment is then
//! one that was SACKed, takes the receiver for one that reneged.

use crate::papers::fast_tcp::events;
use crate::position::{self, Position};
use airtcp_core::{Context, Duration, Packet};

/// Segments that a part acknowledges, as many as a receiver that delays.
const SEGMENTS_OF_A_PART: u64 = 2;

/// What an acknowledgment says, and what was said before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    /// Everything before this was acknowledged earlier.
    pub from: Position,
    /// Everything before this is acknowledged now.
    pub to: Position,
    /// The window field.
    pub window: u16,
    /// Bits by which the field is to be shifted, 14 at most (RFC 7323 2.3).
    pub scale: u8,
    /// The right edge of the window as the receiver promised it before.
    pub promised: Position,
}

impl Said {
    /// The right edge that the acknowledgment promises.
    pub fn edge(&self) -> Position {
        self.to + (u64::from(self.window) << self.scale)
    }
}

/// Parts to be sent ahead of an acknowledgment that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// What is acknowledged so far.
    at: Position,
    to: Position,
    window: u16,
    scale: u8,
    /// Bytes that a part acknowledges at least.
    step: u64,
    /// Time that the segments of a part take on the link.
    pub distance: Duration,
}

impl Series {
    /// A series for segments of `mss` bytes that take `packet_time` each on the link; `None` where it would say what the
    /// receiver did not.
    pub fn of(said: &Said, mss: u32, packet_time: Duration) -> Option<Series> {
        let series = Series {
            at: said.from,
            to: said.to,
            window: said.window,
            scale: said.scale,
            step: SEGMENTS_OF_A_PART * u64::from(mss),
            distance: packet_time.saturating_mul(SEGMENTS_OF_A_PART),
        };
        // The first part is the farthest from the whole, so its window field is the largest.
        let (mut trial, keeps_edge) = (series, said.edge() >= said.promised);
        (keeps_edge && trial.advance().is_some()).then_some(series)
    }

    /// Number and window field of the next part; `None` when what is left is one part, the whole.
    fn advance(&mut self) -> Option<(Position, u16)> {
        let units = self.to.checked_sub(self.at + self.step)? >> self.scale;
        let window = u16::try_from(u64::from(self.window) + units).ok().filter(|_| units > 0)?;
        self.at = self.to - (units << self.scale);
        Some((self.at, window))
    }

    /// The next part of `whole`; `None` when it is its own turn.
    pub fn next(&mut self, cx: &mut Context<'_>, whole: &Packet) -> Option<Packet> {
        let (number, window) = self.advance()?;
        let mut part = cx.duplicate(whole, events::PARTIAL_ACK);
        part.set_acknowledgment(position::sequence(number));
        part.set_window(window);
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const SAID: Said = Said { from: 1 << 32, to: (1 << 32) + 10_240, window: 1000, scale: 3, promised: 0 };

    fn parts(said: &Said, mss: u32) -> Vec<(Position, u16)> {
        let series = Series::of(said, mss, Duration::ZERO);
        let mut parts = Vec::new();
        if let Some(mut series) = series {
            while let Some(part) = series.advance() {
                parts.push(part);
            }
        }
        parts
    }

    #[test]
    fn ftc_9_every_part_promises_the_edge_of_the_whole() {
        let parts = parts(&SAID, 512);
        assert_eq!(parts.len(), 9, "ten parts of 1024 bytes, of which the whole is the last");
        for (number, window) in &parts {
            assert_eq!(number + (u64::from(*window) << SAID.scale), SAID.edge());
        }
        assert!(parts.windows(2).all(|pair| pair[0].0 < pair[1].0), "the numbers only grow");
    }

    #[test]
    fn parts_lie_whole_units_of_the_window_before_the_whole() {
        let said = Said { to: SAID.to + 5, scale: 7, ..SAID };
        let parts = parts(&said, 500);
        assert!(!parts.is_empty() && parts.iter().all(|(number, _)| (said.to - number).is_multiple_of(128)));
    }

    #[test]
    fn a_window_field_without_room_and_an_edge_that_moved_back_are_left_alone() {
        let fits = Said { window: u16::MAX - (10_240 - 1024) / 8, ..SAID };
        assert_eq!(parts(&fits, 512).len(), 9);
        assert!(parts(&Said { window: fits.window + 1, ..SAID }, 512).is_empty());
        assert!(!parts(&Said { promised: SAID.edge(), ..SAID }, 512).is_empty());
        assert!(parts(&Said { promised: SAID.edge() + 1, ..SAID }, 512).is_empty());
    }

    #[test]
    fn what_is_one_part_is_no_series() {
        assert!(parts(&Said { to: SAID.from + 1024, ..SAID }, 512).is_empty());
        assert_eq!(parts(&Said { to: SAID.from + 1032, ..SAID }, 512).len(), 1);
    }
}
