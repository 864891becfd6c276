//! Habits of Linux that are options: when segments are acknowledged, what windows and buffers do, pacing, ECN.

use crate::harness::*;
use airtcp_core::{ByteSize, Duration, Ecn, Instant, Packet, TcpFlags};
use airtcp_tcp::{Config, Connection};
use std::cell::RefCell;
use std::rc::Rc;

const MSS: u64 = 1448;

/// Pure acknowledgments of the receiver for `segments` of which those in `lost` are lost once.
fn acks(receiver: &Config, segments: u64, lost: &[u64]) -> u64 {
    let sender = Config { initial_window: 100, ..sink() };
    let mut net = Net::new(&sender, receiver, 20, drop_segments(lost, MSS));
    net.a.write_virtual(segments * MSS);
    net.run_until(ms(5000), |net| net.a.is_established() && net.a.all_acknowledged());
    assert_eq!(net.b().stats().bytes_delivered, segments * MSS);
    net.b().stats().acks_sent
}

#[test]
fn acknowledgments_above_a_hole_leave_as_few_if_they_are_compressed() {
    let plain = Config { quick_acks: 0, ..sink() };
    assert_eq!(acks(&plain, 41, &[0]), 41);
    // Three at once, 37 as one, and one for what fills the hole.
    let compressing = Config { sack_compression: true, ..plain };
    assert_eq!(acks(&compressing, 41, &[0]), 5);
    assert_eq!(acks(&Config { sack_compression_acks: 10, ..compressing.clone() }, 41, &[0]), 3 + 3 + 1 + 1);
    // Without SACK each of them tells the sender something.
    assert_eq!(acks(&Config { sack: false, ..compressing }, 41, &[0]), 41);
}

#[test]
fn what_waits_to_be_reported_is_not_lost_when_data_leave() {
    let compressing = Config { quick_acks: 0, sack_compression: true, ..sink() };
    let mut net = Net::new(&Config { initial_window: 100, ..sink() }, &compressing, 20, drop_segments(&[0], MSS));
    net.establish();
    net.run_for(ms(20));
    net.a.write_virtual(8 * MSS);
    net.run_for(Duration::from_micros(10_050));
    net.b().write_virtual(100);
    let now = net.now;
    let left: Vec<Packet> = std::iter::from_fn(|| net.b().poll_transmit(now)).collect();
    let report = left.iter().find(|packet| packet.payload_len() == 0).expect("a report");
    let (_, right) = report.tcp().unwrap().options.sack.as_slice()[0];
    assert_eq!(net.b().position_of(right), 8 * MSS as i64);
    assert_eq!(left.iter().filter(|packet| packet.payload_len() > 0).count(), 1);
}

#[test]
fn after_an_idle_time_segments_are_acknowledged_one_by_one_again() {
    let acks_after = |pause: u64, again| {
        let receiver = Config { quick_acks: 10, quick_acks_after_idle: again, ..sink() };
        let mut net = Net::new(&sink(), &receiver, 20, perfect());
        net.a.write_virtual(20 * MSS);
        net.run_until(ms(1000), |net| net.a.is_established() && net.a.all_acknowledged());
        let before = net.b().stats().acks_sent;
        net.run_for(ms(pause));
        net.a.write_virtual(8 * MSS);
        net.run_until(ms(1000), |net| net.a.all_acknowledged());
        net.b().stats().acks_sent - before
    };
    assert_eq!((acks_after(1000, true), acks_after(1000, false), acks_after(100, true)), (8, 4, 4));
}

#[test]
fn segments_that_arrive_together_are_acknowledged_as_one() {
    let batching = |micros| Config { gro_flush_timeout: micros, quick_acks: 0, ..sink() };
    // Up to 64 KiB: 45 segments and 35.
    assert_eq!(acks(&batching(None), 80, &[]), 40);
    assert_eq!(acks(&batching(Some(Duration::ZERO)), 80, &[]), 2);
    // A hole ends the batch: nine leave with the first above it, then each above it, and the one that fills it.
    assert_eq!(acks(&batching(Some(Duration::from_micros(50))), 20, &[9]), 10 + 1);
}

