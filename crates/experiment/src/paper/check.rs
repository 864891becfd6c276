//! The checks a claim can be decided by: a closed set. Reading one resolves its selections to cells, so that whatever
//! does not fit the experiments is an error of the file, with its line, before anything runs.

use super::decide::{Bounds, Direction};
use super::selection::{At, CellRef, Selection, find_experiment};
use super::{Experiment, number};
use crate::formula::Call;
use crate::scenario::document::{Entry, Node, Value};
use crate::scenario::{Keys, Problem, ScenarioError};

/// A kind of check, for reading and help.
#[derive(Clone, Copy, Debug)]
pub struct CheckKind {
    /// Value of `kind`.
    pub name: &'static str,
    /// Its decision rule.
    pub about: &'static str,
    /// Keys besides `kind`: key, example, meaning.
    pub keys: &'static [(&'static str, &'static str, &'static str)],
}

const EXPERIMENT: (&str, &str, &str) = ("experiment", "\"e1\"", "the experiment it is judged on; required");
const MEASURE: (&str, &str, &str) = ("measure", "\"goodput_bps\"", "what is compared (airtcp show metrics); required");
const AT: (&str, &str, &str) =
    ("at", "{ links.air.loss = { from = \"0.1%\", to = \"10%\" } }", "points to compare at; all if left out");
const POINTS: (&str, &str, &str) = ("points", "\"all\"", "all, or most: more than half; all if left out");
const OF: (&str, &str, &str) = ("of", "{ cases.scheme = \"G-Snoop\" }", "the line that is judged; required");
const OVER: (&str, &str, &str) = ("over", "{ cases.scheme = \"plain\" }", "the line it is compared with; required");
const OVER_MEASURE: (&str, &str, &str) =
    ("over_measure", "\"flows.other.goodput_bps\"", "what of `over` it is compared with; `measure` if left out");
const AT_LEAST: (&str, &str, &str) = ("at_least", "1.1", "lower end of the interval is at least this");
const AT_MOST: (&str, &str, &str) = ("at_most", "0.99", "upper end of the interval is at most this");
const BY_MEDIAN: (&str, &str, &str) =
    ("by_median", "true", "the median decides, not the whole interval; for a few long live runs");
const ALONG: (&str, &str, &str) =
    ("along", "\"links.air.loss\"", "the axis that is followed, in the order of its steps; required");
const LINES: (&str, &str, &str) =
    ("lines", "[{ cases.scheme = \"a\" }, { cases.scheme = \"b\" }]", "the lines, two or more; required");

/// Every kind of check.
pub const KINDS: &[CheckKind] = &[
    CheckKind {
        name: "ratio",
        about: "One line over another, run by run: the interval reaches at_least and stays below at_most.",
        keys: &[EXPERIMENT, MEASURE, OF, OVER, OVER_MEASURE, AT, AT_LEAST, AT_MOST, BY_MEDIAN, POINTS],
    },
    CheckKind {
        name: "ordering",
        about: "Each line is more than `by` times the next, with its whole interval.",
        keys: &[EXPERIMENT, MEASURE, LINES, AT, ("by", "1", "factor; 1 if left out"), POINTS],
    },
    CheckKind {
        name: "monotone",
        about: "Along an axis, no step's interval turns back by more than the tolerance, and the end is beyond the beginning with its whole interval.",
        keys: &[
            EXPERIMENT,
            MEASURE,
            OF,
            ALONG,
            ("direction", "\"decreasing\"", "increasing or decreasing; required"),
            ("tolerance", "0.02", "share by which a step may turn back; 0 if left out"),
            AT,
            POINTS,
        ],
    },
    CheckKind {
        name: "within",
        about: "The measure itself: both ends of its interval are within the bounds.",
        keys: &[EXPERIMENT, MEASURE, OF, AT, AT_LEAST, AT_MOST, BY_MEDIAN, POINTS],
    },
    CheckKind {
        name: "crossover",
        about: "Two lines cross within an interval: up to its beginning one is higher, from its end on the other, each with the whole confidence interval.",
        keys: &[
            EXPERIMENT,
            MEASURE,
            OF,
            OVER,
            ALONG,
            ("starts", "\"above\"", "where `of` is before the crossing, above or below; required"),
            ("between", "[\"0.1%\", \"1%\"]", "the interval on the axis; required"),
            AT,
            POINTS,
        ],
    },
    CheckKind {
        name: "diminishing",
        about: "From line to line, the first step gains and each further step gains less, with their whole intervals.",
        keys: &[EXPERIMENT, MEASURE, LINES, AT, POINTS],
    },
    CheckKind {
        name: "agreement",
        about: "What `of` gains over `over` is the same in two experiments, such as live and simulated: the gains differ by at most `apart`, in the medians.",
        keys: &[
            EXPERIMENT,
            MEASURE,
            OF,
            OVER,
            ("beside", "\"simulated\"", "the other experiment, with the same lines; required"),
            ("apart", "0.1", "largest difference of the two gains, as a share of `over`; required"),
            AT,
            POINTS,
        ],
    },
    CheckKind {
        name: "analytic",
        about: "A formula of the table, computed from its inputs, is within the bounds.",
        keys: &[
            ("formula", "\"bandwidth_delay_packets\"", "name of the formula; required"),
            ("inputs", "{ rate = \"10Mbit\", time = \"10ms\", packet = \"512B\" }", "its inputs; required"),
            AT_LEAST,
            AT_MOST,
        ],
    },
    CheckKind {
        name: "test",
        about: "Named tests of the repository show it; `make test` runs them and checks that they are there.",
        keys: &[
            ("package", "\"airtcp-schemes\"", "the crate the tests are in; required"),
            ("tests", "[\"gsn_c8_the_worked_example\"]", "their names; required"),
        ],
    },
];

