//! BBR on a path made of two numbers: what is in flight beyond the path's volume waits.

use super::*;
use crate::congestion::test_path::{BDP, Path, RATE, RTT_US};

fn path() -> Path<Bbr> {
    Path::new(Bbr::default())
}

/// Bandwidth as estimated, segments a second.
fn bandwidth(path: &Path<Bbr>) -> u64 {
    (path.controller.max_bw() * 1_000_000) >> BW_SCALE
}

#[test]
fn start_up_finds_the_bandwidth_and_drains_what_it_queued() {
    let mut path = path();
    path.run(3000);
    assert_eq!((path.controller.mode, path.controller.full_bw_reached), (Mode::ProbeBw, true));
    assert!((RATE - 20..=RATE + 20).contains(&bandwidth(&path)), "{}", bandwidth(&path));
    assert_eq!(u64::from(path.controller.min_rtt_us), RTT_US);
    assert!(path.sk.packets_out <= BDP * 3 / 2, "{} in flight", path.sk.packets_out);
}

#[test]
fn in_the_steady_state_the_window_is_twice_the_volume_and_a_burst() {
    let mut path = path();
    path.run(6000);
    let allowance = 3 * Bbr::tso_segs_goal(&path.sk) + 3;
    let most = 2 * BDP + allowance + path.controller.aggregation.most();
    assert!((2 * BDP - 4..=most).contains(&path.sk.snd_cwnd), "{} {most}", path.sk.snd_cwnd);
    let rate = path.sk.sk_pacing_rate / 1000;
    assert!((RATE * 7 / 10..=RATE * 13 / 10).contains(&rate), "{rate}");
}

#[test]
fn every_ten_seconds_the_window_is_small_for_a_fifth_of_a_second() {
    let mut path = path();
    path.run(9000);
    let mut small = 0;
    for _ in 0..4000 {
        path.step(0);
        small += u32::from(path.controller.mode == Mode::ProbeRtt && path.sk.snd_cwnd <= CWND_MIN_TARGET);
    }
    assert!((200..600).contains(&small), "{small} ms");
    assert!(path.sk.snd_cwnd > BDP, "and comes back");
}

#[test]
fn loss_alone_changes_nothing() {
    let mut path = path();
    path.run(6000);
    let before = bandwidth(&path);
    path.controller.ssthresh(&mut path.sk);
    for n in 0..3000 {
        path.step(u32::from(n % 20 == 0));
    }
    assert!(bandwidth(&path) * 100 >= before * 97 && path.sk.snd_cwnd > BDP);
    assert_eq!(path.controller.long_term.bw_in_use(), None, "5 % is no policer");
}

#[test]
fn a_policer_is_found_and_probed_again() {
    let mut path = path();
    path.run(3000);
    // A third is lost, in rounds of equal throughput.
    let mut policed = None;
    for n in 0..3000 {
        path.step(u32::from(n % 3 == 0));
        policed = policed.or(path.controller.long_term.bw_in_use());
    }
    let policed = policed.expect("a policer");
    assert!((RATE - 50..=RATE + 50).contains(&((policed * 1_000_000) >> BW_SCALE)));
    path.run(48 * 110);
    assert_eq!(path.controller.long_term.bw_in_use(), None);
}

#[test]
fn in_the_first_round_of_recovery_one_segment_leaves_for_each_delivered_then_the_window_returns() {
    let mut path = path();
    path.run(6000);
    let before = path.sk.snd_cwnd;
    path.controller.ssthresh(&mut path.sk);
    path.sk.icsk_ca_state = CaState::Recovery;
    path.step(1);
    assert!(path.sk.snd_cwnd <= path.sk.packets_out + 1, "{} {}", path.sk.snd_cwnd, path.sk.packets_out);
    path.sk.icsk_ca_state = CaState::Open;
    path.run(200);
    assert!(path.sk.snd_cwnd + 8 >= before, "{} of {before}", path.sk.snd_cwnd);
}

#[test]
fn idle_time_is_not_taken_for_bandwidth() {
    let mut path = path();
    path.run(3000);
    path.sk.app_limited = 1;
    path.controller.cwnd_event(&mut path.sk, CaEvent::TxStart);
    assert!(path.controller.idle_restart);
    let cruising = pacing_rate(&path.sk, path.controller.bbr_bw(), BBR_UNIT);
    assert_eq!(path.sk.sk_pacing_rate, cruising);
}
