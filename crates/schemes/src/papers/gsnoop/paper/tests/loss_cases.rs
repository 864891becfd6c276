//! Both gateways and the link between them: the four loss cases of the paper's data flow analysis (GSN-C9), and
//! the checks of SPEC section 8.

use super::bench::{Bench, GUARD, MS, RTT, anywhere, flow, segment};
use crate::papers::gsnoop::events;
use airtcp_core::{DropReason, Event, Packet, SeqNum, TcpFlags};
use std::vec::Vec;

/// A, B, and a link that takes a millisecond.
struct Path {
    a: Bench,
    b: Bench,
    /// Segments whose first transmission over the link is lost.
    lose: Vec<u32>,
    /// Segments that the link was given, in order.
    transmissions: Vec<u32>,
}

impl Path {
    fn new(base: u32, of_a: &[(&str, &str)], lose: &[u32]) -> Self {
        let (a, b) = (Bench::new(base, of_a), Bench::new(base, &[]));
        Path { a, b, lose: lose.to_vec(), transmissions: Vec::new() }
    }

    /// A millisecond passes; what was sent over the link arrives, but for what is lost.
    fn step(&mut self) {
        self.a.pass(MS);
        self.b.pass(MS);
        let to_b: Vec<Packet> = self.a.harness.io.link.drain(..).collect();
        let to_a: Vec<Packet> = self.b.harness.io.link.drain(..).collect();
        for packet in to_b {
            let sequence = packet.tcp().unwrap().sequence;
            let number = (0..1000).find(|number| self.a.sequence(*number) == sequence);
            let is_data = packet.payload_len() > 0 && packet.flow() == Some(flow());
            let place = self.lose.iter().position(|lost| is_data && Some(*lost) == number);
            self.transmissions.extend(number.filter(|_| is_data));
            match place {
                Some(place) => drop(self.lose.remove(place)),
                None => self.b.link(packet),
            }
        }
        for packet in to_a {
            self.a.link(packet);
        }
        let (from_a, from_b) =
            (core::mem::take(&mut self.a.harness.io.control), core::mem::take(&mut self.b.harness.io.control));
        for bytes in from_b {
            self.a.harness.control(self.a.now, &bytes);
        }
        for bytes in from_a {
            self.b.harness.control(self.b.now, &bytes);
        }
    }

    /// The sender sends these segments, one each millisecond.
    fn send(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            self.a.inner(self.a.data(number));
            self.step();
        }
        self.step();
    }

    /// The receiver sends `count` ACKs of everything before `number`.
    fn acknowledge(&mut self, number: u32, count: u32) {
        for _ in 0..count {
            self.b.inner(self.b.ack(number));
        }
        self.step();
        self.step();
    }

    fn counts(&self, events: [Event; 3]) -> [u64; 3] {
        events.map(|event| self.a.count(event) + self.b.count(event))
    }
}

const ANSWERS: [Event; 3] = [Event::REPAIR, events::INCIPIENT_CONGESTION, events::CACHE_MISS];

#[test]
fn gsn_1_each_box_repairs_what_goes_to_the_link_and_asks_for_what_comes_off_it() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[4]);
        path.send(0..8);
        path.send([8]);
        assert_eq!(path.b.delivered(), [0, 1, 2, 3, 5, 6, 7, 4, 8]);
        // The other way round: B sends, A receives, and the third segment is lost.
        let back =
            |number: u32| segment(&flow().reversed(), SeqNum(9 + number * 100), SeqNum(1), TcpFlags::ACK, 9, 100);
        for number in [0, 1, 2, 3, 4, 5] {
            path.b.inner(back(number));
            path.b.pass(MS);
            if number == 2 {
                path.b.harness.io.link.clear();
            }
            path.step();
        }
        path.step();
        path.step();
        assert_eq!((path.b.count(Event::REPAIR), path.a.count(events::NACK)), (1, 1));
    });
}

#[test]
fn gsn_c7_hosts_receive_only_what_the_other_host_sent_bit_for_bit() {
    anywhere(|base| {
        // Segment 2 is lost before A, which notifies; segment 6 on the link, which is repaired.
        let mut path = Path::new(base, &[], &[6]);
        let numbers: Vec<u32> = (0..10).filter(|number| *number != 2).collect();
        path.send(numbers.clone());
        path.acknowledge(2, 4);
        path.acknowledge(10, 1);
        let sent: Vec<_> = numbers.iter().map(|number| path.a.data(*number).to_wire()).collect();
        let acknowledged: Vec<_> = [2, 10].map(|number| path.b.ack(number).to_wire()).into();
        let to_receiver: Vec<_> = path.b.harness.io.inner.iter().map(Packet::to_wire).collect();
        let to_sender: Vec<_> = path.a.harness.io.inner.iter().map(Packet::to_wire).collect();
        assert_eq!(path.counts(ANSWERS), [1, 1, 0], "both answers were given");
        assert_eq!(to_receiver.len(), sent.len());
        assert!(to_receiver.iter().all(|packet| sent.contains(packet)), "a segment that the sender did not send");
        assert!(to_sender.len() > 4, "the notification is three copies");
        assert!(to_sender.iter().all(|packet| acknowledged.contains(packet)), "an ACK that the receiver did not send");
    });
}

