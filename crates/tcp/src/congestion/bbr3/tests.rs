//! Against the draft's pseudocode, on a path made of two numbers.

use super::*;
use crate::congestion::bandwidth::BW_SCALE;
use crate::congestion::test_path::{BDP, Path, RATE, RTT_US};
use std::vec::Vec;

fn path() -> Path<Bbr3> {
    Path::new(Bbr3::default())
}

/// One that has just entered `state`.
fn path_in(state: State) -> Path<Bbr3> {
    let mut path = path();
    path.run_until(|bbr| bbr.full_pipe.was_reached);
    path.run_until(|bbr| bbr.state == state);
    path
}

/// Bandwidth as estimated, segments a second.
fn bandwidth(bw: u64) -> u64 {
    (bw * 1_000_000) >> BW_SCALE
}

fn lost(tx_in_flight: u32, lost: u32) -> LostSegment {
    LostSegment {
        start: u64::from(lost) * 2000,
        end: u64::from(lost) * 2000 + 1000,
        tx_in_flight,
        lost,
        is_app_limited: false,
    }
}

#[test]
fn gains_are_those_of_the_drafts_table() {
    let percent = |gain: u32| (gain * 100 + BBR_UNIT / 2) / BBR_UNIT;
    let states = [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up, State::ProbeRtt];
    let gains = states.map(|state| (percent(state.pacing_gain()), percent(state.cwnd_gain())));
    assert_eq!(gains, [(277, 200), (50, 200), (90, 200), (100, 200), (100, 200), (125, 225), (100, 50)]);
}

#[test]
fn start_up_finds_the_bandwidth_within_ten_round_trips_and_drains_what_it_queued() {
    let mut path = path();
    let found = path.run_until(|bbr| bbr.state == State::Drain);
    assert!(found < 700, "after {found} ms");
    let bw = bandwidth(path.controller.max_bw.get());
    assert!((RATE - 20..=RATE + 20).contains(&bw), "{bw}");
    let drained = path.run_until(|bbr| bbr.state.is_probe_bw());
    assert!(drained < 3 * 60, "{drained} ms");
    assert!(path.sk.packets_out <= BDP + 6, "{} in flight", path.sk.packets_out);
    assert_eq!(u64::from(path.controller.min_rtt.us), RTT_US);
}

#[test]
fn in_start_up_the_window_is_at_most_twice_the_volume_and_lumps() {
    let mut path = path();
    let mut most = 0;
    path.run_until(|bbr| {
        let volume = bbr.bdp_multiple(bbr.max_bw.get(), BBR_UNIT);
        most = most.max(volume);
        bbr.state != State::Startup
    });
    let bound = 2 * most + path.controller.aggregation.most() + 2;
    assert!(path.sk.snd_cwnd <= bound, "{} of {bound}", path.sk.snd_cwnd);
}

#[test]
fn a_cycle_is_down_cruise_refill_up_and_probes_are_two_to_three_seconds_apart() {
    let mut path = path_in(State::Up);
    let (mut seen, mut begun) = (Vec::new(), Vec::new());
    let mut state = State::Up;
    for _ in 0..60_000 {
        path.step(0);
        if path.controller.state == state || path.controller.state == State::ProbeRtt {
            continue;
        }
        state = path.controller.state;
        seen.push(state);
        if state == State::Refill {
            begun.push(path.now);
        }
    }
    assert!(seen.len() > 40, "{seen:?}");
    for pair in seen.windows(2) {
        let follows = match pair[0] {
            State::Down => State::Cruise,
            State::Cruise => State::Refill,
            State::Refill => State::Up,
            _ => State::Down,
        };
        // ProbeRTT ends in CRUISE, whatever it interrupted.
        assert!(pair[1] == follows || pair[1] == State::Cruise, "{seen:?}");
    }
    for pair in begun.windows(2) {
        let apart = pair[1].saturating_since(pair[0]).as_nanos() / 1_000_000;
        // 50 round trips are Reno's time over this path, and the clock's is 2 to 3 s; DOWN begins the wait.
        assert!((2000..6000).contains(&apart), "{apart} ms");
    }
}

#[test]
fn a_probe_waits_for_as_many_round_trips_as_the_volume_has_segments_and_63_at_most() {
    let mut path = path_in(State::Cruise);
    path.sk.snd_cwnd = 1000;
    let mut wait = |volume: u64| {
        path.controller.bw = (volume << BW_SCALE) / RTT_US;
        (0..=100).find(|rounds| {
            path.controller.cycle.rounds_since_probe_up = *rounds;
            path.controller.is_time_to_probe_bw(&path.sk)
        })
    };
    assert_eq!([10, 40, 63, 200].map(&mut wait), [Some(10), Some(40), Some(63), Some(63)]);
}

