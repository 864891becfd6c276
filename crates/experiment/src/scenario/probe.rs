//! `[probes.<name>]`: small datagrams between two hosts and back, beside the flows.

use super::document::Entry;
use super::error::ScenarioError;
use super::keys::Keys;
use airtcp_core::{ByteSize, Duration};

/// Keys of a probe: key, example, meaning.
pub const KEYS: &[(&str, &str, &str)] = &[
    ("from", "\"sender\"", "host that asks; required"),
    ("to", "\"receiver\"", "host that answers; required"),
    ("every", "\"20ms\"", "time between two probes, in the measured part of the run; 20ms if left out"),
    ("size", "\"100B\"", "IP packet, 72B to 1280B; 100B if left out"),
];

/// A faster one would be traffic of its own.
const LEAST_EVERY: Duration = Duration::from_millis(1);

/// A ping between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Name in the file.
    pub name: String,
    /// Node that asks.
    pub from: usize,
    /// Node that answers.
    pub to: usize,
    /// Time between two.
    pub every: Duration,
    /// Bytes of the IP packet.
    pub size: u32,
}

/// Reads every probe; `hosts` are the nodes that flows name.
pub(super) fn probes(keys: &Keys<'_>, nodes: &[String], hosts: &[usize]) -> Result<Vec<ProbeSpec>, ScenarioError> {
    keys.table.entries.iter().map(|entry| probe(keys, entry, nodes, hosts)).collect()
}

fn probe(all: &Keys<'_>, entry: &Entry, nodes: &[String], hosts: &[usize]) -> Result<ProbeSpec, ScenarioError> {
    let keys = all.below(entry, "scenario")?;
    let valid: Vec<&str> = KEYS.iter().map(|(key, ..)| *key).collect();
    keys.only(&valid)?;
    let host = |key: &str, example: &str| -> Result<usize, ScenarioError> {
        let entry = keys.required(key, example)?;
        let name = keys.scalar(entry, "the name of a host")?;
        let choices = || hosts.iter().map(|host| nodes[*host].clone()).collect();
        let found = hosts.iter().copied().find(|host| nodes[*host] == name);
        found.ok_or_else(|| keys.no_such("host", &name, key, &entry.node.origin, choices()))
    };
    let (from, to) = (host("from", "from = \"sender\"")?, host("to", "to = \"receiver\"")?);
    let bad = |key: &str, reason: String| Err(keys.bad(keys.table.get(key).expect("it has a value"), reason));
    if from == to {
        return bad("to", "a probe must end at a different host than it starts at".into());
    }
    let every: Duration = keys.value("every")?.unwrap_or(Duration::from_millis(20));
    if every < LEAST_EVERY {
        return bad("every", format!("{every} is too short; {LEAST_EVERY} or more"));
    }
    let size = keys.value::<ByteSize>("size")?.unwrap_or(ByteSize(100)).0;
    if !(72..=1280).contains(&size) {
        return bad("size", format!("{size} bytes are out of range; 72B to 1280B"));
    }
    Ok(ProbeSpec { name: entry.key.clone(), from, to, every, size: size as u32 })
}
