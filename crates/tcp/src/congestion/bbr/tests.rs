//! BBR on a path made of two numbers: what is in flight beyond the path's volume waits.

use super::*;
use airtcp_core::{Duration, Rng};

const RTT_US: u64 = 50_000;
/// Segments a second.
const RATE: u64 = 1000;
/// Segments that the path holds: 1000/s x 50 ms.
const BDP: u32 = 50;

/// A path that delivers a segment every millisecond, and a sender that always has data.
struct Path {
    sk: TcpSock,
    bbr: Bbr,
    /// Delivered when this one was sent, and when that was.
    flying: std::collections::VecDeque<(u32, Instant, Instant)>,
    now: Instant,
}

impl Path {
    fn new() -> Path {
        let mut sk = TcpSock::new(Rng::derive(1, "bbr"));
        sk.mss_cache = 1000;
        let now = Instant::ZERO + Duration::from_secs(1);
        (sk.tcp_mstamp, sk.delivered_mstamp, sk.tcp_wstamp) = (now, now, now);
        let mut bbr = Bbr::default();
        bbr.init(&mut sk);
        Path { sk, bbr, flying: std::collections::VecDeque::new(), now }
    }

    /// Sends what pacing and window allow by now.
    fn send(&mut self) {
        while self.sk.packets_out < self.sk.snd_cwnd && self.sk.tcp_wstamp <= self.now {
            self.flying.push_back((self.sk.delivered, self.sk.delivered_mstamp, self.now));
            self.sk.packets_out += 1;
            let gap = 1_000_000_000 * u64::from(self.sk.mss_cache) / self.sk.sk_pacing_rate.max(1);
            self.sk.tcp_wstamp =
                self.sk.tcp_wstamp.max(self.now - Duration::from_millis(1)) + Duration::from_nanos(gap);
        }
    }

    /// A millisecond: at most one segment is delivered, none before its round trip.
    fn step(&mut self, losses: u32) {
        self.now += Duration::from_millis(1);
        self.sk.tcp_mstamp = self.now;
        self.send();
        let Some(&(delivered, delivered_at, sent)) = self.flying.front() else { return };
        if self.now.saturating_since(sent).as_micros() < RTT_US {
            return;
        }
        self.flying.pop_front();
        let prior_in_flight = self.sk.packets_out;
        self.sk.packets_out -= 1;
        self.sk.delivered += 1;
        self.sk.lost += losses;
        let rtt_us = self.now.saturating_since(sent).as_micros();
        (self.sk.srtt_us, self.sk.rtt_min_us) = ((rtt_us << 3) as u32, RTT_US as u32);
        let interval = self.now.saturating_since(delivered_at).as_micros();
        self.sk.delivered_mstamp = self.now;
        let sample = RateSample {
            prior_mstamp_us: 1,
            prior_delivered: delivered,
            delivered: (self.sk.delivered - delivered) as i32,
            interval_us: interval as i64,
            rtt_us: rtt_us as i64,
            losses,
            acked_sacked: 1,
            prior_in_flight,
            ..RateSample::default()
        };
        self.bbr.cong_control(&mut self.sk, &sample);
    }

    fn run(&mut self, millis: u64) {
        (0..millis).for_each(|_| self.step(0));
    }

    /// Bandwidth as estimated, segments a second.
    fn bandwidth(&self) -> u64 {
        (self.bbr.max_bw() * 1_000_000) >> BW_SCALE
    }
}

#[test]
fn start_up_finds_the_bandwidth_and_drains_what_it_queued() {
    let mut path = Path::new();
    path.run(3000);
    assert_eq!((path.bbr.mode, path.bbr.full_bw_reached), (Mode::ProbeBw, true));
    assert!((RATE - 20..=RATE + 20).contains(&path.bandwidth()), "{}", path.bandwidth());
    assert_eq!(u64::from(path.bbr.min_rtt_us), RTT_US);
    assert!(path.sk.packets_out <= BDP * 3 / 2, "{} in flight", path.sk.packets_out);
}

#[test]
fn in_the_steady_state_the_window_is_twice_the_volume_and_a_burst() {
    let mut path = Path::new();
    path.run(6000);
    let allowance = 3 * Bbr::tso_segs_goal(&path.sk) + 3;
    let most = 2 * BDP + allowance + path.bbr.aggregation.most();
    assert!((2 * BDP - 4..=most).contains(&path.sk.snd_cwnd), "{} {most}", path.sk.snd_cwnd);
    let rate = path.sk.sk_pacing_rate / 1000;
    assert!((RATE * 7 / 10..=RATE * 13 / 10).contains(&rate), "{rate}");
}

#[test]
fn every_ten_seconds_the_window_is_small_for_a_fifth_of_a_second() {
    let mut path = Path::new();
    path.run(9000);
    let mut small = 0;
    for _ in 0..4000 {
        path.step(0);
        small += u32::from(path.bbr.mode == Mode::ProbeRtt && path.sk.snd_cwnd <= CWND_MIN_TARGET);
    }
    assert!((200..600).contains(&small), "{small} ms");
    assert!(path.sk.snd_cwnd > BDP, "and comes back");
}

#[test]
fn loss_alone_changes_nothing() {
    let mut path = Path::new();
    path.run(6000);
    let before = path.bandwidth();
    path.bbr.ssthresh(&mut path.sk);
    for n in 0..3000 {
        path.step(u32::from(n % 20 == 0));
    }
    assert!(path.bandwidth() * 100 >= before * 97 && path.sk.snd_cwnd > BDP);
    assert_eq!(path.bbr.long_term.bw_in_use(), None, "5 % is no policer");
}

#[test]
fn a_policer_is_found_and_probed_again() {
    let mut path = Path::new();
    path.run(3000);
    // A third is lost, in rounds of equal throughput.
    let mut policed = None;
    for n in 0..3000 {
        path.step(u32::from(n % 3 == 0));
        policed = policed.or(path.bbr.long_term.bw_in_use());
    }
    let policed = policed.expect("a policer");
    assert!((RATE - 50..=RATE + 50).contains(&((policed * 1_000_000) >> BW_SCALE)));
    path.run(48 * 110);
    assert_eq!(path.bbr.long_term.bw_in_use(), None);
}

#[test]
fn in_the_first_round_of_recovery_one_segment_leaves_for_each_delivered_then_the_window_returns() {
    let mut path = Path::new();
    path.run(6000);
    let before = path.sk.snd_cwnd;
    path.bbr.ssthresh(&mut path.sk);
    path.sk.icsk_ca_state = CaState::Recovery;
    path.step(1);
    assert!(path.sk.snd_cwnd <= path.sk.packets_out + 1, "{} {}", path.sk.snd_cwnd, path.sk.packets_out);
    path.sk.icsk_ca_state = CaState::Open;
    path.run(200);
    assert!(path.sk.snd_cwnd + 8 >= before, "{} of {before}", path.sk.snd_cwnd);
}

#[test]
fn idle_time_is_not_taken_for_bandwidth() {
    let mut path = Path::new();
    path.run(3000);
    path.sk.app_limited = 1;
    path.bbr.cwnd_event(&mut path.sk, CaEvent::TxStart);
    assert!(path.bbr.idle_restart);
    let cruising = pacing_rate(&path.sk, path.bbr.bbr_bw(), BBR_UNIT);
    assert_eq!(path.sk.sk_pacing_rate, cruising);
}
