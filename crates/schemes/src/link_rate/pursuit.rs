//! The rate that follows from what is known of a link: it is pursued, by a prediction of what waits in it.
//!
//! A report is old when it comes: a law that waits until its last step shows takes four steps a second at best, and a radio
//! has another rate by then. Here each step goes by the wait that a packet will meet that leaves now
//! ([`LinkQueue`], a Smith predictor), so that there may be a step with each packet and each report. Below the target the
//! pace is above what the link carries, in proportion to what the target has room for; above it, below that.
//!
//! What the link carries is measured over 20 ms ([`Carried`]). How much may wait follows from the link: where its rate is
//! always the same hardly anything need wait; where it rises by a tenth in the time that it takes to follow, a tenth of
//! that time must wait, or the link runs empty.

use super::advice::Advice;
use super::carried::{Carried, LEAST};
use super::contest::{Contest, Flows, Hop};
use super::departures::Sample;
use super::excursion::{self, Excursions};
use super::history::{self, History, LEAST_TARGET};
use super::in_flight::{self, InFlight};
use super::leeway::Leeway;
use super::link_queue::{LinkQueue, SILENT};
use super::longer_way::{self, LongerWay, Waited};
use super::other_clock::{Fit, OtherClock};
use super::others::{Finding, Others};
use super::policed::{self, Policed};
use super::swing::Swing;
use super::usual_loss::HIGH;
use super::way_back::WayBack;
use super::{arrivals, part, share};
use crate::egress::time_on_link;
use airtcp_core::{Duration, Instant, Rate};

/// The wait that is aimed at for a rate that varies, at most: half of what a call bears beside a link's own delay, or the time of so many packets,
/// if that is longer. Packets swept: docs/link-rate.md, "What is aimed at on slow links".
const MOST_FOR_VARIATION: (Duration, u64) = (Duration::from_millis(10), 4);
/// What waits above the target leaves within about this time: a hop's round trip, after which it is known whether it did.
const DRAINING: Duration = Duration::from_millis(40);
/// It leaves faster than that by so many times the part by which the rate changes anyway. Swept: docs/link-rate.md, "What is aimed at on slow links".
const SWINGS: u64 = 2;
/// The pace is never below this part of the rate, in millionths: without packets there are no reports.
const LEAST_PACE: u64 = 100_000;
/// With nothing waiting, the pace is so many millionths of the rate above it at first, and at most.
const GAIN: (u64, u64) = (200_000, 1_000_000);
/// Who waits less than one part in so many of the target found nothing waiting.
const QUIET_PART: u64 = 4;
/// So many reports one after the other find nothing waiting before the gain rises; each further one adds the first gain.
const QUIET_REPORTS: u32 = 2;
/// If nothing waits and what is carried rises with what is given, the link carries more than is known: with each report
/// that says so, so many millionths more, at most so many. If nothing waits for longer than a change takes to show, the rate
/// may have risen too, by as much as it usually changes; and by a step more each further time that a change takes to show, or what is
/// carried would be what is given for good.
const DOUBT: (u64, u64) = (50_000, 250_000);
/// The pace is never more than so many times what the link is known to carry, unless others fill it.
const MOST_ABOVE: u64 = 2;
/// So many millionths more if nothing waits and it has carried twice as much of late.
const AFTER_FALL: u64 = 1_000_000;
/// A report is overdue so long after all packets have come after which one is expected.
const OVERDUE: Duration = Duration::from_millis(5);
/// A link that lets messages through that left no longer ago than this and a round trip does not stand still. If it does so for so long and
/// no report came for a second, there will be none: the other end is broken.
const NO_REPORTS: (Duration, Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(3), Duration::from_secs(1));
/// A report tells of a change after so many packets, and mostly sooner. It came after eight until reports of two; four instead used a link
/// that swings less (of one cell, by a build made for that).
const TOLD_AFTER: u32 = 8;
/// A link whose rate is pursued and in which nothing waits for so long has no queue, or is given too little.
const WAITLESS: Duration = Duration::from_secs(4);
/// Of less than so many bit/s it would take longer than half a second until enough has come to tell anything.
const LEAST_SUSPECT: u64 = 1_000_000;
/// A wait so many times the target is no burst.
const SURELY: u64 = 4;
/// A wait so many times the target is one in a queue.
const LONG: u64 = 2;
/// What differs from the bound by less than one part in so many is the bound.
const BOUND_PART: u64 = 32;
/// A change by less than one part in so many is not worth the work.
const LEAST_CHANGE: u64 = 32;
/// Full-size packet, in bytes.
const PACKET: u32 = 1500;