#[test]
fn a_batch_of_one_segment_is_acknowledged_after_both_delays() {
    let receiver = Config { gro_flush_timeout: Some(ms(1)), quick_acks: 0, ..sink() };
    let mut net = Net::new(&sink(), &receiver, 20, perfect());
    net.establish();
    net.run_for(ms(100));
    // Two segments, so that the first one is not pushed, and the second comes too late for it.
    net.a.write_virtual(2 * MSS);
    let now = net.now;
    let first = net.a.poll_transmit(now).unwrap();
    net.b().handle_segment(now, &first);
    assert_eq!(net.b().poll_timeout(), Some(now + ms(1)));
    net.b().handle_timeout(now + ms(1));
    assert_eq!(net.b().poll_timeout(), Some(now + ms(1) + ms(40)));
}

#[test]
fn a_window_that_grows_starts_at_64_kib_and_each_segment_is_acknowledged_meanwhile() {
    let of = |window_growth| Config { window_growth, quick_acks: 0, receive_buffer: ByteSize(1 << 20), ..sink() };
    let sender = Config { initial_window: 1000, ..sink() };
    for (receiver, first_flight, most_acks) in [(of(true), 64_000..=65_535, 600), (of(false), 1 << 20..=1 << 20, 400)] {
        let mut net = Net::new(&sender, &receiver, 20, perfect());
        net.establish();
        net.a.write_virtual(1);
        net.run_for(ms(60));
        net.a.write_virtual(600 * MSS - 1);
        net.run_for(ms(5));
        let flight = net.a.bytes_in_flight();
        assert!(first_flight.contains(&flight) || flight == 600 * MSS - 1 && !receiver.window_growth, "{flight}");
        net.run_until(ms(5000), |net| net.a.all_acknowledged());
        let acks = net.b().stats().acks_sent;
        assert!(acks <= most_acks && (acks > 330) == receiver.window_growth, "{acks}");
    }
}

#[test]
fn a_tuned_receive_buffer_follows_what_is_read() {
    let tuned = |auto_read| {
        let receiver = Config { receive_autotuning: true, window_growth: true, auto_read, ..Config::default() };
        let mut net = Net::new(&sink(), &receiver, 50, perfect());
        net.establish();
        net.a.write_virtual(4 << 20);
        net.run_for(ms(3000));
        (net.b().receive_buffer(), net.b().stats().bytes_delivered)
    };
    let (buffer, delivered) = tuned(true);
    assert!(buffer > 1 << 20 && delivered == 4 << 20, "{buffer} {delivered}");
    // Nobody reads: it stays, and fills.
    let (buffer, delivered) = tuned(false);
    assert!(buffer == 81_920 && (79_000..=81_920).contains(&delivered), "{buffer} {delivered}");
}

#[test]
fn a_tuned_send_buffer_is_twice_what_the_window_lets_out() {
    let sender = Config { send_autotuning: true, send_buffer: Some(ByteSize(200_000)), ..sink() };
    let mut net = Net::new(&sender, &sink(), 20, perfect());
    assert_eq!(net.a.writable(), 16 << 10);
    net.establish();
    assert_eq!(net.a.writable(), 20 * MSS);
    let mut widest = 0;
    for _ in 0..200 {
        net.a.write_virtual(u64::MAX);
        net.run_for(ms(5));
        widest = widest.max(net.a.unacknowledged());
    }
    assert_eq!(widest, 200_000);
}

