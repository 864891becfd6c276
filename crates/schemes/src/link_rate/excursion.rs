//! Another rate for a moment, to see what no even rate shows: the delay of an empty link, and whether it carries more.

use airtcp_core::{Duration, Instant};

/// The link is emptied so often, for so long and with so many per mille of its rate, or the shortest delay would be that of
/// a link in which something always waits.
const DRAIN: (Duration, Duration, u64) = (Duration::from_secs(4), Duration::from_millis(50), 750);
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

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Excursions {
    /// Until when, and with so many per mille.
    now: Option<(Instant, u64)>,
    drained_at: Instant,
    /// It has to be emptied when it is time, and so much may wait.
    owed: Option<Duration>,
    tried_at: Instant,
    /// The last trial: when it was, and the longest wait in it.
    trial: Option<Trial>,
    carries_more: bool,
}

impl Excursions {
    /// Per mille of the rate that are sent now.
    pub fn share(&mut self, now: Instant) -> u64 {
        if let Some(waits) = self.owed.filter(|_| self.may_drain(now)) {
            let (share, times, most) = EMPTYING;
            self.owed = None;
            self.drained_at = now;
            self.now = Some((now + waits.min(most).saturating_mul(times).min(most), share));
        }
        let Some((until, share)) = self.now else { return 1000 };
        if now < until {
            return share;
        }
        self.now = (share > 1000).then(|| (until + AFTER_TRIAL.0, AFTER_TRIAL.1)).filter(|(until, _)| now < *until);
        self.now.map_or(1000, |(_, share)| share)
    }

    /// What was found at another bound is none any more.
    pub fn forget_trial(&mut self) {
        (self.trial, self.carries_more) = (None, false);
    }

    /// True while another rate is sent than the usual one.
    pub fn is_under_way(&self) -> bool {
        self.now.is_some()
    }

    /// Now and then sends less for a moment, so that the shortest delay is that of an empty link.
    pub fn drain(&mut self, now: Instant) {
        let (_, time, share) = DRAIN;
        if self.may_drain(now) {
            self.drained_at = now;
            self.now = Some((now + time, share));
        }
    }

    fn may_drain(&self, now: Instant) -> bool {
        self.now.is_none() && now.saturating_since(self.drained_at) >= DRAIN.0
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
            self.now = Some((now + time, share));
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
        self.carries_more = false;
    }
}
