//! The hop-level baselines on the demo path: link ARQ, link FEC and the split connection must be
//! worth comparing with, a shaper that follows pings and a tunnel with FEC must do what theirs do, and none may break what it
//! carries.

use crate::common;
use crate::common::{Demo, bulk, demo, events, of_ceiling, tcp};
use airtcp_core::packet::protocol;
use airtcp_core::{DropReason, Duration, Event, Instant, Packet};
use airtcp_schemes::{SCHEMES, find};
use airtcp_sim::{Direction, Flow, Outcome, Probe, RunSettings, Tap};

const SLUGS: [&str; 5] = ["arq", "fec", "split", "autorate", "fec-tunnel"];

fn on_demo(slug: &str, air: &[(&str, &str)], settings: &[(&str, &str)]) -> Demo {
    let mut network = demo(air);
    let entry = find(SCHEMES, slug).expect("the scheme is in the table");
    network.topology.scheme("hop", network.air, entry.with(settings.iter().copied()).unwrap());
    network
}

fn median(runs: impl Fn(u64) -> f64) -> f64 {
    let mut values: Vec<f64> = (1..=3).map(runs).collect();
    values.sort_by(f64::total_cmp);
    values[1]
}

/// Share of the ceiling that a scheme reaches at a loss, and plain CUBIC beside it.
fn shares(slug: &str, text: &str, loss: f64) -> (f64, f64) {
    let air = [("loss", text)];
    let with = median(|seed| of_ceiling(&on_demo(slug, &air, &[]).with_bulk("cubic").run(seed), loss));
    let plain = median(|seed| of_ceiling(&demo(&air).with_bulk("cubic").run(seed), loss));
    println!("{slug} {text}: {with:.3} of the ceiling, plain {plain:.3}, {:.1} times", with / plain);
    (with, plain)
}

const LOSSES: [(&str, f64); 3] = [("1%", 0.01), ("5%", 0.05), ("10%", 0.10)];

#[test]
fn link_arq_reaches_the_ceiling_but_for_its_overhead() {
    for ((text, loss), target) in LOSSES.into_iter().zip([0.97, 0.96, 0.94]) {
        let (with, plain) = shares("arq", text, loss);
        assert!(with >= target && with > 4.0 * plain, "{text}: {with:.3}, plain {plain:.3}");
    }
}

#[test]
fn link_fec_pays_its_redundancy_and_beats_plain_by_far() {
    for ((text, loss), target) in LOSSES.into_iter().zip([0.88, 0.78, 0.68]) {
        let (with, plain) = shares("fec", text, loss);
        assert!(with >= target && with > 4.0 * plain, "{text}: {with:.3}, plain {plain:.3}");
    }
}

#[test]
fn a_split_connection_beats_plain_by_far() {
    for ((text, loss), target) in LOSSES.into_iter().zip([0.83, 0.40, 0.20]) {
        let (with, plain) = shares("split", text, loss);
        assert!(with >= target && with > 3.5 * plain, "{text}: {with:.3}, plain {plain:.3}");
    }
}

#[test]
fn without_loss_each_costs_what_it_says() {
    let plain = of_ceiling(&demo(&[]).with_bulk("cubic").run(1), 0.0);
    // A shim of 16 bytes and acknowledgments; one code packet in 33 and 41 bytes; nothing.
    for (slug, least) in [("arq", 0.975), ("fec", 0.93), ("split", 0.99)] {
        let share = of_ceiling(&on_demo(slug, &[], &[]).with_bulk("cubic").run(1), 0.0) / plain;
        assert!(share >= least, "{slug}: {share:.4} of plain");
    }
}

/// The median and the 95th percentile of a ping beside one flow, in ms, and the outcome.
fn pinged(mut network: Demo, controller: &str) -> ([u64; 2], Outcome) {
    let [sender, receiver] = network.ends;
    let (name, every) = ("ping".to_owned(), Duration::from_millis(20));
    network.topology.probe(Probe { name, from: sender, to: receiver, every, size: 84 });
    let outcome = network.with_bulk(controller).run(1);
    let rtt = outcome.probes[0].rtt;
    ([rtt.p50, rtt.p95].map(|nanos| nanos / 1_000_000), outcome)
}

