//! The beginning of a report: what the schemes changed, in one sentence for each world and one picture.

use super::compare::{Comparison, letter};
use super::page::Page;
use super::section::heading;
use super::stored::Stored;
use super::sweep;
use crate::figure::Figure;
use crate::results::headline;

/// Writes it; nothing where schemes are not compared with doing without. Returns the name of the figure that it shows.
pub fn put(page: &mut Page<'_>, results: &[Stored<'_>], comparison: Option<&Comparison<'_>>) -> Option<String> {
    let sentences: Vec<(String, String)> = results
        .iter()
        .enumerate()
        .flat_map(|(index, stored)| stored.worlds.iter().map(move |world| (index, stored, &**world)))
        .filter_map(|(index, stored, world)| {
            let place = if results.len() > 1 { format!("{} · ", letter(index)) } else { String::new() };
            Some((format!("{place}{}", heading(&world.name)), headline(&stored.scenario, &world.summary)?))
        })
        .collect();
    if sentences.is_empty() {
        return None;
    }
    page.put("<header class=\"result\"><h1>In short</h1></header>");
    for (place, sentence) in sentences {
        page.text("p", "facts", &place);
        page.text("p", "about", &sentence);
    }
    page.text("p", "facts", "A difference counts where the intervals of the two cells do not overlap.");
    let (stored, world) = (&results[0], results[0].worlds.first()?);
    let spec = stored.scenario.figures.iter().find(|spec| !spec.is_over_time())?;
    let alone = || vec![(String::new(), Figure::of(&stored.scenario, spec, &world.summary, &world.series))];
    let common = comparison.and_then(|comparison| comparison.common_figures().remove(&spec.name));
    page.draw("sweep", sweep::data(&common.unwrap_or_else(alone)));
    Some(spec.name.clone())
}
