//! What the files of a gateway and of a forwarder have in common.

use airtcp_experiment::scenario::{Entry, Keys, Origin, Problem, ScenarioError};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

/// Reads the file at `path` with `read`, which is given its name and its text.
///
/// # Errors
/// The file cannot be read, or what `read` finds wrong.
pub(crate) fn load<T>(
    path: &Path,
    read: impl FnOnce(&str, &str) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::Unreadable(error.to_string()).at(&Origin::of_file(&file)))?;
    read(&file, &text)
}

/// Refuses a file of another version than 1, or of none.
///
/// # Errors
/// Which version it has.
pub(crate) fn check_schema(keys: &Keys<'_>) -> Result<(), ScenarioError> {
    let schema = keys.required("schema", "schema = 1")?;
    if schema.node.scalar().as_deref() == Some("1") {
        return Ok(());
    }
    let found = schema.node.scalar().unwrap_or_else(|| schema.node.value.kind().into());
    Err(Problem::Schema(found).at(&schema.node.origin))
}

/// The address and port that `entry` says; `usual` is the port of the example in the error.
///
/// # Errors
/// It is none.
pub(crate) fn address(keys: &Keys<'_>, entry: &Entry, usual: u16) -> Result<SocketAddr, ScenarioError> {
    let text = keys.scalar(entry, "an address and port")?;
    let hint = format!("write an address and a port: 10.9.0.2:{usual} or [fd00::2]:{usual}");
    text.parse().map_err(|_| keys.bad(entry, format!("'{text}' is not an address; {hint}")))
}

/// The same, where the port may be left out: it is `usual` then.
///
/// # Errors
/// It is no address.
pub(crate) fn address_and_port(keys: &Keys<'_>, entry: &Entry, usual: u16) -> Result<SocketAddr, ScenarioError> {
    match keys.scalar(entry, "an address")?.parse::<IpAddr>() {
        Ok(ip) => Ok(SocketAddr::new(ip, usual)),
        Err(_) => address(keys, entry, usual),
    }
}

/// Where metrics are told: an address and port, or a port of this machine alone.
///
/// # Errors
/// It is neither.
pub(crate) fn metrics(keys: &Keys<'_>) -> Result<Option<SocketAddr>, ScenarioError> {
    let Some(entry) = keys.table.get("metrics") else { return Ok(None) };
    let text = keys.scalar(entry, "an address and port")?;
    let port = text.parse::<u16>().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let address = port.or_else(|_| text.parse());
    let wrong = |_| {
        let hint = "write a port for this machine alone, 9791, or an address and port, \"10.1.0.1:9791\"";
        keys.bad(entry, format!("'{text}' is no place for metrics; {hint}"))
    };
    address.map(Some).map_err(wrong)
}
