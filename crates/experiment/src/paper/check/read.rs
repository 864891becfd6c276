//! Reads a check.

use super::{Check, CheckKind, KINDS, Printed, Quorum, Rule};
use crate::formula::Call;
use crate::paper::decide::{Bounds, Direction};
use crate::paper::selection::{Selection, find_experiment};
use crate::paper::{Experiment, number};
use crate::scenario::document::{Entry, Node, Value};
use crate::scenario::overlay::overlay;
use crate::scenario::{Keys, Problem, ScenarioError};

/// Thresholds that a check can have otherwise with few and short runs.
const SCALED: [&str; 6] = ["at_least", "at_most", "by", "tolerance", "between", "apart"];

/// Reads one check, the table of `keys`; with `quick`, with the thresholds that it has for few and short runs.
///
/// # Errors
/// Unknown keys; experiments, axes, labels, measures or formulas that are not there; nothing to compare.
pub fn read(keys: &Keys<'_>, experiments: &[Experiment], quick: bool) -> Result<Check, ScenarioError> {
    let mut table = keys.table.clone();
    if let Some(own) = table.remove("quick") {
        let own = keys.below(&own, "paper")?;
        own.only(&SCALED)?;
        if quick {
            overlay(&mut table, own.table);
        }
    }
    let keys = &Keys { table: &table, place: keys.place.clone(), show: keys.show.clone(), ..*keys };
    let entry = keys.required("kind", "kind = \"ratio\"")?;
    let name = keys.scalar(entry, "text")?;
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let choices = KINDS.iter().map(|kind| kind.name.to_owned()).collect();
        return Err(keys.no_such("kind of check", &name, "kind", &entry.node.origin, choices));
    };
    let valid: Vec<&str> = std::iter::once("kind").chain(kind.keys.iter().map(|(key, ..)| *key)).collect();
    keys.only(&valid)?;
    let reader = Reader { keys, experiments, kind };
    match kind.name {
        "analytic" => reader.analytic(),
        "test" => reader.test(),
        _ => reader.measured(),
    }
}

pub(super) struct Reader<'a> {
    pub keys: &'a Keys<'a>,
    pub experiments: &'a [Experiment],
    kind: &'static CheckKind,
}

