//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! The estimator is Linux's integer one: deviation falls slowly and the variance term only decays
//! once per round trip, which is what keeps Linux's RTO calm. [`RtoRule::Rfc6298`] applies the
//! plain formula to the same estimates.

use crate::config::{Config, RtoRule};
use crate::congestion::TcpSock;
use airtcp_core::{Duration, Instant};

/// How long a lowest round-trip time is believed (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Estimates of one connection. SRTT, deviation and the lowest RTT live in [`TcpSock`].
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RttEstimator {
    /// What follows from what is below, asked for several times a segment.
    rto: Duration,
    base_rto: Duration,
    rtt_seq: u64,
    min_rtt_at: Instant,
    mdev_max_us: u32,
    rttvar_us: u32,
    min_rto_us: u32,
    /// Timeouts since the last sample: each doubles the RTO.
    backoff: u32,
    max_rto: Duration,
    rule: RtoRule,
    backs_off: bool,
    /// The RTO is rounded up to whole ticks, so many at least.
    tick: Option<(Duration, u64)>,
}

impl RttEstimator {
    /// Before any sample.
    pub fn new(config: &Config) -> Self {
        let mut estimator = RttEstimator {
            rule: config.rto_rule,
            min_rto_us: config.min_rto.as_micros().min(u64::from(u32::MAX / 2)) as u32,
            max_rto: config.max_rto,
            tick: tick_of(config),
            backs_off: config.rto_backoff,
            base_rto: config.initial_rto,
            backoff: 0,
            rto: Duration::ZERO,
            mdev_max_us: 0,
            rttvar_us: 0,
            rtt_seq: 0,
            min_rtt_at: Instant::ZERO,
        };
        estimator.set_backoff(0);
        estimator
    }

    /// Takes a sample, `rtt` from the oldest and `shortest` from the newest segment acknowledged;
    /// `una` and `nxt` are offsets and tell rounds apart.
    pub fn on_sample(&mut self, sk: &mut TcpSock, rtt: Duration, shortest: Duration, una: u64, nxt: u64) {
        let rtt_us = rtt.as_micros().clamp(1, 1 << 28) as u32;
        let shortest_us = shortest.as_micros().clamp(1, 1 << 28) as u32;
        if shortest_us <= sk.rtt_min_us || sk.tcp_mstamp.saturating_since(self.min_rtt_at) > MIN_RTT_WINDOW {
            sk.rtt_min_us = shortest_us;
            self.min_rtt_at = sk.tcp_mstamp;
        }
        if sk.srtt_us == 0 {
            sk.srtt_us = rtt_us << 3;
            sk.mdev_us = rtt_us << 1;
            self.rttvar_us = sk.mdev_us.max(self.min_rto_us);
            self.mdev_max_us = self.rttvar_us;
            self.rtt_seq = nxt;
        } else {
            self.smooth(sk, rtt_us);
            if una > self.rtt_seq {
                if self.mdev_max_us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
                }
                self.rtt_seq = nxt;
                self.mdev_max_us = self.min_rto_us;
            }
        }
        let rto_us = match self.rule {
            RtoRule::Linux => (sk.srtt_us >> 3) + self.rttvar_us,
            RtoRule::Rfc6298 => ((sk.srtt_us >> 3) + sk.mdev_us).max(self.min_rto_us),
            RtoRule::Constant => self.min_rto_us,
        };
        self.base_rto = Duration::from_micros(u64::from(rto_us));
        self.backoff = 0;
        self.rto = self.in_ticks(self.base_rto).min(self.max_rto);
    }

    fn smooth(&mut self, sk: &mut TcpSock, rtt_us: u32) {
        let mut error = i64::from(rtt_us) - i64::from(sk.srtt_us >> 3);
        sk.srtt_us = (i64::from(sk.srtt_us) + error).max(1) as u32;
        if error < 0 {
            error = -error - i64::from(sk.mdev_us >> 2);
            // A falling round-trip time must not raise the deviation as fast as a rising one.
            if error > 0 {
                error >>= 3;
            }
        } else {
            error -= i64::from(sk.mdev_us >> 2);
        }
        sk.mdev_us = (i64::from(sk.mdev_us) + error).max(0) as u32;
        self.mdev_max_us = self.mdev_max_us.max(sk.mdev_us);
        self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
    }

    /// The retransmission timeout, backed off.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// One timeout more since the last sample.
    pub fn back_off(&mut self) {
        self.set_backoff(self.backoff.saturating_add(1));
    }

    /// There were no timeouts that count.
    pub fn forget_timeouts(&mut self) {
        self.set_backoff(0);
    }

    fn set_backoff(&mut self, backoff: u32) {
        self.backoff = backoff;
        self.rto = self.backed_off(backoff);
    }

    /// The timeout after `backoff` doublings.
    pub fn backed_off(&self, backoff: u32) -> Duration {
        let doublings = if self.backs_off { backoff.min(40) } else { 0 };
        self.in_ticks(self.base_rto).saturating_mul(1 << doublings).min(self.max_rto)
    }

    /// Rounded up to whole ticks.
    fn in_ticks(&self, rto: Duration) -> Duration {
        let Some((tick, least)) = self.tick else { return rto };
        tick.saturating_mul(rto.as_nanos().div_ceil(tick.as_nanos()).max(least))
    }

    /// The longest timeout.
    pub fn longest(&self) -> Duration {
        self.max_rto
    }

    /// Whether timeouts double the wait for the next.
    pub fn backs_off(&self) -> bool {
        self.backs_off
    }

    /// How long `timeouts` in a row take from `least` on (Linux `tcp_model_timeout()`).
    pub fn time_of(&self, timeouts: u32, least: Duration) -> Duration {
        let longest = self.max_rto.max(least);
        let mut wait = least;
        let mut total = Duration::ZERO;
        for past in 0..=timeouts {
            if wait == longest || wait.is_zero() {
                return total.saturating_add(wait.saturating_mul(u64::from(timeouts - past) + 1));
            }
            total = total.saturating_add(wait);
            wait = wait.saturating_mul(2).min(longest);
        }
        total
    }

    /// Sets the timeout used until the next sample.
    pub fn set_base(&mut self, rto: Duration) {
        self.base_rto = rto;
        self.set_backoff(self.backoff);
    }
}

