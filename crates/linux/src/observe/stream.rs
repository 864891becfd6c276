//! The data of one direction of a TCP connection, by its sequence numbers: what was lost before it came here, and what behind.
//!
//! A segment beyond the furthest leaves a hole if it does not follow it. What fills a hole later was lost before it came here; a
//! segment that passed before and comes again was lost behind. What comes again although it was acknowledged was not needed.

use super::marks::Marks;
use airtcp_core::{Duration, Instant, SeqNum};

/// Holes that are remembered. Of more the oldest is forgotten: what fills it is then taken for lost behind.
const HOLES: usize = 16;
/// A hole that is filled sooner was reordering, where no round trip is known.
const REORDERED: Duration = Duration::from_millis(5);
/// A jump over more is no hole but a strange number.
const FURTHEST_JUMP: u32 = 1 << 24;
/// Bytes of payload in a segment before its connection says how many there are (RFC 9293's 536 are rare).
const USUAL_SEGMENT: u32 = 1448;
/// No sender makes shorter ones, whatever is asked for (Linux: `tcp_min_snd_mss`).
const LEAST_SEGMENT: u32 = 48;

/// What is known of the data that goes one way.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Behind the furthest byte that passed.
    end: Option<SeqNum>,
    /// Up to where all is acknowledged, and the furthest that is, also selectively.
    acked: Option<SeqNum>,
    furthest_acked: Option<SeqNum>,
    holes: Vec<Hole>,
    segment_bytes: u32,
    /// The present run of losses: where it goes on, how long it is, and on which side.
    run: Option<(SeqNum, u32, Side)>,
    marks: Marks,
    /// The latest round trips, by what they were measured of.
    round_trips: [(SeqNum, Duration); ROUND_TRIPS],
    measured: usize,
}

/// Round trips that are remembered: of the last four at eight each.
const ROUND_TRIPS: usize = 32;
/// Of these the nearest to a lost segment tell how long packets waited beside it; the shortest of them, as an
/// acknowledgment may be late.
const NEAREST: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Hole {
    from: SeqNum,
    to: SeqNum,
    at: Instant,
}

/// On which side of the onlooker something was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before it came here.
    Before,
    /// After it passed.
    Behind,
}

/// What a segment with data was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Segments that it is: a super-frame is several.
    pub segments: u32,
    /// They were lost on this side before.
    pub lost: Option<Side>,
    /// The round trip of what passed beside the lost ones, if it is known.
    pub beside: Option<Duration>,
    /// They do not follow what was lost before.
    pub is_new_run: bool,
    /// A run of losses that is over: its length, and the side.
    pub ended_run: Option<(u32, Side)>,
}

/// What an acknowledgment told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Bytes that arrived meanwhile.
    pub bytes: u32,
    /// A round trip from here to the receiver and back.
    pub round_trip: Option<Duration>,
}

impl Stream {
    /// The connection begins, or begins anew.
    pub fn open(&mut self, mss: Option<u16>) {
        *self = Stream { segment_bytes: mss.map_or(0, |mss| u32::from(mss).max(LEAST_SEGMENT)), ..Stream::default() };
    }

    /// Bytes of payload in a full segment, as far as is known.
    pub fn segment_bytes(&self) -> u32 {
        if self.segment_bytes == 0 { USUAL_SEGMENT } else { self.segment_bytes }
    }

    /// Something passed that nothing has acknowledged.
    pub fn is_open(&self) -> bool {
        self.end.zip(self.acked).is_some_and(|(end, acked)| acked.before(end))
    }

    /// A segment with data passes. `round_trip`: the shortest of its flow.
    pub fn pass(&mut self, now: Instant, seq: SeqNum, payload: u32, round_trip: Option<Duration>) -> Passed {
        let to = seq + payload;
        let segments = payload.div_ceil(self.segment_bytes()).max(1);
        let mut passed = Passed { segments, ..Passed::default() };
        let Some(end) = self.end else {
            self.end = Some(to);
            return passed;
        };
        let gap = seq.distance_from(end);
        if gap.unsigned_abs() > FURTHEST_JUMP {
            // Strange, or the middle of another connection with the same ports.
            passed.ended_run = self.end_run();
            *self = Stream { segment_bytes: self.segment_bytes, end: Some(to), ..Stream::default() };
            return passed;
        }
        if gap >= 0 {
            if gap > 0 {
                self.remember(Hole { from: end, to: seq, at: now });
            }
            self.end = Some(to);
            self.marks.pass(now, to, round_trip);
            return passed;
        }
        let lost = if to.after(end) { None } else { self.again(now, seq, to, round_trip) };
        if to.after(end) {
            self.end = Some(to);
        }
        if let Some(side) = lost {
            (passed.is_new_run, passed.ended_run) = self.continue_run(seq, to, segments, side);
            (passed.lost, passed.beside) = (Some(side), self.beside(to));
        }
        passed
    }