#[test]
fn gsn_c9_congestion_upstream_notifies_and_suppresses_nothing() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[]);
        path.send((0..8).filter(|number| *number != 4));
        assert_eq!(path.a.count(events::NOT_HERE), 1);
        path.acknowledge(4, 1);
        assert_eq!(path.a.acks_to_sender(), [4; 4]);
        for _ in 0..20 {
            path.step();
        }
        path.acknowledge(4, 3);
        assert_eq!(path.a.acks_to_sender(), [4; 3]);
        assert_eq!(path.counts(ANSWERS), [0, 1, 0]);
    });
}

#[test]
fn gsn_c9_corruption_on_the_wireless_link_is_repaired_and_hidden() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[4]);
        path.send(0..8);
        path.acknowledge(4, 1);
        path.acknowledge(4, 3);
        path.acknowledge(8, 1);
        assert_eq!(path.transmissions, [0, 1, 2, 3, 4, 5, 6, 7, 4]);
        assert_eq!(path.a.acks_to_sender(), [4, 8], "no duplicate reaches the sender");
        assert_eq!(path.counts(ANSWERS), [1, 0, 0]);
    });
}

#[test]
fn gsn_c9_a_cache_miss_is_ignored_and_left_to_the_sender() {
    anywhere(|base| {
        let mut path = Path::new(base, &[("cache_packets", "2")], &[4]);
        path.send(0..8);
        path.acknowledge(4, 1);
        for _ in 0..20 {
            path.step();
        }
        path.acknowledge(4, 3);
        assert_eq!(path.a.acks_to_sender(), [4; 4], "three duplicates for its fast retransmit");
        assert_eq!(path.counts(ANSWERS), [0, 0, 1]);
    });
}

#[test]
fn gsn_c9_congestion_downstream_is_none_of_the_gateways_business() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[]);
        path.send(0..8);
        path.acknowledge(4, 4);
        assert_eq!(path.a.acks_to_sender(), [4; 4]);
        assert_eq!((path.counts(ANSWERS), path.b.count(events::NACK)), ([0, 0, 0], 0));
    });
}

#[test]
fn gsn_16_the_receivers_own_duplicates_follow_a_notification() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[]);
        path.send((0..8).filter(|number| *number != 4));
        path.acknowledge(3, 1);
        path.acknowledge(4, 4);
        for _ in 0..20 {
            path.step();
        }
        // Three copies of the one, and later three duplicates of the other: two fast retransmits.
        assert_eq!(path.a.acks_to_sender(), [3, 3, 3, 3, 4, 4, 4, 4]);
    });
}

#[test]
fn spec_8_13_an_upstream_loss_is_notified_by_a_and_resets_the_counter_of_b() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[]);
        path.send((0..8).filter(|number| *number != 4));
        path.acknowledge(3, 1);
        // GSN-X1: A and not B. GSN-X6: the original, then three copies.
        assert_eq!(path.a.acks_to_sender(), [3; 4]);
        assert_eq!((path.a.count(events::INCIPIENT_CONGESTION), path.b.count(events::INCIPIENT_CONGESTION)), (1, 0));
        let waited = RTT + GUARD - MS * 5;
        path.b.pass(waited);
        path.a.pass(waited);
        assert_eq!(path.b.count(events::REPAIR_TIMEOUT), 0);
        path.b.pass(MS * 3);
        path.a.pass(MS * 3);
        assert_eq!(path.b.count(events::REPAIR_TIMEOUT), 1);
        path.send([4]);
        path.acknowledge(4, 5);
        assert_eq!((path.b.count(Event::ACK_SUPPRESSED), path.a.acks_to_sender().len()), (0, 5));
    });
}

#[test]
fn spec_8_14_a_drop_in_the_own_buffer_of_a_is_a_hole_gsn_x4() {
    anywhere(|base| {
        let mut path = Path::new(base, &[("rate", "4Mbit"), ("buffer_packets", "2")], &[]);
        // 0 is on the link, 1 and 2 wait, 3 is dropped.
        for number in 0..4 {
            path.a.inner(path.a.data(number));
        }
        assert_eq!(path.a.harness.ledger.discarded.get(DropReason::QUEUE_FULL), 1);
        for number in 4..9 {
            for _ in 0..5 {
                path.step();
            }
            path.a.inner(path.a.data(number));
        }
        for _ in 0..5 {
            path.step();
        }
        assert_eq!((path.b.count(events::NACK), path.a.count(events::NOT_HERE)), (1, 1));
        path.acknowledge(3, 1);
        assert_eq!(path.a.acks_to_sender(), [3; 4]);
        assert_eq!(path.counts(ANSWERS), [0, 1, 0]);
    });
}

#[test]
fn gsn_x8_a_repair_that_is_lost_too_is_left_to_the_sender() {
    anywhere(|base| {
        let mut path = Path::new(base, &[], &[4, 4]);
        path.send(0..8);
        for _ in 0..20 {
            path.step();
        }
        path.acknowledge(4, 4);
        assert_eq!(path.a.acks_to_sender(), [4; 4]);
        assert_eq!((path.counts(ANSWERS), path.b.count(Event::ACK_SUPPRESSED)), ([1, 0, 0], 0));
    });
}
