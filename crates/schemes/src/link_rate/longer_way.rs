//! A queue that gets less than the link carries becomes shorter, and one that gets more becomes longer. A wait that stays the same
//! although less or more is sent is none: the way is longer now, as after a satellite's handover.

use super::carried::{self, Carried};
use super::excursion::Excursions;
use super::history::LEAST_TARGET;
use super::leeway::Leeway;
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
    /// It is longer than what is aimed at.
    is_over: bool,
}

/// A packet that left at `left` waited so long, where `target` is aimed at and delays have such a `jitter`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    pub left: Instant,
    pub wait: Duration,
    pub target: Duration,
    pub jitter: Duration,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LongerWay(Option<Plateau>);

impl LongerWay {
    /// Nothing waits, or it is known why.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// A packet waited, where so much is `carried`. A wait that differs by less than twice the jitter, or [`LEAST_TARGET`], is the same
    /// if it is longer than the target as before, or no longer as before. What the link carried when the way became longer, if it did.
    pub fn judge(
        &mut self,
        Waited { left, wait, target, jitter }: Waited,
        carried: &Carried,
        excursions: &Excursions,
        leeway: &Leeway,
    ) -> Option<Rate> {
        let rate = carried.rate()?;
        let (tolerance, is_over) = (tolerance(jitter), wait > target);
        let is_same = |before: &Plateau| {
            wait < before.wait + tolerance && before.wait < wait + tolerance && before.is_over == is_over
        };
        let plateau = *self.0.insert(self.0.filter(is_same).unwrap_or(Plateau { since: left, wait, rate, is_over }));
        let before = plateau.rate;
        // A fall that shows sooner began before the wait was this one. For so short a time both clocks run alike.
        let has_lasted = left.saturating_since(plateau.since).as_nanos() >= carried::COUNTS_FOR;
        let is_a_third_less =
            is_over && has_lasted && carried.has_fallen(before, others::THIRD) && wait < others::HOPELESS.0;
        let drained = excursions.drained(plateau.since, left);
        let outlasts_less = is_over
            && is_clear(wait, jitter)
            && drained >= wait
            && plateau.wait.saturating_sub(wait) * SHORTER <= drained;
        let outlasts_more = leeway.pushed(plateau.since, left) >= telling(jitter);
        (is_a_third_less || outlasts_less || outlasts_more).then(|| {
            self.forget();
            before
        })
    }

    /// The wait that is the same for so long.
    pub fn same_for(&self, now: Instant, time: Duration) -> Option<Duration> {
        self.0.filter(|plateau| now.saturating_since(plateau.since) >= time).map(|plateau| plateau.wait)
    }
}

/// A wait that differs from another by less is the same.
pub(super) fn tolerance(jitter: Duration) -> Duration {
    LEAST_TARGET.max(jitter * 2)
}

/// Where packets would wait so much longer in a queue, a wait that is still the same is none.
pub(super) fn telling(jitter: Duration) -> Duration {
    tolerance(jitter) * 2
}

/// Delays that vary by themselves do not hide whether a queue gets shorter.
pub(super) fn is_clear(wait: Duration, jitter: Duration) -> bool {
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
                let waited = Waited { left: at(left), wait: ms(12), target: ms(3), jitter: ms(0) };
                way.judge(waited, &Carried::of(rate.bps(), 0), excursions, &Leeway::default())
            };
            assert_eq!(judge(0, &excursions), None);
            if drained {
                excursions.drain_wait(at(10), ms(12), ms(0));
            }
            assert_eq!((10..70).find(|left| judge(*left, &excursions) == Some(rate)), found);
        }
    }

    #[test]
    fn a_wait_that_stays_although_more_is_sent_is_a_longer_way() {
        let (ms, rate) = (Duration::from_millis, Rate::from_bps(10_000_000));
        for (longer, found) in [(0, Some(rate)), (2, None)] {
            let (mut way, excursions, mut leeway) = (LongerWay::default(), Excursions::default(), Leeway::default());
            let mut judge = |left: u64, wait: Duration, leeway: &Leeway| {
                let waited = Waited { left: at(left), wait, target: ms(3), jitter: ms(0) };
                way.judge(waited, &Carried::of(rate.bps(), 0), &excursions, leeway)
            };
            assert_eq!(judge(0, ms(2), &leeway), None);
            leeway.try_more(at(5000), telling(ms(0)), ms(10));
            assert_eq!(judge(5002, ms(2), &leeway), None, "too little more to tell");
            assert_eq!(judge(5010, ms(2 + longer), &leeway), found);
        }
    }

    #[test]
    fn a_wait_that_changes_is_a_queue_and_one_that_stays_at_less_may_be_of_others() {
        let (ms, rate) = (Duration::from_millis, |mbit: u64| Rate::from_bps(mbit * 1_000_000));
        let (mut way, mut excursions) = (LongerWay::default(), Excursions::default());
        excursions.drain_wait(at(0), ms(12), ms(0));
        let judge = |way: &mut LongerWay, left: u64, wait: u64, mbit: u64| {
            let waited = Waited { left: at(left), wait: ms(wait), target: ms(3), jitter: ms(1) };
            way.judge(waited, &Carried::of(rate(mbit).bps(), 0), &excursions, &Leeway::default())
        };
        for (left, wait) in [(0, 14), (20, 11), (40, 8), (58, 5)] {
            assert_eq!(judge(&mut way, left, wait, 9), None);
        }
        assert_eq!(judge(&mut way, 70, 5, 7), None);
        assert_eq!(judge(&mut way, 157, 5, 6), None, "so short a time tells nothing");
        assert_eq!(judge(&mut way, 158, 5, 6), Some(rate(9)));
        assert_eq!(way.same_for(at(1000), ms(0)), None, "it is known");
        assert_eq!(judge(&mut way, 200, 5, 6), None);
        assert_eq!([299, 300].map(|now| way.same_for(at(now), ms(100))), [None, Some(ms(5))]);
        assert_eq!([1, 2].map(|jitter| is_clear(ms(5), ms(jitter))), [true, false], "jitter hides it");
    }
}
