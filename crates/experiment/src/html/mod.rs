//! A report as one HTML file that needs nothing else: no network, no other file.
//!
//! Tables are written here, figures are drawn in the browser from data in the page: `sweep.js` draws the `[[figures]]`
//! of scenarios, `over_time.js` what each cell did over time, `draw.js` is what they share. Everything can be reached
//! with the keyboard, each figure also has its numbers as a table; the page follows the reader's light or dark setting
//! and prints. First comes the result in short ([`opening`]), then several results side by side ([`compare`]); the rest is
//! one section per result ([`section`]).

mod claims;
mod compare;
mod link_rates;
mod opening;
mod over_time;
mod page;
mod section;
mod stored;
mod sweep;
mod tables;

pub use stored::{Stored, StoredError, StoredWorld};

use compare::Comparison;
use page::Page;
use serde_json::Value;
use std::io::{self, Write};

/// The report of one or several stored results, as text.
pub fn render(results: &[Stored<'_>]) -> String {
    as_text(|to| write(results, to))
}

/// Writes the report of one or several stored results.
///
/// # Errors
/// That of `to`.
pub fn write(results: &[Stored<'_>], to: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    let comparison = Comparison::of(results);
    let opening = opening::put(&mut page, results, comparison.as_ref());
    if let Some(comparison) = &comparison {
        comparison.put(&mut page, opening.as_deref());
    }
    let is_above = |name: &str| {
        opening.as_deref() == Some(name) || comparison.as_ref().is_some_and(|comparison| comparison.has_figure(name))
    };
    for (index, stored) in results.iter().enumerate() {
        let letter = (results.len() > 1).then(|| compare::letter(index));
        section::put(&mut page, stored, letter, &is_above, over_time::MAX_SAMPLES / results.len().max(1));
    }
    let names: Vec<&str> = results.iter().map(|stored| stored.scenario.name.as_str()).collect();
    page.finish(&names.join(", "), to)
}

/// Writes the report of a reproduced paper: its claims, as `claims.json` holds them, above the results of its experiments.
///
/// # Errors
/// That of `to`.
pub fn write_paper(claims: &Value, experiments: &[Stored<'_>], to: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    page.put(&claims::html(claims));
    for stored in experiments {
        section::put(&mut page, stored, None, &|_| false, over_time::MAX_SAMPLES / experiments.len().max(1));
    }
    page.finish(claims["paper"]["title"].as_str().unwrap_or_default(), to)
}

fn as_text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut text = Vec::new();
    write(&mut text).expect("memory takes everything");
    String::from_utf8(text).expect("a page is UTF-8")
}
