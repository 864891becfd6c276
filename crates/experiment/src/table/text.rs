//! A [`Layout`] as lines of text.

use super::{Group, Layout, Row};
use crate::results::summary::CellSummary;
use std::borrow::Cow;

/// Terminal colours, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Escape sequences are wanted.
    pub coloured: bool,
}

impl Style {
    /// Emphasised.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Less important.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured && !text.trim().is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Looks up a cell of a summary by its position in the scenario; `None` while it is not there.
pub type Lookup<'a, 'b> = &'a dyn Fn(usize) -> Option<Cow<'b, CellSummary>>;

/// Prints a layout line by line.
#[derive(Clone, Debug)]
pub struct TextTable<'a> {
    layout: &'a Layout,
    style: Style,
    label_widths: Vec<usize>,
    group_widths: Vec<Vec<usize>>,
}

/// Narrowest column of numbers.
const NUMBER: usize = 7;
/// Between columns, and before each group.
const GAP: usize = 2;
const GROUP_GAP: usize = 4;

impl<'a> TextTable<'a> {
    /// Column widths follow from labels and headings, so rows can be printed before all numbers are known.
    pub fn new(layout: &'a Layout, style: Style) -> Self {
        let longest =
            |column: usize| layout.rows.iter().filter_map(|row| row.labels.get(column)).map(|label| width(label)).max();
        let label_widths = layout.row_titles.iter().enumerate();
        let label_widths = label_widths.map(|(column, title)| width(title).max(longest(column).unwrap_or(0))).collect();
        let group_widths = layout.groups.iter().map(|group| {
            let mut widths: Vec<usize> = group
                .measures
                .iter()
                .map(|measure| width(&measure.title).max(measure.unit.label().len()).max(NUMBER))
                .collect();
            let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
            if let Some(first) = widths.first_mut() {
                *first += width(&group.title).saturating_sub(total);
            }
            widths
        });
        TextTable { layout, style, label_widths, group_widths: group_widths.collect() }
    }

