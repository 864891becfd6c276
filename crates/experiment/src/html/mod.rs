//! A report as one HTML file that needs nothing else: no network, no other file.
//!
//! The tables are written here, figures over time are drawn in the browser by `charts.js` from the data in the page.
//! It follows the reader's light or dark setting and prints.

mod stored;
mod tables;

pub use stored::{Stored, StoredWorld};

use crate::scenario::Scenario;
use crate::table::{Layout, title_of};
use serde_json::{Value, json};
use std::fmt::Write;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("charts.js");

/// The report of one or several stored results.
pub fn render(results: &[Stored]) -> String {
    let mut body = String::new();
    let mut data = Vec::new();
    for stored in results {
        section(&mut body, &mut data, stored, results.len() > 1);
    }
    let title = results.iter().map(|stored| stored.scenario.name.as_str()).collect::<Vec<_>>().join(", ");
    // `<` is escaped so that no text in the data can end the script element.
    let data = Value::from(data).to_string().replace('<', "\\u003c");
    let fill = [
        ("{{title}}", escape(&title)),
        ("{{style}}", STYLE.into()),
        ("{{body}}", body),
        ("{{data}}", data),
        ("{{script}}", SCRIPT.into()),
    ];
    // Cut at the marks first: what is filled in may contain anything.
    let (mut page, mut rest) = (String::new(), PAGE);
    for (mark, text) in fill {
        let (before, after) = rest.split_once(mark).expect("the page has every mark, in this order");
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page + rest
}

fn section(body: &mut String, data: &mut Vec<Value>, stored: &Stored, is_one_of_many: bool) {
    let scenario = &stored.scenario;
    let mut put = |text: &str| body.push_str(text);
    put(&format!("<header><h1>{}</h1><p class=\"about\">{}</p>", escape(&scenario.name), escape(&scenario.about)));
    put(&format!("<p class=\"facts\">{}</p></header>", escape(&facts(scenario, is_one_of_many, stored))));
    for world in &stored.worlds {
        let name = escape(&world.name);
        let _ =
            write!(body, "<section><h2>{}</h2><p class=\"facts\">{}</p>", heading(&name), escape(&world_facts(world)));
        for spec in &scenario.tables {
            body.push_str(&tables::html(&Layout::of(scenario, spec), &|cell| world.cell(scenario, cell)));
        }
        body.push_str(&not_run(world));
        body.push_str(&events(scenario, world));
        let cards = cards(scenario, world);
        if !cards.is_empty() {
            let _ = write!(
                body,
                "<h3>Over time</h3><p class=\"facts\">The first run of each cell. Dashed: the ceiling.</p><div class=\"cards\" data-index=\"{}\"></div>",
                data.len()
            );
            data.push(cards.into());
        }
        body.push_str("</section>");
    }
}

fn heading(world: &str) -> String {
    match world {
        "simulator" => "Simulator".into(),
        "live" => "Live: kernel TCP in network namespaces".into(),
        other => other.into(),
    }
}

fn facts(scenario: &Scenario, is_one_of_many: bool, stored: &Stored) -> String {
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
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for key in ["skipped", "failed"] {
        for row in world.summary[key].as_array().into_iter().flatten() {
            let reason = row["reason"].as_str().unwrap_or_default();
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
    }
    reasons
        .iter()
        .map(|(reason, count)| format!("<p class=\"note\">{count} cells not run: {}</p>", escape(reason)))
        .collect()
}

/// What schemes did and what was lost, folded away.
fn events(scenario: &Scenario, world: &StoredWorld) -> String {
    let mut rows = String::new();
    for index in 0..scenario.cells.len() {
        let Some(cell) = world.cell(scenario, index) else { continue };
        let pairs = |value: &Value| -> String {
            let fields = value
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, value)| value.as_u64().is_some_and(|count| count > 0));
            fields.map(|(key, value)| format!("{} {value}", key.replace('_', " "))).collect::<Vec<_>>().join(", ")
        };
        let lost = |row: &Value| {
            format!(
                "{} {}: {}",
                row["where"].as_str().unwrap_or_default(),
                row["reason"].as_str().unwrap_or_default(),
                row["packets"]
            )
        };
        let drops: Vec<String> = cell["drops"].as_array().into_iter().flatten().map(lost).collect();
        let broken: Vec<&str> = cell["broken"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let checks = if broken.is_empty() { "passed".to_owned() } else { broken.join("; ") };
        let label = crate::results::describe(&scenario.cells[index]);
        let columns = [label, pairs(&cell["scheme"]), drops.join(", "), checks];
        let columns: String = columns.iter().map(|text| format!("<td>{}</td>", escape(text))).collect();
        let _ = write!(rows, "<tr>{columns}</tr>");
    }
    format!(
        "<details><summary>What the schemes did, what was lost where, checks</summary><div class=\"scroll\"><table class=\"text\"><thead><tr><th>cell</th><th>scheme</th><th>lost packets</th><th>checks</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}

/// One card for each row of the first table; its lines are what the columns of that table compare.
fn cards(scenario: &Scenario, world: &StoredWorld) -> Vec<Value> {
    let Some(spec) = scenario.tables.first() else { return Vec::new() };
    let layout = Layout::of(scenario, spec);
    let card = |row: &crate::table::Row| {
        let lines: Vec<Value> = layout
            .groups
            .iter()
            .zip(&row.cells)
            .filter_map(|(group, &cell)| {
                let flows = world.series_of(scenario, cell)?.get("flows")?.clone();
                let summary = world.cell(scenario, cell)?;
                Some(json!({"name": group.title, "ceiling": summary["ceiling_bps"], "flows": flows}))
            })
            .collect();
        let labels = spec.rows.iter().zip(&row.labels).map(|(axis, label)| format!("{} {label}", title_of(axis)));
        (!lines.is_empty()).then(|| json!({"title": labels.collect::<Vec<_>>().join(" · "), "lines": lines}))
    };
    layout.rows.iter().filter_map(card).collect()
}

/// Text for HTML, also inside attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
