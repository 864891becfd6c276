//! The metrics of a cell in its summary: their names are paths, `queue.drops` is `drops` in `queue`; flows and probes
//! are lists whose items have a `name`.

use super::statistics::round;
use super::{Estimate, estimate, median};
use crate::metric::{self, Combine, Members, Metric, Run, rates};
use crate::scenario::SchemeSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

type Fields = Map<String, Value>;

/// Every metric of a cell by its name, as it stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Readings(Fields);

/// The value of a metric in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The median over the runs, in the metric's base unit.
    pub median: f64,
    /// Its 95 % interval; counters have none.
    pub ci95: Option<[f64; 2]>,
    /// Each run's, for the metrics that keep them.
    pub runs: Vec<f64>,
}

impl Readings {
    /// Those of `metrics` that the runs tell, in their order.
    pub(super) fn of(runs: &[Run<'_>], metrics: &[&Metric]) -> Readings {
        let mut row = Fields::new();
        put(&mut row, runs, metrics);
        Readings(row)
    }

    /// The metric called `name` in files; `None` if the runs do not tell it.
    pub fn get(&self, name: &str) -> Option<Reading> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let below = |node, rest: &str| {
            rest.split('.').try_fold(node, |node: &Value, part| match node {
                Value::Array(items) => items.iter().find(|item| item["name"] == part),
                Value::Object(fields) => field(fields, part),
                _ => None,
            })
        };
        reading(rest.map_or(field(&self.0, first), |rest| below(field(&self.0, first)?, rest))?)
    }

    /// Puts a reading where another name finds it.
    pub fn put(&mut self, name: &str, reading: &Reading) {
        self.0.insert(name.to_owned(), json!({"median": reading.median, "ci95": reading.ci95}));
    }

    /// Names of the flows, if there are several.
    pub fn flows(&self) -> impl Iterator<Item = &str> {
        self.0.get("flows").and_then(Value::as_array).into_iter().flatten().filter_map(|flow| flow["name"].as_str())
    }

    /// What the schemes counted; of several schemes each with its name before it.
    pub fn scheme_counters(&self) -> Vec<(String, u64)> {
        let counters = |prefix: String, scheme: &Value| -> Vec<(String, u64)> {
            let fields = scheme.as_object().into_iter().flatten();
            fields.filter_map(|(name, value)| Some((format!("{prefix}{name}"), value.as_u64()?))).collect()
        };
        let several = self.0.get("schemes").and_then(Value::as_object).into_iter().flatten();
        let several = several.flat_map(|(name, scheme)| counters(format!("{name} "), scheme));
        self.0.get("scheme").into_iter().flat_map(|scheme| counters(String::new(), scheme)).chain(several).collect()
    }

    /// Puts each run's value of the metric called `name` beside its estimate. Counters stay single numbers.
    pub(super) fn put_runs(&mut self, name: &str, runs: &[Run<'_>]) {
        let Some((metric, member)) = metric::find(name) else { return };
        let told = runs.iter().filter_map(|run| metric.of(run, member));
        if let Some(Value::Object(estimate)) = node_of(&mut self.0, name) {
            estimate.entry("runs").or_insert_with(|| told.map(|one| Value::from(round(one, 4))).collect());
        }
    }

    /// Says what `times_baseline` was compared with.
    pub(super) fn put_baseline(&mut self, labels: Value) {
        if let Some(Value::Object(ratio)) = self.0.get_mut("times_baseline") {
            ratio.insert("baseline".into(), labels);
        }
    }
}

/// The field called `name`. An object has so few that to walk over them is faster than to look one up.
fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// A value as it stands in the file: a number, or an object with the fields of a reading. Again a walk is faster.
fn reading(node: &Value) -> Option<Reading> {
    let Value::Object(fields) = node else {
        return Some(Reading { median: node.as_f64()?, ci95: None, runs: Vec::new() });
    };
    let (mut median, mut ci95, mut runs) = (None, None, Vec::new());
    for (name, value) in fields {
        let numbers = || value.as_array().into_iter().flatten().filter_map(Value::as_f64);
        match name.as_str() {
            "median" => median = value.as_f64(),
            "ci95" => ci95 = numbers().next().zip(numbers().nth(1)).map(|(low, high)| [low, high]),
            "runs" => runs = numbers().collect(),
            _ => {}
        }
    }
    Some(Reading { median: median?, ci95, runs })
}

fn put(row: &mut Fields, runs: &[Run<'_>], metrics: &[&Metric]) {
    // All metrics of one flow, probe or counter stand together.
    for family in metrics.chunk_by(|a, b| a.is_family() && b.is_family() && root(a) == root(b)) {
        let members = family[0].members;
        if members == Members::SchemeCounters {
            put_schemes(row, runs);
            continue;
        }
        // What a single flow did stands in the cell itself.
        if members == Members::Flows && runs.iter().all(|run| run.outcome.flows.len() < 2) {
            continue;
        }
        for member in &*members.in_runs(runs) {
            let has = |metric: &Metric| metric.members == members || metric.members.in_runs(runs).contains(member);
            for metric in family.iter().filter(|metric| has(metric)) {
                if let Some(value) = combined(metric, member, runs) {
                    let path: Vec<&str> = metric.name.split('.').collect();
                    insert(row, &path, member, value);
                }
            }
        }
    }
}

/// What stands under a dotted name; in a list, the item with that `name`.
fn node_of<'a>(fields: &'a mut Fields, name: &str) -> Option<&'a mut Value> {
    let mut parts = name.split('.');
    let first = fields.get_mut(parts.next()?)?;
    parts.try_fold(first, |node, part| match node {
        Value::Array(items) => items.iter_mut().find(|item| item["name"] == part),
        _ => node.get_mut(part),
    })
}

