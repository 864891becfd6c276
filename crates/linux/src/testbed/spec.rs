//! What a testbed consists of, and the check that it can be built.

use crate::emulator::EmulatorOptions;
use crate::sys::tun;
use airtcp_link::LinkSettings;

/// A graph of nodes and links.
#[derive(Clone, Debug)]
pub struct TestbedSpec {
    /// Nodes, each a network namespace.
    pub nodes: Vec<NodeSpec>,
    /// Links, each a pair of TUN devices and two emulated directions.
    pub links: Vec<LinkSpec>,
    /// Congestion controller that programs in the namespaces get when they choose none.
    pub default_controller: String,
    /// How the emulator runs.
    pub emulator: EmulatorOptions,
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// True if it forwards packets between its links.
    pub forwards: bool,
}

/// A link between two nodes.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name, also of its device at either end: at most 15 bytes.
    pub name: String,
    /// Its two nodes; "forward" is from the first to the second.
    pub between: [String; 2],
    /// What packets from the first to the second node meet.
    pub forward: LinkSettings,
    /// What packets from the second to the first node meet.
    pub reverse: LinkSettings,
}

impl LinkSpec {
    /// A link of the given name, ends and settings.
    pub fn new(name: &str, between: [&str; 2], forward: LinkSettings, reverse: LinkSettings) -> Self {
        LinkSpec { name: name.into(), between: between.map(str::to_string), forward, reverse }
    }
}

/// Why a testbed cannot be built as described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A name that cannot be used for a namespace or device.
    #[error("'{0}' cannot name a node or link: letters, digits, '-' and '_', at most 15 bytes")]
    BadName(String),
    /// Two nodes or two links of one name.
    #[error("the name '{0}' is used twice; names must differ")]
    Duplicate(String),
    /// A node that is not there.
    #[error("{place} names the node '{node}', which does not exist")]
    UnknownNode {
        /// The missing node.
        node: String,
        /// Where it is named.
        place: String,
    },
    /// A link whose parameters do not fit together.
    #[error("link '{link}': {message}")]
    Link {
        /// The link.
        link: String,
        /// What to change.
        message: String,
    },
    /// Both ends of a link at one node.
    #[error("link '{0}' has both ends at one node")]
    Loop(String),
    /// More nodes or links than there are addresses for.
    #[error("at most {limit} nodes and {limit} links are supported live")]
    TooMany {
        /// The bound.
        limit: usize,
    },
}

/// Most nodes, and most links: each has its own small address block.
const LIMIT: usize = 250;

impl TestbedSpec {
    /// Looks for everything that would stop half-way.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.nodes.len() > LIMIT || self.links.len() > LIMIT {
            return Err(SpecError::TooMany { limit: LIMIT });
        }
        let nodes = self.nodes.iter().map(|node| node.name.as_str());
        let links = self.links.iter().map(|link| link.name.as_str());
        check_names(nodes)?;
        check_names(links)?;
        for link in &self.links {
            for node in &link.between {
                if self.node_index(node).is_none() {
                    let place = format!("link '{}'", link.name);
                    return Err(SpecError::UnknownNode { node: node.clone(), place });
                }
            }
            for settings in [&link.forward, &link.reverse] {
                settings.check().map_err(|message| SpecError::Link { link: link.name.clone(), message })?;
            }
            if link.between[0] == link.between[1] {
                return Err(SpecError::Loop(link.name.clone()));
            }
        }
        Ok(())
    }

    pub(super) fn node_index(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// What packets meet that enter `link` at its end `end`.
    pub(super) fn settings_at(&self, link: usize, end: usize) -> &LinkSettings {
        let link = &self.links[link];
        if end == 0 { &link.forward } else { &link.reverse }
    }

    /// The link ends at a node, as (link, 0 or 1).
    pub(super) fn ends_of(&self, node: usize) -> impl Iterator<Item = (usize, usize)> {
        let name = &self.nodes[node].name;
        self.links.iter().enumerate().flat_map(move |(index, link)| {
            let ends = link.between.iter().enumerate();
            ends.filter(move |(_, n)| *n == name).map(move |(end, _)| (index, end))
        })
    }
}

fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), SpecError> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let reserved = ["lo", "all", "default"].contains(&name) || name.starts_with('-');
        if name.is_empty() || name.len() > tun::NAME_MAX || !name.chars().all(good) || reserved {
            return Err(SpecError::BadName(name.into()));
        }
        if seen.contains(&name) {
            return Err(SpecError::Duplicate(name.into()));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A graph of the given links; every node that has two of them forwards.
    pub fn graph(links: &[(&str, &str, &str)]) -> TestbedSpec {
        let mut nodes: Vec<NodeSpec> = Vec::new();
        for (_, a, b) in links {
            for name in [a, b] {
                match nodes.iter_mut().find(|node| node.name == *name) {
                    Some(node) => node.forwards = true,
                    None => nodes.push(NodeSpec { name: name.to_string(), forwards: false }),
                }
            }
        }
        let link = |(name, a, b): &(&str, &str, &str)| {
            LinkSpec::new(name, [a, b], LinkSettings::default(), LinkSettings::default())
        };
        TestbedSpec {
            nodes,
            links: links.iter().map(link).collect(),
            default_controller: "cubic".into(),
            emulator: EmulatorOptions::default(),
        }
    }

    #[test]
    fn a_path_is_accepted() {
        assert_eq!(graph(&[("wire", "s", "a"), ("air", "a", "r")]).check(), Ok(()));
    }

    #[test]
    fn a_name_that_no_device_can_have_is_refused() {
        for name in ["", "a b", "sixteen-bytes-xx", "lo", "a/b", "-x", "\u{e4}"] {
            let spec = graph(&[(name, "s", "r")]);
            assert_eq!(spec.check(), Err(SpecError::BadName(name.into())), "{name:?}");
        }
        assert_eq!(graph(&[("fifteen-bytes-x", "s", "r")]).check(), Ok(()));
    }

    #[test]
    fn a_link_to_nowhere_is_refused() {
        let mut spec = graph(&[("air", "s", "r")]);
        spec.nodes.pop();
        let error = spec.check().unwrap_err().to_string();
        assert_eq!(error, "link 'air' names the node 'r', which does not exist");
    }

    #[test]
    fn a_link_needs_two_different_nodes_and_a_name_of_its_own() {
        assert_eq!(graph(&[("air", "s", "s")]).check(), Err(SpecError::Loop("air".into())));
        let twice = graph(&[("air", "s", "r"), ("air", "r", "t")]);
        assert_eq!(twice.check(), Err(SpecError::Duplicate("air".into())));
    }
}