/// What to do about the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Stay,
    /// The link carries less than the bound.
    Lower(Rate),
    /// Go on with this rate.
    Set(Option<Rate>),
    /// Somebody else fills the link: take this share.
    Share(Rate),
}

/// See the module.
#[derive(Debug)]
pub(super) struct RateLaw {
    bound: Option<Rate>,
    clock: OtherClock,
    history: History,
    carried: Carried,
    queue: LinkQueue,
    in_flight: InFlight,
    excursions: Excursions,
    others: Others,
    flows: Flows,
    /// While somebody else fills the link, and for the next time that they do soon.
    contest: Option<Contest>,
    /// Without any wait, the distance of the ends and back.
    rtt: Duration,
    way_back: WayBack,
    /// What is sent now.
    pace: Option<Rate>,
    /// The link carries less than the bound, so its rate is pursued.
    is_pursuing: bool,
    /// The queue here was empty then.
    idle_at: Instant,
    /// Reports one after the other that found nothing waiting.
    quiet: u32,
    /// Those among them in which the link carried more than was known.
    followed: u32,
    /// Since when messages arrive there and no report comes.
    unreported: Option<Instant>,
    longer_way: LongerWay,
    /// Whether the link drops before anything waits.
    policed: Policed,
    leeway: Leeway,
    swing: Swing,
    /// When packets last waited for what is aimed at.
    waited_at: Instant,
}

impl RateLaw {
    pub fn new(bound: Option<Rate>) -> Self {
        RateLaw {
            bound,
            clock: OtherClock::default(),
            history: History::default(),
            carried: Carried::default(),
            queue: LinkQueue::default(),
            in_flight: InFlight::default(),
            excursions: Excursions::default(),
            others: Others::default(),
            flows: Flows::default(),
            contest: None,
            rtt: Duration::ZERO,
            way_back: WayBack::default(),
            pace: bound,
            is_pursuing: false,
            idle_at: Instant::ZERO,
            quiet: 0,
            followed: 0,
            unreported: None,
            longer_way: LongerWay::default(),
            policed: Policed::default(),
            leeway: Leeway::default(),
            swing: Swing::default(),
            waited_at: Instant::ZERO,
        }
    }

    /// So many percent of what the link carries until a report comes may be in flight; 0 for no limit.
    pub fn limit_in_flight(&mut self, percent: u32) {
        self.in_flight.limit(percent);
    }

    /// Has the limit of `next` on what may be in flight.
    pub fn adopt_limit(&mut self, next: &RateLaw) {
        self.in_flight.limit(next.in_flight.percent());
    }

    /// Pursues what the link was known to carry by whoever looked before, if that is less than the bound.
    pub fn resume(&mut self, rate: Rate) -> Option<Rate> {
        if self.bound.is_some_and(|bound| rate.bps() >= bound.bps() - bound.bps() / BOUND_PART) {
            return self.pace;
        }
        self.carried.resume(rate);
        (self.is_pursuing, self.pace) = (true, Some(rate));
        self.pace
    }

    /// The link is given no more than another bound from now on; the pace.
    pub fn rebind(&mut self, now: Instant, bound: Option<Rate>) -> Option<Rate> {
        self.bound = bound;
        self.excursions.forget_trial();
        let is_within = |rate: Rate| bound.is_none_or(|bound| rate.bps() < bound.bps() - bound.bps() / BOUND_PART);
        if self.is_pursuing && self.carried.rate().is_none_or(is_within) {
            self.set_pace(now);
            self.pace = self.pace.map(|pace| Rate::from_bps(self.bounded(pace.bps())));
        } else {
            self.carried.forget();
            (self.contest, self.others) = (None, Others::default());
            self.free(bound, Verdict::Set(bound));
        }
        self.pace
    }

