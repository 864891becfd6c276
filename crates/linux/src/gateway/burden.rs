//! When a gateway takes much of a processor, what its scheme can do without goes past it, in the kernel.
//!
//! Not when packets begin to wait in its devices: a worker of real-time priority takes the processor from those who send
//! and forward, and never sees that it is too slow for them.

use super::divert::Wanted;
use airtcp_core::{Duration, Instant, Traffic};

/// A quarter of a processor is much.
const LEAST_SHARE: u64 = 4;
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Once it was much, what can go past does for so long; then it is tried again.
const PAST: Duration = Duration::from_secs(10);

/// What the gateway costs.
#[derive(Debug, Default)]
pub struct Burden {
    /// The last look, and the processor time that had been used by then.
    looked: Instant,
    used: Duration,
    is_much: bool,
    past_until: Instant,
}

impl Burden {
    /// Looks, if it is time to, whether the worker, which has `used` so much processor time since it began, has used much of
    /// it lately. True if this look says so.
    pub fn look(&mut self, now: Instant, used: impl FnOnce() -> Duration) -> bool {
        let lately = now.saturating_since(self.looked);
        if lately < LOOK_EVERY {
            return false;
        }
        let used = used();
        self.is_much = used.saturating_sub(self.used).saturating_mul(LEAST_SHARE) >= lately;
        (self.looked, self.used) = (now, used);
        self.is_much
    }

    /// What to take until the next beat, for an element that asks for `traffic`.
    pub fn wanted(&mut self, now: Instant, traffic: Traffic) -> Wanted {
        match traffic {
            Traffic::Tcp => return Wanted::Tcp,
            Traffic::Leaving => return Wanted::Leaving,
            Traffic::Nothing => return Wanted::Nothing,
            Traffic::All => self.past_until = Instant::ZERO,
            Traffic::TcpFirst if self.is_much => self.past_until = now + PAST,
            Traffic::TcpFirst => {}
        }
        if now < self.past_until { Wanted::Tcp } else { Wanted::All }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A beat at `ms`, when the worker has used so many milliseconds of a processor in all.
    fn beat(burden: &mut Burden, ms: u64, used_ms: u64, traffic: Traffic) -> Wanted {
        let now = Instant::ZERO + Duration::from_millis(ms);
        burden.look(now, || Duration::from_millis(used_ms));
        burden.wanted(now, traffic)
    }

    #[test]
    fn only_what_the_scheme_can_do_without_goes_past_and_only_for_a_while() {
        let mut burden = Burden::default();
        assert_eq!(beat(&mut burden, 100, 24, Traffic::TcpFirst), Wanted::All);
        assert_eq!(beat(&mut burden, 200, 49, Traffic::TcpFirst), Wanted::Tcp);
        assert_eq!(beat(&mut burden, 10_100, 49, Traffic::TcpFirst), Wanted::Tcp);
        assert_eq!(beat(&mut burden, 10_200, 49, Traffic::TcpFirst), Wanted::All);
        assert_eq!(beat(&mut burden, 10_300, 149, Traffic::Tcp), Wanted::Tcp);
    }

    #[test]
    fn it_looks_fifty_times_a_second() {
        let mut burden = Burden::default();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert!(burden.look(at(20), || Duration::from_millis(5)));
        assert!(!burden.look(at(39), || unreachable!("it is too early to look")));
        assert!(!burden.look(at(40), || Duration::from_millis(9)));
    }

    #[test]
    fn while_packets_wait_for_the_link_all_are_taken() {
        let mut burden = Burden::default();
        assert_eq!(beat(&mut burden, 100, 50, Traffic::TcpFirst), Wanted::Tcp);
        assert_eq!(beat(&mut burden, 200, 100, Traffic::All), Wanted::All);
        assert_eq!(beat(&mut burden, 300, 100, Traffic::TcpFirst), Wanted::All);
    }
}
