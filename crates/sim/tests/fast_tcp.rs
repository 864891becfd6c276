//! Fast-TCP on the paper's network (FTC-E1): slow start over a link of 30 Mbit/s and 130 ms, with a queue of 2 Mbit, a
//! quarter of what is under way on it.

use crate::common::{NO_HABITS, bulk, essence, events, link, owned, tcp};
use airtcp_core::{Duration, Gauge, Instant};
use airtcp_schemes::papers::fast_tcp;
use airtcp_sim::{Flow, Level, LinkId, Outcome, RunSettings, Topology};

type Settings<'a> = &'a [(&'a str, &'a str)];

/// The paper's rule and numbers; the own queue is tested apart.
const PAPER: Settings<'static> =
    &[("mode", "paper"), ("watch", "link"), ("threshold", "50kB"), ("spacing", "147200ns")];

/// FTC-U3: the SYN leaves, and a round trip later data.
const START: Duration = Duration::from_millis(11_436);
/// When the first data segment leaves.
const T0: Duration = Duration::from_millis(11_700);
/// 400,000 bits.
const THRESHOLD: u64 = 50_000;

/// What is varied: everything else is the paper's or SPEC 4.U's default.
#[derive(Clone, Copy)]
struct Case<'a> {
    /// `None` for plain forwarding.
    fast: Option<Settings<'a>>,
    tcp: Settings<'a>,
    air: Settings<'a>,
    /// Queue of the hosts' links.
    host_queue: &'a str,
    size: Option<u64>,
    near_wrap: bool,
}

const PLAIN: Case<'static> = Case { fast: None, tcp: &[], air: &[], host_queue: "250kB", size: None, near_wrap: false };
const FAST: Case<'static> = Case { fast: Some(PAPER), ..PLAIN };
const MODERN: Case<'static> = Case { fast: Some(&[]), ..PLAIN };

/// A receiver that acknowledges two segments at once.
const DELAYED: Settings<'static> = &[("delayed_ack_segments", "2"), ("quick_acks", "0")];

impl Case<'_> {
    fn run(self, seed: u64) -> Outcome {
        let mut topology = Topology::new();
        let [source, r1, r2, destination] = ["source", "r1", "r2", "destination"].map(|name| topology.node(name));
        let wire = link(&[("rate", "155.52Mbit"), ("delay", "1ms"), ("queue", self.host_queue)]);
        topology.link("near", source, r1, wire.clone(), wire.clone());
        let base = [("rate", "30Mbit"), ("delay", "130ms"), ("queue", "250kB")];
        // FTC-U11: errors hit acknowledgments too; what is lost on purpose is a data segment.
        let errors: Vec<_> = self.air.iter().copied().filter(|(key, _)| *key != "outage").collect();
        let [forward, reverse] = [self.air, &errors].map(|air| link(&[&base, air].concat()));
        let air = topology.link("air", r1, r2, forward, reverse);
        topology.link("far", r2, destination, wire.clone(), wire);
        let base = [
            NO_HABITS,
            ("controller", "reno"),
            ("recovery", "reno"),
            ("sack", "false"),
            ("timestamps", "false"),
            ("byte_counting", "off"),
            ("mtu", "552"),
            ("initial_window", "1"),
            ("max_cwnd", "1024"), // FTC-U2
            ("delayed_ack_segments", "1"),
            ("min_rto", "1s"),
            ("rto_rule", "rfc6298"),
        ];
        let flow = bulk("bulk", source, destination, tcp(&[&base, self.tcp].concat()));
        topology.flow(Flow { start: START, size: self.size, ..flow });
        if let Some(settings) = self.fast {
            topology.scheme("router", air, fast_tcp::ENTRY.with(owned(settings)).unwrap());
        }
        let settings = RunSettings {
            seed,
            duration: Duration::from_secs(25),
            warmup: Duration::ZERO,
            sample_every: Duration::from_millis(10),
            near_wrap: self.near_wrap,
            digests: self.size.is_some(),
            levels: vec![
                Level::Queue { link: LinkId::from(1), reverse: false },
                Level::Gauge { scheme: "router".into(), gauge: Gauge::HELD_BYTES },
            ],
            ..RunSettings::default()
        };
        let outcome = topology.run(&settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    }
}

