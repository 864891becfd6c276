//! What has to be run to judge a paper: its experiments, and beside them the cells that claims look at with other
//! seeds, under variants, in the settings of sweeps, or with the mechanism switched off.

use super::change::Change;
use super::check::Rule;
use super::selection::CellRef;
use super::{Claim, Experiment, Mode, Paper, PaperFile, Subject};
use crate::catalogue::Catalogue;
use crate::results;
use crate::scenario::{Cell, Scenario, ScenarioError};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Distance of the first seeds of two sets.
const SEED_STEP: u64 = 1_000_000;

/// Everything that is to be run.
pub struct Plan {
    /// With the defaults.
    pub paper: Paper,
    /// How.
    pub mode: Mode,
    pub(super) branches: Vec<Branch>,
}

/// Cells that are run besides the paper's experiments, for some of its claims.
pub(super) struct Branch {
    /// A name of its own among the branches.
    name: String,
    /// What is different from the defaults.
    pub changes: Vec<Change>,
    /// Which set of seeds.
    pub base: u32,
    /// Indices of the claims that are judged on it.
    pub judged: Vec<usize>,
    /// All claims of the paper, on the cells that there are with these changes.
    pub claims: Vec<Claim>,
    /// One per experiment: the cells to run, and where each cell of the experiment lies among them.
    pub restricted: Vec<(Scenario, Vec<Option<usize>>)>,
}

/// One scenario of a plan.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// Name of what it is run for besides the paper's experiments.
    pub branch: Option<&'a str>,
    /// What to run.
    pub scenario: &'a Scenario,
    /// Where, as [`Experiment::world`].
    pub world: Option<&'a str>,
}

/// The worlds that experiments may name; those that name none run in the first one.
#[derive(Clone, Copy)]
pub struct Worlds<'a>(pub &'a [&'a dyn World]);

impl<'a> Worlds<'a> {
    /// Where `sweep` runs.
    ///
    /// # Panics
    /// The world that its experiment names is not among them.
    pub fn of(self, sweep: &Sweep<'_>) -> &'a dyn World {
        let named = |world: &&&dyn World| sweep.world.is_none_or(|name| world.name() == name);
        *self.0.iter().find(named).expect("the caller gives every world that the file format knows")
    }
}

impl Sweep<'_> {
    /// How many runs it is.
    fn runs(&self) -> u64 {
        u64::from(self.scenario.runs) * self.scenario.cells.len() as u64
    }
}

impl Plan {
    /// Reads `file` in `mode`.
    ///
    /// # Errors
    /// The first thing that is wrong with the file, with the defaults or under a change.
    pub fn new(file: &PaperFile<'_>, mode: Mode, catalogue: &Catalogue<'_>) -> Result<Plan, ScenarioError> {
        let paper = file.read(mode, &[], catalogue)?;
        let mut branches = Vec::new();
        for (changes, wanted) in wanted(&paper, mode) {
            let changed = file.read(mode, &changes, catalogue)?;
            let branches_of =
                wanted.into_iter().filter_map(|(base, judged)| Branch::of(&changed, &changes, base, judged));
            branches.extend(branches_of);
        }
        Ok(Plan { paper, mode, branches })
    }

    /// The experiments that are run as they are: under mutations none.
    pub(super) fn experiments(&self) -> &[Experiment] {
        if self.mode.mutations { &[] } else { &self.paper.experiments }
    }

    /// Everything to run, in the order in which a judgement wants the results: the experiments with the defaults,
    /// then for each branch what its claims look at.
    pub fn sweeps(&self) -> Vec<Sweep<'_>> {
        let mut sweeps = Vec::new();
        for experiment in self.experiments() {
            sweeps.push(Sweep { branch: None, scenario: &experiment.scenario, world: experiment.world.as_deref() });
        }
        for branch in &self.branches {
            for ((scenario, _), experiment) in branch.restricted.iter().zip(&self.paper.experiments) {
                sweeps.push(Sweep { branch: Some(&branch.name), scenario, world: experiment.world.as_deref() });
            }
        }
        sweeps
    }

    /// How many runs there are in all.
    pub fn runs(&self) -> u64 {
        self.sweeps().iter().map(Sweep::runs).sum()
    }

    /// The tests that claims name: package and names. None where they are taken to pass.
    pub fn tests(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let checks = self.paper.claims.iter().filter_map(|claim| match &claim.subject {
            Subject::Checks(checks) => Some(checks),
            Subject::NotCheckable { .. } => None,
        });
        for check in checks.flatten().filter(|_| !self.mode.assumes_tests()) {
            if let Rule::Test { package, tests } = &check.rule {
                found.entry(package).or_default().extend(tests.iter().map(String::as_str));
            }
        }
        found
    }
}

