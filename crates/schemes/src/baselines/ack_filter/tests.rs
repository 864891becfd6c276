use super::*;
use crate::testing::*;
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{Outcome, SeqNum, TcpFlags, Token};
use std::vec::Vec;

/// A filter before a link of a full packet a millisecond, which says at once that it has a packet.
fn on_link(settings: &[(&str, &str)]) -> Test {
    Test::new(settings, true, |_| {})
}

/// The same before a medium of which no rate is known, and that tells what it delivered.
fn on_medium(settings: &[(&str, &str)], queue_packets: u64) -> Test {
    Test::new(settings, false, |site| (site.link.rate, site.link.queue_packets) = (None, Some(queue_packets)))
}

struct Test {
    harness: Harness<AckFilter>,
    is_told_at_once: bool,
    /// Packets of which it was told.
    told: usize,
}

impl Test {
    fn new(settings: &[(&str, &str)], is_told_at_once: bool, place: impl Fn(&mut Site<'_>)) -> Test {
        let mut parsed = AckFilterSettings::default();
        for &(key, value) in settings {
            parsed.set(key, &value.into()).unwrap();
        }
        let element = with_site(|site| {
            place(site);
            AckFilter::new(&parsed, site)
        });
        Test { harness: Harness::new(element, "filter"), is_told_at_once, told: 0 }
    }

    /// A packet comes that is to leave.
    fn offer(&mut self, packet: Packet) {
        self.harness.packet(at(0), Port::INNER, packet);
        self.tick(0);
    }

    fn tick(&mut self, millis: u64) {
        self.harness.tick(at(millis));
        while self.is_told_at_once && self.told < self.harness.io.link.len() {
            self.tell(millis, Outcome::Sent);
        }
    }

    /// The medium tells what became of the oldest packet that it has not told of.
    fn tell(&mut self, millis: u64, outcome: Outcome) {
        let status = TxStatus { token: Token(self.told as u64), outcome, tries: 1, at: at(millis) };
        self.told += 1;
        self.harness.call(at(millis), |element, cx| element.handle_tx_status(cx, status));
    }

    fn acknowledgments(&self) -> Vec<u32> {
        acknowledgments(&self.harness.io.link)
    }

    fn waiting(&self) -> Backlog {
        self.harness.element.held()
    }

    fn dropped(&self, reason: DropReason) -> u64 {
        self.harness.ledger.discarded.get(reason)
    }
}

/// An acknowledgment of another connection's.
fn others_ack(number: u32) -> Packet {
    edited(&ack(number), |tcp| tcp.destination_port = 1001)
}

/// Fills the link for a millisecond, offers `packets`, and returns the acknowledgment numbers that leave.
fn left_of(mode: &str, packets: &[Packet]) -> Vec<u32> {
    let mut test = on_link(&[("mode", mode)]);
    test.offer(data(0));
    for packet in packets {
        test.offer(packet.clone());
    }
    for millis in 1..20 {
        test.tick(millis);
    }
    assert_eq!(test.waiting().packets, 0);
    let suppressed = test.harness.count(Event::ACK_SUPPRESSED);
    assert_eq!(suppressed as usize + test.harness.io.link.len(), 1 + packets.len());
    assert_eq!(test.dropped(DropReason::SUPPRESSED), suppressed);
    test.acknowledgments()[1..].to_vec()
}

#[test]
fn two_or_one_are_left_of_acknowledgments_that_wait() {
    let acks: Vec<Packet> = (1..=5).map(|n| ack(n * 1000)).collect();
    assert_eq!(left_of("conservative", &acks), [4000, 5000]);
    assert_eq!(left_of("aggressive", &acks), [5000]);
}

#[test]
fn an_acknowledgment_takes_the_turn_of_the_one_it_replaces() {
    let acks = [ack(1000), others_ack(77), ack(2000)];
    assert_eq!(left_of("aggressive", &acks), [2000, 77]);
    let acks = [ack(1000), others_ack(77), ack(2000), ack(3000)];
    assert_eq!(left_of("conservative", &acks), [2000, 77, 3000]);
}

#[test]
fn the_order_within_a_flow_stays() {
    let packets = [ack(1000), answer(1500, 100), others_ack(77), ack(2000)];
    assert_eq!(left_of("aggressive", &packets), [1500, 2000, 77]);
}

#[test]
fn a_change_of_ecn_flags_is_never_lost() {
    let echo = |packet: &Packet| edited(packet, |tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::ECE));
    // The last before each change stays.
    let acks = [echo(&ack(1000)), echo(&ack(2000)), ack(3000), ack(4000), echo(&ack(5000))];
    assert_eq!(left_of("aggressive", &acks), [2000, 4000, 5000]);
    // What carries data may be the change.
    let with_data = edited(&answer(1500, 100), |tcp| tcp.flags = TcpFlags::ACK.with(TcpFlags::ECE));
    assert_eq!(left_of("aggressive", &[ack(1000), with_data, ack(2000)]), [1000, 1500, 2000]);
}

