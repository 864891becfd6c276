//! What the last samples tell: how long packets wait in the link, and how much it carries.

use super::bits_per_second;
use super::carried::Measured;
use super::departures::Sample;
use super::swing;
use super::usual_loss::UsualLoss;
use airtcp_core::{Duration, Instant, Rate};
use alloc::collections::VecDeque;

/// Samples are kept for so much time of the other end's clock.
pub(super) const WINDOW: Duration = Duration::from_millis(250);
/// A rate is measured over no less time, and no fewer full-size packets: less would be that of a burst (A-MPDU, 5G slots).
pub(super) const LEAST_SPAN: Duration = Duration::from_millis(20);
const LEAST_PACKETS: u64 = 4;
/// So many are kept whatever they tell: more than reports that tell of enough packets.
const MOST_SAMPLES: usize = 64;
/// There was enough to send if there was for so long, in ns of the other end's clock.
const ENOUGH: u64 = 80_000_000;
/// What waits for good is the least of the last samples over so much time: jitter and bursts are not a queue.
const STANDING: Duration = Duration::from_millis(100);
const STANDING_SAMPLES: usize = 3;
/// The shortest delay is that of twice this time.
const BASE_WINDOW: Duration = Duration::from_secs(5);
/// The wait that is aimed at, at least: late timers of a busy machine are no shorter.
pub(super) const LEAST_TARGET: Duration = Duration::from_millis(1);
/// What comes sooner by less comes as soon, in ns: as in [`LEAST_TARGET`].
const LEAST_SHORTER: u64 = 1_000_000;
/// How much two clocks drift in this time, in ns: 200 parts in a million, twice what crystals are allowed.
const MOST_DRIFT: i64 = 1_000_000;
/// A jump of the delay by more is no jitter.
const MOST_JITTER: u64 = 20_000_000;
/// Reports whose distance says when the next one may come.
const LATE_REPORTS: usize = 4;
/// A longer distance of two reports is a pause, in ns.
const MOST_GAP: u64 = 200_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<Sample>,
    base: LeastDelay,
    /// While the way is taken for a longer one, for some seconds: the shortest delay before, and the packet that showed it.
    former: Option<(LeastDelay, Sample)>,
    loss: UsualLoss,
    /// By how much a delay differs from the middle of those before and after, averaged as in RFC 3550, section 6.4.1; in ns.
    jitter: u64,
    /// The distance of two reports, averaged in the same way; in ns.
    gap: u64,
}

impl History {
    /// A packet was seen at both ends, whose distance without any wait is `rtt`. False if it tells nothing: small packets take less
    /// time than large ones. Something may have waited in the link all the time, or it was certainly empty now and then; a packet
    /// that waits for more than `long` waits in a queue.
    pub fn add(&mut self, now: Instant, sample: &Sample, may_have_waited: bool, rtt: Duration, long: Duration) -> bool {
        self.base.forget_old(now, may_have_waited);
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
        if let Some(last) = self.samples.back() {
            self.gap = (self.gap * 15 + (sample.came - last.came).min(MOST_GAP)) / 16;
        }
        self.doubt_longer_way(sample);
        self.base.add(sample, now.saturating_since(sample.left).saturating_sub(rtt));
        self.loss.add(sample, self.wait_of(sample) > long);
        self.samples.push_back(*sample);
        self.forget_old(sample);
        true
    }

    /// Forgets what is not needed: to tell what waits for good, or, of a slow link, what it carries.
    fn forget_old(&mut self, newest: &Sample) {
        let is_old = |first: &Sample| first.came + WINDOW.as_nanos() < newest.came;
        let is_enough = |second: &Sample| newest.sent - second.sent >= LEAST_PACKETS * u64::from(newest.bytes);
        while self.samples.len() > STANDING_SAMPLES
            && self.samples.front().is_some_and(is_old)
            && (self.samples.get(1).is_some_and(is_enough) || self.samples.len() > MOST_SAMPLES)
        {
            self.samples.pop_front();
        }
    }

    /// How long a packet waited in the link.
    pub fn wait_of(&self, sample: &Sample) -> Duration {
        Duration::from_nanos(delay(sample).saturating_sub(self.base.least()).max(0).unsigned_abs())
    }

