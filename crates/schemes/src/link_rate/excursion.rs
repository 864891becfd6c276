//! Another rate for a moment, to see what no even rate shows: the delay of an empty link, and whether it carries more.

use airtcp_core::{Duration, Instant, Rate};

/// The link is emptied so often, for so long and with so many per mille of its rate, or the shortest delay would be that of
/// a link in which something always waits.
const DRAIN: (Duration, Duration, u64) = (Duration::from_secs(4), Duration::from_millis(50), 750);
/// To see whether what waits is a queue, less is sent as in [`DRAIN`], but no sooner than so long after the last time, and for so much longer than
/// would empty it; not at all if that is longer than this. Argued, not swept.
const DRAIN_WAIT: (Duration, Duration, Duration) =
    (Duration::from_millis(500), Duration::from_millis(5), Duration::from_millis(120));
/// So much of a queue is emptied in the longest time of [`DRAIN_WAIT`], in whole milliseconds.
pub(super) const MOST_DRAINED: Duration = Duration::from_millis(28);
/// On suspicion it lasts no shorter than so many bytes take to come: 40 packets, since few tell nothing, and senders pause.
const TELLING: u32 = 40 * 1500;
/// If much is lost and no rate is known, the link is emptied as in [`DRAIN`], to see whether something always waits in it. If nothing is
/// found this is done again after so long, and then each time after twice as long, up to this.
const SUSPICION: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(64));
/// If nothing is known of delays any more, the link is emptied by so many per mille of its rate, for so many times what may wait
/// in it, and no longer than this.
const EMPTYING: (u64, u64, Duration) = (500, 4, Duration::from_secs(2));
/// At the bound a little more is tried so often, for so long and with so many per mille of it: nothing waits at a rate that
/// is just right, nor at one that is too low.
const TRIAL: (Duration, Duration, u64) = (Duration::from_secs(10), Duration::from_millis(100), 1100);
/// What waits when a link does not carry a trial is more.
const TRIAL_WAIT: Duration = Duration::from_millis(2);
/// After a trial it takes so long with so many per mille until nothing waits.
const AFTER_TRIAL: (Duration, u64) = (Duration::from_millis(120), 850);

/// What was seen of packets that left at a higher rate.
#[derive(Clone, Copy, Debug)]
struct Trial {
    from: Instant,
    until: Instant,
    longest: Option<Duration>,
}

/// Another rate for a moment.
#[derive(Clone, Copy, Debug)]
struct Excursion {
    until: Instant,
    /// Per mille.
    share: u64,
    /// Of which rate, if not of the usual one.
    of: Option<Rate>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Excursions {
    now: Option<Excursion>,
    /// When the link was last emptied because it was time, or on suspicion.
    drained_at: Instant,
    /// The link was last given so much less as in [`DRAIN`] from then on, until then.
    less: (Instant, Instant),
    /// How often the link was emptied on suspicion since one was right; that one counts.
    suspicions: u32,
    /// One was perhaps right: when to look once more.
    again_at: Option<Instant>,
    /// It has to be emptied when it is time, and so much may wait.
    owed: Option<Duration>,
    /// When that was done last.
    emptied_at: Option<Instant>,
    tried_at: Instant,
    /// The last trial: when it was, and the longest wait in it.
    trial: Option<Trial>,
    carries_more: bool,
}

impl Excursions {
    /// Per mille of the rate that are sent now.
    pub fn share(&mut self, now: Instant) -> u64 {
        if let Some(waits) = self.owed.filter(|_| self.may_empty(now)) {
            let (share, times, most) = EMPTYING;
            self.owed = None;
            (self.drained_at, self.emptied_at) = (now, Some(now));
            self.begin(now, waits.min(most).saturating_mul(times).min(most), share, None);
        }
        if let Some(Excursion { until, share, .. }) = self.now.filter(|excursion| now >= excursion.until) {
            let after = Excursion { until: until + AFTER_TRIAL.0, share: AFTER_TRIAL.1, of: None };
            self.now = (share > 1000 && now < after.until).then_some(after);
        }
        self.now.map_or(1000, |excursion| excursion.share)
    }

    fn begin(&mut self, now: Instant, time: Duration, share: u64, of: Option<Rate>) {
        self.now = Some(Excursion { until: now + time, share, of });
    }

    fn begin_drain(&mut self, now: Instant, time: Duration, of: Option<Rate>) {
        self.less = (now, now + time);
        self.begin(now, time, DRAIN.2, of);
    }

    /// The link is emptied for so long, of which `comes` if anything is suspected.
    fn begin_usual_drain(&mut self, now: Instant, comes: Option<Rate>) -> Duration {
        let time = comes.map_or(DRAIN.1, |comes| DRAIN.1.max(comes.serialisation(TELLING, &mut 0)));
        self.drained_at = now;
        self.begin_drain(now, time, comes);
        time
    }

    /// What was found at another bound is none any more.
    pub fn forget_trial(&mut self) {
        (self.trial, self.carries_more) = (None, false);
    }

    /// The rate of which another share is sent now, if it is not the usual one.
    pub fn of(&self) -> Option<Rate> {
        self.now.and_then(|excursion| excursion.of)
    }

