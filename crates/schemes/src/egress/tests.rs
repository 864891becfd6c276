use super::*;
use crate::testing::*;
use airtcp_core::testing::Recorder;
use airtcp_core::{ByteSize, ValueType};
use airtcp_link::Queue;
use airtcp_link::table::Table;
use std::string::ToString;
use std::vec::Vec;

fn egress(limit: Option<ByteSize>) -> Egress {
    let queue = limit.map(|limit| Queue::read(&limit.to_string().into()).unwrap());
    with_site(|site| Egress::new(EgressSettings::at(site, None, queue.as_ref()), site.rng))
}

#[test]
fn a_scheme_that_owns_its_queue_takes_every_discipline_of_a_link_by_name() {
    let owners = crate::SCHEMES.iter().filter(|entry| {
        entry.fields().iter().any(|field| field.name == "queue" && field.kind == <Queue as ValueType>::KIND)
    });
    let owners: Vec<_> = owners.collect();
    let slugs: Vec<_> = owners.iter().map(|entry| entry.slug).collect();
    assert_eq!(
        slugs,
        ["gsnoop", "fast-tcp", "decoupling", "header-hop", "local-recovery", "snoop", "eln", "arq", "fec", "autorate"]
    );
    for entry in owners {
        for kind in Queue::KINDS {
            let queue = std::format!("{{ kind = \"{}\" }}", kind.name);
            let choice = entry.with([("queue", queue.as_str())]).unwrap();
            with_site(|site| assert!(choice.settings.make(site).is_ok(), "{} {}", entry.slug, kind.name));
        }
        assert!(entry.with([("queue", "{ kind = \"fq-coddel\" }")]).is_err());
    }
}

#[test]
fn a_discipline_that_is_named_serves_flows_in_turn_and_is_bounded_by_the_memory() {
    let queue = Queue::read(&"{ kind = \"fq-codel\" }".into()).unwrap();
    let (mut egress, memory) =
        with_site(|site| (Egress::new(EgressSettings::at(site, None, Some(&queue)), site.rng), site.max_memory.0));
    let (mut io, now) = (Recorder::default(), at(0));
    for n in 0..3 {
        push(&mut egress, &mut io, now, n * 1000);
    }
    let other = edited(&data(77_000), |tcp| tcp.source_port = 1001);
    with(&mut io, now, |cx| egress.push(cx, other));
    run_until(&mut egress, &mut io, at(100));
    let order: Vec<u32> = io.link.iter().map(|packet| packet.tcp().unwrap().sequence.0).collect();
    assert_eq!(order[..3].iter().filter(|sequence| **sequence == 77_000).count(), 1, "{order:?}");
    assert_eq!(egress.max_bytes, memory / 4);
}

/// What `work` did at `now`.
fn with<T>(io: &mut Recorder, now: Instant, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let mut rng = Rng::derive(1, "egress");
    let mut ledger = airtcp_core::Ledger::default();
    work(&mut Context::new(now, &mut rng, &mut ledger, io))
}

fn push(egress: &mut Egress, io: &mut Recorder, now: Instant, sequence: u32) {
    with(io, now, |cx| egress.push(cx, data(sequence)));
}

fn drain(egress: &mut Egress, io: &mut Recorder, now: Instant) {
    with(io, now, |cx| while egress.send_next(cx).is_some() {});
}

/// Lets time pass until `end`.
fn run_until(egress: &mut Egress, io: &mut Recorder, end: Instant) {
    while let Some(due) = egress.poll_timeout().filter(|due| *due <= end) {
        drain(egress, io, due);
    }
}

#[test]
fn repairs_overtake_what_waits() {
    let (mut egress, mut io) = (egress(None), Recorder::default());
    for sequence in [0, 1000, 2000] {
        push(&mut egress, &mut io, at(0), sequence);
    }
    drain(&mut egress, &mut io, at(0));
    egress.push_repair(at(0), data(9000)).unwrap();
    for millis in 0..5 {
        drain(&mut egress, &mut io, at(millis));
    }
    assert_eq!(sequences(&io.link), [0, 9000, 1000, 2000]);
}

#[test]
fn packets_leave_at_the_rate_of_the_link() {
    let (mut egress, mut io) = (egress(None), Recorder::default());
    for n in 0..60 {
        push(&mut egress, &mut io, at(0), n * 1000);
    }
    drain(&mut egress, &mut io, at(0));
    run_until(&mut egress, &mut io, at(20));
    // 1040 bytes take 693 us at 12 Mbit/s: one at once, and one after each of these in 20 ms.
    assert_eq!(io.link.len(), 29);
}

