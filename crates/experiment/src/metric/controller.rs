//! What schemes, congestion controllers and hidden control TCPs counted.
//!
//! `controller.<counter>_share` is the counter divided by what the controller counts first: its decisions. Where
//! nothing was decided the share is 0.

use super::table::metrics;
use super::{Combine, Members, Unit};
use crate::world::{FlowOutcome, RunOutcome};

const COUNT: Unit = Unit::Count("");

metrics! { OF_SCHEMES: Combine::Count, Members::SchemeCounters;
    /// what the schemes counted, and levels of their boxes at the end
    "scheme.<counter>", "*", COUNT => |run, name| Some(of_schemes(run.outcome, name) as f64);
}

metrics! { METRICS: Combine::Count, Members::ControllerCounters;
    /// what the flows' congestion controllers counted in the measured time
    "controller.<counter>", "*", COUNT => |run, name| Some(count(run.outcome, name) as f64);
}

metrics! { SHARES: Combine::Decimals(4), Members::ControllerShares;
    /// the same over what the controller counts first: its decisions
    "controller.<counter>_share", "* share", Unit::Share => |run, name| Some(share(run.outcome, name));
}

metrics! { OF_SOCKETS: Combine::Count, Members::ControlCounters;
    /// what the flows' sockets counted in the measured time: hidden control TCPs, streams of datagrams
    "control.<counter>", "control.*", COUNT => |run, name| Some(of_sockets(run.outcome, name) as f64);
}

/// The counter called `name` over all schemes; a cell without one counted nothing.
fn of_schemes(run: &RunOutcome, name: &str) -> u64 {
    run.schemes.iter().filter_map(|scheme| scheme.counters.get(name)).sum()
}

/// The counter called `name` over all flows.
fn count(run: &RunOutcome, name: &str) -> u64 {
    run.flows.iter().filter_map(|flow| of_flow(flow, name)).sum()
}

fn of_sockets(run: &RunOutcome, name: &str) -> u64 {
    let counters = run.flows.iter().flat_map(|flow| &flow.control);
    counters.filter(|(counter, _)| counter == name).map(|(_, count)| count).sum()
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
            let shares = ["random", "below_mean"].map(|name| (100.0 * share(&run, name)).round());
            // 18 of 33 are 54.5 %, printed 55 (NZG-N1).
            assert_eq!(shares, printed);
        }
    }

    #[test]
    fn shares_are_of_the_decisions_of_those_flows_that_count() {
        let flows =
            vec![flow(&[("decisions", 10), ("random", 4)]), flow(&[("decisions", 30), ("random", 2)]), flow(&[])];
        let run = RunOutcome { flows, ..RunOutcome::default() };
        assert_eq!((count(&run, "random"), share(&run, "random")), (6, 0.15));
        assert_eq!((count(&run, "unheard"), share(&run, "unheard")), (0, 0.0));
        assert_eq!(*Members::ControllerCounters.in_run(&run), ["decisions", "random"]);
        assert_eq!(*Members::ControllerShares.in_run(&run), ["random"]);
    }
}
