//! How often gateways challenge each other, and how long an answer counts.

use airtcp_core::{Duration, Instant, Rate};

/// Links of this rate or more are challenged at full pace, slower ones at a pace that leaves the link to others: a
/// handshake has about 130 bytes.
const FULL_PACE_BPS: u64 = 500_000;

/// Times between challenges.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many times slower than full pace.
    factor: u64,
}

impl Pace {
    /// For a link of this rate; unknown ones are fast.
    pub fn new(rate: Option<Rate>) -> Pace {
        let bps = rate.map_or(FULL_PACE_BPS, Rate::bps).clamp(1_000, FULL_PACE_BPS);
        Pace { factor: FULL_PACE_BPS.div_ceil(bps) }
    }

    fn times(self, millis: u64) -> Duration {
        Duration::from_millis(millis).saturating_mul(self.factor)
    }

    /// Until the next challenge, if the last answer came so long ago: unhurried while answers come, quick when they stay
    /// out, unhurried again when nobody is there.
    pub fn interval(self, silence: Option<Duration>) -> Duration {
        match silence {
            Some(silence) if silence < self.times(300) => self.times(250),
            Some(silence) if silence < self.reach() => self.times(50),
            _ => self.times(200),
        }
    }

    /// Challenges out of turn are so far apart: somebody asks for one by repeating what was heard before.
    pub fn least(self) -> Duration {
        self.times(20)
    }

    /// How long an answer counts: the peer is in reach.
    pub fn reach(self) -> Duration {
        self.times(1_000)
    }

    /// Between questions of the same length ([`PathSearch`](super::path_search::PathSearch)).
    pub fn question(self) -> Duration {
        self.times(200)
    }

    /// Until a length that was answered is asked again.
    pub fn check(self) -> Duration {
        self.times(10_000)
    }

    /// Until what was too long is tried again (`PMTU_RAISE_TIMER`, RFC 8899 section 5.1.1).
    pub fn retry(self) -> Duration {
        self.times(600_000)
    }

    /// How long a challenge may be answered.
    pub fn patience(self) -> Duration {
        self.times(3_000)
    }
}

/// At most so many in each 100 ms: answers to a life of the peer that has not proved itself.
const BUDGET: u32 = 10;

/// What is left of the budget.
#[derive(Debug, Default)]
pub struct Budget {
    since: Instant,
    used: u32,
}

impl Budget {
    /// True if there is one more.
    pub fn take(&mut self, now: Instant) -> bool {
        if now.saturating_since(self.since) >= Duration::from_millis(100) {
            *self = Budget { since: now, used: 0 };
        }
        self.used += 1;
        self.used <= BUDGET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_links_are_challenged_in_proportion_to_their_rate() {
        let interval = |bps| Pace::new(Some(Rate::from_bps(bps))).interval(None);
        assert_eq!(interval(500_000), interval(1_000_000_000));
        assert_eq!(interval(50_000), interval(500_000) * 10);
        assert_eq!(Pace::new(Some(Rate::from_bps(0))).factor, 500);
    }

    #[test]
    fn the_budget_is_used_up_and_comes_back() {
        let mut budget = Budget::default();
        let now = Instant::from_nanos(1_000_000_000);
        assert_eq!((0..100).filter(|_| budget.take(now)).count(), BUDGET as usize);
        assert!(budget.take(now + Duration::from_millis(100)));
    }
}
