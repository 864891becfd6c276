//! What goes in comes out, is held, or was dropped for a reason: for any settings and any traffic.

use crate::common::*;
use airtcp_core::{Backlog, ByteSize, Counts, Duration, Ecn, Instant, Probability, Rate, ValueType};
use airtcp_link::{
    Codel, DropTail, FqCodel, HeaderFirst, Link, LinkDelay, LinkRate, LinkSettings, Loss, Outage, Queue, QueueLimit,
    Red, Reordering, Ring,
};
use proptest::prelude::*;

fn probability() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(Probability::NEVER), Just(Probability::ALWAYS), any::<u64>().prop_map(Probability::from_fixed)]
}

fn millis(limit: u64) -> impl Strategy<Value = Duration> {
    (0..limit).prop_map(Duration::from_millis)
}

/// Every discipline, with thresholds and times short enough for the traffic below to meet them.
fn queue() -> impl Strategy<Value = Queue> {
    let limit = prop_oneof![(0u64..20_000).prop_map(QueueLimit::Bytes), (0u64..20).prop_map(QueueLimit::Packets)];
    (0..6, limit, any::<bool>(), 1u64..3000).prop_map(|(kind, limit, ecn, micros)| {
        let (target, interval) = (Duration::from_micros(micros), Duration::from_micros(4 * micros));
        let (min, max) = (QueueLimit::Packets(1), QueueLimit::Packets(4));
        match kind {
            0 => Queue::Ring(Ring { limit }),
            1 => Queue::DropTail(DropTail { limit }),
            2 => Queue::Red(Red { limit, min, max, weight: Probability::ratio(1, 2), ecn, ..Red::default() }),
            // Without a mark every packet is a header packet, so that the threshold is met.
            3 => Queue::HeaderFirst(HeaderFirst {
                limit,
                threshold: Some(1 + micros % 8),
                dscp: 0,
                ..HeaderFirst::default()
            }),
            4 => Queue::Codel(Codel { limit, target, interval, ecn }),
            _ => {
                let memory = ByteSize(10 * micros);
                let overdue = (micros % 2 == 0).then_some(1);
                let (ways, spares_repeats) = ([1, 2, 4][(micros % 3) as usize], micros % 5 < 3);
                let bounds = FqCodel { limit, memory, flows: 4, quantum: 300, overdue, ..FqCodel::default() };
                Queue::FqCodel(FqCodel { target, interval, ecn, ways, spares_repeats, ..bounds })
            }
        }
    })
}

fn rate() -> impl Strategy<Value = LinkRate> {
    let constant =
        proptest::option::of((1_000u64..1_000_000_000).prop_map(Rate::from_bps)).prop_map(LinkRate::Constant);
    let varying = prop_oneof![
        Just("10Mbit, 1kbit from 20ms, 0Mbit from 40ms, 3Mbit from 60ms"),
        Just("{ kind = \"steps\", steps = \"0Mbit, 5Mbit from 3ms\", every = \"7ms\" }"),
        Just("{ kind = \"walk\", step = \"1ms\", fade_every = \"30ms\", fade = \"5ms\", depth = \"0%\" }"),
        Just("{ kind = \"handover\", low = \"1Mbit\", high = \"90Mbit\", every = \"15ms\", gap = \"2ms\" }"),
    ];
    prop_oneof![constant, varying.prop_map(|text| LinkRate::read(&text.into()).unwrap())]
}

fn delay() -> impl Strategy<Value = LinkDelay> {
    let varying = prop_oneof![
        Just("10ms, 1ms from 20ms, 40ms from 60ms"),
        Just("{ kind = \"handover\", low = \"1ms\", high = \"9ms\", every = \"15ms\" }"),
    ];
    prop_oneof![
        millis(50).prop_map(LinkDelay::Constant),
        varying.prop_map(|text| LinkDelay::read(&text.into()).unwrap())
    ]
}

fn loss() -> impl Strategy<Value = Loss> {
    let steps = Just(Loss::read(&"0%, 50% from 20ms, 3% from 50ms".into()).unwrap());
    prop_oneof![probability().prop_map(Loss::bernoulli), steps]
}

prop_compose! {
    fn any_settings()(
        rate in rate(),
        delay in delay(),
        queue in queue(),
        loss in loss(),
        jitter in millis(10),
        reorder in (probability(), millis(20)),
        duplicate in probability(),
        corrupt in probability(),
        outage in (millis(100), millis(100)),
        impaired_until in proptest::option::of(millis(100)),
    ) -> LinkSettings {
        LinkSettings {
            rate, delay, queue, duplicate, corrupt, impaired_until, mtu: 1400,
            loss,
            jitter,
            reorder: Reordering { probability: reorder.0, delay: reorder.1 },
            outage: Outage { start: outage.0, duration: outage.1, every: None },
        }
    }
}

