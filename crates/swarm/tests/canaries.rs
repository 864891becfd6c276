//! The planted bugs are found within their budgets, and their honest twins are not accused.

use airtcp_swarm::canary::{CANARIES, Finder};

fn assert_found(finder: Finder) {
    for canary in CANARIES.iter().filter(|canary| canary.finder == finder) {
        let about = canary.planted.about;
        let (seed, what) = canary.find().unwrap_or_else(|| panic!("'{about}' not found with {} seeds", canary.budget));
        println!("{about}: seed {seed}: {what}");
        assert_eq!(canary.check(seed, canary.honest), Ok(()), "{about} without the bug, seed {seed}");
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
