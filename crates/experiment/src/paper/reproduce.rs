//! The verdicts on all claims of a paper that was run.

use super::change::Change;
use super::judge::{Evidence, Judgement, TestRuns, judge, over_bases, with_variant};
use super::plan::{Plan, Worlds};
use super::tally::Tally;
use super::{Claim, Verdict};
use crate::results::{self, Estimate, Observer, Results, RunOptions};

/// A paper that was run.
pub struct Reproduction<'a> {
    /// What was run.
    pub plan: &'a Plan,
    /// One per experiment, with the defaults; none under mutations.
    pub results: Vec<Results<'a>>,
    /// One per claim.
    pub claims: Vec<JudgedClaim>,
}

/// A claim with everything that is known of it.
pub struct JudgedClaim {
    /// With the defaults and the first seeds; under mutations, with the mechanism switched off.
    pub judgement: Judgement,
    /// After the variant that it is said to need, of all sets of seeds.
    pub verdict: Verdict,
    /// What each set of seeds says, after that variant, and its number with the defaults.
    pub bases: Vec<(Verdict, Option<Estimate>)>,
    /// Variant (its index in the paper) and the judgement under it, with the first seeds.
    pub sensitivity: Vec<(usize, Judgement)>,
    /// Sweep (its index in the paper) and the judgement in each of its settings, with the first seeds.
    pub sweeps: Vec<(usize, Vec<Judgement>)>,
    /// It holds although it must not: in the control a comparative claim, under its mutation any.
    pub is_vacuous: bool,
}

/// A judgement on other cells than those of the defaults and the first seeds.
struct Aside<'a> {
    claim: usize,
    changes: &'a [Change],
    base: u32,
    judgement: Judgement,
}

