//! The data TCP of a decoupling socket: no window, one segment for each trigger, a fine timer (DEC-31 to DEC-35).

use crate::harness::*;

use airtcp_core::{Duration, Instant};
use airtcp_tcp::{Config, Holes, RecoveryKind, RtoRule, Stats, congestion};
use std::cell::RefCell;
use std::rc::Rc;

const MSS: u64 = 1448;
const SEGMENTS: u64 = 1000;
/// Stands in for whoever holds the sender back: so many segments are out at most.
const HELD: u32 = 40;

fn sender(repair_holes: Holes) -> Config {
    let controller = congestion::find("unlimited", &[]).unwrap().into();
    Config { controller, recovery: RecoveryKind::OneSegment, repair_holes, max_cwnd: Some(HELD), ..sink() }
}

/// Acknowledges every segment.
fn receiver() -> Config {
    Config { delayed_ack_segments: 1, ..sink() }
}

fn transfer(config: &Config, path: Path) -> Net {
    let mut net = Net::new(config, &receiver(), 100, path);
    net.a.write_virtual(SEGMENTS * MSS);
    net
}

fn finish(net: &mut Net) -> Stats {
    net.run_until(Duration::from_secs(600), |net| net.a.is_established() && net.a.all_acknowledged());
    assert_eq!(net.b().stream_check(), Ok(()));
    assert_eq!(net.b().stats().bytes_delivered, SEGMENTS * MSS);
    *net.a.stats()
}

/// Loses the first copies of `segment`, as many as `copies`; notes when each one was sent.
fn losing(segment: u64, copies: usize) -> (Path, Rc<RefCell<Vec<Instant>>>) {
    let sent: Rc<RefCell<Vec<Instant>>> = Rc::default();
    let seen = Rc::clone(&sent);
    let path: Path = Box::new(move |now, from, packet| {
        let is_it = from == From::A && packet.payload_len() > 0 && position(packet) == Some(segment * MSS);
        if !is_it {
            return Fate::Deliver;
        }
        seen.borrow_mut().push(now);
        if seen.borrow().len() <= copies { Fate::Drop } else { Fate::Deliver }
    });
    (path, sent)
}

#[test]
fn dec_31_the_window_never_holds_the_data_tcp_back() {
    let mut net = Net::new(&Config { max_cwnd: None, ..sender(Holes::First) }, &receiver(), 100, perfect());
    // A SYN cannot announce a large window.
    net.a.write_virtual(MSS);
    net.run_until(ms(60_000), |net| net.a.is_established() && net.a.all_acknowledged());
    net.a.write_virtual(SEGMENTS * MSS);
    let sent = std::iter::from_fn(|| net.a.poll_transmit(net.now)).filter(|packet| packet.payload_len() > 0).count();
    assert_eq!(sent as u64, SEGMENTS);
}

#[test]
fn dec_32_a_timeout_sends_one_segment_again_and_leaves_the_window_open() {
    // Everything of a window is lost, so that only the timer can tell.
    let lost: Vec<u64> = (200..200 + u64::from(HELD)).collect();
    let mut net = transfer(&sender(Holes::First), drop_segments(&lost, MSS));
    net.run_until(ms(60_000), |net| net.a.stats().rtos == 1);
    let sk = net.a.sock();
    assert_eq!((net.a.stats().retransmitted_segments, sk.snd_cwnd, sk.lost_out), (1, HELD, 1));
    let stats = finish(&mut net);
    assert_eq!(stats.retransmitted_segments, lost.len() as u64, "nothing but what was lost is sent again");
}

#[test]
fn timeouts_repair_a_whole_window_also_where_the_window_adapts() {
    // Two segments beside what counts in flight, which a timeout leaves as it was.
    let lost: Vec<u64> = (200..200 + u64::from(HELD)).collect();
    let controller = congestion::find("zigzag", &[]).unwrap();
    let controller = controller.with([("timeout_leaves_two", "true")]).unwrap();
    let stats = finish(&mut transfer(&Config { controller, ..sender(Holes::First) }, drop_segments(&lost, MSS)));
    assert!(stats.rtos > 0 && stats.retransmitted_segments >= lost.len() as u64);
}

#[test]
fn dec_34_a_lost_retransmission_is_sent_again_after_x_more_duplicates() {
    for (x, window_is_x) in [(12, false), (HELD - 10, false), (HELD, true)] {
        let (path, sent) = losing(200, 3);
        let mut net = transfer(&sender(Holes::First), path);
        if !window_is_x {
            net.a.set_repeat_after(x);
        }
        let mut duplicates = Vec::new();
        let mut copies = 0;
        net.run_until(Duration::from_secs(60), |net| {
            let now = sent.borrow().len();
            if now != copies {
                copies = now;
                duplicates.push(net.a.stats().dupacks_received);
            }
            copies == 3
        });
        let x = u64::from(x);
        assert_eq!(duplicates, [0, 3, 3 + x], "X = {x}");
        let stats = finish(&mut net);
        assert_eq!((stats.rtos, stats.lost_retransmissions >= 2), (0, true));
    }
}

