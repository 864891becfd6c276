use super::*;
use crate::emulation::Emulation;
use crate::papers::as_tcp::events;
use crate::testing::with_site;
use airtcp_core::Element;
use airtcp_core::packet::Segment;
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{
    DropReason, Event, Instant, Outcome, Packet, Port, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps, Token,
    TxStatus,
};
use bytes::Bytes;
use core::net::{IpAddr, Ipv4Addr};
use std::vec::Vec;

const NOW: Instant = Instant::from_nanos(1_000_000);
const START: SeqNum = SeqNum(u32::MAX - 700);

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

fn header(flags: TcpFlags, sequence: SeqNum, acknowledgment: SeqNum, window: u16) -> TcpHeader {
    let timestamps = Some(Timestamps { value: sequence.0.wrapping_add(5), echo: 0 });
    let is_syn = flags.syn();
    let options =
        TcpOptions { timestamps, window_scale: is_syn.then_some(7), sack_permitted: is_syn, ..TcpOptions::default() };
    TcpHeader { source_port: 1, destination_port: 2, sequence, acknowledgment, flags, window, urgent: 0, options }
}

/// From the station, or to it.
fn packet(outgoing: bool, tcp: TcpHeader, payload: usize) -> Packet {
    let (source, destination) = if outgoing { (address(1), address(2)) } else { (address(2), address(1)) };
    let (source_port, destination_port) = if outgoing { (1, 2) } else { (2, 1) };
    let tcp = TcpHeader { source_port, destination_port, ..tcp };
    Packet::tcp_bytes(&Segment { source, destination, traffic_class: 0, tcp }, Bytes::from(std::vec![7; payload]))
}

/// A station whose connection is open, with what `settings` say.
fn station(settings: &[(&str, &str)]) -> Harness<Station> {
    let settings = AsTcpSettings::with(settings.iter().copied()).unwrap();
    let mut harness = Harness::new(with_site(|site| Station::new(&settings, site)), "station");
    harness.packet(NOW, Port::INNER, packet(true, header(TcpFlags::SYN, START, SeqNum(0), 500), 0));
    tell_of_syn(&mut harness, Outcome::Acked);
    let flags = TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::EMULATED);
    harness.packet(NOW, Port::LINK, packet(false, header(flags, SeqNum(99), START + 1, 20_000), 0));
    let answer = harness.io.inner[0].tcp().unwrap().flags;
    let said = if settings.emulate { TcpFlags::SYN.with(TcpFlags::ACK) } else { flags };
    assert_eq!(answer, said, "what the boxes say to each other stays between them, where they do");
    harness.io.link.clear();
    harness.io.inner.clear();
    harness
}

fn tell_of_syn(harness: &mut Harness<Station>, outcome: Outcome) {
    let status = TxStatus { token: Token(0), outcome, tries: 1, at: NOW };
    harness.call(NOW, |element, cx| element.handle_tx_status(cx, status));
}

/// The station's TCP sends the `index`-th segment of 400 bytes.
fn send(harness: &mut Harness<Station>, index: u32) {
    let tcp = header(TcpFlags::ACK, START + 1 + 400 * index, SeqNum(100), 600);
    harness.packet(NOW, Port::INNER, packet(true, tcp, 400));
}

/// What became of the `index`-th segment; the SYN has the first token.
fn status(harness: &mut Harness<Station>, index: u64, outcome: Outcome) {
    let status = TxStatus { token: Token(index + 1), outcome, tries: 1, at: NOW };
    harness.call(NOW, |element, cx| element.handle_tx_status(cx, status));
}

fn acknowledged(harness: &Harness<Station>) -> Vec<u32> {
    harness.io.inner.iter().filter_map(Packet::tcp).map(|tcp| tcp.acknowledgment.since(START + 1)).collect()
}

#[test]
fn ast_5_what_the_medium_delivered_is_acknowledged_with_the_numbers_of_the_handshake() {
    let mut harness = station(&[]);
    send(&mut harness, 0);
    assert_eq!((harness.io.link.len(), harness.io.inner.len()), (1, 0));
    status(&mut harness, 0, Outcome::Acked);
    let tcp = *harness.io.inner[0].tcp().unwrap();
    assert_eq!(harness.io.inner[0].flow().unwrap(), harness.io.link[0].flow().unwrap().reversed());
    assert_eq!((tcp.sequence, tcp.acknowledgment), (SeqNum(100), START + 401));
    assert_eq!(tcp.flags, TcpFlags::ACK);
    // The SYN's 20,000 bytes were never scaled; 400 of them are used, and what is told is.
    assert_eq!(u64::from(tcp.window) << 7, 19_600 >> 7 << 7);
    let sent = harness.io.link[0].tcp().unwrap().options.timestamps.unwrap();
    assert_eq!(tcp.options.timestamps, Some(Timestamps { value: 104, echo: sent.value }));
    assert_eq!(harness.count(events::ACK_EMULATED), 1);
}

