//! Segments acknowledged in a lump beyond what the bandwidth explains.

use super::{BW_UNIT, Rounds};
use crate::congestion::{RateSample, TcpSock};
use airtcp_core::Instant;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    epoch_mstamp: Instant,
    epoch_acked: u32,
    /// The most in this window of round trips and in the one before.
    extra_acked: [u32; 2],
    win_rtts: u32,
    win_idx: usize,
}

/// An epoch ends before its counter overflows.
const EPOCH_ACKED_RESET_THRESH: u32 = 1 << 20;

impl Aggregation {
    /// What is acknowledged from now on is a lump of its own.
    pub fn restart_epoch(&mut self, now: Instant) {
        (self.epoch_mstamp, self.epoch_acked) = (now, 0);
    }

    /// The most in the last one or two windows.
    pub fn most(&self) -> u32 {
        self.extra_acked[0].max(self.extra_acked[1])
    }

    /// Takes an acknowledgment; a window is `win_rtts` round trips.
    pub fn update(&mut self, sk: &TcpSock, rs: &RateSample, bw: u64, rounds: &Rounds, win_rtts: u32) {
        if rs.acked_sacked == 0 || rs.delivered < 0 || rs.interval_us <= 0 {
            return;
        }
        if rounds.is_start {
            self.win_rtts += 1;
            if self.win_rtts >= win_rtts {
                self.win_rtts = 0;
                self.win_idx = 1 - self.win_idx;
                self.extra_acked[self.win_idx] = 0;
            }
        }
        let elapsed_us = sk.delivered_mstamp.saturating_since(self.epoch_mstamp).as_micros();
        let mut expected = u32::try_from(bw.saturating_mul(elapsed_us) / BW_UNIT).unwrap_or(u32::MAX);
        // A new epoch once acknowledgments are no faster than the bandwidth.
        if self.epoch_acked <= expected || self.epoch_acked + rs.acked_sacked >= EPOCH_ACKED_RESET_THRESH {
            self.restart_epoch(sk.delivered_mstamp);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + rs.acked_sacked).min(0xF_FFFF);
        let extra = self.epoch_acked.saturating_sub(expected).min(sk.snd_cwnd);
        self.extra_acked[self.win_idx] = self.extra_acked[self.win_idx].max(extra);
    }
}
