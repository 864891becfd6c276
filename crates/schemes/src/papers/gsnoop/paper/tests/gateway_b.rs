//! Gateway B: GSN-8 … GSN-13, and what it leaves alone.

use super::bench::{Bench, GUARD, MS, RTT, anywhere, flow, segment};
use crate::papers::gsnoop::events;
use airtcp_core::{DropReason, Duration, Event, Port, Rate, SeqNum, TcpFlags, control};
use std::vec;

/// 4 is lost; 5, 6 and 7 lead to the NACK.
fn ask_for_4(base: u32, settings: &[(&str, &str)]) -> Bench {
    let mut b = Bench::new(base, settings);
    b.off_link(0..4);
    b.acks(Port::INNER, 4, 1);
    b.off_link(5..8);
    assert_eq!(b.nacks(), [(4, 5)]);
    b.harness.io.link.clear();
    b
}

/// The paper's example up to the repair: 8, 9 and 10 arrive, then 4.
fn worked_example(base: u32) -> Bench {
    let mut b = ask_for_4(base, &[]);
    b.off_link([8, 9, 10, 4]);
    b
}

#[test]
fn spec_8_12_worked_example_six_are_suppressed_and_the_seventh_passes() {
    anywhere(|base| {
        let mut b = worked_example(base);
        b.acks(Port::INNER, 4, 6);
        assert_eq!((b.acks_over_link(), b.count(Event::ACK_SUPPRESSED)), (vec![], 6));
        b.acks(Port::INNER, 4, 1);
        assert_eq!((b.acks_over_link(), b.count(Event::ACK_SUPPRESSED)), (vec![4], 6));
    });
}

/// GSN-C8 is the same example: O3_counter = 6.
#[test]
fn gsn_c8_worked_example_of_o3_counter_and_suppression() {
    anywhere(|base| {
        let mut b = worked_example(base);
        assert_eq!(b.delivered(), [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 4], "data goes on in the order it arrives");
        b.acks(Port::INNER, 4, 9);
        assert_eq!(b.acks_over_link().len(), 3);
        assert_eq!(b.harness.ledger.discarded.get(DropReason::DUPLICATE), 6);
    });
}

#[test]
fn gsn_9_a_nack_names_the_flow_and_the_range_in_52_bytes_and_28_of_ours() {
    anywhere(|base| {
        let b = ask_for_4(base, &[]);
        let nack = b.harness.io.control.last().unwrap();
        // The paper has about 64, without a header of its own behind UDP's.
        let on_the_wire = nack.len() + control::overhead(false, false) as usize;
        assert_eq!((on_the_wire - control::HEADER_LEN, on_the_wire), (52, 80));
        let range = (b.sequence(4), b.sequence(5));
        assert_eq!(nack, &crate::papers::gsnoop::Message::Nack(flow(), vec![range]).encode());
    });
}

#[test]
fn gsn_11_the_acknowledgment_of_the_repair_itself_passes() {
    anywhere(|base| {
        let mut b = worked_example(base);
        b.acks(Port::INNER, 4, 2);
        b.acks(Port::INNER, 11, 1);
        b.acks(Port::INNER, 4, 1);
        assert_eq!(b.acks_over_link(), [11, 4], "what was overtaken is no duplicate to the sender");
        b.acks(Port::INNER, 11, 1);
        assert_eq!(b.acks_over_link(), [11], "what is left of the counter is for no other number");
    });
}

#[test]
fn gsn_11_window_updates_and_acks_with_data_are_not_suppressed() {
    anywhere(|base| {
        let mut b = worked_example(base);
        b.acks(Port::INNER, 4, 1);
        let (update, data) = (b.ack_with(4, 2000, 0), b.ack_with(4, 2000, 500));
        let fin = segment(&flow().reversed(), SeqNum(9), b.sequence(4), TcpFlags::ACK.with(TcpFlags::FIN), 2000, 0);
        for packet in [update, data, fin] {
            b.inner(packet);
            b.pass(MS);
            assert_eq!(b.harness.io.link.drain(..).count(), 1);
        }
        assert_eq!(b.count(Event::ACK_SUPPRESSED), 1);
    });
}

#[test]
fn gsn_12_without_a_repair_in_rtt_and_guard_nothing_is_suppressed() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.pass(RTT + GUARD + MS);
        assert_eq!(b.count(events::REPAIR_TIMEOUT), 1);
        b.off_link([8, 4]);
        b.acks(Port::INNER, 4, 5);
        assert_eq!(b.acks_over_link(), [4; 5]);
        assert_eq!(b.count(Event::ACK_SUPPRESSED), 0);
    });
}

