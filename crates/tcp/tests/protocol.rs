//! Handshake, close, reset, windows and acknowledgments.

use crate::harness::*;

use airtcp_core::{ByteSize, Duration, Instant, Packet, Segment, SeqNum, TcpFlags, TcpHeader};
use airtcp_tcp::{Chunk, CloseReason, Config, Connection, Opening, State, Stream, reset_reply};
use std::cell::RefCell;
use std::rc::Rc;

fn edited(packet: &Packet, edit: impl FnOnce(&mut Segment)) -> Packet {
    with_data(packet, &[], edit)
}

/// The same, with these bytes.
fn with_data(packet: &Packet, data: &'static [u8], edit: impl FnOnce(&mut Segment)) -> Packet {
    let mut segment = Segment {
        source: packet.ip().source,
        destination: packet.ip().destination,
        traffic_class: 0,
        tcp: *packet.tcp().unwrap(),
    };
    edit(&mut segment);
    Packet::tcp_bytes(&segment, bytes::Bytes::from_static(data))
}

#[test]
fn the_handshake_agrees_on_options() {
    let mut net = Net::new(&Config::default(), &Config::default(), 20, perfect());
    let syn = net.a.poll_transmit(net.now).unwrap();
    let options = syn.tcp().unwrap().options;
    assert_eq!((options.mss, options.window_scale, options.sack_permitted), (Some(1460), Some(7), true));
    net.launch(From::A, syn);
    net.establish();
    assert_eq!((net.a.mss(), net.b().mss()), (1448, 1448));
    assert_eq!(net.a.srtt(), Some(ms(20)));
}

#[test]
fn the_smaller_mss_of_both_ends_holds() {
    let small = Config { mtu: 576, timestamps: false, ..sink() };
    let mut net = Net::new(&Config::default(), &small, 20, perfect());
    net.establish();
    assert_eq!((net.a.mss(), net.b().mss()), (536, 536));
}

/// When SYNs leave, in ms, of which those of the first six seconds are lost.
fn syns_with_linear_timeouts(linear: u32) -> Vec<u64> {
    let times = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&times);
    let path: Path = Box::new(move |now, from, packet| {
        if from == From::A && packet.tcp().unwrap().flags.syn() {
            log.borrow_mut().push(now.as_nanos() / 1_000_000);
            return if now < Instant::ZERO + ms(6000) { Fate::Drop } else { Fate::Deliver };
        }
        Fate::Deliver
    });
    let config = Config { syn_linear_timeouts: linear, ..sink() };
    let mut net = Net::new(&config, &sink(), 20, path);
    net.a.write_virtual(10_000);
    net.run_until(ms(20_000), |net| net.a.is_established() && net.a.all_acknowledged());
    times.take()
}

#[test]
fn lost_syns_are_sent_again_each_second_at_first_and_then_ever_later() {
    // RFC 6298 section 5.5, and Linux.
    assert_eq!(syns_with_linear_timeouts(0), [0, 1000, 3000, 7000]);
    assert_eq!(syns_with_linear_timeouts(4), [0, 1000, 2000, 3000, 4000, 5000, 7000]);
}

#[test]
fn a_lost_answer_to_the_syn_is_repeated() {
    let mut answers = 0;
    let path: Path = Box::new(move |_, from, packet| {
        answers += u32::from(from == From::B && packet.tcp().unwrap().flags.syn());
        if from == From::B && answers < 3 { Fate::Drop } else { Fate::Deliver }
    });
    let mut net = Net::new(&sink(), &sink(), 20, path);
    net.a.write_virtual(10_000);
    net.run_until(ms(20_000), |net| net.a.is_established() && net.a.all_acknowledged());
}

