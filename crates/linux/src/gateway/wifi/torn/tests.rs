use super::*;
use std::net::IpAddr;

const OUT: FlowKey = FlowKey {
    source: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
    destination: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9)),
    source_port: 1000,
    destination_port: 80,
};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn data(sequence: u32, bytes: usize) -> Packet {
    let tcp = TcpHeader { acknowledgment: SeqNum(500), flags: TcpFlags::ACK, ..header(&OUT, SeqNum(sequence)) };
    let segment = Segment { source: OUT.source, destination: OUT.destination, traffic_class: 0, tcp };
    Packet::tcp_bytes(&segment, Bytes::from(vec![7; bytes]))
}

fn ack(number: u32) -> Packet {
    let back = OUT.reversed();
    let tcp = TcpHeader { acknowledgment: SeqNum(number), flags: TcpFlags::ACK, ..header(&back, SeqNum(500)) };
    segment(&back, tcp)
}

fn watch() -> Torn {
    let mut torn = Torn::new(&mut Rng::derive(1, "torn"));
    torn.note_other(at(0), &ack(1000));
    torn
}

/// The numbers of what is to be sent: questions, and pairs of resets.
fn orders(torn: &mut Torn, now: Instant) -> Vec<(bool, Vec<u32>)> {
    let sequence = |packet: &Packet| packet.tcp().unwrap().sequence.0;
    let of = |order: Order| match order {
        Order::Ask(packet) => (false, vec![sequence(&packet)]),
        Order::Reset { near, far } => (true, vec![sequence(&near), sequence(&far)]),
    };
    torn.look(now).into_iter().map(of).collect()
}

#[test]
fn a_station_that_was_told_of_more_than_the_other_end_has_is_reset_once_that_was_asked_long_enough() {
    let mut torn = watch();
    torn.note_station(at(0), &data(1000, 100));
    torn.note_told(&ack(3000));
    assert_eq!(orders(&mut torn, at(4_999)), []);
    for second in [5, 10, 15] {
        assert_eq!(orders(&mut torn, at(second * 1000)), [(false, vec![999])], "a keep-alive at {second} s");
        torn.note_station(at(second * 1000), &data(999, 0));
        torn.note_other(at(second * 1000 + 30), &ack(1000));
    }
    assert_eq!(orders(&mut torn, at(19_999)), []);
    assert_eq!(orders(&mut torn, at(20_001)), [(true, vec![500, 1000])]);
    assert_eq!(orders(&mut torn, at(60_000)), [], "it is forgotten");
}

#[test]
fn one_that_nobody_answers_is_asked_and_never_reset() {
    let mut torn = watch();
    torn.note_told(&ack(3000));
    for second in (5..200).step_by(5) {
        let orders = orders(&mut torn, at(second * 1000));
        assert!(matches!(&orders[..], [(false, _)]), "{second}: {orders:?}");
    }
}

#[test]
fn one_that_has_less_than_a_split_said_is_asked_for_less_until_it_answers_and_then_reset() {
    let mut torn = watch();
    torn.note_other(at(10), &ack(100_000));
    torn.note_told(&ack(130_000));
    assert_eq!(orders(&mut torn, at(5_010)), [(false, vec![99_999])]);
    assert_eq!(
        orders(&mut torn, at(10_010)),
        [(false, vec![100_000 - 65_536])],
        "no answer: the number is one to come"
    );
    for second in [10, 15, 20, 25] {
        torn.note_other(at(second * 1000 + 40), &ack(40_000));
    }
    assert_eq!(orders(&mut torn, at(30_000)), [(false, vec![39_999])]);
    assert_eq!(orders(&mut torn, at(30_100)), [(true, vec![500, 40_000])]);
}

#[test]
fn an_answer_that_covers_what_was_told_ends_the_questions() {
    let mut torn = watch();
    torn.note_told(&ack(3000));
    assert_eq!(orders(&mut torn, at(5_000)).len(), 1);
    torn.note_other(at(5_030), &ack(3000));
    assert_eq!(orders(&mut torn, at(60_000)), []);
}

#[test]
fn who_sends_only_what_lies_behind_the_number_that_is_asked_for_is_reset() {
    let mut torn = watch();
    for second in 1..=7 {
        torn.note_station(at(second * 3000), &data(3000, 100));
        torn.note_other(at(second * 3000 + 30), &ack(1000));
        let expected: &[(bool, Vec<u32>)] = if second < 7 { &[] } else { &[(true, vec![500, 1000])] };
        assert_eq!(orders(&mut torn, at(second * 3000 + 60)), expected, "{second}");
    }
}

#[test]
fn who_sends_the_number_that_is_asked_for_is_left_alone_however_long_it_takes() {
    let mut torn = watch();
    for second in 1..100 {
        torn.note_station(at(second * 3000), &data(3000, 100));
        torn.note_other(at(second * 3000 + 30), &ack(1000));
        if second % 6 == 0 {
            torn.note_station(at(second * 3000), &data(1000, 100));
        }
        assert_eq!(orders(&mut torn, at(second * 3000 + 60)), []);
    }
}

#[test]
fn a_reset_a_new_handshake_and_an_idle_connection_leave_nothing_to_do() {
    let mut torn = watch();
    for second in 1..20 {
        // Keep-alives of its own.
        torn.note_station(at(second * 5000), &data(999, 0));
        torn.note_other(at(second * 5000 + 1), &ack(1000));
    }
    assert_eq!(orders(&mut torn, at(100_000)), []);
    torn.note_told(&ack(3000));
    let syn = TcpHeader { flags: TcpFlags::SYN, ..header(&OUT, SeqNum(7)) };
    torn.note_station(at(100_001), &segment(&OUT, syn));
    assert_eq!(orders(&mut torn, at(200_000)), []);
}

#[test]
fn a_connection_that_repeats_itself_for_months_is_counted_no_further() {
    let mut torn = watch();
    let state = torn.flows.get_mut(&OUT).unwrap();
    (state.repeats, state.beyond) = (u32::MAX, u32::MAX);
    torn.note_other(at(1), &ack(1000));
    torn.note_station(at(1), &data(2000, 100));
    let state = torn.flows.get_mut(&OUT).unwrap();
    assert_eq!((state.repeats, state.beyond), (u32::MAX, u32::MAX));
}