    /// The other end counts anew.
    pub fn forget(&mut self) {
        self.clock = OtherClock::default();
        self.forget_samples();
        if let Some(contest) = &mut self.contest {
            contest.resume();
        }
    }

    fn forget_samples(&mut self) {
        self.history = History::default();
        self.way_back = WayBack::default();
        self.policed = Policed::default();
        self.in_flight.forget();
        self.carried.forget_measurements();
    }

    /// It is not known any more that losses tell what the link carries.
    fn forget_policer(&mut self) {
        self.policed = Policed::default();
        self.history.learn_loss(None);
    }

    /// How long a packet waits in the link that leaves now.
    pub fn wait(&self, now: Instant) -> Duration {
        self.queue.wait(now)
    }

    /// How long the last packet waited of which that is known.
    pub fn reported_wait(&self) -> Duration {
        self.history.last_wait()
    }

    /// What the link carries, if that is less than the bound.
    pub fn pursued(&self) -> Option<Rate> {
        self.carried.rate().filter(|_| self.is_pursuing)
    }

    /// The most that the link is given.
    pub fn bound(&self) -> Option<Rate> {
        self.bound
    }

    /// The most that the link carried of late.
    pub fn peak(&self) -> Option<Rate> {
        self.carried.peak()
    }

    /// What the link carries, or the bound if it carries that.
    fn rate(&self) -> Option<Rate> {
        self.pursued().or(self.pace)
    }

    /// So many flows wait here.
    pub fn note_flows(&mut self, now: Instant, waiting: usize) {
        self.flows.note(now, waiting);
    }

    pub fn advice(&self) -> Option<Advice> {
        if self.others.fill_the_link() {
            return Some(Advice::FilledByOthers);
        }
        let carries_less = self.is_pursuing && self.bound.is_some();
        carries_less.then_some(Advice::CarriesLess).or(self.excursions.found_more().then_some(Advice::CarriesMore))
    }

    /// A packet left, with which so many bytes have left in all; nothing waits here any more if `is_last`.
    pub fn on_departure(&mut self, now: Instant, sent: u64, is_last: bool) -> Verdict {
        if is_last {
            self.idle_at = now;
            self.leeway.note_empty(now);
        } else if self.is_pursuing && self.wait(now) < LEAST_TARGET && self.is_usual(now) && !self.policed.is_found() {
            self.leeway.note_waiting(now, self.idle_at, self.reaction());
        }
        if self.queue.is_reported() {
            self.way_back.on_first_departure(now);
        }
        self.queue.add(now, sent, self.supposed(), self.history.usual_gap());
        self.in_flight.note_departure(sent);
        self.set_pace(now)
    }

    /// The latest message that the other end has heard left at `echoed`. Without reports nothing tells what the link
    /// carries, and what a silent link is given would stop a transfer.
    pub fn on_echo(&mut self, now: Instant, echoed: Instant) -> Verdict {
        let (fresh, least, silent) = NO_REPORTS;
        let age = now.saturating_since(echoed).saturating_sub(self.rtt);
        let is_missed = self.is_pursuing && self.overdue(now) > silent && age < fresh;
        self.unreported = is_missed.then(|| self.unreported.unwrap_or(now));
        if self.unreported.is_some_and(|since| now.saturating_since(since) >= least) {
            return self.free(self.bound, Verdict::Set(self.bound));
        }
        Verdict::Stay
    }

    /// A report came about a packet of which nothing is known.
    pub fn on_unknown_report(&mut self, now: Instant) -> Verdict {
        self.queue.hear(now);
        self.in_flight.forget();
        self.set_pace(now)
    }

