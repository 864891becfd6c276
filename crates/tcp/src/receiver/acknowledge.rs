//! When to acknowledge (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3) and what to report
//! selectively (RFC 2018, D-SACK by RFC 2883).

use super::compression::{Report, SackCompression};
use super::delay::{AckDelay, Path};
use super::quick::QuickAcks;
use super::spacing::Spacing;
use crate::config::Config;
use crate::range_set::{Range, RangeSet};
use crate::sequence::Sequence;
use airtcp_core::{Duration, Instant, SackBlocks};
use alloc::boxed::Box;

/// Whether an acknowledgment is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owed {
    /// Nothing to acknowledge.
    #[default]
    Nothing,
    /// By the time of the delayed acknowledgment timer.
    Later,
    /// At once.
    Now,
}

/// See the module.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Acknowledger {
    /// Whether an acknowledgment is owed.
    pub owed: Owed,
    /// A CE mark must be echoed (RFC 3168).
    pub echo_mark: bool,
    /// Each segment's mark is echoed, or that it has none (RFC 8257), and not one mark until the peer answers it.
    pub echoes_each_mark: bool,
    /// See [`Config::has_receive_habits`]: what most receivers need not look at with each segment.
    pub has_habits: bool,
    /// See [`depend_on_path`](Self::depend_on_path). The first segment always grants quick acknowledgments.
    depend_on_path: bool,
    segments_limit: u32,
    segments: u32,
    /// Segments that are acknowledged one by one.
    pub quick: QuickAcks,
    duplicate: Option<Range>,
    /// Offsets of the segments that arrived out of order most recently, newest first; 0, where no data are, for none.
    recent: [u64; 4],
    delay: AckDelay,
    /// Progress is acknowledged no sooner than it allows, if any.
    pub spacing: Option<Box<Spacing>>,
    compression: Option<Box<SackCompression>>,
}

impl Acknowledger {
    /// Acknowledges as often as the configuration says.
    pub fn new(config: &Config) -> Self {
        Acknowledger {
            owed: Owed::Nothing,
            echo_mark: false,
            echoes_each_mark: false,
            spacing: config.acks_per_rtt.map(|per_round_trip| Box::new(Spacing::new(per_round_trip))),
            quick: QuickAcks::new(config),
            has_habits: config.has_receive_habits(),
            depend_on_path: true,
            segments_limit: config.delayed_ack_segments.max(1),
            delay: AckDelay::new(config),
            compression: SackCompression::new(config).map(Box::new),
            segments: 0,
            recent: [0; 4],
            duplicate: None,
        }
    }

    /// An acknowledgment must go out at once.
    pub fn owe_now(&mut self) {
        self.owed = Owed::Now;
    }

    /// True if acknowledgments depend on more than the number of segments: on the path and the window.
    pub fn depend_on_path(&self) -> bool {
        self.depend_on_path
    }

    /// A segment arrived in order, `full` of them if they were taken as one, and the window has room for `window` full
    /// ones; returns when to acknowledge if nothing changes until then. Path and window matter if
    /// [`depend_on_path`](Self::depend_on_path) says so.
    #[inline(always)]
    pub fn on_in_order(&mut self, now: Instant, path: Path, full: u32, window: u64) -> Option<Instant> {
        if self.depend_on_path {
            if let Some(pause) = self.quick.pause(now) {
                self.delay.on_in_order(pause, path.rto);
            }
            self.quick.on_in_order(now, path.rto, window);
            self.depend_on_path = self.has_habits;
        }
        self.segments += full;
        let is_quick = self.quick.is_quick();
        if is_quick || self.segments >= self.segments_limit {
            let spacing = self.spacing.as_ref().filter(|_| self.has_habits && !is_quick);
            let allowed_at = spacing.map_or(now, |spacing| spacing.allowed_at());
            if allowed_at > now && self.owed != Owed::Now {
                self.owed = Owed::Later;
                return Some(allowed_at);
            }
            self.take_quick();
            self.owed = Owed::Now;
            return None;
        }
        if self.owed == Owed::Nothing {
            self.owed = Owed::Later;
            return Some(now.saturating_add(self.delay.wait(path.srtt)));
        }
        None
    }

