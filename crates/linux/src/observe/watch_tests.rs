use super::super::headers::tests::v4;
use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// To the far side and back.
const ROUND_TRIP: u64 = 40;

/// A packet of TCP: its sequence number, what it acknowledges, and its bytes, of which only the headers are seen.
fn tcp(is_back: bool, seq: u32, ack: u32, stamps: (u32, u32), payload: usize) -> Vec<u8> {
    let mut bytes = if is_back { vec![0, 80, 0, 9] } else { vec![0, 9, 0, 80] };
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    bytes.extend(stamps.0.to_be_bytes());
    bytes.extend(stamps.1.to_be_bytes());
    let mut packet = v4(6, &bytes, payload);
    if is_back {
        for at in 0..4 {
            packet.swap(12 + at, 16 + at);
        }
    }
    packet
}

struct Link(Watcher);

impl Link {
    fn new() -> Link {
        Link(Watcher::new(Instant::from_nanos(0), 1))
    }

    fn pass(&mut self, ms: u64, is_out: bool, packet: &[u8]) {
        let kept = packet.len().min(headers::SNAP);
        self.0.take(Instant::from_nanos(ms * MS), is_out, &packet[..kept]);
    }

    fn evidence(&mut self, ms: u64) -> Evidence {
        self.0.evidence(Instant::from_nanos(ms * MS))
    }
}

/// A transfer of a segment a millisecond, of which every hundredth is lost on the far side. `wait`: how much longer the round trip
/// is then than at the beginning, in ms.
fn transfer(is_out: bool, wait: u64) -> Evidence {
    let mut link = Link::new();
    let (mut events, segments) = (Vec::new(), 2000u64);
    for number in 0..segments {
        let (seq, at) = (number as u32 * 1000, number + 100);
        let round_trip = ROUND_TRIP + if number < 100 { 0 } else { wait };
        let is_lost = number % 100 == 50;
        let stamp = at as u32;
        if is_out {
            events.push((at, true, tcp(false, seq, 1, (stamp, 1), 1000)));
            if is_lost {
                events.push((at + round_trip + 3, true, tcp(false, seq, 1, (stamp, 1), 1000)));
            } else {
                // All up to the last that was lost within a round trip, and this one selectively.
                let hole = number.saturating_sub((number + 50) % 100);
                let is_open = (number + 50) % 100 <= round_trip + 3 && number >= 50;
                let ack = if is_open { hole as u32 * 1000 } else { seq + 1000 };
                events.push((
                    at + round_trip,
                    false,
                    sacked(tcp(true, 1, ack, (1, stamp), 0), is_open.then_some(seq + 1000)),
                ));
            }
        } else {
            let echoed = (at - round_trip) as u32;
            if !is_lost {
                events.push((at, false, tcp(true, seq, 1, (1, echoed), 1000)));
            } else {
                events.push((at + round_trip + 3, false, tcp(true, seq, 1, (1, echoed), 1000)));
            }
            events.push((at, true, tcp(false, 1, seq + 1000, (stamp, 1), 0)));
        }
    }
    events.sort_by_key(|(at, ..)| *at);
    events.iter().for_each(|(at, is_out, packet)| link.pass(*at, *is_out, packet));
    link.evidence(2300)
}

/// The same segment with a block of selective acknowledgment up to there.
fn sacked(mut packet: Vec<u8>, to: Option<u32>) -> Vec<u8> {
    if let Some(to) = to {
        packet.extend([1, 1, 5, 10]);
        packet.extend((to - 1000).to_be_bytes());
        packet.extend(to.to_be_bytes());
        packet[32] = 0xb0;
        packet[3] += 12;
    }
    packet
}

#[test]
fn what_is_lost_behind_the_link_is_told_from_what_leaves_and_before_it_from_what_arrives() {
    for is_out in [true, false] {
        let seen = transfer(is_out, 0);
        let way = if is_out { &seen.out } else { &seen.into };
        let lost = way.lost;
        assert!((18..=20).contains(&lost) && way.lost_in_queue == 0 && way.lost_elsewhere == 0, "{is_out}: {way:?}");
        assert_eq!(way.bursts[0], lost, "each alone");
        let round_trip = way.round_trip_ms.expect("known");
        assert!((round_trip - ROUND_TRIP as f64).abs() < 2.0, "{is_out}: {round_trip}");
        // 1000 bytes a millisecond.
        assert!((way.busy_bps / 8e6 - 1.0).abs() < 0.1 && (way.peak_bps / 8e6 - 1.0).abs() < 0.2, "{is_out}: {way:?}");
        let other = if is_out { &seen.into } else { &seen.out };
        assert_eq!((other.lost, other.lost_elsewhere, other.segments), (0, 0, 0));
    }
}

