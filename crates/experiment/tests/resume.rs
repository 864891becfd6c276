//! Interrupted sweeps go on where they were and end with the bytes of an uninterrupted one.

use crate::common::{DEMO, MadeUp, Scratch, demo_with, read};
use airtcp_experiment::results::series::Series;
use airtcp_experiment::results::summary::{self, Summary};
use airtcp_experiment::results::{self, Earlier, Interruptible, Journal, JournalError, Opening, Results, RunOptions};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome, Scenario, Simulator, World};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const BUILD: &str = "this build";
/// Two losses, two schemes, three runs.
const SHORT: [&str; 5] =
    ["duration=3s", "warmup=1s", "runs=3", "flows.bulk.controller=cubic", "vary.links.air.loss=[\"0%\", \"5%\"]"];
const RUNS: usize = 12;

fn file(root: &Scratch, scenario: &Scenario) -> PathBuf {
    results::directory::of_scenario(root.path(), scenario).join(".sim.partial")
}

/// The simulator, which counts its runs and interrupts the sweep after so many.
struct Interrupting<'a> {
    runs: AtomicUsize,
    limit: usize,
    stop: &'a AtomicBool,
}

impl World for Interrupting<'_> {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        if self.runs.fetch_add(1, Ordering::Relaxed) + 1 == self.limit {
            self.stop.store(true, Ordering::Relaxed);
        }
        Simulator::default().run(cell, seed)
    }
}

const OURS: Opening<'static> = Opening { build: BUILD, owner: "", earlier: Earlier::Resume, shard: None };

const FRESH: Opening<'static> = Opening { earlier: Earlier::Drop, ..OURS };

fn open(root: &Path, scenario: &Scenario) -> Journal {
    Journal::open(root, scenario, &Simulator::default(), &OURS).expect("nobody else has it")
}

/// Makes `limit` more runs on two threads, or one more; also returns how many.
fn go_on<'a>(root: &Path, scenario: &'a Scenario, limit: usize) -> (Results<'a>, usize) {
    let stop = AtomicBool::new(false);
    let world = Interrupting { runs: AtomicUsize::new(0), limit, stop: &stop };
    let mut journal = open(root, scenario);
    let interruptible = Interruptible { journal: &mut journal, is_removed_at_end: false, stop: &stop };
    let results = results::run_interruptible(scenario, &world, RunOptions { threads: 2 }, interruptible, &mut ());
    assert!(journal.problem().is_none());
    (results, world.runs.into_inner())
}

/// The simulator, whose last run waits until the journal has all others.
struct Patient<'a> {
    runs: AtomicUsize,
    journal: &'a Path,
}

impl World for Patient<'_> {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        let is_last = self.runs.fetch_add(1, Ordering::Relaxed) + 1 == RUNS;
        let kept = || std::fs::read_to_string(self.journal).unwrap().lines().count();
        let is_waiting = |_: &u32| is_last && kept() < RUNS;
        (0..1000).take_while(is_waiting).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(10)));
        assert!(!is_last || kept() == RUNS, "a line of its own, and one for each other run");
        Simulator::default().run(cell, seed)
    }
}

#[test]
fn finished_runs_are_kept_while_another_goes_on_and_the_last_only_if_the_journal_stays() {
    let scenario = read(DEMO, &SHORT).unwrap();
    for (is_removed_at_end, lines) in [(false, 1 + RUNS), (true, RUNS)] {
        let root = Scratch::new("kept");
        let (stop, path) = (AtomicBool::new(false), file(&root, &scenario));
        let world = Patient { runs: AtomicUsize::new(0), journal: &path };
        let mut journal = open(root.path(), &scenario);
        let interruptible = Interruptible { journal: &mut journal, is_removed_at_end, stop: &stop };
        let results = results::run_interruptible(&scenario, &world, RunOptions { threads: 1 }, interruptible, &mut ());
        assert!(results.is_complete());
        assert_eq!((std::fs::read_to_string(&path).unwrap().lines().count(), journal.runs()), (lines, lines - 1));
    }
}

