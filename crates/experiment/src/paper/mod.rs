//! Papers as data: experiments, and what the paper claims of them, each claim with the check that decides it.
//!
//! [`file`](PaperFile) reads `papers/<slug>/paper.toml`, [`check`] says which cells a claim is judged on and by which
//! rule, [`decide`] holds the rules as functions of numbers, [`judge`] puts a verdict together, [`mod@reproduce`] runs
//! everything, [`resume`] keeps what was run, [`output`] writes it down. Checks are a closed set and never an expression language: what a claim means
//! is decided in code that is tested on both sides of each threshold. `docs/papers.md` states every rule.

pub mod built_in;
pub mod check;
pub mod decide;
pub mod judge;
pub(crate) mod number;
pub mod output;
mod read;
pub mod reproduce;
pub mod resume;
mod selection;

pub use check::{Check, KINDS as CHECK_KINDS};
pub use judge::{Judgement, Verdict};
pub use read::{CLAIM_KEYS, EXPERIMENT_KEYS, PAPER_KEYS, PaperFile, VARIANT_KEYS};
pub use reproduce::{Plan, Reproduction, Worlds};

use crate::scenario::Scenario;

/// How a paper is to be reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// With the overrides of `[quick]`, and without variants.
    pub quick: bool,
    /// Every scheme replaced by plain forwarding.
    pub control: bool,
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
    /// In the order of the file.
    pub experiments: Vec<Experiment>,
    /// In the order of the file.
    pub variants: Vec<Variant>,
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
    /// Item of the specification: `GSN-U3`.
    pub item: String,
    /// One sentence.
    pub about: String,
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
    /// Items the paper leaves open that the outcome may depend on.
    pub leans_on: Vec<String>,
    /// Indices of the variants it is judged under again.
    pub sensitivity: Vec<usize>,
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
