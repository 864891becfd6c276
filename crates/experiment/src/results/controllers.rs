//! What congestion controllers counted, all flows of a run together.
//!
//! `<counter>_share` is the counter divided by what the controller counts first: its decisions. Where nothing was decided
//! the share is 0.

use super::{Estimate, estimate};
use crate::world::{FlowOutcome, RunOutcome};

const SHARE: &str = "_share";

/// The counter or share called `name` in one run; a controller that counts nothing counts 0.
pub fn value(run: &RunOutcome, name: &str) -> f64 {
    match name.strip_suffix(SHARE) {
        None => count(run, name) as f64,
        Some(counter) => share(run, counter),
    }
}

/// Counters of a run, in their controller's order, each once.
pub fn names(run: &RunOutcome) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in run.flows.iter().flat_map(|flow| &flow.controller) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// The counter called `name` over all flows.
pub fn count(run: &RunOutcome, name: &str) -> u64 {
    run.flows.iter().filter_map(|flow| of_flow(flow, name)).sum()
}

/// The counter of control TCPs and streams called `name` over all flows; 0 where no flow has one.
pub fn control_count(run: &RunOutcome, name: &str) -> u64 {
    let counters = run.flows.iter().flat_map(|flow| &flow.control);
    counters.filter(|(counter, _)| counter == name).map(|(_, count)| count).sum()
}

/// The shares of the counter called `name` in `runs`; `None` for one that is counted first.
pub fn shares(runs: &[RunOutcome], name: &str) -> Option<(String, Option<Estimate>)> {
    let is_first = |flow: &FlowOutcome| flow.controller.first().is_some_and(|(first, _)| first == name);
    if runs.iter().flat_map(|run| &run.flows).any(is_first) {
        return None;
    }
    let shares: Vec<f64> = runs.iter().map(|run| share(run, name)).collect();
    Some((format!("{name}{SHARE}"), estimate(&shares)))
}

fn share(run: &RunOutcome, name: &str) -> f64 {
    let counting = run.flows.iter().filter(|flow| of_flow(flow, name).is_some());
    let decisions: u64 = counting.filter_map(|flow| flow.controller.first()).map(|(_, count)| count).sum();
    if decisions == 0 { 0.0 } else { count(run, name) as f64 / decisions as f64 }
}

fn of_flow(flow: &FlowOutcome, name: &str) -> Option<u64> {
    flow.controller.iter().find(|(counter, _)| counter == name).map(|(_, count)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(controller: &[(&str, u64)]) -> FlowOutcome {
        let controller = controller.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        FlowOutcome { controller, ..FlowOutcome::default() }
    }

    /// Table II of the paper: loss events, n = 1, 2, 3, taken for random, below the mean; printed success and share in %.
    const TABLE_2: [([u64; 6], [f64; 2]); 4] = [
        ([33, 33, 0, 0, 8, 18], [24.0, 55.0]),
        ([180, 175, 4, 1, 31, 80], [17.0, 44.0]),
        ([342, 321, 20, 1, 69, 140], [20.0, 41.0]),
        ([487, 439, 46, 2, 88, 200], [18.0, 41.0]),
    ];

    #[test]
    fn spec_8_18_the_papers_table_adds_up_and_its_shares_are_ours() {
        for (counts, printed) in TABLE_2 {
            let [events, n_1, n_2, n_3, random, below_mean] = counts;
            assert_eq!(n_1 + n_2 + n_3, events);
            let counted = [("loss_events", events), ("n_1", n_1), ("random", random), ("below_mean", below_mean)];
            let run = RunOutcome { flows: vec![flow(&counted)], ..RunOutcome::default() };
            let shares = ["random_share", "below_mean_share"].map(|name| (100.0 * value(&run, name)).round());
            // 18 of 33 are 54.5 %, printed 55 (NZG-N1).
            assert_eq!(shares, printed);
        }
    }

    #[test]
    fn shares_are_of_the_decisions_of_those_flows_that_count() {
        let flows =
            vec![flow(&[("decisions", 10), ("random", 4)]), flow(&[("decisions", 30), ("random", 2)]), flow(&[])];
        let run = RunOutcome { flows, ..RunOutcome::default() };
        assert_eq!((value(&run, "random"), value(&run, "random_share")), (6.0, 0.15));
        assert_eq!((value(&run, "unheard"), value(&run, "unheard_share")), (0.0, 0.0));
        assert_eq!(names(&run), ["decisions", "random"]);
        assert_eq!(shares(std::slice::from_ref(&run), "decisions"), None);
        assert_eq!(shares(&[run], "random").unwrap().0, "random_share");
    }
}
