//! `[flows.<name>]`: `from`, `to`, `controller` and its options, when, how much, and the keys of [`airtcp_tcp::Config`].

use super::document::Entry;
use super::error::ScenarioError;
use super::keys::Keys;
use super::limits::LONGEST;
use super::socket::{in_control, socket};
use super::{FlowSpec, IpVersion};
use crate::catalogue::Catalogue;
use airtcp_core::parameters::Parameters;
use airtcp_core::{ByteSize, Duration};
use airtcp_tcp::Config;
use airtcp_tcp::congestion::ControllerChoice;

/// Keys of a flow besides the endpoint's parameters: key, example, meaning.
pub const KEYS: &[(&str, &str, &str)] = &[
    ("from", "\"sender\"", "node that sends; required"),
    ("to", "\"receiver\"", "node that receives; required"),
    ("controller", "\"cubic\"", "congestion controller of the sender; cubic if left out"),
    (
        "controller_options",
        "{ lda = \"original\" }",
        "parameters of the controller, which `airtcp show` lists under its name; its defaults if left out",
    ),
    ("socket", "\"tcp\"", "what carries it, one of those that `airtcp show sockets` lists; tcp if left out"),
    (
        "socket_options",
        "{ vmss = 3000 }",
        "parameters of the socket, which `airtcp show sockets` lists; its defaults if left out",
    ),
    ("start", "\"0s\"", "when it starts; 0s if left out"),
    (
        "start_within",
        "\"0s\"",
        "a random time within this is added to `start`, another one in each run; 0s if left out",
    ),
    ("size", "\"20MB\"", "application bytes; until the end of the run if left out"),
    ("weight", "1", "its fair share in the fairness index, relative to the sum of all weights; 1 if left out"),
    ("count", "8", "number of equal flows, named NAME1, NAME2, …; one flow with the name as written if left out"),
    ("ip", "4", "version of IP, 4 or 6; 4 if left out"),
];

/// What stands in for a controller in control runs.
const CONTROL: &str = "reno";

/// Reads every flow.
pub(super) fn flows(
    keys: &Keys<'_>,
    nodes: &[String],
    catalogue: &Catalogue<'_>,
) -> Result<Vec<FlowSpec>, ScenarioError> {
    keys.table.entries.iter().map(|entry| flow(keys, entry, nodes, catalogue)).collect()
}

fn flow(all: &Keys<'_>, entry: &Entry, nodes: &[String], catalogue: &Catalogue<'_>) -> Result<FlowSpec, ScenarioError> {
    let keys = all.below(entry, "flow")?;
    let own: Vec<&str> = KEYS.iter().map(|(key, ..)| *key).collect();
    let fields = Config::default().fields();
    let of_config = fields.iter().map(|field| field.name).filter(|name| !own.contains(name));
    let valid: Vec<&str> = own.iter().copied().chain(of_config).collect();
    keys.only(&valid)?;
    let mut config = Config::default();
    for entry in keys.table.entries.iter().filter(|entry| !own.contains(&entry.key.as_str())) {
        keys.set(&mut config, entry, "a single value", &valid)?;
    }
    let node = |key: &str, example: &str| -> Result<usize, ScenarioError> {
        let entry = keys.required(key, example)?;
        let name = keys.scalar(entry, "the name of a node")?;
        let index = nodes.iter().position(|node| *node == name);
        index.ok_or_else(|| keys.no_such("node", &name, key, &entry.node.origin, nodes.to_vec()))
    };
    let (from, to) = (node("from", "from = \"sender\"")?, node("to", "to = \"receiver\"")?);
    if from == to {
        let entry = keys.table.get("to").expect("read above");
        return Err(keys.bad(entry, "a flow ends at another node than it starts at"));
    }
    let size: Option<ByteSize> = keys.value("size")?;
    if size.is_some_and(|size| size.0 == 0) {
        return Err(keys.bad(keys.table.get("size").expect("read above"), "a flow has at least one byte"));
    }
    let start: Duration = keys.value("start")?.unwrap_or(Duration::ZERO);
    if start > LONGEST {
        return Err(keys.bad(keys.table.get("start").expect("zero if left out"), "a flow starts during the run"));
    }
    let start_within: Duration = keys.value("start_within")?.unwrap_or(Duration::ZERO);
    if start_within > LONGEST {
        return Err(keys.bad(keys.table.get("start_within").expect("zero if left out"), "a flow starts during the run"));
    }
    let weight: u32 = keys.value("weight")?.unwrap_or(1);
    if weight == 0 {
        return Err(keys.bad(keys.table.get("weight").expect("1 if left out"), "a weight is 1 or more"));
    }
    let controller = controller(&keys, catalogue)?;
    if let Some(choice) = choice(&keys, &controller, catalogue)? {
        config.controller = choice;
    }
    let (name, socket) = (entry.key.clone(), socket(&keys, catalogue)?);
    Ok(FlowSpec { name, from, to, socket, controller, start, start_within, size, weight, ip: ip(&keys)?, config })
}

fn controller(keys: &Keys<'_>, catalogue: &Catalogue<'_>) -> Result<String, ScenarioError> {
    let Some(entry) = keys.table.get("controller") else { return Ok("cubic".into()) };
    let name = keys.scalar(entry, "the name of a congestion controller")?;
    if catalogue.controller_names().contains(&name) {
        return Ok(name);
    }
    Err(keys.no_such("controller", &name, "controller", &entry.node.origin, catalogue.controller_names()))
}

/// Controllers that Linux does not have become Reno, what they are compared with, and sockets what their entries say.
pub(super) fn replace_by_reno(flows: &mut [FlowSpec], catalogue: &Catalogue<'_>) {
    for flow in &mut *flows {
        flow.socket = in_control(&flow.socket, catalogue);
    }
    let Some(reno) = catalogue.controller(CONTROL).copied() else { return };
    let is_ours = |flow: &&mut FlowSpec| catalogue.controller(&flow.controller).is_some_and(|entry| !entry.in_kernel);
    for flow in flows.iter_mut().filter(is_ours) {
        flow.controller = CONTROL.to_owned();
        flow.config.controller = reno.into();
    }
}

/// The controller called `name` with its options; `None` for one that only the kernel has.
fn choice(keys: &Keys<'_>, name: &str, catalogue: &Catalogue<'_>) -> Result<Option<ControllerChoice>, ScenarioError> {
    let entry = catalogue.controller(name).copied();
    let Some(options) = keys.table.get("controller_options") else { return Ok(entry.map(Into::into)) };
    let keys = keys.below(options, name)?;
    let fields = entry.map(|entry| entry.fields()).unwrap_or_default();
    let valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
    if let Some(first) = keys.table.entries.first().filter(|_| valid.is_empty()) {
        return Err(keys.bad(first, format!("the controller '{name}' has no options")));
    }
    keys.only(&valid)?;
    let Some(entry) = entry else { return Ok(None) };
    let mut settings = (entry.settings)();
    for option in &keys.table.entries {
        keys.set(&mut *settings, option, "a single value", &valid)?;
    }
    Ok(Some(ControllerChoice::new(entry, settings)))
}

fn ip(keys: &Keys<'_>) -> Result<IpVersion, ScenarioError> {
    let Some(entry) = keys.table.get("ip") else { return Ok(IpVersion::V4) };
    match keys.scalar(entry, "4 or 6")?.as_str() {
        "4" => Ok(IpVersion::V4),
        "6" => Ok(IpVersion::V6),
        other => Err(keys.bad(entry, format!("there is no IP version '{other}'; write 4 or 6"))),
    }
}