impl Plan {
    /// Runs everything but tests, and judges.
    ///
    /// # Panics
    /// See [`Worlds::of`].
    pub fn run(&self, worlds: Worlds<'_>, options: RunOptions, observer: &mut dyn Observer) -> Reproduction<'_> {
        let sweeps = self.sweeps();
        let results = sweeps.iter().map(|sweep| results::run(sweep.scenario, worlds.of(sweep), options, observer));
        self.judge(results.collect(), &TestRuns::NONE)
    }

    /// Judges what [`Plan::sweeps`] gave and what became of [`Plan::tests`].
    pub fn judge<'a>(&'a self, results: Vec<Results<'a>>, tests: &TestRuns) -> Reproduction<'a> {
        let tests = if self.mode.assumes_tests() { &TestRuns::Assumed } else { tests };
        let mut results = results.into_iter();
        let own: Vec<Results<'a>> = results.by_ref().take(self.experiments().len()).collect();
        let evidence = Evidence { places: vec![Vec::new(); own.len()], results: own, tests };
        let mut asides = Vec::new();
        for branch in &self.branches {
            let results = results.by_ref().take(branch.restricted.len()).collect();
            let places = branch.restricted.iter().map(|(_, place)| place.clone()).collect();
            let evidence = Evidence { results, places, tests };
            asides.extend(branch.judged.iter().map(|claim| Aside {
                claim: *claim,
                changes: &branch.changes,
                base: branch.base,
                judgement: judge(&branch.claims[*claim], &evidence),
            }));
        }
        let close = |(index, claim): (usize, &Claim)| {
            let asides: Vec<&Aside<'_>> = asides.iter().filter(|aside| aside.claim == index).collect();
            if self.mode.mutations { self.mutated(claim, &asides) } else { self.close(claim, &evidence, &asides) }
        };
        let claims = self.paper.claims.iter().enumerate().map(close).collect();
        Reproduction { plan: self, results: evidence.results, claims }
    }

    fn close(&self, claim: &Claim, evidence: &Evidence<'_, '_>, asides: &[&Aside<'_>]) -> JudgedClaim {
        if let Some(why) = claim.not_quick.as_ref().filter(|_| !self.mode.judges(claim)) {
            return JudgedClaim::without_runs(Verdict::NotJudged("quick".into()), why);
        }
        let judgement = judge(claim, evidence);
        let variants = |base: u32| {
            asides.iter().filter_map(move |aside| match aside.changes {
                [Change::Variant(index)] if aside.base == base => Some((*index, &aside.judgement)),
                _ => None,
            })
        };
        let others = asides.iter().filter(|aside| aside.changes.is_empty());
        let all = std::iter::once((0, &judgement)).chain(others.map(|aside| (aside.base, &aside.judgement)));
        let of_base = |(base, judged): (u32, &Judgement)| {
            let with = variants(base).find(|(index, _)| claim.with == Some(*index));
            let with = with.map(|(index, judged)| (self.paper.variants[index].words(), &judged.verdict));
            (with_variant(&judged.verdict, with), judged.estimate)
        };
        let bases: Vec<(Verdict, Option<Estimate>)> = all.map(of_base).collect();
        let verdict = over_bases(&bases.iter().map(|(verdict, _)| verdict.clone()).collect::<Vec<_>>());
        let is_vacuous = self.mode.control && claim.comparative && verdict.is_favourable();
        let sensitivity = variants(0).map(|(index, judged)| (index, judged.clone())).collect();
        let sweeps = claim.sweeps.iter().map(|sweep| (*sweep, steps(*sweep, asides))).collect();
        JudgedClaim { judgement, verdict, bases, sensitivity, sweeps, is_vacuous }
    }

    /// What a claim is with its mechanism switched off.
    fn mutated(&self, claim: &Claim, asides: &[&Aside<'_>]) -> JudgedClaim {
        if !self.mode.judges(claim) {
            let why = claim.not_quick.as_deref().unwrap_or_default();
            return JudgedClaim::without_runs(Verdict::NotJudged("quick".into()), why);
        }
        if let Some(Aside { judgement, .. }) = asides.first() {
            let is_vacuous = judgement.verdict == Verdict::Holds && claim.mutation_explained.is_none();
            let (verdict, bases) = (judgement.verdict.clone(), Vec::new());
            let (sensitivity, sweeps) = (Vec::new(), Vec::new());
            return JudgedClaim { judgement: judgement.clone(), verdict, bases, sensitivity, sweeps, is_vacuous };
        }
        let why = if claim.mutation_explained.is_some() { "explained" } else { "not comparative" };
        JudgedClaim::without_runs(Verdict::NotJudged(why.into()), claim.mutation_explained.as_deref().unwrap_or(""))
    }
}

/// The judgements in the settings of `sweep`, in their order.
fn steps(sweep: usize, asides: &[&Aside<'_>]) -> Vec<Judgement> {
    let step = |aside: &&&Aside<'_>| match aside.changes.last() {
        Some(Change::Step(index, step)) if *index == sweep => Some(*step),
        _ => None,
    };
    let mut found: Vec<&&Aside<'_>> = asides.iter().filter(|aside| step(aside).is_some()).collect();
    found.sort_by_key(step);
    found.into_iter().map(|aside| aside.judgement.clone()).collect()
}

impl JudgedClaim {
    fn without_runs(verdict: Verdict, reason: &str) -> JudgedClaim {
        let judgement =
            Judgement { verdict: verdict.clone(), estimate: None, reason: reason.to_owned(), checks: Vec::new() };
        let (bases, sensitivity, sweeps) = (Vec::new(), Vec::new(), Vec::new());
        JudgedClaim { judgement, verdict, bases, sensitivity, sweeps, is_vacuous: false }
    }

    /// In how many of the settings of its sweeps it holds, and how many there are; `None` without a sweep, and where a
    /// printed number is all there is.
    pub fn share_of_settings(&self) -> Option<(usize, usize)> {
        self.sweeps.iter().map(|(_, steps)| share_that_holds(steps)).reduce(|a, b| {
            let ((holds, all), (more, others)) = (a?, b?);
            Some((holds + more, all + others))
        })?
    }
}

/// How many of these hold, and how many there are; `None` for none, and where a printed number is all there is.
pub fn share_that_holds(steps: &[Judgement]) -> Option<(usize, usize)> {
    let is_beside = steps.iter().any(|step| step.verdict == Verdict::Beside);
    let holding = steps.iter().filter(|step| step.verdict == Verdict::Holds).count();
    (!steps.is_empty() && !is_beside).then_some((holding, steps.len()))
}

impl Reproduction<'_> {
    /// Ids of claims that hold although they must not.
    pub fn vacuous(&self) -> Vec<&str> {
        let judged = self.plan.paper.claims.iter().zip(&self.claims);
        judged.filter(|(_, judged)| judged.is_vacuous).map(|(claim, _)| claim.id.as_str()).collect()
    }

    /// What came out, counted.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        let judged = self.plan.paper.claims.iter().zip(&self.claims);
        judged.for_each(|(claim, judged)| tally.add(claim.basis(), judged.verdict.word()));
        tally
    }

    /// A sentence for each thing that went wrong while running.
    pub fn failures(&self) -> Vec<String> {
        self.results.iter().flat_map(Results::failures).collect()
    }
}
