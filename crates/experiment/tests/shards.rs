//! A sweep in several processes gives the bytes of one.

use crate::common::{CATALOGUE, DEMO, Scratch, read};
use airtcp_experiment::results::series::Series;
use airtcp_experiment::results::summary::{self, Summary};
use airtcp_experiment::results::{
    self, Earlier, Interruptible, Journal, MergeError, Opening, Results, RunOptions, Shard, Shards, data, parquet,
};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome, Scenario, Simulator, World};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const SHORT: [&str; 5] =
    ["duration=2s", "warmup=1s", "runs=3", "flows.bulk.controller=cubic", "vary.links.air.loss=[\"0%\", \"5%\"]"];
const RUNS: usize = 12;

/// The simulator, which cannot run the cells of a scheme.
struct Picky;

impl World for Picky {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        if cell.schemes.is_empty() {
            Simulator::default().run(cell, seed)
        } else {
            Err(NotRun::Skipped("no schemes here".into()))
        }
    }
}

fn shard(index: u32, count: u32) -> Shard {
    format!("{index}/{count}").parse().unwrap()
}

fn run_shard(root: &Path, scenario: &Scenario, world: &dyn World, shard: Shard, build: &str) -> Journal {
    let opening = Opening { build, owner: "", earlier: Earlier::Resume, shard: Some(shard) };
    let mut journal = Journal::open(root, scenario, world, &opening).unwrap();
    let stop = AtomicBool::new(false);
    let interruptible = Interruptible { journal: &mut journal, is_removed_at_end: false, stop: &stop };
    results::run_interruptible(scenario, world, RunOptions { threads: 2 }, interruptible, &mut ());
    assert!(journal.problem().is_none());
    journal
}

fn directory(root: &Path, scenario: &Scenario) -> PathBuf {
    results::directory::of_scenario(root, scenario)
}

/// Everything that is written, but for the manifest.
fn bytes(root: &Path, results: &Results<'_>) -> Vec<Vec<u8>> {
    let summary = Summary::of(results, "");
    let texts = [summary::to_text(&summary), summary::to_text(&Series::of(results))];
    parquet::write(root, results, &summary).unwrap();
    let files = data::TABLES.map(|table| std::fs::read(root.join(table.file)).unwrap());
    texts.into_iter().map(String::into_bytes).chain(files).collect()
}

#[test]
fn any_split_gives_the_bytes_of_one_process() {
    let root = Scratch::new("split");
    let scenario = read(DEMO, &SHORT).unwrap();
    let whole = results::run(&scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ());
    let expected = bytes(root.path(), &whole);
    for count in [1, 2, 5, 12, 17] {
        // As on two machines without a common disk.
        let roots = ["a", "b"].map(|name| root.path().join(format!("{count}{name}")));
        let mut runs = 0;
        for index in 1..=count {
            let root = &roots[index as usize % 2];
            runs += run_shard(root, &scenario, &Simulator::default(), shard(index, count), "a build").runs();
        }
        assert_eq!(runs, RUNS, "nothing is run twice");
        let there = roots.iter().map(|root| directory(root, &scenario)).filter(|path| path.exists());
        let shards = Shards::find(&there.collect::<Vec<_>>(), &CATALOGUE).unwrap();
        let [merged] = &shards.merge(false).unwrap()[..] else { panic!("one world") };
        assert_eq!((merged.files, merged.results.is_complete()), (count as usize, true));
        assert!(bytes(root.path(), &merged.results) == expected, "{count} shards give other bytes");
    }
}

#[test]
fn what_cannot_run_is_left_out_as_by_one_process() {
    let root = Scratch::new("picky");
    let scenario = read(DEMO, &SHORT).unwrap();
    let whole = results::run(&scenario, &Picky, RunOptions { threads: 1 }, &mut ());
    (1..=3).for_each(|index| drop(run_shard(root.path(), &scenario, &Picky, shard(index, 3), "a build")));
    let shards = Shards::find(&[directory(root.path(), &scenario)], &CATALOGUE).unwrap();
    let merged = shards.merge(false).unwrap();
    assert_eq!(bytes(root.path(), &merged[0].results), bytes(root.path(), &whole));
}

#[test]
fn missing_shards_are_named() {
    let root = Scratch::new("missing");
    let scenario = read(DEMO, &SHORT).unwrap();
    for index in [1, 3] {
        run_shard(root.path(), &scenario, &Simulator::default(), shard(index, 4), "a build");
    }
    let shards = Shards::find(&[directory(root.path(), &scenario)], &CATALOGUE).unwrap();
    let error = shards.merge(false).err().expect("half is missing").to_string();
    let sentence = "6 of 12 runs of simulator are missing: of shards 2/4, 4/4; run what is missing, and merge again";
    assert_eq!(error, sentence);
}

#[test]
fn a_torn_shard_lacks_one_run_and_goes_on_from_there() {
    let root = Scratch::new("torn-shard");
    let scenario = read(DEMO, &SHORT).unwrap();
    drop(run_shard(root.path(), &scenario, &Simulator::default(), shard(1, 1), "a build"));
    let file = directory(root.path(), &scenario).join("shards/sim-1-of-1.jsonl");
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length - 7).unwrap();
    let find = || Shards::find(&[directory(root.path(), &scenario)], &CATALOGUE).unwrap();
    assert!(matches!(find().merge(false), Err(MergeError::Incomplete { missing: 1, .. })));
    assert_eq!(run_shard(root.path(), &scenario, &Simulator::default(), shard(1, 1), "a build").resumed(), RUNS - 1);
    assert!(find().merge(false).is_ok());
}

#[test]
fn shards_of_other_builds_and_sweeps_are_refused() {
    let root = Scratch::new("mixed");
    let scenario = read(DEMO, &SHORT).unwrap();
    run_shard(root.path(), &scenario, &Simulator::default(), shard(1, 2), "one build");
    run_shard(root.path(), &scenario, &Simulator::default(), shard(2, 2), "another build");
    let ours = directory(root.path(), &scenario);
    let shards = Shards::find(std::slice::from_ref(&ours), &CATALOGUE).unwrap();
    let error = shards.merge(false).err().expect("two builds").to_string();
    assert!(error.contains("one build; another build") && error.contains("--any-build"), "{error}");
    assert_eq!(shards.merge(true).unwrap()[0].builds.all().len(), 2);

    let other = read(DEMO, &[&SHORT[..], &["seed=9"]].concat()).unwrap();
    run_shard(root.path(), &other, &Simulator::default(), shard(1, 1), "one build");
    let shards = Shards::find(&[ours, directory(root.path(), &other)], &CATALOGUE).unwrap();
    assert!(matches!(shards.merge(true), Err(MergeError::OtherSweep { .. })));
    assert!(matches!(Shards::find(&[root.path().to_owned()], &CATALOGUE), Err(MergeError::Nothing(_))));
    assert!(matches!(Shards::find(&[root.path().join("nowhere")], &CATALOGUE), Err(MergeError::File { .. })));
}