#[test]
fn duplicates_are_counted_by_senders_and_stay() {
    assert_eq!(left_of("aggressive", &[ack(1000), ack(1000), ack(1000), ack(1000)]), [1000; 4]);
}

#[test]
fn what_is_no_tcp_passes_in_turn() {
    let opaque = || Packet::opaque(flow().source, flow().destination, 17, bytes::Bytes::from_static(&[0; 100]));
    let mut test = on_link(&[("mode", "aggressive")]);
    for packet in [data(0), opaque(), ack(1000), opaque(), ack(2000)] {
        test.offer(packet);
    }
    for millis in 1..9 {
        test.tick(millis);
    }
    let is_tcp: Vec<bool> = test.harness.io.link.iter().map(|packet| packet.tcp().is_some()).collect();
    assert_eq!(is_tcp, [true, false, true, false]);
}

#[test]
fn a_medium_that_tells_gets_few_packets_at_a_time() {
    let mut test = on_medium(&[("mode", "aggressive")], 100);
    for number in 1..=6 {
        test.offer(ack(number * 1000));
    }
    assert_eq!((test.acknowledgments(), test.waiting().packets), (Vec::from([1000, 2000]), 1));
    test.tell(5, Outcome::RetryLimit);
    assert_eq!(test.acknowledgments(), [1000, 2000, 6000]);
}

#[test]
fn a_medium_that_falls_silent_does_not_stop_the_queue() {
    let mut test = on_medium(&[("interface", "1")], 100);
    for number in 1..=3 {
        test.offer(data(number * 1000));
    }
    test.tick(1999);
    assert_eq!(test.harness.io.link.len(), 1);
    test.tick(2000);
    assert_eq!(test.harness.io.link.len(), 2);
}

#[test]
fn a_port_without_room_is_waited_for() {
    let mut test = on_link(&[]);
    test.harness.io.refuses = true;
    for number in 1..=3 {
        test.offer(data(number * 1000));
    }
    test.tick(5);
    assert_eq!((test.harness.io.link.len(), test.waiting().packets), (0, 3));
    test.harness.io.refuses = false;
    test.harness.call(at(6), |element, cx| element.handle_ready(cx, Port::LINK));
    // A late packet costs the link no time: the next follows at once.
    assert_eq!(sequences(&test.harness.io.link), [1000, 2000]);
}

#[test]
fn the_limit_is_the_links_own_in_packets_and_what_waits_at_the_interface_counts() {
    // Four wait: one at the interface and three here. What is on the air does not.
    let mut test = on_medium(&[], 4);
    for number in 0..9 {
        test.offer(data(number * 1000));
    }
    assert_eq!((test.harness.io.link.len(), test.waiting().packets), (2, 3));
    assert_eq!(test.dropped(DropReason::QUEUE_FULL), 4);
    // One that takes the place of another needs no room.
    let mut test = on_medium(&[("mode", "aggressive")], 2);
    for number in 1..=9 {
        test.offer(ack(number * 1000));
    }
    assert_eq!((test.dropped(DropReason::QUEUE_FULL), test.waiting().packets), (0, 1));
}

#[test]
fn a_limit_in_bytes_holds_for_what_replaces_too() {
    let mut test = on_link(&[("mode", "aggressive"), ("queue", "80B")]);
    for packet in [data(0), ack(1000), others_ack(1000)] {
        test.offer(packet);
    }
    assert_eq!(test.waiting(), Backlog { packets: 2, bytes: 80 });
    test.offer(edited(&ack(2000), |tcp| assert!(tcp.options.sack.push(SeqNum(3000), SeqNum(4000)))));
    assert_eq!((test.dropped(DropReason::QUEUE_FULL), test.waiting().packets), (1, 2));
    test.offer(ack(2000));
    assert_eq!((test.dropped(DropReason::SUPPRESSED), test.waiting().packets), (1, 2));
}

#[test]
fn nothing_off_the_link_is_touched() {
    let mut test = on_link(&[]);
    for number in [2000, 1000, 1000] {
        test.harness.packet(at(0), Port::LINK, ack(number));
    }
    assert_eq!(acknowledgments(&test.harness.io.inner), [2000, 1000, 1000]);
}

#[test]
fn an_interface_of_no_packets_is_refused() {
    let settings = AckFilterSettings::with([("interface", "0")]).unwrap();
    let error = with_site(|site| make(&settings, site).err()).unwrap();
    assert!(matches!(error, ParameterError::BadValue { key: "interface", .. }));
}
