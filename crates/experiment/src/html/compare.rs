//! Several results side by side: what differs in what was asked, what in what came out.
//!
//! Two cells are common if they agree in every key that varies in either result; a key that one of them fixes has its
//! one value there. So the same scenario in two versions compares cell by cell, a sweep meets the demo where both were,
//! and the simulator stands beside kernel TCP. Each measure of the tables is compared with that of the first result;
//! a difference counts when the 95 % intervals do not overlap, and is shown as noise otherwise.

use super::page::Page;
use super::section::heading;
use super::stored::{Stored, StoredWorld};
use super::sweep;
use crate::figure::Figure;
use crate::markup::escape;
use crate::metric::Unit;
use crate::results::summary::{CellSummary, by_cell};
use crate::scenario::Scenario;
use crate::table::measure::Measure;
use crate::table::title_of;
use indexmap::IndexSet;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of one measure; a page of more would be too long to read and to load.
const MAX_ROWS: usize = 400;

/// One world of one result.
pub struct Entry<'a> {
    /// `A`, `B`, or the world where there is one directory, or both.
    pub name: String,
    stored: &'a Stored<'a>,
    world: &'a StoredWorld,
    cells: BTreeMap<Vec<String>, &'a CellSummary>,
}

/// Everything that is compared.
pub struct Comparison<'a> {
    entries: Vec<Entry<'a>>,
    /// Keys that vary in any result.
    axes: Vec<String>,
    /// Labels of `axes` in the order of the first result that has them.
    keys: IndexSet<Vec<String>>,
}

/// `A` for the first directory.
pub fn letter(index: usize) -> char {
    char::from(b'A' + (index % 26) as u8)
}

