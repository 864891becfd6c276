//! Gateway A: GSN-2 … GSN-7, GSN-14 and GSN-17.

use super::bench::{Bench, MS, anywhere, flow, segment};
use crate::papers::gsnoop::events;
use airtcp_core::{DropReason, Duration, Event, Packet, Port, SeqNum, TcpFlags};
use std::vec;
use std::vec::Vec;

/// 0 … 9 came from the sender and were sent, without those that are `lost` before A.
fn sent(base: u32, settings: &[(&str, &str)], lost: &[u32]) -> Bench {
    let mut a = Bench::new(base, settings);
    a.sender_sends((0..10).filter(|number| !lost.contains(number)));
    a.harness.io.link.clear();
    a
}

#[test]
fn gsn_2_what_came_late_is_no_hole_and_what_never_came_is() {
    anywhere(|base| {
        let mut a = Bench::new(base, &[]);
        a.sender_sends([0, 1, 3, 4, 2, 6, 7, 8]);
        a.harness.io.link.clear();
        a.nack(2, 3);
        a.nack(5, 6);
        assert_eq!((a.sent_over_link(), a.count(events::NOT_HERE)), (vec![2], 1));
    });
}

#[test]
fn gsn_3_a_copy_enters_the_cache_only_when_the_packet_was_sent() {
    anywhere(|base| {
        // 1040 bytes take 8.3 ms at 1 Mbit/s.
        let mut a = Bench::new(base, &[("rate", "1Mbit")]);
        for number in 0..4 {
            a.inner(a.data(number));
        }
        assert_eq!(a.harness.element.upstream.cached_packets(), 1);
        a.nack(3, 4);
        assert_eq!((a.count(events::CACHE_MISS), a.count(Event::REPAIR)), (1, 0));
        a.pass(MS * 30);
        assert_eq!(a.harness.element.upstream.cached_packets(), 4);
        a.nack(3, 4);
        assert_eq!(a.count(Event::REPAIR), 1);
    });
}

#[test]
fn gsn_4_a_copy_stays_for_as_many_packets_as_the_cache_holds() {
    anywhere(|base| {
        for (later, repairs) in [(24, 1), (25, 0)] {
            let mut a = Bench::new(base, &[]);
            a.sender_sends(0..=later);
            a.nack(0, 1);
            assert_eq!((a.count(Event::REPAIR), a.count(events::CACHE_MISS)), (repairs, 1 - repairs));
        }
    });
}

#[test]
fn gsn_5_a_copy_is_repaired_a_hole_is_not_and_the_rest_is_ignored() {
    anywhere(|base| {
        let mut a = sent(base, &[("cache_packets", "3")], &[8]);
        a.nack(9, 10);
        assert_eq!(a.sent_over_link(), [9]);
        a.nack(8, 9);
        assert_eq!(a.sent_over_link(), []);
        a.nack(2, 3);
        assert_eq!(a.sent_over_link(), []);
        let counts = [Event::REPAIR, events::NOT_HERE, events::CACHE_MISS].map(|event| a.count(event));
        assert_eq!(counts, [1, 1, 1]);
    });
}

#[test]
fn gsn_5_of_a_request_across_a_hole_each_part_is_answered_for_itself() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[6]);
        a.nack(5, 8);
        assert_eq!(a.sent_over_link(), [5, 7]);
        a.acks(Port::LINK, 5, 1);
        assert_eq!(a.acks_to_sender(), [5; 4]);
    });
}

#[test]
fn gsn_5_a_hole_goes_before_a_copy() {
    anywhere(|base| {
        // 3 was sent and is in the cache; sent again by the sender it is dropped by the FIFO.
        let mut a = sent(base, &[("rate", "1Mbit"), ("buffer_packets", "1")], &[]);
        a.pass(MS * 200);
        a.sender_sends(20..30);
        a.inner(a.data(3));
        a.harness.io.link.clear();
        a.nack(3, 4);
        assert_eq!((a.count(events::NOT_HERE), a.count(Event::REPAIR)), (1, 0));
    });
}