/// Longest queue of the slow link itself in bytes, and when it dropped the first packet, from the first data on.
fn forward(outcome: &Outcome) -> (u64, Option<Duration>) {
    let queue = outcome.queues.iter().find(|queue| queue.place == "links.air.forward");
    let first_drop = queue.and_then(|queue| queue.first_drop).map(|at| at.saturating_since(Instant::ZERO + T0));
    (queue.map_or(0, |queue| queue.bytes_max), first_drop)
}

/// Longest queue that the router saw.
fn seen(outcome: &Outcome) -> u64 {
    let gauges = &outcome.schemes[0].elements[0].gauges;
    gauges.iter().find(|(gauge, _)| *gauge == Gauge::QUEUE_BYTES_MAX).unwrap().1
}

fn acked(outcome: &Outcome) -> f64 {
    outcome.flows[0].acked_bytes as f64 / 1e6
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} is not {expected}");
}

/// Levels over time: milliseconds since the first data, forward and backward buffer in bytes.
fn levels(outcome: &Outcome) -> Vec<(i64, u64, u64)> {
    let millis = |at: Instant| at.saturating_since(Instant::ZERO).as_millis() as i64 - T0.as_millis() as i64;
    outcome.levels.iter().map(|sample| (millis(sample.at), sample.values[0], sample.values[1])).collect()
}

#[test]
fn spec_8_16_plain_fills_its_queue_after_2_71_s_and_fast_tcp_stays_at_the_threshold() {
    let (bytes, first_drop) = forward(&PLAIN.run(1));
    assert!((249_000..=250_000).contains(&bytes), "2 Mbit: {bytes}");
    assert_near(first_drop.unwrap().as_millis() as f64, 2710.0, 0.005);
    let outcome = FAST.run(1);
    let (bytes, first_drop) = forward(&outcome);
    assert!((THRESHOLD..=58_000).contains(&bytes), "0.40 to 0.46 Mbit: {bytes}");
    assert_eq!((first_drop, outcome.drops.len()), (None, 0));
    assert!(acked(&outcome) >= 2.0 * acked(&PLAIN.run(1)));
}

#[test]
fn spec_8_17_with_delayed_acknowledgments_the_papers_rule_changes_nothing() {
    let (plain, fast) = (Case { tcp: DELAYED, ..PLAIN }.run(1), Case { tcp: DELAYED, ..FAST }.run(1));
    assert_near(acked(&fast), acked(&plain), 0.01);
    let (fast_queue, plain_queue) = (forward(&fast).0, forward(&plain).0);
    assert!(fast_queue > 2 * THRESHOLD && plain_queue > 2 * THRESHOLD, "{fast_queue} {plain_queue}");
}

/// FTC-N4, the rows and columns that two simulations agree on.
#[test]
fn acknowledged_bytes_and_peaks_are_those_of_an_independent_simulation() {
    for (window, fast, plain_peak) in [("488", 10.5, 1.03), ("1024", 21.3, 2.0), ("1953", 36.2, 2.0)] {
        let tcp: Settings<'_> = &[("max_cwnd", window)];
        let outcome = Case { tcp, ..FAST }.run(1);
        assert_near(acked(&outcome), fast, 0.01);
        assert_near(forward(&outcome).0 as f64 * 8e-6, 0.46, 0.02);
        assert_near(forward(&Case { tcp, ..PLAIN }.run(1)).0 as f64 * 8e-6, plain_peak, 0.02);
    }
    let small = Case { tcp: &[("max_cwnd", "488")], ..PLAIN };
    assert_near(acked(&small.run(1)), 10.5, 0.01);
}