    /// A packet was seen at both ends, whose distance without any wait is `rtt`; `later` is what left after it: when, and the
    /// bytes that had left by then in all.
    pub fn on_report(
        &mut self,
        now: Instant,
        sample: &Sample,
        later: impl Iterator<Item = (Instant, u64)>,
        rtt: Duration,
    ) -> Verdict {
        self.rtt = rtt;
        match self.clock.judge(now, sample) {
            Fit::True => {}
            Fit::False => return self.on_unknown_report(now),
            Fit::Anew => {
                self.forget_samples();
                self.way_back.on_another_clock(now);
                self.excursions.empty(now.saturating_since(sample.left));
            }
        }
        if !self.history.add(now, sample, self.is_pursuing, rtt, self.target() * LONG) {
            // A small packet, which takes less time: it tells that the link is alive.
            self.in_flight.note_small(sample);
            self.restart_queue(now, sample, self.history.wait_of(sample), later);
            return self.set_pace(now);
        }
        let wait = self.history.wait_of(sample);
        self.note_in_flight(now, sample, wait);
        self.excursions.judge(sample.left, wait);
        let target = self.target();
        let measured = self.history.measure(target / 2);
        let is_raised = measured.is_some_and(|measured| self.carried.add(measured, self.reaction()));
        let standing = self.history.standing_wait().unwrap_or_default();
        match self.others.on_wait(now, standing, target, &self.carried, self.pace.is_some()) {
            Finding::Ours | Finding::Over => {}
            Finding::Filled(before) => return self.contend(now, before),
            Finding::StillFilled => {
                self.waited_at = now;
                self.restart_queue(now, sample, wait, later);
                let hop = Hop { round_trip: self.round_trip(), carried: self.carried.rate().map_or(0, Rate::bps) };
                if let Some(contest) = &mut self.contest {
                    contest.on_report(now, sample, hop, self.history.loss(), self.flows);
                }
                return self.set_pace(now);
            }
        }
        let (wait, finding) = self.without_a_longer_way(now, sample.left, wait, target);
        if let Finding::Filled(before) = finding {
            self.history.restore_base();
            return self.contend(now, before);
        }
        self.note_quiet(now, sample.left, wait, target, is_raised);
        self.note_swing(now, target);
        self.restart_queue(now, sample, wait, later);
        if let Some(verdict) = self.without_a_queue(now, sample, wait, target) {
            return verdict;
        }
        let is_busy = measured.is_some_and(|measured| measured.is_busy);
        let overflows = !self.is_pursuing && self.overflows(wait, target);
        if overflows && self.carried.highest().bps() >= LEAST_SUSPECT {
            self.carried.suppose_highest();
        }
        if overflows || !self.is_pursuing && is_busy && self.carries_less(wait, target) {
            return self.begin();
        }
        if self.is_pursuing && self.reaches_bound(now, target) {
            self.carried.forget();
            return self.free(self.bound, Verdict::Set(self.bound));
        }
        self.excuse(now);
        self.set_pace(now)
    }

    /// The link's queue and the way back are now as this report tells.
    fn restart_queue(
        &mut self,
        now: Instant,
        sample: &Sample,
        wait: Duration,
        later: impl Iterator<Item = (Instant, u64)>,
    ) {
        self.way_back.on_report(now, self.history.wait_on_way_back(now, sample, wait, self.rtt));
        let (rate, gap) = (self.supposed(), self.history.usual_gap());
        self.queue.restart(sample, wait, rate);
        later.for_each(|(at, sent)| self.queue.add(at, sent, rate, gap));
    }

    /// The way back may have a queue too, and reports wait for each other.
    fn note_in_flight(&mut self, now: Instant, sample: &Sample, wait: Duration) {
        let without_queue = now.saturating_since(sample.left).saturating_sub(wait).max(self.rtt);
        let until_reported = without_queue + self.history.longest_gap().max(arrivals::TIME);
        self.in_flight.note_report(sample, self.history.passed(in_flight::RECENT), until_reported);
    }

