//! When feedback leaves: at once where the way back has room, otherwise as often as its part of that allows. A way back can
//! be a thousandth of the way out, and what overfills it delays itself.

use crate::egress::{Allowance, Egress};
use crate::link_rate::Report;
use airtcp_core::{Duration, Instant};

/// Feedback takes at most one part in so many of the way back.
const PARTS: u64 = 4;
/// But so much of its time at once.
const AT_ONCE: Duration = Duration::from_millis(20);
/// What one message takes, if it tells of little.
pub(super) const BYTES: u32 = 110;
/// What nobody else wants of the way back costs only one part in so many.
const IDLE: u64 = 4;

/// What one message takes of the way back; less where nothing waits for it.
pub(super) fn cost(egress: &Egress) -> Duration {
    let time = egress.transmission(BYTES);
    if egress.is_empty() { time / IDLE } else { time }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Feedback {
    allowance: Allowance,
    /// There is something to say.
    is_due: bool,
    /// What came last of what there is to say of the link.
    report: Option<Report>,
}

impl Default for Feedback {
    fn default() -> Self {
        Feedback { allowance: Allowance::new(PARTS), is_due: false, report: None }
    }
}

impl Feedback {
    /// What there is to say of the link, if there is something.
    pub fn note(&mut self, report: Option<Report>) {
        self.report = report.or(self.report);
    }

    /// It is to be said now, and what came.
    pub fn want(&mut self) {
        self.is_due = true;
    }

    /// True if there is something to say now, with the report; [`charge`](Feedback::charge) follows.
    pub fn take(&mut self, now: Instant) -> Option<Option<Report>> {
        if !self.is_due || self.allowance.free_from(AT_ONCE) > now {
            return None;
        }
        self.is_due = false;
        Some(self.report.take())
    }

    /// The message takes the way back for so long. It is longer the more was lost.
    pub fn charge(&mut self, now: Instant, time: Duration) {
        self.allowance.take(now, time, AT_ONCE);
    }

    /// The other end knows nothing any more.
    pub fn clear(&mut self) {
        (self.is_due, self.report) = (false, None);
    }

    /// When there is something to say.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.is_due.then(|| self.allowance.free_from(AT_ONCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn report(name: u32) -> Report {
        Report { name, received: 0, stamp: 0 }
    }

    #[test]
    fn a_narrow_way_back_gets_a_quarter_of_its_time_and_the_latest_report() {
        for (time, messages) in [(10, 25..=30), (20, 12..=15)] {
            let (mut feedback, mut sent, mut last) = (Feedback::default(), 0, None);
            for n in 0..1000 {
                let now = Instant::from_nanos(1_000_000_000) + MS * u64::from(n);
                feedback.note(Some(report(n)));
                feedback.want();
                if let Some(told) = feedback.take(now) {
                    feedback.charge(now, MS * time);
                    (sent, last) = (sent + 1, told.map(|report| report.name));
                    assert_eq!(last, Some(n), "no old one");
                }
            }
            assert!(messages.contains(&sent), "{sent}");
            assert!(last.is_some_and(|name| name > 900));
        }
    }

    #[test]
    fn where_there_is_room_it_leaves_at_once_and_only_if_there_is_any() {
        let (mut feedback, now) = (Feedback::default(), Instant::from_nanos(5));
        assert_eq!((feedback.take(now), feedback.poll_timeout()), (None, None));
        feedback.note(Some(report(1)));
        assert_eq!((feedback.take(now), feedback.poll_timeout()), (None, None), "it can wait");
        feedback.note(None);
        feedback.want();
        assert!(feedback.poll_timeout().is_some());
        assert_eq!(feedback.take(now), Some(Some(report(1))));
        assert_eq!(feedback.take(now), None);
    }
}
