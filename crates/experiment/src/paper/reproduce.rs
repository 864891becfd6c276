//! Runs a paper and judges its claims, with the defaults and under each variant a claim asks for.
//!
//! Of a variant only the cells are run that the claims judged under it look at.

use super::judge::{Evidence, Judgement, judge, with_variants};
use super::selection::CellRef;
use super::{Claim, Mode, Paper, PaperFile, Subject, Verdict};
use crate::catalogue::Catalogue;
use crate::results::{self, Observer, Results, RunOptions, baseline_of};
use crate::scenario::{Cell, Scenario, ScenarioError};
use crate::world::World;
use std::collections::BTreeSet;

/// Everything that is to be run.
pub struct Plan {
    /// With the defaults.
    pub paper: Paper,
    /// How.
    pub mode: Mode,
    /// In the order of the paper's variants, those that a claim asks for.
    variants: Vec<PlannedVariant>,
}

struct PlannedVariant {
    /// Index in the paper.
    index: usize,
    paper: Paper,
    /// One per experiment: the cells to run, and where each cell of the experiment lies among them.
    restricted: Vec<(Scenario, Vec<Option<usize>>)>,
}

/// One scenario of a plan.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// Name of the variant; none with the defaults.
    pub variant: Option<&'a str>,
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

/// A paper that was run.
pub struct Reproduction<'a> {
    /// What was run.
    pub plan: &'a Plan,
    /// One per experiment, with the defaults.
    pub results: Vec<Results<'a>>,
    /// One per claim.
    pub claims: Vec<JudgedClaim>,
}

/// A claim with everything that is known of it.
pub struct JudgedClaim {
    /// With the defaults.
    pub judgement: Judgement,
    /// After the variants.
    pub verdict: Verdict,
    /// Variant (its index in the paper) and the judgement under it; none in quick and control mode.
    pub sensitivity: Vec<(usize, Judgement)>,
    /// It is comparative, and holds although there was no scheme.
    pub is_vacuous: bool,
}

impl Plan {
    /// Reads `file` in `mode`.
    ///
    /// # Errors
    /// The first thing that is wrong with the file, with the defaults or under a variant.
    pub fn new(file: &PaperFile<'_>, mode: Mode, catalogue: &Catalogue<'_>) -> Result<Plan, ScenarioError> {
        let paper = file.read(mode, None, catalogue)?;
        let mut variants = Vec::new();
        if !mode.quick && !mode.control {
            for (index, variant) in paper.variants.iter().enumerate() {
                let varied = file.read(mode, Some(&variant.name), catalogue)?;
                let judged = varied.claims.iter().filter(|claim| claim.sensitivity.contains(&index));
                let needed: BTreeSet<CellRef> = judged.flat_map(cells_of).collect();
                if !needed.is_empty() {
                    let restrict = |(at, experiment): (usize, &super::Experiment)| {
                        let cells = needed.iter().filter(|cell| cell.experiment == at).map(|cell| cell.cell);
                        restrict(&experiment.scenario, cells)
                    };
                    let restricted = varied.experiments.iter().enumerate().map(restrict).collect();
                    variants.push(PlannedVariant { index, paper: varied, restricted });
                }
            }
        }
        Ok(Plan { paper, mode, variants })
    }

    /// Everything to run, in the order in which [`Plan::judge`] wants the results: the experiments with the defaults,
    /// then for each variant what its claims look at.
    pub fn sweeps(&self) -> Vec<Sweep<'_>> {
        let worlds = || self.paper.experiments.iter().map(|experiment| experiment.world.as_deref());
        let of_paper = self.paper.experiments.iter().map(|experiment| (None, &experiment.scenario)).zip(worlds());
        let of_variants = self.variants.iter().flat_map(|variant| {
            let name = self.paper.variants[variant.index].name.as_str();
            variant.restricted.iter().map(move |(scenario, _)| (Some(name), scenario)).zip(worlds())
        });
        let sweep = |((variant, scenario), world)| Sweep { variant, scenario, world };
        of_paper.chain(of_variants).map(sweep).collect()
    }

    /// How many runs there are in all.
    pub fn runs(&self) -> u64 {
        self.sweeps().iter().map(Sweep::runs).sum()
    }

    /// Runs everything and judges.
    ///
    /// # Panics
    /// See [`Worlds::of`].
    pub fn run(&self, worlds: Worlds<'_>, options: RunOptions, observer: &mut dyn Observer) -> Reproduction<'_> {
        let sweeps = self.sweeps();
        let results = sweeps.iter().map(|sweep| results::run(sweep.scenario, worlds.of(sweep), options, observer));
        self.judge(results.collect())
    }

    /// Judges what [`Plan::sweeps`] gave.
    pub fn judge<'a>(&'a self, results: Vec<Results<'a>>) -> Reproduction<'a> {
        let mut results = results.into_iter();
        let evidence = Evidence::complete(results.by_ref().take(self.paper.experiments.len()).collect());
        let judgements: Vec<Judgement> = self.paper.claims.iter().map(|claim| judge(claim, &evidence)).collect();
        let mut sensitivity: Vec<Vec<(usize, Judgement)>> = vec![Vec::new(); judgements.len()];
        for variant in &self.variants {
            let varied = results.by_ref().take(variant.restricted.len()).collect();
            let places = variant.restricted.iter().map(|(_, place)| place.clone()).collect();
            let evidence = Evidence { results: varied, places };
            for (claim, judged) in variant.paper.claims.iter().zip(&mut sensitivity) {
                if claim.sensitivity.contains(&variant.index) {
                    judged.push((variant.index, judge(claim, &evidence)));
                }
            }
        }
        let claims = self.paper.claims.iter().zip(judgements).zip(sensitivity);
        let claims =
            claims.map(|((claim, judgement), sensitivity)| self.close(claim, judgement, sensitivity)).collect();
        Reproduction { plan: self, results: evidence.results, claims }
    }

    fn close(&self, claim: &Claim, judgement: Judgement, sensitivity: Vec<(usize, Judgement)>) -> JudgedClaim {
        let items = sensitivity.iter().map(|(index, judged)| (&*self.paper.variants[*index].item, &judged.verdict));
        let verdict = with_variants(&judgement.verdict, items);
        let is_vacuous = self.mode.control && claim.comparative && verdict == Verdict::Holds;
        JudgedClaim { judgement, verdict, sensitivity, is_vacuous }
    }
}

impl Reproduction<'_> {
    /// Ids of comparative claims that hold without the scheme.
    pub fn vacuous(&self) -> Vec<&str> {
        let judged = self.plan.paper.claims.iter().zip(&self.claims);
        judged.filter(|(_, judged)| judged.is_vacuous).map(|(claim, _)| claim.id.as_str()).collect()
    }

    /// A sentence for each thing that went wrong while running.
    pub fn failures(&self) -> Vec<String> {
        self.results.iter().flat_map(Results::failures).collect()
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
    let baselines: Vec<usize> = kept.iter().filter_map(|cell| baseline_of(scenario, *cell)).collect();
    kept.extend(baselines);
    let mut places = vec![None; scenario.cells.len()];
    kept.iter().enumerate().for_each(|(place, cell)| places[*cell] = Some(place));
    let cells: Vec<Cell> = kept.iter().map(|cell| scenario.cells[*cell].clone()).collect();
    (Scenario { cells, ..scenario.clone() }, places)
}