/// The simulator, whose runs with another seed than the first fail.
struct Failing;

impl World for Failing {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        if seed > 1 { Err(NotRun::Failed("it does".into())) } else { Simulator::default().run(cell, seed) }
    }
}

#[test]
fn a_run_beside_one_that_failed_is_not_made_again() {
    let root = Scratch::new("beside");
    let scenario = read(DEMO, &SHORT).unwrap();
    let (mut journal, stop) = (open(root.path(), &scenario), AtomicBool::new(false));
    let interruptible = Interruptible { journal: &mut journal, is_removed_at_end: true, stop: &stop };
    let results = results::run_interruptible(&scenario, &Failing, RunOptions { threads: 2 }, interruptible, &mut ());
    assert!(results.is_complete() && results.is_empty());
    drop(journal);
    assert_eq!(open(root.path(), &scenario).resumed(), scenario.cells.len());
}

fn texts(results: &Results<'_>) -> [String; 2] {
    [summary::to_text(&Summary::of(results, "results/x/sim")), summary::to_text(&Series::of(results))]
}

fn uninterrupted(scenario: &Scenario) -> [String; 2] {
    texts(&results::run(scenario, &Simulator::default(), RunOptions { threads: 1 }, &mut ()))
}

#[test]
fn a_sweep_interrupted_twice_ends_with_the_same_bytes_and_runs_nothing_twice() {
    let root = Scratch::new("twice");
    let scenario = read(DEMO, &SHORT).unwrap();
    let (first, made) = go_on(root.path(), &scenario, 4);
    assert!(!first.is_complete());
    let (second, made_again) = go_on(root.path(), &scenario, 3);
    assert!(!second.is_complete());
    let (last, made_last) = go_on(root.path(), &scenario, RUNS);
    assert!(last.is_complete());
    assert_eq!(made + made_again + made_last, RUNS);
    assert!(made >= 4 && made_again >= 3 && made_last > 0, "{made} {made_again} {made_last}");
    assert_eq!(texts(&last), uninterrupted(&scenario));
}

#[test]
fn a_line_torn_by_a_killed_process_is_dropped_and_its_run_made_again() {
    let root = Scratch::new("torn");
    let scenario = read(DEMO, &SHORT).unwrap();
    let (_, made) = go_on(root.path(), &scenario, 5);
    let file = file(&root, &scenario);
    let length = std::fs::metadata(&file).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length - 7).unwrap();
    let (results, made_again) = go_on(root.path(), &scenario, RUNS);
    assert_eq!(made + made_again, RUNS + 1);
    assert_eq!(texts(&results), uninterrupted(&scenario));
    let whole = std::fs::read_to_string(&file).unwrap();
    assert_eq!(whole.lines().count(), 1 + RUNS, "what follows does not join the torn line");
}

#[test]
fn a_damaged_line_costs_its_own_run_only() {
    let root = Scratch::new("damaged");
    let scenario = read(DEMO, &SHORT).unwrap();
    let (_, made) = go_on(root.path(), &scenario, 5);
    let file = file(&root, &scenario);
    let text = std::fs::read_to_string(&file).unwrap().replacen("{\"cell\":0,\"run\":1,", "{\"cell\":0,\"run\":x,", 1);
    std::fs::write(&file, text).unwrap();
    assert_eq!(open(root.path(), &scenario).resumed(), made - 1);
}

#[test]
fn runs_of_another_scenario_are_not_mixed_in() {
    let root = Scratch::new("other");
    let scenario = read(DEMO, &SHORT).unwrap();
    let (_, made) = go_on(root.path(), &scenario, 5);
    assert_eq!(open(root.path(), &scenario).resumed(), made);
    let mut forged = scenario.clone();
    // As if two scenarios had the same hash.
    forged.resolved = forged.resolved.replacen("10Mbit", "11Mbit", 1);
    let journal = open(root.path(), &forged);
    assert_eq!((journal.resumed(), journal.was_outdated()), (0, true));
}

