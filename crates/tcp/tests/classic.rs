//! The old senders, Reno and Tahoe, and explicit loss notification, event by event.

use crate::harness::*;

use airtcp_core::{Duration, SeqNum};
use airtcp_tcp::congestion::{self, CaState};
use airtcp_tcp::{Config, RecoveryKind, Stats};
use std::cell::RefCell;
use std::rc::Rc;

/// Where the harness begins to number.
const FIRST: u32 = u32::MAX - 20_000 + 1;
const MSS: u64 = 1448;

fn sender(recovery: RecoveryKind, window: u32) -> Config {
    let controller = congestion::find("reno", &[]).unwrap().into();
    let (initial_window, initial_ssthresh) = (window, Some(window));
    Config { controller, recovery, initial_window, initial_ssthresh, tail_loss_probe: false, ..sink() }
}

/// Acknowledges every segment, as the receivers of the papers do.
fn receiver() -> Config {
    Config { delayed_ack_segments: 1, ..sink() }
}

/// A transfer of 1000 segments of which those at `lost` are lost once.
fn transfer(config: &Config, path: Path) -> Net {
    let mut net = Net::new(config, &receiver(), 100, path);
    net.a.write_virtual(1000 * MSS);
    net
}

fn finish(net: &mut Net) -> Stats {
    net.run_until(Duration::from_secs(600), |net| net.a.is_established() && net.a.all_acknowledged());
    assert_eq!(net.b().stream_check(), Ok(()));
    assert_eq!(net.b().stats().bytes_delivered, 1000 * MSS);
    *net.a.stats()
}

fn recoveries_timeouts_resent(stats: &Stats) -> (u64, u64, u64) {
    (stats.fast_recoveries, stats.rtos, stats.retransmitted_segments)
}

#[test]
fn reno_repairs_a_single_loss_by_fast_retransmit() {
    let mut net = transfer(&sender(RecoveryKind::Reno, 40), drop_segments(&[250], MSS));
    net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Recovery);
    let before = net.a.sock().prior_cwnd;
    net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Open);
    assert_eq!(net.a.sock().snd_cwnd, before / 2);
    assert_eq!(recoveries_timeouts_resent(&finish(&mut net)), (1, 0, 1));
}

#[test]
fn reno_halves_twice_for_two_losses_of_a_window_and_newreno_once() {
    let outcome = |kind| {
        let mut net = transfer(&sender(kind, 40), drop_segments(&[250, 260], MSS));
        let stats = finish(&mut net);
        (net.a.sock().snd_ssthresh, recoveries_timeouts_resent(&stats))
    };
    let (reno, newreno) = (outcome(RecoveryKind::Reno), outcome(RecoveryKind::NewReno));
    assert_eq!((reno.1, newreno.1), ((2, 0, 2), (1, 0, 2)));
    assert_eq!(reno.0, newreno.0 / 2);
}

#[test]
fn reno_times_out_where_too_little_is_in_flight_for_three_more_duplicates() {
    let counts = |kind| {
        let config = Config { max_cwnd: Some(6), ..sender(kind, 6) };
        recoveries_timeouts_resent(&finish(&mut transfer(&config, drop_segments(&[250, 251], MSS))))
    };
    let (recoveries, timeouts, _) = counts(RecoveryKind::Reno);
    assert_eq!((recoveries, timeouts), (1, 1));
    assert_eq!(counts(RecoveryKind::NewReno), (1, 0, 2));
}

#[test]
fn tahoe_falls_to_one_segment_and_starts_slowly_up_to_half() {
    let mut net = transfer(&sender(RecoveryKind::Tahoe, 40), drop_segments(&[250], MSS));
    net.run_until(ms(60_000), |net| net.a.stats().fast_recoveries == 1);
    let (half, sk) = (net.a.sock().prior_cwnd / 2, net.a.sock());
    assert_eq!((sk.snd_cwnd, sk.snd_ssthresh), (1, half));
    net.run_until(ms(60_000), |net| net.a.sock().snd_cwnd >= half);
    let stats = finish(&mut net);
    assert_eq!((stats.fast_recoveries, stats.rtos), (1, 0));
}

#[test]
fn tahoe_sends_again_what_it_forgot() {
    // What the receiver holds above the second hole is jumped over, what lies between is not.
    let mut net = transfer(&sender(RecoveryKind::Tahoe, 40), drop_segments(&[250, 256], MSS));
    let (recoveries, timeouts, resent) = recoveries_timeouts_resent(&finish(&mut net));
    assert_eq!((recoveries, timeouts), (1, 0));
    assert!(resent > 2, "{resent} sent again");
}

#[test]
fn before_the_third_duplicate_the_old_senders_send_nothing_new() {
    for kind in [RecoveryKind::Reno, RecoveryKind::Tahoe] {
        let mut net = transfer(&sender(kind, 40), drop_segments(&[250], MSS));
        net.run_until(ms(60_000), |net| net.a.sock().sacked_out == 2);
        let sk = net.a.sock();
        assert_eq!((sk.icsk_ca_state, sk.packets_out), (CaState::Disorder, sk.snd_cwnd), "{kind:?}");
    }
}

