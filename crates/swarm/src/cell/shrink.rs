//! Makes a failing cell smaller as long as it still fails.

use super::{Cell, judge, with};
use airtcp_sim::dot11::CellSettings;

/// The smallest failing cell found, and what fails in it; `fails` judges a candidate.
pub fn shrink(cell: &Cell, fails: &dyn Fn(&Cell) -> Option<String>) -> Option<(Cell, String)> {
    let mut best = (cell.clone(), fails(cell)?);
    while let Some(smaller) =
        candidates(&best.0).into_iter().find_map(|candidate| fails(&candidate).map(|failure| (candidate, failure)))
    {
        best = smaller;
    }
    Some(best)
}

/// What the swarm asks of a cell.
pub fn fails(cell: &Cell) -> Option<String> {
    crate::quietly(|| judge::run(cell)).err()
}

/// Cells that are smaller by one thing each.
fn candidates(cell: &Cell) -> Vec<Cell> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Cell)| {
        let mut candidate = cell.clone();
        change(&mut candidate);
        let settings = with(CellSettings::default(), &candidate.keys);
        if settings.is_ok_and(|settings| settings.check().is_ok()) {
            found.push(candidate);
        }
    };
    if cell.flows.len() > 1 {
        (0..cell.flows.len()).for_each(|index| add(&|cell| drop(cell.flows.remove(index))));
    }
    if cell.scheme.is_some() {
        add(&|cell| cell.scheme = None);
    }
    (0..cell.edca.len()).for_each(|index| add(&|cell| drop(cell.edca.remove(index))));
    (0..cell.keys.len()).for_each(|index| add(&|cell| drop(cell.keys.remove(index))));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::cell::cell;

    #[test]
    fn shrinking_keeps_what_the_failure_needs_and_drops_the_rest() {
        let has = |cell: &Cell, key| cell.keys.iter().any(|(name, _)| name == key);
        let mut cells = (0..).map(|seed| cell(seed, &Tables::built_in()));
        let large = cells.find(|cell| has(cell, "hack") && cell.keys.len() > 6 && cell.flows.len() > 3).unwrap();
        let (small, failure) = shrink(&large, &|cell| has(cell, "hack").then(|| "rides".to_owned())).unwrap();
        assert_eq!((small.keys.len(), small.flows.len(), failure.as_str()), (1, 1, "rides"));
        assert!(shrink(&large, &|_| None).is_none());
    }
}