    /// A segment arrived above the hole at `nxt`, and SACK reports it; there are `ranges` above it now. Returns when to
    /// acknowledge it at the latest, unless at once or with others that wait.
    pub fn on_out_of_order(&mut self, now: Instant, nxt: u64, ranges: usize, round_trip: Duration) -> Option<Instant> {
        let report = match &mut self.compression {
            Some(compression) if !self.quick.is_quick() => compression.on_out_of_order(now, nxt, ranges, round_trip),
            _ => Report::Now,
        };
        if report == Report::Now || self.owed == Owed::Now {
            if self.compression.is_some() {
                self.take_quick();
            }
            self.owed = Owed::Now;
            return None;
        }
        self.owed = Owed::Later;
        match report {
            Report::By(at) => Some(at),
            _ => None,
        }
    }

    /// The time of an acknowledgment that waited is over.
    pub fn on_delay_over(&mut self, path: Path) {
        if self.owed == Owed::Later && !self.is_compressed() {
            self.delay.on_missed(self.quick.talks_in_turn(), path.rto);
            self.quick.on_missed();
        }
        self.owed = Owed::Now;
    }

    /// Data of ours leave.
    pub fn on_data_sent(&mut self, now: Instant) {
        self.quick.on_data_sent(now, self.delay.spacing());
    }

    /// True if what waits is the report of segments above a hole.
    pub fn is_compressed(&self) -> bool {
        self.compression.as_ref().is_some_and(|compression| compression.is_waiting())
    }

    /// The same first, with habits: what waits to be reported selectively leaves, and acknowledgments are spaced.
    pub fn on_acknowledged_with_habits(&mut self, now: Instant) {
        if let Some(spacing) = &mut self.spacing {
            spacing.on_acknowledged(now);
        }
        if let Some(compression) = &mut self.compression {
            compression.on_acknowledged();
        }
    }

    /// A quick acknowledgment is used, if there is one.
    fn take_quick(&mut self) {
        if self.quick.take() {
            self.delay.reset();
        }
    }

    /// An acknowledgment left with a segment of ours.
    pub fn on_acknowledged(&mut self) {
        self.owed = Owed::Nothing;
        self.segments = 0;
        self.duplicate = None;
    }

    /// A segment arrived above a hole at `offset`.
    pub fn note_out_of_order(&mut self, offset: u64) {
        self.recent.rotate_right(1);
        self.recent[0] = offset;
    }

    /// Nothing is above a hole any more.
    #[inline]
    pub fn forget_recent(&mut self) {
        if self.recent[0] > 0 {
            self.recent = [0; 4];
        }
    }

    /// `[start, end)` arrived although it was here.
    pub fn report_duplicate(&mut self, start: u64, end: u64) {
        if start < end {
            self.duplicate = Some(Range { start, end });
        }
    }