    /// What of the wait is a queue, and not a longer way.
    fn without_a_longer_way(
        &mut self,
        now: Instant,
        left: Instant,
        wait: Duration,
        target: Duration,
    ) -> (Duration, Finding) {
        // At the bound the rate cannot be too low, and a wait within what is aimed at says nothing.
        let least = if self.is_pursuing { target / QUIET_PART } else { target };
        if self.pace.is_none() || wait <= least {
            self.longer_way.forget();
            return (wait, Finding::Ours);
        }
        let waited = Waited { left, wait, target, jitter: self.history.jitter() };
        let Some(before) = self.longer_way.judge(waited, &self.carried, &self.excursions, &self.leeway) else {
            return (wait, Finding::Ours);
        };
        if !self.is_pursuing {
            // Nothing else is to be mended: the rate is the bound, whatever the way.
            self.history.restart_from_last();
            return (Duration::ZERO, Finding::Ours);
        }
        let finding = self.others.on_longer_way(now, before);
        if finding == Finding::Ours {
            self.history.restart_from_last();
            self.carried.restore(before);
            self.leeway.begin_anew(now);
        }
        (Duration::ZERO, finding)
    }

    /// Somebody else fills the link: competes with them, from a share of `before`, or from what was found before.
    fn contend(&mut self, now: Instant, before: Rate) -> Verdict {
        let round_trip = self.round_trip();
        match &mut self.contest {
            Some(contest) if self.others.is_again() => contest.resume(),
            contest => *contest = Some(Contest::new(now, before, round_trip, self.flows, self.history.loss())),
        }
        self.is_pursuing = true;
        self.swing = Swing::default();
        self.forget_policer();
        (self.quiet, self.followed) = (0, 0);
        self.longer_way.forget();
        let pace = self.contest.as_ref().map_or(LEAST, |contest| contest.pace(round_trip));
        let pace = Rate::from_bps(self.bounded(pace));
        self.pace = Some(pace);
        Verdict::Share(pace)
    }

    /// Of the hop, with what waits in it.
    fn round_trip(&self) -> Duration {
        self.rtt + self.reported_wait()
    }

    /// So much waits that no burst is to blame for it.
    fn carries_less(&self, wait: Duration, target: Duration) -> bool {
        let is_standing = self.history.standing_wait().is_some_and(|standing| standing > target);
        (is_standing || wait > target * SURELY) && self.history.grown() > target / 2
    }

    /// Packets wait, and some are lost: perhaps for want of room in a queue that is too short for a wait that stays. A link that carries the
    /// bound is not given too much.
    fn overflows(&self, wait: Duration, target: Duration) -> bool {
        wait > target * LONG && self.history.has_lost() && !self.carries_bound()
    }

    fn carries_bound(&self) -> bool {
        self.bound.zip(self.carried.rate()).is_some_and(|(bound, rate)| is_bound(rate, bound))
    }

    /// A link that drops what it does not carry before anything waits.
    fn without_a_queue(&mut self, now: Instant, sample: &Sample, wait: Duration, target: Duration) -> Option<Verdict> {
        match self.policed.judge(sample) {
            policed::Finding::Found(rate, _) if self.bound.is_some_and(|bound| is_bound(rate, bound)) => {
                self.forget_policer()
            }
            policed::Finding::Found(rate, lost) => {
                self.history.learn_loss(Some(lost));
                if !self.is_pursuing {
                    self.carried.resume(rate);
                    return Some(self.begin());
                }
                self.carried.lower(rate);
            }
            policed::Finding::Usual(lost) => self.history.learn_loss(Some(lost)),
            policed::Finding::Perhaps => self.excursions.suspect_again(now + policed::BETWEEN),
            policed::Finding::Nothing => {}
        }
        let rate = self.pursued()?;
        let has_a_queue = wait > target * LONG;
        if has_a_queue {
            self.forget_policer();
        }
        let (seen, carried) = self.history.of_late(self.idle_at)?;
        let (usual, settled) = (self.history.loss().usual(), self.reaction() + history::WINDOW);
        match self.policed.watch(now, seen, usual, rate, settled) {
            policed::Given::Enough => {}
            policed::Given::TooMuch => self.carried.lower(carried),
            policed::Given::Otherwise(before) => {
                self.forget_policer();
                self.carried.restore(before);
            }
        }
        None
    }