#[test]
fn nobody_there_ends_in_a_timeout_after_the_last_retry() {
    let config = Config { syn_retries: 3, syn_linear_timeouts: 0, ..sink() };
    let mut net = Net::new(&config, &sink(), 20, Box::new(|_, _, _| Fate::Drop));
    net.run_until(Duration::from_secs(100), |net| net.a.is_closed());
    assert_eq!((net.a.close_reason(), net.a.stats().segments_sent), (Some(CloseReason::TimedOut), 4));
    assert_eq!(net.now, Instant::ZERO + ms(15_000));
}

/// SYNs in all that nobody answers, and the seconds until the connection fails.
fn unanswered_syns(syn_retries: u32, syn_linear_timeouts: u32) -> (u64, u64) {
    let config = Config { syn_retries, syn_linear_timeouts, ..sink() };
    let mut net = Net::new(&config, &sink(), 20, Box::new(|_, _, _| Fate::Drop));
    net.run_until(Duration::from_secs(200), |net| net.a.is_closed());
    assert_eq!(net.a.close_reason(), Some(CloseReason::TimedOut));
    (net.a.stats().segments_sent, net.now.as_nanos() / 1_000_000_000)
}

#[test]
fn syns_of_each_second_are_no_retries_and_only_take_time() {
    // What a kernel 6.18 does with its tcp_syn_linear_timeouts of 4, and with none.
    assert_eq!([1, 2, 3, 6].map(|retries| unanswered_syns(retries, 4)), [(3, 3), (6, 7), (8, 19), (11, 131)]);
    assert_eq!(unanswered_syns(3, 0), (4, 15));
}

#[test]
fn both_ends_may_open_at_once() {
    let (left, right) = endpoints();
    let config = sink();
    let now = Instant::ZERO;
    let numbered = |local, remote, sequence, timestamp_offset, id| Opening {
        local,
        remote,
        initial_sequence: SeqNum(sequence),
        timestamp_offset,
        ..opening(&config, Stream::Virtual { id })
    };
    let mut a = Connection::connect(&numbered(left, right, u32::MAX, 5, 1), now);
    let mut b = Connection::connect(&numbered(right, left, 77, 9, 2), now);
    let (syn_a, syn_b) = (a.poll_transmit(now).unwrap(), b.poll_transmit(now).unwrap());
    a.write_virtual(5000);
    b.write_virtual(7000);
    a.handle_segment(now, &syn_b);
    b.handle_segment(now, &syn_a);
    assert_eq!((a.state(), b.state()), (State::SynReceived, State::SynReceived));
    for round in 1..50 {
        let now = Instant::from_nanos(round * 1_000_000);
        while let Some(packet) = a.poll_transmit(now) {
            b.handle_segment(now, &packet);
        }
        while let Some(packet) = b.poll_transmit(now) {
            a.handle_segment(now, &packet);
        }
    }
    assert_eq!((a.stats().bytes_delivered, b.stats().bytes_delivered), (7000, 5000));
}

#[test]
fn an_abort_resets_the_other_end() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.a.write_virtual(100_000);
    net.establish();
    net.run_for(ms(50));
    net.a.abort();
    assert!(!net.a.is_closed());
    net.run_for(ms(50));
    assert!(net.a.is_closed());
    assert_eq!(net.b().close_reason(), Some(CloseReason::Reset));
    assert_eq!(net.b().poll_timeout(), None);
}

#[test]
fn only_the_exact_number_resets() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.a.write_virtual(5000);
    net.run_until(ms(1000), |net| net.a.is_established() && net.a.all_acknowledged());
    net.a.write_virtual(100);
    let now = net.now;
    let data = net.a.poll_transmit(now).unwrap();
    let reset = |by: u32| {
        edited(&data, |segment| {
            segment.tcp.sequence += by;
            segment.tcp.flags = TcpFlags::RST;
        })
    };
    net.b().handle_segment(now, &reset(1));
    assert_eq!(net.b().state(), State::Established);
    let challenge = net.b().poll_transmit(now).unwrap();
    assert!(challenge.tcp().unwrap().flags.ack() && challenge.payload_len() == 0);
    // Outside the window: not even a challenge.
    net.b().handle_segment(now, &reset(1 << 30));
    assert!(net.b().poll_transmit(now).is_none());
    net.b().handle_segment(now, &reset(0));
    assert_eq!(net.b().close_reason(), Some(CloseReason::Reset));
}