    /// Headings: what the groups have in common, the measures, their units.
    pub fn header(&self) -> String {
        let blank = |_: usize| String::new();
        let mut lines = Vec::new();
        if self.layout.groups.iter().any(|group| !group.title.is_empty()) {
            let mut line = self.labels(blank);
            for (group, widths) in self.layout.groups.iter().zip(&self.group_widths) {
                let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
                line += &" ".repeat(GROUP_GAP);
                line += &self.style.bold(&pad_right(&group.title, total));
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.push(
            self.labels(|column| self.layout.row_titles[column].clone())
                + &self.numbers(|group, column| self.layout.groups[group].measures[column].title.clone()),
        );
        let units = self.numbers(|group, column| self.layout.groups[group].measures[column].unit.label().to_owned());
        if !units.trim().is_empty() {
            lines.push(self.labels(blank) + &self.style.dim(units.trim_end()));
        }
        lines.join("\n")
    }

    /// One row, from the summary's cells.
    pub fn row(&self, row: &Row, lookup: Lookup<'_, '_>) -> String {
        let cells: Vec<Option<Cow<'_, CellSummary>>> = row.cells.iter().map(|cell| lookup(*cell)).collect();
        let text = |group: usize, column: usize| match cells.get(group) {
            Some(Some(cell)) => self.layout.groups[group].measures[column].text(cell),
            _ => "–".to_owned(),
        };
        let line = self.labels(|column| row.labels.get(column).cloned().unwrap_or_default()) + &self.numbers(text);
        line.trim_end().to_owned()
    }

    /// The whole table.
    pub fn render(&self, lookup: Lookup<'_, '_>) -> String {
        let rows = self.layout.rows.iter().map(|row| self.row(row, lookup));
        std::iter::once(self.header()).chain(rows).collect::<Vec<_>>().join("\n")
    }

    fn labels(&self, text: impl Fn(usize) -> String) -> String {
        let columns = self.label_widths.iter().enumerate().map(|(column, width)| pad_right(&text(column), *width));
        columns.collect::<Vec<_>>().join(&" ".repeat(GAP))
    }

    fn numbers(&self, text: impl Fn(usize, usize) -> String) -> String {
        let mut line = String::new();
        for (group, widths) in self.group_widths.iter().enumerate() {
            line += &" ".repeat(GROUP_GAP - GAP);
            for (column, width) in widths.iter().enumerate() {
                line += &" ".repeat(GAP);
                line += &pad_left(&text(group, column), *width);
            }
        }
        line
    }
}

/// `layout` as several, each at most `columns` wide: with all rows, and as many groups as fit, or as many columns of a
/// group. A single column is never divided.
pub fn fit(layout: &Layout, columns: usize) -> Vec<Layout> {
    let table = TextTable::new(layout, Style::default());
    let labels = table.label_widths.iter().sum::<usize>() + GAP * table.label_widths.len().saturating_sub(1);
    let room = columns.saturating_sub(labels);
    let mut parts: Vec<Layout> = Vec::new();
    let mut left = 0;
    for (index, (group, widths)) in layout.groups.iter().zip(&table.group_widths).enumerate() {
        let whole = widths.iter().map(|width| width + GAP).sum::<usize>() + GROUP_GAP - GAP;
        let mut is_open = false;
        for (measure, width) in group.measures.iter().zip(widths) {
            let begins = !is_open;
            let needs = width + if begins { GROUP_GAP } else { GAP };
            // A group that fits as a whole begins where all of it does.
            if parts.is_empty() || left < needs || begins && left < whole && whole <= room {
                let rows = layout.rows.iter().map(|row| Row { labels: row.labels.clone(), cells: Vec::new() });
                parts.push(Layout { row_titles: layout.row_titles.clone(), groups: Vec::new(), rows: rows.collect() });
                left = room;
                is_open = false;
            }
            let part = parts.last_mut().expect("one was put there");
            // In a new table the column begins a group.
            let begins = !is_open;
            if begins {
                part.groups.push(Group { title: group.title.clone(), measures: Vec::new() });
                for (row, all) in part.rows.iter_mut().zip(&layout.rows) {
                    row.cells.extend(all.cells.get(index));
                }
                is_open = true;
            }
            part.groups.last_mut().expect("it was just begun").measures.push(measure.clone());
            left = left.saturating_sub(width + if begins { GROUP_GAP } else { GAP });
        }
    }
    if parts.is_empty() { vec![layout.clone()] } else { parts }
}

/// The table as Markdown, for a README or a pull request.
pub fn markdown(layout: &Layout, lookup: Lookup<'_, '_>) -> String {
    let mut heads: Vec<String> = layout.row_titles.clone();
    for group in &layout.groups {
        for measure in &group.measures {
            let group = if group.title.is_empty() { String::new() } else { format!("{}: ", group.title) };
            let unit = match measure.unit.label() {
                "" => String::new(),
                unit => format!(", {unit}"),
            };
            heads.push(format!("{group}{}{unit}", measure.title));
        }
    }
    let aligned = |column: usize| if column < layout.row_titles.len() { "---" } else { "---:" };
    let line = |cells: Vec<String>| {
        format!("| {} |", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    let mut lines =
        vec![line(heads.clone()), line((0..heads.len()).map(|column| aligned(column).to_owned()).collect())];
    for row in &layout.rows {
        let mut cells = row.labels.clone();
        for (group, cell) in layout.groups.iter().zip(&row.cells) {
            let found = lookup(*cell);
            cells.extend(
                group.measures.iter().map(|measure| found.as_ref().map_or("–".into(), |cell| measure.text(cell))),
            );
        }
        lines.push(line(cells));
    }
    lines.join("\n") + "\n"
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad_right(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

fn pad_left(text: &str, to: usize) -> String {
    format!("{}{text}", " ".repeat(to.saturating_sub(width(text))))
}