    fn begin(&mut self) -> Verdict {
        let Some(rate) = self.carried.rate() else { return Verdict::Stay };
        let rate = self.bound.map_or(rate, |bound| rate.min(bound));
        self.is_pursuing = true;
        self.excursions.found_less();
        self.pace = Some(rate);
        Verdict::Lower(rate)
    }

    fn reaches_bound(&self, now: Instant, target: Duration) -> bool {
        let Some((bound, rate)) = self.bound.zip(self.carried.rate()) else { return false };
        is_bound(rate, bound) && self.wait(now) <= target
    }

    /// Sends at `pace`, whatever waits.
    fn free(&mut self, pace: Option<Rate>, verdict: Verdict) -> Verdict {
        self.is_pursuing = false;
        (self.quiet, self.followed) = (0, 0);
        self.forget_policer();
        self.pace = pace;
        verdict
    }

    fn note_quiet(&mut self, now: Instant, left: Instant, wait: Duration, target: Duration, is_raised: bool) {
        if wait >= target {
            self.waited_at = now;
        }
        if is_raised {
            self.leeway.note_raised(left);
        }
        if wait < target / QUIET_PART && self.has_enough_to_send() && self.is_usual(now) {
            self.quiet = self.quiet.saturating_add(1);
            self.followed = self.followed.saturating_add(u32::from(is_raised));
        } else {
            (self.quiet, self.followed) = (0, 0);
        }
    }

    /// Less that is sent for another reason makes no swing.
    fn note_swing(&mut self, now: Instant, target: Duration) {
        match self.pursued() {
            Some(believed) if self.is_usual(now) => self.swing.note(now, self.history.swing(), believed, target),
            Some(_) => {}
            None => self.swing = Swing::default(),
        }
    }

    /// No other rate is sent than what the link is known to carry.
    fn is_usual(&self, now: Instant) -> bool {
        !self.excursions.is_under_way() && !self.policed.holds(now)
    }

    /// The queue here was never empty since the first packet left of those that the rate is measured by.
    fn has_enough_to_send(&self) -> bool {
        self.history.first_departure().is_some_and(|first| self.idle_at < first)
    }

    /// Perhaps the link's queue is full, and was when the first packet came, or it has none, and no delay tells: much is lost, and it
    /// is not known that the link carries what it is given. Then what comes, if that is no trickle.
    fn suspects(&self, now: Instant) -> Option<Rate> {
        let is_sure = if self.is_pursuing {
            now.saturating_since(self.waited_at) < WAITLESS || !self.has_enough_to_send()
        } else {
            self.carries_bound()
        };
        let loss = self.history.loss();
        let is_usual = loss.middle().is_none_or(|middle| middle >= HIGH);
        let comes = loss.steady_rate().filter(|_| self.history.has_lost() && is_usual && !is_sure);
        comes.filter(|comes| comes.bps() >= LEAST_SUSPECT)
    }

    fn excuse(&mut self, now: Instant) {
        let lost = self.history.loss().latest();
        let comes = self.suspects(now);
        self.look_into_what_stays(now);
        let begun = if self.is_pursuing {
            self.excursions.drain(now, comes)
        } else {
            comes.and_then(|comes| self.excursions.suspect(now, comes))
        };
        if let Some((time, comes)) = begun.zip(comes) {
            self.policed.begin_round(now, time, comes, lost);
        } else if !self.is_pursuing && self.bound.is_some() && self.has_enough_to_send() {
            self.excursions.try_more(now);
        }
    }