#[test]
fn a_syn_in_an_open_connection_is_challenged() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.establish();
    net.a.write_virtual(100);
    let now = net.now;
    let data = net.a.poll_transmit(now).unwrap();
    let syn = edited(&data, |segment| segment.tcp.flags = TcpFlags::SYN);
    net.b().handle_segment(now, &syn);
    assert_eq!(net.b().state(), State::Established);
    assert!(net.b().poll_transmit(now).is_some());
    // A second one at once is not answered: no endless exchange.
    net.b().handle_segment(now, &syn);
    assert!(net.b().poll_transmit(now).is_none());
}

#[test]
fn a_segment_for_no_connection_is_answered_with_a_reset_that_is_believed() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    let syn = net.a.poll_transmit(net.now).unwrap();
    let reset = reset_reply(&syn).unwrap();
    assert!(reset_reply(&reset).is_none());
    net.a.handle_segment(net.now, &reset);
    assert_eq!(net.a.close_reason(), Some(CloseReason::Reset));
}

#[test]
fn a_segment_with_an_old_timestamp_is_refused() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.establish();
    net.a.write_virtual(1000);
    net.run_for(ms(100));
    net.a.write_virtual(100);
    let now = net.now;
    let mut data = net.a.poll_transmit(now).unwrap();
    let mut stamps = data.tcp().unwrap().options.timestamps.unwrap();
    stamps.value = stamps.value.wrapping_sub(1_000_000);
    let fresh = data.clone();
    data.set_timestamps(stamps);
    net.b().handle_segment(now, &data);
    assert_eq!(net.b().stats().bytes_delivered, 1000);
    net.b().handle_segment(now, &fresh);
    assert_eq!(net.b().stats().bytes_delivered, 1100);
}

#[test]
fn nothing_of_a_segment_beyond_the_window_is_taken() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.establish();
    net.a.write_virtual(1000);
    net.run_for(ms(100));
    net.b().write_virtual(100);
    net.a.write_virtual(100);
    let now = net.now;
    let (of_a, of_b) = (net.a.poll_transmit(now).unwrap(), net.b().poll_transmit(now).unwrap());
    let answer = *of_b.tcp().unwrap();
    let edge = answer.acknowledgment.0.wrapping_add(u32::from(answer.window) << net.b().window_shift());
    // It acknowledges everything, closes the window and is newer.
    let beyond = |by: u32| {
        with_data(&of_a, &[1; 10], |segment| {
            segment.tcp.sequence = SeqNum(edge.wrapping_add(by));
            segment.tcp.acknowledgment += of_b.sequence_len();
            segment.tcp.flags = TcpFlags::ACK;
            segment.tcp.window = 0;
            segment.tcp.options.timestamps.as_mut().unwrap().value += 1;
        })
    };
    let b = net.b();
    b.handle_segment(now, &beyond(1));
    assert_eq!((b.stats().rejected_segments, b.unacknowledged()), (1, 100));
    let reply = b.poll_transmit(now).unwrap();
    assert_eq!(reply.payload_len(), 0);
    let echo = |tcp: &TcpHeader| tcp.options.timestamps.unwrap().echo;
    assert_eq!(
        (reply.tcp().unwrap().acknowledgment, echo(reply.tcp().unwrap())),
        (answer.acknowledgment, echo(&answer))
    );
    assert!(b.poll_transmit(now).is_none());
    // The window is as open as it was.
    b.write_virtual(5000);
    assert!(b.poll_transmit(now).unwrap().payload_len() > 0);
    let written = b.unacknowledged();
    // At the edge the data is not taken, but what is acknowledged is.
    b.handle_segment(now, &beyond(0));
    assert_eq!((b.stats().rejected_segments, b.unacknowledged()), (1, written - 100));
    assert_eq!(b.stats().bytes_delivered, 1000);
}

