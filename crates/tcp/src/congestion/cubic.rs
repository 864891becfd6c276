//! CUBIC (RFC 9438) in the integer arithmetic of Linux's `tcp_cubic`.
//!
//! The window follows W(t) = C (t - K)^3 + W_max with C = 0.4 and time in units of 2^-10 s, never
//! below what Reno would have reached; a loss leaves 717/1024 of it. Slow start ends by
//! [`super::hystart`]. Time passes in jiffies, as in Linux.

use super::hystart::HyStart;
use super::{AckSample, CaEvent, CaState, Controller, TcpSock};
use airtcp_core::Duration;

const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// log2 of the time unit: 2^-10 s.
const BICTCP_HZ: u32 = 10;
/// C = 0.4 scaled: 410 / 1024.
const CUBE_RTT_SCALE: u64 = 410;
/// Turns a window difference into the cube of a time.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * BICTCP_HZ)) / CUBE_RTT_SCALE;
/// Reno-friendly growth: 8 (1 + beta) / (3 (1 - beta)), an eighth of segments.
const FRIENDLY_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

airtcp_core::parameters! {
    /// Parameters of CUBIC.
    pub struct Settings {
        /// Leave slow start when delays or a train of acknowledgments show that the path is full, before it overflows.
        pub hystart: bool = true, "Ha & Rhee 2011; Linux hystart";
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    settings: Settings,
    /// Acknowledged segments per segment of growth.
    cnt: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u32,
    bic_origin_point: u32,
    bic_k: u32,
    delay_min_us: u32,
    epoch_start: u32,
    ack_cnt: u32,
    tcp_cwnd: u32,
    hystart: HyStart,
}

impl Cubic {
    /// One with `settings`.
    pub fn new(settings: Settings) -> Self {
        Cubic { settings, ..Cubic::default() }
    }

    fn bictcp_reset(&mut self) {
        *self = Cubic { settings: self.settings.clone(), hystart: self.hystart, ..Cubic::default() };
        self.hystart.forget();
    }

    /// Sets `cnt` for a window of `cwnd`.
    fn bictcp_update(&mut self, sk: &TcpSock, cwnd: u32, acked: u32) {
        let now = sk.tcp_jiffies32();
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        if self.last_cwnd == cwnd && (now.wrapping_sub(self.last_time) as i32) <= (sk.hz() / 32) as i32 {
            return;
        }
        // The cubic function is evaluated at most once per jiffy.
        if self.epoch_start == 0 || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.follow_cubic_curve(sk, cwnd, acked);
        }
        self.stay_reno_friendly(cwnd);
        self.cnt = self.cnt.max(2);
    }

    fn follow_cubic_curve(&mut self, sk: &TcpSock, cwnd: u32, acked: u32) {
        let now = sk.tcp_jiffies32();
        if self.epoch_start == 0 {
            // Zero means "no epoch", so an epoch that begins there begins a jiffy later.
            self.epoch_start = now.max(1);
            self.ack_cnt = acked;
            self.tcp_cwnd = cwnd;
            if self.last_max_cwnd <= cwnd {
                self.bic_k = 0;
                self.bic_origin_point = cwnd;
            } else {
                self.bic_k = cubic_root(CUBE_FACTOR * u64::from(self.last_max_cwnd - cwnd));
                self.bic_origin_point = self.last_max_cwnd;
            }
        }
        let elapsed = (now.wrapping_sub(self.epoch_start) as i32).max(0) as u64;
        let delay_min = sk.jiffies_in(Duration::from_micros(u64::from(self.delay_min_us)));
        let t = ((elapsed + u64::from(delay_min)) << BICTCP_HZ) / u64::from(sk.hz());
        let k = u64::from(self.bic_k);
        // The cube of a day in these units still fits; an epoch of years stops growing.
        let offs = t.abs_diff(k).min(1 << 18);
        let delta = u32::try_from((CUBE_RTT_SCALE * offs * offs * offs) >> (10 + 3 * BICTCP_HZ)).unwrap_or(u32::MAX);
        let target = if t < k {
            self.bic_origin_point.saturating_sub(delta)
        } else {
            self.bic_origin_point.saturating_add(delta)
        };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        // Before the first loss there is no maximum to return to: probe at 5 % per round trip or more.
        if self.last_max_cwnd == 0 && self.cnt > 20 {
            self.cnt = 20;
        }
    }

    /// RFC 9438 section 4.3: never slower than Reno with the same decrease.
    fn stay_reno_friendly(&mut self, cwnd: u32) {
        let delta = (cwnd.saturating_mul(FRIENDLY_SCALE) >> 3).max(1);
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd = self.tcp_cwnd.saturating_add(1);
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

impl Controller for Cubic {
    fn init(&mut self, sk: &mut TcpSock) {
        self.bictcp_reset();
        self.hystart.reset(sk);
    }

    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        if event != CaEvent::TxStart {
            return;
        }
        // The curve stands still while the application sends nothing.
        let now = sk.tcp_jiffies32();
        let idle = now.wrapping_sub(sk.jiffies_at(sk.lsndtime)) as i32;
        if self.epoch_start != 0 && idle > 0 {
            self.epoch_start = self.epoch_start.wrapping_add(idle as u32);
            if self.epoch_start.wrapping_sub(now) as i32 > 0 {
                self.epoch_start = now;
            }
        }
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, mut acked: u32) {
        if !sk.tcp_is_cwnd_limited() {
            return;
        }
        if sk.tcp_in_slow_start() {
            acked = sk.tcp_slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.bictcp_update(sk, sk.snd_cwnd, acked);
        sk.tcp_cong_avoid_ai(self.cnt, acked);
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        self.epoch_start = 0;
        let cwnd = u64::from(sk.snd_cwnd);
        // Fast convergence: a window that did not reach the last maximum gives room to others.
        self.last_max_cwnd = if sk.snd_cwnd < self.last_max_cwnd {
            (cwnd * u64::from(BETA_SCALE + BETA) / u64::from(2 * BETA_SCALE)) as u32
        } else {
            sk.snd_cwnd
        };
        ((cwnd * u64::from(BETA) / u64::from(BETA_SCALE)) as u32).max(2)
    }

    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        if new == CaState::Loss {
            self.bictcp_reset();
            self.hystart.reset(sk);
        }
    }

    fn pkts_acked(&mut self, sk: &mut TcpSock, sample: &AckSample) {
        if sample.rtt_us < 0 {
            return;
        }
        // Samples right after fast recovery say little about the path.
        let since_epoch = sk.tcp_jiffies32().wrapping_sub(self.epoch_start) as i32;
        if self.epoch_start != 0 && since_epoch < sk.hz() as i32 {
            return;
        }
        let delay_us = u32::try_from(sample.rtt_us).unwrap_or(u32::MAX).max(1);
        if self.delay_min_us == 0 || self.delay_min_us > delay_us {
            self.delay_min_us = delay_us;
        }
        if self.settings.hystart {
            self.hystart.on_sample(sk, delay_us, self.delay_min_us);
        }
    }
}

/// 64 times the cube root of the index, rounded so that one Newton step suffices.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179,
    181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227,
    229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Cube root by table and one Newton-Raphson step; average error 0.2 %.
fn cubic_root(a: u64) -> u32 {
    let bits = 64 - a.leading_zeros();
    if bits < 7 {
        return (u32::from(ROOTS[a as usize]) + 35) >> 6;
    }
    let b = ((bits * 84) >> 8) - 1;
    let shift = (a >> (b * 3)) as usize;
    let x = ((u64::from(ROOTS[shift.min(63)]) + 10) << b) >> 6;
    let x = 2 * x + a / (x * (x - 1)).max(1);
    ((x * 341) >> 10) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::{Instant, Rng};

    fn sock(cwnd: u32) -> TcpSock {
        let mut sk = TcpSock::new(Rng::derive(1, "cubic"));
        sk.snd_cwnd = cwnd;
        sk.snd_ssthresh = 2;
        sk.is_cwnd_limited = true;
        sk
    }

    #[test]
    fn the_cube_root_is_within_one_percent() {
        for root in [5u64, 10, 100, 1000, 12_345, 1_000_000] {
            let got = u64::from(cubic_root(root * root * root));
            assert!(got.abs_diff(root) * 100 <= root.max(100), "{root}: {got}");
        }
    }

    #[test]
    fn loss_leaves_seven_tenths() {
        assert_eq!(Cubic::default().ssthresh(&mut sock(1000)), 700);
    }

    #[test]
    fn slow_start_ends_by_a_train_of_acknowledgments_unless_hystart_is_off() {
        for hystart in [true, false] {
            let (mut cubic, mut sk) = (Cubic::new(Settings { hystart }), sock(100));
            sk.snd_ssthresh = u32::MAX;
            cubic.init(&mut sk);
            for ack in 1..=60 {
                sk.tcp_mstamp = Instant::from_nanos(ack * 1_000_000);
                cubic.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: 100_000, in_flight: 100 });
            }
            assert_eq!(sk.snd_ssthresh == 100, hystart);
        }
    }

    #[test]
    fn a_window_below_the_last_maximum_converges_faster() {
        let mut cubic = Cubic::default();
        cubic.ssthresh(&mut sock(1000));
        cubic.ssthresh(&mut sock(800));
        assert_eq!(cubic.last_max_cwnd, 800 * 1741 / 2048);
    }

    /// Feeds acknowledgments of a whole window once per round trip and returns the window over time.
    fn grow(cubic: &mut Cubic, sk: &mut TcpSock, rtt_ms: u64, rounds: u64) {
        for _ in 0..rounds {
            let start = sk.tcp_mstamp.as_nanos();
            let acks = sk.snd_cwnd.max(2) / 2;
            for ack in 1..=acks {
                let within = rtt_ms * 1_000_000 * u64::from(ack) / u64::from(acks);
                sk.tcp_mstamp = Instant::from_nanos(start + within);
                cubic.cong_avoid(sk, 2);
            }
        }
    }

    #[test]
    fn the_window_is_back_at_its_maximum_after_k_seconds() {
        // K = cbrt(W_max (1 - 0.7) / 0.4) = cbrt(750) = 9.09 s for 1000 segments.
        let mut cubic = Cubic::default();
        let mut sk = sock(1000);
        sk.tcp_mstamp = Instant::from_nanos(1_000_000_000);
        sk.snd_cwnd = cubic.ssthresh(&mut sk);
        grow(&mut cubic, &mut sk, 100, 91);
        assert!((980..=1010).contains(&sk.snd_cwnd), "{}", sk.snd_cwnd);
        grow(&mut cubic, &mut sk, 100, 50);
        // (14.1 - 9.09)^3 * 0.4 = 50 segments above it.
        assert!((1035..=1070).contains(&sk.snd_cwnd), "{}", sk.snd_cwnd);
    }

    #[test]
    fn a_short_path_grows_as_reno_would() {
        let mut cubic = Cubic::default();
        let mut sk = sock(100);
        sk.tcp_mstamp = Instant::from_nanos(1_000_000_000);
        sk.snd_cwnd = cubic.ssthresh(&mut sk);
        grow(&mut cubic, &mut sk, 1, 50);
        // Reno with a decrease to 0.7 gains 3 (1 - 0.7) / (1 + 0.7) = 0.53 segments a round.
        assert!((90..=100).contains(&sk.snd_cwnd), "{}", sk.snd_cwnd);
    }
}
