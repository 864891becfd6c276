//! Policers: a path that drops a fifth of the packets over two intervals of equal throughput is
//! taken to have a token bucket, and BBR sends at that throughput for 48 round trips.

use super::{BBR_SCALE, BBR_UNIT, BW_UNIT, Bbr, Mode, rate_bytes_per_sec};
use crate::congestion::{RateSample, TcpSock};

/// Least length of an interval, round trips; four times this at most.
const INTVL_MIN_RTTS: u32 = 4;
/// Share of packets lost, in 256ths.
const LOSS_THRESH: u64 = 50;
/// Two intervals are equal within an eighth,
const BW_RATIO: u64 = BBR_UNIT as u64 / 8;
/// or 4 kbit/s, in bytes per second.
const BW_DIFF: u64 = 4000 / 8;
/// Round trips after which the path is probed again.
const BW_MAX_RTTS: u32 = 48;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    is_sampling: bool,
    rtt_cnt: u32,
    use_bw: bool,
    bw: u64,
    last_delivered: u32,
    /// Milliseconds.
    last_stamp: u32,
    last_lost: u32,
}

impl LongTerm {
    /// The policer's bandwidth.
    pub fn bw_in_use(&self) -> Option<u64> {
        self.use_bw.then_some(self.bw)
    }

    fn reset_interval(&mut self, sk: &TcpSock) {
        self.last_stamp = delivered_ms(sk);
        self.last_delivered = sk.delivered;
        self.last_lost = sk.lost;
        self.rtt_cnt = 0;
    }

    pub fn reset(&mut self, sk: &TcpSock) {
        (self.bw, self.use_bw, self.is_sampling) = (0, false, false);
        self.reset_interval(sk);
    }
}

fn delivered_ms(sk: &TcpSock) -> u32 {
    (sk.delivered_mstamp.as_nanos() / 1_000_000) as u32
}

impl Bbr {
    /// Linux `bbr_lt_bw_sampling()`.
    pub(super) fn sample_long_term(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        let lt = &mut self.long_term;
        if lt.use_bw {
            if self.mode == Mode::ProbeBw && self.rounds.is_start {
                lt.rtt_cnt += 1;
                if lt.rtt_cnt >= BW_MAX_RTTS {
                    lt.reset(sk);
                    self.reset_probe_bw_mode(sk);
                }
            }
            return;
        }
        // An interval begins with a loss, when the bucket is empty,
        if !lt.is_sampling {
            if rs.losses == 0 {
                return;
            }
            lt.reset_interval(sk);
            lt.is_sampling = true;
        }
        if rs.is_app_limited {
            return lt.reset(sk);
        }
        lt.rtt_cnt += u32::from(self.rounds.is_start);
        if lt.rtt_cnt < INTVL_MIN_RTTS {
            return;
        }
        if lt.rtt_cnt > 4 * INTVL_MIN_RTTS {
            return lt.reset(sk);
        }
        // and ends with one.
        if rs.losses == 0 {
            return;
        }
        let lost = u64::from(sk.lost.wrapping_sub(lt.last_lost));
        let delivered = u64::from(sk.delivered.wrapping_sub(lt.last_delivered));
        if delivered == 0 || lost << BBR_SCALE < LOSS_THRESH * delivered {
            return;
        }
        let elapsed_ms = delivered_ms(sk).wrapping_sub(lt.last_stamp);
        if elapsed_ms as i32 >= 1 {
            let bw = delivered * BW_UNIT / (u64::from(elapsed_ms) * 1000);
            self.end_interval(sk, bw);
        }
    }

    fn end_interval(&mut self, sk: &TcpSock, bw: u64) {
        let lt = &mut self.long_term;
        if lt.bw > 0 {
            let difference = bw.abs_diff(lt.bw);
            if difference * u64::from(BBR_UNIT) <= BW_RATIO * lt.bw
                || rate_bytes_per_sec(sk, difference, BBR_UNIT) <= BW_DIFF
            {
                lt.bw = (bw + lt.bw) >> 1;
                lt.use_bw = true;
                lt.rtt_cnt = 0;
                self.pacing_gain = BBR_UNIT;
                return;
            }
        }
        lt.bw = bw;
        lt.reset_interval(sk);
    }
}
