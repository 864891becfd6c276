//! How the rates of long flows move: how steady each is, and how soon all have the same (RFC 5166, 2.2 and 2.3). It is taken from
//! the samples of each run, before those of all but the first are thrown away.

use super::statistics::jain;
use crate::scenario::{FlowSpec, ResolvedScenario};
use crate::world::{Dynamics, FlowOutcome, Sample};
use airtcp_core::Duration;

/// Over which rates are taken; longer where samples are further apart.
const WINDOW: Duration = Duration::from_secs(1);
/// Shares are fair that differ by this from the mean, as two flows with (1 ± 0.1) ÷ 2 of the rate do: the δ of Bansal et al.,
/// *Dynamic Behavior of Slowly-Responsive Congestion Control Algorithms* (SIGCOMM 2001).
const DELTA: f64 = 0.1;

/// What the samples of `flows` tell.
pub fn of(scenario: &ResolvedScenario, flows: &[FlowOutcome]) -> Dynamics {
    let long: Vec<(&FlowSpec, &FlowOutcome)> =
        scenario.flows.iter().zip(flows).filter(|(spec, _)| spec.size.is_none()).collect();
    Dynamics {
        rate_variation_ppm: long
            .iter()
            .filter_map(|(_, flow)| variation(flow))
            .max_by(f64::total_cmp)
            .map(|most| (most * 1e6).round() as u64),
        convergence: convergence(&long),
    }
}

/// Standard deviation over mean of a flow's rate from second to second, in the measured time.
fn variation(flow: &FlowOutcome) -> Option<f64> {
    let from = flow.window_start.as_nanos();
    let measured = from..=from + flow.window.as_nanos();
    let samples: Vec<&Sample> = flow.series.iter().filter(|sample| measured.contains(&sample.at.as_nanos())).collect();
    let rates: Vec<f64> = windows(&samples).map(|[first, last]| rate(first, last)).collect();
    coefficient_of_variation(&rates)
}

/// First and last sample of each whole window, one after the other.
fn windows<'a>(samples: &[&'a Sample]) -> impl Iterator<Item = [&'a Sample; 2]> {
    let mut begin = samples.first().copied();
    samples.iter().filter_map(move |sample| {
        let first = begin.filter(|first| sample.at.saturating_sub(first.at) >= WINDOW)?;
        begin = Some(sample);
        Some([first, *sample])
    })
}

/// Bytes per second.
fn rate(first: &Sample, last: &Sample) -> f64 {
    last.delivered.saturating_sub(first.delivered) as f64 * 1e9 / last.at.saturating_sub(first.at).as_nanos() as f64
}

/// `None` for fewer than two values, or nothing but zeros.
fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (values.len() > 1 && mean > 0.0).then(|| variance.sqrt() / mean)
}

/// From the time when the last flow has begun until all have fair shares.
fn convergence(flows: &[(&FlowSpec, &FlowOutcome)]) -> Option<Duration> {
    let first_byte =
        |flow: &FlowOutcome| flow.series.iter().find(|sample| sample.delivered > 0).map(|sample| sample.at);
    let began = flows.iter().map(|(_, flow)| first_byte(flow)).collect::<Option<Vec<_>>>()?.into_iter().max()?;
    if flows.len() < 2 {
        return None;
    }
    let fair = 1.0 / (1.0 + DELTA * DELTA);
    let (_, longest) = flows.iter().max_by_key(|(_, flow)| flow.series.len())?;
    let since: Vec<&Sample> = longest.series.iter().filter(|sample| sample.at >= began).collect();
    let is_fair = |[first, last]: &[&Sample; 2]| {
        let share = |(spec, flow): &(&FlowSpec, &FlowOutcome)| {
            let [first, last] = [first, last].map(|edge| sample_at(flow, edge.at));
            first.zip(last).map(|(first, last)| rate(first, last) / f64::from(spec.weight))
        };
        flows.iter().map(share).collect::<Option<Vec<f64>>>().is_some_and(|shares| jain(&shares) >= fair)
    };
    windows(&since).find(is_fair).map(|[_, last]| last.at.saturating_sub(began))
}

/// All flows are sampled at the same times, from their start on.
fn sample_at(flow: &FlowOutcome, at: Duration) -> Option<&Sample> {
    flow.series.binary_search_by_key(&at, |sample| sample.at).ok().map(|place| &flow.series[place])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, Scenario};

    /// A flow with so many kB in each half second, from `start` half seconds on.
    fn flow(start: u64, kilobytes: &[u64]) -> FlowOutcome {
        let mut delivered = 0;
        let sample = |(index, step): (usize, &u64)| {
            delivered += step * 1000;
            Sample { at: Duration::from_millis((start + index as u64) * 500), delivered, ..Sample::default() }
        };
        let series: Vec<Sample> = kilobytes.iter().enumerate().map(sample).collect();
        FlowOutcome { window: Duration::from_secs(100), series, ..FlowOutcome::default() }
    }

    fn measured(flows: &[FlowOutcome]) -> Dynamics {
        let text = format!(
            "schema = 1\nname = \"two\"\nduration = \"100s\"\n[nodes]\na = {{}}\nb = {{}}\n[links.l]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit\"\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ncount = {}\n",
            flows.len()
        );
        let scenario = Scenario::of_text("two.toml", &text, &[], &Catalogue::BUILT_IN).unwrap();
        of(&scenario.cells[0].scenario, flows)
    }

    #[test]
    fn a_steady_rate_does_not_vary_and_one_that_stops_every_other_second_varies_by_one() {
        let varies = |flows: &[FlowOutcome]| measured(flows).rate_variation_ppm;
        assert_eq!(varies(&[flow(0, &[0, 5, 5, 5, 5, 5, 5])]), Some(0));
        let pauses = flow(0, &[0, 5, 5, 0, 0, 5, 5, 0, 0]);
        assert_eq!(varies(std::slice::from_ref(&pauses)), Some(1_000_000));
        assert_eq!(varies(&[flow(0, &[0, 5, 5, 5, 5]), pauses]), Some(1_000_000), "that of the least steady");
        assert_eq!(varies(&[flow(0, &[0, 5])]), None, "less than two seconds tell nothing");
    }

    #[test]
    fn shares_converge_when_all_are_fair_for_a_second() {
        // The second begins at 1 s with a ninth, and has half from 3 s on.
        let first = flow(0, &[8, 8, 8, 8, 8, 8, 5, 5, 5, 5]);
        let second = flow(2, &[1, 1, 1, 1, 5, 5, 5, 5]);
        assert_eq!(measured(&[first.clone(), second]).convergence, Some(Duration::from_secs(3)));
        assert_eq!(measured(&[first.clone(), flow(2, &[1; 8])]).convergence, None, "never");
        assert_eq!(measured(&[first]).convergence, None, "alone");
    }
}