#[test]
fn gsn_6_three_copies_of_the_next_ack_follow_the_original_gsn_x6() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.nack(5, 6);
        assert_eq!(a.acks_to_sender(), [], "A waits for the next ACK");
        a.acks(Port::LINK, 3, 1);
        assert_eq!(a.acks_to_sender(), [3, 3, 3, 3]);
        a.acks(Port::LINK, 4, 1);
        assert_eq!(a.acks_to_sender(), [4], "only one ACK is copied");
        assert_eq!(a.count(events::INCIPIENT_CONGESTION), 1);
    });
}

#[test]
fn gsn_6_a_segment_with_data_or_an_overtaken_ack_is_not_the_next_ack() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.acks(Port::LINK, 3, 1);
        a.nack(5, 6);
        let (data, old) = (a.ack_with(3, 1000, 500), a.ack(2));
        a.link(data);
        a.link(old);
        assert_eq!((a.count(events::INCIPIENT_CONGESTION), a.harness.io.inner.len()), (0, 3));
        a.acks(Port::LINK, 3, 1);
        assert_eq!(a.count(events::INCIPIENT_CONGESTION), 1);
    });
}

#[test]
fn gsn_6_the_copies_are_equal_to_the_original() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.nack(5, 6);
        a.acks(Port::LINK, 3, 1);
        let acks: Vec<Packet> = a.harness.io.inner.drain(..).collect();
        assert_eq!(acks.len(), 4);
        assert!(acks.iter().all(|ack| ack.sequence_len() == 0 && ack.tcp() == acks[0].tcp()));
    });
}

#[test]
fn gsn_7_the_copies_acknowledge_nothing_that_the_receiver_does_not_have() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.nack(5, 6);
        a.acks(Port::LINK, 3, 1);
        let numbers = a.acks_to_sender();
        assert!(numbers.iter().all(|number| *number == 3), "{numbers:?}: not 5, which is lost, nor behind it");
    });
}

#[test]
fn gsn_6_switched_off_nobody_is_notified() {
    anywhere(|base| {
        let mut a = sent(base, &[("icn", "false")], &[5]);
        a.nack(5, 6);
        a.acks(Port::LINK, 3, 1);
        assert_eq!((a.acks_to_sender(), a.count(events::NOT_HERE)), (vec![3], 1));
    });
}

#[test]
fn gsn_u13_a_hole_is_notified_once() {
    anywhere(|base| {
        let mut a = sent(base, &[("icn_interval", "1ms")], &[5]);
        for _ in 0..3 {
            a.nack(5, 6);
            a.acks(Port::LINK, 3, 1);
            a.pass(MS * 5);
        }
        assert_eq!((a.count(events::INCIPIENT_CONGESTION), a.acks_to_sender().len()), (1, 6));
    });
}

#[test]
fn gsn_u13_two_holes_within_a_round_trip_are_notified_once() {
    anywhere(|base| {
        for (interval, notifications) in [("200ms", 1), ("1ms", 2)] {
            let mut a = sent(base, &[("icn_interval", interval)], &[5, 7]);
            for hole in [5, 7] {
                a.nack(hole, hole + 1);
                a.acks(Port::LINK, 3, 1);
                a.pass(MS * 5);
            }
            assert_eq!(a.count(events::INCIPIENT_CONGESTION), notifications, "{interval}");
        }
    });
}