impl Reader<'_> {
    fn has(&self, key: &str) -> bool {
        self.kind.keys.iter().any(|(known, ..)| *known == key)
    }

    pub(super) fn required(&self, key: &str) -> Result<&Entry, ScenarioError> {
        let example = self.kind.keys.iter().find(|(known, ..)| *known == key).map_or("", |(_, example, _)| example);
        self.keys.required(key, &format!("{key} = {example}"))
    }

    fn text(&self, key: &str) -> Result<String, ScenarioError> {
        self.keys.scalar(self.required(key)?, "text")
    }

    fn number(&self, key: &str) -> Result<Option<f64>, ScenarioError> {
        let Some(entry) = self.keys.table.get(key) else { return Ok(None) };
        let text = self.keys.scalar(entry, "a number")?;
        text.parse().map(Some).map_err(|_| self.keys.bad(entry, format!("'{text}' is not a number")))
    }

    fn bounds(&self) -> Result<Bounds, ScenarioError> {
        let bounds = Bounds {
            at_least: self.number("at_least")?,
            at_most: self.number("at_most")?,
            by_median: self.keys.value("by_median")?.unwrap_or(false),
        };
        match (bounds.at_least, bounds.at_most) {
            (None, None) if self.keys.table.get("printed").is_some() => Ok(bounds),
            (None, None) => Err(self.missing("at_least", "at_least = 1.1, at_most = 2, or both")),
            (Some(low), Some(high)) if low > high => {
                let entry = self.keys.table.get("at_least").expect("read above");
                Err(self.keys.bad(entry, "it is above at_most, so the check could never hold"))
            }
            _ => Ok(bounds),
        }
    }

    /// What the paper prints: a number, or the two ends of a range.
    fn printed(&self) -> Result<Option<Printed>, ScenarioError> {
        let Some(entry) = self.keys.table.get("printed") else { return Ok(None) };
        let texts = self.keys.texts(entry, "a number, or two ends")?;
        let numbers: Vec<f64> = texts.iter().filter_map(|(text, _)| text.parse().ok()).collect();
        match numbers.as_slice() {
            [number] => Ok(Some([*number, *number])),
            [low, high] if low < high => Ok(Some([*low, *high])),
            _ => Err(self.keys.bad(entry, "it is a number, or two in rising order")),
        }
    }

    /// Whether the check decides anything, or only puts ours beside a printed number.
    fn decides(&self, printed: Option<Printed>) -> bool {
        printed.is_none() || ["at_least", "at_most"].iter().any(|key| self.keys.table.get(key).is_some())
    }

    fn missing(&self, key: &str, example: &str) -> ScenarioError {
        let (key, table, example) = (key.to_owned(), self.keys.place.to_string(), example.to_owned());
        Problem::MissingKey { key, table, example }.at(self.keys.origin)
    }

    fn one_of<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Result<T, ScenarioError> {
        let entry = self.required(key)?;
        let text = self.keys.scalar(entry, "text")?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let names = choices.iter().map(|(name, _)| (*name).to_owned()).collect();
            self.keys.no_such("choice", &text, key, &entry.node.origin, names)
        })
    }

    fn quorum(&self) -> Result<Quorum, ScenarioError> {
        match self.keys.table.get("points") {
            None => Ok(Quorum::All),
            Some(_) => self.one_of("points", &[("all", Quorum::All), ("most", Quorum::Most)]),
        }
    }

    fn analytic(&self) -> Result<Check, ScenarioError> {
        let call = Call::read(self.keys, false)?;
        // Every input is a number, so what cannot be computed is out of every bounds.
        let value = call.at(None).unwrap_or(f64::NAN);
        let bounds = self.bounds()?;
        let printed = self.printed()?;
        let text = format!("{} ({}) is {}", call.formula.name, call.words, words_of(bounds, printed));
        Ok(Check { printed, decides: self.decides(printed), ..self.unmeasured(text, Rule::Analytic(value, bounds)) })
    }

    fn test(&self) -> Result<Check, ScenarioError> {
        let entry = self.required("tests")?;
        let tests: Vec<String> = self.keys.texts(entry, "a list of names")?.into_iter().map(|(name, _)| name).collect();
        if tests.is_empty() {
            return Err(self.keys.bad(entry, "it names no test"));
        }
        let package = self.text("package")?;
        let text = format!("cargo test -p {package} {}", tests.join(" "));
        Ok(self.unmeasured(text, Rule::Test { package, tests }))
    }

    fn unmeasured(&self, text: String, rule: Rule) -> Check {
        let (measure, quorum, points) = (String::new(), Quorum::All, Vec::new());
        let kind = self.kind.name;
        Check { kind, text, measure, over_measure: None, rule, printed: None, decides: true, quorum, points }
    }

    fn measured(&self) -> Result<Check, ScenarioError> {
        let experiment = find_experiment(self.keys, self.required("experiment")?, self.experiments)?;
        let measure = self.measure(experiment, self.required("measure")?)?;
        let over_measure = self.keys.table.get("over_measure");
        let over_measure = over_measure.map(|entry| self.measure(experiment, entry)).transpose()?;
        let restriction = match self.keys.table.get("at") {
            Some(entry) => Selection::points(self.keys, entry, self.experiments, experiment)?,
            None => Selection::all(experiment),
        };
        let along = self.along(experiment)?;
        let lines = self.lines(experiment)?;
        let (rule, words) = self.rule(&lines)?;
        let points = self.points(&lines, &restriction, along.as_deref())?;
        let quorum = self.quorum()?;
        let count = if quorum == Quorum::All { "all" } else { "most" };
        let place = restriction.describe();
        let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
        let plural = if points.len() == 1 { "the one point" } else { &format!("{count} of {} points", points.len()) };
        let other = over_measure.as_ref().map_or(String::new(), |other| format!(" over {other}"));
        let text = format!("{measure}{other} in {}: {words}, at {plural}{place}", self.experiments[experiment].id);
        let printed = self.printed()?;
        let (kind, decides) = (self.kind.name, self.decides(printed));
        Ok(Check { kind, text, measure, over_measure, rule, printed, decides, quorum, points })
    }

    /// The measure that `entry` names, which the experiment has.
    fn measure(&self, experiment: usize, entry: &Entry) -> Result<String, ScenarioError> {
        let measure = self.keys.scalar(entry, "text")?;
        let known = &self.experiments[experiment].scenario.measures;
        if known.contains(&measure) {
            return Ok(measure);
        }
        Err(self.keys.no_such("measure", &measure, &entry.key, &entry.node.origin, known.clone()))
    }

    fn along(&self, experiment: usize) -> Result<Option<String>, ScenarioError> {
        if !self.has("along") {
            return Ok(None);
        }
        let entry = self.required("along")?;
        let axis = self.text("along")?;
        let axes = &self.experiments[experiment].scenario.axes;
        if !axes.iter().any(|(known, _)| *known == axis) {
            let choices = axes.iter().map(|(axis, _)| axis.clone()).collect();
            return Err(self.keys.no_such("varied key", &axis, "along", &entry.node.origin, choices));
        }
        Ok(Some(axis))
    }

    fn lines(&self, experiment: usize) -> Result<Vec<Selection>, ScenarioError> {
        let line = |entry: &Entry, node: &Node| Selection::line(self.keys, entry, node, self.experiments, experiment);
        if self.has("lines") {
            let entry = self.required("lines")?;
            let Value::List(items) = &entry.node.value else {
                return Err(self.keys.wrong_type(entry, "a list of lines"));
            };
            let least = if self.kind.name == "diminishing" { 3 } else { 2 };
            if items.len() < least {
                return Err(self.keys.bad(entry, format!("it takes {least} lines or more")));
            }
            return items.iter().map(|item| line(entry, item)).collect();
        }
        let mut lines = Vec::new();
        for key in ["of", "over"].into_iter().filter(|key| self.has(key)) {
            let entry = self.required(key)?;
            lines.push(line(entry, &entry.node)?);
        }
        if self.kind.name == "agreement" {
            let beside = find_experiment(self.keys, self.required("beside")?, self.experiments)?;
            lines.extend([0, 1].map(|line: usize| lines[line].of_experiment(beside)));
        }
        Ok(lines)
    }

    /// The rule, and what it says in words.
    fn rule(&self, lines: &[Selection]) -> Result<(Rule, String), ScenarioError> {
        let names: Vec<String> = lines.iter().map(Selection::describe).collect();
        Ok(match self.kind.name {
            "ratio" => {
                let bounds = self.bounds()?;
                (
                    Rule::Ratio(bounds),
                    format!("{} over {} is {}", names[0], names[1], words_of(bounds, self.printed()?)),
                )
            }
            "difference" => {
                let bounds = self.bounds()?;
                (
                    Rule::Difference(bounds),
                    format!("{} less {} is {}", names[0], names[1], words_of(bounds, self.printed()?)),
                )
            }
            "ordering" => {
                let by = self.number("by")?.unwrap_or(1.0);
                let factor = if by == 1.0 { String::new() } else { format!(", each more than {by} times the next") };
                (Rule::Ordering(by), format!("{}{factor}", names.join(" > ")))
            }
            "monotone" => {
                let choices = [("increasing", Direction::Increasing), ("decreasing", Direction::Decreasing)];
                let direction = self.one_of("direction", &choices)?;
                let tolerance = self.number("tolerance")?.unwrap_or(0.0);
                let word = if direction == Direction::Increasing { "rises" } else { "falls" };
                let words = format!("{} {word} along {}, tolerance {tolerance}", names[0], self.text("along")?);
                (Rule::Monotone(direction, tolerance), words)
            }
            "within" => {
                let bounds = self.bounds()?;
                (Rule::Within(bounds), format!("{} is {}", names[0], words_of(bounds, self.printed()?)))
            }
            "crossover" => {
                let starts_above = self.one_of("starts", &[("above", true), ("below", false)])?;
                let [from, to] = self.between()?;
                let word = if starts_above { "above" } else { "below" };
                let words = format!("{} starts {word} {} and crosses it between {from} and {to}", names[0], names[1]);
                (Rule::Crossover { starts_above, between: [from, to] }, words)
            }
            "agreement" => {
                let entry = self.required("apart")?;
                let apart = self.number("apart")?.filter(|apart| *apart > 0.0);
                let apart = apart.ok_or_else(|| self.keys.bad(entry, "it is a share above 0"))?;
                let gain = format!("the gain of {} over {}", names[0], names[1]);
                (Rule::Agreement(apart), format!("{gain} is within {apart} of that in {}", self.text("beside")?))
            }
            "diminishing" => (Rule::Diminishing, format!("each step gains less: {}", names.join(", "))),
            other => unreachable!("'{other}' measures nothing"),
        })
    }

    fn between(&self) -> Result<[f64; 2], ScenarioError> {
        let entry = self.required("between")?;
        let texts = self.keys.texts(entry, "two ends, [\"0.1%\", \"1%\"]")?;
        let ends: Vec<f64> = texts.iter().filter_map(|(text, _)| number::of_label(text)).collect();
        match ends.as_slice() {
            [from, to] if from < to => Ok([*from, *to]),
            _ => Err(self.keys.bad(entry, "it takes two ends in rising order, [\"0.1%\", \"1%\"]")),
        }
    }
}

fn words_of(bounds: Bounds, printed: Option<Printed>) -> String {
    let low = bounds.at_least.map(|bound| format!("at least {bound}"));
    let high = bounds.at_most.map(|bound| format!("at most {bound}"));
    let median = if bounds.by_median { " in the median" } else { "" };
    let printed = printed.map(|[low, high]| match low == high {
        true => format!("beside {low} in the paper"),
        false => format!("beside {low} to {high} in the paper"),
    });
    [low, high, printed].into_iter().flatten().collect::<Vec<_>>().join(" and ") + median
}