#[test]
fn ast_5_without_emulation_the_split_is_asked_for_its_acknowledgments_and_they_pass() {
    let mut harness = station(&[("emulate", "false")]);
    send(&mut harness, 0);
    assert!(!harness.io.link[0].tcp().unwrap().flags.emulated(), "the split must not keep its own back");
    status(&mut harness, 0, Outcome::Acked);
    assert_eq!(harness.io.inner.len(), 0);
    let real = header(TcpFlags::ACK, SeqNum(100), START + 401, 600);
    harness.packet(NOW, Port::LINK, packet(false, real, 0));
    assert_eq!(acknowledged(&harness), [400]);
    assert_eq!(harness.count(events::ACK_EMULATED), 0);
}

#[test]
fn ast_x3_nothing_behind_a_frame_that_was_given_up_is_acknowledged() {
    let mut harness = station(&[]);
    (0..4).for_each(|index| send(&mut harness, index));
    for (token, outcome) in [(0, Outcome::Acked), (1, Outcome::RetryLimit), (2, Outcome::Acked), (3, Outcome::Acked)] {
        status(&mut harness, token, outcome);
    }
    assert_eq!(acknowledged(&harness), [400]);
    assert_eq!(harness.count(Event::GIVEN_UP), 1);
    send(&mut harness, 1);
    status(&mut harness, 4, Outcome::Acked);
    assert_eq!(acknowledged(&harness), [400, 1600], "across the wrap of sequence numbers");
}

#[test]
fn ast_x2_duplicates_are_emulated_if_asked_for_and_report_what_was_delivered_and_nothing_else() {
    let mut harness = station(&[("dupack", "true")]);
    (0..5).for_each(|index| send(&mut harness, index));
    status(&mut harness, 0, Outcome::RetryLimit);
    for token in [1, 2, 4] {
        status(&mut harness, token, Outcome::Acked);
    }
    assert_eq!(acknowledged(&harness), [0, 0, 0]);
    let blocks = harness.io.inner[2].tcp().unwrap().options.sack;
    let at = |index: u32| START + 1 + 400 * index;
    assert_eq!(blocks.as_slice(), [(at(4), at(5)), (at(1), at(3))]);
}

#[test]
fn sent_is_not_delivered() {
    let mut harness = station(&[]);
    send(&mut harness, 0);
    for outcome in [Outcome::Sent, Outcome::Dropped] {
        status(&mut harness, 0, outcome);
    }
    assert!(harness.io.inner.is_empty());
}

#[test]
fn a_station_says_in_its_segments_that_it_emulates() {
    let says = |packet: &Packet| packet.tcp().unwrap().flags.emulated();
    let mut harness = station(&[]);
    send(&mut harness, 0);
    assert!(says(&harness.io.link[0]) && harness.io.link[0].checksum_holds());
}

#[test]
fn without_a_split_that_said_so_nothing_is_emulated() {
    let settings = AsTcpSettings::default();
    let mut harness = Harness::new(with_site(|site| Station::new(&settings, site)), "alone");
    harness.packet(NOW, Port::INNER, packet(true, header(TcpFlags::SYN, START, SeqNum(0), 500), 0));
    let answer = header(TcpFlags::SYN.with(TcpFlags::ACK), SeqNum(99), START + 1, 20_000);
    harness.packet(NOW, Port::LINK, packet(false, answer, 0));
    (0..2).for_each(|index| send(&mut harness, index));
    status(&mut harness, 0, Outcome::Acked);
    harness.packet(NOW, Port::LINK, packet(false, header(TcpFlags::ACK, SeqNum(100), START + 401, 9), 0));
    assert_eq!((harness.count(events::ACK_EMULATED), harness.io.inner.len()), (0, 2));
    assert!(harness.io.link.iter().all(|packet| !packet.tcp().unwrap().flags.emulated()));
}