#[test]
fn gsn_u13_the_round_trip_is_that_of_the_handshake() {
    anywhere(|base| {
        for (rtt, notifications) in [(MS * 80, 1), (MS * 10, 2)] {
            let mut a = Bench::new(base, &[]);
            a.inner(segment(&flow(), a.sequence(0), SeqNum(0), TcpFlags::SYN, 1000, 0));
            a.pass(rtt);
            a.inner(segment(&flow(), a.sequence(0) + 1, SeqNum(9), TcpFlags::ACK, 1000, 0));
            a.sender_sends([1, 2, 4, 6, 7]);
            for hole in [3, 5] {
                a.nack(hole, hole + 1);
                a.acks(Port::LINK, 2, 1);
                a.pass(MS * 30);
            }
            assert_eq!(a.count(events::INCIPIENT_CONGESTION), notifications, "{rtt:?}");
        }
    });
}

#[test]
fn gsn_14_a_cache_miss_is_not_answered() {
    anywhere(|base| {
        let mut a = sent(base, &[("cache_packets", "2")], &[]);
        a.harness.io.control.clear();
        a.nack(2, 3);
        a.acks(Port::LINK, 2, 4);
        assert_eq!((a.sent_over_link(), a.acks_to_sender()), (vec![], vec![2; 4]));
        assert_eq!((a.count(events::CACHE_MISS), a.harness.io.control.len()), (1, 0));
    });
}

#[test]
fn gsn_17_without_a_nack_nothing_is_sent_again() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[]);
        a.pass(Duration::from_secs(3));
        a.acks(Port::LINK, 4, 5);
        a.pass(Duration::from_secs(3));
        assert_eq!(a.sent_over_link(), []);
    });
}

#[test]
fn gsn_u5_the_size_of_the_cache_is_in_packets() {
    anywhere(|base| {
        for packets in [25, 50, 75] {
            let mut a = Bench::new(base, &[("cache_packets", &std::format!("{packets}"))]);
            a.sender_sends(0..100);
            assert_eq!(a.harness.element.upstream.cached_packets(), packets);
        }
    });
}

#[test]
fn gsn_u6_the_cache_is_shared_unless_each_flow_has_its_own() {
    anywhere(|base| {
        for (per_flow, repairs) in [("false", 0), ("true", 1)] {
            let mut a = Bench::new(base, &[("cache_per_flow", per_flow), ("cache_packets", "5")]);
            a.sender_sends([0]);
            let other = airtcp_core::FlowKey { source_port: 2000, ..flow() };
            for number in 0..5 {
                a.inner(segment(&other, a.sequence(number), SeqNum(9), TcpFlags::ACK, 1000, 1000));
                a.pass(MS);
            }
            a.nack(0, 1);
            assert_eq!(a.count(Event::REPAIR), repairs, "{per_flow}");
        }
    });
}

#[test]
fn gsn_u14_a_request_for_part_of_a_packet_is_answered_with_the_packet() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[]);
        let range = (a.sequence(3) + 200, a.sequence(4) + 1);
        let message = crate::papers::gsnoop::Message::Nack(flow(), vec![range]);
        a.harness.control(a.now, &message.encode());
        a.pass(MS);
        assert_eq!(a.sent_over_link(), [3, 4]);
    });
}

#[test]
fn gsn_u15_a_reset_an_acknowledged_fin_or_a_minute_of_silence_ends_the_flow() {
    anywhere(|base| {
        let flows = |a: &Bench| a.harness.element.upstream.flow_count();
        let mut a = sent(base, &[], &[]);
        a.inner(segment(&flow(), a.sequence(10), SeqNum(9), TcpFlags::RST, 0, 0));
        assert_eq!(flows(&a), 0);

        let mut a = sent(base, &[], &[]);
        a.inner(segment(&flow(), a.sequence(10), SeqNum(9), TcpFlags::ACK.with(TcpFlags::FIN), 1000, 0));
        assert_eq!(flows(&a), 1);
        a.link(segment(&flow().reversed(), SeqNum(9), a.sequence(10) + 1, TcpFlags::ACK, 1000, 0));
        assert_eq!(flows(&a), 0);

        let mut a = sent(base, &[("idle", "2s")], &[]);
        a.pass(Duration::from_millis(2200));
        assert_eq!(flows(&a), 0);
    });
}