#[test]
fn a_full_reader_closes_the_window_and_a_probe_finds_it_open_again() {
    let slow = Config { receive_buffer: ByteSize(20_000), ..Config::without_habits() };
    // The window update is lost: only the probe can find out.
    let lose_update = Rc::new(RefCell::new(false));
    let losing = Rc::clone(&lose_update);
    let path: Path =
        Box::new(move |_, from, _| if from == From::B && losing.replace(false) { Fate::Drop } else { Fate::Deliver });
    let mut net = Net::new(&sink(), &slow, 20, path);
    net.a.write_virtual(100_000);
    net.establish();
    net.run_for(ms(3000));
    assert_eq!((net.b().readable(), net.a.bytes_in_flight()), (20_000, 0));
    let probes = net.a.stats().window_probes;
    assert!((2..=5).contains(&probes), "{probes}");
    let mut got = 0;
    *lose_update.borrow_mut() = true;
    net.run_until(Duration::from_secs(200), |net| {
        while let Some(Chunk::Virtual { offset, len, .. }) = net.b().read(u64::MAX) {
            assert_eq!(offset, got);
            got += len;
        }
        got == 100_000
    });
    assert!(net.a.stats().window_probes > probes);
}

#[test]
fn the_sender_stays_within_the_peers_window_and_sends_no_crumbs() {
    let slow = Config { receive_buffer: ByteSize(10_000), ..Config::without_habits() };
    let sizes = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&sizes);
    let path: Path = Box::new(move |_, from, packet| {
        if from == From::A && packet.payload_len() > 0 {
            log.borrow_mut().push(packet.payload_len());
        }
        Fate::Deliver
    });
    let mut net = Net::new(&sink(), &slow, 20, path);
    net.a.write_virtual(200_000);
    net.establish();
    let mut got = 0;
    for _ in 0..1000 {
        net.run_for(ms(10));
        assert!(net.a.bytes_in_flight() <= 10_000 && net.b().readable() <= 10_000);
        got += net.b().read(500).map_or(0, |chunk| chunk.len());
    }
    assert_eq!(got, 200_000);
    let small = sizes.borrow().iter().filter(|len| **len < 1448).count();
    assert!(small * 10 <= sizes.borrow().len(), "{small} of {} segments were small", sizes.borrow().len());
}

#[test]
fn every_second_segment_is_acknowledged_and_the_odd_one_after_the_delay() {
    for (limit, expected) in [(1, 100..=102), (2, 50..=52), (4, 25..=27)] {
        let receiver = Config { delayed_ack_segments: limit, quick_acks: 0, ..sink() };
        let sender = Config { initial_window: 100, ..sink() };
        let mut net = Net::new(&sender, &receiver, 20, perfect());
        net.a.write_virtual(100 * 1448);
        net.run_until(ms(1000), |net| net.a.is_established() && net.a.all_acknowledged());
        assert!(expected.contains(&net.b().stats().acks_sent), "{limit}: {}", net.b().stats().acks_sent);
    }
    let receiver = Config { quick_acks: 0, delayed_ack_timeout: ms(75), ..sink() };
    let mut net = Net::new(&sink(), &receiver, 20, perfect());
    net.establish();
    net.run_for(ms(100));
    net.a.write_virtual(1448);
    let start = net.now;
    net.run_until(ms(1000), |net| net.a.all_acknowledged());
    assert_eq!(net.now.saturating_since(start), ms(95));
}