#[test]
fn while_it_cruises_it_sends_what_is_delivered_with_two_volumes_allowed() {
    let mut path = path_in(State::Cruise);
    path.run(100);
    let bbr = &path.controller;
    let rate = path.sk.sk_pacing_rate / 1000;
    assert!((RATE * 97 / 100..=RATE * 102 / 100).contains(&rate), "{rate}");
    let most = 2 * (BDP + 2) + bbr.aggregation.most();
    assert!((2 * BDP - 2..=most).contains(&path.sk.snd_cwnd), "{} {most}", path.sk.snd_cwnd);
    assert!(path.sk.packets_out <= BDP + 4, "{} in flight: next to nothing waits", path.sk.packets_out);
}

#[test]
fn every_five_seconds_half_the_volume_is_in_flight_for_a_fifth_of_a_second() {
    let mut path = path_in(State::Cruise);
    path.run_until(|bbr| bbr.state == State::ProbeRtt);
    let mut least = u32::MAX;
    for _ in 0..150 {
        path.step(0);
        least = least.min(path.sk.packets_out);
    }
    assert!((BDP / 2 - 2..=BDP / 2 + 2).contains(&least), "{least} in flight");
    let rest = path.run_until(|bbr| bbr.state != State::ProbeRtt);
    assert!((50..300).contains(&rest), "{rest} ms");
    assert_eq!(path.controller.state, State::Cruise);
    assert!(path.sk.snd_cwnd > BDP, "and the window returns");
    let until_next = path.run_until(|bbr| bbr.state == State::ProbeRtt);
    assert!((4900..5200).contains(&until_next), "{until_next} ms");
}

#[test]
fn a_probe_that_loses_two_percent_goes_on_and_one_that_loses_more_sets_the_long_term_bound() {
    let mut path = path_in(State::Up);
    path.controller.segment_lost(&mut path.sk, &lost(100, 2));
    assert_eq!((path.controller.state, path.controller.inflight_longterm), (State::Up, NO_VOLUME));
    path.controller.segment_lost(&mut path.sk, &lost(100, 3));
    // 2 % were lost before it, so nothing of it fits.
    assert_eq!((path.controller.state, path.controller.inflight_longterm), (State::Down, 99));
    assert!(path.controller.cycle.prev_probe_too_high);
    // A probe is answered once.
    path.controller.segment_lost(&mut path.sk, &lost(30, 9));
    assert_eq!(path.controller.inflight_longterm, 99);
}

#[test]
fn the_long_term_bound_is_no_less_than_seven_tenths_of_the_volume() {
    let mut path = path_in(State::Up);
    let volume = path.controller.target_inflight(&path.sk);
    path.controller.segment_lost(&mut path.sk, &lost(10, 3));
    assert_eq!(path.controller.inflight_longterm, volume * 7 / 10);
}

#[test]
fn what_an_application_held_back_sets_no_bound() {
    let mut path = path_in(State::Up);
    path.controller.segment_lost(&mut path.sk, &LostSegment { is_app_limited: true, ..lost(100, 9) });
    assert_eq!((path.controller.state, path.controller.inflight_longterm), (State::Down, NO_VOLUME));
}

#[test]
fn while_it_cruises_15_percent_of_the_long_term_bound_are_left_to_others() {
    let mut path = path_in(State::Cruise);
    // Until nothing is acknowledged that start-up sent.
    path.run(200);
    path.controller.inflight_longterm = 60;
    path.run(200);
    assert_eq!((path.controller.state, path.sk.snd_cwnd), (State::Cruise, 51));
    path.run_until(|bbr| bbr.state == State::Refill);
    path.run(60);
    assert!(path.sk.snd_cwnd > 51, "a probe may have all of it");
}

#[test]
fn in_a_probe_the_long_term_bound_grows_by_one_two_four_in_successive_round_trips() {
    let Path { controller: mut bbr, mut sk, .. } = path_in(State::Cruise);
    (bbr.inflight_longterm, sk.snd_cwnd, sk.is_cwnd_limited) = (64, 64, true);
    bbr.start_refill(&sk);
    bbr.start_up(&sk);
    let sample = RateSample { acked_sacked: 1, ..RateSample::default() };
    let grown = [0; 4].map(|_| {
        let before = bbr.inflight_longterm;
        for acked in 1..=64 {
            bbr.rounds.is_start = acked == 64;
            sk.snd_cwnd = bbr.inflight_longterm;
            bbr.probe_inflight_longterm_upward(&sk, &sample);
        }
        bbr.inflight_longterm - before
    });
    assert_eq!(grown, [1, 2, 4, 8]);
    sk.is_cwnd_limited = false;
    bbr.probe_inflight_longterm_upward(&sk, &RateSample { acked_sacked: 1000, ..sample });
    assert_eq!(bbr.inflight_longterm, 64 + 15, "and not while it is not what limits");
}