#[test]
fn a_medium_that_never_tells_holds_nothing_up() {
    let mut harness = station(&[("interface", "1")]);
    (0..3).for_each(|index| send(&mut harness, index));
    assert_eq!(harness.io.link.len(), 1);
    for seconds in [3, 6] {
        harness.tick(NOW + airtcp_core::Duration::from_secs(seconds));
    }
    assert_eq!((harness.io.link.len(), harness.element.held().packets), (3, 0));
}

#[test]
fn a_medium_may_take_its_time_as_long_as_it_tells() {
    let mut harness = station(&[]);
    let seconds = airtcp_core::Duration::from_secs;
    (0..4).for_each(|index| send(&mut harness, index));
    // Of the second nothing is heard; the fourth waits behind the third for longer than a report is waited for.
    for (token, at) in [(0, 1), (2, 2), (3, 3)] {
        harness.tick(NOW + seconds(at));
        let status = TxStatus { token: Token(token + 1), outcome: Outcome::Acked, tries: 1, at: NOW + seconds(at) };
        harness.call(NOW + seconds(at), |element, cx| element.handle_tx_status(cx, status));
    }
    assert_eq!(acknowledged(&harness), [400]);
    assert_eq!(harness.element.poll_timeout(), Some(NOW + seconds(4)), "two seconds after it was overtaken");
    harness.tick(NOW + seconds(4));
    assert_eq!(harness.element.poll_timeout(), None);
}

#[test]
fn where_the_medium_tells_nothing_acknowledgments_and_flags_pass() {
    let settings = AsTcpSettings::default();
    let mut harness = Harness::new(with_site(|site| Station::new(&settings, site)), "wired");
    harness.packet(NOW, Port::INNER, packet(true, header(TcpFlags::SYN, START, SeqNum(0), 500), 0));
    tell_of_syn(&mut harness, Outcome::Sent);
    let flags = TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::EMULATED);
    harness.packet(NOW, Port::LINK, packet(false, header(flags, SeqNum(99), START + 1, 20_000), 0));
    assert!(harness.io.inner[0].tcp().unwrap().flags.emulated(), "it is for somebody behind");
    harness.io.inner.clear();
    send(&mut harness, 0);
    status(&mut harness, 0, Outcome::Sent);
    let real = header(TcpFlags::ACK, SeqNum(100), START + 401, 9);
    harness.packet(NOW, Port::LINK, packet(false, real, 0));
    assert_eq!(acknowledged(&harness), [400]);
    assert_eq!(harness.count(events::ACK_EMULATED), 0);
}

#[test]
fn ast_9_a_real_acknowledgment_ends_at_the_station_once_the_medium_has_told() {
    let mut harness = station(&[]);
    (0..2).for_each(|index| send(&mut harness, index));
    status(&mut harness, 0, Outcome::Acked);
    let real = |acknowledged: u32| header(TcpFlags::ACK, SeqNum(100), START + 1 + acknowledged, 150);
    harness.packet(NOW, Port::LINK, packet(false, real(400), 0));
    assert_eq!(harness.ledger.discarded.get(DropReason::SUPPRESSED), 1);
    assert_eq!(acknowledged(&harness), [400], "it said nothing new");
    // One that tells of more than the medium did is believed: it has been there.
    harness.packet(NOW, Port::LINK, packet(false, real(800), 0));
    assert_eq!(acknowledged(&harness), [400, 800]);
    // Data pass, and so does what speaks to the sender itself.
    harness.packet(NOW, Port::LINK, packet(false, real(800), 10));
    let echo = TcpHeader { flags: TcpFlags::ACK.with(TcpFlags::ECE), ..real(800) };
    harness.packet(NOW, Port::LINK, packet(false, echo, 0));
    assert_eq!(harness.io.inner.len(), 4);
}

#[test]
fn ast_3_the_end_of_a_connection_is_acknowledged_by_whom_it_is_for() {
    let mut harness = station(&[]);
    let fin = header(TcpFlags::ACK.with(TcpFlags::FIN), START + 1, SeqNum(100), 600);
    harness.packet(NOW, Port::INNER, packet(true, fin, 400));
    status(&mut harness, 0, Outcome::Acked);
    assert_eq!(acknowledged(&harness), [400], "its data, not the FIN");
    harness.packet(NOW, Port::LINK, packet(false, header(TcpFlags::ACK, SeqNum(100), START + 402, 150), 0));
    assert_eq!(acknowledged(&harness), [400, 401]);
}

