//! What became of streams of datagrams. A scenario without one has none of these.

use super::table::metrics;
use super::{Combine, Members, Unit};
use crate::world::{FlowOutcome, Percentiles, RunOutcome};

// Of all streams together.
metrics! { METRICS: Combine::Whole, Members::None;
    /// share of the datagrams of all streams that did not arrive although later ones have
    "datagrams.lost_share", "datagrams lost", Unit::Share, Combine::Decimals(5) => |run, _| share(&run.outcome.flows);
    /// how long datagrams were on their way, median; of several streams the highest
    "datagrams.delay_ns.p50", "delay p50", Unit::Millis => |run, _| highest(run.outcome, |delay| delay.p50);
    /// 95th percentile of the same
    "datagrams.delay_ns.p95", "delay p95", Unit::Millis => |run, _| highest(run.outcome, |delay| delay.p95);
    /// 99th percentile of the same
    "datagrams.delay_ns.p99", "delay p99", Unit::Millis => |run, _| highest(run.outcome, |delay| delay.p99);
}

// Of each stream by itself, where there are several flows.
metrics! { BY_ITSELF: Combine::WholeWithRuns, Members::Flows;
    /// share of the flow's datagrams that did not arrive although later ones have
    "flows.<name>.lost_share", "flows.* lost", Unit::Share, Combine::Decimals(5) =>
        |run, name| share(std::slice::from_ref(flow(run.outcome, name)?));
    /// how long the flow's datagrams were on their way, median
    "flows.<name>.delay_ns.p50", "flows.* delay p50", Unit::Millis => |run, name| delay(run.outcome, name, |delay| delay.p50);
    /// 95th percentile of the same
    "flows.<name>.delay_ns.p95", "flows.* delay p95", Unit::Millis => |run, name| delay(run.outcome, name, |delay| delay.p95);
    /// 99th percentile of the same
    "flows.<name>.delay_ns.p99", "flows.* delay p99", Unit::Millis => |run, name| delay(run.outcome, name, |delay| delay.p99);
}

fn flow<'a>(run: &'a RunOutcome, name: &str) -> Option<&'a FlowOutcome> {
    run.flows.iter().find(|flow| flow.name == name)
}

fn delay(run: &RunOutcome, name: &str, of: fn(&Percentiles) -> u64) -> Option<f64> {
    flow(run, name)?.delay.as_ref().map(|delay| of(delay) as f64)
}

fn highest(run: &RunOutcome, of: fn(&Percentiles) -> u64) -> Option<f64> {
    run.flows.iter().filter_map(|flow| flow.delay.as_ref()).map(of).max().map(|nanos| nanos as f64)
}

/// Lost over sent, by the counters of the flows' sockets; `None` where no stream sent anything.
fn share(flows: &[FlowOutcome]) -> Option<f64> {
    let sum = |name: &str| -> u64 {
        let counters = flows.iter().flat_map(|flow| &flow.control);
        counters.filter(|(counter, _)| counter == name).map(|(_, count)| count).sum()
    };
    match sum("datagrams") {
        0 => None,
        sent => Some(sum("datagrams_lost") as f64 / sent as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str, sent: u64, lost: u64, p99: u64) -> FlowOutcome {
        FlowOutcome {
            name: name.to_owned(),
            control: vec![("datagrams".to_owned(), sent), ("datagrams_lost".to_owned(), lost)],
            delay: Some(Percentiles { p99, ..Percentiles::default() }),
            ..FlowOutcome::default()
        }
    }

    #[test]
    fn losses_are_over_all_streams_and_delays_those_of_the_slowest() {
        let flows = vec![stream("a", 900, 9, 30), FlowOutcome::default(), stream("b", 100, 11, 20)];
        let run = RunOutcome { flows, ..RunOutcome::default() };
        assert_eq!((share(&run.flows), highest(&run, |delay| delay.p99)), (Some(0.02), Some(30.0)));
        assert_eq!(share(&run.flows[..1]), Some(0.01));
        assert_eq!(delay(&run, "b", |delay| delay.p99), Some(20.0));
    }

    #[test]
    fn a_run_without_datagrams_tells_nothing() {
        let run = RunOutcome { flows: vec![FlowOutcome::default()], ..RunOutcome::default() };
        assert_eq!((share(&run.flows), highest(&run, |delay| delay.p99)), (None, None));
    }
}