impl<'a> Comparison<'a> {
    /// Of all worlds of all results; `None` if there is only one.
    pub fn of(results: &'a [Stored<'a>]) -> Option<Comparison<'a>> {
        let worlds: Vec<(usize, &Stored<'_>, &StoredWorld)> = results
            .iter()
            .enumerate()
            .flat_map(|(index, stored)| stored.worlds.iter().map(move |world| (index, stored, &**world)))
            .collect();
        if worlds.len() < 2 {
            return None;
        }
        let one_world = worlds.iter().all(|(.., world)| world.name == worlds[0].2.name);
        let name = |index: usize, world: &StoredWorld| match (results.len(), one_world) {
            (1, _) => world.name.clone(),
            (_, true) => letter(index).to_string(),
            (_, false) => format!("{} {}", letter(index), world.name),
        };
        let axes: IndexSet<String> =
            results.iter().flat_map(|stored| stored.scenario.axes.iter().map(|(axis, _)| axis.clone())).collect();
        let axes = Vec::from_iter(axes);
        let entry = |(index, stored, world): &(usize, &'a Stored<'a>, &'a StoredWorld)| Entry {
            name: name(*index, world),
            stored,
            world,
            cells: cells(&stored.scenario, world, &axes),
        };
        let entries: Vec<Entry<'a>> = worlds.iter().map(entry).collect();
        let mut keys: IndexSet<Vec<String>> = IndexSet::new();
        for (_, stored, _) in &worlds {
            let fixed = fixed_values(&stored.scenario, &axes);
            keys.extend(stored.scenario.cells.iter().map(|cell| key_of(&cell.at, &axes, &fixed)));
        }
        Some(Comparison { entries, axes, keys })
    }

    /// Writes the part of the page, without the figure `above`, which is there already.
    pub fn put(&self, page: &mut Page<'_>, above: Option<&str>) {
        page.put("<header class=\"result\"><h1>Side by side</h1></header>");
        self.put_entries(page);
        self.put_differing_keys(page);
        let common: Vec<&Vec<String>> = self.keys.iter().filter(|key| self.count(key) > 1).collect();
        if common.is_empty() {
            page.text(
                "p",
                "note",
                "No two of these results have a cell in common, so there is no comparison cell by cell.",
            );
        } else {
            self.put_measures(page, &common);
        }
        self.put_only(page);
        for (_, figures) in self.common_figures().iter().filter(|(name, _)| Some(name.as_str()) != above) {
            page.draw("sweep", sweep::data(figures));
        }
    }

    /// True if the figure is drawn here, for all results that have it.
    pub fn has_figure(&self, name: &str) -> bool {
        self.common_figures().contains_key(name)
    }

    fn count(&self, key: &[String]) -> usize {
        self.entries.iter().filter(|entry| entry.cells.contains_key(key)).count()
    }

    fn put_entries(&self, page: &mut Page<'_>) {
        page.put("<ul class=\"entries\">");
        for entry in &self.entries {
            let version = entry.world.manifest["version"].as_str().unwrap_or("unknown");
            let facts = format!(
                " {} · {} · airtcp {version} · scenario {} {}",
                heading(&entry.world.name),
                entry.stored.directory,
                entry.stored.scenario.name,
                entry.stored.scenario.hash
            );
            page.put(&format!("<li><b>{}</b>{}</li>", escape(&entry.name), escape(&facts)));
        }
        page.put("</ul>");
    }

    /// Keys of the scenarios that are not the same everywhere.
    fn put_differing_keys(&self, page: &mut Page<'_>) {
        let asked: Vec<BTreeMap<String, String>> =
            self.entries.iter().map(|entry| flat(&entry.stored.scenario.resolved)).collect();
        let mut keys: BTreeSet<&String> = asked.iter().flat_map(BTreeMap::keys).collect();
        keys.retain(|key| !["name", "about"].contains(&key.as_str()));
        keys.retain(|key| asked.iter().any(|one| one.get(*key) != asked[0].get(*key)));
        if keys.is_empty() {
            page.text("p", "facts", "The scenarios are equal.");
            return;
        }
        page.put("<details open><summary>Keys in which the scenarios differ</summary><div class=\"scroll\" tabindex=\"0\"><table class=\"text\"><thead><tr><th scope=\"col\">key</th>");
        self.entries.iter().for_each(|entry| page.put(&format!("<th scope=\"col\">{}</th>", escape(&entry.name))));
        page.put("</tr></thead><tbody>");
        for key in keys {
            page.put(&format!("<tr><th scope=\"row\">{}</th>", escape(key)));
            asked.iter().for_each(|one| page.text("td", "", one.get(key).map_or("–", String::as_str)));
            page.put("</tr>");
        }
        page.put("</tbody></table></div></details>");
    }

    fn put_measures(&self, page: &mut Page<'_>, common: &[&Vec<String>]) {
        page.text("h2", "", &format!("{} common cells", common.len()));
        page.text(
            "p",
            "facts",
            &format!(
                "Medians, and how they differ from {}. Grey: the 95 % intervals overlap, so the difference may be chance.",
                self.entries[0].name
            ),
        );
        page.put("<div class=\"measures\">");
        for measure in self.measures(common) {
            self.put_measure(page, &measure, common);
        }
        page.put("</div>");
    }

    /// What the tables of the results show, as far as common cells have it.
    fn measures(&self, common: &[&Vec<String>]) -> Vec<Measure> {
        let tables = self.entries.iter().flat_map(|entry| &entry.stored.scenario.tables);
        let names: IndexSet<&String> = tables.flat_map(|table| &table.show).collect();
        let has = |entry: &Entry<'_>, measure: &Measure, key: &[String]| {
            entry.cells.get(key).is_some_and(|cell| measure.reading(cell).is_some())
        };
        let compares = |measure: &Measure, key: &[String]| {
            self.entries.iter().filter(|entry| has(entry, measure, key)).count() > 1
        };
        let measures = names.into_iter().map(|name| Measure::named(name));
        measures.filter(|measure| common.iter().any(|key| compares(measure, key))).collect()
    }

    fn put_measure(&self, page: &mut Page<'_>, measure: &Measure, common: &[&Vec<String>]) {
        let title = if measure.unit.label().is_empty() {
            measure.title.clone()
        } else {
            format!("{}, {}", measure.title, measure.unit.label())
        };
        page.put(&format!("<div class=\"measure\" data-title=\"{}\">", escape(&title)));
        page.text("h3", "", &title);
        let mut tallies = vec![Tally::default(); self.entries.len()];
        let mut rows = String::new();
        for (index, key) in common.iter().enumerate() {
            let row = self.row(measure, key, &mut tallies);
            if index < MAX_ROWS {
                rows.push_str(&row);
            }
        }
        for (entry, tally) in self.entries.iter().zip(&tallies).skip(1) {
            page.text("p", "tally", &tally.sentence(&entry.name, &self.entries[0].name));
        }
        page.put("<div class=\"scroll\" tabindex=\"0\"><table class=\"numbers\"><thead><tr>");
        for axis in &self.axes {
            page.put(&format!("<th class=\"label\" scope=\"col\">{}</th>", escape(&title_of(axis))));
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let difference = if index == 0 { "" } else { "<th scope=\"col\">difference</th>" };
            page.put(&format!("<th class=\"first\" scope=\"col\">{}</th>{difference}", escape(&entry.name)));
        }
        page.put(&format!("</tr></thead><tbody>{rows}</tbody></table></div>"));
        if common.len() > MAX_ROWS {
            let note = format!("{} more rows are in the summaries.", common.len() - MAX_ROWS);
            page.text("p", "note", &note);
        }
        page.put("</div>");
    }

    fn row(&self, measure: &Measure, key: &[String], tallies: &mut [Tally]) -> String {
        let mut row = String::from("<tr>");
        key.iter()
            .for_each(|label| row += &format!("<th class=\"label\" scope=\"row\">{}</th>", escape(as_shown(label))));
        let first = self.entries[0].cells.get(key).copied();
        for (index, entry) in self.entries.iter().enumerate() {
            let cell = entry.cells.get(key).copied();
            let reading = cell.and_then(|cell| measure.reading(cell));
            let text = reading.as_ref().map_or_else(|| "–".into(), |reading| measure.write(reading.median));
            let interval = reading.map_or_else(String::new, |reading| super::tables::interval(measure, &reading));
            row += &format!("<td class=\"first\"{interval}><span>{text}</span></td>");
            if index == 0 {
                continue;
            }
            match first.zip(cell).and_then(|(first, cell)| Difference::of(measure, first, cell)) {
                Some(difference) => {
                    row += &format!("<td class=\"{}\">{}</td>", difference.class(), difference.text());
                    tallies[index].add(&difference);
                }
                None => row += "<td class=\"same\">–</td>",
            }
        }
        row + "</tr>"
    }

    /// Cells that only one result has.
    fn put_only(&self, page: &mut Page<'_>) {
        for entry in &self.entries {
            let alone: Vec<&Vec<String>> = entry.cells.keys().filter(|key| self.count(key) == 1).collect();
            if alone.is_empty() {
                continue;
            }
            let names: Vec<String> = alone
                .iter()
                .take(MAX_ROWS)
                .map(|key| key.iter().map(|label| as_shown(label)).collect::<Vec<_>>().join(", "))
                .collect();
            page.put("<details>");
            page.text("summary", "", &format!("{} cells only in {}", alone.len(), entry.name));
            page.text("p", "facts", &names.join(" · "));
            page.put("</details>");
        }
    }

    /// Figures that two results have and that fit on the same axes, by name.
    pub fn common_figures(&self) -> BTreeMap<String, Vec<(String, Figure)>> {
        let mut found: BTreeMap<String, Vec<(String, Figure)>> = BTreeMap::new();
        for entry in &self.entries {
            for spec in entry.stored.scenario.figures.iter().filter(|spec| !spec.is_over_time()) {
                let figure = Figure::of(&entry.stored.scenario, spec, &entry.world.summary, &entry.world.series);
                let same = found.entry(spec.name.clone()).or_default();
                if same.first().is_none_or(|(_, first)| sweep::fits(first, &figure)) {
                    same.push((entry.name.clone(), figure));
                }
            }
        }
        let everywhere = |name: &str| {
            self.entries
                .iter()
                .filter(|entry| entry.stored.scenario.figures.iter().any(|spec| spec.name == name))
                .count()
        };
        found.retain(|name, figures| figures.len() > 1 && figures.len() == everywhere(name));
        found
    }
}

