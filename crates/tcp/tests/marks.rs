//! Which segments can be marked, and what acknowledgments say of marks, where one end or both have DCTCP (RFC 8257).

use crate::harness::*;

use airtcp_core::Ecn;
use airtcp_tcp::congestion::CaState;
use airtcp_tcp::{Config, RecoveryKind, congestion};
use std::cell::RefCell;
use std::rc::Rc;

const MSS: u64 = 1448;

fn with(controller: &str) -> Config {
    let controller = congestion::find(controller, &[]).unwrap().into();
    Config { controller, auto_read: true, quick_acks: 0, ..Config::without_habits() }
}

/// What was acknowledged, in segments, by acknowledgments with the echo of a mark and without, and how many they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Echoes {
    marked: u64,
    clean: u64,
    acknowledgments: u64,
}

/// Sends segments of which those are marked for which `is_marked` says so.
fn echoes(receiver: &Config, segments: u64, is_marked: impl Fn(u64) -> bool + 'static) -> Echoes {
    let seen: Rc<RefCell<Echoes>> = Rc::default();
    let (counts, mut number, mut last) = (Rc::clone(&seen), 0, None);
    let path: Path = Box::new(move |_, from, packet| {
        let tcp = packet.tcp().unwrap();
        if from == From::B {
            let before = last.replace(tcp.acknowledgment);
            let newly = before.map_or(0, |before| u64::from(tcp.acknowledgment.since(before))) / MSS;
            let mut counts = counts.borrow_mut();
            counts.acknowledgments += u64::from(newly > 0);
            *(if tcp.flags.ece() { &mut counts.marked } else { &mut counts.clean }) += newly;
        } else if packet.payload_len() > 0 {
            number += 1;
            return if is_marked(number - 1) { Fate::Mark } else { Fate::Deliver };
        }
        Fate::Deliver
    });
    // As many at once as there are: nothing that acknowledgments say holds them back.
    let sender = Config { initial_window: 200, ..with("dctcp") };
    let mut net = Net::new(&sender, receiver, 20, path);
    net.establish();
    net.a.write_virtual(segments * MSS);
    net.run_until(ms(60_000), |net| net.a.stats().bytes_acknowledged == segments * MSS);
    *seen.borrow()
}

#[test]
fn an_acknowledgment_echoes_the_mark_of_just_what_it_acknowledges() {
    // Runs of three: where a run ends at an odd number, what came before is acknowledged by itself.
    let runs = |n: u64| (n / 3) % 2 == 1;
    let marked = (0..90).filter(|n| runs(*n)).count() as u64;
    let seen = echoes(&with("dctcp"), 90, runs);
    assert_eq!((seen.marked, seen.clean), (marked, 90 - marked));
    assert!(seen.acknowledgments >= 60, "{seen:?}: two for each run of three");
}

#[test]
fn while_nothing_changes_every_second_segment_is_acknowledged() {
    for marked in [0, 100] {
        let seen = echoes(&with("dctcp"), 100, move |n| n < marked);
        assert_eq!((seen.marked, seen.clean), (marked, 100 - marked));
        assert!((50..=52).contains(&seen.acknowledgments), "{seen:?}");
    }
}

#[test]
fn a_receiver_without_it_echoes_from_the_first_mark_until_the_window_is_reduced() {
    let seen = echoes(&with("reno"), 90, |n| n == 30);
    assert!(seen.marked > 30, "{seen:?}");
}

#[test]
fn every_segment_can_be_marked_and_ecn_is_asked_for() {
    let seen: Rc<RefCell<Vec<(From, bool, Ecn)>>> = Rc::default();
    let (log, mut data) = (Rc::clone(&seen), 0);
    let path: Path = Box::new(move |_, from, packet| {
        let flags = packet.tcp().unwrap().flags;
        log.borrow_mut().push((from, flags.syn(), packet.ip().ecn()));
        data += u64::from(packet.payload_len() > 0);
        // One is lost, and sent again.
        if data == 20 && packet.payload_len() > 0 { Fate::Drop } else { Fate::Deliver }
    });
    let mut net = Net::new(&with("dctcp"), &with("dctcp"), 20, path);
    net.establish();
    net.a.write_virtual(100 * MSS);
    net.run_until(ms(60_000), |net| net.a.stats().bytes_acknowledged == 100 * MSS);
    assert_eq!(net.a.stats().retransmitted_segments, 1);
    assert!(seen.borrow().iter().all(|(_, _, ecn)| *ecn == Ecn::Ect0), "{:?}", seen.borrow());
    assert!(seen.borrow().iter().any(|(from, syn, _)| *from == From::B && *syn));
}

#[test]
fn without_a_peer_that_has_ecn_nothing_can_be_marked() {
    let seen: Rc<RefCell<Vec<Ecn>>> = Rc::default();
    let log = Rc::clone(&seen);
    let path: Path = Box::new(move |_, _, packet| {
        if !packet.tcp().unwrap().flags.syn() {
            log.borrow_mut().push(packet.ip().ecn());
        }
        Fate::Deliver
    });
    let silent = Config { ecn_answer: false, ..with("reno") };
    let mut net = Net::new(&with("dctcp"), &silent, 20, path);
    net.establish();
    net.a.write_virtual(100 * MSS);
    net.run_until(ms(60_000), |net| net.a.stats().bytes_acknowledged == 100 * MSS);
    assert!(seen.borrow().iter().all(|ecn| *ecn == Ecn::NotEct));
}

#[test]
fn segments_of_a_controller_that_has_no_answer_cannot_be_marked() {
    for (controller, expected) in [("bbr3", Ecn::NotEct), ("bbr", Ecn::Ect0), ("reno", Ecn::Ect0)] {
        let mut net = Net::new(&Config { ecn: true, ..with(controller) }, &with("reno"), 20, perfect());
        net.establish();
        net.a.write_virtual(MSS);
        let now = net.now;
        assert_eq!(net.a.poll_transmit(now).unwrap().ip().ecn(), expected, "{controller}");
    }
}

#[test]
fn a_loss_while_marks_are_answered_leaves_half_of_the_window_with_every_recovery() {
    for recovery in [RecoveryKind::Rack, RecoveryKind::Sack, RecoveryKind::NewReno] {
        let mut number = 0;
        let path: Path = Box::new(move |_, from, packet| {
            if from == From::B || packet.payload_len() == 0 {
                return Fate::Deliver;
            }
            number += 1;
            // In the 64th window or so alpha is small: a mark takes little, the loss behind it half.
            match number {
                4000 => Fate::Mark,
                4003 => Fate::Drop,
                _ => Fate::Deliver,
            }
        });
        let sender =
            Config { recovery, initial_window: 40, initial_ssthresh: Some(40), max_cwnd: Some(60), ..with("dctcp") };
        let mut net = Net::new(&sender, &with("dctcp"), 20, path);
        net.a.write_virtual(u64::MAX);
        net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Cwr);
        let (window, reduced) = (net.a.sock().prior_cwnd, net.a.sock().snd_ssthresh);
        assert!(reduced > window * 9 / 10, "{recovery:?}: {reduced} of {window} after a mark");
        net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Recovery);
        assert_eq!(net.a.sock().snd_ssthresh, window / 2, "{recovery:?}");
        net.run_until(ms(60_000), |net| net.a.sock().icsk_ca_state == CaState::Open);
        let left = net.a.sock().snd_cwnd;
        assert!((window / 2 - 2..=window / 2 + 2).contains(&left), "{recovery:?}: {left} of {window}");
    }
}