#[test]
fn without_repetition_a_lost_retransmission_waits_for_the_timer() {
    let (path, _) = losing(200, 2);
    let mut net = transfer(&Config { repair_again: false, ..sender(Holes::First) }, path);
    let stats = finish(&mut net);
    assert_eq!((stats.rtos, stats.lost_retransmissions, stats.retransmitted_segments), (1, 0, 2));
}

#[test]
fn all_holes_of_a_window_are_repaired_in_a_round_trip_and_the_first_ones_one_after_the_other() {
    let lost: Vec<u64> = (0..8).map(|n| 200 + 4 * n).collect();
    let took = |holes| {
        let mut net = transfer(&sender(holes), drop_segments(&lost, MSS));
        net.run_until(ms(60_000), |net| net.a.stats().retransmitted_segments > 0);
        let begun = net.now;
        net.run_until(ms(60_000), |net| net.a.stats().bytes_acknowledged >= 240 * MSS);
        let took = net.now.saturating_since(begun);
        let stats = finish(&mut net);
        assert_eq!((stats.rtos, stats.retransmitted_segments), (0, lost.len() as u64));
        took
    };
    let (first, all) = (took(Holes::First), took(Holes::All));
    assert!(all <= ms(200), "all {all}");
    assert!(first >= ms(800), "first {first}");
}

#[test]
fn a_retransmission_of_any_hole_is_repeated_when_x_segments_got_past_it() {
    let (path, sent) = losing(200, 3);
    let mut net = transfer(&sender(Holes::All), path);
    net.a.set_repeat_after(HELD);
    let stats = finish(&mut net);
    assert_eq!((stats.rtos, sent.borrow().len(), stats.lost_retransmissions), (0, 4, 2));
}

#[test]
fn without_sack_three_duplicates_repair_the_first_hole() {
    let config = Config { sack: false, ..sender(Holes::All) };
    let mut net = transfer(&config, drop_segments(&[200], MSS));
    net.a.set_repeat_after(HELD);
    let stats = finish(&mut net);
    assert_eq!((stats.rtos, stats.retransmitted_segments), (0, 1));
}

#[test]
fn dec_35_the_fine_timer_has_two_ticks_at_least_and_does_not_back_off() {
    let fine = Config {
        min_rto: ms(100),
        rto_rule: RtoRule::Rfc6298,
        rto_tick: Some(ms(50)),
        rto_backoff: false,
        ..sender(Holes::First)
    };
    let literal = Config { rto_rule: RtoRule::Constant, rto_tick: None, min_rto: ms(50), ..fine.clone() };
    let coarse = Config { rto_tick: Some(ms(500)), rto_backoff: true, ..fine.clone() };
    let after_timeouts = |config: &Config, round_trip| {
        // The last segment has nothing behind it that could tell of its loss.
        let (path, _) = losing(SEGMENTS - 1, 4);
        let mut net = Net::new(config, &receiver(), round_trip, path);
        net.a.write_virtual(SEGMENTS * MSS);
        net.run_until(Duration::from_secs(60), |net| net.a.stats().rtos == 3);
        let rto = net.a.rto().as_millis();
        finish(&mut net);
        rto
    };
    assert_eq!(after_timeouts(&fine, 10), 100);
    assert_eq!(after_timeouts(&fine, 100) % 50, 0);
    assert_eq!(after_timeouts(&literal, 100), 50);
    assert_eq!(after_timeouts(&coarse, 10), 8000);
}

#[test]
fn arrives_complete_whatever_is_lost() {
    for holes in [Holes::First, Holes::All] {
        for (sack, repair_again) in [(true, true), (true, false), (false, true), (false, false)] {
            for seed in 0..4 {
                let config = Config { sack, repair_again, rto_backoff: false, ..sender(holes) };
                let mut net = Net::new(&config, &receiver(), 30, lossy("8%", seed));
                net.a.write_virtual(200_000);
                net.run_until(Duration::from_secs(3600), |net| {
                    let sk = net.a.sock();
                    assert!(
                        sk.sacked_out + sk.lost_out <= sk.packets_out && sk.retrans_out <= sk.packets_out,
                        "{sk:?}"
                    );
                    net.a.is_established() && net.a.all_acknowledged()
                });
                assert_eq!(net.b().stream_check(), Ok(()));
                assert_eq!(net.b().stats().bytes_delivered, 200_000);
            }
        }
    }
}
