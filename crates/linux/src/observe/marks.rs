//! Round trips of what is numbered and comes back: sequence numbers in acknowledgments, timestamps in echoes.

use airtcp_core::{Duration, Instant, SeqNum};

/// What is timed at once: as many in a round trip.
const MARKS: usize = 8;
/// Between two marks, where no round trip is known.
const SPACING: Duration = Duration::from_millis(2);

/// Numbers that are waited for, with the times when they passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    marks: [(SeqNum, Instant); MARKS],
    count: usize,
    last: Option<Instant>,
}

impl Marks {
    /// A number passes for the first time; it is timed if it is its turn.
    pub fn pass(&mut self, now: Instant, number: SeqNum, round_trip: Option<Duration>) {
        let spacing = round_trip.map_or(SPACING, |round_trip| round_trip / MARKS as u64);
        let is_turn = self.last.is_none_or(|last| now.saturating_since(last) >= spacing);
        if is_turn && self.count < MARKS {
            self.marks[self.count] = (number, now);
            (self.count, self.last) = (self.count + 1, Some(now));
        }
    }

    /// All up to `number` came back: the furthest of these that was timed, and its round trip.
    pub fn back(&mut self, now: Instant, number: SeqNum) -> Option<(SeqNum, Duration)> {
        let reached = self.marks[..self.count].iter().take_while(|(mark, _)| mark.at_or_before(number)).count();
        let (mark, at) = *self.marks[..reached].last()?;
        self.marks.copy_within(reached..self.count, 0);
        self.count -= reached;
        Some((mark, now.saturating_since(at)))
    }

    /// What is between these passes again: it tells no time any more (Karn and Partridge, 1987).
    pub fn forget(&mut self, from: SeqNum, to: SeqNum) {
        let mut kept = 0;
        for place in 0..self.count {
            let mark = self.marks[place];
            if !(mark.0.after(from) && mark.0.at_or_before(to)) {
                self.marks[kept] = mark;
                kept += 1;
            }
        }
        self.count = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn what_comes_back_tells_the_time_of_the_furthest_and_what_passed_twice_does_not() {
        let mut marks = Marks::default();
        (0..6).for_each(|number| marks.pass(at(number * 5), SeqNum(u32::MAX - 2) + number as u32, None));
        marks.pass(at(26), SeqNum(99), None);
        // The third is the largest number, and the fourth is zero.
        assert_eq!(marks.back(at(50), SeqNum(0)), Some((SeqNum(0), Duration::from_millis(35))));
        marks.forget(SeqNum(0), SeqNum(1));
        assert_eq!(marks.back(at(60), SeqNum(1)), None);
        assert_eq!(marks.back(at(60), SeqNum(7)), Some((SeqNum(2), Duration::from_millis(35))));
    }

    #[test]
    fn a_round_trip_has_eight_marks_at_most() {
        let mut marks = Marks::default();
        (0..100).for_each(|ms| marks.pass(at(ms), SeqNum(ms as u32), Some(Duration::from_millis(80))));
        assert_eq!((marks.count, marks.marks[7].0), (8, SeqNum(70)));
    }
}
