//! Gentle: Reno (RFC 5681) that keeps four fifths of its window on loss instead of half.
//!
//! Linux's hook names and Linux's integer arithmetic: windows count segments.

use airtcp_tcp::congestion::{Controller, ControllerEntry, TcpSock, plain};

/// Its line in the table of controllers.
pub const ENTRY: ControllerEntry = ControllerEntry {
    slug: "gentle",
    about: "Reno that keeps four fifths of its window on loss",
    source: "docs/add-a-scheme.md",
    in_kernel: false,
    settings: &plain::<Gentle>,
};

/// See the module.
#[derive(Debug, Default)]
pub struct Gentle;

impl Controller for Gentle {
    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        (sk.snd_cwnd.saturating_mul(4) / 5).max(2)
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        sk.tcp_reno_cong_avoid(acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    #[test]
    fn loss_leaves_four_fifths_but_never_less_than_two_segments() {
        let mut sk = TcpSock::new(Rng::derive(1, "gentle"));
        for (cwnd, expected) in [(100, 80), (9, 7), (2, 2), (1, 2), (u32::MAX, u32::MAX / 5)] {
            sk.snd_cwnd = cwnd;
            assert_eq!(Gentle.ssthresh(&mut sk), expected);
        }
    }
}
