//! Others on the same hop whom the gateways do not see: `scenarios/shared-hop.toml`, some of its cells.

use crate::common::read_with;
use airtcp_experiment::world::FlowOutcome;
use airtcp_experiment::{Catalogue, Simulator, World};

const FILE: &str = include_str!("../../../scenarios/shared-hop.toml");

/// Runs of a cell: one alone tells what the first minute of two flows was like.
const RUNS: u64 = 3;

/// Mbit/s of ours and of theirs in the cell of these labels with gateways, on average, and how often somebody else was found to fill the link.
fn measured(theirs: &str, loss: &str) -> ([f64; 2], u64) {
    let scenario = read_with(FILE, &[], &Catalogue::BUILT_IN).unwrap();
    let wanted = ["cubic", theirs, loss, "local-recovery"];
    let is_it = |at: &[(String, String)]| wanted.iter().all(|label| at.iter().any(|(_, found)| found == label));
    let cell = scenario.cells.iter().find(|cell| is_it(&cell.at)).expect("the cell is in the file");
    let outcomes: Vec<_> = (1..=RUNS).map(|seed| Simulator::default().run(&cell.scenario, seed).unwrap()).collect();
    let rate = |flow: &FlowOutcome| flow.window_bytes as f64 * 8e3 / flow.window.as_nanos() as f64;
    let mean = |flow: usize| outcomes.iter().map(|run| rate(&run.flows[flow])).sum::<f64>() / RUNS as f64;
    let found = outcomes.iter().filter_map(|run| run.schemes[0].counters.get("link_shared")).sum();
    ([mean(0), mean(1)], found)
}

#[test]
fn beside_a_tcp_that_fills_the_link_nobody_has_less_than_three_fifths_of_a_fair_share() {
    for (theirs, loss) in [("CUBIC", "0%"), ("BBR", "0%"), ("BBR", "2%")] {
        let ([ours, others], found) = measured(theirs, loss);
        // acceptance/shared-hop.toml demands 80 % of a fair share, 4.8; a law that gives way has 10 %.
        assert!(ours > 0.6 * 4.8 && others > 0.6 * 4.8 && found > 0, "{theirs} {loss}: {ours:.2} {others:.2} {found}");
    }
}

#[test]
fn a_constant_rate_is_taken_for_nobody_who_fills_the_link() {
    let ([ours, others], found) = measured("CBR at half the rate", "2%");
    assert!(ours > 4.4 && others > 4.7 && found == 0, "{ours:.2} {others:.2} {found}");
}
