//! An interrupted reproduction goes on where it was and ends with the verdicts of an uninterrupted one.

use crate::common::{CATALOGUE, DEMO, Scratch};
use airtcp_experiment::paper::resume::Journals;
use airtcp_experiment::paper::{Mode, PaperFile, Plan, TestRuns, Worlds, output};
use airtcp_experiment::results::{Earlier, JournalError, RunOptions};
use airtcp_experiment::scenario::{ScenarioError, Source};
use airtcp_experiment::world::{FlowOutcome, World};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const PAPER: &str = include_str!("data/paper.toml");
const OPTIONS: RunOptions = RunOptions { threads: 1 };

/// Numbers made up from the cell and the seed; raises `stop` in run number `limit`.
#[derive(Default)]
struct MadeUp {
    runs: AtomicUsize,
    limit: usize,
    stop: AtomicBool,
}

impl World for MadeUp {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        if self.runs.fetch_add(1, Ordering::Relaxed) + 1 == self.limit {
            self.stop.store(true, Ordering::Relaxed);
        }
        let loss = cell.links[1].forward.loss.mean(1500).parts_per_billion() / 1_000_000;
        let strength = 1 + 10 * cell.schemes.len() as u64 + u64::from(cell.flows[0].config.max_cwnd.unwrap_or(0));
        let bytes = 1_000_000 * strength / (strength + loss) + seed;
        let window = cell.measured();
        let flow = FlowOutcome { name: "bulk".into(), window_bytes: bytes, window, ..FlowOutcome::default() };
        Ok(RunOutcome { flows: vec![flow], ..RunOutcome::default() })
    }
}

fn plan(text: &str) -> Plan {
    let source = Source { file: "paper.toml".into(), text: text.into() };
    let open = |name: &str| -> Result<Source, ScenarioError> { Ok(Source { file: name.into(), text: DEMO.into() }) };
    let file = PaperFile::parse(&source, open).unwrap();
    Plan::new(&file, Mode::default(), &CATALOGUE).unwrap_or_else(|error| panic!("{error}"))
}

fn open<'a>(root: &Path, plan: &'a Plan) -> Journals<'a> {
    Journals::open(root, plan, Worlds(&[&MadeUp::default()]), "a build", Earlier::Resume).unwrap()
}

/// The verdicts, and how many runs this took.
fn go_on(root: &Path, plan: &Plan) -> (String, usize) {
    let world = MadeUp::default();
    let mut journals = open(root, plan);
    let results = journals.run(Worlds(&[&world]), OPTIONS, &world.stop, &mut ()).expect("nobody stops it");
    journals.remove().unwrap();
    (output::to_text(&output::claims(&plan.judge(results, &TestRuns::NONE), "there")), world.runs.into_inner())
}

#[test]
fn wherever_it_was_interrupted_it_ends_alike_and_runs_nothing_twice() {
    let scratch = Scratch::new("anywhere");
    let plan = plan(PAPER);
    assert!(plan.sweeps().iter().any(|sweep| sweep.branch.is_some()), "variants are part of this");
    let all = plan.runs() as usize;
    let (expected, runs) = go_on(scratch.path(), &plan);
    assert_eq!(runs, all);
    let plain = plan.run(Worlds(&[&MadeUp::default()]), OPTIONS, &mut ());
    assert_eq!(output::to_text(&output::claims(&plain, "there")), expected);
    for limit in [1, all / 3, all / 2, all - 1] {
        let world = MadeUp { limit, ..MadeUp::default() };
        let mut journals = open(scratch.path(), &plan);
        assert!(journals.run(Worlds(&[&world]), OPTIONS, &world.stop, &mut ()).is_none(), "stopped after {limit}");
        assert_eq!(journals.runs(), limit);
        drop(journals);
        assert_eq!(go_on(scratch.path(), &plan), (expected.clone(), all - limit));
    }
    let left: Vec<_> = walk(scratch.path());
    assert!(left.iter().all(|path| path.is_dir()), "no journal is left: {left:?}");
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| [vec![path.clone()], walk(&path)].concat()).collect()
}

#[test]
fn a_paper_whose_claims_changed_begins_anew() {
    let scratch = Scratch::new("changed");
    let first = plan(PAPER);
    let world = MadeUp { limit: 3, ..MadeUp::default() };
    assert!(open(scratch.path(), &first).run(Worlds(&[&world]), OPTIONS, &world.stop, &mut ()).is_none());
    let changed = plan(&PAPER.replacen("at_least = 1.9", "at_least = 1.8", 1));
    assert_ne!(first.paper.hash, changed.paper.hash);
    assert_eq!(open(scratch.path(), &changed).resumed(), 0);
    assert_eq!(open(scratch.path(), &first).resumed(), 3);
}

#[test]
fn two_at_a_time_are_refused() {
    let scratch = Scratch::new("busy");
    let plan = plan(PAPER);
    let _first = open(scratch.path(), &plan);
    let second = Journals::open(scratch.path(), &plan, Worlds(&[&MadeUp::default()]), "a build", Earlier::Resume);
    assert!(matches!(second.err(), Some(JournalError::Busy(_))));
}