/// By changes, and by set of seeds: the claims that are judged so besides with the defaults and the first seeds.
fn wanted(paper: &Paper, mode: Mode) -> BTreeMap<Vec<Change>, BTreeMap<u32, Vec<usize>>> {
    let mut wanted: BTreeMap<Vec<Change>, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    let mut want = |changes: Vec<Change>, base: u32, claim: usize| {
        wanted.entry(changes).or_default().entry(base).or_default().push(claim);
    };
    let judged = paper.claims.iter().enumerate();
    for (index, claim) in judged.filter(|(_, claim)| claim.is_measured() && mode.judges(claim)) {
        let with = claim.with.map(Change::Variant);
        if mode.mutations {
            if let Some(mutation) = claim.mutation {
                want(with.into_iter().chain([Change::Mutation(mutation)]).collect(), 0, index);
            }
            continue;
        }
        for base in 0..if mode.is_full() { paper.seed_bases } else { 1 } {
            if base > 0 {
                want(Vec::new(), base, index);
            }
            if let Some(variant) = with {
                want(vec![variant], base, index);
            }
        }
        let sensitivity = claim.sensitivity.iter().filter(|variant| mode.is_full() && claim.with != Some(**variant));
        sensitivity.for_each(|variant| want(vec![Change::Variant(*variant)], 0, index));
        for sweep in claim.sweeps.iter().filter(|_| mode.is_full()) {
            for step in 0..paper.sweeps[*sweep].steps.len() {
                want(with.into_iter().chain([Change::Step(*sweep, step)]).collect(), 0, index);
            }
        }
    }
    wanted
}

impl Branch {
    /// What `judged` look at in `paper`, which has `changes`, with a set of seeds; `None` if that is nothing.
    fn of(paper: &Paper, changes: &[Change], base: u32, judged: Vec<usize>) -> Option<Branch> {
        let needed: BTreeSet<CellRef> = judged.iter().flat_map(|claim| cells_of(&paper.claims[*claim])).collect();
        if needed.is_empty() {
            return None;
        }
        let of_experiment = |(at, experiment): (usize, &Experiment)| {
            let cells = needed.iter().filter(|cell| cell.experiment == at).map(|cell| cell.cell);
            let (scenario, places) = restrict(&experiment.scenario, cells);
            let seed = scenario.seed.wrapping_add(u64::from(base) * SEED_STEP);
            (Scenario { seed, ..scenario }, places)
        };
        let restricted = paper.experiments.iter().enumerate().map(of_experiment).collect();
        let seeds = (base > 0).then(|| format!("seeds-{}", base + 1));
        let names: Vec<String> = seeds.into_iter().chain(changes.iter().map(|change| paper.name_of(*change))).collect();
        let (changes, claims) = (changes.to_vec(), paper.claims.clone());
        Some(Branch { name: names.join("+"), changes, base, judged, claims, restricted })
    }
}

impl Paper {
    /// A change in a word that no other has.
    fn name_of(&self, change: Change) -> String {
        match change {
            Change::Variant(index) => self.variants[index].name.clone(),
            Change::Mutation(index) => format!("mutation-{}", self.mutations[index].name),
            Change::Step(sweep, step) => format!("sweep-{}-{}", self.sweeps[sweep].name, step + 1),
        }
    }
}

fn cells_of(claim: &Claim) -> Vec<CellRef> {
    match &claim.subject {
        Subject::NotCheckable { .. } => Vec::new(),
        Subject::Checks(checks) => {
            checks.iter().flat_map(|check| &check.points).flat_map(|point| point.cells.iter().copied()).collect()
        }
    }
}

/// The scenario with only `cells` and what they are compared with, and where each cell lies in it.
fn restrict(scenario: &Scenario, cells: impl Iterator<Item = usize>) -> (Scenario, Vec<Option<usize>>) {
    let mut kept: BTreeSet<usize> = cells.collect();
    let all = results::baselines(scenario);
    let baselines: Vec<usize> = kept.iter().filter_map(|cell| all[*cell]).collect();
    kept.extend(baselines);
    let mut places = vec![None; scenario.cells.len()];
    kept.iter().enumerate().for_each(|(place, cell)| places[*cell] = Some(place));
    let cells: Vec<Cell> = kept.iter().map(|cell| scenario.cells[*cell].clone()).collect();
    (Scenario { cells, ..scenario.clone() }, places)
}