#[test]
fn the_old_senders_offer_no_selective_acknowledgments() {
    for (kind, offers) in [(RecoveryKind::Reno, false), (RecoveryKind::Tahoe, false), (RecoveryKind::NewReno, true)] {
        let mut net = Net::new(&sender(kind, 10), &receiver(), 20, perfect());
        let syn = net.a.poll_transmit(net.now).unwrap();
        assert_eq!(syn.tcp().unwrap().options.sack_permitted, offers, "{kind:?}");
    }
}

#[test]
fn the_old_senders_survive_heavy_loss() {
    for kind in [RecoveryKind::Reno, RecoveryKind::Tahoe] {
        for seed in 0..6 {
            let mut net = Net::new(&sender(kind, 10), &receiver(), 30, lossy("8%", seed));
            net.a.write_virtual(200_000);
            net.run_until(Duration::from_secs(3600), |net| {
                let sk = net.a.sock();
                assert!(sk.sacked_out + sk.lost_out <= sk.packets_out, "{sk:?}");
                assert!(sk.retrans_out <= sk.packets_out && sk.snd_cwnd >= 1, "{sk:?}");
                net.a.is_established() && net.a.all_acknowledged()
            });
            assert_eq!(net.b().stream_check(), Ok(()));
        }
    }
}

/// Loses the segments at `lost` once, and marks acknowledgments that ask for those of them at `noticed`.
fn noticing(lost: &[u64], noticed: &[u64]) -> Path {
    let wanted: Vec<SeqNum> = noticed.iter().map(|n| SeqNum(FIRST) + (n * MSS) as u32).collect();
    let mut drop = drop_segments(lost, MSS);
    Box::new(move |now, from, packet| match drop(now, from, packet) {
        Fate::Deliver if from == From::B && wanted.contains(&packet.tcp().unwrap().acknowledgment) => Fate::Notify,
        fate => fate,
    })
}

#[test]
fn a_notified_loss_is_repaired_and_takes_nothing_from_the_window() {
    for kind in [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::NewReno, RecoveryKind::Reno] {
        let config = Config { eln: true, ..sender(kind, 40) };
        let mut net = transfer(&config, noticing(&[250], &[250]));
        let smallest = Rc::new(RefCell::new(u32::MAX));
        net.run_until(ms(60_000), |net| {
            let mut smallest = smallest.borrow_mut();
            *smallest = (*smallest).min(net.a.sock().snd_cwnd);
            net.a.is_established() && net.a.all_acknowledged()
        });
        let stats = finish(&mut net);
        assert_eq!(recoveries_timeouts_resent(&stats), (1, 0, 1), "{kind:?}");
        assert_eq!((stats.spared_recoveries, *smallest.borrow()), (1, 40), "{kind:?}");
        assert_eq!(net.a.sock().snd_ssthresh, 40, "{kind:?}");
    }
}

#[test]
fn marks_mean_nothing_to_a_sender_that_does_not_know_them() {
    let mut net = transfer(&sender(RecoveryKind::NewReno, 40), noticing(&[250], &[250]));
    net.run_until(ms(60_000), |net| net.a.stats().fast_recoveries == 1);
    assert!(net.a.sock().snd_ssthresh <= 25, "{}", net.a.sock().snd_ssthresh);
    assert_eq!(finish(&mut net).spared_recoveries, 0);
}

#[test]
fn a_second_hole_without_marks_is_congestion() {
    let config = Config { eln: true, ..sender(RecoveryKind::NewReno, 40) };
    for (noticed, spared, most) in [(&[250, 260][..], 1, 100), (&[250], 0, 30)] {
        let mut net = transfer(&config, noticing(&[250, 260], noticed));
        let recovered = SeqNum(FIRST) + 300 * MSS as u32;
        net.run_until(ms(60_000), |net| net.a.sock().snd_una.after(recovered));
        let window = net.a.sock().snd_cwnd;
        assert!(window <= most && (spared == 0 || window >= 40), "{noticed:?}: {window}");
        let stats = finish(&mut net);
        assert_eq!((stats.spared_recoveries, stats.rtos), (spared, 0), "{noticed:?}");
    }
}

#[test]
fn a_timeout_takes_the_window_whatever_was_notified() {
    // The retransmission is lost too, so only the timer repairs it.
    let mut left = 2;
    let mut inner = noticing(&[], &[250]);
    let path: Path = Box::new(move |now, from, packet| {
        if from == From::A && packet.payload_len() > 0 && position(packet) == Some(250 * MSS) && left > 0 {
            left -= 1;
            return Fate::Drop;
        }
        inner(now, from, packet)
    });
    let mut net = transfer(&Config { eln: true, ..sender(RecoveryKind::NewReno, 40) }, path);
    net.run_until(ms(60_000), |net| net.a.stats().rtos == 1);
    assert_eq!((net.a.sock().snd_cwnd, net.a.sock().icsk_ca_state), (1, CaState::Loss));
    finish(&mut net);
}
