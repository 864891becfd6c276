//! The rate that follows from what is known of a link.
//!
//! A link that is busy carries what it can, so its rate is what came in the time, and it shall stay busy with as little
//! as possible waiting in it: `rate = carried x (1 + (target - wait) / tau)`. What waits more than `target` leads below
//! what the link carries, what waits less above it. `tau` is four times the time until a change shows.
//!
//! Delays that vary by themselves, on a busy machine or a radio, are no queue, and they make a rate that is measured in a
//! short time too high or too low. Too high a rate shows, as packets begin to wait; too low a rate shows nothing. So
//! `target` is no less than twice the jitter, and `carried` is the most of some measurements (as in BBR).

use super::departures::Sample;
use super::history::History;
use airtcp_core::{Duration, Instant, Rate};
use alloc::collections::VecDeque;

/// The wait that is aimed at, or a packet, whichever is longer.
pub(super) const TARGET: Duration = Duration::from_millis(1);
/// The link is emptied so often, for so long and with so many per mille of its rate, or the shortest delay would be that of
/// a link in which something always waits.
const DRAIN: (Duration, Duration, u64) = (Duration::from_secs(4), Duration::from_millis(50), 750);
/// At the bound a little more is tried so often, for so long and with so many per mille of it: nothing waits at a rate that
/// is just right, nor at one that is too low.
const TRIAL: (Duration, Duration, u64) = (Duration::from_secs(10), Duration::from_millis(100), 1100);
/// What waits when a link does not carry a trial is more.
const TRIAL_WAIT: Duration = Duration::from_millis(2);
/// After a trial it takes so long with so many per mille until nothing waits.
const AFTER_TRIAL: (Duration, u64) = (Duration::from_millis(120), 850);
/// A change shows in the next report but one.
const REPORTS: Duration = Duration::from_millis(40);
/// The most that was carried counts for so long.
const CARRIED_FOR: Duration = Duration::from_millis(500);
/// One step lowers the rate by no more than this share, in millionths.
const MOST_DOWN: u64 = 300_000;
/// Steps without any wait after which each further one doubles, and how often.
const PATIENCE: u32 = 4;
const MOST_DOUBLINGS: u32 = 4;
/// Nothing less is a link.
const LEAST_RATE: u64 = 32_000;
/// Packets wait so long, for so long a time, however little is sent: somebody else fills the link.
const HOPELESS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Then nothing is done for this time.
const PAUSE: Duration = Duration::from_secs(30);
/// Full-size packet, in bits.
const PACKET_BITS: u64 = 1500 * 8;

/// What to do about the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Stay,
    /// The link carries less.
    Lower(Rate),
    /// It may carry more.
    Raise(Option<Rate>),
    /// Let everything pass.
    Stop,
    /// Try again, from this rate.
    Resume(Option<Rate>),
}

/// What an operator should know of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The bound is above what the link carries.
    CarriesLess,
    /// Nothing waits in the link although it is sent all that the bound allows.
    CarriesMore,
    /// Somebody else fills the link, so repairs are stopped.
    FilledByOthers,
}

impl Advice {
    /// One sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Advice::CarriesLess => "the link carries less than the configured rate: sending what it carries",
            Advice::CarriesMore => "the link would carry more than the configured rate",
            Advice::FilledByOthers => {
                "packets wait in the link however little is sent, so something else fills it: repairs are stopped for a while"
            }
        }
    }
}

/// Another rate for a moment.
#[derive(Clone, Copy, Debug)]
struct Excursion {
    until: Instant,
    is_trial: bool,
    /// The rate to come back to.
    rate: Rate,
}