    /// What waits for as long all the time is a queue or a longer way. To see which, less is sent, or more for what is hardly longer than
    /// what is aimed at: such a queue need not become shorter.
    fn look_into_what_stays(&mut self, now: Instant) {
        let jitter = self.history.jitter();
        let Some(wait) = self.longer_way.same_for(now, self.reaction() * 2) else { return };
        if wait < self.target() * 2 {
            if self.can_tell_a_queue(now, jitter) {
                self.leeway.try_more(now, longer_way::telling(jitter), self.history.usual_gap());
            }
            return;
        }
        if !longer_way::is_clear(wait, jitter) {
            return;
        }
        // At the bound nothing else empties the link of what came while it stood still: a part of it, if all is too much.
        let wait = if self.is_pursuing { wait } else { wait.min(excursion::MOST_DRAINED) };
        self.excursions.drain_wait(now, wait, self.reaction());
    }

    /// More that is sent for a moment would show in how long packets wait: that is known soon, and does not change as much by itself.
    fn can_tell_a_queue(&self, now: Instant, jitter: Duration) -> bool {
        let reaction = self.reaction();
        let varies = Duration::from_nanos(part(reaction.as_nanos(), self.carried.variation()));
        self.is_pursuing
            && self.has_enough_to_send()
            && self.is_usual(now)
            && varies < longer_way::tolerance(jitter)
            && self.way_back.wait() < reaction
    }

    /// Until something that is done about a change shows: the report about it must come back, is made of some packets, and
    /// the measurement takes its time.
    fn reaction(&self) -> Duration {
        let report = time_on_link(self.rate(), PACKET * TOLD_AFTER);
        self.rtt + report.max(arrivals::TIME) + history::LEAST_SPAN
    }

    /// What the link lost of late, in millionths, where that is known.
    pub fn lost(&self, now: Instant) -> Option<u64> {
        self.history.loss().mean(now)
    }

    /// No packet of late was half as long as a full-size one.
    pub fn carries_small_packets(&self) -> bool {
        (1..PACKET / 2).contains(&self.history.largest())
    }

    /// The wait that is aimed at.
    fn target(&self) -> Duration {
        let least = LEAST_TARGET.max(self.history.jitter() * 2);
        let Some(rate) = self.rate().or(self.carried.rate()) else { return least };
        let for_variation = Duration::from_nanos(part(self.reaction().as_nanos(), self.carried.variation()));
        // A packet that waits, and one that takes longer than when the link was fastest.
        let packet = rate.serialisation(PACKET, &mut 0);
        let shortest = self.carried.highest().serialisation(PACKET, &mut 0);
        let packets = (packet * 2).saturating_sub(shortest.min(packet));
        let most = MOST_FOR_VARIATION.0.max(packet * MOST_FOR_VARIATION.1);
        least.max(packets).max(for_variation.min(most))
    }

    /// How long the next report is overdue.
    pub fn overdue(&self, now: Instant) -> Duration {
        self.queue.overdue(now, self.rtt + self.way_back.wait() + OVERDUE + self.history.jitter() * 2)
    }

    /// What the link carries, and more if it gives reason to.
    fn supposed(&self) -> Option<Rate> {
        let rate = self.rate()?;
        if !self.is_pursuing {
            return Some(rate);
        }
        // What it carried a few seconds ago it may carry again.
        let has_fallen = self.quiet > 0 && self.peak().is_some_and(|peak| rate.bps() < peak.bps() / 2);
        let doubt = if has_fallen { AFTER_FALL } else { self.doubt() };
        Some(Rate::from_bps(rate.bps() + part(rate.bps(), doubt)))
    }

    /// See [`DOUBT`].
    fn doubt(&self) -> u64 {
        let (step, most) = DOUBT;
        let quiet = u64::from(self.quiet);
        let reports_until_it_shows =
            self.reaction().as_nanos() / self.history.usual_gap().max(arrivals::TIME).as_nanos();
        let followed = step * u64::from(self.followed.saturating_sub(QUIET_REPORTS - 1));
        let usual = (step * quiet.saturating_sub(reports_until_it_shows)).min(self.carried.variation());
        let unanswered = step * (quiet / reports_until_it_shows.max(1)).saturating_sub(1);
        followed.max(usual).max(unanswered).min(most)
    }