    /// True while another rate is sent than the usual one.
    pub fn is_under_way(&self) -> bool {
        self.now.is_some()
    }

    /// Now and then sends less for a moment, so that the shortest delay is that of an empty link: less than `comes`, if anything is
    /// suspected. For how long, if that begins.
    pub fn drain(&mut self, now: Instant, comes: Option<Rate>) -> Option<Duration> {
        self.may_drain(now).then(|| self.begin_usual_drain(now, comes))
    }

    /// Sends less until nothing of a queue would be left in which packets wait so long. What is sent now shows after `reaction`.
    pub fn drain_wait(&mut self, now: Instant, wait: Duration, reaction: Duration) {
        let (_, time, share) = DRAIN;
        let (pause, beyond, most) = DRAIN_WAIT;
        let time = time.max(wait.saturating_mul(1000) / (1000 - share) + beyond);
        let is_free = self.now.is_none() && self.owed.is_none();
        if is_free && now.saturating_since(self.less.1) >= pause.max(reaction) && time <= most {
            self.begin_drain(now, time, None);
        }
    }

    /// So much shorter is a queue of ours when a packet leaves at `left`, as less has been sent for a while, not before `since`.
    pub fn drained(&self, since: Instant, left: Instant) -> Duration {
        let (from, until) = self.less;
        let is_within = since <= from && from <= left && left <= until;
        if is_within { left.saturating_since(from) * (1000 - DRAIN.2) / 1000 } else { Duration::ZERO }
    }

    /// Much is lost, and perhaps something always waits: now and then sends less than what comes, for a moment. For how long, if
    /// that begins.
    pub fn suspect(&mut self, now: Instant, comes: Rate) -> Option<Duration> {
        let (least, most) = SUSPICION;
        let pause = |doublings: u32| least.saturating_mul(1 << doublings.min(16)).min(most);
        let pause = self.suspicions.checked_sub(1).map_or(Duration::ZERO, pause);
        let is_due = self.again_at.map_or(now.saturating_since(self.drained_at) >= pause, |at| now >= at);
        if self.now.is_some() || !is_due {
            return None;
        }
        if self.again_at.take().is_none() {
            self.suspicions = self.suspicions.saturating_add(1);
        }
        Some(self.begin_usual_drain(now, Some(comes)))
    }

    /// It has to be looked into once more then.
    pub fn suspect_again(&mut self, at: Instant) {
        self.again_at = Some(at);
    }

    fn may_drain(&self, now: Instant) -> bool {
        self.now.is_none() && now.saturating_since(self.drained_at) >= DRAIN.0
    }

    /// True if the last emptying was long enough ago: whoever lies about times must not have it emptied all the time. What was done on
    /// suspicion since does not count, as it empties little.
    fn may_empty(&self, now: Instant) -> bool {
        self.now.is_none() && self.emptied_at.is_none_or(|at| now.saturating_since(at) >= DRAIN.0)
    }

    /// Nothing is known of delays any more, and no packet waits longer than this: the next one may wait behind many.
    pub fn empty(&mut self, waits: Duration) {
        self.owed = Some(waits);
    }

    /// Now and then sends more for a moment; there is enough to send.
    pub fn try_more(&mut self, now: Instant) {
        let (every, time, share) = TRIAL;
        if self.now.is_none() && now.saturating_since(self.tried_at) >= every {
            self.tried_at = now;
            self.trial = Some(Trial { from: now + time / 2, until: now + time, longest: None });
            self.begin(now, time, share, None);
        }
    }

    /// A packet that left then waited for so long.
    pub fn judge(&mut self, left: Instant, wait: Duration) {
        let Some(trial) = &mut self.trial else { return };
        if left > trial.until {
            self.carries_more = trial.longest.is_some_and(|longest| longest < TRIAL_WAIT);
            self.trial = None;
        } else if left >= trial.from {
            trial.longest = trial.longest.max(Some(wait));
        }
    }

    /// The last trial found that the link carries more.
    pub fn found_more(&self) -> bool {
        self.carries_more
    }

    /// The link carries less than the bound, whatever a trial found.
    pub fn found_less(&mut self) {
        (self.carries_more, self.suspicions, self.again_at) = (false, self.suspicions.min(1), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_is_suspected_in_vain_is_suspected_less_often_and_less_is_sent_for_a_moment_only() {
        let (mut excursions, comes) = (Excursions::default(), Rate::from_bps(100_000_000));
        let began = |excursions: &mut Excursions, from: u64| -> Vec<u64> {
            let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
            let steps = (0..20_000).map(|step| from + step * 10);
            let mut is_less = 0;
            let began = steps.filter(|ms| {
                let begins = excursions.suspect(at(*ms), comes).is_some();
                let share = excursions.share(at(*ms));
                assert_eq!(excursions.of().is_some(), share == 750);
                is_less += u32::from(share == 750);
                begins
            });
            let began: Vec<u64> = began.map(|ms| (ms - from) / 1000).collect();
            assert_eq!(is_less as usize, began.len() * 5, "50 ms each");
            began
        };
        assert_eq!(began(&mut excursions, 0), [0, 4, 12, 28, 60, 124, 188]);
        excursions.found_less();
        assert_eq!(began(&mut excursions, 1_000_000), [0, 8, 24, 56, 120, 184]);
    }
}
