//! Which segments belong to a connection, as far as their numbers tell.
//!
//! Whoever knows the addresses and ports of a connection can send segments in its name, but has to guess its numbers
//! (RFC 5961). One segment far ahead would make all that follows look old. So a segment ahead of what was seen is believed
//! only if its numbers are close to those of the connection's latest segment. Any other is in doubt: it passes, and nothing
//! is concluded from it. If the receiver acknowledges it, the connection goes on from there.

use crate::position::{self, Position};
use airtcp_core::{SeqNum, TcpHeader};
use core::ops::Range;

/// A segment may be so far ahead or behind: no gateway has copies of more.
pub(super) const DISTANCE_MAX: u64 = 16 << 20;
/// Acknowledgments of segments that follow each other differ by less.
const ACKNOWLEDGMENT_DISTANCE: u32 = 16 << 20;
/// And their timestamps: a quarter of an hour of a clock that ticks each millisecond.
const TIMESTAMP_DISTANCE: u32 = 1 << 20;

/// The numbers of one direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Of the latest segment that brought something new.
    acknowledgment: Option<SeqNum>,
    timestamp: Option<u32>,
    doubted: Option<Range<Position>>,
}

impl Numbers {
    /// True if a segment for `range` belongs to the connection, of which everything before `high` was seen or is missing.
    /// One that does not is in doubt from now on.
    pub fn believe(&mut self, tcp: &TcpHeader, range: &Range<Position>, high: Position) -> bool {
        let is_close = || range.start - high <= DISTANCE_MAX && self.are_close(tcp);
        if range.start > high && !is_close() {
            self.doubt(range);
            return false;
        }
        if range.end > high {
            self.acknowledgment = tcp.flags.ack().then_some(tcp.acknowledgment);
            self.timestamp = tcp.options.timestamps.map(|stamps| stamps.value);
            self.doubted = self.doubted.take().filter(|doubted| doubted.start > range.end);
        }
        true
    }

    fn are_close(&self, tcp: &TcpHeader) -> bool {
        let stamp = tcp.options.timestamps.map(|stamps| stamps.value);
        let has_close_stamp = self.timestamp.is_none_or(|latest| {
            stamp.is_some_and(|stamp| stamp.wrapping_sub(latest).cast_signed().unsigned_abs() <= TIMESTAMP_DISTANCE)
        });
        let has_close_acknowledgment = self.acknowledgment.is_none_or(|latest| {
            tcp.flags.ack() && tcp.acknowledgment.distance_from(latest).unsigned_abs() <= ACKNOWLEDGMENT_DISTANCE
        });
        has_close_stamp && has_close_acknowledgment
    }

    /// A segment for `range` may belong to the connection, or begin another one; the receiver knows.
    pub fn doubt(&mut self, range: &Range<Position>) {
        let follows = |doubted: &Range<Position>| {
            doubted.start <= range.start && range.start.saturating_sub(doubted.end) <= DISTANCE_MAX
        };
        let start = self.doubted.take().filter(follows).map_or(range.start, |doubted| doubted.start);
        self.doubted = Some(start..range.end);
    }

    /// True if something is in doubt.
    pub fn has_doubt(&self) -> bool {
        self.doubted.is_some()
    }

    /// True if the receiver's acknowledgment is for what was in doubt: it has it, so its sender sent it.
    pub fn is_proven_by(&self, acknowledgment: SeqNum) -> bool {
        self.doubted.as_ref().is_some_and(|doubted| {
            let number = position::near(doubted.start, acknowledgment);
            doubted.start < number && number <= doubted.end
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{data, edited};
    use airtcp_core::{Packet, Timestamps};

    const HIGH: Position = 1 << 32;

    fn stamped(acknowledgment: u32, stamp: u32) -> Packet {
        edited(&data(0), |tcp| {
            tcp.acknowledgment = SeqNum(acknowledgment);
            tcp.options.timestamps = Some(Timestamps { value: stamp, echo: 0 });
        })
    }

    /// Numbers that have seen a segment with acknowledgment 5000 and timestamp 70, up to `HIGH`.
    fn numbers() -> Numbers {
        let mut numbers = Numbers::default();
        assert!(numbers.believe(stamped(5000, 70).tcp().unwrap(), &(HIGH - 1000..HIGH), HIGH - 1000));
        numbers
    }

    fn believes(numbers: &mut Numbers, packet: &Packet, start: Position) -> bool {
        numbers.believe(packet.tcp().unwrap(), &(start..start + 1000), HIGH)
    }

    #[test]
    fn what_is_ahead_needs_all_numbers_to_be_close() {
        let ahead = HIGH + DISTANCE_MAX;
        assert!(believes(&mut numbers(), &stamped(6000, 80), ahead));
        assert!(!believes(&mut numbers(), &stamped(6000, 80), ahead + 1));
        assert!(!believes(&mut numbers(), &stamped(6000 + (17 << 20), 80), ahead));
        assert!(!believes(&mut numbers(), &stamped(6000, 80 + (1 << 21)), ahead));
        assert!(!believes(&mut numbers(), &data(0), ahead), "without a timestamp");
    }

    #[test]
    fn old_segments_teach_nothing() {
        let mut numbers = numbers();
        assert!(believes(&mut numbers, &stamped(1 << 30, 1 << 30), HIGH - 5000));
        assert!(believes(&mut numbers, &stamped(5000, 71), HIGH + 1000));
    }

    #[test]
    fn the_receivers_acknowledgment_of_any_of_what_is_in_doubt_is_the_proof() {
        let mut numbers = numbers();
        let far = HIGH + (1 << 30);
        for start in [far, far + 1000, far + 5000] {
            assert!(!believes(&mut numbers, &stamped(5000, 70), start));
        }
        assert!(!numbers.is_proven_by(position::sequence(far)));
        assert!(!numbers.is_proven_by(position::sequence(far + 6001)));
        assert!(
            numbers.is_proven_by(position::sequence(far + 1)) && numbers.is_proven_by(position::sequence(far + 6000))
        );
    }

    #[test]
    fn a_doubt_ends_when_the_connection_has_come_that_far_by_itself() {
        let mut numbers = numbers();
        assert!(!believes(&mut numbers, &data(0), HIGH + 2000) && numbers.has_doubt());
        assert!(believes(&mut numbers, &stamped(5000, 70), HIGH) && numbers.has_doubt());
        assert!(numbers.believe(stamped(5000, 70).tcp().unwrap(), &(HIGH + 1000..HIGH + 2000), HIGH + 1000));
        assert!(!numbers.has_doubt());
    }
}