#[test]
fn gsn_12_a_repair_just_within_rtt_and_guard_is_in_time() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.pass(RTT + GUARD - MS);
        b.off_link([4]);
        b.acks(Port::INNER, 4, 5);
        assert_eq!((b.acks_over_link().len(), b.count(Event::ACK_SUPPRESSED)), (2, 3));
    });
}

#[test]
fn gsn_13_duplicates_beyond_the_counter_pass_and_reach_the_sender() {
    anywhere(|base| {
        // The repair is lost again downstream: the receiver goes on asking for 4.
        let mut b = worked_example(base);
        b.acks(Port::INNER, 4, 6);
        b.off_link([11, 12, 13]);
        b.acks(Port::INNER, 4, 3);
        assert_eq!(b.acks_over_link(), [4, 4, 4]);
    });
}

#[test]
fn gsn_15_duplicates_of_a_loss_downstream_pass_untouched() {
    anywhere(|base| {
        let mut b = Bench::new(base, &[]);
        b.off_link(0..10);
        b.acks(Port::INNER, 4, 6);
        assert_eq!(b.acks_over_link(), [4; 6]);
        assert_eq!((b.nacks(), b.held()), (vec![], 0));
    });
}

#[test]
fn gsn_u8_the_guard_is_half_the_round_trip_or_four_packet_times() {
    anywhere(|base| {
        for (rate, guard) in [("80Mbit", MS * 5), ("6Mbit", MS * 8)] {
            let mut b = ask_for_4(base, &[("rate", rate), ("guard", "auto")]);
            b.pass(RTT + guard - MS);
            assert_eq!(b.count(events::REPAIR_TIMEOUT), 0, "{rate}");
            b.pass(MS * 2);
            assert_eq!(b.count(events::REPAIR_TIMEOUT), 1, "{rate}");
        }
    });
}

#[test]
fn gsn_u10_duplicates_of_the_second_hole_are_not_those_of_the_first() {
    anywhere(|base| {
        let mut b = Bench::new(base, &[]);
        b.off_link([0]);
        b.acks(Port::INNER, 1, 1);
        // 1 and 4 are lost. Five duplicates name 1; then 4 is the lowest, and 8 and 9 come before its repair.
        b.off_link([2, 3, 5, 6, 7, 1, 8, 9, 4]);
        b.acks(Port::INNER, 1, 5);
        b.acks(Port::INNER, 4, 1);
        b.acks(Port::INNER, 4, 3);
        assert_eq!(b.acks_over_link(), [1, 4, 4], "two for the second hole, as many as named it");
        assert_eq!(b.count(Event::ACK_SUPPRESSED), 7);
    });
}

#[test]
fn gsn_u11_duplicates_before_the_repair_are_held_and_dropped_when_it_passes() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.acks(Port::INNER, 4, 3);
        assert_eq!((b.acks_over_link(), b.held()), (vec![], 3));
        b.off_link([8, 4]);
        assert_eq!((b.held(), b.count(Event::ACK_SUPPRESSED)), (0, 3));
        b.acks(Port::INNER, 4, 2);
        assert_eq!(b.acks_over_link(), [4], "four in all, held or not");
    });
}

#[test]
fn gsn_u11_held_duplicates_go_on_when_the_repair_does_not_come() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.acks(Port::INNER, 4, 3);
        b.pass(RTT + GUARD);
        assert_eq!((b.acks_over_link(), b.held()), (vec![4, 4, 4], 0));
        assert_eq!(b.count(events::ACK_RELEASED), 3);
    });
}

#[test]
fn gsn_u11_more_held_duplicates_than_the_counter_says_go_on_with_the_repair() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.acks(Port::INNER, 4, 5);
        b.off_link([4]);
        b.pass(MS);
        assert_eq!((b.acks_over_link(), b.count(Event::ACK_SUPPRESSED)), (vec![4, 4], 3));
    });
}

#[test]
fn gsn_u11_duplicates_that_passed_before_the_nack_are_among_those_counted() {
    anywhere(|base| {
        let mut b = Bench::new(base, &[]);
        b.off_link(0..4);
        b.acks(Port::INNER, 4, 1);
        b.off_link([5, 6]);
        b.acks(Port::INNER, 4, 2);
        b.off_link([7, 4]);
        b.acks(Port::INNER, 4, 2);
        assert_eq!(b.acks_over_link(), [4, 4, 4, 4]);
        assert_eq!(b.count(Event::ACK_SUPPRESSED), 1, "three came before the repair, two of them had passed");
    });
}

