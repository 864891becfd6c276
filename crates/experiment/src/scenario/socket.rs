//! `socket` and `socket_options` of a flow: what carries it.

use super::document::Entry;
use super::error::ScenarioError;
use super::keys::Keys;
use airtcp_core::parameters::{Field, ParameterError};
use airtcp_schemes::decoupling::{datagrams, socket};
use airtcp_sim::FlowKind;

/// A line of the table of sockets.
pub struct SocketEntry {
    /// Name in files.
    pub slug: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Its parameters with their defaults.
    pub fields: fn() -> Vec<Field>,
    make: Make,
}

/// Makes what carries a flow from settings, key and value as text.
type Make = fn(&[(String, String)]) -> Result<FlowKind, ParameterError>;

/// What a flow's `socket` can be.
pub const SOCKETS: &[SocketEntry] = &[
    SocketEntry { slug: "tcp", about: "A TCP connection.", fields: Vec::new, make: |_| Ok(FlowKind::Tcp) },
    SocketEntry {
        slug: "decoupling",
        about: "A reliable decoupling socket: a data TCP without congestion control over a circuit of control TCPs.",
        fields: socket::Settings::fields,
        make: |settings| Ok(FlowKind::Decoupling(Box::new(socket::Settings::with(settings)?))),
    },
    SocketEntry {
        slug: "streaming",
        about: "UDP datagrams over a circuit, nothing sent again: greedy, or at a rate.",
        fields: || datagrams::Settings::fields(true),
        make: |settings| Ok(FlowKind::Datagrams(Box::new(datagrams::Settings::with(settings, true)?))),
    },
    SocketEntry {
        slug: "datagram",
        about: "UDP datagrams at a constant rate, without a circuit: a probe, or somebody else's traffic.",
        fields: || datagrams::Settings::fields(false),
        make: |settings| Ok(FlowKind::Datagrams(Box::new(datagrams::Settings::with(settings, false)?))),
    },
];

/// What the flow in `keys` is carried by.
pub(super) fn socket(keys: &Keys<'_>) -> Result<FlowKind, ScenarioError> {
    let entry = match keys.table.get("socket") {
        None => &SOCKETS[0],
        Some(entry) => {
            let name = keys.scalar(entry, "the name of a socket")?;
            let names = || SOCKETS.iter().map(|socket| socket.slug.to_owned()).collect();
            let known = SOCKETS.iter().find(|socket| socket.slug == name);
            known.ok_or_else(|| keys.no_such("socket", &name, "socket", &entry.node.origin, names()))?
        }
    };
    let kind = options(keys, entry)?;
    if let (FlowKind::Datagrams(_), Some(size)) = (&kind, keys.table.get("size")) {
        return Err(keys.bad(size, "datagrams get lost, so they have no last byte to wait for; leave it out"));
    }
    Ok(kind)
}

fn options(flow: &Keys<'_>, socket: &SocketEntry) -> Result<FlowKind, ScenarioError> {
    let Some(table) = flow.table.get("socket_options") else {
        let missing = flow.table.get("socket");
        // Without options only one that needs some can fail, and it was asked for by name.
        return (socket.make)(&[]).map_err(|error| match missing {
            Some(entry) => flow.bad(entry, format!("'{}' needs socket_options: {error}", socket.slug)),
            None => unreachable!("TCP takes no options"),
        });
    };
    let keys = flow.below(table, "sockets")?;
    let fields = (socket.fields)();
    let valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
    if let Some(first) = keys.table.entries.first().filter(|_| valid.is_empty()) {
        return Err(keys.bad(first, format!("the socket '{}' has no options", socket.slug)));
    }
    keys.only(&valid)?;
    let value = |entry: &Entry| Ok((entry.key.clone(), keys.scalar(entry, "a single value")?));
    let settings = keys.table.entries.iter().map(value).collect::<Result<Vec<_>, ScenarioError>>()?;
    (socket.make)(&settings).map_err(|error| {
        let key = error.key();
        keys.parameter(keys.table.get(key).unwrap_or(table), error, &valid)
    })
}

/// In control runs a socket with a circuit is the TCP it is compared with. Datagrams without one are somebody else's.
pub(super) fn without_circuit(kind: &FlowKind) -> bool {
    match kind {
        FlowKind::Tcp => true,
        FlowKind::Decoupling(_) => false,
        FlowKind::Datagrams(settings) => settings.circuit.is_none(),
    }
}