#[test]
fn what_is_lost_while_packets_wait_is_lost_in_a_queue() {
    for is_out in [true, false] {
        let seen = transfer(is_out, 30);
        let way = if is_out { &seen.out } else { &seen.into };
        assert!(way.lost_in_queue + 2 >= way.lost && way.lost >= 18, "{is_out}: {way:?}");
        assert!((25.0..31.0).contains(&way.longest_wait_ms), "{is_out}: {way:?}");
    }
}

#[test]
fn holes_in_what_leaves_and_repetitions_of_what_arrived_are_lost_elsewhere() {
    let mut link = Link::new();
    let numbers = (0..50).filter(|number| *number != 20).chain([20]);
    for (at, number) in numbers.enumerate() {
        link.pass(at as u64, true, &tcp(false, number * 1000, 1, (1, 1), 1000));
    }
    for (at, number) in (0..50).chain([20]).enumerate() {
        link.pass(100 + at as u64, false, &tcp(true, number * 1000, 1, (1, 1), 1000));
    }
    let seen = link.evidence(200);
    assert_eq!((seen.out.lost, seen.out.lost_elsewhere), (0, 1));
    assert_eq!((seen.into.lost, seen.into.lost_elsewhere), (0, 1));
}

#[test]
fn shares_and_missing_numbers_of_tunnels_are_counted_and_frames_of_ours_are_not() {
    let mut link = Link::new();
    let wireguard = |number: u64| {
        let mut data = [[0, 7, 0, 7, 0, 0, 0, 0], [4, 0, 0, 0, 1, 2, 3, 4]].concat();
        data.extend(number.to_le_bytes());
        v4(17, &data, 80)
    };
    // The third is late, the fifth is lost.
    for (at, number) in [1, 2, 4, 3, 6].into_iter().enumerate() {
        link.pass(at as u64, false, &wireguard(number));
    }
    let mut quic = vec![0, 7, 1, 187, 0, 0, 0, 0, 0x41];
    quic.resize(20, 0);
    link.pass(9, true, &v4(17, &quic, 60));
    link.pass(9, true, &v4(254, &[0; 20], 160));
    let seen = link.evidence(10);
    assert_eq!((seen.into.numbered, seen.into.numbers_missing), (5, 1));
    assert_eq!((seen.into.bytes.vpn, seen.out.bytes.quic, seen.own_bytes), (5 * 124, 100, 200));
}

#[test]
fn more_flows_than_there_is_room_for_are_watched_within_the_bound() {
    let mut link = Link::new();
    for number in 0..3 * FLOWS as u32 {
        let mut packet = tcp(false, 0, 1, (1, 1), 100);
        packet[16..20].copy_from_slice(&number.to_be_bytes());
        link.pass(u64::from(number) / 10, true, &packet);
    }
    assert_eq!(link.0.flows.len(), FLOWS);
    assert_eq!(link.evidence(5000).out.segments, 3 * FLOWS as u64);
}

proptest! {
    /// Packets of any bytes, at any times, in any direction.
    #[test]
    fn no_packets_are_too_strange(
        packets in prop::collection::vec((any::<u32>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..120), 0u8..4), 1..60),
    ) {
        let mut link = Link::new();
        for (ms, is_out, bytes, kind) in packets {
            let packet = match kind {
                0 => bytes,
                1 => v4(17, &bytes, 1000),
                2 => v4(6, &bytes, 60_000),
                _ => tcp(!is_out, ms, ms.rotate_left(7), (ms, ms), bytes.len() * 100),
            };
            link.pass(ms.into(), is_out, &packet);
        }
        let seen = link.evidence(u32::MAX.into());
        prop_assert!(link.0.rows().len() <= 60);
        for way in [&seen.out, &seen.into] {
            prop_assert!(way.lost_in_queue <= way.lost && way.busy_bps.is_finite());
        }
        prop_assert!(!super::super::judge(&seen).sentence.is_empty());
    }
}
