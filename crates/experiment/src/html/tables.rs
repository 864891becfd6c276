//! A table of results as HTML: the share of the ceiling also as a bar, the interval on hover.

use crate::figure::svg::COLOURS;
use crate::markup::escape;
use crate::results::summary::{CellSummary, Reading};
use crate::table::measure::Measure;
use crate::table::{Group, Layout};
use std::fmt::Write;

/// The table, of the summaries of the scenario's `cells`.
pub fn html(layout: &Layout, cells: &[Option<&CellSummary>]) -> String {
    let mut text = String::from("<div class=\"scroll\" tabindex=\"0\"><table class=\"numbers\"><thead>");
    let labels = layout.row_titles.len();
    if layout.groups.iter().any(|group| !group.title.is_empty()) {
        text.push_str(&format!("<tr><th colspan=\"{}\"></th>", labels.max(1)));
        for (index, group) in layout.groups.iter().enumerate() {
            let _ = write!(
                text,
                "<th class=\"group\" scope=\"colgroup\" colspan=\"{}\"><i class=\"swatch s{}\"></i>{}</th>",
                group.measures.len(),
                index % COLOURS.len(),
                escape(&group.title)
            );
        }
        text.push_str("</tr>");
    }
    text.push_str("<tr>");
    if labels == 0 {
        text.push_str("<th></th>");
    }
    for title in &layout.row_titles {
        let _ = write!(text, "<th class=\"label\" scope=\"col\">{}</th>", escape(title));
    }
    for group in &layout.groups {
        for (column, measure) in group.measures.iter().enumerate() {
            let unit = match measure.unit.label() {
                "" => String::new(),
                unit => format!("<small>{unit}</small>"),
            };
            let _ = write!(text, "<th{} scope=\"col\">{}{unit}</th>", class(column), escape(&measure.title));
        }
    }
    text.push_str("</tr></thead><tbody>");
    let ran = |row: &&crate::table::Row| row.cells.iter().any(|cell| cells[*cell].is_some());
    for row in layout.rows.iter().filter(ran) {
        text.push_str("<tr>");
        if labels == 0 {
            text.push_str("<th></th>");
        }
        for label in &row.labels {
            let _ = write!(text, "<th class=\"label\" scope=\"row\">{}</th>", escape(label));
        }
        for (index, group) in layout.groups.iter().enumerate() {
            let cell = row.cells.get(index).and_then(|cell| cells[*cell]);
            put_cells(&mut text, index, group, cell);
        }
        text.push_str("</tr>");
    }
    text + "</tbody></table></div>"
}

fn put_cells(text: &mut String, index: usize, group: &Group, cell: Option<&CellSummary>) {
    for (column, measure) in group.measures.iter().enumerate() {
        let Some(cell) = cell else {
            let _ = write!(text, "<td{}>–</td>", class(column));
            continue;
        };
        let Some(reading) = measure.reading(cell) else {
            let _ = write!(text, "<td{}><span>–</span></td>", class(column));
            continue;
        };
        let bar = (measure.name == "of_ceiling").then(|| {
            let percent = reading.median.clamp(0.0, 1.0) * 100.0;
            format!("<b class=\"bar s{}\" style=\"width:{percent:.1}%\"></b>", index % COLOURS.len())
        });
        let bar = bar.unwrap_or_default();
        let (interval, median) = (interval(measure, &reading), measure.write(reading.median));
        let _ = write!(text, "<td{}{interval}>{bar}<span>{median}</span></td>", class(column));
    }
}

/// The interval of a value, as an attribute that shows on hover.
pub fn interval(measure: &Measure, reading: &Reading) -> String {
    reading.ci95.map_or_else(String::new, |[low, high]| {
        format!(" title=\"95 % interval: {} to {} {}\"", measure.write(low), measure.write(high), measure.unit.label())
    })
}

fn class(column: usize) -> &'static str {
    if column == 0 { " class=\"first\"" } else { "" }
}
