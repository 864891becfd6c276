//! Reno that keeps four fifths of its window after a loss without looking at anything, the control of TCP NewZag.
//!
//! A rule that calls a random share of all losses random gains as much as a rule that can distinguish them, as long as
//! all losses are random (SPEC NZG-X7, NZG-N4). Compare a rule with this one to see what it is worth.

use super::{Controller, TcpSock};
use airtcp_core::{Probability, parameters};

parameters! {
    /// Parameters of the blind decrease.
    pub struct Settings {
        /// Share of the losses, drawn at random, after which four fifths of the window are kept; after the others half is kept.
        pub share: Probability = Probability::ALWAYS, "NZG-N4, NZG-X7";
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Blind45 {
    settings: Settings,
    decisions: u64,
    random: u64,
}

impl Blind45 {
    /// One with `settings`.
    pub fn new(settings: Settings) -> Self {
        Blind45 { settings, ..Blind45::default() }
    }
}

impl Controller for Blind45 {
    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        self.decisions += 1;
        if !sk.rng.chance(self.settings.share) {
            return (sk.snd_cwnd >> 1).max(2);
        }
        self.random += 1;
        ((u64::from(sk.snd_cwnd) * 4 / 5) as u32).max(2)
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        sk.tcp_reno_cong_avoid(acked);
    }

    fn get_info(&self, see: &mut dyn FnMut(&'static str, u64)) {
        see("decisions", self.decisions);
        see("random", self.random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    #[test]
    fn a_share_of_the_losses_keeps_four_fifths() {
        for (percent, least, most) in [(0, 0, 0), (40, 380, 420), (100, 1000, 1000)] {
            let share = alloc::format!("{percent}%").parse().unwrap();
            let (mut blind, mut sk) = (Blind45::new(Settings { share }), TcpSock::new(Rng::derive(1, "blind45")));
            sk.snd_cwnd = 50;
            let kept = (0..1000).filter(|_| blind.ssthresh(&mut sk) == 40).count();
            assert!((least..=most).contains(&kept), "{percent}%: {kept}");
        }
    }
}