#[test]
fn autorate_keeps_the_queue_out_of_a_link_whose_rate_it_is_not_told() {
    let suits = [("min_rate", "2Mbit"), ("base_rate", "15Mbit"), ("max_rate", "20Mbit")];
    let long = [("queue", "{ kind = \"droptail\", limit = \"400kB\" }")];
    let ([plain, _], _) = pinged(demo(&long), "cubic");
    let ([with, _], outcome) = pinged(on_demo("autorate", &long, &suits), "cubic");
    assert!(plain > 250 && with < 130, "{plain} ms plain, {with} ms with autorate");
    let share = of_ceiling(&outcome, 0.0);
    assert!((0.7..0.99).contains(&share), "{share:.3}: the price is that the rate swings");
    assert!(events(&outcome.schemes[0], Event::RATE_LOWERED) > 5);
}

#[test]
fn autorate_repairs_nothing() {
    let lossy = [("loss", "2%")];
    let (plain, with) = (demo(&lossy), on_demo("autorate", &lossy, &[]));
    let [plain, with] = [plain, with].map(|network| of_ceiling(&network.with_bulk("cubic").run(1), 0.02));
    assert!(with < plain * 1.1, "{with:.3}, plain {plain:.3}");
}

#[test]
fn a_tunnel_with_fec_pays_a_third_of_the_link_and_hides_the_loss() {
    for ((text, loss), least) in LOSSES.into_iter().zip([0.60, 0.62, 0.65]) {
        let (with, plain) = shares("fec-tunnel", text, loss);
        assert!((least..0.75).contains(&with) && with > 2.0 * plain, "{text}: {with:.3}, plain {plain:.3}");
    }
    let ([p50, _], outcome) = pinged(on_demo("fec-tunnel", &[("loss", "5%")], &[]), "bbr");
    assert!(p50 >= 68, "a ping waits for its block: {p50} ms");
    assert!(events(&outcome.schemes[0], Event::RECOVERED) > 100);
}

const FAULTS: &[(&str, &[(&str, &str)])] = &[
    ("loss", &[("loss", "10%")]),
    ("bursts", &[("loss", "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }")]),
    ("reordering", &[("reorder", "{ probability = \"5%\", delay = \"8ms\" }")]),
    ("duplication", &[("duplicate", "5%")]),
    ("corruption", &[("corrupt", "3%")]),
    ("full ring", &[("loss", "3%"), ("queue", "{ kind = \"ring\", limit = \"3packets\" }")]),
    (
        "everything",
        &[
            ("loss", "3%"),
            ("reorder", "{ probability = \"2%\", delay = \"8ms\" }"),
            ("duplicate", "2%"),
            ("corrupt", "1%"),
            ("outage", "{ start = \"2s\", duration = \"1500ms\" }"),
        ],
    ),
];

/// Two files at once, one in each direction.
fn with_files(mut network: Demo, bytes: u64, ipv6: bool) -> Demo {
    let [sender, receiver] = network.ends;
    for (name, from, to) in [("down", sender, receiver), ("up", receiver, sender)] {
        let flow = bulk(name, from, to, tcp(&[]));
        network.topology.flow(Flow { size: Some(bytes), ipv6, ..flow });
    }
    network
}

#[test]
fn files_arrive_with_equal_hashes_in_both_directions_through_every_fault() {
    for slug in SLUGS {
        for (name, fault) in FAULTS {
            for (ipv6, near_wrap) in [(false, true), (true, false)] {
                let network = with_files(on_demo(slug, fault, &[]), 1_000_000, ipv6);
                let settings = RunSettings {
                    duration: Duration::from_secs(60),
                    near_wrap,
                    digests: true,
                    ..RunSettings::default()
                };
                let outcome = network.run_with(&settings);
                for flow in &outcome.flows {
                    assert!(flow.completed_at.is_some(), "{slug} {name} {}: not complete", flow.name);
                    assert!(flow.sent_sha256.is_some() && flow.sent_sha256 == flow.received_sha256, "{slug} {name}");
                }
            }
        }
    }
}