/// What was seen of packets that left at a higher rate.
#[derive(Clone, Copy, Debug)]
struct Trial {
    from: Instant,
    until: Instant,
    longest: Option<Duration>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct RateLaw {
    bound: Option<Rate>,
    history: History,
    wait: Duration,
    /// The queue here was empty then.
    idle_at: Instant,
    changed_at: Instant,
    /// What the link carried, in bit/s, at which times.
    carried: VecDeque<(Instant, u64)>,
    /// Raises one after the other without any wait.
    quiet: u32,
    excursion: Option<Excursion>,
    drained_at: Instant,
    tried_at: Instant,
    /// The last trial: when it was, and the longest wait in it.
    trial: Option<Trial>,
    carries_more: bool,
    /// Since when packets wait for too long.
    hopeless_since: Option<Instant>,
    stopped_until: Option<Instant>,
    is_lowered: bool,
}

impl RateLaw {
    pub fn new(bound: Option<Rate>) -> Self {
        RateLaw {
            bound,
            history: History::default(),
            wait: Duration::ZERO,
            idle_at: Instant::ZERO,
            changed_at: Instant::ZERO,
            carried: VecDeque::new(),
            quiet: 0,
            excursion: None,
            drained_at: Instant::ZERO,
            tried_at: Instant::ZERO,
            trial: None,
            carries_more: false,
            hopeless_since: None,
            stopped_until: None,
            is_lowered: false,
        }
    }

    pub fn forget(&mut self) {
        self.history = History::default();
    }

    pub fn on_idle(&mut self, now: Instant) {
        self.idle_at = now;
    }

    /// How long packets wait in the link.
    pub fn wait(&self) -> Duration {
        self.wait
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped_until.is_some()
    }

    pub fn advice(&self) -> Option<Advice> {
        if self.is_stopped() {
            return Some(Advice::FilledByOthers);
        }
        let carries_less = self.is_lowered && self.bound.is_some();
        carries_less.then_some(Advice::CarriesLess).or(self.carries_more.then_some(Advice::CarriesMore))
    }

    /// The rate to go on with, if another for a moment ends now.
    pub fn end_of_excursion(&mut self, now: Instant) -> Option<Rate> {
        let Excursion { is_trial, rate, .. } = self.excursion.take_if(|excursion| excursion.until <= now)?;
        self.changed_at = now;
        if !is_trial {
            return Some(rate);
        }
        let (time, share) = AFTER_TRIAL;
        self.excursion = Some(Excursion { until: now + time, is_trial: false, rate });
        Some(share_of(rate, share))
    }

    /// A packet was seen at both ends, whose distance without any wait is `rtt`; the queue is emptied at `rate`.
    pub fn on_sample(&mut self, now: Instant, sample: &Sample, rtt: Duration, rate: Option<Rate>) -> Verdict {
        let is_added = self.history.add(now, sample);
        let Some(wait) = self.history.standing_wait().filter(|_| is_added) else { return Verdict::Stay };
        self.wait = wait;
        if let Some(verdict) = self.stop_or_resume(now, rate) {
            return verdict;
        }
        self.judge_trial(sample);
        let settle = REPORTS + rtt;
        if self.excursion.is_some() || now.saturating_since(self.changed_at) < settle {
            return Verdict::Stay;
        }
        let excursion = if self.is_lowered { self.drain(now, rate) } else { self.try_more(now, rate) };
        if excursion != Verdict::Stay {
            return excursion;
        }
        let target = TARGET.max(rate.map_or(Duration::ZERO, |rate| per(PACKET_BITS, rate)));
        let target = target.max(self.history.jitter() * 2);
        let verdict =
            if wait > target { self.follow(now, target, settle) } else { self.search(now, target, settle, rate) };
        if verdict != Verdict::Stay {
            self.changed_at = now;
        }
        verdict
    }

    /// The link is busy: what it carries, corrected by what waits.
    fn follow(&mut self, now: Instant, target: Duration, settle: Duration) -> Verdict {
        self.quiet = 0;
        let Some(carried) = self.history.carried(target / 2) else { return Verdict::Stay };
        self.carried.retain(|(at, _)| now.saturating_since(*at) < CARRIED_FOR);
        self.carried.push_back((now, carried));
        let carried = self.carried.iter().map(|(_, carried)| *carried).max().unwrap_or(carried);
        let excess = share(self.wait.saturating_sub(target), settle * 4).min(MOST_DOWN);
        let rate = self.bounded(carried - part(carried, excess));
        self.is_lowered = self.bound != Some(rate);
        self.carries_more &= !self.is_lowered;
        if self.is_lowered { Verdict::Lower(rate) } else { Verdict::Stay }
    }

