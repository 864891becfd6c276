//! How much faster one controller is than another, live beside the simulator, and how sure that is.

use crate::judge::{self, Verdict};
use serde_json::Value;

/// Resamples of each interval.
const RESAMPLES: usize = 10_000;

/// The demand that a controller gains live what it gains in the simulator, at one level of loss.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// Loss as the scenario writes it.
    pub loss: &'static str,
    /// The controller that gains.
    pub controller: &'static str,
    /// The one that it is compared with.
    pub over: &'static str,
    /// How far apart the two gains may be, as a share of the other controller's goodput.
    pub at_most_apart: f64,
    /// How many runs each cell must have at least.
    pub runs: usize,
}

/// A gain, 0.2 for a fifth more, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    gain: f64,
    ci95: [f64; 2],
}

/// Judges the gain that `live` shows by that of `simulated`.
pub fn judge(demand: &Gain, live: &Value, simulated: &Value) -> Verdict {
    let what = format!("{:<6}  loss {:<15}", demand.controller, demand.loss);
    let estimates = estimate(demand, live).and_then(|live| Ok((live, estimate(demand, simulated)?)));
    let is_void = cells(demand, live).into_iter().flatten().any(judge::is_void);
    match estimates {
        Ok((live, simulated)) => {
            let apart = (live.gain - simulated.gain).abs();
            let over = demand.over;
            let line = format!(
                "{what}  live {}, simulator {} over {over}: {:.1} points apart  target {:.0}",
                text(live),
                text(simulated),
                100.0 * apart,
                100.0 * demand.at_most_apart
            );
            Verdict { passed: !is_void && apart <= demand.at_most_apart, is_void, line }
        }
        Err(reason) => Verdict { passed: false, is_void, line: format!("{what}  {reason}") },
    }
}

fn text(Estimate { gain, ci95: [low, high] }: Estimate) -> String {
    format!("{:+.1} % [{:+.1}, {:+.1}]", 100.0 * gain, 100.0 * low, 100.0 * high)
}

/// The cells of both controllers, ours first.
fn cells<'a>(demand: &Gain, summary: &'a Value) -> [Option<&'a Value>; 2] {
    [demand.controller, demand.over].map(|controller| {
        let has_controller = |cell: &Value| cell["at"]["defaults.flows.controller"] == controller;
        judge::cells(summary).iter().find(|cell| judge::has_loss(cell, demand.loss) && has_controller(cell))
    })
}

fn estimate(demand: &Gain, summary: &Value) -> Result<Estimate, String> {
    let [Some(ours), Some(other)] = cells(demand, summary) else {
        return Err("the summary has no such cells".to_owned());
    };
    Ok(gain(&goodputs(ours, demand.runs)?, &goodputs(other, demand.runs)?))
}

fn goodputs(cell: &Value, at_least: usize) -> Result<Vec<f64>, String> {
    let runs: Vec<f64> =
        cell["goodput_bps"]["runs"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    judge::check(cell, runs.len(), at_least)?;
    match runs.iter().all(|goodput| *goodput > 0.0) {
        true => Ok(runs),
        false => Err("a run got nothing through".to_owned()),
    }
}

/// The ratio of the medians less one, with the percentile interval of the bootstrap: both sets of runs are drawn again,
/// with repetition and each for itself, as live runs have nothing in common by which they could be paired.
fn gain(ours: &[f64], other: &[f64]) -> Estimate {
    let mut draw = Draw(1);
    let mut gains: Vec<f64> =
        (0..RESAMPLES).map(|_| median(draw.again(ours)) / median(draw.again(other)) - 1.0).collect();
    gains.sort_by(f64::total_cmp);
    let ends = [RESAMPLES / 40, RESAMPLES - 1 - RESAMPLES / 40].map(|rank| gains[rank]);
    Estimate { gain: median(ours.to_vec()) / median(other.to_vec()) - 1.0, ci95: ends }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    f64::midpoint(values[(n - 1) / 2], values[n / 2])
}

/// SplitMix64: the same runs have the same interval.
struct Draw(u64);

impl Draw {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// As many values as there are, each drawn from all.
    fn again(&mut self, values: &[f64]) -> Vec<f64> {
        (0..values.len()).map(|_| values[(self.word() % values.len() as u64) as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DEMAND: Gain = Gain { loss: "1%", controller: "newzag", over: "reno", at_most_apart: 0.1, runs: 5 };

    /// Both controllers at 1 % loss, the second with goodputs around 100.
    fn summary(ours: [u64; 5]) -> Value {
        let cell = |controller, runs: [u64; 5]| {
            json!({"at": {"links.air.loss": "1%", "defaults.flows.controller": controller},
                "goodput_bps": {"runs": runs}, "emulator": {"valid": true}, "checks": {"stream": "passed"}})
        };
        json!({"cells": [cell("reno", [98, 99, 100, 101, 102]), cell("newzag", ours)]})
    }

    #[test]
    fn gains_that_are_close_pass_and_others_do_not() {
        let simulated = summary([118, 119, 120, 121, 122]);
        for (live, passes) in [([127, 128, 129, 130, 131], true), ([129, 130, 131, 132, 133], false)] {
            let verdict = judge(&DEMAND, &summary(live), &simulated);
            assert_eq!(verdict.passed, passes, "{verdict}");
        }
        assert!(!judge(&DEMAND, &summary([105, 106, 108, 109, 110]), &simulated).passed, "too little fails, too");
    }

    #[test]
    fn the_line_has_both_gains_with_their_intervals() {
        let line = judge(&DEMAND, &summary([117, 118, 119, 120, 121]), &summary([120; 5])).to_string();
        assert!(line.contains("live +19.0 % [+") && line.contains("simulator +20.0 % [+17.6, +22.4]"), "{line}");
        assert!(line.starts_with("PASS") && line.contains("1.0 points apart  target 10"), "{line}");
    }

    #[test]
    fn the_interval_is_that_of_the_medians_that_could_have_been() {
        assert_eq!(gain(&[3.0; 5], &[2.0; 5]), Estimate { gain: 0.5, ci95: [0.5, 0.5] });
        // Medians of five draws from five: the extremes have a chance of 5.8 % on each side, so they are in it.
        let spread = gain(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0; 5]);
        assert_eq!(spread, Estimate { gain: 2.0, ci95: [0.0, 4.0] });
    }

    #[test]
    fn nothing_is_judged_without_the_runs() {
        let good = summary([120; 5]);
        for (pointer, value) in [
            ("/cells/1/goodput_bps/runs", json!([1, 2, 3, 4])),
            ("/cells/0/goodput_bps/runs", json!([1, 2, 3, 4, 0])),
            ("/cells/0/checks/stream", json!("failed")),
            ("/cells/1/at/defaults.flows.controller", json!("cubic")),
            ("/cells/1/emulator/valid", json!(false)),
        ] {
            let mut broken = good.clone();
            *broken.pointer_mut(pointer).expect("the summary has it") = value;
            let verdict = judge(&DEMAND, &broken, &good);
            assert!(!verdict.passed, "{pointer}");
            assert_eq!(verdict.is_void, pointer.contains("emulator"));
        }
    }
}