/// How a value differs from the first result's.
struct Difference {
    /// In percent, or in percentage points for a share.
    size: f64,
    unit: &'static str,
    /// `None` where there are no intervals to tell.
    is_clear: Option<bool>,
}

impl Difference {
    fn of(measure: &Measure, first: &CellSummary, other: &CellSummary) -> Option<Difference> {
        let (first, other) = (measure.reading(first)?, measure.reading(other)?);
        let (before, after) = (first.median, other.median);
        let (size, unit) = match measure.unit {
            Unit::Share => ((after - before) * 100.0, "points"),
            _ if before == after => (0.0, "%"),
            _ => ((after / before - 1.0) * 100.0, "%"),
        };
        let intervals = first.ci95.zip(other.ci95);
        let is_clear = intervals.map(|([low, high], [other_low, other_high])| high < other_low || other_high < low);
        Some(Difference { size, unit, is_clear })
    }

    fn class(&self) -> &'static str {
        if self.is_clear == Some(false) || self.size == 0.0 { "same" } else { "differs" }
    }

    fn text(&self) -> String {
        if !self.size.is_finite() {
            return "from 0".into();
        }
        format!("{:+.1} {}", self.size, self.unit).replace('-', "−")
    }
}

/// Differences of one result, counted.
#[derive(Clone, Default)]
struct Tally {
    higher: usize,
    lower: usize,
    cells: usize,
    without_interval: usize,
}

