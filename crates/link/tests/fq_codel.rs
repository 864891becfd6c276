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

/// When the last of ten packets has arrived that a flow sends at once beside ten flows that always have something to send.
fn request_beside_bulk(keys: &str) -> Duration {
    let mut link = fq_codel(&format!(", limit = \"100000packets\", quantum = 1500, ways = 8{keys}"));
    for bulk in (1..=10).flat_map(|flow| [flow; 60]) {
        link.send(at(0), of_flow(bulk, 1500), &mut |_, _| {});
    }
    let sent = at(300_000_000);
    run_until(&mut link, sent, &mut |_, _| {}, &mut |_, _, _| {});
    for _ in 0..10 {
        link.send(sent, of_flow(99, 1500), &mut |_, _| {});
    }
    let mut last = sent;
    let mut on_arrival = |at, packet| {
        if port(&packet) == 99 {
            last = at;
        }
    };
    run_until(&mut link, Instant::MAX, &mut on_arrival, &mut |_, _, _| {});
    last.saturating_since(sent)
}

#[test]
fn a_request_with_a_head_start_waits_for_no_turn_of_all_downloads() {
    let ms = Duration::from_millis;
    assert!(request_beside_bulk("") > ms(90), "nine rounds of ten packets");
    assert!(request_beside_bulk(", head_start = 15000") <= ms(22), "every second packet of a millisecond");
    assert!(request_beside_bulk(", head_start = 7500") > ms(45), "half of it has one");
}

#[test]
fn flows_that_begin_one_after_the_other_leave_half_of_the_link_to_others() {
    // New flows bring 18 Mbit/s, all with a head start, and an old one that fills the link.
    let mut link = fq_codel(
        ", limit = \"100000packets\", flows = 8192, ways = 8, head_start = 15000, target = \"5s\", interval = \"100s\"",
    );
    let mut old = 0;
    for ms in 0..4000u64 {
        let mut on_arrival = |_, packet: airtcp_core::Packet| {
            old += u64::from(ms >= 1000 && port(&packet) == 1) * u64::from(packet.wire_len());
        };
        run_until(&mut link, at(ms * 1_000_000), &mut on_arrival, &mut |_, _, _| {});
        link.send(at(ms * 1_000_000), of_flow(1, 1500), &mut |_, _| {});
        for half in 0..3 {
            link.send(at(ms * 1_000_000), of_flow(100 + ((ms * 3 + half) / 20) as u16, 750), &mut |_, _| {});
        }
    }
    let share = old as f64 / 4_500_000.0;
    // RFC 8290 sends the first quantum of each ahead of all: a tenth of what they bring.
    assert!((0.38..0.5).contains(&share), "{share} of the link");
}

#[test]
fn short_packets_with_a_head_start_need_not_wait_for_a_long_one_each() {
    // Eight flows of 240 bytes each 8 ms, 1.92 Mbit/s, beside eight that fill 5 Mbit/s: they have 60 kB after 2 s.
    let queue = "{ kind = \"fq-codel\", ways = 8, head_start = 60000, target = \"5s\", interval = \"100s\" }";
    let mut link = link(&[("rate", "5Mbit"), ("queue", queue)]);
    let (mut bulk, mut longest) = ([0; 8], Duration::ZERO);
    let mut sent = std::collections::VecDeque::new();
    for ms in 0..1800u64 {
        let now = at(ms * 1_000_000);
        let mut on_arrival = |at: Instant, packet: airtcp_core::Packet| match port(&packet) {
            flow @ 1..=8 => bulk[usize::from(flow) - 1] -= 1,
            20 => longest = longest.max(at.saturating_since(sent.pop_front().expect("it was sent"))),
            _ => {}
        };
        run_until(&mut link, now, &mut on_arrival, &mut |_, _, _| {});
        for flow in 1..=8u16 {
            let waiting = &mut bulk[usize::from(flow) - 1];
            for _ in *waiting..7 {
                link.send(now, of_flow(flow, 1500), &mut |_, _| {});
            }
            *waiting = 7;
        }
        for call in (20..28).filter(|_| ms % 8 == 0) {
            link.send(now, of_flow(call, 240), &mut |_, _| {});
        }
        sent.extend((ms % 8 == 0).then_some(now));
    }
    assert!(longest < Duration::from_millis(60), "two rounds at most: {longest}");
}