    /// How long a report that came now waited on the way back. Its packet waited in the link for `wait`; the rest of the time, beyond
    /// `rtt`, counts. But packets seem not to wait in a queue that is never empty, so what reports of the soonest packets took beyond
    /// `rtt` does not count.
    pub fn wait_on_way_back(&self, now: Instant, sample: &Sample, wait: Duration, rtt: Duration) -> Duration {
        let beyond = now.saturating_since(sample.left).saturating_sub(wait).saturating_sub(rtt);
        self.base.report().map_or(Duration::ZERO, |report| beyond.saturating_sub(report.beyond))
    }

    /// Bytes of the largest packet of late.
    pub fn largest(&self) -> u32 {
        self.base.largest()
    }

    /// By how much a delay differs from the middle of those before and after, on average.
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(self.jitter)
    }

    /// What waits for good; `None` before enough is known.
    pub fn standing_wait(&self) -> Option<Duration> {
        self.least_wait(STANDING)
    }

    /// What the last few packets waited for at least, and those that came in the last `span`; `None` before enough is known.
    fn least_wait(&self, span: Duration) -> Option<Duration> {
        let newest = self.samples.back()?.came;
        let latest = self.samples.iter().rev().enumerate();
        let is_late = |sample: &Sample| sample.came + span.as_nanos() >= newest;
        let latest = latest.take_while(|(index, sample)| *index < STANDING_SAMPLES || is_late(sample));
        let waits = latest.map(|(_, sample)| self.wait_of(sample));
        (self.samples.len() >= STANDING_SAMPLES).then(|| waits.min()).flatten()
    }

    /// The last packet did not wait: the way is longer than it was.
    pub fn restart_from_last(&mut self) {
        if let Some(last) = self.samples.pop_back() {
            self.samples.clear();
            self.former = Some((self.base, last));
            self.base = LeastDelay { since: self.base.since, ..LeastDelay::default() };
            // What its report took is not known any more.
            self.base.add(&last, Duration::MAX);
            self.samples.push_back(last);
        }
    }

    /// It was no longer way: what it took before counts.
    pub fn restore_base(&mut self) {
        if let Some((base, _)) = self.former.take() {
            self.base = base;
        }
    }

    /// Something comes sooner than the packet that showed that the way is longer: that one waited.
    fn doubt_longer_way(&mut self, sample: &Sample) {
        let Some((_, longer)) = &self.former else { return };
        if sample.came.saturating_sub(longer.came) >= BASE_WINDOW.as_nanos() {
            self.former = None;
        } else if delay(sample).saturating_add_unsigned(LEAST_SHORTER.max(self.jitter * 2)) < delay(longer) {
            self.restore_base();
        }
    }

    /// What the link loses.
    pub fn loss(&self) -> &UsualLoss {
        &self.loss
    }

    /// So many millionths are what the link loses, if that is known.
    pub fn learn_loss(&mut self, usual: Option<u64>) {
        self.loss.learn(usual);
    }

    /// Of the last samples, if there was enough to send all the time (there was nothing left to send at `idle_at`): the bytes that
    /// left, those of them that came, and those of a packet; and what was carried.
    pub fn of_late(&self, idle_at: Instant) -> Option<((u64, u64, u64), Rate)> {
        let (first, last) = self.samples.front().zip(self.samples.back())?;
        if idle_at >= first.left || last.came - first.came > WINDOW.as_nanos() * 2 {
            return None;
        }
        let (sent, received) = (last.packets - first.packets, last.received - first.received);
        let bps = bits_per_second(self.loss.carried(sent, received), last.came - first.came);
        Some(((sent, received, u64::from(last.bytes)), Rate::from_bps(bps)))
    }

    /// True if the link lost more of late than a few packets by chance.
    pub fn has_lost(&self) -> bool {
        self.loss.is_high()
    }

    /// By how much waits grew of late, but for the largest step: a queue grows packet by packet, a way gets longer at once.
    pub fn grown(&self) -> Duration {
        let waits = || self.samples.iter().map(|sample| self.wait_of(sample));
        let least = waits().enumerate().min_by_key(|(_, wait)| *wait).map_or(0, |(index, _)| index);
        let after = || waits().skip(least);
        let largest = after().zip(after().skip(1)).map(|(one, next)| next.saturating_sub(one)).max();
        let grown = self.last_wait().saturating_sub(after().next().unwrap_or_default());
        grown.saturating_sub(largest.unwrap_or_default())
    }

    /// The usual distance of two reports, by the other end's clock.
    pub fn usual_gap(&self) -> Duration {
        Duration::from_nanos(self.gap)
    }

    /// The distance of two reports that may be expected: the usual one, or that of the last few if it was longer.
    pub fn longest_gap(&self) -> Duration {
        let late = self.samples.iter().rev().take(LATE_REPORTS);
        let longest = late.clone().zip(late.skip(1)).map(|(later, before)| later.came - before.came).max();
        self.usual_gap().max(Duration::from_nanos(longest.unwrap_or_default()))
    }

    /// How long the last packet waited.
    pub fn last_wait(&self) -> Duration {
        self.samples.back().map_or(Duration::ZERO, |last| self.wait_of(last))
    }

    /// When the first of the last samples left, if they span enough time to tell whether there was always enough to send.
    pub fn first_departure(&self) -> Option<Instant> {
        let last = self.samples.back()?;
        let first = self.samples.iter().rev().find(|first| first.came + ENOUGH <= last.came)?;
        Some(first.left)
    }

    /// When the first of the packets left that came in the last `span`, and what has left since, until the last of them, by the time in
    /// which they came, in bit/s: what the link carried, and what it lost behind its queue. `None` before that is known.
    pub fn passed(&self, span: Duration) -> Option<(Instant, u64)> {
        let last = self.samples.back()?;
        let first = self.samples.iter().rev().find(|first| first.came + span.as_nanos() <= last.came)?;
        Some((first.left, bits_per_second(last.sent - first.sent, last.came - first.came)))
    }

    /// What the link carried in the last [`swing::SPAN`], and how long packets waited then. `None` before that is known.
    pub fn swing(&self) -> Option<swing::Seen> {
        let ((_, mean), least_wait) = self.passed(swing::SPAN).zip(self.least_wait(swing::SPAN))?;
        Some(swing::Seen { least_wait, mean })
    }

    /// What the link carried over the last samples. It was busy if they all waited for more than `least`, and if between them
    /// nothing was sent for no longer than they waited.
    pub fn measure(&self, least: Duration) -> Option<Measured> {
        let last = self.samples.back()?;
        let (mut is_busy, mut after) = (self.wait_of(last) > least, last);
        for first in self.samples.iter().rev().skip(1) {
            let wait = self.wait_of(first);
            is_busy &= wait > least && after.pause <= wait.min(self.wait_of(after));
            after = first;
            let (time, sent) = (last.came - first.came, last.sent - first.sent);
            if time >= LEAST_SPAN.as_nanos() && sent >= LEAST_PACKETS * u64::from(last.bytes) {
                let packets = last.packets - first.packets;
                let carried = self.loss.carried(packets, last.received - first.received);
                let bytes = carried + sent.saturating_sub(packets);
                return Some(Measured { at: last.came, bps: bits_per_second(bytes, time), is_busy });
            }
        }
        None
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
    report: Option<SoonestReport>,
}