#[test]
fn ftc_x3_scaled_by_what_is_acknowledged_the_rule_works_with_delayed_acknowledgments() {
    // Each acknowledgment of two segments lets four go, as a sender of today counts.
    let tcp = [DELAYED, &[("byte_counting", "delivered")]].concat();
    let plain = Case { tcp: &tcp, ..PLAIN }.run(1);
    let modern = Case { tcp: &tcp, ..MODERN }.run(1);
    assert!(forward(&plain).1.is_some(), "plain overflows");
    assert_eq!(modern.drops.len(), 0);
    assert!((THRESHOLD..2 * THRESHOLD).contains(&seen(&modern)), "{}", seen(&modern));
    assert!(acked(&modern) > 2.0 * acked(&plain), "{} {}", acked(&modern), acked(&plain));
}

#[test]
fn ftc_x4_without_a_window_limit_the_ack_buffer_overflows_and_the_data_buffer_after_it() {
    let outcome = Case { tcp: &[("max_cwnd", "auto"), ("receive_buffer", "1GB")], ..FAST }.run(1);
    let lost =
        |place: &str| outcome.drops.iter().filter(|drop| drop.place == place).map(|drop| drop.packets).sum::<u64>();
    assert!(lost("schemes.router.r1") > 0 && lost("links.air.forward") > 0, "{:?}", outcome.drops);
}

#[test]
fn the_mean_over_thirty_seeds_with_bit_errors_is_more_than_twice_plains() {
    let air: Settings<'_> = &[("loss", "{ kind = \"bit-error\", rate = \"1e-8\" }")];
    let mean = |case: Case<'_>| (1..=30).map(|seed| acked(&case.run(seed))).sum::<f64>() / 30.0;
    let (plain, fast) = (mean(Case { air, ..PLAIN }), mean(Case { air, ..FAST }));
    assert!(fast >= 2.0 * plain, "{fast} {plain}");
}

#[test]
fn ftc_c2_plains_peaks_double() {
    let outcome = PLAIN.run(1);
    let peak = |round: i64| {
        let within = |(at, ..): &&(i64, u64, u64)| (264 * round..264 * (round + 1)).contains(at);
        levels(&outcome).iter().filter(within).map(|(_, forward, _)| *forward).max().unwrap()
    };
    // FTC-N2: 0.14, 0.28, 0.57 and 1.13 Mbit, then more than fits.
    for (round, mbit) in (6..).zip([0.14, 0.28, 0.57, 1.13]) {
        assert_near(peak(round) as f64 * 8e-6, mbit, 0.03);
    }
    assert!(peak(10) > 249_000, "{}", peak(10));
}

#[test]
fn ftc_c4_the_backward_buffer_rises_while_the_forward_one_is_at_its_threshold() {
    let fast = levels(&FAST.run(1));
    let congested: Vec<_> = fast.iter().filter(|(_, _, backward)| *backward > 400).collect();
    assert!(congested.len() > 10, "{}", congested.len());
    assert!(congested.iter().all(|(_, forward, _)| *forward > THRESHOLD * 9 / 10));
    // In the round before the queue reaches the threshold, nothing but the packet of the moment waits.
    let before = fast.iter().filter(|(at, ..)| *at < 7 * 264).map(|(.., backward)| *backward).max();
    assert!(before.unwrap() <= 80, "{before:?}");
}

/// A loss of one segment, so many milliseconds after the first data.
fn outage(millis: u64) -> String {
    format!("{{ start = \"{}ms\", duration = \"1us\" }}", T0.as_millis() + millis)
}