#[test]
fn segments_wait_for_the_interface_and_lose_nothing() {
    let mut harness = station(&[("interface", "2")]);
    (0..5).for_each(|index| send(&mut harness, index));
    assert_eq!((harness.io.link.len(), harness.element.held().packets), (2, 3));
    status(&mut harness, 0, Outcome::Acked);
    status(&mut harness, 1, Outcome::RetryLimit);
    assert_eq!((harness.io.link.len(), harness.element.held().packets), (4, 1));
    let sequences: Vec<u32> =
        harness.io.link.iter().map(|packet| packet.tcp().unwrap().sequence.since(START + 1)).collect();
    assert_eq!(sequences, [0, 400, 800, 1200]);
}

#[test]
fn a_connection_that_the_other_end_opens_is_emulated_too() {
    let settings = AsTcpSettings::default();
    let mut harness = Harness::new(with_site(|site| Station::new(&settings, site)), "passive");
    harness.packet(
        NOW,
        Port::LINK,
        packet(false, header(TcpFlags::SYN.with(TcpFlags::EMULATED), SeqNum(99), SeqNum(0), 20_000), 0),
    );
    let answer = header(TcpFlags::SYN.with(TcpFlags::ACK), START, SeqNum(100), 500);
    harness.packet(NOW, Port::INNER, packet(true, answer, 0));
    harness.io.inner.clear();
    send(&mut harness, 0);
    status(&mut harness, 0, Outcome::Acked);
    assert_eq!(acknowledged(&harness), [400]);
    assert_eq!(harness.io.inner[0].tcp().unwrap().sequence, SeqNum(100));
}

#[test]
fn ranges_above_a_hole_are_bounded() {
    let syn = header(TcpFlags::SYN, START, SeqNum(0), 500);
    let mut flow = Emulation::open(&syn);
    let (start, _) = flow.note_sent(&header(TcpFlags::ACK, START + 1, SeqNum(100), 600), 0);
    for index in 1..10_000 {
        assert!(!flow.deliver(start + 10 * index, start + 10 * index + 10));
    }
    assert!(flow.deliver(start, start + 10), "the hole is filled, and what was remembered behind it");
    let key = packet(true, syn, 0).flow().unwrap();
    let next = flow.acknowledgment(None, &key, false, false, u64::MAX).tcp().unwrap().acknowledgment;
    assert_eq!(next.since(START + 1), 10 * 4097, "what came beyond the bound was forgotten");
}

#[test]
fn ast_c13_the_sender_is_acknowledged_before_the_receiver_has_anything() {
    const { assert!(!ENTRY.keeps_end_to_end) };
    let mut harness = station(&[]);
    send(&mut harness, 0);
    status(&mut harness, 0, Outcome::Acked);
    // Nothing has come back from the other end since its SYN.
    assert_eq!(acknowledged(&harness), [400]);
}

#[test]
fn ast_2_what_is_not_a_connection_s_passes_the_sublayer_as_it_came() {
    let mut harness = station(&[]);
    let datagram = Packet::opaque(address(1), address(2), 17, Bytes::from_static(b"datagram"));
    harness.packet(NOW, Port::INNER, datagram.clone());
    harness.packet(NOW, Port::LINK, datagram.clone());
    let bytes = |packet: &Packet| packet.to_image();
    assert_eq!([&harness.io.link[0], &harness.io.inner[0]].map(bytes), [bytes(&datagram), bytes(&datagram)]);
}

#[test]
fn ast_4_a_report_is_matched_with_the_range_its_frame_carried() {
    let mut harness = station(&[]);
    (0..3).for_each(|index| send(&mut harness, index));
    status(&mut harness, 1, Outcome::Acked);
    assert_eq!(acknowledged(&harness), [], "its range begins behind what is missing");
    status(&mut harness, 0, Outcome::Acked);
    assert_eq!(acknowledged(&harness), [800]);
    status(&mut harness, 7, Outcome::Acked);
    assert_eq!(acknowledged(&harness), [800], "of a frame that was never sent");
}

