//! The planted bugs are found within their budgets, and their honest twins are not accused.

use airtcp_swarm::canary::{CANARIES, Finder};

fn assert_found(finder: Finder) {
    let canaries = CANARIES.iter().flat_map(|canary| canary.budgets.iter().map(move |budget| (canary, *budget)));
    for (canary, budget) in canaries.filter(|(_, (other, _))| *other == finder) {
        let about = canary.planted.about;
        let (seed, what) = canary.find(budget).unwrap_or_else(|error| panic!("'{about}': {error}"));
        println!("{about}: seed {seed}: {what}");
    }
}

#[test]
fn operations_find_the_planted_bugs() {
    assert_found(Finder::Operations);
}

#[test]
fn networks_find_the_planted_bugs() {
    assert_found(Finder::Networks);
}
