//! Seeds that once failed do not fail again.

use airtcp_swarm::{Tables, check, seeds};

#[test]
fn kept_seeds_pass() {
    for kept in seeds::kept().unwrap() {
        if let Err(what) = check(kept.seed, &Tables::built_in()) {
            panic!("seed {} ({}) fails again: {what}", kept.seed, kept.about);
        }
    }
}
