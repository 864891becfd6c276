//! `socket` and `socket_options` of a flow: what carries it.

use super::error::ScenarioError;
use super::keys::Keys;
use crate::catalogue::Catalogue;
use airtcp_core::parameters::ParameterError;
use airtcp_schemes::socket::{SocketChoice, SocketEntry};

/// What the flow in `keys` is carried by.
pub(super) fn socket(keys: &Keys<'_>, catalogue: &Catalogue<'_>) -> Result<SocketChoice, ScenarioError> {
    let known: Vec<&str> = catalogue.sockets.iter().map(|socket| socket.slug).collect();
    let named = keys.one_of("socket", "socket", &known)?.map(|index| catalogue.sockets[index]);
    let choice = options(keys, &named.unwrap_or(SocketChoice::default().entry))?;
    match keys.table.get("size") {
        Some(size) if !choice.entry.has_size => {
            Err(keys.bad(size, "datagrams get lost, so they have no last byte to wait for; leave it out"))
        }
        _ => Ok(choice),
    }
}

fn options(flow: &Keys<'_>, socket: &SocketEntry) -> Result<SocketChoice, ScenarioError> {
    let mut settings = (socket.settings)();
    let Some(table) = flow.table.get("socket_options") else {
        // Only a socket that was asked for by name can need options.
        return SocketChoice::new(*socket, settings).map_err(|error| match flow.table.get("socket") {
            Some(entry) => flow.bad(entry, format!("'{}' needs socket_options: {error}", socket.slug)),
            None => unreachable!("TCP takes no options"),
        });
    };
    let keys = flow.options(table, "sockets", &mut *settings, &format!("the socket '{}'", socket.slug))?;
    let refused = |error: ParameterError| keys.parameter(keys.table.get(error.key()).unwrap_or(table), error, &[]);
    SocketChoice::new(*socket, settings).map_err(refused)
}

/// What takes its place in control runs, the TCP that it is compared with; it stays if it is somebody else's traffic.
pub(super) fn in_control(socket: &SocketChoice, catalogue: &Catalogue<'_>) -> SocketChoice {
    let other = catalogue.socket(socket.entry.control).filter(|other| other.slug != socket.entry.slug);
    let other = other.and_then(|other| SocketChoice::new(*other, (other.settings)()).ok());
    other.unwrap_or_else(|| socket.clone())
}
