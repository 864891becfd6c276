//! BBRv3 beside itself, beside others and on a link that loses at random.

use crate::common::{bulk, link, tcp};
use airtcp_core::Duration;
use airtcp_sim::{Outcome, RunSettings, Topology};

/// A BDP at 20 Mbit/s and 40 ms, bytes.
const BDP: u64 = 100_000;
const CEILING_MBIT: f64 = 20.0 * 1448.0 / 1500.0;

/// Mbit/s of flows with these controllers over 20 Mbit/s and 40 ms with so long a queue, after 20 s.
fn share(controllers: &[&str], queue: u64, loss: &str, seed: u64) -> (Vec<f64>, Outcome) {
    share_at("20ms", controllers, queue, loss, seed)
}

/// The same with another delay one way.
fn share_at(delay: &str, controllers: &[&str], queue: u64, loss: &str, seed: u64) -> (Vec<f64>, Outcome) {
    let mut topology = Topology::new();
    let [sender, receiver] = ["sender", "receiver"].map(|name| topology.node(name));
    let queue = format!("{queue}B");
    let there = link(&[("rate", "20Mbit"), ("delay", delay), ("queue", queue.as_str()), ("loss", loss)]);
    topology.link("wire", sender, receiver, there, link(&[("rate", "20Mbit"), ("delay", delay)]));
    for (n, controller) in controllers.iter().enumerate() {
        topology.flow(bulk(&format!("bulk{n}"), sender, receiver, tcp(&[("controller", controller)])));
    }
    let settings =
        RunSettings { duration: Duration::from_secs(80), warmup: Duration::from_secs(20), seed, ..Default::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    let rates = outcome.flows.iter().map(|flow| flow.measured_bytes as f64 * 8e3 / outcome.measured.as_nanos() as f64);
    (rates.collect(), outcome)
}

/// Means over three seeds: the share of the first flow, and what all have of the link.
fn shares(controllers: &[&str], queue: u64) -> [f64; 2] {
    let of = |seed| {
        let (rates, _) = share(controllers, queue, "0%", seed);
        let sum = rates.iter().sum::<f64>();
        [rates[0] / sum, sum / CEILING_MBIT]
    };
    let runs: Vec<[f64; 2]> = (1..=3).map(of).collect();
    [0, 1].map(|which| runs.iter().map(|run| run[which]).sum::<f64>() / 3.0)
}

#[test]
fn two_flows_share_alike_and_fill_the_link() {
    for queue in [BDP / 2, 4 * BDP] {
        let [first, sum] = shares(&["bbr3", "bbr3"], queue);
        println!("queue {queue}: first {first:.3}, together {sum:.3}");
        assert!((0.4..0.6).contains(&first), "queue {queue}: {first}");
        assert!(sum > 0.93, "queue {queue}: {sum}");
    }
}

#[test]
fn beside_cubic_it_is_nearer_to_a_fair_share_than_version_1() {
    for queue in [BDP / 2, BDP] {
        let ([old, _], [new, _]) = (shares(&["bbr", "cubic"], queue), shares(&["bbr3", "cubic"], queue));
        println!("queue {queue}: bbr {old:.3}, bbr3 {new:.3}");
        assert!((new - 0.5).abs() < (old - 0.5).abs(), "queue {queue}: bbr {old}, bbr3 {new}");
    }
}

/// Section 5.3.3.8.3: each round trip with loss takes its share, so after N round trips (1 - loss)^N is left, and a probe
/// restores all. N is 62, or what fits into two to three seconds.
#[test]
fn at_one_percent_of_random_loss_it_keeps_what_the_draft_says() {
    for (delay, queue, rounds) in [("20ms", BDP, 62), ("80ms", 4 * BDP, 16)] {
        let of = |controller: &str| share_at(delay, &[controller], queue, "1%", 1).0[0] / (CEILING_MBIT * 0.99);
        let (new, cubic) = (of("bbr3"), of("cubic"));
        let model = (1.0 - 0.99f64.powi(rounds)) / (f64::from(rounds) * 0.01);
        println!("{delay}: bbr3 {new:.3}, model {model:.3}, cubic {cubic:.3}");
        assert!((model - 0.05..model + 0.1).contains(&new), "{delay}: {new}, not {model}");
        assert!(new > 3.0 * cubic, "{delay}: {cubic}");
    }
}

#[test]
fn alone_it_leaves_queues_nearly_empty_and_loses_little_before_a_short_one() {
    let (rates, deep) = share(&["bbr3"], 8 * BDP, "0%", 1);
    let (_, shallow) = share(&["bbr3"], BDP / 5, "0%", 1);
    let (_, old) = share(&["bbr"], BDP / 5, "0%", 1);
    let resent = |outcome: &Outcome| {
        outcome.flows[0].retransmitted_segments as f64 / outcome.flows[0].segments_sent.max(1) as f64
    };
    let too_high = shallow.flows[0].controller.iter().find(|(counter, _)| *counter == "probes_too_high").unwrap().1;
    let wait = (deep.flows[0].rtt.p50 as f64 / 1e6 - 40.6).max(0.0);
    println!("{too_high} probes lost too much");
    println!(
        "{:.2} Mbit/s, median wait {wait:.1} ms; resent {:.4}, bbr {:.4}",
        rates[0],
        resent(&shallow),
        resent(&old)
    );
    assert!(too_high > 0, "losses are told one by one");
    assert!(rates[0] > 0.94 * CEILING_MBIT, "{rates:?}");
    assert!(wait < 10.0, "{wait} ms");
    assert!(resent(&shallow) < 0.01 && resent(&shallow) < resent(&old), "{} {}", resent(&shallow), resent(&old));
}
