//! From a run's summary to a verdict on one demand.

use serde_json::Value;
use std::fmt;

/// A cell with G-Snoop in it.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Loss as the scenario writes it, or the kind of a loss model.
    pub loss: &'static str,
    /// Congestion control of the sender.
    pub controller: &'static str,
}

/// What is compared, always the median over the cell's runs.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Goodput over the ceiling.
    OfCeiling,
    /// Goodput over that of the same cell without the scheme.
    TimesBaseline,
}

/// One line of the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Where.
    pub cell: Cell,
    /// What.
    pub measure: Measure,
    /// The target.
    pub at_least: f64,
    /// How many runs the median must come from.
    pub runs: usize,
}

/// What came of a demand.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the target was met.
    pub passed: bool,
    /// Nothing was measured, as the emulated link was not what it should be: to be run again.
    pub is_void: bool,
    /// What was found and what was asked for.
    pub line: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", if self.passed { "PASS" } else { "FAIL" }, self.line)
    }
}

/// Judges one demand; a cell that is missing, was invalid or has too few runs fails, with that reason.
pub fn judge(demand: &Demand, summary: &Value) -> Verdict {
    let Cell { loss, controller } = demand.cell;
    let (key, unit) = match demand.measure {
        Measure::OfCeiling => ("of_ceiling", "of the ceiling"),
        Measure::TimesBaseline => ("times_baseline", "x plain"),
    };
    let what = format!("{controller:<5}  loss {loss:<15}");
    let cell = cells(summary).iter().find(|cell| is_at(cell, loss, controller, "gsnoop"));
    let is_void = cell.is_some_and(is_void);
    let value = match cell {
        Some(_) if is_void => {
            Err("the emulator did not hold its rate, delay or loss; run again on an idle machine".to_owned())
        }
        Some(cell) => value(demand, key, cell),
        None => Err("the summary has no such cell".to_owned()),
    };
    match value {
        Ok(value) => Verdict {
            passed: value >= demand.at_least,
            is_void,
            line: format!("{what}  {value:.3} {unit:<14}  target {:.2}", demand.at_least),
        },
        Err(reason) => Verdict { passed: false, is_void, line: format!("{what}  {reason}") },
    }
}

fn value(demand: &Demand, key: &str, cell: &Value) -> Result<f64, String> {
    check(cell, cell["goodput_bps"]["runs"].as_array().map_or(0, Vec::len), demand.runs)?;
    cell[key]["median"].as_f64().ok_or_else(|| format!("the cell has no {key}"))
}

/// Says why a cell of so many runs is not to be judged.
pub fn check(cell: &Value, runs: usize, at_least: usize) -> Result<(), String> {
    if runs < at_least {
        return Err(format!("{runs} runs, {at_least} needed"));
    }
    failed_check(cell).map_or(Ok(()), |check| Err(format!("check '{check}' failed")))
}

/// The cells of a summary.
pub fn cells(summary: &Value) -> &[Value] {
    summary["cells"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// True if the emulated link of a live cell was not what it should be.
pub fn is_void(cell: &Value) -> bool {
    cell["emulator"]["valid"] == Value::Bool(false)
}

/// True for the cell with this loss, controller and scheme.
fn is_at(cell: &Value, loss: &str, controller: &str, scheme: &str) -> bool {
    let at = &cell["at"];
    has_loss(cell, loss) && at["flows.bulk.controller"] == controller && at["schemes.repair.kind"] == scheme
}

/// True for a cell with this loss, as the scenario writes it, or the kind of its model.
pub fn has_loss(cell: &Value, wanted: &str) -> bool {
    let loss = match &cell["at"]["links.air.loss"] {
        Value::String(loss) => loss.as_str(),
        model => model["kind"].as_str().unwrap_or_default(),
    };
    loss == wanted || loss.starts_with(&format!("{wanted} "))
}

fn failed_check(cell: &Value) -> Option<&str> {
    let checks = cell["checks"].as_object()?;
    checks.iter().find(|(_, result)| *result == "failed").map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DEMAND: Demand =
        Demand { cell: Cell { loss: "5%", controller: "cubic" }, measure: Measure::OfCeiling, at_least: 0.97, runs: 5 };

    fn summary(of_ceiling: f64) -> Value {
        let at = |kind| json!({"links.air.loss": "5%", "flows.bulk.controller": "cubic", "schemes.repair.kind": kind});
        let cell = |kind, median: f64| {
            json!({"at": at(kind), "goodput_bps": {"runs": [1, 2, 3, 4, 5]}, "of_ceiling": {"median": median},
                "emulator": {"valid": true}, "checks": {"stream": "passed"}})
        };
        json!({"cells": [cell("none", 0.99), cell("gsnoop", of_ceiling)]})
    }

    #[test]
    fn passes_at_the_target_and_fails_just_below() {
        assert!(judge(&DEMAND, &summary(0.97)).passed);
        assert!(!judge(&DEMAND, &summary(0.9699)).passed);
    }

    #[test]
    fn says_value_and_target() {
        let line = judge(&DEMAND, &summary(0.981)).to_string();
        assert!(
            line.starts_with("PASS") && line.contains("0.981 of the ceiling") && line.contains("target 0.97"),
            "{line}"
        );
    }

    #[test]
    fn fails_without_the_cell() {
        assert!(!judge(&DEMAND, &json!({"cells": []})).passed);
        let elsewhere = Demand { cell: Cell { loss: "10%", controller: "cubic" }, ..DEMAND };
        assert!(!judge(&elsewhere, &summary(1.0)).passed);
    }

    #[test]
    fn fails_with_too_few_runs_or_an_invalid_emulator_or_a_failed_check() {
        for (pointer, value) in [
            ("/cells/1/goodput_bps/runs", json!([1, 2, 3, 4])),
            ("/cells/1/emulator/valid", json!(false)),
            ("/cells/1/checks/stream", json!("failed")),
        ] {
            let mut broken = summary(1.0);
            *broken.pointer_mut(pointer).expect("the summary has it") = value;
            let verdict = judge(&DEMAND, &broken);
            assert!(!verdict.passed, "{pointer}");
            assert_eq!(verdict.is_void, pointer.contains("emulator"), "only such runs may be made again");
        }
    }

    #[test]
    fn finds_a_loss_model_by_its_kind() {
        let mut bursty = summary(0.95);
        bursty["cells"][1]["at"]["links.air.loss"] = json!({"kind": "gilbert-elliott", "mean": "2%", "burst": 5});
        let demand = Demand { cell: Cell { loss: "gilbert-elliott", controller: "cubic" }, at_least: 0.93, ..DEMAND };
        assert!(judge(&demand, &bursty).passed);
    }
}
