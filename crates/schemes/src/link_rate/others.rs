//! Finds out when somebody else fills the link, who takes whatever room is made: the queue stays although less and less is sent.
//! A queue that is ours alone, or beside traffic of a rate of its own, gets shorter then.
//!
//! The question is that of Nimbus (SIGCOMM 2022, pulses and their spectrum) and of Copa (NSDI 2018, a queue that is never
//! empty in five round trips); the rule and all its numbers are ours. Only the times and the half of [`HIGH`] were swept, and [`CALM`] a little.

use super::carried::Carried;
use airtcp_core::{Duration, Instant, Rate};

/// Packets wait for more than so many times what is aimed at, for so long, and meanwhile what is carried fell by half. A radio
/// fades for shorter. Swept, times and half: docs/link-rate.md, "When somebody else fills the hop". The multiples are argued: beside
/// others that fill the link packets wait for many times the target, so twice that is soon sure, and once takes longer.
const HIGH: [(u64, Duration); 2] = [(2, Duration::from_secs(1)), (1, Duration::from_secs(2))];
/// What is aimed at grows with the time of a packet, and that with each share that is given up. This much counts: the time of a
/// full-size packet at 1.2 Mbit/s. Argued, not swept.
const MOST_TARGET: Duration = Duration::from_millis(10);
/// No more waits for so long than is aimed at: nobody fills the link any more. Some round trips of most hops. Argued, not swept.
const EMPTY: Duration = Duration::from_millis(500);
/// How much less is carried then, in millionths; more where the rate changes anyway ([`Carried::has_fallen`]).
const HALF: u64 = 500_000;
/// It takes longer where the rate changes by more than so many millionths anyway, in proportion: such radios fade by half and more for a
/// second or two. No more was seen where others did fill the link (docs/link-rate.md, "When somebody else fills the hop").
const CALM: u64 = 170_000;
/// If somebody else filled the link a short while ago, a third of the share is enough, for however short a time: a queue that is
/// ours is gone by then. About what CUBIC gives up for one loss (RFC 9438: three tenths). Argued, not swept.
pub(super) const THIRD: u64 = 1_000_000 / 3;
/// If packets wait for this time, whatever is carried, somebody else fills the link, too: a hundred milliseconds are many times
/// what is aimed at, and whatever fades is back after five seconds. Argued, not swept.
pub(super) const HOPELESS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Reports that are further apart are of a link that stood still. As long as a silent peer counts as there (`peer_timeout`).
const APART: Duration = Duration::from_secs(1);
/// A way gets longer no more often than that: satellites are handed over each 15 s. Argued, not swept.
const LONGER: Duration = Duration::from_secs(5);
/// A longer way that is found again so soon is the same one: a radio's fade is found twice within 60 ms. Swept: docs/link-rate.md, "When
/// somebody else fills the hop".
const SAME: Duration = Duration::from_millis(200);
/// It takes so long until the queue is tried again, at first and, twice as long each time that it stays, at most. Each try costs
/// a third of the share for some round trips: a few per cent of 4 s, and of 32 s nothing. Argued, not swept.
const PAUSE: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(32));

/// What follows from a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The link is ours.
    Ours,
    /// Somebody else fills it from now on; so much was carried before.
    Filled(Rate),
    /// Still.
    StillFilled,
    /// Time to try again.
    Over,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// Since when packets wait for too long, what was carried then, and how long is too long; as in [`HIGH`].
    high: [Option<(Instant, Rate, Duration)>; 2],
    /// Since when they wait for hopelessly long.
    hopeless: Option<Instant>,
    /// While somebody else fills the link: since when no more waits than is aimed at.
    low: Option<Instant>,
    /// When the way was last taken for a longer one, and what was carried before.
    longer: Option<(Instant, Rate)>,
    /// When the last report came.
    reported_at: Instant,
    filled_until: Option<Instant>,
    /// Of the last time that somebody else filled it: when that was over, and how long it was.
    last: Option<(Instant, Duration)>,
    is_again: bool,
}

impl Others {
    pub fn fill_the_link(&self) -> bool {
        self.filled_until.is_some()
    }

    /// True if somebody else filled it already a short time before this time.
    pub fn is_again(&self) -> bool {
        self.is_again
    }

