//! Loss recovery, congestion windows and the retransmission timer, event by event.

use crate::harness::*;

use airtcp_core::{Duration, Ecn};
use airtcp_tcp::congestion::{self, CaState};
use airtcp_tcp::{Config, RecoveryKind};
use std::cell::RefCell;
use std::rc::Rc;

const MSS: u64 = 1448;

fn with(controller: &str, recovery: RecoveryKind) -> Config {
    Config { controller: congestion::find(controller, &[]).unwrap().into(), recovery, ..sink() }
}

/// A long transfer in congestion avoidance at 100 segments, of which those at `lost` are lost once.
fn lose(config: &Config, lost: &[u64]) -> Net {
    let config = Config { initial_window: 100, initial_ssthresh: Some(100), ..config.clone() };
    let mut net = Net::new(&config, &sink(), 100, drop_segments(lost, MSS));
    net.a.write_virtual(3000 * MSS);
    net
}

fn finish(net: &mut Net) {
    net.run_until(Duration::from_secs(600), |net| net.a.all_acknowledged() && net.a.is_established());
    assert_eq!(net.b().stream_check(), Ok(()));
    assert_eq!(net.b().stats().bytes_delivered, 3000 * MSS);
}

/// Runs until the first recovery is over; returns the windows before and after.
fn windows_around_recovery(net: &mut Net) -> (u32, u32) {
    let mut before = 0;
    net.run_until(Duration::from_secs(60), |net| {
        before = before.max(net.a.sock().snd_cwnd);
        net.a.sock().icsk_ca_state == CaState::Recovery
    });
    net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Open);
    (before, net.a.sock().snd_cwnd)
}

#[test]
fn a_single_loss_halves_reno_and_leaves_seven_tenths_of_cubic() {
    for kind in [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::NewReno] {
        for (controller, percent) in [("reno", 50), ("cubic", 70)] {
            let mut net = lose(&with(controller, kind), &[250]);
            let (before, after) = windows_around_recovery(&mut net);
            let expected = before * percent / 100;
            assert!(after.abs_diff(expected) <= 1, "{controller} {kind:?}: {before} -> {after}");
            finish(&mut net);
            let stats = net.a.stats();
            assert_eq!((stats.fast_recoveries, stats.rtos, stats.retransmitted_segments), (1, 0, 1));
        }
    }
}

#[test]
fn rfc6675_halves_at_once_or_if_asked_for_in_proportion() {
    for (proportional_reduction, kind) in
        [(None, RecoveryKind::Sack), (Some(true), RecoveryKind::Sack), (None, RecoveryKind::Rack)]
    {
        let mut net = lose(&Config { proportional_reduction, ..with("reno", kind) }, &[250]);
        net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Recovery);
        let (at_entry, target) = (net.a.sock().snd_cwnd, net.a.sock().snd_ssthresh);
        let is_at_once = (proportional_reduction, kind) == (None, RecoveryKind::Sack);
        assert_eq!(at_entry == target, is_at_once, "{kind:?} {proportional_reduction:?}: {at_entry} of {target}");
        net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Open);
        assert!(net.a.sock().snd_cwnd.abs_diff(target) <= 1);
        finish(&mut net);
    }
}

#[test]
fn sack_repairs_many_losses_of_a_window_in_one_recovery_and_newreno_one_a_round_trip() {
    let lost: Vec<u64> = (0..10).map(|n| 250 + 3 * n).collect();
    let mut took = Vec::new();
    for kind in [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::NewReno] {
        let mut net = lose(&with("reno", kind), &lost);
        net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Recovery);
        let start = net.now;
        net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Open);
        took.push(net.now.saturating_since(start).as_millis());
        finish(&mut net);
        let stats = net.a.stats();
        assert_eq!((stats.fast_recoveries, stats.rtos, stats.retransmitted_segments), (1, 0, 10), "{kind:?}");
    }
    assert!(took[0] < 250 && took[1] < 250, "{took:?}");
    assert!(took[2] > 900, "{took:?}");
}