    /// What is sent at most of a link that carries `rate`, whatever waits.
    fn ceiling(&self, now: Instant, rate: Rate) -> u64 {
        let held = self.policed.holds(now).then_some(rate);
        self.excursions.of().or(held).map_or(u64::MAX, Rate::bps)
    }

    fn set_pace(&mut self, now: Instant) -> Verdict {
        let contest = self.contest.as_ref().filter(|_| self.others.fill_the_link());
        let excursion = self.excursions.share(now);
        let share = if contest.is_some() { 1000 } else { excursion };
        let usual = if self.is_pursuing {
            let target = self.target();
            let Some(rate) = self.supposed() else { return Verdict::Stay };
            let overdue = self.overdue(now);
            let pace = match contest {
                Some(contest) => contest.pace(self.round_trip()),
                None => {
                    let wait = self.wait(now) + self.swing.besides() + overdue;
                    let known = self.rate().unwrap_or(rate);
                    let (least, out) = if self.is_usual(now) {
                        (self.leeway.pace(now, known, wait), self.in_flight.most(known.bps(), self.idle_at))
                    } else {
                        (0, u64::MAX)
                    };
                    let most = self.ceiling(now, rate).min(known.bps() * MOST_ABOVE).min(out);
                    self.pace_at(rate.bps(), wait, target).max(least).min(most)
                }
            };
            self.bounded(if overdue > SILENT {
                pace.min(self.bits_into_silence() * 1_000_000_000 / overdue.as_nanos())
            } else {
                pace
            })
        } else {
            let Some(rate) = self.excursions.of().or(self.bound) else {
                let was_paced = self.pace.take().is_some();
                return if was_paced { Verdict::Set(None) } else { Verdict::Stay };
            };
            self.bounded(rate.bps())
        };
        let bps = scaled(usual, share);
        let least = if self.is_pursuing { bps / LEAST_CHANGE } else { 0 };
        if self.pace.is_some_and(|pace| pace.bps().abs_diff(bps) <= least) {
            return Verdict::Stay;
        }
        self.pace = Some(Rate::from_bps(bps));
        Verdict::Set(self.pace)
    }

    /// Packets of the largest size that is known: many queues count packets, not bytes.
    fn bits_into_silence(&self) -> u64 {
        let bytes = if self.history.largest() == 0 { PACKET } else { self.history.largest() };
        u64::from(arrivals::EXPECTED) * u64::from(bytes) * 8
    }

    fn pace_at(&self, rate: u64, wait: Duration, target: Duration) -> u64 {
        if wait > target {
            let excess = share(wait.saturating_sub(target), DRAINING);
            let swings = part(excess, self.carried.variation() * SWINGS);
            let excess = excess.saturating_add(swings).min(1_000_000 - LEAST_PACE);
            return rate - part(rate, excess);
        }
        let (first, most) = GAIN;
        let steps = u64::from(self.quiet.saturating_sub(QUIET_REPORTS - 1)) + 1;
        let gain = (first * steps.min(most / first)).min(most);
        rate + part(part(rate, gain), share(target.saturating_sub(wait), target))
    }

    fn bounded(&self, bps: u64) -> u64 {
        let bps = bps.max(LEAST);
        self.bound.map_or(bps, |bound| bps.min(bound.bps()))
    }
}

/// The rate is the bound, or more.
fn is_bound(rate: Rate, bound: Rate) -> bool {
    rate.bps() >= bound.bps() - bound.bps() / BOUND_PART
}

/// So many thousandths of `bps`. A rate of zero would let nothing pass that shows that it is too low.
fn scaled(bps: u64, share: u64) -> u64 {
    if share == 1000 { bps } else { part(bps, share * 1000).max(1) }
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn a_part_of_the_lowest_rate_is_that_rate() {
        assert_eq!((scaled(1, 333), scaled(1, 1000), scaled(3000, 333)), (1, 1, 999));
    }
}
