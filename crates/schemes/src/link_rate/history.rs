//! What the last samples tell: how long packets wait in the link, and how much it carries.

use super::departures::Sample;
use airtcp_core::{Duration, Instant};
use alloc::collections::VecDeque;

/// Samples are kept for so much time of the other end's clock.
const WINDOW: u64 = 250_000_000;
/// A rate is measured over no less.
const LEAST_SPAN: u64 = 80_000_000;
/// What waits for good is the least of the last samples over so much time: jitter and bursts are not a queue.
const STANDING: u64 = 100_000_000;
const STANDING_SAMPLES: usize = 3;
/// The shortest delay is that of twice this time.
const BASE_WINDOW: Duration = Duration::from_secs(5);
/// A jump of the delay by more is no jitter.
const MOST_JITTER: u64 = 20_000_000;
/// A link that lets packets wait for so long drops some, so what came counts and not what left.
const OVERFLOW: Duration = Duration::from_millis(30);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<Sample>,
    base: LeastDelay,
    /// By how much a delay differs from the middle of those before and after, averaged as in RFC 3550, section 6.4.1; in ns.
    jitter: u64,
}

impl History {
    /// A packet was seen at both ends. False if it tells nothing: small packets take less time than large ones.
    pub fn add(&mut self, now: Instant, sample: &Sample) -> bool {
        self.base.forget_old(now);
        let largest = self.base.largest();
        if sample.bytes < largest / 2 {
            return false;
        }
        if sample.bytes / 2 > largest {
            self.samples.clear();
            self.base = LeastDelay { since: now, ..LeastDelay::default() };
        }
        let is_later = |last: &Sample| last.came < sample.came && last.received < sample.received;
        if self.samples.back().is_some_and(|last| !is_later(last)) {
            self.samples.clear();
        }
        let mut before = self.samples.iter().rev().map(delay);
        if let (Some(last), Some(last_but_one)) = (before.next(), before.next()) {
            // Of a queue that grows or shrinks evenly this is zero.
            let difference = delay(sample).midpoint(last_but_one).abs_diff(last).min(MOST_JITTER);
            self.jitter = (self.jitter * 15 + difference) / 16;
        }
        self.base.add(sample);
        self.samples.push_back(*sample);
        let is_old = |first: &Sample| first.came + WINDOW < sample.came;
        while self.samples.len() > STANDING_SAMPLES && self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
        true
    }

    /// How long a packet waited in the link.
    pub fn wait_of(&self, sample: &Sample) -> Duration {
        Duration::from_nanos(delay(sample).saturating_sub(self.base.least()).max(0).unsigned_abs())
    }

    /// By how much a delay differs from the middle of those before and after, on average.
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(self.jitter)
    }

    /// What waits for good; `None` before enough is known.
    pub fn standing_wait(&self) -> Option<Duration> {
        let newest = self.samples.back()?.came;
        let latest = self.samples.iter().rev().enumerate();
        let latest = latest.take_while(|(index, sample)| *index < STANDING_SAMPLES || sample.came + STANDING >= newest);
        let waits = latest.map(|(_, sample)| self.wait_of(sample));
        (self.samples.len() >= STANDING_SAMPLES).then(|| waits.min()).flatten()
    }

    /// When the first of the samples left, if they span enough time to tell a rate.
    pub fn first_departure(&self) -> Option<Instant> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        (last.came - first.came >= LEAST_SPAN).then_some(first.left)
    }

    /// What the link carried, in bit/s, over the last samples that all waited for more than `least`, and between which nothing
    /// was sent for no longer than they waited: the link was busy all the time.
    pub fn carried(&self, least: Duration) -> Option<u64> {
        let last = self.samples.back().filter(|last| self.wait_of(last) > least)?;
        let mut first = last;
        for sample in self.samples.iter().rev().skip(1) {
            let wait = self.wait_of(sample);
            if wait <= least || first.pause > wait.min(self.wait_of(first)) {
                break;
            }
            first = sample;
        }
        let time = last.came.checked_sub(first.came).filter(|time| *time >= LEAST_SPAN)?;
        let has_overflowed = self.standing_wait() > Some(OVERFLOW);
        let bytes = if has_overflowed { last.received - first.received } else { last.sent - first.sent };
        u64::try_from(u128::from(bytes) * 8_000_000_000 / u128::from(time)).ok()
    }
}

/// The delay of a packet, plus the difference of the two clocks, in ns.
fn delay(sample: &Sample) -> i64 {
    sample.came.wrapping_sub(sample.left.as_nanos()) as i64
}

/// The shortest delay of late, of packets about as large as the largest: the lesser of two windows, so that a clock that
/// drifts or a way that changes is forgotten.
#[derive(Clone, Copy, Debug, Default)]
struct LeastDelay {
    current: Least,
    previous: Least,
    since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Least {
    delay: i64,
    /// Bytes of the largest packet.
    largest: u32,
}

impl Default for Least {
    fn default() -> Self {
        Least { delay: i64::MAX, largest: 0 }
    }
}

impl LeastDelay {
    fn forget_old(&mut self, now: Instant) {
        if now.saturating_since(self.since) >= BASE_WINDOW {
            *self = LeastDelay { current: Least::default(), previous: self.current, since: now };
        }
    }

    fn add(&mut self, sample: &Sample) {
        self.current.delay = self.current.delay.min(delay(sample));
        self.current.largest = self.current.largest.max(sample.bytes);
    }

    fn least(&self) -> i64 {
        self.current.delay.min(self.previous.delay)
    }

    fn largest(&self) -> u32 {
        self.current.largest.max(self.previous.largest)
    }
}
