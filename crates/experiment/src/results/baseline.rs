//! What a cell is compared with.

use crate::scenario::{Cell, Scenario};
use std::collections::BTreeMap;

/// The label of each key that varies, by its key.
type Label = (String, String);

/// Of each cell the one without any scheme that is otherwise the same: equal in everything that varies outside `schemes`, and of
/// those the one that differs least. Two cases of `vary.cases` are the same if links and flows are.
pub fn of_all(scenario: &Scenario) -> Vec<Option<usize>> {
    let mut plain: BTreeMap<Vec<&Label>, Vec<usize>> = BTreeMap::new();
    for (index, cell) in scenario.cells.iter().enumerate().filter(|(_, cell)| is_plain(cell)) {
        plain.entry(kept(cell)).or_default().push(index);
    }
    let of = |(index, cell): (usize, &Cell)| {
        if is_plain(cell) {
            return Some(index);
        }
        let candidates = plain.get(&kept(cell)).into_iter().flatten().copied();
        let is_same = |other: &usize| is_same(cell, &scenario.cells[*other]);
        candidates.filter(is_same).min_by_key(|other| differences(cell, &scenario.cells[*other]).count())
    };
    scenario.cells.iter().enumerate().map(of).collect()
}

/// The same of one cell alone.
pub fn baseline_of(scenario: &Scenario, cell: usize) -> Option<usize> {
    of_all(scenario)[cell]
}

fn is_plain(cell: &Cell) -> bool {
    cell.scenario.schemes.is_empty()
}

/// What has to be equal.
fn kept(cell: &Cell) -> Vec<&Label> {
    cell.at.iter().filter(|(key, _)| !key.starts_with("schemes.") && !key.starts_with("cases.")).collect()
}

/// The keys in which they differ.
fn differences<'a>(cell: &'a Cell, other: &'a Cell) -> impl Iterator<Item = &'a str> {
    cell.at.iter().zip(&other.at).filter(|(ours, theirs)| ours.1 != theirs.1).map(|((key, _), _)| key.as_str())
}

/// True for cells with equal [`kept`] keys if their cases are the same.
fn is_same(cell: &Cell, other: &Cell) -> bool {
    let has_cases = differences(cell, other).any(|key| key.starts_with("cases."));
    !has_cases || network_and_traffic(cell) == network_and_traffic(other)
}

fn network_and_traffic(cell: &Cell) -> String {
    format!("{:?} {:?} {:?}", cell.scenario.links, cell.scenario.flows, cell.scenario.workloads)
}
