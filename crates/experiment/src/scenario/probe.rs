//! `[probes.<name>]`: small datagrams between two hosts and back, beside the flows.

use super::error::ScenarioError;
use super::keys::Keys;
use super::section::{names, section};
use airtcp_core::{ByteSize, Duration};

section! {
    /// What a probe has.
    Section {
        /// host that asks; required
        from, "\"sender\"";
        /// host that answers; required
        to, "\"receiver\"";
        /// time between two probes, in the measured part of the run; 20ms if left out
        every: Duration = Duration::from_millis(20), "\"20ms\"";
        /// IP packet, 72B to 1280B; 100B if left out
        size: ByteSize = ByteSize(100), "\"100B\"";
    }
}

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

/// Reads the probe in `keys`; `hosts` are the nodes that flows name.
pub(super) fn probe(keys: &Keys<'_>, nodes: &[String], hosts: &[usize]) -> Result<ProbeSpec, ScenarioError> {
    keys.only(&names(KEYS))?;
    let choices: Vec<&String> = hosts.iter().map(|host| &nodes[*host]).collect();
    let [from, to] = keys.ends(["sender", "receiver"], "host", &choices)?.map(|place| hosts[place]);
    let Section { every, size: ByteSize(size) } = Section::read(keys)?;
    if from == to {
        return Err(keys.refuse("to", "a probe must end at a different host than it starts at"));
    }
    if every < LEAST_EVERY {
        return Err(keys.refuse("every", format!("{every} is too short; {LEAST_EVERY} or more")));
    }
    if !(72..=1280).contains(&size) {
        return Err(keys.refuse("size", format!("{size} bytes are out of range; 72B to 1280B")));
    }
    Ok(ProbeSpec { name: keys.name().to_owned(), from, to, every, size: size as u32 })
}
