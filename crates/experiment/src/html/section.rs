//! The results of one directory: what was run, tables, figures, what was lost, how it went over time; for each world.

use super::page::Page;
use super::stored::{Stored, StoredWorld};
use super::{over_time, sweep, tables};
use crate::figure::{self, Figure};
use crate::markup::escape;
use crate::results::summary::CellSummary;
use crate::scenario::Scenario;
use crate::table::Layout;
use serde_json::Value;
use std::fmt::Write;

/// Writes the section of `stored`. `letter` names it in a comparison; figures for which `is_above` is true are drawn
/// there, over the others'. `room` is the number of samples that series may still take.
pub fn put<'a>(
    page: &mut Page<'a>,
    stored: &'a Stored<'_>,
    letter: Option<char>,
    is_above: &dyn Fn(&str) -> bool,
    room: usize,
) {
    let scenario = &*stored.scenario;
    let letter = letter.map_or(String::new(), |letter| format!("<span class=\"letter\">{letter}</span> "));
    page.put(&format!("<header class=\"result\"><h1>{letter}{}</h1>", escape(&scenario.name)));
    page.text("p", "about", &scenario.about);
    page.text("p", "facts", &facts(stored, !letter.is_empty()));
    page.put("</header>");
    for world in &stored.worlds {
        page.put("<section>");
        page.text("h2", "", heading(&world.name));
        page.text("p", "facts", &world_facts(world));
        let cells = world.cells(scenario);
        for spec in &scenario.tables {
            page.put(&tables::html(&Layout::of(scenario, spec), &cells));
        }
        page.put(&not_run(world));
        for spec in scenario.figures.iter().filter(|spec| !is_above(&spec.name)) {
            let figure = Figure::of(scenario, spec, &world.summary, &world.series);
            if spec.is_over_time() {
                page.put(&figure::svg::text(&figure));
            } else {
                page.draw("sweep", sweep::data(&[(String::new(), figure)]));
            }
        }
        page.put(&events(scenario, &cells));
        put_series(page, scenario, world, room / stored.worlds.len().max(1));
        page.put("</section>");
    }
}

fn put_series<'a>(page: &mut Page<'a>, scenario: &'a Scenario, world: &'a StoredWorld, room: usize) {
    let Some(cards) = over_time::cards(scenario, world, room) else { return };
    page.put("<h3>Over time</h3>");
    page.text("p", "facts", "The first run of each cell. Dashed: the ceiling.");
    if cards.has_beliefs {
        let note =
            "Wide panels: grey is the rate that a link had, solid what the gateway before it believed, dashed goodput.";
        page.text("p", "facts", note);
    }
    if cards.left_out > 0 {
        let note =
            format!("{} rows are left out here to keep the page small; they are in series.json.", cards.left_out);
        page.text("p", "note", &note);
    }
    page.draw("cards", cards.all);
}

/// A world as a heading says it.
pub fn heading(world: &str) -> &str {
    match world {
        "simulator" => "Simulator",
        "live" => "Live: kernel TCP in network namespaces",
        other => other,
    }
}

fn facts(stored: &Stored<'_>, is_one_of_many: bool) -> String {
    let scenario = &stored.scenario;
    let runs = if scenario.runs == 1 { "1 run".to_owned() } else { format!("{} runs", scenario.runs) };
    let first = scenario.cells.first().map(|cell| &cell.scenario);
    let length =
        first.map_or(String::new(), |cell| format!(" of {}, the first {} left out", cell.duration, cell.warmup));
    let place = if is_one_of_many { format!(" · {}", stored.directory) } else { String::new() };
    format!(
        "{} cells · {runs} each{length} · goodput is application bytes · scenario {}{place}",
        scenario.cells.len(),
        scenario.hash
    )
}

fn world_facts(world: &StoredWorld) -> String {
    let text = |path: &[&str]| {
        path.iter().try_fold(&world.manifest, |node, key| node.get(key)).and_then(Value::as_str).map(str::to_owned)
    };
    let version = text(&["version"]).map(|version| format!("airtcp {version}"));
    let parts = [version, text(&["machine", "kernel"]), text(&["machine", "cpu"]), text(&["note"])];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Cells that are missing, and why; equal reasons once.
fn not_run(world: &StoredWorld) -> String {
    let reasons = world.summary.reasons_not_run();
    reasons
        .iter()
        .map(|(reason, count)| format!("<p class=\"note\">{count} cells not run: {}</p>", escape(reason)))
        .collect()
}

/// What schemes did and what was lost, folded away.
fn events(scenario: &Scenario, cells: &[Option<&CellSummary>]) -> String {
    let mut rows = String::new();
    for (cell, found) in scenario.cells.iter().zip(cells) {
        let Some(found) = found else { continue };
        let counted = found.readings.scheme_counters().into_iter().filter(|(_, count)| *count > 0);
        let counted: Vec<String> = counted.map(|(name, count)| format!("{} {count}", name.replace('_', " "))).collect();
        let lost = found.drops.iter().map(|drop| format!("{} {}: {}", drop.place, drop.reason, drop.packets));
        let marked = found.marks.iter().map(|mark| format!("{} marked: {}", mark.place, mark.packets));
        let lost: Vec<String> = lost.chain(marked).collect();
        let checks = if found.broken.is_empty() { "passed".to_owned() } else { found.broken.join("; ") };
        let label = crate::results::describe(cell);
        let columns = [label, counted.join(", "), lost.join(", "), checks];
        let columns: String = columns.iter().map(|text| format!("<td>{}</td>", escape(text))).collect();
        let _ = write!(rows, "<tr>{columns}</tr>");
    }
    format!(
        "<details><summary>What the schemes did, what was lost where, checks</summary><div class=\"scroll\" tabindex=\"0\"><table class=\"text\"><thead><tr><th scope=\"col\">cell</th><th scope=\"col\">scheme</th><th scope=\"col\">lost and marked packets</th><th scope=\"col\">checks</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}
