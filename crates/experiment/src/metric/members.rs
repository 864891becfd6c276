//! Who belongs to a family of metrics: in a file, where names are checked before anything has run, and in a run.

use super::Run;
use crate::catalogue::Catalogue;
use crate::world::RunOutcome;
use airtcp_tcp::congestion::ControllerChoice;
use indexmap::IndexSet;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What the members of a family are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// The metric is no family.
    None,
    /// Flows of the scenario.
    Flows,
    /// Groups of flows, which are written out as many.
    Groups,
    /// Probes of the scenario.
    Probes,
    /// Workloads of the scenario.
    Workloads,
    /// What schemes count.
    SchemeCounters,
    /// What congestion controllers count.
    ControllerCounters,
    /// The same without what a controller counts first, of which the others are a share.
    ControllerShares,
    /// What the flows' sockets count.
    ControlCounters,
}

/// The names that a file may use.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// Schemes and controllers.
    pub catalogue: &'a Catalogue<'a>,
    /// Flows of the file.
    pub flows: &'a [String],
    /// Probes of the file.
    pub probes: &'a [String],
    /// Workloads of the file.
    pub workloads: &'a [String],
}

impl Members {
    /// Members that a file may name. A metric that is no family has one without a name.
    pub fn in_file(self, names: &Names<'_>) -> Vec<String> {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        match self {
            Members::None => vec![String::new()],
            Members::Flows | Members::Groups => names.flows.to_vec(),
            Members::Probes => names.probes.to_vec(),
            Members::Workloads => names.workloads.to_vec(),
            Members::SchemeCounters => owned(airtcp_schemes::labels(names.catalogue.schemes)),
            Members::ControllerCounters => of_controllers(names.catalogue, 0),
            Members::ControllerShares => of_controllers(names.catalogue, 1),
            Members::ControlCounters => {
                let counters = names.catalogue.sockets.iter().flat_map(|socket| socket.counters);
                let labels: BTreeSet<&str> = counters.map(|counter| counter.label()).collect();
                owned(labels.into_iter().collect())
            }
        }
    }

    /// Members of a run, each once. A metric that is no family has one without a name.
    pub fn in_run(self, run: &RunOutcome) -> Cow<'_, [&str]> {
        let flows = || run.flows.iter();
        let found: Vec<&str> = match self {
            Members::None => return Cow::Borrowed(&[""]),
            Members::Flows => flows().map(|flow| flow.name.as_str()).collect(),
            Members::Groups => {
                flows().filter_map(|flow| group_of(&flow.name)).collect::<BTreeSet<_>>().into_iter().collect()
            }
            Members::Probes => run.probes.iter().map(|probe| probe.name.as_str()).collect(),
            Members::Workloads => run.workloads.iter().map(|workload| workload.name.as_str()).collect(),
            Members::SchemeCounters => once(run.schemes.iter().flat_map(|scheme| scheme.counters.keys())),
            Members::ControllerCounters => once(controller_counters(run)),
            Members::ControllerShares => {
                let is_first =
                    |name: &String| flows().any(|flow| flow.controller.first().is_some_and(|(first, _)| first == name));
                once(controller_counters(run).filter(|name| !is_first(name)))
            }
            Members::ControlCounters => once(flows().flat_map(|flow| &flow.control).map(|(name, _)| name)),
        };
        Cow::Owned(found)
    }

    /// Members that any of `runs` has, each once, in the order in which they come first.
    pub(crate) fn in_runs<'a>(self, runs: &[Run<'a>]) -> Cow<'a, [&'a str]> {
        match runs {
            [] => Cow::Borrowed(&[]),
            [run, ..] if self == Members::None || runs.len() == 1 => self.in_run(run.outcome),
            _ => {
                let found: Vec<Cow<'a, [&'a str]>> = runs.iter().map(|run| self.in_run(run.outcome)).collect();
                let all: IndexSet<&str> = found.iter().flat_map(|members| members.iter().copied()).collect();
                all.into_iter().collect()
            }
        }
    }
}

/// The group that a flow was written out of by its name: NAME of NAME1, NAME2, …
pub(super) fn group_of(flow: &str) -> Option<&str> {
    let group = flow.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (!group.is_empty() && group != flow).then_some(group)
}

fn controller_counters(run: &RunOutcome) -> impl Iterator<Item = &String> {
    run.flows.iter().flat_map(|flow| &flow.controller).map(|(name, _)| name)
}

/// What controllers count, without the first `skip` counters of each.
fn of_controllers(catalogue: &Catalogue<'_>, skip: usize) -> Vec<String> {
    let mut names = BTreeSet::new();
    for entry in catalogue.controllers {
        let mut place = 0;
        ControllerChoice::from(*entry).build().get_info(&mut |counter, _| {
            if place >= skip {
                names.insert(counter.to_owned());
            }
            place += 1;
        });
    }
    names.into_iter().collect()
}

/// Each name once, in the order in which they come first.
fn once<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    names.map(String::as_str).collect::<IndexSet<&str>>().into_iter().collect()
}