#[test]
fn with_a_bound_per_round_trip_acknowledgments_of_progress_are_few_and_those_of_losses_are_not() {
    let sent = |acks_per_rtt, timestamps, lost: u64| {
        let receiver = Config { acks_per_rtt, timestamps, quick_acks: 0, ..sink() };
        let sender = Config { initial_window: 2000, timestamps, ..sink() };
        let mut data = 0;
        let path = Box::new(move |_: Instant, from: From, packet: &Packet| {
            data += u64::from(from == From::A && packet.payload_len() > 0);
            if from == From::A && packet.payload_len() > 0 && data == lost { Fate::Drop } else { Fate::Deliver }
        });
        let mut net = Net::new(&sender, &receiver, 40, path);
        net.establish();
        // The window of a SYN is never scaled: the first acknowledgment opens it.
        net.a.write_virtual(1);
        net.run_for(ms(100));
        let before = net.b().stats().acks_sent;
        // A segment each 100 us for 100 ms: 2.5 times the round trip.
        for _ in 0..1000 {
            net.a.write_virtual(1400);
            net.run_for(Duration::from_micros(100));
        }
        net.run_until(ms(2000), |net| net.a.all_acknowledged());
        assert!(net.a.all_acknowledged() && net.b().stats().bytes_delivered == 1_400_001);
        net.b().stats().acks_sent - before
    };
    let plain = sent(None, true, 0);
    assert!((480..=510).contains(&plain), "{plain}");
    for timestamps in [true, false] {
        // One each 10 ms, and one for the tail.
        let four = sent(Some(4), timestamps, 0);
        assert!((10..=13).contains(&four), "{four}");
    }
    assert!((50..=56).contains(&sent(Some(20), true, 0)));
    // A hole is told of with each segment above it: a round trip at least, 400 segments.
    let with_loss = sent(Some(4), true, 500);
    assert!(with_loss > 400, "{with_loss}");
}

#[test]
fn what_is_missing_below_a_number_is_told_once_later_bytes_have_come() {
    let mut data = 0;
    let path = Box::new(move |_: Instant, from: From, packet: &Packet| {
        data += u64::from(from == From::A && packet.payload_len() > 0);
        let is_lost = from == From::A && packet.payload_len() > 0 && [3, 4, 6].contains(&data);
        if is_lost { Fate::Drop } else { Fate::Deliver }
    });
    let mut net = Net::new(&Config { initial_window: 20, ..sink() }, &sink(), 20, path);
    net.a.write_virtual(10 * 1448);
    // The first of ten arrive 10 ms after the handshake; repairs later.
    net.run_for(ms(31));
    let missing = |segments: u64| net.b.as_ref().unwrap().missing_of(segments * 1448);
    assert_eq!([0, 2, 3, 4, 5, 6, 10, 100].map(|n| missing(n) / 1448), [0, 0, 1, 2, 2, 3, 3, 3]);
    assert_eq!(missing(2) + 500, net.b.as_ref().unwrap().missing_of(2 * 1448 + 500));
    net.run_until(ms(2000), |net| net.a.all_acknowledged());
    assert_eq!(net.b().missing_of(u64::MAX), 0);
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let mut net = Net::new(&sink(), &Config { quick_acks: 10, ..sink() }, 20, perfect());
    net.a.write_virtual(10 * 1448);
    net.run_until(ms(1000), |net| net.a.is_established() && net.a.all_acknowledged());
    assert_eq!(net.b().stats().acks_sent, 10);
}

#[test]
fn a_duplicate_is_reported_in_the_first_block() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.establish();
    net.a.write_virtual(1000);
    let now = net.now;
    let data = net.a.poll_transmit(now).unwrap();
    net.b().handle_segment(now, &data);
    while net.b().poll_transmit(now).is_some() {}
    net.b().handle_segment(now, &data);
    let ack = net.b().poll_transmit(now).unwrap();
    let (tcp, block) = (ack.tcp().unwrap(), ack.tcp().unwrap().options.sack.as_slice()[0]);
    assert_eq!((block.0, block.1), (data.tcp().unwrap().sequence, tcp.acknowledgment));
    assert_eq!(net.b().stats().duplicate_segments_received, 1);
}