    /// `[start, end)` of a segment had arrived before; one acknowledgment reports one range.
    pub fn widen_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.duplicate {
            Some(known) if start <= known.end && known.start <= end => {
                *known = Range { start: known.start.min(start), end: known.end.max(end) };
            }
            Some(_) => {}
            None => self.report_duplicate(start, end),
        }
    }

    /// True if the next acknowledgment reports something selectively.
    pub fn has_report(&self, held: &RangeSet) -> bool {
        self.duplicate.is_some() || !held.is_empty()
    }

    /// At most `max` blocks: the duplicate, then the ranges that changed last, then others.
    pub fn blocks(&mut self, held: &RangeSet, sequence: Sequence, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let block = |range: Range| (sequence.at(range.start), sequence.at(range.end));
        if let Some((left, right)) = self.duplicate.map(block) {
            blocks.push(left, right);
        }
        if held.is_empty() {
            self.forget_recent();
            return blocks;
        }
        let duplicates = blocks.as_slice().len();
        let mut found = None;
        let recent = self.recent.iter().filter(|offset| **offset > 0).filter_map(|offset| {
            // Segments arrive one behind the other: mostly it is the same range again, which is told already.
            if found.is_some_and(|range: Range| range.contains(*offset)) {
                return None;
            }
            found = held.containing(*offset);
            found
        });
        // Where there is one range, it is the only one to tell of, whatever was recent.
        let ranges = recent.take(if held.has_one() { 0 } else { 4 }).chain(held.iter().take(4));
        for (left, right) in ranges.map(block) {
            if blocks.as_slice().len() == max.min(4) {
                break;
            }
            if !blocks.as_slice()[duplicates..].contains(&(left, right)) {
                blocks.push(left, right);
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::SeqNum;
    use alloc::vec::Vec;

    const PATH: Path = Path { rto: Duration::from_millis(200), srtt: None };

    fn starts(acks: &mut Acknowledger, held: &RangeSet, max: usize) -> Vec<u32> {
        acks.blocks(held, Sequence::new(SeqNum(0)), max).as_slice().iter().map(|(left, _)| left.0).collect()
    }

    fn acknowledger() -> Acknowledger {
        Acknowledger::new(&Config { quick_acks: 0, ..Config::without_habits() })
    }

    #[test]
    fn the_range_that_changed_last_comes_first() {
        let (mut acks, mut held) = (acknowledger(), RangeSet::default());
        for start in [100, 300, 500, 700] {
            held.insert(start, start + 50);
            acks.note_out_of_order(start);
        }
        assert_eq!(starts(&mut acks, &held, 3), [700, 500, 300]);
        held.insert(350, 360);
        acks.note_out_of_order(350);
        assert_eq!(starts(&mut acks, &held, 3), [300, 700, 500]);
    }

    #[test]
    fn a_duplicate_is_reported_first_and_once() {
        let (mut acks, mut held) = (acknowledger(), RangeSet::default());
        held.insert(300, 400);
        acks.note_out_of_order(300);
        acks.report_duplicate(10, 20);
        assert_eq!(starts(&mut acks, &held, 3), [10, 300]);
        acks.on_acknowledged_with_habits(Instant::ZERO);
        acks.on_acknowledged();
        assert_eq!(starts(&mut acks, &held, 3), [300]);
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once_and_the_first_after_the_delay() {
        let mut acks = acknowledger();
        let now = Instant::from_nanos(5);
        assert_eq!(acks.on_in_order(now, PATH, 1, 99), Some(now + Duration::from_millis(40)));
        assert_eq!(acks.owed, Owed::Later);
        assert_eq!(acks.on_in_order(now, PATH, 1, 99), None);
        assert_eq!(acks.owed, Owed::Now);
    }

    #[test]
    fn with_spacing_as_many_segments_wait_for_the_time_and_the_time_for_as_many_segments() {
        let mut acks = Acknowledger::new(&Config { quick_acks: 0, acks_per_rtt: Some(4), ..Config::without_habits() });
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        acks.spacing.as_mut().unwrap().on_sample(Duration::from_millis(100));
        acks.on_acknowledged_with_habits(at(1000));
        acks.on_acknowledged();
        // Two segments, and 25 ms are not over: the timer is for then. More segments change nothing.
        assert_eq!(acks.on_in_order(at(1001), PATH, 1, 99), Some(at(1041)));
        assert_eq!(acks.on_in_order(at(1002), PATH, 1, 99), Some(at(1025)));
        assert_eq!((acks.on_in_order(at(1003), PATH, 1, 99), acks.owed), (Some(at(1025)), Owed::Later));
        assert_eq!((acks.on_in_order(at(1025), PATH, 1, 99), acks.owed), (None, Owed::Now));
        acks.on_acknowledged_with_habits(at(1025));
        acks.on_acknowledged();
        // The time is over, and one segment is not enough before its delay is.
        assert_eq!(acks.on_in_order(at(1060), PATH, 1, 99), Some(at(1100)));
        assert_eq!((acks.on_in_order(at(1070), PATH, 1, 99), acks.owed), (None, Owed::Now));
        acks.on_acknowledged_with_habits(at(1070));
        acks.on_acknowledged();
        // What must be acknowledged at once is.
        acks.owe_now();
        assert_eq!(
            (acks.on_in_order(at(1071), PATH, 1, 99), acks.on_in_order(at(1072), PATH, 1, 99), acks.owed),
            (None, None, Owed::Now)
        );
    }
}
