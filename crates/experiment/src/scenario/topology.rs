//! Which way packets go: the path with the fewest links and cells, the first in the file among equals.

use super::{LinkSpec, ResolvedScenario, WlanSpec};
use airtcp_link::LinkSettings;
use std::collections::VecDeque;

/// One link on a path, and whether it is passed from the first of its nodes to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Index of the link.
    pub link: usize,
    /// True from the first to the second.
    pub forward: bool,
}

impl Hop {
    /// The settings of the direction passed.
    pub fn settings(self, scenario: &ResolvedScenario) -> &LinkSettings {
        let link = &scenario.links[self.link];
        if self.forward { &link.forward } else { &link.reverse }
    }

    /// The direction by its full name, as its random streams are called.
    pub fn name(self, scenario: &ResolvedScenario) -> String {
        let direction = if self.forward { "forward" } else { "reverse" };
        format!("links.{}.{direction}", scenario.links[self.link].name)
    }

    /// The same link the other way.
    pub fn back(self) -> Hop {
        Hop { forward: !self.forward, ..self }
    }
}

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Over a link.
    Link(Hop),
    /// Within an 802.11 cell, by its index.
    Cell(usize),
}

impl Step {
    /// The link, unless the step is within a cell.
    pub fn link(self) -> Option<Hop> {
        if let Step::Link(hop) = self { Some(hop) } else { None }
    }
}

/// The paths through a scenario.
#[derive(Clone, Debug)]
pub struct Paths {
    /// From each node, in the order of the file: where a link or a cell leads.
    leads: Vec<Vec<(usize, Step)>>,
}

impl Paths {
    /// Those of a network with as many nodes.
    pub fn new(nodes: usize, links: &[LinkSpec], wlans: &[WlanSpec]) -> Paths {
        let mut leads = vec![Vec::new(); nodes];
        for (link, LinkSpec { between: [first, second], .. }) in links.iter().enumerate() {
            leads[*first].push((*second, Step::Link(Hop { link, forward: true })));
            leads[*second].push((*first, Step::Link(Hop { link, forward: false })));
        }
        for (cell, wlan) in wlans.iter().enumerate() {
            for station in &wlan.stations {
                leads[*station].push((wlan.ap, Step::Cell(cell)));
                leads[wlan.ap].push((*station, Step::Cell(cell)));
            }
        }
        Paths { leads }
    }

    /// The steps from one node to another; `None` if they are not connected.
    pub fn between(&self, from: usize, to: usize) -> Option<Vec<Step>> {
        let mut reached: Vec<Option<(usize, Step)>> = vec![None; self.leads.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for (next, step) in &self.leads[node] {
                if *next != from && reached[*next].is_none() {
                    reached[*next] = Some((node, *step));
                    queue.push_back(*next);
                }
            }
        }
        let mut steps = Vec::new();
        let mut node = to;
        while node != from {
            let (before, step) = reached[node]?;
            steps.push(step);
            node = before;
        }
        steps.reverse();
        Some(steps)
    }
}

/// The nodes of a scenario and what connects them.
pub(super) struct Network<'a> {
    pub nodes: &'a [String],
    pub links: &'a [LinkSpec],
    pub wlans: &'a [WlanSpec],
    pub paths: Paths,
}

impl<'a> Network<'a> {
    pub fn new(nodes: &'a [String], links: &'a [LinkSpec], wlans: &'a [WlanSpec]) -> Self {
        Network { nodes, links, wlans, paths: Paths::new(nodes.len(), links, wlans) }
    }

    /// The longest packet that passes from one node to another, and what passes no longer ones; `None` if nothing
    /// leads there.
    pub fn narrowest(&self, from: usize, to: usize) -> Option<(u32, &str)> {
        let mtu = |step: &Step| match *step {
            Step::Link(Hop { link, forward: true }) => (self.links[link].forward.mtu, &*self.links[link].name),
            Step::Link(Hop { link, forward: false }) => (self.links[link].reverse.mtu, &*self.links[link].name),
            Step::Cell(cell) => (self.wlans[cell].settings.mtu, &*self.wlans[cell].name),
        };
        Some(self.paths.between(from, to)?.iter().map(mtu).min_by_key(|(mtu, _)| *mtu).unwrap_or((u32::MAX, "")))
    }

    /// True if links lead from one node to the other.
    pub fn connects(&self, from: usize, to: usize) -> bool {
        self.paths.between(from, to).is_some()
    }
}