#[test]
fn time_wait_answers_a_late_fin_and_ends() {
    let mut dropped = false;
    let path: Path = Box::new(move |_, from, packet| {
        // The last acknowledgment of A is lost.
        let is_last = from == From::A && !packet.tcp().unwrap().flags.fin() && packet.payload_len() == 0;
        if is_last && packet.tcp().unwrap().acknowledgment == SeqNum(u32::MAX - 20_000 + 7_000 + 2) && !dropped {
            dropped = true;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    let mut net = Net::new(&sink(), &sink(), 20, path);
    net.establish();
    net.a.shutdown();
    net.run_for(ms(30));
    assert_eq!((net.a.state(), net.b().state()), (State::FinWait2, State::CloseWait));
    net.b().shutdown();
    net.run_for(ms(15));
    assert_eq!(net.a.state(), State::TimeWait);
    net.run_until(ms(5000), |net| net.b().is_closed());
    assert_eq!(net.b().stats().retransmitted_segments, 1);
    net.run_until(ms(5000), |net| net.a.is_closed());
    assert_eq!(
        (net.a.close_reason(), net.b().close_reason()),
        (Some(CloseReason::Finished), Some(CloseReason::Finished))
    );
}

#[test]
fn both_ends_may_close_at_once() {
    let mut net = Net::new(&sink(), &sink(), 20, perfect());
    net.establish();
    net.a.shutdown();
    net.b().shutdown();
    net.run_for(ms(15));
    assert_eq!((net.a.state(), net.b().state()), (State::Closing, State::Closing));
    net.run_until(ms(5000), |net| net.a.is_closed() && net.b().is_closed());
}

#[test]
fn ipv6_segments_fill_the_same_mtu() {
    let (mut left, mut right) = endpoints();
    left.address = "fd00::1".parse().unwrap();
    right.address = "fd00::2".parse().unwrap();
    let now = Instant::ZERO;
    let towards =
        |local, remote| Opening { local, remote, timestamp_offset: 5, ..opening(&sink(), Stream::Virtual { id: 1 }) };
    let mut a = Connection::connect(&towards(left, right), now);
    let syn = a.poll_transmit(now).unwrap();
    let mut b = Connection::accept(&towards(right, left), &syn, now).unwrap();
    let answer = b.poll_transmit(now).unwrap();
    a.handle_segment(now, &answer);
    a.write_virtual(10_000);
    let first = a.poll_transmit(now).unwrap();
    assert_eq!((a.mss(), first.wire_len(), first.payload_len()), (1428, 1500, 1428));
    assert!(Packet::parse(first.to_wire()).unwrap().checksum_holds());
}

#[test]
fn a_stream_that_changes_its_kind_is_broken_and_gives_nothing_more_to_read() {
    let (_, right) = endpoints();
    let mut net = Net::new(&Config::default(), &Config::default(), 20, perfect());
    net.establish();
    net.a.write_virtual(1000);
    net.run_for(ms(100));
    // Where the virtual stream goes on, real bytes.
    let mut next = net.a.poll_transmit(net.now);
    assert!(next.is_none(), "everything is acknowledged");
    next = {
        net.a.write_virtual(500);
        net.a.poll_transmit(net.now)
    };
    let header = *next.expect("a segment").tcp().unwrap();
    let (left, _) = endpoints();
    let segment = Segment { source: left.address, destination: right.address, traffic_class: 0, tcp: header };
    let now = net.now;
    net.b().handle_segment(now, &Packet::tcp_bytes(&segment, vec![0; 500].into()));
    assert!(net.b().stream_check().is_err());
    let mut reads = 0;
    while net.b().read(u64::MAX).is_some() {
        reads += 1;
        assert!(reads < 10, "reading ends");
    }
}