#[test]
fn a_full_queue_hands_out_what_it_drops() {
    let (mut egress, mut io) = (egress(Some(ByteSize(3200))), Recorder::default());
    for n in 0..5 {
        push(&mut egress, &mut io, at(0), n * 1000);
    }
    assert_eq!(egress.backlog().packets, 3);
    assert!(egress.check().is_err(), "what was dropped has to be discarded");
    let dropped: std::vec::Vec<Packet> =
        core::iter::from_fn(|| egress.take_dropped()).map(|(packet, _)| packet).collect();
    assert_eq!(sequences(&dropped), [3000, 4000]);
    assert_eq!(egress.check(), Ok(()));
}

#[test]
fn what_came_in_under_a_raised_limit_may_stay_when_the_limit_falls() {
    let settings = EgressSettings::new(Some(Rate::from_bps(8_000_000)), QueueSize::bytes(3200));
    let (mut egress, mut io) = (Egress::new(settings, &Rng::derive(1, "egress")), Recorder::default());
    egress.make_room(at(100), Duration::from_millis(3));
    for n in 0..7 {
        push(&mut egress, &mut io, at(0), n * 1000);
    }
    // 3200 bytes and as many as 3 ms bring, 3000.
    assert_eq!(egress.backlog().packets, 5);
    with(&mut io, at(0), |cx| egress.discard_dropped(cx));
    assert_eq!(egress.check(), Ok(()));
    push(&mut egress, &mut io, at(100), 9000);
    assert_eq!(egress.backlog().packets, 5, "3200 bytes are the limit again");
}

#[test]
fn less_room_for_a_shorter_time_takes_none_back() {
    let settings = EgressSettings::new(Some(Rate::from_bps(8_000_000)), QueueSize::bytes(3200));
    let (mut egress, mut io) = (Egress::new(settings, &Rng::derive(1, "egress")), Recorder::default());
    egress.make_room(at(100), Duration::from_millis(3));
    egress.make_room(at(50), Duration::from_millis(1));
    for n in 0..7 {
        push(&mut egress, &mut io, at(60), n * 1000);
    }
    assert_eq!(egress.backlog().packets, 5);
    egress.make_room(at(50), Duration::from_millis(6));
    with(&mut io, at(60), |cx| egress.discard_dropped(cx));
    push(&mut egress, &mut io, at(70), 9000);
    assert_eq!(egress.backlog().packets, 5, "more for a shorter time is another matter");
}

#[test]
fn acknowledgments_that_wait_are_thinned_where_each_flow_has_a_queue() {
    let acks = |queue: &str, thins: bool| {
        let queue = Queue::read(&queue.into()).unwrap();
        let settings = EgressSettings::new(Some(Rate::from_bps(8_000)), QueueSize::Fixed(queue));
        let (mut egress, mut io) = (Egress::new(settings, &Rng::derive(1, "egress")), Recorder::default());
        if thins {
            egress.thin_acks();
        }
        let other = edited(&ack(500), |tcp| tcp.source_port += 1);
        for packet in [ack(1000), ack(2000), ack(3000), other, data(0), ack(3000), ack(4000), ack(5000)] {
            with(&mut io, at(0), |cx| egress.push(cx, packet));
        }
        run_until(&mut egress, &mut io, at(60_000));
        let numbers = |packet: &Packet| packet.tcp().map_or(0, |tcp| tcp.acknowledgment.0);
        io.link.iter().filter(|packet| packet.payload_len() == 0).map(numbers).collect::<std::vec::Vec<_>>()
    };
    let mut all = acks("{ kind = \"fq-codel\", target = \"100s\", interval = \"300s\" }", false);
    all.sort_unstable();
    assert_eq!(all, [500, 1000, 2000, 3000, 3000, 4000, 5000]);
    let mut thinned = acks("{ kind = \"fq-codel\", target = \"100s\", interval = \"300s\" }", true);
    thinned.sort_unstable();
    assert_eq!(thinned, [500, 1000, 3000, 5000], "the first of a flow is on its way, and a duplicate says something");
    assert_eq!(acks("100packets", true).len(), 7);
}