#[test]
fn ast_7_what_a_full_ring_refuses_the_access_point_waits_until_it_has_room() {
    let settings = AsTcpSettings::default();
    let mut harness = Harness::new(with_site(|site| AccessPoint::new(&settings, site)), "access point");
    harness.packet(NOW, Port::LINK, packet(true, header(TcpFlags::SYN, START, SeqNum(0), 500), 0));
    harness.io.refuses = true;
    let answer = header(TcpFlags::SYN.with(TcpFlags::ACK), SeqNum(99), START + 1, 500);
    harness.packet(NOW, Port::INNER, packet(false, answer, 0));
    harness.packet(NOW, Port::INNER, packet(false, header(TcpFlags::ACK, SeqNum(100), START + 1, 500), 400));
    assert_eq!((harness.io.link.len(), harness.element.held().packets), (0, 1));
    harness.io.refuses = false;
    harness.call(NOW, |element, cx| element.handle_ready(cx, Port::LINK));
    assert!(harness.io.link[0].tcp().unwrap().flags.syn() && harness.ledger.discarded.total() == 0);
}

/// A station that keeps acknowledgments back, with data for it of which the access point said that it acknowledges them.
fn receiving(settings: &[(&str, &str)]) -> Harness<Station> {
    let mut harness = station(settings);
    arrive(&mut harness, 0, TcpFlags::ACK.with(TcpFlags::EMULATED));
    harness.packet(NOW, Port::INNER, packet(true, header(TcpFlags::ACK, START + 1, SeqNum(500), 600), 0));
    assert_eq!(harness.io.link.len(), 1, "the first that is seen tells the window");
    harness.io.link.clear();
    harness.io.inner.clear();
    harness
}

/// The `index`-th segment of 400 bytes comes from the other end.
fn arrive(harness: &mut Harness<Station>, index: u32, flags: TcpFlags) {
    let tcp = header(flags, SeqNum(100 + 400 * index), START + 1, 600);
    harness.packet(NOW, Port::LINK, packet(false, tcp, 400));
}

/// The station's TCP acknowledges the first `count` segments; whether that leaves.
fn acknowledges(harness: &mut Harness<Station>, count: u32, edit: impl FnOnce(&mut TcpHeader)) -> bool {
    let before = harness.io.link.len();
    let mut tcp = header(TcpFlags::ACK, START + 1, SeqNum(100 + 400 * count), 600);
    edit(&mut tcp);
    harness.packet(NOW, Port::INNER, packet(true, tcp, 0));
    harness.io.link.len() > before
}

const TOLD: TcpFlags = TcpFlags(TcpFlags::ACK.0 | TcpFlags::EMULATED.0);

#[test]
fn a_station_keeps_back_what_the_access_point_acknowledges_and_its_tcp_never_sees_the_mark() {
    let mut harness = receiving(&[("downloads", "true")]);
    arrive(&mut harness, 1, TOLD);
    assert!(!acknowledges(&mut harness, 2, |_| {}));
    assert!(harness.io.inner.iter().all(|packet| !packet.tcp().unwrap().flags.emulated()));
    assert_eq!(harness.ledger.discarded.get(DropReason::SUPPRESSED), 1);
    // Without the mark nobody else acknowledges.
    arrive(&mut harness, 2, TcpFlags::ACK);
    assert!(acknowledges(&mut harness, 3, |_| {}));
    let mut harness = receiving(&[]);
    arrive(&mut harness, 1, TOLD);
    assert!(acknowledges(&mut harness, 2, |_| {}), "only where it is asked for");
}

#[test]
fn what_says_more_than_the_medium_does_leaves() {
    let leaves = |edit: fn(&mut TcpHeader)| {
        let mut harness = receiving(&[("downloads", "true")]);
        arrive(&mut harness, 1, TOLD);
        acknowledges(&mut harness, 2, edit)
    };
    assert!(!leaves(|_| {}));
    assert!(leaves(|tcp| assert!(tcp.options.sack.push(SeqNum(2000), SeqNum(2400)))));
    assert!(leaves(|tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::ECE)));
    assert!(leaves(|tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::FIN)));
    assert!(leaves(|tcp| tcp.window = 0));
    assert!(leaves(|tcp| tcp.window = 1200), "half of the window more");
    assert!(leaves(|tcp| tcp.acknowledgment = SeqNum(500)), "nothing new: the answer to something");
}

#[test]
fn half_a_window_is_told_before_the_sender_has_to_stop() {
    let mut harness = receiving(&[("downloads", "true")]);
    // 600 shifted by 7: 76,800 bytes, and 38,400 of them are 96 segments.
    let told: Vec<u32> = (2..300)
        .filter(|count| {
            arrive(&mut harness, count - 1, TOLD);
            acknowledges(&mut harness, *count, |_| {})
        })
        .collect();
    assert_eq!(told, [97, 193, 289]);
}