#[test]
fn gsn_u11_what_is_held_is_bounded() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[("held_acks", "5")]);
        b.acks(Port::INNER, 4, 8);
        assert_eq!((b.held(), b.acks_over_link()), (5, vec![4, 4, 4]));
    });
}

#[test]
fn gsn_u12_a_lost_repair_is_asked_for_once_more_only_as_an_option() {
    anywhere(|base| {
        for (ask_again, requests) in [("false", 1), ("true", 2)] {
            let mut b = ask_for_4(base, &[("ask_again", ask_again)]);
            b.acks(Port::INNER, 4, 1);
            b.pass(RTT + GUARD + MS);
            assert_eq!((b.nacks().len(), b.held()), (requests, requests - 1));
            b.pass((RTT + GUARD) * 2);
            assert_eq!((b.nacks().len(), b.held()), (requests, 0));
        }
    });
}

#[test]
fn gsn_u15_a_reset_or_an_acknowledged_fin_ends_the_flow_and_lets_go_what_is_held() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.acks(Port::INNER, 4, 2);
        b.link(segment(&flow(), b.sequence(8), SeqNum(9), TcpFlags::RST, 0, 0));
        b.pass(MS);
        assert_eq!((b.held(), b.acks_over_link(), b.harness.element.downstream.flow_count()), (0, vec![4, 4], 0));

        let mut b = Bench::new(base, &[]);
        b.off_link(0..2);
        b.link(segment(&flow(), b.sequence(2), SeqNum(9), TcpFlags::ACK.with(TcpFlags::FIN), 1000, 0));
        assert_eq!(b.harness.element.downstream.flow_count(), 1);
        b.inner(segment(&flow().reversed(), SeqNum(9), b.sequence(2) + 1, TcpFlags::ACK, 1000, 0));
        assert_eq!(b.harness.element.downstream.flow_count(), 0);
    });
}

#[test]
fn gsn_u15_a_flow_that_is_silent_for_a_minute_is_forgotten() {
    anywhere(|base| {
        let mut b = Bench::new(base, &[("idle", "2s")]);
        b.off_link(0..2);
        b.pass(Duration::from_millis(1900));
        assert_eq!(b.harness.element.downstream.flow_count(), 1);
        b.pass(MS * 300);
        assert_eq!(b.harness.element.downstream.flow_count(), 0);
    });
}

#[test]
fn a_new_connection_on_the_same_ports_starts_afresh() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.link(segment(&flow(), b.sequence(500_000), SeqNum(0), TcpFlags::SYN, 1000, 0));
        b.pass(RTT + GUARD + MS);
        assert_eq!(b.count(events::REPAIR_TIMEOUT), 0);
    });
}

#[test]
fn a_corrupted_packet_counts_as_lost() {
    anywhere(|base| {
        let mut b = Bench::new(base, &[]);
        b.off_link(0..4);
        let mut damaged = b.data(4);
        damaged.mark_corrupted();
        b.link(damaged);
        b.off_link(5..8);
        assert_eq!((b.nacks(), b.count(Event::CHECKSUM_BAD)), (vec![(4, 5)], 1));
    });
}

#[test]
fn without_the_other_end_everything_passes_and_nothing_is_kept() {
    anywhere(|base| {
        let mut b = ask_for_4(base, &[]);
        b.acks(Port::INNER, 4, 2);
        for _ in 0..11_000 {
            b.now += MS / 10;
            b.harness.tick(b.now);
        }
        assert_eq!((b.count(Event::PEER_DOWN), b.held(), b.acks_over_link()), (1, 0, vec![4, 4]));
        b.off_link([20, 22, 23, 24, 25]);
        assert_eq!(b.nacks().len(), 1, "only the one from before");
    });
}

#[test]
fn gsn_u8_the_guard_follows_the_rate_of_the_queue() {
    let mut b = Bench::new(0, &[("guard", "auto")]);
    let gateway = &mut b.harness.element;
    assert_eq!(gateway.timing().guard, MS * 5, "half the round trip at 80 Mbit/s");
    gateway.upstream.fifo.egress.set_rate(Some(Rate::from_bps(3_000_000)));
    assert_eq!(gateway.timing().guard, MS * 16, "four packets of 1500 bytes");
}