#[test]
fn runs_of_another_build_are_refused_or_used_by_choice() {
    let root = Scratch::new("build");
    let scenario = read(DEMO, &SHORT).unwrap();
    let (_, made) = go_on(root.path(), &scenario, 5);
    let other = Opening { build: "another build", ..OURS };
    let opened = |opening: &Opening<'_>| Journal::open(root.path(), &scenario, &Simulator::default(), opening);
    let refused = opened(&other).expect_err("refused");
    let JournalError::OtherBuild { runs, ref build, .. } = refused else { panic!("{refused}") };
    assert_eq!((runs, build.as_str()), (made, BUILD));
    assert!(refused.to_string().contains("--resume uses them, --fresh drops them"), "{refused}");
    assert_eq!(opened(&OURS).unwrap().resumed(), made, "refusing changes nothing");
    let taken = opened(&Opening { earlier: Earlier::ResumeAny, ..other }).unwrap();
    assert_eq!((taken.resumed(), taken.builds().all()), (made, &[BUILD.to_owned(), "another build".to_owned()][..]));
    drop(taken);
    // What was chosen once holds: the build that went on last goes on.
    assert_eq!(opened(&other).unwrap().resumed(), made);
    assert!(matches!(opened(&OURS), Err(JournalError::OtherBuild { .. })));
}

#[test]
fn fresh_drops_what_was_kept() {
    let root = Scratch::new("fresh");
    let scenario = read(DEMO, &SHORT).unwrap();
    go_on(root.path(), &scenario, 5);
    let journal = Journal::open(root.path(), &scenario, &Simulator::default(), &FRESH).unwrap();
    assert_eq!((journal.resumed(), journal.was_outdated()), (0, false));
    drop(journal);
    assert_eq!(open(root.path(), &scenario).resumed(), 0);
}

#[test]
fn a_scenario_is_run_by_one_process_at_a_time() {
    let root = Scratch::new("busy");
    let scenario = read(DEMO, &SHORT).unwrap();
    let first = open(root.path(), &scenario);
    let second = Journal::open(root.path(), &scenario, &Simulator::default(), &FRESH);
    assert!(matches!(second, Err(JournalError::Busy(_))), "{second:?}");
    assert!(Journal::open(root.path(), &scenario, &MadeUp, &OURS).is_ok(), "another world is no other's business");
    drop(first);
    open(root.path(), &scenario);
}

#[test]
fn a_journal_leaves_nothing_behind() {
    let root = Scratch::new("removed");
    let scenario = read(DEMO, &SHORT).unwrap();
    open(root.path(), &scenario).remove().unwrap();
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_run_that_was_skipped_is_tried_again() {
    let root = Scratch::new("skipped");
    let scenario =
        read(DEMO, &["duration=3s", "runs=1", "flows.bulk.controller=illinois", "links.air.loss=0%"]).unwrap();
    let (results, made) = go_on(root.path(), &scenario, RUNS);
    assert!(results.is_complete() && results.is_empty());
    assert_eq!((made, open(root.path(), &scenario).resumed()), (2, 0));
}

#[test]
fn outcomes_of_every_kind_read_back_exactly() {
    let scenario = read(&demo_with("[schemes.repair]", "size = \"100kB\"\n\n[schemes.repair]"), &SHORT).unwrap();
    let worlds: [&dyn World; 2] = [&Simulator::default(), &MadeUp];
    for world in worlds {
        for cell in &scenario.cells {
            let mut outcome = world.run(&cell.scenario, 2).expect("it runs");
            if let Some(report) = &mut outcome.emulator {
                // Where readers that are not exact go wrong.
                (report.rate_error_ratio, report.loss_seen_ratio) = (0.1 + 0.2, 1.0 / 3.0e-7);
            }
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<RunOutcome>(&text).unwrap(), outcome);
        }
    }
    let finished = Simulator::default().run(&scenario.cells[0].scenario, 1).unwrap();
    assert!(finished.flows[0].completion.is_some() && !finished.flows[0].series.is_empty(), "nothing was left out");
}