#[test]
fn a_flow_whose_packets_wait_for_longer_than_a_second_is_not_idle() {
    let keys = ", limit = \"100000packets\", quantum = 1500, ways = 8, head_start = 15000, target = \"5s\", interval = \"100s\"";
    let mut link = fq_codel(keys);
    for flow in (1..=10).flat_map(|flow| [flow; 300]) {
        link.send(at(0), of_flow(flow, 1500), &mut |_, _| {});
    }
    let now = at(1_500_000_000);
    run_until(&mut link, now, &mut |_, _| {}, &mut |_, _, _| {});
    link.send(now, of_flow(1, 1500), &mut |_, _| {});
    let mut count = 0;
    let mut on_arrival = |_, packet| count += u32::from(port(&packet) == 1);
    run_until(&mut link, now + Duration::from_millis(100), &mut on_arrival, &mut |_, _, _| {});
    assert!(count <= 11, "{count} of a hundred packets of ten flows");
}

#[test]
fn a_sender_that_waited_for_an_acknowledgment_in_vain_has_no_head_start() {
    let ahead = |repeats: bool| {
        let mut link = fq_codel(", limit = \"100000packets\", quantum = 1500, ways = 8, head_start = 15000");
        for n in 0..20 {
            link.send(at(0), segment(1, n * 1460, 1500), &mut |_, _| {});
        }
        run_until(&mut link, at(2_000_000_000), &mut |_, _| {}, &mut |_, _, _| {});
        let now = at(2_000_000_000);
        for flow in (2..=11).flat_map(|flow| [flow; 30]) {
            link.send(now, of_flow(flow, 1500), &mut |_, _| {});
        }
        run_until(&mut link, at(2_250_000_000), &mut |_, _| {}, &mut |_, _, _| {});
        for n in 0..5 {
            link.send(at(2_250_000_000), segment(1, (n + if repeats { 15 } else { 20 }) * 1460, 1500), &mut |_, _| {});
        }
        let mut count = 0;
        let mut on_arrival = |_, packet: airtcp_core::Packet| count += u32::from(packet.tcp().is_some());
        run_until(&mut link, at(2_263_000_000), &mut on_arrival, &mut |_, _, _| {});
        count
    };
    assert_eq!([false, true].map(ahead), [5, 2]);
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

/// How many of eight flows with eight queues have a packet among the first eight that leave, when all have sent many.
fn served_first(keys: &str) -> usize {
    let mut link = fq_codel(&format!(", flows = 8, quantum = 1500{keys}"));
    for flow in (1..=8).flat_map(|flow| [flow; 10]) {
        link.send(at(0), of_flow(flow, 1500), &mut |_, _| {});
    }
    let mut order = Vec::new();
    run_until(&mut link, Instant::MAX, &mut |_, packet| order.push(port(&packet)), &mut |_, _, _| {});
    assert_eq!(order.len(), 80);
    order[..8].iter().collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn flows_share_no_queue_while_one_of_their_set_is_free() {
    assert_eq!(served_first(", ways = 8"), 8);
    assert!(served_first("") < 8, "by the hash alone some share");
}

/// One flow sends twice the link's rate, and every tenth segment once more; how many are dropped in ten seconds of those that are sent
/// once, and of the others, either copy.
fn dropped_of_one_flow(keys: &str) -> [u64; 2] {
    let mut link = fq_codel(keys);
    let mut dropped = [0; 2];
    for half in 0..20_000u64 {
        let (now, number) = (at(half * 500_000), half as u32);
        let is_repeat = number % 10 == 9;
        let packet = segment(1, if is_repeat { number - 5 } else { number } * 1460, 1500);
        let mut on_drop = |packet: &airtcp_core::Packet| {
            let is_of_one_sent_twice = packet.tcp().unwrap().sequence.0 / 1460 % 10 == 4;
            dropped[usize::from(is_of_one_sent_twice)] += 1;
        };
        run_until(&mut link, now, &mut |_, _| {}, &mut |_, packet, _| on_drop(&packet));
        link.send(now, packet, &mut |packet, _| on_drop(&packet));
    }
    dropped
}

#[test]
fn what_is_sent_again_is_not_dropped() {
    // Of ten segments one is sent twice: its first copy may be dropped, its second one not.
    let [others, twice] = dropped_of_one_flow("");
    let [others_now, twice_now] = dropped_of_one_flow(", spares_repeats = true");
    let share = |twice: u64, others: u64| twice as f64 / others as f64;
    assert!(share(twice, others) > 0.2, "both copies alike: {twice} of {others}");
    assert!(share(twice_now, others_now) < 0.15, "the first copy alone: {twice_now} of {others_now}");
    let (before, now) = (others + twice, others_now + twice_now);
    assert!(now * 5 > before * 4, "others are dropped in its place: {now} of {before}");
}

/// A connection's stream ends at 902,000. Then `first` comes, and ten segments from `from` on with an acknowledgment behind the second;
/// the order in which they are dropped where there is room for four.
fn dropped_after(first: airtcp_core::Packet, from: u32) -> Vec<u32> {
    let mut link = fq_codel(", spares_repeats = true, limit = \"4packets\"");
    for sequence in [900_000, 901_000] {
        send(&mut link, at(0), segment(1, sequence, 1040));
    }
    let now = at(50_000_000);
    run_until(&mut link, now, &mut |_, _| {}, &mut |_, _, _| panic!("a drop"));
    send(&mut link, now, first);
    let mut packets: Vec<_> = (0..10).map(|number| segment(1, from + number * 1000, 1040)).collect();
    packets.insert(2, acknowledgment(1, ACKNOWLEDGMENT));
    let mut dropped = Vec::new();
    for packet in packets {
        link.send(now, packet, &mut |packet, _| dropped.push(packet.tcp().unwrap().sequence.0));
    }
    dropped
}

const ACKNOWLEDGMENT: u32 = 777;

#[test]
fn only_what_the_same_connection_has_sent_before_is_spared() {
    // What is new goes from the head, the acknowledgment among it; what was sent before stays, so the acknowledgment goes at once.
    let in_order = |from| [from, from + 1000, ACKNOWLEDGMENT, from + 2000];
    let again = dropped_after(segment(1, 902_000, 1040), 1001);
    assert_eq!(again[..2], [ACKNOWLEDGMENT, 1001]);
    // The first segment of another connection.
    assert_eq!(dropped_after(begin(1, 1000), 1001)[..4], in_order(1001));
    // Neither an acknowledgment from anywhere nor data that cannot be of this stream makes its next data old.
    assert_eq!(dropped_after(acknowledgment(1, 5_000_000), 902_000)[..4], in_order(902_000));
    assert_eq!(dropped_after(segment(1, 40_000_000, 1040), 902_000)[..4], in_order(902_000));
}

#[test]
fn a_guest_of_a_full_set_is_not_overtaken_by_itself_when_a_queue_gets_free() {
    // Twelve flows and eight queues, in one set or in two. Eight flows end one by one, and the others go on.
    for ways in [4, 8] {
        let long = "limit = \"100000packets\", target = \"10s\", interval = \"30s\"";
        let mut link = fq_codel(&format!(", flows = 8, ways = {ways}, {long}"));
        let mut next = BTreeMap::<u16, u32>::new();
        let mut on_arrival = |packet: &airtcp_core::Packet| {
            let tcp = packet.tcp().unwrap();
            let expected = next.entry(tcp.source_port).or_default();
            assert_eq!(tcp.sequence.0, *expected, "flow {}", tcp.source_port);
            *expected += 1460;
        };
        for round in 0..60u32 {
            let now = at(u64::from(round) * 5_000_000);
            run_until(&mut link, now, &mut |_, packet| on_arrival(&packet), &mut |_, _, _| panic!("a drop"));
            for flow in (1..=12u16).filter(|flow| *flow > 8 || round < 3 * u32::from(*flow)) {
                assert_eq!(send(&mut link, now, segment(flow, round * 1460, 1500)), None);
            }
        }
        run_until(&mut link, Instant::MAX, &mut |_, packet| on_arrival(&packet), &mut |_, _, _| panic!("a drop"));
        assert_eq!(next[&12], 60 * 1460);
    }
}

#[test]
fn what_waits_for_too_long_is_dropped_but_for_repeats_and_the_last_four() {
    // Forty packets come at once, and each takes a millisecond; the target is 5 ms and the interval 10.
    let arrived = |keys: &str| {
        let mut link = fq_codel(&format!(", target = \"5ms\", interval = \"10ms\"{keys}"));
        for number in (1..36).chain([0, 36, 37, 38, 39]) {
            send(&mut link, at(0), segment(1, number * 1460, 1500));
        }
        let mut arrived = Vec::new();
        let mut on_arrival = |_, packet: airtcp_core::Packet| arrived.push(packet.tcp().unwrap().sequence.0 / 1460);
        run_until(&mut link, Instant::MAX, &mut on_arrival, &mut |_, _, _| {});
        arrived
    };
    let bounded = arrived(", overdue = 1, spares_repeats = true");
    assert!(bounded.ends_with(&[0, 36, 37, 38, 39]), "the repeat, and four: {bounded:?}");
    assert!(!bounded.contains(&35) && bounded.contains(&15), "{bounded:?}");
    assert!(arrived("").contains(&35) && arrived("").len() > bounded.len());
    assert!(!arrived(", overdue = 1").contains(&0));
}

#[test]
fn after_many_repeats_one_drop_is_due_and_not_all_that_time_would_have_brought() {
    // A queue that has dropped for long, then a second of repeats, then new data.
    let mut link = fq_codel(", spares_repeats = true, limit = \"100000packets\"");
    for number in 0..1500u32 {
        send(&mut link, at(0), segment(1, number * 1460, 1500));
    }
    for number in (0..1000u32).chain(1500..1600) {
        send(&mut link, at(0), segment(1, number * 1460, 1500));
    }
    let mut dropped = BTreeMap::<Instant, usize>::new();
    run_until(&mut link, Instant::MAX, &mut |_, _| {}, &mut |at, _, _| *dropped.entry(at).or_default() += 1);
    assert!(dropped.len() > 5 && dropped.values().all(|at_once| *at_once <= 2), "{dropped:?}");
}

#[test]
fn what_is_sent_again_is_bounded_with_the_rest_of_its_queue() {
    let mut link = fq_codel(", spares_repeats = true, limit = \"10packets\"");
    let mut dropped = 0;
    for sequence in (0..100).rev() {
        link.send(at(0), segment(1, sequence * 1460, 1500), &mut |_, _| dropped += 1);
    }
    assert!(link.backlog(at(0)).packets <= 11, "{:?}", link.backlog(at(0)));
    assert!(dropped >= 89, "{dropped}");
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
    let (bounded, dropped) = longest(", overdue = 2", Ecn::Ect0);
    // 5 ms and two intervals of 100, and the packets on the link.
    assert!(bounded < Duration::from_millis(225) && dropped > 9000, "{bounded} {dropped}");
    let (other, _) = longest(", overdue = 2", Ecn::NotEct);
    assert!(other < Duration::from_millis(225), "{other}");
}
