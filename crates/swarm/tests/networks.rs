//! Random networks: faults, then healing, then progress.

use airtcp_swarm::{Tables, check_scenario};
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = 500;

#[test]
fn after_healing_every_file_arrives_and_every_flow_moves() {
    let next = AtomicU64::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let seeds = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|seed| *seed < SEEDS);
        let failing = seeds.filter_map(|seed| Some((seed, check_scenario(seed, &Tables::built_in()).err()?)));
        failing.collect::<Vec<_>>()
    };
    let failures: Vec<(u64, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for (seed, what) in &failures {
        println!("cargo run -p airtcp-swarm --release -- --seed {seed}   # {what}");
    }
    assert!(failures.is_empty(), "{} of {SEEDS} seeds failed", failures.len());
}