#[test]
fn after_a_probe_that_lost_too_much_the_next_ends_at_its_bound_and_without_loss_another_follows_at_once() {
    let mut path = path_in(State::Cruise);
    path.run(200);
    path.controller.inflight_longterm = BDP + 2;
    path.controller.cycle.prev_probe_too_high = true;
    path.run_until(|bbr| bbr.state == State::Up);
    let up = path.run_until(|bbr| bbr.state != State::Up);
    assert!(up < 60, "{up} ms");
    assert_eq!(path.controller.state, State::Down);
    let down = path.run_until(|bbr| bbr.state == State::Refill);
    assert!(down < 120, "{down} ms");
}

#[test]
fn a_loss_while_it_cruises_bounds_by_what_is_delivered_and_to_no_less_than_seven_tenths() {
    let mut path = path_in(State::Cruise);
    path.run(100);
    path.step(1);
    path.run(2 * 50);
    // All that was sent is delivered: the bound is what it was.
    assert!(bandwidth(path.controller.bw_shortterm) >= RATE * 95 / 100, "{}", bandwidth(path.controller.bw_shortterm));
    assert!(path.controller.inflight_shortterm < NO_VOLUME);
    path.controller.reset_short_term_model();
    path.controller.latest.reset();
    path.controller.latest.is_round_start = true;
    path.controller.segment_lost(&mut path.sk, &lost(50, 1));
    let (window, max_bw) = (path.sk.snd_cwnd, path.controller.max_bw.get());
    path.controller.update_congestion_signals(&path.sk, &RateSample::default());
    assert_eq!(path.controller.bw_shortterm, max_bw * 7 / 10, "nothing was delivered");
    assert_eq!(path.controller.inflight_shortterm, window * 7 / 10);
    path.run_until(|bbr| bbr.state == State::Refill);
    assert_eq!(path.controller.bw_shortterm, NO_BANDWIDTH, "until the next probe");
}

#[test]
fn a_round_trip_of_recovery_with_six_ranges_lost_ends_start_up_and_one_with_five_does_not() {
    for (ranges, is_over) in [(5, false), (6, true)] {
        let mut path = path();
        path.run(130);
        path.set_state(CaState::Recovery);
        while path.sk.lost < ranges {
            path.step(1);
        }
        assert!(!path.controller.full_pipe.was_reached, "not before the round trip is over");
        path.run(80);
        assert_eq!(path.controller.full_pipe.was_reached, is_over, "{ranges}");
        assert_eq!(path.controller.inflight_longterm < NO_VOLUME, is_over);
    }
}

#[test]
fn where_more_than_one_loss_a_round_trip_cannot_be_seen_one_is_too_many() {
    let mut path = path_in(State::Up);
    path.sk.sack_ok = false;
    path.controller.segment_lost(&mut path.sk, &lost(100, 1));
    assert_eq!(path.controller.state, State::Down);
    let mut path = self::path();
    path.sk.sack_ok = false;
    path.run(130);
    path.set_state(CaState::Recovery);
    while path.sk.lost == 0 {
        path.step(1);
    }
    assert!(path.controller.full_pipe.was_reached && path.controller.state != State::Startup);
}

#[test]
fn a_loss_that_a_tail_loss_probe_repaired_is_a_loss() {
    let mut path = path_in(State::Cruise);
    path.run(100);
    path.controller.cwnd_event(&mut path.sk, CaEvent::TlpRecovery);
    path.run(110);
    assert!(path.controller.inflight_shortterm < NO_VOLUME);
}

#[test]
fn a_spurious_recovery_returns_to_the_probe_and_to_the_bounds_that_were() {
    let mut path = path_in(State::Up);
    path.controller.inflight_longterm = 200;
    let window = path.sk.snd_cwnd;
    path.set_state(CaState::Recovery);
    path.controller.segment_lost(&mut path.sk, &lost(60, 9));
    assert_eq!((path.controller.state, path.controller.inflight_longterm), (State::Down, 59));
    path.sk.snd_cwnd = 10;
    assert_eq!(path.controller.undo_cwnd(&mut path.sk), window);
    assert_eq!((path.controller.state, path.controller.inflight_longterm), (State::Refill, 200));
}

#[test]
fn after_a_timeout_the_window_returns_once_recovery_is_over() {
    let mut path = path_in(State::Cruise);
    let window = path.sk.snd_cwnd;
    path.set_state(CaState::Loss);
    path.sk.snd_cwnd = 1;
    let delivered = path.sk.delivered;
    while path.sk.delivered == delivered {
        path.step(0);
    }
    assert_eq!(path.sk.snd_cwnd, MIN_PIPE_CWND);
    path.set_state(CaState::Open);
    assert_eq!(path.sk.snd_cwnd, window);
}

#[test]
fn idle_time_is_no_reason_to_probe_the_round_trip() {
    let mut path = path_in(State::Cruise);
    path.sk.app_limited = 1;
    path.now += airtcp_core::Duration::from_secs(6);
    path.sk.tcp_mstamp = path.now;
    path.controller.cwnd_event(&mut path.sk, CaEvent::TxStart);
    assert!(path.controller.idle_restart);
    path.step(0);
    assert_ne!(path.controller.state, State::ProbeRtt);
}