/// Time to the next step, bytes to send, from which port, ECN-capable or not, and whether to receive after it.
fn traffic() -> impl Strategy<Value = Vec<(u64, u32, u16, bool, bool)>> {
    proptest::collection::vec((0u64..3_000_000, 24u32..1500, 0u16..5, any::<bool>(), any::<bool>()), 1..200)
}

proptest! {
    #[test]
    fn packets_and_bytes_are_conserved_at_every_step(settings in any_settings(), traffic in traffic()) {
        let mut link = Link::new(&settings, 1, "link");
        let (mut now, mut offered, mut refused) = (Instant::ZERO, 0u64, 0u64);
        let (mut dropped, mut received) = (Counts::default(), 0u64);
        for (step, bytes, port, is_capable, receives) in traffic {
            now += Duration::from_nanos(step);
            let room = link.room(now);
            let is_segment = port > 2 && bytes > 40;
            let sequence = (step % 9) as u32 * 1000;
            let mut packet = if is_segment { segment(port, sequence, bytes) } else { of_flow(port, bytes) };
            packet.set_ecn(if is_capable { Ecn::Ect0 } else { Ecn::NotEct });
            let sent = link.try_send(now, packet, &mut |_, reason| dropped.add(reason, 1));
            offered += 1;
            refused += u64::from(sent.is_err());
            prop_assert!(sent.is_ok() || room == 0 || bytes > 1400, "refused although there was room");
            let mut last = Instant::ZERO;
            if receives {
                link.advance(now, &mut |_, reason| dropped.add(reason, 1));
            }
            while receives && let Some(at) = link.next_arrival().filter(|at| *at <= now) {
                prop_assert!(at >= last);
                last = at;
                prop_assert!(link.receive(now).is_some());
                received += 1;
            }
            let (counters, held) = (link.counters(), link.held());
            prop_assert_eq!(counters.packets_in, offered - refused);
            prop_assert_eq!(&counters.dropped, &dropped);
            prop_assert_eq!(counters.packets_delivered, received);
            prop_assert_eq!(
                counters.packets_in + counters.duplicated,
                counters.packets_delivered + held.packets as u64 + counters.dropped_total()
            );
            prop_assert_eq!(
                counters.bytes_in + counters.bytes_duplicated,
                counters.bytes_delivered + held.bytes + counters.bytes_dropped
            );
            let waiting = link.backlog(now);
            match settings.queue.limit() {
                QueueLimit::Bytes(limit) => prop_assert!(waiting.bytes <= limit),
                QueueLimit::Packets(limit) => prop_assert!(waiting.packets as u64 <= limit),
            }
        }
        while let Some(at) = link.next_event() {
            link.advance(at, &mut |_, reason| dropped.add(reason, 1));
            while link.receive(at).is_some() {
                received += 1;
            }
        }
        prop_assert_eq!(link.held(), Backlog::default());
        let counters = link.counters();
        prop_assert_eq!(counters.packets_in + counters.duplicated, received + dropped.total());
        prop_assert_eq!(&counters.dropped, &dropped);
    }

    #[test]
    fn without_reordering_packets_arrive_in_the_order_sent(settings in any_settings(), traffic in traffic()) {
        let settings = LinkSettings { reorder: Reordering::default(), ..settings };
        let mut link = Link::new(&settings, 1, "link");
        let mut now = Instant::ZERO;
        for (number, (step, bytes, ..)) in traffic.into_iter().enumerate() {
            now += Duration::from_nanos(step);
            link.send(now, packet(number as u32, bytes), &mut |_, _| {});
        }
        let arrived = drain(&mut link);
        prop_assert!(arrived.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert_eq!(link.held().packets, 0);
    }

    #[test]
    fn what_settings_write_reads_back(settings in any_settings()) {
        use airtcp_core::parameters::Parameters;
        // A probability is written with 12 digits: what was read once is written the same again.
        let reread = |settings: &LinkSettings| {
            let mut copy = LinkSettings::default();
            for field in settings.fields() {
                copy.set(field.name, &field.value.into()).unwrap();
            }
            copy
        };
        let settings = LinkSettings {
            reorder: Reordering { probability: Probability::NEVER, ..settings.reorder.clone() },
            ..settings
        };
        let once = reread(&settings);
        prop_assert_eq!(once.fields(), settings.fields());
        prop_assert_eq!(reread(&once), once);
    }
}
