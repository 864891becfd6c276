//! Every metric: its name, what it means, how one run tells it, and how the runs become the value of a cell.
//!
//! [`all()`] is the only place that knows them. The summary, claims, tables, figures, `metrics.parquet`,
//! `airtcp show metrics` and the section of docs/results.md are made from it, so a new metric is one entry here.
//! A name with `<…>` in it stands for a family whose members come from the run: counters of a scheme, flows, probes.

mod controller;
mod datagram;
mod dynamics;
mod flow;
mod level;
mod members;
mod probe;
mod queue;
pub(crate) mod rates;
mod sender;
mod table;
mod unit;
mod wlan;
mod workload;

pub use members::{Members, Names};
pub use unit::Unit;

use crate::catalogue::Catalogue;
use crate::scenario::ResolvedScenario;
use crate::world::RunOutcome;
use std::borrow::Cow;

/// One metric, or a family of them.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in files; `scheme.<counter>` for a family.
    pub name: &'static str,
    /// Heading in tables; `*` stands for the member of a family.
    pub title: &'static str,
    /// How people read it.
    pub unit: Unit,
    /// What it means.
    pub about: &'static str,
    /// Its value in one run, in base units (bit/s, ns, bytes, packets); `None` if the run does not tell. The second
    /// argument is the member of a family, else the metric's own name.
    pub per_run: PerRun,
    /// How the runs become the value of a cell.
    pub combine: Combine,
    /// Who the members of the family are.
    pub members: Members,
}

/// See [`Metric::per_run`].
pub type PerRun = fn(&Run<'_>, &str) -> Option<f64>;

/// How the runs of a cell become its value. Unless said otherwise there is one only if every run tells the metric.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    /// A plain number: the median, rounded down.
    Count,
    /// The same, left out of the summary unless this holds for a run.
    CountIf(fn(&RunOutcome) -> bool),
    /// Median and interval, rounded to whole numbers.
    Whole,
    /// The same with the value of each run. Runs that do not tell the metric are left out.
    WholeWithRuns,
    /// Median and interval with so many decimals.
    Decimals(i32),
    /// The same; `null` if a run does not tell the metric.
    Ratio(i32),
    /// Ratio to the run of the baseline with the same seed, with three decimals and the baseline's labels. Runs whose
    /// baseline got nothing are left out; `null` without a baseline.
    OverBaseline,
}

/// One run, with what metrics compare it to.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The cell that was run.
    pub scenario: &'a ResolvedScenario,
    /// What came out.
    pub outcome: &'a RunOutcome,
    /// The cell's ceiling in bit/s, if it has one.
    pub ceiling_bps: Option<f64>,
    /// The baseline's run with the same seed.
    pub baseline: Option<&'a RunOutcome>,
}

/// All metrics, family by family, in the order of `summary.json`.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    [
        flow::METRICS,
        sender::METRICS,
        queue::METRICS,
        queue::WAITS,
        probe::METRICS,
        workload::METRICS,
        flow::STALLS,
        dynamics::METRICS,
        dynamics::CONVERGENCE,
        datagram::METRICS,
        flow::BY_ITSELF,
        datagram::BY_ITSELF,
        flow::OF_GROUPS,
        controller::OF_SCHEMES,
        controller::METRICS,
        controller::SHARES,
        controller::OF_SOCKETS,
        wlan::METRICS,
    ]
    .into_iter()
    .flatten()
}

/// Every name that a file may write, but for those of single flows and probes.
pub fn names(catalogue: &Catalogue<'_>) -> Vec<String> {
    names_in(&Names { catalogue, flows: &[], probes: &[], workloads: &[] })
}

/// Every name that a file with these flows and probes may write.
pub fn names_in(names: &Names<'_>) -> Vec<String> {
    all()
        .flat_map(|metric| metric.members.in_file(names).into_iter().map(|member| metric.named(&member).into_owned()))
        .collect()
}

/// The metric called `name` in a file, with the member if it is one of a family.
pub fn find(name: &str) -> Option<(&'static Metric, &str)> {
    let found = all().filter_map(|metric| Some((metric, metric.member_in(name)?)));
    // `controller.<counter>_share` fits better than `controller.<counter>`.
    found.min_by_key(|(metric, member)| if metric.is_family() { member.len() } else { 0 })
}

/// Title and unit of what is called `name` in a file: a metric, or a level over time.
pub fn title_and_unit(name: &str) -> (String, Unit) {
    match find(name) {
        Some((metric, member)) => (metric.title_of(member), metric.unit),
        None => level::title_and_unit(name),
    }
}

impl Metric {
    /// What stands before and behind the member in the name of a family.
    fn around_member(&self) -> Option<(&'static str, &'static str)> {
        if !self.is_family() {
            return None;
        }
        let (before, rest) = self.name.split_once('<')?;
        Some((before, rest.split_once('>')?.1))
    }

    /// The member that `name` means, or all of `name` if the metric is no family; `None` if `name` is another metric.
    fn member_in<'a>(&self, name: &'a str) -> Option<&'a str> {
        match self.around_member() {
            Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after).filter(|member| !member.is_empty()),
            None => (self.name == name).then_some(name),
        }
    }

    /// The full name of the metric of `member`.
    pub fn named(&self, member: &str) -> Cow<'static, str> {
        match self.around_member() {
            Some((before, after)) => [before, member, after].concat().into(),
            None => self.name.into(),
        }
    }

    /// The metric of `member` in one run.
    pub fn of(&self, run: &Run<'_>, member: &str) -> Option<f64> {
        (self.per_run)(run, if self.is_family() { member } else { self.name })
    }

    /// True for a family.
    pub fn is_family(&self) -> bool {
        self.members != Members::None
    }

    /// The heading of the metric of `member`.
    pub fn title_of(&self, member: &str) -> String {
        self.title.replace('*', member).replace('_', " ")
    }
}