    /// Packets wait so long for good, where `target` is aimed at and so much is `carried`; so little is sent, or not.
    pub fn on_wait(
        &mut self,
        now: Instant,
        waits: Duration,
        target: Duration,
        carried: &Carried,
        is_paced: bool,
    ) -> Finding {
        if let Some(until) = self.filled_until {
            self.low = (waits <= target).then(|| self.low.unwrap_or(now));
            let is_empty = self.low.is_some_and(|since| now.saturating_since(since) >= EMPTY);
            if now < until && !is_empty {
                return Finding::StillFilled;
            }
            let lasted = self.last.map_or(PAUSE.0, |(_, lasted)| lasted);
            *self = Others { last: Some((now, lasted)), reported_at: now, ..Others::default() };
            return Finding::Over;
        }
        let stood_still = now.saturating_since(core::mem::replace(&mut self.reported_at, now)) > APART;
        let is_known = is_paced && !stood_still;
        let (long_wait, long_time) = HOPELESS;
        self.hopeless = (waits >= long_wait && is_known).then(|| self.hopeless.unwrap_or(now));
        let is_hopeless = self.hopeless.is_some_and(|since| now.saturating_since(since) >= long_time);
        let is_recent = self.last.is_some_and(|(over, _)| now.saturating_since(over) < LONGER);
        for (high, (times, long)) in self.high.iter_mut().zip(HIGH) {
            let limit = high.map_or(target * times, |(.., limit)| limit.max(target.min(MOST_TARGET) * times));
            let Some(rate) = carried.rate().filter(|_| is_known && waits > limit) else {
                *high = None;
                continue;
            };
            let (since, before, _) = *high.get_or_insert((now, rate, limit));
            let long = long.max(long.saturating_mul(carried.usual_change()) / CALM);
            let is_long = now.saturating_since(since) >= long && carried.has_fallen(before, HALF);
            let is_again = is_recent && carried.has_fallen(before, THIRD);
            if is_hopeless || is_long || is_again {
                return self.fill(now, before);
            }
        }
        Finding::Ours
    }

    /// Packets wait as long as before, although less is carried than `before`: the way is longer. If that was found a moment
    /// ago it was no longer way, and somebody else fills the link.
    pub fn on_longer_way(&mut self, now: Instant, before: Rate) -> Finding {
        match self.longer.filter(|(at, _)| now.saturating_since(*at) < LONGER) {
            Some((at, _)) if now.saturating_since(at) < SAME => Finding::Ours,
            Some((_, before)) => self.fill(now, before),
            None => {
                self.longer = Some((now, before));
                Finding::Ours
            }
        }
    }