#[test]
fn the_end_of_a_download_is_acknowledged_by_the_station() {
    let mut harness = receiving(&[("downloads", "true")]);
    arrive(&mut harness, 1, TOLD.with(TcpFlags::FIN));
    assert!(acknowledges(&mut harness, 2, |_| {}));
}

/// An access point that does not split, with a connection that a station opened, and the medium told of a SYN.
fn emulating() -> Harness<AccessPoint> {
    let settings = AsTcpSettings::with([("downloads", "true"), ("split", "nowhere")]).unwrap();
    let mut harness = Harness::new(with_site(|site| AccessPoint::new(&settings, site)), "access point");
    harness.packet(NOW, Port::LINK, packet(true, header(TcpFlags::SYN, START, SeqNum(0), 500), 0));
    let answer = header(TcpFlags::SYN.with(TcpFlags::ACK), SeqNum(99), START + 1, 500);
    harness.packet(NOW, Port::INNER, packet(false, answer, 0));
    told(&mut harness, 0, Outcome::Acked);
    harness.packet(NOW, Port::LINK, packet(true, header(TcpFlags::ACK, START + 1, SeqNum(100), 600), 0));
    harness.io.link.clear();
    harness.io.inner.clear();
    harness
}

fn told(harness: &mut Harness<AccessPoint>, token: u64, outcome: Outcome) {
    let status = TxStatus { token: Token(token), outcome, tries: 1, at: NOW };
    harness.call(NOW, |element, cx| element.handle_tx_status(cx, status));
}

/// What the server is told of its bytes, and the window that it may use.
fn to_server(harness: &Harness<AccessPoint>) -> Vec<(u32, u32)> {
    let tcps = harness.io.inner.iter().filter_map(Packet::tcp);
    tcps.map(|tcp| (tcp.acknowledgment.since(SeqNum(100)), u32::from(tcp.window) << 7)).collect()
}

#[test]
fn an_access_point_acknowledges_to_the_server_what_a_station_s_mac_has() {
    let mut harness = emulating();
    for index in 0..3 {
        let tcp = header(TcpFlags::ACK, SeqNum(100 + 400 * index), START + 1, 500);
        harness.packet(NOW, Port::INNER, packet(false, tcp, 400));
    }
    assert!(harness.io.link.iter().all(|packet| packet.tcp().unwrap().flags.emulated() && packet.checksum_holds()));
    told(&mut harness, 1, Outcome::Acked);
    told(&mut harness, 3, Outcome::Acked);
    // Never past a frame that did not arrive, and no more room than the station promised.
    assert_eq!(to_server(&harness), [(400, 76_800 - 512)]);
    told(&mut harness, 2, Outcome::RetryLimit);
    assert_eq!(to_server(&harness).len(), 1);
    assert_eq!(harness.gauge(events::ACKNOWLEDGED_AHEAD), Some(400));
    // The station tells of what it has, in a hole's name: the server repairs.
    let mut dup = header(TcpFlags::ACK, START + 1, SeqNum(500), 600);
    assert!(dup.options.sack.push(SeqNum(900), SeqNum(1300)));
    harness.packet(NOW, Port::LINK, packet(true, dup, 0));
    assert_eq!(to_server(&harness).len(), 2);
    assert_eq!(harness.gauge(events::ACKNOWLEDGED_AHEAD), Some(0));
}

#[test]
fn an_access_point_keeps_acknowledgments_back_and_lets_answers_to_keep_alives_pass() {
    let mut harness = emulating();
    harness.packet(NOW, Port::INNER, packet(false, header(TcpFlags::ACK, SeqNum(100), START + 1, 500), 400));
    told(&mut harness, 1, Outcome::Acked);
    let real = || packet(true, header(TcpFlags::ACK, START + 1, SeqNum(500), 597), 0);
    harness.packet(NOW, Port::LINK, real());
    assert_eq!((to_server(&harness).len(), harness.ledger.discarded.get(DropReason::SUPPRESSED)), (1, 2));
    // A keep-alive repeats the last byte.
    harness.packet(NOW, Port::INNER, packet(false, header(TcpFlags::ACK, SeqNum(499), START + 1, 500), 0));
    harness.packet(NOW, Port::LINK, real());
    assert_eq!(to_server(&harness).len(), 2);
}