    /// The link may carry more: what is sent shows it, as long as there is enough to send.
    fn search(&mut self, now: Instant, target: Duration, settle: Duration, rate: Option<Rate>) -> Verdict {
        let Some(rate) = rate.filter(|_| self.has_enough_to_send()) else { return Verdict::Stay };
        if self.bound.is_some_and(|bound| rate >= bound) {
            self.is_lowered = false;
            return Verdict::Stay;
        }
        if now.saturating_since(self.changed_at) < settle * 2 {
            return Verdict::Stay;
        }
        self.quiet = if self.wait < target / 4 { self.quiet.saturating_add(1) } else { 0 };
        let doublings = self.quiet.saturating_sub(PATIENCE).min(MOST_DOUBLINGS);
        let room = share(target.saturating_sub(self.wait), settle * 4);
        let raised = rate.bps() + (part(rate.bps(), room) << doublings).max(1);
        Verdict::Raise(Some(self.bounded(raised)))
    }

    /// The queue here was never empty since the first of the samples left.
    fn has_enough_to_send(&self) -> bool {
        self.history.first_departure().is_some_and(|first| self.idle_at < first)
    }

    fn bounded(&self, bps: u64) -> Rate {
        let bps = bps.max(LEAST_RATE);
        Rate::from_bps(self.bound.map_or(bps, |bound| bps.min(bound.bps())))
    }

    /// Now and then sends less for a moment, so that the shortest delay is that of an empty link.
    fn drain(&mut self, now: Instant, rate: Option<Rate>) -> Verdict {
        let (every, time, share) = DRAIN;
        let Some(rate) = rate.filter(|_| now.saturating_since(self.drained_at) >= every) else { return Verdict::Stay };
        self.drained_at = now;
        self.excursion = Some(Excursion { until: now + time, is_trial: false, rate });
        Verdict::Raise(Some(share_of(rate, share)))
    }

    /// Now and then sends more for a moment, if there is enough to send.
    fn try_more(&mut self, now: Instant, rate: Option<Rate>) -> Verdict {
        let (every, time, share) = TRIAL;
        let is_time = self.has_enough_to_send() && now.saturating_since(self.tried_at) >= every;
        let Some(rate) = rate.filter(|rate| is_time && self.bound == Some(*rate)) else { return Verdict::Stay };
        self.tried_at = now;
        self.trial = Some(Trial { from: now + time / 2, until: now + time, longest: None });
        self.excursion = Some(Excursion { until: now + time, is_trial: true, rate });
        Verdict::Raise(Some(share_of(rate, share)))
    }

    fn judge_trial(&mut self, sample: &Sample) {
        let wait = self.history.wait_of(sample);
        let Some(trial) = &mut self.trial else { return };
        if sample.left > trial.until {
            self.carries_more = trial.longest.is_some_and(|longest| longest < TRIAL_WAIT);
            self.trial = None;
        } else if sample.left >= trial.from {
            trial.longest = trial.longest.max(Some(wait));
        }
    }

    fn stop_or_resume(&mut self, now: Instant, rate: Option<Rate>) -> Option<Verdict> {
        if let Some(until) = self.stopped_until {
            if now < until {
                return Some(Verdict::Stay);
            }
            (self.stopped_until, self.hopeless_since) = (None, None);
            return Some(Verdict::Resume(self.bound));
        }
        let (wait, time) = HOPELESS;
        if self.wait < wait || rate.is_none() {
            self.hopeless_since = None;
            return None;
        }
        let since = *self.hopeless_since.get_or_insert(now);
        if now.saturating_since(since) < time {
            return None;
        }
        self.stopped_until = Some(now + PAUSE);
        Some(Verdict::Stop)
    }
}

fn share_of(rate: Rate, per_mille: u64) -> Rate {
    Rate::from_bps(part(rate.bps(), per_mille * 1000))
}

/// `time` over `whole`, in millionths.
fn share(time: Duration, whole: Duration) -> u64 {
    time.as_nanos().saturating_mul(1_000_000) / whole.as_nanos().max(1)
}

/// So many millionths of `whole`.
fn part(whole: u64, millionths: u64) -> u64 {
    (u128::from(whole) * u128::from(millionths) / 1_000_000) as u64
}

/// Time that `bits` take at `rate`.
fn per(bits: u64, rate: Rate) -> Duration {
    Duration::from_nanos(bits.saturating_mul(1_000_000_000) / rate.bps().max(1)).min(Duration::from_millis(50))
}
