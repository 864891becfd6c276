//! FQ-CoDel serves flows alike and lets those that send little pass (RFC 8290).

use crate::common::*;
use airtcp_core::{DropReason, Duration, Ecn, Instant};
use airtcp_link::Link;
use std::collections::BTreeMap;

/// A link on which a packet of 1500 bytes takes a millisecond.
fn fq_codel(keys: &str) -> Link {
    link(&[("rate", "12Mbit"), ("queue", &format!("{{ kind = \"fq-codel\"{keys} }}"))])
}

/// Sends for `seconds`, from each port packets of its length at its distance in µs; gives the IP bytes that arrived.
fn shares(link: &mut Link, seconds: u64, senders: &[(u16, u32, u64)]) -> BTreeMap<u16, u64> {
    let mut arrived = BTreeMap::new();
    for micros in 0..seconds * 1_000_000 {
        let now = at(micros * 1000);
        let mut on_arrival = |_, packet: airtcp_core::Packet| {
            *arrived.entry(port(&packet)).or_default() += u64::from(packet.wire_len());
        };
        run_until(link, now, &mut on_arrival, &mut |_, _, _| {});
        for (port, bytes, _) in senders.iter().filter(|(.., distance)| micros.is_multiple_of(*distance)) {
            link.send(now, of_flow(*port, *bytes), &mut |_, _| {});
        }
    }
    arrived
}

#[test]
fn flows_of_very_different_rates_get_equal_shares() {
    // 30 and 8 Mbit/s into 12 Mbit/s.
    let arrived = shares(&mut fq_codel(""), 10, &[(1, 1500, 400), (2, 1500, 1500)]);
    let ratio = arrived[&1] as f64 / arrived[&2] as f64;
    assert!((ratio - 1.0).abs() < 0.01, "{arrived:?}");
}

#[test]
fn shares_are_of_bytes_not_of_packets() {
    let arrived = shares(&mut fq_codel(""), 10, &[(1, 1500, 500), (2, 300, 100)]);
    let ratio = arrived[&1] as f64 / arrived[&2] as f64;
    assert!((ratio - 1.0).abs() < 0.01, "{arrived:?}");
}

#[test]
fn drop_tail_shares_by_rate_instead() {
    let mut link = link(&[("rate", "12Mbit"), ("queue", "50packets")]);
    let arrived = shares(&mut link, 10, &[(1, 1500, 400), (2, 1500, 1500)]);
    assert!(arrived[&1] > 3 * arrived[&2], "the test above would show nothing: {arrived:?}");
}

#[test]
fn a_sparse_flow_does_not_wait_behind_bulk_flows() {
    let mut link = fq_codel(", limit = \"100000packets\"");
    for _ in 0..100 {
        for bulk in 1..=10 {
            send(&mut link, at(0), of_flow(bulk, 1500));
        }
    }
    for n in 1..20 {
        let now = at(n * 20_300_000);
        run_until(&mut link, now, &mut |_, _| {}, &mut |_, _, _| {});
        assert!(link.backlog(now).packets > 100, "the bulk flows still wait");
        send(&mut link, now, of_flow(99, 100));
        let mut wait = Duration::MAX;
        let mut on_arrival = |at: Instant, packet| {
            if port(&packet) == 99 {
                wait = at.saturating_since(now);
            }
        };
        run_until(&mut link, now + Duration::from_millis(20), &mut on_arrival, &mut |_, _, _| {});
        // At most the packet in transmission (1 ms) and its own transmission.
        assert!(wait <= Duration::from_micros(1067), "{wait}");
    }
}

#[test]
fn flows_that_send_little_again_and_again_starve_nobody() {
    // Each of three flows sends a packet half a millisecond after its last one arrived, when its queue has just been
    // found empty: if it were new then, there would always be a new queue to serve.
    let mut link = fq_codel(", limit = \"100000packets\"");
    for _ in 0..3000 {
        send(&mut link, at(0), of_flow(1, 1500));
    }
    let mut arrived = BTreeMap::<u16, u64>::new();
    let mut next = BTreeMap::from([(2, 0), (3, 0), (4, 0)]);
    for half in 0..2000 {
        let now = at(half * 500_000);
        let mut on_arrival = |_, packet: airtcp_core::Packet| {
            *arrived.entry(port(&packet)).or_default() += 1;
            next.insert(port(&packet), half + 1);
        };
        run_until(&mut link, now, &mut on_arrival, &mut |_, _, _| {});
        for flow in 2..=4 {
            if next[&flow] == half {
                link.send(now, of_flow(flow, 1500), &mut |_, _| {});
            }
        }
    }
    assert!(arrived[&1] > 200, "a quarter of 1000 packets: {arrived:?}");
}