#[test]
fn in_a_train_of_acknowledgments_data_wait_to_leave_in_bursts() {
    let instants = |tso, train_us: u64| {
        let at: Rc<RefCell<Vec<Instant>>> = Rc::default();
        let log = Rc::clone(&at);
        let mut free = Instant::ZERO;
        let path = Box::new(move |now: Instant, from: From, packet: &Packet| {
            if from == From::B || packet.payload_len() == 0 {
                return Fate::Deliver;
            }
            log.borrow_mut().push(now);
            free = free.max(now) + Duration::from_micros(train_us);
            Fate::Late(free.saturating_since(now))
        });
        let sender = Config { tso, initial_window: 100, initial_ssthresh: Some(100), ..sink() };
        let mut net = Net::new(&sender, &Config { quick_acks: u32::MAX, ..sink() }, 40, path);
        net.a.write_virtual(2000 * MSS);
        net.run_until(ms(10_000), |net| net.a.is_established() && net.a.all_acknowledged());
        let mut times = at.take();
        times.dedup();
        times.len()
    };
    // Acknowledgments 100 us apart: the rate carries about three segments in a millisecond.
    let (alone, bursts) = (instants(false, 100), instants(true, 100));
    assert!(bursts * 2 < alone, "{alone} {bursts}");
    // Further apart than a millisecond nothing waits.
    assert_eq!(instants(true, 1100), instants(false, 1100));
}

#[test]
fn a_window_grows_although_the_last_it_lets_out_waits_for_a_burst() {
    // A full link, an acknowledgment of two segments each 0.9 ms: the one that the window has grown by waits each time.
    let window = |tso| {
        let mut free = Instant::ZERO;
        let path = Box::new(move |now: Instant, from: From, packet: &Packet| {
            if from == From::B || packet.payload_len() == 0 {
                return Fate::Deliver;
            }
            free = free.max(now) + Duration::from_micros(450);
            Fate::Late(free.saturating_since(now))
        });
        let controller = airtcp_tcp::congestion::find("reno", &[]).unwrap().into();
        let sender = Config { tso, controller, initial_window: 60, initial_ssthresh: Some(60), ..sink() };
        let mut net = Net::new(&sender, &Config { quick_acks: 0, ..sink() }, 20, path);
        net.a.write_virtual(10_000 * MSS);
        net.run_for(ms(1500));
        net.a.cwnd_bytes() / MSS
    };
    let (alone, bursts) = (window(false), window(true));
    assert!(alone > 80 && bursts + 3 >= alone, "{alone} {bursts}");
}

#[test]
fn any_controller_is_paced_if_asked_for() {
    let spread = |pacing| {
        let at: Rc<RefCell<Vec<Instant>>> = Rc::default();
        let log = Rc::clone(&at);
        let path = Box::new(move |now: Instant, from: From, packet: &Packet| {
            if from == From::A && packet.payload_len() > 0 {
                log.borrow_mut().push(now);
            }
            Fate::Deliver
        });
        let mut net = Net::new(&Config { pacing, ..sink() }, &sink(), 100, path);
        net.a.write_virtual(10 * MSS);
        net.run_until(ms(1000), |net| net.a.is_established() && net.a.all_acknowledged());
        at.borrow_mut().clear();
        net.a.write_virtual(20 * MSS);
        net.run_until(ms(1000), |net| net.a.all_acknowledged());
        let times = at.borrow();
        times[19].saturating_since(times[0])
    };
    assert_eq!(spread(false), Duration::ZERO);
    // Bursts of two, 20 segments at twice the rate of 20 in 100 ms, and half of the first pause is made good.
    assert!((ms(40)..=ms(46)).contains(&spread(true)), "{}", spread(true));
}

#[test]
fn ecn_is_agreed_to_if_the_peer_asks_and_never_asked_for() {
    let asks = Config { ecn: true, ..sink() };
    let silent = Config { ecn_answer: false, ..sink() };
    for (a, b, expected) in [(&asks, &sink(), true), (&asks, &silent, false), (&sink(), &sink(), false)] {
        let mut net = Net::new(a, b, 20, perfect());
        net.establish();
        net.a.write_virtual(1000);
        let now = net.now;
        let sent = net.a.poll_transmit(now).unwrap();
        assert_eq!(sent.ip().ecn() == Ecn::Ect0, expected);
    }
    let mut connection = Connection::connect(&opening(&sink(), airtcp_tcp::Stream::Bytes), Instant::ZERO);
    let syn = connection.poll_transmit(Instant::ZERO).unwrap();
    assert_eq!(syn.tcp().unwrap().flags, TcpFlags::SYN);
}