#[test]
fn a_lost_retransmission_costs_rack_no_timeout() {
    let path = |copies: u32| -> Path {
        let mut left = copies;
        Box::new(move |_, from, packet| {
            let hit = from == From::A && packet.payload_len() > 0 && position(packet) == Some(250 * MSS) && left > 0;
            left -= u32::from(hit);
            if hit { Fate::Drop } else { Fate::Deliver }
        })
    };
    let rtos = |kind| {
        let config = Config { initial_window: 100, initial_ssthresh: Some(100), ..with("reno", kind) };
        let mut net = Net::new(&config, &sink(), 100, path(3));
        net.a.write_virtual(3000 * MSS);
        finish(&mut net);
        (net.a.stats().rtos, net.a.stats().lost_retransmissions)
    };
    assert_eq!(rtos(RecoveryKind::Rack), (0, 2));
    assert!(rtos(RecoveryKind::Sack).0 > 0);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let finish_time = |probe| {
        let config = Config { tail_loss_probe: probe, ..sink() };
        let mut net = Net::new(&config, &sink(), 100, drop_segments(&[98, 99], MSS));
        net.a.write_virtual(100 * MSS);
        net.run_until(Duration::from_secs(60), |net| net.a.is_established() && net.a.all_acknowledged());
        (net.now.as_nanos() / 1_000_000, net.a.stats().rtos, net.a.stats().loss_probes)
    };
    let (with_probe, without) = (finish_time(true), finish_time(false));
    assert_eq!((with_probe.1, with_probe.2), (0, 1));
    // Both lost: the probe repairs the last and its SACK shows the other.
    assert_eq!((without.1, without.2), (1, 0));
    assert!(with_probe.0 < without.0, "{with_probe:?} {without:?}");
}

#[test]
fn a_probe_that_could_not_leave_is_not_due_any_more_once_all_is_acknowledged() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.establish();
    net.run_for(ms(100));
    net.a.write_virtual(MSS);
    let segment = net.a.poll_transmit(net.now).unwrap();
    let at = net.a.poll_timeout().unwrap();
    net.a.handle_timeout(at);
    assert!(net.a.is_retransmission_due());
    let b = net.b();
    b.handle_segment(at, &segment);
    let delayed = b.poll_timeout();
    let acknowledgment = b.poll_transmit(at).or_else(|| {
        b.handle_timeout(delayed?);
        b.poll_transmit(delayed?)
    });
    let later = at + ms(300);
    net.a.handle_segment(later, &acknowledgment.unwrap());
    assert!(net.a.all_acknowledged() && !net.a.is_retransmission_due());
    net.a.write_virtual(MSS);
    assert!(net.a.poll_transmit(later).is_some());
    assert_eq!(net.a.stats().loss_probes, 0);
}

#[test]
fn reordering_alone_retransmits_little_and_takes_no_window() {
    let mut count = 0;
    let path: Path = Box::new(move |_, from, packet| {
        count += u64::from(from == From::A && packet.payload_len() > 0);
        if from == From::A && count % 50 == 7 { Fate::Late(ms(8)) } else { Fate::Deliver }
    });
    let config = Config { initial_window: 100, initial_ssthresh: Some(100), ..with("reno", RecoveryKind::Rack) };
    let mut net = Net::new(&config, &sink(), 100, path);
    net.a.write_virtual(3000 * MSS);
    finish(&mut net);
    let stats = net.a.stats();
    assert!(stats.retransmitted_segments <= 2, "{stats:?}");
    assert!(stats.fast_recoveries == stats.spurious_recoveries, "{stats:?}");
    assert!(net.a.sock().snd_cwnd >= 100, "{}", net.a.sock().snd_cwnd);
}

#[test]
fn a_spurious_timeout_is_undone() {
    // Every packet is held for two seconds once, as a handover would.
    let path: Path = Box::new(|now, _, _| {
        let since = now.as_nanos() / 1_000_000;
        if (1000..3000).contains(&since) { Fate::Late(ms(3000 - since)) } else { Fate::Deliver }
    });
    let config = Config { initial_window: 50, initial_ssthresh: Some(50), ..with("reno", RecoveryKind::Rack) };
    let mut net = Net::new(&config, &sink(), 100, path);
    net.a.write_virtual(3000 * MSS);
    finish(&mut net);
    assert!(net.a.stats().rtos >= 1 && net.a.stats().spurious_recoveries >= 1, "{:?}", net.a.stats());
    assert!(net.a.sock().snd_cwnd >= 50, "{}", net.a.sock().snd_cwnd);
}