    /// Data that is not new: on which side it was lost, if it was.
    fn again(&mut self, now: Instant, seq: SeqNum, to: SeqNum, round_trip: Option<Duration>) -> Option<Side> {
        self.marks.forget(seq, to);
        if let Some(place) = self.holes.iter().position(|hole| seq.before(hole.to) && to.after(hole.from)) {
            let hole = self.fill(place, seq, to);
            let soonest = round_trip.map_or(REORDERED, |round_trip| round_trip / 2);
            return (now.saturating_since(hole.at) >= soonest).then_some(Side::Before);
        }
        // A probe of a connection that is idle or whose window is closed has a byte, or what is long acknowledged.
        let is_needed = self.acked.is_none_or(|acked| to.after(acked)) && to.since(seq) > 1;
        is_needed.then_some(Side::Behind)
    }

    fn remember(&mut self, hole: Hole) {
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(hole);
    }

    /// Takes a range out of a hole, which may leave two; the hole as it was.
    fn fill(&mut self, place: usize, seq: SeqNum, to: SeqNum) -> Hole {
        let hole = self.holes.remove(place);
        for rest in [Hole { to: hole.to.min(seq), ..hole }, Hole { from: hole.from.max(to), ..hole }] {
            if rest.from.before(rest.to) && self.holes.len() < HOLES {
                self.holes.insert(place.min(self.holes.len()), rest);
            }
        }
        hole
    }

    /// Counts a loss; true if it begins a run, and the run that is over then.
    fn continue_run(&mut self, seq: SeqNum, to: SeqNum, segments: u32, side: Side) -> (bool, Option<(u32, Side)>) {
        match &mut self.run {
            Some((end, length, of)) if *end == seq && *of == side => {
                (*end, *length) = (to, length.saturating_add(segments));
                (false, None)
            }
            _ => {
                let ended = self.end_run();
                self.run = Some((to, segments, side));
                (true, ended)
            }
        }
    }

    /// The run of losses that was under way, which is over.
    pub fn end_run(&mut self) -> Option<(u32, Side)> {
        self.run.take().map(|(_, length, side)| (length, side))
    }

    /// An acknowledgment comes back.
    pub fn acknowledge(&mut self, now: Instant, ack: SeqNum, sacked: Option<SeqNum>) -> Acked {
        let furthest = sacked.map_or(ack, |sacked| sacked.max(ack));
        // Nobody can acknowledge what did not pass.
        let Some(end) = self.end.filter(|end| furthest.at_or_before(*end)) else { return Acked::default() };
        let before = self.furthest_acked.filter(|before| end.since(*before) <= FURTHEST_JUMP);
        let bytes = before.map_or(0, |before| furthest.since(before));
        self.furthest_acked = Some(before.map_or(furthest, |before| before.max(furthest)));
        self.acked = Some(self.acked.map_or(ack, |acked| acked.max(ack)));
        let timed = self.marks.back(now, furthest);
        if let Some(timed) = timed {
            self.round_trips[self.measured % ROUND_TRIPS] = timed;
            self.measured = if self.measured + 1 == 2 * ROUND_TRIPS { ROUND_TRIPS } else { self.measured + 1 };
        }
        Acked { bytes, round_trip: timed.map(|(_, round_trip)| round_trip) }
    }