#[test]
fn gsn_u16_a_repair_goes_to_the_head_or_as_an_option_to_the_tail() {
    anywhere(|base| {
        for (place, order) in [("head", [2, 10, 11, 12]), ("tail", [10, 11, 12, 2])] {
            let mut a = sent(base, &[("rate", "4Mbit"), ("repair_place", place)], &[]);
            a.pass(MS * 40);
            a.harness.io.link.clear();
            // 9 occupies the link again while the others wait.
            for number in 9..13 {
                a.inner(a.data(number));
            }
            a.nack(2, 3);
            a.pass(MS * 40);
            assert_eq!(a.sent_over_link()[1..], order, "{place}");
        }
    });
}

#[test]
fn gsn_u16_repairs_of_one_request_keep_their_order_at_the_head() {
    anywhere(|base| {
        let mut a = sent(base, &[("rate", "4Mbit")], &[]);
        a.pass(MS * 40);
        a.harness.io.link.clear();
        a.sender_sends([10, 11]);
        a.nack(2, 5);
        a.pass(MS * 40);
        assert_eq!(a.sent_over_link(), [10, 2, 3, 4, 11]);
    });
}

#[test]
fn gsn_x7_the_spurious_retransmission_and_its_duplicate_ack_are_counted() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.nack(5, 6);
        a.acks(Port::LINK, 3, 1);
        assert_eq!(a.count(events::ICN_RETRANSMISSION), 0);
        // The notification named 3, so the sender sends 3 again, which the receiver has by then.
        a.sender_sends([3]);
        assert_eq!((a.count(events::ICN_RETRANSMISSION), a.count(events::ICN_DUPLICATE_ACK)), (1, 0));
        a.acks(Port::LINK, 5, 3);
        assert_eq!((a.count(events::ICN_RETRANSMISSION), a.count(events::ICN_DUPLICATE_ACK)), (1, 1));
    });
}

#[test]
fn gsn_x7_a_d_sack_is_counted_too() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.nack(5, 6);
        a.acks(Port::LINK, 3, 1);
        a.sender_sends([3]);
        a.link(a.sack(5, 3));
        assert_eq!(a.count(events::ICN_DUPLICATE_ACK), 1);
    });
}

#[test]
fn a_retransmission_of_something_else_is_not_put_down_to_a_notification() {
    anywhere(|base| {
        let mut a = sent(base, &[], &[5]);
        a.nack(5, 6);
        a.acks(Port::LINK, 3, 1);
        a.sender_sends([5, 7]);
        assert_eq!(a.count(events::ICN_RETRANSMISSION), 0);
    });
}

#[test]
fn the_fifo_holds_as_many_packets_as_configured() {
    anywhere(|base| {
        let mut a = Bench::new(base, &[("rate", "1Mbit"), ("buffer_packets", "7")]);
        for number in 0..20 {
            a.inner(a.data(number));
        }
        assert_eq!((a.held(), a.harness.ledger.discarded.get(DropReason::QUEUE_FULL)), (7, 12), "one is on the link");
    });
}

#[test]
fn the_fifo_is_as_long_as_the_links_own_queue_unless_configured() {
    anywhere(|base| {
        let mut a = Bench::new(base, &[("rate", "1Mbit")]);
        for number in 0..200 {
            a.inner(a.data(number));
        }
        assert_eq!(a.held(), 140);
    });
}

#[test]
fn what_is_no_tcp_passes_at_once() {
    let mut a = Bench::new(0, &[]);
    let (source, destination) = (flow().source, flow().destination);
    let opaque = || Packet::opaque(source, destination, 50, bytes::Bytes::from_static(&[1; 64]));
    a.inner(opaque());
    a.link(opaque());
    assert_eq!((a.harness.io.link.len(), a.harness.io.inner.len()), (1, 1));
}