/// A BSD's coarse timer has two ticks at least.
fn tick_of(config: &Config) -> Option<(Duration, u64)> {
    let coarse = config.rto_tick.filter(|tick| !tick.is_zero()).map(|tick| (tick, 2));
    coarse.or(config.clock_tick().map(|tick| (tick, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    fn after(rule: RtoRule, samples_ms: &[u64]) -> (RttEstimator, TcpSock) {
        let config = Config { rto_rule: rule, ..Config::default() };
        let (mut rtt, mut sk) = (RttEstimator::new(&config), TcpSock::new(Rng::derive(1, "rtt")));
        for (round, ms) in samples_ms.iter().enumerate() {
            let round = round as u64 * 1000;
            let sample = Duration::from_millis(*ms);
            rtt.on_sample(&mut sk, sample, sample, round + 500, round + 900);
        }
        (rtt, sk)
    }

    #[test]
    fn the_first_sample_sets_three_times_itself() {
        let (rtt, sk) = after(RtoRule::Rfc6298, &[100]);
        assert_eq!((sk.srtt_us >> 3, rtt.rto()), (100_000, Duration::from_millis(300)));
    }

    #[test]
    fn a_steady_path_ends_at_the_floor_of_its_rule() {
        let steady = [50; 200];
        assert_eq!(after(RtoRule::Rfc6298, &steady).0.rto(), Duration::from_millis(200));
        let linux = after(RtoRule::Linux, &steady).0.rto().as_millis();
        assert!((250..=252).contains(&linux), "{linux}");
    }

    #[test]
    fn each_timeout_doubles_up_to_the_ceiling() {
        let (mut rtt, _) = after(RtoRule::Rfc6298, &[100]);
        rtt.set_backoff(1);
        assert_eq!(rtt.rto(), Duration::from_millis(600));
        rtt.set_backoff(60);
        assert_eq!(rtt.rto(), Duration::from_secs(120));
    }

    #[test]
    fn a_coarse_timer_has_two_ticks_at_least_and_backs_off_only_if_told() {
        let half = Duration::from_millis(500);
        let config = Config { rto_tick: Some(half), rto_rule: RtoRule::Rfc6298, ..Config::default() };
        let at = |config: &Config, ms: u64, backoff: u32| {
            let (mut rtt, mut sk) = (RttEstimator::new(config), TcpSock::new(Rng::derive(1, "rtt")));
            rtt.on_sample(&mut sk, Duration::from_millis(ms), Duration::from_millis(ms), 1, 1);
            rtt.set_backoff(backoff);
            rtt.rto().as_millis()
        };
        assert_eq!((at(&config, 100, 0), at(&config, 400, 0), at(&config, 100, 2)), (1000, 1500, 4000));
        let constant = Config { rto_backoff: false, ..config };
        assert_eq!(at(&constant, 100, 5), 1000);
    }

    #[test]
    fn a_host_whose_clock_ticks_counts_its_rto_in_whole_ticks() {
        let config = Config { jiffy: Some(Duration::from_millis(4)), ..Config::default() };
        let (mut rtt, mut sk) = (RttEstimator::new(&config), TcpSock::new(Rng::derive(1, "rtt")));
        rtt.on_sample(&mut sk, Duration::from_millis(101), Duration::from_millis(101), 1, 1);
        assert_eq!(rtt.rto(), Duration::from_millis(304));
        assert_eq!(rtt.backed_off(1), Duration::from_millis(608));
    }

    #[test]
    fn a_constant_timeout_asks_no_round_trip() {
        assert_eq!(after(RtoRule::Constant, &[1000, 3000]).0.rto(), Duration::from_millis(200));
    }

    #[test]
    fn fifteen_timeouts_from_200_ms_are_fifteen_minutes() {
        let rtt = RttEstimator::new(&Config::default());
        // Linux's tcp_retries2: 924.6 s.
        assert_eq!(rtt.time_of(15, Duration::from_millis(200)).as_millis(), 924_600);
        // Ten of 200 ms to 102.4 s, the others of 120 s.
        assert_eq!(rtt.time_of(1000, Duration::from_millis(200)).as_millis(), 204_600 + 991 * 120_000);
        assert_eq!(rtt.time_of(u32::MAX, Duration::from_millis(200)), Duration::MAX, "longer than can be told");
        assert_eq!(rtt.time_of(u32::MAX, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn before_any_sample_the_timeout_is_the_initial_one() {
        assert_eq!(RttEstimator::new(&Config::default()).rto(), Duration::from_secs(1));
    }
}