impl Tally {
    fn add(&mut self, difference: &Difference) {
        self.cells += 1;
        self.without_interval += usize::from(difference.is_clear.is_none());
        if difference.is_clear != Some(false) {
            self.higher += usize::from(difference.size > 0.0);
            self.lower += usize::from(difference.size < 0.0);
        }
    }

    fn sentence(&self, name: &str, first: &str) -> String {
        let unsure = if self.without_interval > 0 { "; this measure has no intervals" } else { "" };
        let same = self.cells - self.higher - self.lower;
        format!(
            "{name} against {first}: higher in {} of {} cells, lower in {}, no clear difference in {same}{unsure}.",
            self.higher, self.cells, self.lower
        )
    }
}

fn cells<'a>(scenario: &Scenario, world: &'a StoredWorld, axes: &[String]) -> BTreeMap<Vec<String>, &'a CellSummary> {
    let fixed = fixed_values(scenario, axes);
    let found = by_cell(scenario, &world.summary.cells, |cell| &cell.at);
    let cells = scenario.cells.iter().zip(found);
    cells.filter_map(|(cell, found)| Some((key_of(&cell.at, axes, &fixed), found?))).collect()
}

/// What a scenario has for keys that do not vary in it.
fn fixed_values(scenario: &Scenario, axes: &[String]) -> Vec<String> {
    let value = |axis: &String| {
        let kind = || scenario.text_at(&format!("{axis}.kind"));
        scenario.text_at(axis).or_else(kind).unwrap_or_else(|| "–".into())
    };
    axes.iter().map(value).collect()
}

fn key_of(at: &[(String, String)], axes: &[String], fixed: &[String]) -> Vec<String> {
    let label = |(axis, fixed): (&String, &String)| {
        at.iter().find(|(key, _)| key == axis).map_or_else(|| fixed.clone(), |(_, label)| label.clone())
    };
    axes.iter().zip(fixed).map(label).collect()
}

fn as_shown(label: &str) -> &str {
    if label == crate::catalogue::NO_SCHEME { "plain" } else { label }
}

/// Every value of a TOML file by its dotted key.
fn flat(text: &str) -> BTreeMap<String, String> {
    fn walk(prefix: &str, value: &toml::Value, out: &mut BTreeMap<String, String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                    walk(&key, value, out);
                }
            }
            toml::Value::String(text) => drop(out.insert(prefix.to_owned(), text.clone())),
            other => drop(out.insert(prefix.to_owned(), other.to_string())),
        }
    }
    let mut out = BTreeMap::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        walk("", &toml::Value::Table(table), &mut out);
    }
    out
}