#[test]
fn a_new_rate_holds_at_once_for_times_limit_and_what_waits() {
    let (mut egress, mut io) = (egress(None), Recorder::default());
    assert_eq!(egress.limit(), QueueLimit::Bytes(150_000), "100 ms at 12 Mbit/s");
    for n in 0..60 {
        push(&mut egress, &mut io, at(0), n * 1000);
    }
    drain(&mut egress, &mut io, at(0));
    run_until(&mut egress, &mut io, at(20));
    egress.set_rate(Some(Rate::from_bps(6_000_000)));
    assert_eq!(egress.limit(), QueueLimit::Bytes(75_000));
    assert_eq!(egress.transmission(750), Duration::from_millis(1));
    run_until(&mut egress, &mut io, at(40));
    // 29 packets as before; then one as the last of these is through, and one after each 1387 us.
    assert_eq!(io.link.len(), 29 + 15);
    egress.set_rate(None);
    drain(&mut egress, &mut io, at(42));
    assert_eq!(io.link.len(), 60, "without a rate all that waits leaves");
}

#[test]
fn any_discipline_of_a_link_serves() {
    let queue = Queue::read(&"{ kind = \"fq-codel\", limit = \"20packets\" }".into()).unwrap();
    let settings = EgressSettings::new(Some(Rate::from_bps(8_000_000)), QueueSize::Fixed(queue));
    let (mut egress, mut io) = (Egress::new(settings, &Rng::derive(1, "egress")), Recorder::default());
    for n in 0..30 {
        push(&mut egress, &mut io, at(0), n * 1000);
    }
    assert_eq!(egress.backlog().packets, 20);
    let dropped: std::vec::Vec<Packet> =
        core::iter::from_fn(|| egress.take_dropped()).map(|(packet, _)| packet).collect();
    assert_eq!(
        sequences(&dropped),
        std::vec::Vec::from_iter((0..10).map(|n| n * 1000)),
        "the head of the longest flow"
    );
    run_until(&mut egress, &mut io, at(100));
    assert_eq!(io.link.len(), 20);
}

#[test]
fn what_left_last_takes_the_time_of_the_rate_that_is_found_afterwards() {
    let (slow, fast) = (Rate::from_bps(1_000_000), Rate::from_bps(4_000_000));
    let start = Instant::from_nanos(1_000_000_000);
    let mut pacer = Pacer::new(Some(slow));
    pacer.begin(start);
    pacer.charge(start, 1500);
    pacer.rescale(start + Duration::from_millis(4), Some(fast));
    // 8 of the 12 ms are left, in which there are 8000 bits.
    assert_eq!(pacer.free_at(), start + Duration::from_millis(6));
    pacer.rescale(start, None);
    assert_eq!(pacer.free_at(), start);
}

#[test]
fn what_waits_goes_over_to_another_queue_in_its_order_and_what_does_not_fit_is_dropped_by_name() {
    for next in ["3kB", "2packets", "{ kind = \"fq-codel\" }", "{ kind = \"red\" }"] {
        let (mut egress, mut io) = (egress(Some(ByteSize(30_000))), Recorder::default());
        (0..10).for_each(|n| push(&mut egress, &mut io, at(0), n * 1000));
        let queue = Queue::read(&next.into()).unwrap();
        let mut next = with_site(|site| Egress::new(EgressSettings::at(site, None, Some(&queue)), site.rng));
        egress.adopt(at(0), &mut next);
        assert_eq!(next.backlog(), Backlog::default());
        let mut dropped = Vec::new();
        while let Some((packet, _)) = egress.take_dropped() {
            dropped.push(packet);
        }
        run_until(&mut egress, &mut io, at(100));
        egress.check().unwrap();
        let mut came = [sequences(&io.link), sequences(&dropped)].concat();
        assert!(sequences(&io.link).is_sorted());
        came.sort_unstable();
        assert_eq!(came, (0..10).map(|n| n * 1000).collect::<Vec<_>>(), "{queue:?}");
    }
}

#[test]
fn repairs_may_be_more_than_a_queue_of_another_unit_takes() {
    let (mut egress, mut io) = (egress(Some(ByteSize(30_000))), Recorder::default());
    (0..20).for_each(|n| egress.push_repair(at(0), data(n * 1000)).unwrap());
    for next in ["2packets", "3kB"] {
        let queue = Queue::read(&next.into()).unwrap();
        let mut next = with_site(|site| Egress::new(EgressSettings::at(site, None, Some(&queue)), site.rng));
        egress.adopt(at(0), &mut next);
        egress.check().unwrap();
    }
    run_until(&mut egress, &mut io, at(100));
    assert_eq!(io.link.len(), 20);
}
