//! When a gateway cannot keep up, what its scheme can do without goes past it, in the kernel.

use super::divert::Wanted;
use airtcp_core::{Duration, Instant, Traffic};

/// So many passes at least show that it cannot.
const LEAST_PASSES: u32 = 16;
/// Then it is tried again.
const PAST: Duration = Duration::from_secs(10);

/// How the gateway gets along with what it takes.
#[derive(Debug, Default)]
pub struct Burden {
    /// Through the packet loop since the last beat, and how often a device brought more than was taken from it.
    passes: u32,
    full: u32,
    past_until: Instant,
}

impl Burden {
    /// The packet loop was passed, and packets wait in a device or not.
    pub fn on_pass(&mut self, is_full: bool) {
        self.passes += 1;
        self.full += u32::from(is_full);
    }

    /// True if it cannot keep up.
    pub fn is_behind(&self) -> bool {
        self.passes >= LEAST_PASSES && self.full * 10 >= self.passes * 9
    }

    /// What to take until the next beat, for an element that asks for `traffic`.
    pub fn wanted(&mut self, now: Instant, traffic: Traffic) -> Wanted {
        let is_behind = self.is_behind();
        (self.passes, self.full) = (0, 0);
        match traffic {
            Traffic::Tcp => return Wanted::Tcp,
            Traffic::All => self.past_until = Instant::ZERO,
            Traffic::TcpFirst if is_behind => self.past_until = now + PAST,
            Traffic::TcpFirst => {}
        }
        if now < self.past_until { Wanted::Tcp } else { Wanted::All }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(burden: &mut Burden, ms: u64, full: u32, traffic: Traffic) -> Wanted {
        (0..20).for_each(|pass| burden.on_pass(pass < full));
        burden.wanted(Instant::ZERO + Duration::from_millis(ms), traffic)
    }

    #[test]
    fn only_what_the_scheme_can_do_without_goes_past_and_only_for_a_while() {
        let mut burden = Burden::default();
        assert_eq!(beat(&mut burden, 100, 10, Traffic::TcpFirst), Wanted::All);
        assert_eq!(beat(&mut burden, 200, 20, Traffic::TcpFirst), Wanted::Tcp);
        assert_eq!(beat(&mut burden, 10_100, 0, Traffic::TcpFirst), Wanted::Tcp);
        assert_eq!(beat(&mut burden, 10_200, 0, Traffic::TcpFirst), Wanted::All);
        assert_eq!(beat(&mut burden, 10_300, 20, Traffic::Tcp), Wanted::Tcp);
    }

    #[test]
    fn while_packets_wait_for_the_link_all_are_taken() {
        let mut burden = Burden::default();
        assert_eq!(beat(&mut burden, 100, 20, Traffic::TcpFirst), Wanted::Tcp);
        assert_eq!(beat(&mut burden, 200, 20, Traffic::All), Wanted::All);
        assert_eq!(beat(&mut burden, 300, 0, Traffic::TcpFirst), Wanted::All);
    }
}
