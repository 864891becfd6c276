//! `[[tables]]` and `[[figures]]`: how results are to be shown.

use super::document::{Entry, Node, Table, Value, split_path};
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::levels::{self, TIME};
use super::place::Place;
use super::vary::Axis;
use crate::catalogue::Catalogue;
use crate::formula::Call;
use crate::metric;

/// One table of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Axes that make a row each.
    pub rows: Vec<String>,
    /// Axes whose values stand side by side.
    pub columns: Vec<String>,
    /// Measures in each column.
    pub show: Vec<String>,
}

/// One figure of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureSpec {
    /// File name without ending.
    pub name: String,
    /// What goes to the right.
    pub x: String,
    /// What that is.
    pub across: Across,
    /// Measure upwards.
    pub y: String,
    /// Over time, further levels of the same unit: each is a line then, and [`FigureSpec::lines`] makes none.
    pub beside: Vec<String>,
    /// Axis that makes a line each.
    pub lines: Option<String>,
    /// Axis that makes a pane each.
    pub panes: Option<String>,
    /// Formulas that are drawn besides, in every pane.
    pub curves: Vec<CurveSpec>,
    /// What a paper prints, drawn besides.
    pub points: Vec<PrintedSpec>,
}

/// What a figure has to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// A varied key, or one that was fixed with `--set`.
    Key,
    /// The time in the first run of each cell.
    Time,
    /// Another measure: each cell is a point.
    Measure,
}

/// Points that a paper prints.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedSpec {
    /// Name in the legend.
    pub label: String,
    /// The pane they belong to; every one if left out.
    pub pane: Option<String>,
    /// A value of the axis to the right, as files write it, and the measure in its base unit.
    pub points: Vec<(String, f64)>,
}

/// A formula over the axis to the right.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveSpec {
    /// Name in the legend.
    pub label: String,
    /// What is drawn.
    pub call: Call,
}

impl FigureSpec {
    /// True for a figure of how runs went, false for one of what came out.
    pub fn is_over_time(&self) -> bool {
        self.across == Across::Time
    }

    /// What goes upwards, in the order of the file.
    pub fn measures(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.y).chain(&self.beside).map(String::as_str)
    }

    /// The measures of which every run counts, not only the median.
    pub fn measures_of_runs(&self) -> impl Iterator<Item = &str> {
        [&self.x, &self.y].into_iter().filter(|_| self.across == Across::Measure).map(String::as_str)
    }
}

/// Every metric of the file, also those of its single flows and probes.
pub(super) fn measures_of(document: &Table, catalogue: &Catalogue<'_>) -> Vec<String> {
    metric::names_in(&metric::Names {
        catalogue,
        flows: &document.names("flows"),
        probes: &document.names("probes"),
        workloads: &document.names("workloads"),
    })
}

struct Names<'a> {
    axes: Vec<String>,
    /// Those with more than one step.
    varied: Vec<String>,
    document: &'a Table,
}

impl<'a> Names<'a> {
    fn of(axes: &[Axis], document: &'a Table) -> Self {
        let varied = axes.iter().filter(|axis| axis.steps.len() > 1).map(Axis::name).collect();
        Names { axes: axes.iter().map(Axis::name).collect(), varied, document }
    }

    /// The path, if it varies; `None` if it is in the file and does not.
    fn axis(&self, keys: &Keys<'_>, key: &str, name: &str, node: &Node) -> Result<Option<String>, ScenarioError> {
        if self.axes.iter().any(|axis| axis == name) {
            return Ok(Some(name.to_owned()));
        }
        if self.document.at(&split_path(name)).is_some() {
            return Ok(None);
        }
        Err(keys.no_such("varied key", name, key, &node.origin, self.axes.clone()))
    }

