//! Papers as data: experiments, and what the paper claims of them, each claim with the check that decides it.
//!
//! [`file`](PaperFile) reads `papers/<slug>/paper.toml`, [`check`] says which cells a claim is judged on and by which
//! rule, [`decide`] holds the rules as functions of numbers, [`mod@plan`] says what to run, [`judge`] puts a verdict
//! together, [`mod@reproduce`] all verdicts of a paper, [`resume`] keeps what was run, [`output`] writes it down. Checks
//! are a closed set and never an expression language: what a claim means is decided in code that is tested on both sides
//! of each threshold. `docs/papers.md` states every rule.

pub mod built_in;
mod change;
pub mod check;
mod claim;
pub mod decide;
pub mod judge;
mod keys;
pub(crate) mod number;
pub mod output;
pub mod plan;
mod read;
pub mod reproduce;
pub mod resume;
mod selection;
pub mod tally;
pub mod verdicts;

pub use change::Change;
pub use check::{Check, KINDS as CHECK_KINDS};
pub use judge::{Judgement, TestRuns, Verdict};
pub use keys::{CLAIM_KEYS, EXPERIMENT_KEYS, MUTATION_KEYS, PAPER_KEYS, SWEEP_KEYS, VARIANT_KEYS};
pub use plan::{Plan, Worlds};
pub use read::PaperFile;
pub use reproduce::Reproduction;

use crate::scenario::Scenario;

/// How a paper is to be reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// With the overrides of `[quick]`, and without variants.
    pub quick: bool,
    /// Every scheme replaced by plain forwarding.
    pub control: bool,
    /// Each claim with its mechanism switched off, and nothing else.
    pub mutations: bool,
}

impl Mode {
    /// With variants, sweeps and all sets of seeds.
    pub fn is_full(self) -> bool {
        !self.quick && !self.control && !self.mutations
    }

    /// Tests are not run again, as what they show does not depend on the mode.
    fn assumes_tests(self) -> bool {
        self.control || self.mutations
    }

    /// Whether so many runs, of such a length, are enough for the claim.
    fn judges(self, claim: &Claim) -> bool {
        !self.quick || claim.not_quick.is_none()
    }
}

/// A paper, ready to run.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name of its folder, and of the scheme.
    pub slug: String,
    /// As printed.
    pub title: String,
    /// Authors, venue, year.
    pub citation: String,
    /// How many sets of seeds a verdict is made from.
    pub seed_bases: u32,
    /// In the order of the file.
    pub experiments: Vec<Experiment>,
    /// In the order of the file.
    pub variants: Vec<Variant>,
    /// In the order of the file.
    pub mutations: Vec<Mutation>,
    /// In the order of the file.
    pub sweeps: Vec<SettingSweep>,
    /// In the order of the file.
    pub claims: Vec<Claim>,
    /// Of everything that decides the outcome; eight hexadecimal digits.
    pub hash: String,
}

/// One set-up of the paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name in the file: `e1`.
    pub id: String,
    /// What to run.
    pub scenario: Scenario,
    /// Where, by the world's name; the first world there is if the file does not say.
    pub world: Option<String>,
}

/// Another setting of something that the paper leaves open, under which claims are judged again.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Name in the file.
    pub name: String,
    /// Item of the specification, `GSN-U3`; `ours` where it is our addition.
    pub item: String,
    /// One sentence.
    pub about: String,
}

impl Variant {
    /// What a verdict that needs it says: its name, and the item.
    pub fn words(&self) -> String {
        format!("{} ({})", self.name, self.item)
    }
}

/// The mechanism of the scheme switched off, under which a comparative claim must not hold.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// Name in the file.
    pub name: String,
    /// What is switched off, one sentence.
    pub about: String,
}

/// Values of a setting that had to be chosen, under each of which claims are judged again.
#[derive(Clone, Debug)]
pub struct SettingSweep {
    /// Name in the file.
    pub name: String,
    /// What is swept, one sentence.
    pub about: String,
    /// Label of each setting, in the order of the file.
    pub steps: Vec<String>,
}

airtcp_core::choices! {
    /// What sort of statement a claim is.
    pub enum ClaimKind {
        /// A printed number. Never pass or fail by itself: ours stands beside it.
        Exact = "exact",
        /// A direction or an ordering.
        Trend = "trend",
        /// Follows from a formula.
        Analytic = "analytic",
        /// A property, shown by a test.
        Design = "design",
    }
}

/// Something the paper says.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Item of the specification: `GSN-C1`.
    pub id: String,
    /// What the paper claims, in our words.
    pub sentence: String,
    /// Sort of statement.
    pub kind: ClaimKind,
    /// True if it must not hold without the scheme.
    pub comparative: bool,
    /// Index of the mutation under which it must not hold.
    pub mutation: Option<usize>,
    /// Why it holds under its mutation, or has none.
    pub mutation_explained: Option<String>,
    /// Items the paper leaves open that the outcome may depend on.
    pub leans_on: Vec<String>,
    /// Index of the variant it is said to need.
    pub with: Option<usize>,
    /// Indices of the variants it is judged under again.
    pub sensitivity: Vec<usize>,
    /// Indices of the sweeps it is judged under.
    pub sweeps: Vec<usize>,
    /// Why few and short runs cannot judge it.
    pub not_quick: Option<String>,
    /// What decides it.
    pub subject: Subject,
}

/// What decides a claim.
#[derive(Clone, Debug)]
pub enum Subject {
    /// All of these have to hold.
    Checks(Vec<Check>),
    /// It cannot be checked here.
    NotCheckable {
        /// The item that makes it so.
        item: String,
        /// Why, one sentence.
        reason: String,
    },
}

airtcp_core::choices! {
    /// What a verdict rests on; the tally counts them apart.
    pub enum Basis {
        /// Runs.
        Measured = "measured",
        /// A formula.
        Analytic = "analytic",
        /// Tests of the repository.
        Test = "test",
        /// Nothing: our number stands beside a printed one.
        Printed = "printed number",
        /// It cannot be checked here.
        Nothing = "nothing",
    }
}

impl Claim {
    /// What its verdict rests on: runs, if any check that decides needs them.
    pub fn basis(&self) -> Basis {
        let Subject::Checks(checks) = &self.subject else { return Basis::Nothing };
        let deciding = || checks.iter().filter(|check| check.decides);
        if deciding().next().is_none() || self.kind == ClaimKind::Exact && checks.iter().any(|c| c.printed.is_some()) {
            return Basis::Printed;
        }
        let is_measured = |check: &Check| !check.points.is_empty();
        let is_test = |check: &Check| matches!(check.rule, check::Rule::Test { .. });
        match (deciding().any(is_measured), deciding().any(is_test)) {
            (true, _) => Basis::Measured,
            (false, true) => Basis::Test,
            (false, false) => Basis::Analytic,
        }
    }

    /// Whether any of its checks needs runs.
    pub fn is_measured(&self) -> bool {
        matches!(&self.subject, Subject::Checks(checks) if checks.iter().any(|check| !check.points.is_empty()))
    }
}