/// `flows` of `flows.<name>.rtos`.
fn root(metric: &Metric) -> &'static str {
    metric.name.split('.').next().unwrap_or_default()
}

fn insert(fields: &mut Fields, path: &[&str], member: &str, value: Value) {
    match path {
        [] => {}
        [key] => {
            // To look for the mark takes far longer than to see that there can be none.
            let is_mark = !member.is_empty() && key.contains('<');
            let key = if is_mark { key.replace("<counter>", member) } else { (*key).to_owned() };
            fields.insert(key, value);
        }
        [list, "<name>", rest @ ..] => {
            let items = fields.entry(*list).or_insert_with(|| json!([]));
            let Value::Array(items) = items else { return };
            let place = items.iter().position(|item| item["name"] == member).unwrap_or_else(|| {
                items.push(json!({"name": member}));
                items.len() - 1
            });
            if let Value::Object(item) = &mut items[place] {
                insert(item, rest, member, value);
            }
        }
        [key, rest @ ..] => {
            if let Value::Object(inner) = fields.entry(*key).or_insert_with(|| json!({})) {
                insert(inner, rest, member, value);
            }
        }
    }
}

/// The value of the cell; `None` if the metric is left out.
fn combined(metric: &Metric, member: &str, runs: &[Run<'_>]) -> Option<Value> {
    let told: Vec<f64> = runs.iter().filter_map(|run| metric.of(run, member)).collect();
    let all = if told.len() == runs.len() { &told[..] } else { &[] };
    match metric.combine {
        Combine::CountIf(holds) if !runs.iter().any(|run| holds(run.outcome)) => None,
        Combine::Count | Combine::CountIf(_) => {
            let counts: Vec<u64> = all.iter().map(|count| *count as u64).collect();
            (!counts.is_empty()).then(|| median(&counts).into())
        }
        Combine::Whole => estimate(all).map(whole),
        Combine::WholeWithRuns => estimate(&told).map(|estimate| {
            let mut value = whole(estimate);
            value["runs"] = told.iter().map(|one| Value::from(one.round() as u64)).collect();
            value
        }),
        Combine::Decimals(places) => estimate(all).map(|estimate| decimals(estimate, places)),
        Combine::Ratio(places) => Some(estimate(all).map_or(Value::Null, |estimate| decimals(estimate, places))),
        Combine::OverBaseline => {
            let has_baseline = |run: &&Run<'_>| run.baseline.is_some_and(|baseline| rates::goodput(baseline) > 0.0);
            let ratios = runs.iter().filter(has_baseline).filter_map(|run| metric.of(run, member));
            Some(estimate(&ratios.collect::<Vec<_>>()).map_or(Value::Null, |estimate| decimals(estimate, 3)))
        }
    }
}

fn whole(estimate: Estimate) -> Value {
    json!({"median": estimate.median.round() as u64, "ci95": estimate.ci95.map(|end| end.round() as u64)})
}

fn decimals(estimate: Estimate, decimals: i32) -> Value {
    json!({"median": round(estimate.median, decimals), "ci95": estimate.ci95.map(|end| round(end, decimals))})
}

/// Each scheme with what it counted; one is `scheme`, several are `schemes` by their names.
fn put_schemes(row: &mut Fields, runs: &[Run<'_>]) {
    let specs = runs.first().map_or(&[][..], |run| &run.scenario.schemes);
    match specs {
        [] => row.insert("scheme".into(), json!({"kind": "none", "keeps_end_to_end": true})),
        [spec] => row.insert("scheme".into(), scheme(spec, 0, runs)),
        _ => {
            let schemes = specs.iter().enumerate().map(|(place, spec)| (spec.name.clone(), scheme(spec, place, runs)));
            row.insert("schemes".into(), Value::Object(schemes.collect()))
        }
    };
}

fn scheme(spec: &SchemeSpec, place: usize, runs: &[Run<'_>]) -> Value {
    let mut fields = Fields::new();
    fields.insert("kind".into(), spec.kind.clone().into());
    if let Some(mode) = spec.choice.settings.given().into_iter().find(|field| field.name == "mode") {
        fields.insert("mode".into(), mode.value.into());
    }
    fields.insert("keeps_end_to_end".into(), spec.choice.entry.keeps_end_to_end.into());
    let outcomes = || runs.iter().filter_map(|run| run.outcome.schemes.get(place));
    let names: BTreeSet<&String> = outcomes().flat_map(|scheme| scheme.counters.keys()).collect();
    for name in names {
        let counts: Vec<u64> = runs
            .iter()
            .map(|run| {
                run.outcome.schemes.get(place).and_then(|scheme| scheme.counters.get(name)).copied().unwrap_or(0)
            })
            .collect();
        fields.insert(name.clone(), median(&counts).into());
    }
    Value::Object(fields)
}