#[test]
fn nothing_depends_on_where_sequence_numbers_and_timestamps_begin() {
    for slug in SLUGS {
        let run = |near_wrap| {
            let settings = RunSettings { near_wrap, duration: Duration::from_secs(6), ..RunSettings::default() };
            on_demo(slug, &[("loss", "3%")], &[]).with_bulk("cubic").run_with(&settings)
        };
        let (plain, wrapping): (Outcome, Outcome) = (run(false), run(true));
        assert_eq!(common::essence(&plain.flows[0]), common::essence(&wrapping.flows[0]), "{slug}");
        assert_eq!(plain.schemes, wrapping.schemes, "{slug}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for slug in SLUGS {
        let run = |seed| on_demo(slug, &[("loss", "3%")], &[]).with_bulk("cubic").run(seed).trace_hash;
        assert_eq!(run(7), run(7), "{slug}");
        assert_ne!(run(7), run(8), "{slug}");
    }
}

/// Counts the packets that links lose, without the messages between boxes, which nobody sends again.
#[derive(Default)]
struct Lost(u64);

impl Tap for Lost {
    fn on_sent(&mut self, _: Instant, _: Direction, _: &Packet) {}
    fn on_lost(&mut self, _: Instant, _: Direction, packet: &Packet, reason: DropReason) {
        self.0 += u64::from(reason == DropReason::LOSS && packet.ip().protocol != protocol::UDP);
    }
    fn on_arrived(&mut self, _: Instant, _: Direction, _: &Packet) {}
    fn on_dropped(&mut self, _: Instant, _: &str, _: &Packet, _: DropReason) {}
}

#[test]
fn link_arq_repairs_about_as_often_as_the_link_loses_and_gives_up_after_its_tries() {
    let (network, mut lost) = (on_demo("arq", &[("loss", "5%")], &[]).with_bulk("cubic"), Lost::default());
    let outcome = network.topology.run_tapped(&RunSettings::default(), &mut lost).unwrap();
    let (repairs, lost) = (events(&outcome.schemes[0], Event::REPAIR), lost.0);
    assert!(repairs >= lost && repairs * 100 < lost * 115, "{repairs} repairs, {lost} lost");
    assert_eq!(events(&outcome.schemes[0], Event::GIVEN_UP), 0);
    let outcome = on_demo("arq", &[("loss", "10%")], &[("tries", "2")]).with_bulk("cubic").run(1);
    assert!(events(&outcome.schemes[0], Event::GIVEN_UP) > 20);
    assert!(outcome.flows[0].retransmitted_segments > 0, "what the link gives up TCP repairs");
}

#[test]
fn hosts_notice_no_loss_that_the_link_repairs() {
    let plain = demo(&[("loss", "5%")]).with_bulk("cubic").run(1);
    let repaired = on_demo("arq", &[("loss", "5%")], &[("queue", "1MB")]);
    let mut repaired = repaired;
    // Limited by its window, the sender never fills the queue: whatever it repairs is loss.
    repaired.topology.flow(bulk("bulk", repaired.ends[0], repaired.ends[1], tcp(&[("max_cwnd", "40")])));
    let outcome = repaired.run(1);
    assert!(plain.flows[0].retransmitted_segments > 50);
    assert!(outcome.flows[0].retransmitted_segments <= 2, "{}", outcome.flows[0].retransmitted_segments);
}

#[test]
fn a_split_sender_sees_the_wired_half_only() {
    let outcome = on_demo("split", &[("loss", "5%")], &[]).with_bulk("cubic").run(1);
    assert_eq!((outcome.flows[0].retransmitted_segments, outcome.flows[0].rtos), (0, 0));
    let scheme = find(SCHEMES, "split").expect("it is in the table");
    assert!(!scheme.keeps_end_to_end, "and that is not the end-to-end meaning of an acknowledgment");
}