    fn fill(&mut self, now: Instant, before: Rate) -> Finding {
        self.high = [None; 2];
        let recent = self.last.filter(|(over, _)| now.saturating_since(*over) < LONGER);
        let lasts = recent.map_or(PAUSE.0, |(_, lasted)| (lasted * 2).min(PAUSE.1));
        self.is_again = recent.is_some();
        self.last = Some((now, lasts));
        self.filled_until = Some(now + lasts);
        Finding::Filled(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MS: u64 = 1_000_000;
    const TARGET: Duration = Duration::from_millis(10);

    /// Reports 20 ms apart for so long, each of so long a wait in ms and so many bit/s; the first finding that is another.
    fn run(others: &mut Others, from_ms: u64, for_ms: u64, seen: impl Fn(u64) -> (u64, u64)) -> (u64, Finding) {
        run_over(0, others, from_ms, for_ms, seen)
    }

    /// The same over a link whose rate changes by so many millionths anyway.
    fn run_over(
        variation: u64,
        others: &mut Others,
        from_ms: u64,
        for_ms: u64,
        seen: impl Fn(u64) -> (u64, u64),
    ) -> (u64, Finding) {
        let usual = if others.fill_the_link() { Finding::StillFilled } else { Finding::Ours };
        for at in (from_ms..from_ms + for_ms).step_by(20) {
            let (wait, bps) = seen(at - from_ms);
            let (now, waits) = (Instant::from_nanos(at * MS), Duration::from_millis(wait));
            let finding = others.on_wait(now, waits, TARGET, &Carried::of(bps, variation), true);
            if finding != usual {
                return (at - from_ms, finding);
            }
        }
        (for_ms, usual)
    }

    #[test]
    fn a_queue_that_stays_while_half_is_given_up_is_filled_by_others_and_one_that_goes_or_lasts_is_not() {
        let falling = |at: u64| 8_000_000 - (at * 4000).min(6_000_000);
        let filled = Finding::Filled(Rate::from_bps(8_000_000));
        assert_eq!(run(&mut Others::default(), 0, 9000, |at| (40, falling(at))), (1000, filled));
        assert_eq!(
            run(&mut Others::default(), 0, 9000, |at| (15, falling(at))),
            (2000, filled),
            "close to what is aimed at"
        );
        assert_eq!(run(&mut Others::default(), 0, 9000, |at| (9, falling(at))), (9000, Finding::Ours));
        assert_eq!(run(&mut Others::default(), 0, 9000, |_| (40, 8_000_000)), (9000, Finding::Ours), "all is carried");
        let goes = |at: u64| if at % 900 < 800 { 60 } else { 5 };
        assert_eq!(run(&mut Others::default(), 0, 9000, |at| (goes(at), falling(at % 900))), (9000, Finding::Ours));
        assert_eq!(run(&mut Others::default(), 0, 9000, |_| (120, 8_000_000)), (5000, filled), "hopeless");
    }

    // A third and a half are no news of a radio whose rate changes by a fifth all the time.
    #[test]
    fn a_fall_of_a_link_that_changes_anyway_tells_nothing_unless_it_is_three_times_as_much() {
        let falls = |to: u64| move |at: u64| (40, 8_000_000 - (at * 4000).min(8_000_000 - to));
        let found = |variation, to| run_over(variation, &mut Others::default(), 0, 4000, falls(to));
        let over = |variation, to| found(variation, to).1;
        let filled = Finding::Filled(Rate::from_bps(8_000_000));
        assert_eq!((over(100_000, 3_900_000), over(200_000, 3_900_000)), (filled, Finding::Ours));
        assert_eq!((over(200_000, 3_100_000), over(400_000, 32_000)), (filled, Finding::Ours));
        assert_eq!([100_000, 160_000, 200_000].map(|usual| found(usual, 3_100_000).0), [1000, 1000, 1200], "and later");
        let again = |variation| {
            let mut others = Others { last: Some((Instant::from_nanos(0), PAUSE.0)), ..Others::default() };
            run_over(variation, &mut others, 0, 900, falls(5_000_000)).1
        };
        assert_eq!((again(100_000), again(200_000)), (filled, Finding::Ours));
    }

    #[test]
    fn it_is_tried_again_after_a_while_and_each_time_later() {
        let mut others = Others::default();
        let waits = |at: u64| (40, 8_000_000 - (at * 4000).min(6_000_000));
        let (mut at, mut lasted) = (0, Vec::new());
        for _ in 0..5 {
            at += run(&mut others, at, 9000, waits).0 + 20;
            assert!(others.fill_the_link());
            let (time, finding) = run(&mut others, at, 99_000, waits);
            assert_eq!(finding, Finding::Over);
            lasted.push(time / 1000);
            at += time + 20;
        }
        assert_eq!(lasted, [3, 7, 15, 31, 31], "4 s from the finding, and twice as long each time");
        let (until_found, _) = run(&mut others, at, 9000, waits);
        assert!(until_found < 800 && others.is_again(), "a third of the share is enough: {until_found} ms");
        assert_eq!(run(&mut others, at + 1000, 9000, |_| (3, 8_000_000)), (500, Finding::Over), "nothing waits");
    }

    #[test]
    fn a_way_that_gets_longer_again_at_once_is_none() {
        let (mut others, rate) = (Others::default(), Rate::from_bps(5_000_000));
        let mut longer = |ms: u64| others.on_longer_way(Instant::from_nanos(ms * MS), rate);
        assert_eq!([longer(0), longer(15_000)], [Finding::Ours; 2], "as each handover of a satellite");
        assert_eq!(longer(15_060), Finding::Ours, "the same");
        assert_eq!(longer(17_000), Finding::Filled(rate));
    }
}
