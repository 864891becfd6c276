//! A queue that gets less than the link carries becomes shorter. A wait that stays the same although less is sent is none: the way is
//! longer now, as after a satellite's handover.

use super::carried::Carried;
use super::excursion::Excursions;
use super::history::LEAST_TARGET;
use super::others;
use airtcp_core::{Duration, Instant, Rate};

/// A queue that others share becomes shorter by our share of what ours would. Less than one part in so many of that is none. Argued, not swept.
const SHORTER: u64 = 8;

/// So many times the jitter is a wait that it does not hide.
const CLEAR: u64 = 4;

/// A wait that stays: since which packet, as it left, and what the link carried then.
#[derive(Clone, Copy, Debug)]
struct Plateau {
    since: Instant,
    wait: Duration,
    rate: Rate,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LongerWay(Option<Plateau>);

impl LongerWay {
    /// Nothing waits, or it is known why.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// A packet that left at `left` waited so long, where so much is `carried`. A wait that differs by less than twice the `jitter`, or
    /// [`LEAST_TARGET`], is the same. What the link carried when the way became longer, if it did.
    pub fn judge(
        &mut self,
        left: Instant,
        wait: Duration,
        carried: &Carried,
        jitter: Duration,
        excursions: &Excursions,
    ) -> Option<Rate> {
        let rate = carried.rate()?;
        let tolerance = LEAST_TARGET.max(jitter * 2);
        let is_same = |before: &Plateau| wait < before.wait + tolerance && before.wait < wait + tolerance;
        let plateau = *self.0.insert(self.0.filter(is_same).unwrap_or(Plateau { since: left, wait, rate }));
        let before = plateau.rate;
        let is_a_third_less = carried.has_fallen(before, others::THIRD) && wait < others::HOPELESS.0;
        let drained = excursions.drained(plateau.since, left);
        let outlasts =
            is_clear(wait, jitter) && drained >= wait && plateau.wait.saturating_sub(wait) * SHORTER <= drained;
        (is_a_third_less || outlasts).then(|| {
            self.forget();
            before
        })
    }

    /// The wait that is the same for so long, no less than `least`, and would be another one if less were sent.
    pub fn same_for(&self, now: Instant, time: Duration, least: Duration, jitter: Duration) -> Option<Duration> {
        let plateau = self.0.filter(|plateau| now.saturating_since(plateau.since) >= time)?;
        Some(plateau.wait).filter(|wait| *wait >= least && is_clear(*wait, jitter))
    }
}

/// Delays that vary by themselves do not hide whether a queue gets shorter.
fn is_clear(wait: Duration, jitter: Duration) -> bool {
    wait >= jitter * CLEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000_000) + Duration::from_millis(ms)
    }

    #[test]
    fn a_wait_that_outlasts_what_would_empty_the_queue_is_a_longer_way() {
        let (ms, rate) = (Duration::from_millis, Rate::from_bps(10_000_000));
        for (drained, found) in [(false, None), (true, Some(58))] {
            let (mut way, mut excursions) = (LongerWay::default(), Excursions::default());
            let mut judge = |left: u64, excursions: &Excursions| {
                way.judge(at(left), ms(12), &Carried::of(rate.bps(), 0), ms(0), excursions)
            };
            assert_eq!(judge(0, &excursions), None);
            if drained {
                excursions.drain_wait(at(10), ms(12), ms(0));
            }
            assert_eq!((10..70).find(|left| judge(*left, &excursions) == Some(rate)), found);
        }
    }

    #[test]
    fn a_wait_that_changes_is_a_queue_and_one_that_stays_at_less_may_be_of_others() {
        let (ms, rate) = (Duration::from_millis, |mbit: u64| Rate::from_bps(mbit * 1_000_000));
        let (mut way, mut excursions) = (LongerWay::default(), Excursions::default());
        excursions.drain_wait(at(0), ms(12), ms(0));
        let mut judge = |left: u64, wait: u64, mbit: u64| {
            way.judge(at(left), ms(wait), &Carried::of(rate(mbit).bps(), 0), ms(1), &excursions)
        };
        assert_eq!([judge(0, 14, 9), judge(20, 11, 9), judge(40, 8, 9), judge(58, 5, 9)], [None; 4]);
        assert_eq!(judge(70, 5, 7), None);
        assert_eq!(judge(90, 5, 6), Some(rate(9)));
        assert_eq!(way.same_for(at(1000), ms(0), ms(0), ms(0)), None, "it is known");
        way.judge(at(100), ms(5), &Carried::of(6_000_000, 0), ms(1), &excursions);
        assert_eq!([199, 200].map(|now| way.same_for(at(now), ms(100), ms(5), ms(1))), [None, Some(ms(5))]);
        assert_eq!(way.same_for(at(200), ms(100), ms(5), ms(2)), None, "jitter hides it");
        assert_eq!(way.same_for(at(200), ms(100), ms(6), ms(1)), None, "as much as is aimed at");
    }
}
