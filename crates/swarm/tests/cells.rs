//! Random 802.11 cells: what they count, and that files arrive.

use airtcp_swarm::{Tables, check_cell};

const SEEDS: u64 = 300;

#[test]
fn in_every_cell_packets_are_conserved_and_in_calm_ones_every_file_arrives() {
    let failing = (0..SEEDS).filter_map(|seed| Some((seed, check_cell(seed, &Tables::built_in()).err()?)));
    let failures: Vec<(u64, String)> = failing.collect();
    for (seed, what) in &failures {
        println!("cargo run -p airtcp-swarm --release -- --seed {seed}   # {what}");
    }
    assert!(failures.is_empty(), "{} of {SEEDS} seeds failed", failures.len());
}