#[test]
fn ftc_c9_a_lost_segment_is_the_senders_business_and_the_slow_start_behind_it_is_helped() {
    let outage = outage(1590);
    let air: Settings<'_> = &[("outage", &outage)];
    // With a window too small for congestion Fast-TCP is not seen at all.
    let small: Settings<'_> = &[("max_cwnd", "64")];
    let (plain, fast) = (Case { tcp: small, air, ..PLAIN }.run(1), Case { tcp: small, air, ..FAST }.run(1));
    assert!(plain.flows[0].retransmitted_segments > 0, "something was lost");
    assert_eq!(essence(&plain.flows[0]), essence(&fast.flows[0]));
    // A Tahoe sender starts slowly behind it, up to half of its window of 1953: what makes plain overflow does not here.
    let tahoe: Settings<'_> = &[("recovery", "tahoe"), ("max_cwnd", "1953")];
    let outage = self::outage(8000);
    let repaired = Case { tcp: tahoe, air: &[("outage", &outage)], ..FAST }.run(1);
    assert!(repaired.flows[0].retransmitted_segments > 0, "something was lost");
    assert_eq!(forward(&repaired).1, None);
    let half: Settings<'_> = &[("recovery", "tahoe"), ("max_cwnd", "1953"), ("initial_ssthresh", "976")];
    assert!(forward(&Case { tcp: half, ..PLAIN }.run(1)).1.is_some(), "this slow start overflows without Fast-TCP");
}

#[test]
fn ftc_c10_the_acknowledgment_of_a_repaired_burst_releases_another() {
    // The receiver's window of 1 MB is full when a segment is lost, so nothing is sent until one acknowledgment covers
    // it all; then half a window leaves a host that drops nothing itself.
    let outage = outage(6000);
    let tcp: Settings<'_> = &[("max_cwnd", "auto"), ("receive_buffer", "1MB")];
    let lossless = Case { tcp, host_queue: "2MB", ..FAST };
    let repaired = Case { air: &[("outage", &outage)], ..lossless }.run(1);
    assert!(repaired.flows[0].retransmitted_segments > 0);
    let (bytes, first_drop) = forward(&repaired);
    assert!(bytes > 4 * THRESHOLD && first_drop.is_some(), "{bytes} {first_drop:?}");
    assert_eq!(forward(&lossless.run(1)).1, None, "without the loss nothing overflows");
}

#[test]
fn the_routers_own_queue_gives_what_the_links_queue_gives() {
    let own: Settings<'_> = &[("mode", "paper"), ("threshold", "50kB"), ("spacing", "147200ns")];
    let (own, watched) = (Case { fast: Some(own), ..PLAIN }.run(1), FAST.run(1));
    assert_near(acked(&own), acked(&watched), 0.001);
    assert_near(seen(&own) as f64, forward(&watched).0 as f64, 0.02);
}

#[test]
fn numbers_below_the_wrap_change_nothing() {
    for case in [FAST, MODERN] {
        let (plain, near_wrap) = (case.run(3), Case { near_wrap: true, ..case }.run(3));
        assert_eq!(essence(&plain.flows[0]), essence(&near_wrap.flows[0]));
    }
}

#[test]
fn a_file_through_stretched_acknowledgments_arrives_whole() {
    // One acknowledgment for twenty segments: the router makes a series of each while its queue is long.
    let tcp: Settings<'_> = &[
        ("delayed_ack_segments", "20"),
        ("quick_acks", "0"),
        ("byte_counting", "delivered"),
        ("initial_window", "100"),
    ];
    let air: Settings<'_> = &[("reorder", "{ probability = \"0.1%\", delay = \"3ms\" }")];
    let outcome = Case { tcp, air, size: Some(1_500_000), ..MODERN }.run(1);
    let flow = &outcome.flows[0];
    assert!(flow.received_sha256.is_some() && flow.received_sha256 == flow.sent_sha256);
    assert!(
        events(&outcome.schemes[0], airtcp_schemes::papers::fast_tcp::events::ACK_PART) > 0,
        "{:?}",
        outcome.schemes[0].elements[0].events
    );
}