    fn axes(&self, keys: &Keys<'_>, key: &str) -> Result<Vec<String>, ScenarioError> {
        let Some(entry) = keys.table.get(key) else { return Ok(Vec::new()) };
        let names = keys.texts(entry, "a list of varied keys, [\"links.air.loss\"]")?;
        let found = names.iter().map(|(name, node)| self.axis(keys, key, name, node)).collect::<Result<Vec<_>, _>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The one varied key that `key` names; `None` if it names none, or one that does not vary.
    fn only_axis(&self, keys: &Keys<'_>, key: &str) -> Result<Option<String>, ScenarioError> {
        if let Some(entry) = keys.table.get(key) {
            keys.scalar(entry, "one varied key, \"schemes.repair\"")?;
        }
        Ok(self.axes(keys, key)?.pop())
    }

    /// Why `figure` does not show every cell exactly once. Cells that a figure would mix say nothing, so a varied key
    /// that it does not name is a mistake, not something to average over.
    fn misfit(&self, figure: &FigureSpec) -> Option<String> {
        let x = Some(&figure.x).filter(|_| figure.across != Across::Measure);
        let named: Vec<&String> = [x, figure.lines.as_ref(), figure.panes.as_ref()].into_iter().flatten().collect();
        if let Some(twice) = named.iter().enumerate().find_map(|(at, name)| named[..at].contains(name).then_some(name))
        {
            return Some(format!("names '{twice}' twice; x, lines and panes are three different keys"));
        }
        // Of one measure over another a line can have several cells.
        if figure.across == Across::Measure {
            return None;
        }
        let left = self.varied.iter().find(|axis| !named.contains(axis))?;
        Some(format!("does not say where '{left}' goes, which varies; name it as lines or panes, or give it one value"))
    }
}

/// Reads `[[tables]]`; without any, one that puts the schemes side by side.
///
/// # Errors
/// Unknown keys, axes or measures.
pub fn tables(document: &Table, axes: &[Axis], measures: &[String]) -> Result<Vec<TableSpec>, ScenarioError> {
    let names = Names::of(axes, document);
    let Some(entry) = document.get("tables") else { return Ok(vec![default_table(&names.axes)]) };
    each(entry, "tables", |keys| {
        keys.only(&["rows", "columns", "show"])?;
        let entry = keys.required("show", "show = [\"goodput_bps\", \"of_ceiling\"]")?;
        let mut show = Vec::new();
        for (name, node) in keys.texts(entry, "a list of measures")? {
            if !measures.contains(&name) {
                return Err(keys.no_such("measure", &name, "show", &node.origin, measures.to_vec()));
            }
            show.push(name);
        }
        let (mut rows, columns) = (names.axes(keys, "rows")?, names.axes(keys, "columns")?);
        let rest = names.axes.iter().filter(|axis| !rows.contains(axis) && !columns.contains(axis));
        let rest: Vec<_> = rest.cloned().collect();
        rows.extend(rest);
        Ok(TableSpec { rows, columns, show })
    })
}

/// Reads `[[figures]]`.
///
/// # Errors
/// Unknown keys, axes or measures; two figures of one name.
pub fn figures(
    document: &Table,
    axes: &[Axis],
    measures: &[String],
    catalogue: &Catalogue<'_>,
) -> Result<Vec<FigureSpec>, ScenarioError> {
    let names = Names::of(axes, document);
    let Some(entry) = document.get("figures") else { return Ok(Vec::new()) };
    let mut seen: Vec<String> = Vec::new();
    each(entry, "figures", |keys| {
        keys.only(&["name", "x", "y", "lines", "panes", "curves", "points"])?;
        let text = |key: &str, example: &str| -> Result<String, ScenarioError> {
            keys.scalar(keys.required(key, example)?, "text")
        };
        let name = text("name", "name = \"goodput-over-loss\"")?;
        let is_file_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        if !is_file_name || seen.contains(&name) {
            let reason =
                if is_file_name { "two figures have this name" } else { "it names a file: letters, digits, - and _" };
            return Err(keys.refuse("name", reason));
        }
        seen.push(name.clone());
        let upwards = keys.required("y", "y = \"of_ceiling\"")?;
        let x = text("x", "x = \"links.air.loss\"")?;
        let across = match x.as_str() {
            TIME => Across::Time,
            name if measures.iter().any(|measure| measure == name) => Across::Measure,
            _ => names.axes(keys, "x").map(|_| Across::Key)?,
        };
        let (what, known) = match across {
            Across::Time => ("level over time", levels::names(document, catalogue)),
            Across::Key | Across::Measure => ("measure", measures.to_vec()),
        };
        let (lines, panes) = (names.only_axis(keys, "lines")?, names.only_axis(keys, "panes")?);
        let (y, beside) = measures_upwards(keys, upwards, (what, &known), across == Across::Time && lines.is_none())?;
        let (curves, points) = (curves(keys, across)?, printed(keys, across)?);
        let spec = FigureSpec { name, x, across, y, beside, lines, panes, curves, points };
        match names.misfit(&spec) {
            None => Ok(spec),
            Some(reason) => Err(Problem::Figure { name: spec.name, reason }.at(keys.origin)),
        }
    })
}

/// Reads the `y` of a figure, which names one of `known`, or, where `may_be_several`, several of one unit.
fn measures_upwards(
    keys: &Keys<'_>,
    entry: &Entry,
    (what, known): (&'static str, &[String]),
    may_be_several: bool,
) -> Result<(String, Vec<String>), ScenarioError> {
    let named = keys.texts(entry, "a measure, \"of_ceiling\"")?;
    for (name, node) in &named {
        if !known.contains(name) {
            return Err(keys.no_such(what, name, "y", &node.origin, known.to_vec()));
        }
    }
    let mut names = named.into_iter().map(|(name, _)| name);
    let Some(first) = names.next() else { return Err(keys.bad(entry, "it names nothing that goes upwards")) };
    let beside: Vec<String> = names.collect();
    if !beside.is_empty() && !may_be_several {
        return Err(keys.bad(entry, "several levels are a line each over time, without 'lines'"));
    }
    let unit = |name: &str| metric::title_and_unit(name).1;
    match beside.iter().find(|name| unit(name) != unit(&first)) {
        Some(other) => Err(keys.bad(entry, format!("'{first}' and '{other}' have different units"))),
        None => Ok((first, beside)),
    }
}

/// Reads the `curves` of a figure.
fn curves(keys: &Keys<'_>, across: Across) -> Result<Vec<CurveSpec>, ScenarioError> {
    let Some(entry) = keys.table.get("curves") else { return Ok(Vec::new()) };
    if across != Across::Key {
        return Err(keys.bad(entry, "a curve goes over a varied key, not over time or a measure"));
    }
    each(entry, "figures.curves", |keys| {
        keys.only(&["label", "formula", "inputs"])?;
        let label = keys.scalar(keys.required("label", "label = \"bound\"")?, "text")?;
        Ok(CurveSpec { label, call: Call::read(keys, true)? })
    })
}

/// Reads the `points` of a figure.
fn printed(keys: &Keys<'_>, across: Across) -> Result<Vec<PrintedSpec>, ScenarioError> {
    let Some(entry) = keys.table.get("points") else { return Ok(Vec::new()) };
    if across == Across::Measure {
        return Err(keys.bad(entry, "points stand over a varied key or time, not over a measure"));
    }
    each(entry, "figures.points", |keys| {
        keys.only(&["label", "pane", "points"])?;
        let label = keys.scalar(keys.required("label", "label = \"paper\"")?, "text")?;
        let pane = keys.table.get("pane").map(|entry| keys.scalar(entry, "a step of the panes")).transpose()?;
        let entry = keys.required("points", "points = [[\"1%\", 4.2e6]]")?;
        let wrong = || keys.wrong_type(entry, "points, [[\"1%\", 4.2e6], …]: a step or number, and the measure");
        let Value::List(items) = &entry.node.value else { return Err(wrong()) };
        let point = |item: &Node| match &item.value {
            Value::List(pair) if pair.len() == 2 => {
                let y = pair[1].scalar()?.parse::<f64>().ok().filter(|y| y.is_finite())?;
                Some((pair[0].scalar()?, y))
            }
            _ => None,
        };
        let points = items.iter().map(point).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        Ok(PrintedSpec { label, pane, points })
    })
}

fn default_table(axes: &[String]) -> TableSpec {
    let (columns, rows) = axes.iter().cloned().partition(|axis| axis.starts_with("schemes."));
    let show = ["goodput_bps", "of_ceiling", "times_baseline", "rtt_ns.p95", "sender.retransmitted_segments"];
    TableSpec { rows, columns, show: show.iter().map(|&name| name.to_owned()).collect() }
}

fn each<T>(
    entry: &Entry,
    name: &str,
    mut read: impl FnMut(&Keys<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let wrong = |found| {
        let expected = format!("tables, each under [[{name}]]");
        Problem::WrongType { key: name.to_owned(), table: "the file".into(), expected, found }.at(&entry.origin)
    };
    let Value::List(items) = &entry.node.value else { return Err(wrong(entry.node.value.kind())) };
    let table = |item: &Node| match &item.value {
        Value::Table(table) => {
            read(&Keys { table, place: Place::item_of(name), origin: &item.origin, show: "scenario".into() })
        }
        other => Err(wrong(other.kind())),
    };
    items.iter().map(table).collect()
}
