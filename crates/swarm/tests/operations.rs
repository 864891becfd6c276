//! Random operations on every line of both tables.

use airtcp_swarm::{Tables, check_controllers, check_elements};

fn assert_passes(seeds: u64, check: impl Fn(u64) -> Result<(), String>) {
    for seed in 0..seeds {
        if let Err(what) = check(seed) {
            panic!("{what}\n  cargo run -p airtcp-swarm --release -- --seed {seed}");
        }
    }
}

#[test]
fn every_scheme_survives_random_operations() {
    assert_passes(100, |seed| check_elements(seed, &Tables::built_in()));
}

#[test]
fn every_controller_survives_random_steps() {
    assert_passes(300, |seed| check_controllers(seed, &Tables::built_in()));
}