/// The decision rule of a check, with its thresholds.
#[derive(Clone, Debug)]
pub enum Rule {
    /// The first cell of a point over the second.
    Ratio(Bounds),
    /// Each cell of a point more than this factor times the next.
    Ordering(f64),
    /// The cells of a point in their order.
    Monotone(Direction, f64),
    /// The one cell of a point.
    Within(Bounds),
    /// The first half of a point's cells against the second half.
    Crossover {
        /// The first half is above the second before the crossing.
        starts_above: bool,
        /// The interval on the axis.
        between: [f64; 2],
    },
    /// The cells of a point in their order.
    Diminishing,
    /// The gain of the first cell over the second, and that of the third over the fourth, at most so far apart.
    Agreement(f64),
    /// A number that needs no runs.
    Analytic(f64, Bounds),
    /// Tests of the repository.
    Test {
        /// The crate they are in.
        package: String,
        /// Their names.
        tests: Vec<String>,
    },
}

/// How many points have to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// Every one.
    All,
    /// More than half.
    Most,
}

/// One place at which a rule is applied.
#[derive(Clone, Debug)]
pub struct Point {
    /// What distinguishes it from the other points of the check.
    pub at: At,
    /// The cells the rule takes, in its order.
    pub cells: Vec<CellRef>,
    /// Where they lie along the axis, for a rule that follows one.
    pub x: Vec<f64>,
}

/// One check, resolved to cells.
#[derive(Clone, Debug)]
pub struct Check {
    /// Name of its kind.
    pub kind: &'static str,
    /// What it asks, in words.
    pub text: String,
    /// What is compared; empty where nothing is measured.
    pub measure: String,
    /// What of the second line of a ratio it is compared with, if that is another measure.
    pub over_measure: Option<String>,
    /// How it is decided.
    pub rule: Rule,
    /// How many points have to hold.
    pub quorum: Quorum,
    /// Where; empty where nothing is measured.
    pub points: Vec<Point>,
}

/// Reads one check, the table of `keys`.
///
/// # Errors
/// Unknown keys; experiments, axes, labels, measures or formulas that are not there; nothing to compare.
pub fn read(keys: &Keys<'_>, experiments: &[Experiment]) -> Result<Check, ScenarioError> {
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

struct Reader<'a> {
    keys: &'a Keys<'a>,
    experiments: &'a [Experiment],
    kind: &'static CheckKind,
}

