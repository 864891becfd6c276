//! Gateways that are told a wrong rate cost nobody anything: `scenarios/wrong-rate.toml`, shortened.

use crate::common::read_with;
use airtcp_experiment::world::FlowOutcome;
use airtcp_experiment::{Catalogue, RunOutcome, Simulator, World};
use std::collections::BTreeMap;

const FILE: &str = include_str!("../../../scenarios/wrong-rate.toml");

/// Goodput in kbit/s and the 95th percentile of the ping in ms, by loss, controller and gateways.
fn measured(sets: &[&str]) -> BTreeMap<[String; 3], [f64; 2]> {
    let sets = [&["duration=16s", "warmup=4s"], sets].concat();
    let scenario = read_with(FILE, &sets, &Catalogue::BUILT_IN).unwrap();
    let of = |outcome: &RunOutcome| {
        let bits = |flow: &FlowOutcome| flow.window_bytes as f64 * 8e6 / flow.window.as_nanos() as f64;
        [outcome.flows.iter().map(bits).sum(), outcome.probes[0].rtt.p95 as f64 / 1e6]
    };
    let cells = scenario.cells.iter().map(|cell| {
        let label = |key: &str| cell.at.iter().find(|(axis, _)| axis.contains(key)).unwrap().1.clone();
        let at = ["loss", "controller", "gateways"].map(label);
        (at, of(&Simulator::default().run(&cell.scenario, 1).unwrap()))
    });
    cells.collect()
}

#[test]
fn a_rate_that_is_too_high_costs_neither_goodput_nor_latency() {
    let measured = measured(&[]);
    for ([loss, controller, gateways], [goodput, ping]) in &measured {
        let plain = measured[&[loss.clone(), controller.clone(), "none".into()]];
        let what = format!("{loss} {controller} {gateways}: {goodput:.0} kbit/s, {ping:.1} ms, plain {plain:?}");
        if gateways.contains("too high") || gateways == "right" {
            assert!(*goodput >= 0.97 * plain[0] && *ping <= plain[1] + 5.0, "{what}");
        }
        if gateways == "right" {
            assert!(*ping <= 60.2 + 30.0, "{what}");
        }
        let configured = [("30 % too low", 7e3), ("10 % too low", 9e3)].into_iter().find(|(name, _)| name == gateways);
        if let (Some((_, rate)), "cubic") = (configured, controller.as_str()) {
            let most = rate * 1448.0 / 1500.0 * (if loss == "0%" { 1.0 } else { 0.98 });
            assert!(*goodput >= 0.97 * most, "{what}: {most:.0} are possible");
        }
    }
}