/// Reports of packets that came as soon as any, within [`LEAST_SHORTER`].
#[derive(Clone, Copy, Debug)]
struct SoonestReport {
    /// The delay of the first of these packets.
    delay: i64,
    /// The least that one of their reports took beyond the round trip.
    beyond: Duration,
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
    /// Takes the lesser of two windows. If something may have waited all the time, the shortest delay of all counts, but for
    /// what a clock may drift.
    fn forget_old(&mut self, now: Instant, may_have_waited: bool) {
        if now.saturating_since(self.since) < BASE_WINDOW {
            return;
        }
        let mut previous = self.current;
        if may_have_waited && self.least() < i64::MAX {
            previous.delay = previous.delay.min(self.least().saturating_add(MOST_DRIFT));
            previous.largest = previous.largest.max(self.previous.largest);
        }
        *self = LeastDelay { current: Least::default(), previous, since: now, report: self.report };
    }

    /// A packet whose report took a round trip and `beyond`.
    fn add(&mut self, sample: &Sample, beyond: Duration) {
        let delay = delay(sample);
        self.current.delay = self.current.delay.min(delay);
        self.current.largest = self.current.largest.max(sample.bytes);
        if self.is_soon(delay) {
            let mut report = self.report().unwrap_or(SoonestReport { delay, beyond });
            report.beyond = report.beyond.min(beyond);
            self.report = Some(report);
        }
    }

    /// `None` if no packet came as soon since the least delay was set.
    fn report(&self) -> Option<SoonestReport> {
        self.report.filter(|report| self.is_soon(report.delay))
    }

    fn is_soon(&self, delay: i64) -> bool {
        delay.abs_diff(self.least()) <= LEAST_SHORTER
    }

    fn least(&self) -> i64 {
        self.current.delay.min(self.previous.delay)
    }

    fn largest(&self) -> u32 {
        self.current.largest.max(self.previous.largest)
    }
}