    /// The shortest of the round trips that were measured nearest to `place`.
    fn beside(&self, place: SeqNum) -> Option<Duration> {
        let known = &self.round_trips[..self.measured.min(ROUND_TRIPS)];
        let mut nearest: Vec<_> =
            known.iter().map(|(of, time)| (of.distance_from(place).unsigned_abs(), *time)).collect();
        nearest.sort_unstable();
        nearest.iter().take(NEAREST).map(|(_, time)| *time).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// Passes segments of 1000 bytes that begin at these thousands, each a millisecond after the other.
    fn pass(stream: &mut Stream, begin: u64, thousands: &[u32]) -> Vec<Option<Side>> {
        let each = thousands.iter().zip(begin..).map(|(thousand, ms)| {
            let at = Instant::from_nanos(ms * MS);
            stream.pass(at, SeqNum(thousand.wrapping_mul(1000)), 1000, Some(Duration::from_millis(10))).lost
        });
        each.collect()
    }

    fn ack(stream: &mut Stream, ms: u64, thousand: u32, sacked: Option<u32>) -> Acked {
        stream.acknowledge(Instant::from_nanos(ms * MS), SeqNum(thousand * 1000), sacked.map(|one| SeqNum(one * 1000)))
    }

    #[test]
    fn what_fills_a_hole_was_lost_before_and_what_passed_already_was_lost_behind() {
        let mut stream = Stream::default();
        assert_eq!(pass(&mut stream, 0, &[1, 2, 5, 6]), [None; 4]);
        ack(&mut stream, 10, 2, None);
        assert_eq!(pass(&mut stream, 20, &[3, 4, 2]), [Some(Side::Before), Some(Side::Before), Some(Side::Behind)]);
    }

    #[test]
    fn what_is_filled_at_once_was_reordered_and_what_was_acknowledged_was_not_lost() {
        let mut stream = Stream::default();
        assert_eq!(pass(&mut stream, 0, &[1, 3, 2, 4]), [None; 4]);
        ack(&mut stream, 10, 5, None);
        assert_eq!(pass(&mut stream, 20, &[2, 4]), [None; 2]);
    }

    #[test]
    fn losses_that_follow_one_another_are_a_run() {
        let mut stream = Stream::default();
        pass(&mut stream, 0, &[1, 2, 3, 4, 5, 6, 7]);
        pass(&mut stream, 20, &[2, 3, 4]);
        let next = stream.pass(Instant::from_nanos(30 * MS), SeqNum(6000), 1000, None);
        assert_eq!((next.lost, next.ended_run), (Some(Side::Behind), Some((3, Side::Behind))));
        assert_eq!(stream.end_run(), Some((1, Side::Behind)));
    }

    #[test]
    fn what_passed_beside_a_lost_segment_tells_how_long_packets_waited() {
        let mut stream = Stream::default();
        // Round trips of 10 ms, then of 50.
        for number in 0..20 {
            let (at, round_trip) = (number * 20, if number < 10 { 10 } else { 50 });
            stream.pass(Instant::from_nanos(at * MS), SeqNum(number as u32 * 1000), 1000, None);
            ack(&mut stream, at + round_trip, number as u32 + 1, None);
        }
        stream.pass(Instant::from_nanos(900 * MS), SeqNum(20_000), 1000, None);
        stream.pass(Instant::from_nanos(999 * MS), SeqNum(20_000), 1000, None);
        assert_eq!(stream.beside(SeqNum(4500)), Some(Duration::from_millis(10)));
        assert_eq!(stream.beside(SeqNum(20_000)), Some(Duration::from_millis(50)));
    }

    #[test]
    fn a_super_frame_is_several_segments() {
        let mut stream = Stream::default();
        stream.open(Some(1460));
        assert_eq!(stream.pass(Instant::ZERO, SeqNum(1), 14_601, None).segments, 11);
    }

    #[test]
    fn acknowledgments_tell_what_arrived_and_round_trips_of_what_was_sent_once() {
        let mut stream = Stream::default();
        pass(&mut stream, 0, &[0, 1, 2, 3, 4]);
        ack(&mut stream, 9, 0, None);
        assert_eq!(ack(&mut stream, 11, 2, None), Acked { bytes: 2000, round_trip: Some(Duration::from_millis(10)) });
        // A hole at 2; what is behind it arrived.
        assert_eq!(ack(&mut stream, 12, 2, Some(5)).bytes, 3000);
        assert_eq!(ack(&mut stream, 13, 5, None).bytes, 0, "told before");
        assert_eq!(ack(&mut stream, 14, 9, None), Acked::default(), "of what never passed");
        pass(&mut stream, 20, &[5]);
        pass(&mut stream, 21, &[5]);
        assert_eq!(ack(&mut stream, 30, 6, None).round_trip, None, "Karn");
    }

    proptest! {
        /// Numbers of any kind, in any order, across the wrap: nothing panics, and holes stay within their bound.
        #[test]
        fn no_numbers_are_too_strange(
            steps in prop::collection::vec((any::<u32>(), any::<bool>(), 0u32..70_000, 0u32..4), 1..200),
            mss in any::<Option<u16>>(),
        ) {
            let mut stream = Stream::default();
            stream.open(mss);
            let mut near = 0u32;
            for (number, (far, is_near, length, what)) in steps.into_iter().enumerate() {
                near = near.wrapping_add(far % 9000).wrapping_sub(4000);
                let (seq, now) = (SeqNum(if is_near { near } else { far }), Instant::from_nanos(number as u64 * 7 * MS));
                match what {
                    0 | 1 => { let _ = stream.pass(now, seq, length, None); }
                    2 => { let _ = stream.acknowledge(now, seq, (length > 9).then(|| seq + length)); }
                    _ => { let _ = stream.end_run(); }
                }
                prop_assert!(stream.holes.len() <= HOLES);
                for hole in &stream.holes {
                    prop_assert!(hole.from.before(hole.to));
                }
            }
        }
    }
}