impl Reader<'_> {
    fn required(&self, key: &str) -> Result<&Entry, ScenarioError> {
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
            (None, None) => Err(self.missing("at_least", "at_least = 1.1, at_most = 2, or both")),
            (Some(low), Some(high)) if low > high => {
                let entry = self.keys.table.get("at_least").expect("read above");
                Err(self.keys.bad(entry, "it is above at_most, so the check could never hold"))
            }
            _ => Ok(bounds),
        }
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
        Ok(Check {
            kind: self.kind.name,
            text: format!("{} ({}) is {}", call.formula.name, call.words, words_of(bounds)),
            measure: String::new(),
            over_measure: None,
            rule: Rule::Analytic(value, bounds),
            quorum: Quorum::All,
            points: Vec::new(),
        })
    }

    fn test(&self) -> Result<Check, ScenarioError> {
        let entry = self.required("tests")?;
        let tests: Vec<String> = self.keys.texts(entry, "a list of names")?.into_iter().map(|(name, _)| name).collect();
        if tests.is_empty() {
            return Err(self.keys.bad(entry, "it names no test"));
        }
        let package = self.text("package")?;
        Ok(Check {
            kind: self.kind.name,
            text: format!("cargo test -p {package} {}", tests.join(" ")),
            measure: String::new(),
            over_measure: None,
            rule: Rule::Test { package, tests },
            quorum: Quorum::All,
            points: Vec::new(),
        })
    }

    fn measured(&self) -> Result<Check, ScenarioError> {
        let experiment = find_experiment(self.keys, self.required("experiment")?, self.experiments)?;
        let measure = self.measure(experiment, self.required("measure")?)?;
        let over_measure = match self.keys.table.get("over_measure") {
            Some(entry) => Some(self.measure(experiment, entry)?),
            None => None,
        };
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
        Ok(Check {
            kind: self.kind.name,
            text: format!("{measure}{other} in {}: {words}, at {plural}{place}", self.experiments[experiment].id),
            measure,
            over_measure,
            rule,
            quorum,
            points,
        })
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
        if !self.kind.keys.iter().any(|(key, ..)| *key == "along") {
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
        if self.kind.keys.iter().any(|(key, ..)| *key == "lines") {
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
        for key in ["of", "over"].into_iter().filter(|key| self.kind.keys.iter().any(|(known, ..)| known == key)) {
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
                (Rule::Ratio(bounds), format!("{} over {} is {}", names[0], names[1], words_of(bounds)))
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
                (Rule::Within(bounds), format!("{} is {}", names[0], words_of(bounds)))
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
                let words = format!(
                    "what {} gains over {} and in the other experiment is at most {apart} apart",
                    names[0], names[1]
                );
                (Rule::Agreement(apart), words)
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

    /// Every combination of what the lines leave open, with the cell of each line; a rule that follows an axis gets
    /// the cells along it as one point.
    fn points(
        &self,
        lines: &[Selection],
        restriction: &Selection,
        along: Option<&str>,
    ) -> Result<Vec<Point>, ScenarioError> {
        let first = &lines[0];
        let mut points: Vec<Point> = Vec::new();
        // Cells of each line along the axis, for the point being filled.
        let mut gathered: Vec<Vec<Vec<CellRef>>> = Vec::new();
        for cell in &self.experiments[first.experiment].scenario.cells {
            if !first.takes(&cell.at) || !restriction.takes(&cell.at) {
                continue;
            }
            let open: At = cell.at.iter().filter(|(axis, _)| !first.names(axis)).cloned().collect();
            let at: At = open.iter().filter(|(axis, _)| Some(axis.as_str()) != along).cloned().collect();
            let x = open.iter().find(|(axis, _)| Some(axis.as_str()) == along).map(|(_, label)| label.as_str());
            let index = points.iter().position(|point| point.at == at).unwrap_or_else(|| {
                points.push(Point { at, cells: Vec::new(), x: Vec::new() });
                gathered.push(vec![Vec::new(); lines.len()]);
                points.len() - 1
            });
            let place = points[index].x.len() as f64;
            points[index].x.push(x.and_then(number::of_label).unwrap_or(place));
            for (line, cells) in lines.iter().zip(&mut gathered[index]) {
                cells.push(self.cell_at(line, &open)?);
            }
        }
        for (point, cells) in points.iter_mut().zip(gathered) {
            point.cells = cells.concat();
            if along.is_some() && point.x.len() < 2 {
                let entry = self.required("along")?;
                return Err(self.keys.bad(entry, "fewer than two steps are left to follow"));
            }
        }
        if points.is_empty() {
            let entry = self.keys.table.get("at").unwrap_or(self.required("experiment")?);
            return Err(self.keys.bad(entry, "no cell is left to compare"));
        }
        Ok(points)
    }

    /// The one cell of `line` that agrees with `open` in everything the line leaves open.
    fn cell_at(&self, line: &Selection, open: &At) -> Result<CellRef, ScenarioError> {
        let cells = &self.experiments[line.experiment].scenario.cells;
        let agrees = |at: &At| {
            line.takes(at)
                && at.iter().all(|(axis, label)| {
                    line.names(axis) || open.iter().any(|(other, value)| other == axis && value == label)
                })
        };
        let found = cells.iter().position(|cell| agrees(&cell.at));
        found.map(|cell| CellRef { experiment: line.experiment, cell }).ok_or_else(|| {
            let labels: Vec<&str> = open.iter().map(|(_, label)| label.as_str()).collect();
            let id = &self.experiments[line.experiment].id;
            let sentence = format!("'{}' has no cell of {id} at {}", line.describe(), labels.join(", "));
            let entry = self.keys.table.get("kind").expect("every check has a kind");
            self.keys.bad(entry, sentence)
        })
    }
}

fn words_of(bounds: Bounds) -> String {
    let low = bounds.at_least.map(|bound| format!("at least {bound}"));
    let high = bounds.at_most.map(|bound| format!("at most {bound}"));
    let median = if bounds.by_median { " in the median" } else { "" };
    [low, high].into_iter().flatten().collect::<Vec<_>>().join(" and ") + median
}