#[test]
fn overflow_takes_the_head_of_the_longest_queue() {
    for limit in ["limit = \"10packets\"", "limit = \"15kB\"", "memory = \"20kB\""] {
        let mut link = fq_codel(&format!(", {limit}"));
        for _ in 0..4 {
            assert_eq!(send(&mut link, at(0), of_flow(2, 1500)), None);
        }
        let (mut dropped, mut taken) = (Vec::new(), 0);
        for _ in 0..20 {
            let drops = &mut |packet: airtcp_core::Packet, reason| dropped.push((port(&packet), reason));
            taken += u32::from(link.send(at(0), of_flow(1, 1500), drops));
        }
        assert_eq!(taken, 20, "a newcomer drives out an older packet of its flow: {limit}");
        assert!(dropped.len() > 10, "{limit}: {}", dropped.len());
        assert!(dropped.iter().all(|drop| *drop == (1, DropReason::QUEUE_FULL)), "{limit}: {dropped:?}");
    }
}

#[test]
fn each_flow_has_a_codel_of_its_own() {
    // Flow 1 overloads the link, flow 2 sends a tenth of its share.
    let mut link = fq_codel("");
    let mut dropped = BTreeMap::<u16, u64>::new();
    for half in 0..20_000u64 {
        let now = at(half * 500_000);
        let mut on_drop = |packet: &airtcp_core::Packet| *dropped.entry(port(packet)).or_default() += 1;
        run_until(&mut link, now, &mut |_, _| {}, &mut |_, packet, _| on_drop(&packet));
        link.send(now, of_flow(1, 1500), &mut |packet, _| on_drop(&packet));
        if half % 40 == 0 {
            link.send(now, of_flow(2, 1500), &mut |packet, _| on_drop(&packet));
        }
    }
    assert!(dropped[&1] > 100 && !dropped.contains_key(&2), "{dropped:?}");
}

#[test]
fn the_seed_decides_which_flows_share_a_queue() {
    // With two queues, flows 2 to 9 share flow 1's queue or not: what comes at the same time tells by its order.
    let order = |seed| {
        let settings = settings(&[("rate", "12Mbit"), ("queue", "{ kind = \"fq-codel\", flows = 2, quantum = 1500 }")]);
        let mut link = Link::new(&settings, seed, "link");
        for _ in 0..3 {
            for flow in 1..10 {
                link.send(at(0), of_flow(flow, 1500), &mut |_, _| {});
            }
        }
        let mut order = Vec::new();
        run_until(&mut link, Instant::MAX, &mut |_, packet| order.push(port(&packet)), &mut |_, _, _| {});
        order
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn a_sender_that_heeds_no_marks_waits_no_longer_than_it_is_told() {
    // Twice the link's rate for ten seconds: without a bound, five of them wait in the end.
    let longest = |keys: &str, ecn| {
        let mut link = fq_codel(keys);
        let (mut wait, mut dropped) = (Duration::ZERO, 0);
        let mut sent = std::collections::VecDeque::new();
        for half in 0..20_000u64 {
            let now = at(half * 500_000);
            let mut on_arrival = |at: Instant, _| {
                let since: Instant = sent.pop_front().unwrap();
                wait = wait.max(at.saturating_since(since));
            };
            // Heads that are dropped are taken from `sent` behind what arrives in the same call, so an arrival may count the
            // longer wait of a head before it: `wait` is an upper bound.
            let mut heads = 0;
            run_until(&mut link, now, &mut on_arrival, &mut |_, _, _| heads += 1);
            sent.drain(..heads.min(sent.len()));
            dropped += heads;
            let mut packet = of_flow(1, 1500);
            packet.set_ecn(ecn);
            sent.push_back(now);
            link.send(now, packet, &mut |_, _| {});
        }
        (wait, dropped)
    };
    let (unbounded, none) = longest("", Ecn::Ect0);
    assert!(unbounded > Duration::from_secs(4) && none == 0, "{unbounded} {none}");
    let (bounded, dropped) = longest(", unheeded = 2", Ecn::Ect0);
    // 5 ms and two intervals of 100, and the packets on the link.
    assert!(bounded < Duration::from_millis(225) && dropped > 9000, "{bounded} {dropped}");
    let (other, _) = longest(", unheeded = 2", Ecn::NotEct);
    assert!(other > bounded, "what is dropped anyway is CoDel's: {other}");
}