#[test]
fn the_timeout_doubles_until_the_path_is_back() {
    let sent = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&sent);
    let path: Path = Box::new(move |now, from, packet| {
        if from == From::A && now.as_nanos() > 1_000_000_000 && packet.payload_len() > 0 {
            log.borrow_mut().push(now.as_nanos() / 1_000_000);
            return if now.as_nanos() < 20_000_000_000 { Fate::Drop } else { Fate::Deliver };
        }
        Fate::Deliver
    });
    let config = Config { tail_loss_probe: false, ..sink() };
    let mut net = Net::new(&config, &sink(), 50, path);
    net.a.write_virtual(10 * MSS);
    net.run_for(ms(1500));
    net.a.write_virtual(MSS);
    net.run_until(Duration::from_secs(200), |net| net.a.all_acknowledged());
    let gaps: Vec<u64> = sent.borrow().windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 5 && (200..400).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1].abs_diff(2 * pair[0]) <= 2), "{gaps:?}");
    assert_eq!(net.a.sock().icsk_ca_state, CaState::Open);
}

#[test]
fn after_a_timeout_the_window_is_one_segment() {
    let mut net = Net::new(
        &with("reno", RecoveryKind::Rack),
        &sink(),
        50,
        Box::new(|now, from, _| {
            let outage = (500_000_000..2_000_000_000).contains(&now.as_nanos());
            if from == From::A && outage { Fate::Drop } else { Fate::Deliver }
        }),
    );
    net.a.write_virtual(u64::MAX);
    net.run_until(ms(5000), |net| net.a.stats().rtos > 0);
    assert_eq!((net.a.sock().snd_cwnd, net.a.sock().icsk_ca_state), (1, CaState::Loss));
    net.run_until(ms(10_000), |net| net.a.sock().icsk_ca_state == CaState::Open);
    let sk = net.a.sock();
    assert!(sk.tcp_packets_in_flight() <= sk.packets_out);
}

#[test]
fn duplicate_acknowledgments_let_new_data_out_before_recovery() {
    // RFC 3042: the window stays, what left the network makes room.
    let mut net = lose(&with("reno", RecoveryKind::Sack), &[250]);
    net.run_until(Duration::from_secs(60), |net| net.a.sock().icsk_ca_state == CaState::Disorder);
    let (window, out, state) = (net.a.sock().snd_cwnd, net.a.sock().packets_out, net.a.sock().icsk_ca_state);
    assert_eq!(state, CaState::Disorder);
    assert!(out > window, "{out} segments out with a window of {window}");
}

#[test]
fn a_mark_reduces_the_window_once_per_round_trip_and_loses_nothing() {
    let ecn =
        |on| Config { ecn: on, initial_ssthresh: Some(30), initial_window: 30, ..with("reno", RecoveryKind::Rack) };
    let mut data = 0;
    // Ten marks within one window.
    let path: Path = Box::new(move |_, from, packet| {
        data += u64::from(from == From::A && packet.payload_len() > 0);
        assert!(packet.payload_len() == 0 || packet.ip().ecn() == Ecn::Ect0);
        if from == From::A && packet.payload_len() > 0 && (100..110).contains(&data) {
            Fate::Mark
        } else {
            Fate::Deliver
        }
    });
    let mut net = Net::new(&ecn(true), &Config { ecn: true, ..sink() }, 100, path);
    net.a.write_virtual(u64::MAX);
    net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Cwr);
    net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Open);
    assert_eq!(net.b().stats().ce_received, 10);
    assert!((14..=18).contains(&net.a.sock().snd_cwnd), "{}", net.a.sock().snd_cwnd);
    net.run_until(ms(60_000), |net| net.a.stats().data_segments_sent > 300);
    let stats = net.a.stats();
    assert_eq!((stats.ecn_reductions, stats.retransmitted_segments, stats.fast_recoveries), (1, 0, 0));
    // Not negotiated: no codepoint.
    let mut net = Net::new(
        &ecn(true),
        &Config { ecn_answer: false, ..sink() },
        100,
        Box::new(|_, _, packet| {
            assert!(packet.payload_len() == 0 || packet.ip().ecn() == Ecn::NotEct);
            Fate::Deliver
        }),
    );
    net.a.write_virtual(50_000);
    net.run_until(ms(5000), |net| net.a.is_established() && net.a.all_acknowledged());
}

#[test]
fn the_counts_never_exceed_what_is_out() {
    for kind in [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::NewReno] {
        for seed in 0..6 {
            let mut net = Net::new(&with("cubic", kind), &sink(), 30, lossy("8%", seed));
            net.a.write_virtual(400_000);
            net.run_until(Duration::from_secs(600), |net| {
                let sk = net.a.sock();
                assert!(sk.sacked_out + sk.lost_out <= sk.packets_out, "{sk:?}");
                assert!(sk.retrans_out <= sk.packets_out && sk.snd_cwnd >= 1, "{sk:?}");
                net.a.is_established() && net.a.all_acknowledged()
            });
        }
    }
}
