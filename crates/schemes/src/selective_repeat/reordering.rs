//! A link that reorders: by how much packets were late, so that what is late is not taken for lost.

use super::received::Received;
use crate::position::Position;
use airtcp_core::{Duration, Instant};
use alloc::collections::VecDeque;

/// Losses that are remembered, in case they come.
const MOST_DOUBTFUL: usize = 256;
/// After so many packets of which none was late, half as much patience is enough.
const PATIENT_FOR: u64 = 2048;
/// What is later than this comes no sooner than a repair would.
const MOST: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    /// Packets may be late by so much.
    window: Duration,
    /// When the latest of the transmissions left that came.
    delivered: Option<Instant>,
    /// Taken for lost: number, and by how much it had been overtaken.
    doubtful: VecDeque<(Position, Duration)>,
    /// The window is halved when this transmission has come.
    shrink_at: Position,
}

impl Reordering {
    /// A transmission came that left then.
    pub fn on_delivered(&mut self, sent_at: Instant) {
        self.delivered = self.delivered.max(Some(sent_at));
    }

    /// True if a transmission that left then may come still, although a later one did.
    pub fn may_be_late(&self, sent_at: Instant) -> bool {
        self.overtaken(sent_at).is_none_or(|overtaken| overtaken < self.window)
    }

    /// By how much a transmission that left then was overtaken by one that came; unknown if none came.
    pub fn overtaken(&self, sent_at: Instant) -> Option<Duration> {
        self.delivered.map(|delivered| delivered.saturating_since(sent_at))
    }

    /// A transmission counts as lost.
    pub fn on_lost(&mut self, number: Position, sent_at: Instant) {
        let overtaken = self.overtaken(sent_at).unwrap_or_default();
        if self.doubtful.len() == MOST_DOUBTFUL {
            self.doubtful.pop_front();
        }
        self.doubtful.push_back((number, overtaken));
    }

    /// An acknowledgment says of the latest transmissions up to `newest` which `came`. One that was taken for lost was late.
    pub fn on_ack(&mut self, newest: Position, came: impl Fn(Position) -> bool) {
        let mut lateness = Duration::ZERO;
        self.doubtful.retain(|(number, overtaken)| {
            let was_late = came(*number);
            if was_late {
                lateness = lateness.max(*overtaken);
            }
            !was_late && number + Received::MOST > newest
        });
        if lateness > Duration::ZERO {
            // How long after that it came nobody knows; as much again is allowed for it.
            self.window = self.window.max(lateness * 2).min(MOST);
            self.shrink_at = newest + PATIENT_FOR;
        } else if newest >= self.shrink_at && self.window > Duration::ZERO {
            self.window = if self.window > Duration::from_millis(1) { self.window / 2 } else { Duration::ZERO };
            self.shrink_at = newest + PATIENT_FOR;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn what_was_taken_for_lost_and_came_makes_patient_and_order_impatient_again() {
        let mut link = Reordering::default();
        link.on_delivered(at(5));
        assert!(!link.may_be_late(at(4)), "no reordering was seen");
        link.on_lost(1, at(2));
        link.on_ack(9, |number| number == 1);
        link.on_delivered(at(10));
        assert!(link.may_be_late(at(5)) && !link.may_be_late(at(4)), "3 ms, and as much again");
        for halved in 1..=4 {
            link.on_ack(9 + halved * PATIENT_FOR, |_| true);
        }
        assert!(!link.may_be_late(at(9)));
    }

    #[test]
    fn no_reordering_is_believed_that_takes_longer_than_repairs() {
        let mut link = Reordering::default();
        link.on_delivered(at(5000));
        link.on_lost(1, at(2));
        link.on_ack(9, |number| number == 1);
        assert!(link.may_be_late(at(4901)) && !link.may_be_late(at(4900)));
    }
}
