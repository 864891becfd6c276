//! The file of a forwarder: strict, with the same errors as a scenario.
//!
//! ```toml
//! schema = 1
//! peer = "10.9.0.2:4792"
//! key = "/etc/airtcp/link.key"
//! allow = ["10.2.0.0/16:*"]      # what the peer may have opened here
//!
//! [[forward]]                    # what is taken here
//! listen = "127.0.0.1:8080"
//! to = "server.example:80"
//!
//! [[stream]]                     # datagrams that are taken here; nothing is sent again
//! listen = "127.0.0.1:5004"
//! to = "10.2.0.7:5004"
//!
//! [decoupling]                   # the socket's own parameters
//! shaper = true
//!
//! [streaming]                    # those of a stream's circuit
//! vmss = 3000
//! ```

use crate::settings_file::{self, address, address_and_port, check_schema};
use airtcp_core::parameters::{ParameterError, Parameters};
use airtcp_core::{ByteSize, Duration};
use airtcp_experiment::scenario::{Entry, Keys, Origin, Place, ScenarioError, Value, parse};
use airtcp_linux::forwarder::Config;
use airtcp_linux::forwarder::config::{Allowed, Forward, PORT, Stream};
use airtcp_linux::forwarder::opening::Host;
use airtcp_schemes::papers::decoupling::CircuitSettings;
use std::path::Path;

/// Keys of the file: key, example, meaning. In addition, the table `[decoupling]` holds the socket's parameters, and `[streaming]`
/// those of a stream's circuit.
pub const KEYS: &[(&str, &str, &str)] = &[
    ("schema", "1", "version of the file format; required"),
    ("peer", "\"10.9.0.2:4792\"", "address of the other forwarder, and port if that is not 4792; required"),
    ("key", "\"/etc/airtcp/link.key\"", "file with the secret of both forwarders (airtcp key makes one); required"),
    ("name", "\"forwarder\"", "name of the status socket"),
    ("listen", "\"0.0.0.0:4792\"", "address for datagrams; any address and the peer's port if left out"),
    (
        "allow",
        "[\"10.2.0.0/16:*\"]",
        "what the peer may have opened here: networks, addresses, names or *, each with a port or *",
    ),
    ("allow_streams", "[\"10.2.0.7:5004\"]", "the same for streams of datagrams"),
    ("keep_source", "false", "true: connections opened here come from the address that the peer names"),
    ("mtu", "1500", "longest datagram in IP bytes"),
    ("connections", "16384", "limit of the connections of both ends together"),
    ("memory", "\"128MiB\"", "limit of the memory of all buffers, beyond which a connection has 64 KiB each way"),
    ("buffer", "\"4MiB\"", "limit of the memory of one connection each way"),
    ("silence", "\"20s\"", "a peer that has not answered for so long is given up, and its connections are reset"),
    ("realtime", "40", "priority under SCHED_FIFO, 0 for none"),
    (
        "metrics",
        "9792",
        "port for metrics over HTTP, for this machine alone, or an address and port: \"10.1.0.1:9792\"; none if left out",
    ),
    ("run_directory", "\"/run/airtcp\"", "directory of the status socket"),
];

/// Keys of a table `[[forward]]`: key, example, meaning.
pub const FORWARD_KEYS: &[(&str, &str, &str)] = &[
    ("listen", "\"127.0.0.1:8080\"", "where connections are taken; required"),
    (
        "to",
        "\"server.example:80\"",
        "where the peer opens them, a name is looked up there; required unless transparent",
    ),
    (
        "transparent",
        "false",
        "true: connections to any address are led here by TPROXY, and the peer opens that address",
    ),
    ("keep_source", "false", "true: the peer opens them from the application's own address"),
];

/// Keys of a table `[[stream]]`: key, example, meaning.
pub const STREAM_KEYS: &[(&str, &str, &str)] = &[
    (
        "listen",
        "\"127.0.0.1:5004\"",
        "where datagrams are taken: an address and a UDP port, or /path of a Unix socket, whose sender waits when the circuit is slower; required",
    ),
    ("to", "\"10.2.0.7:5004\"", "where the peer gives them out by UDP, a name is looked up there; required"),
];

/// Reads the file at `path`.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn load(path: &Path) -> Result<Config, ScenarioError> {
    settings_file::load(path, read)
}

/// Reads the text of a file called `file`.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn read(file: &str, text: &str) -> Result<Config, ScenarioError> {
    let table = parse(file, text)?;
    let origin = Origin { line: 1, ..Origin::of_file(file) };
    let keys = Keys::of_file(&table, &origin, "forward");
    check_schema(&keys)?;
    let valid: Vec<&str> =
        KEYS.iter().map(|(key, ..)| *key).chain(["forward", "stream", "decoupling", "streaming"]).collect();
    keys.only(&valid)?;
    let peer = address_and_port(&keys, keys.required("peer", "peer = \"10.9.0.2:4792\"")?, PORT)?;
    let key = keys.required("key", "key = \"/etc/airtcp/link.key\"")?;
    let key = keys.scalar(key, "the name of a file")?;
    let mut config = Config::new("forwarder", peer, key.into());
    if let Some(name) = keys.value("name")? {
        config.name = name;
    }
    if let Some(entry) = keys.table.get("listen") {
        config.listen = address(&keys, entry, PORT)?;
    }
    config.allow = allowed(&keys, "allow")?;
    config.allow_streams = allowed(&keys, "allow_streams")?;
    config.keep_source = keys.value("keep_source")?.unwrap_or(config.keep_source);
    config.mtu = keys.value("mtu")?.unwrap_or(config.mtu);
    config.connections = keys.value::<u32>("connections")?.map_or(config.connections, |count| count as usize);
    config.memory = keys.value::<ByteSize>("memory")?.unwrap_or(config.memory);
    config.buffer = keys.value::<ByteSize>("buffer")?.unwrap_or(config.buffer);
    config.silence = keys.value::<Duration>("silence")?.unwrap_or(config.silence);
    if let Some(priority) = keys.value::<u8>("realtime")? {
        config.realtime = Some(priority).filter(|priority| *priority > 0);
    }
    if let Some(directory) = keys.value::<String>("run_directory")? {
        config.run_directory = directory.into();
    }
    config.metrics = settings_file::metrics(&keys)?;
    config.forwards = tables(&keys, "forward", forward)?;
    config.streams = tables(&keys, "stream", stream)?;
    socket(&keys, &mut config)?;
    circuit(&keys, &mut config)?;
    config.validate().map_err(|error| keys.refuse(error.key, error.sentence))?;
    Ok(config)
}

fn allowed(keys: &Keys<'_>, name: &str) -> Result<Vec<Allowed>, ScenarioError> {
    let Some(entry) = keys.table.get(name) else { return Ok(Vec::new()) };
    let texts = keys.texts(entry, "a list of what may be opened")?;
    texts.iter().map(|(text, _)| text.parse().map_err(|reason: String| keys.bad(entry, reason))).collect()
}

/// The tables `[[name]]`, each read by `read`.
fn tables<T>(
    file: &Keys<'_>,
    name: &'static str,
    read: fn(&Keys<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let Some(entry) = file.table.get(name) else { return Ok(Vec::new()) };
    let wanted = format!("tables [[{name}]]");
    let Value::List(items) = &entry.node.value else { return Err(file.wrong_type(entry, &wanted)) };
    let mut tables = Vec::new();
    for item in items {
        let Value::Table(table) = &item.value else { return Err(file.wrong_type(entry, &wanted)) };
        let listen = table.get("listen").and_then(|listen| listen.node.scalar());
        let place = Place::Item { list: name.into(), name: listen };
        tables.push(read(&Keys { table, place, origin: &item.origin, show: file.show.clone() })?);
    }
    Ok(tables)
}

fn forward(keys: &Keys<'_>) -> Result<Forward, ScenarioError> {
    let valid: Vec<&str> = FORWARD_KEYS.iter().map(|(key, ..)| *key).collect();
    keys.only(&valid)?;
    let listen = address(keys, keys.required("listen", "listen = \"127.0.0.1:8080\"")?, PORT)?;
    let keep_source = keys.value("keep_source")?.unwrap_or(false);
    let is_transparent = keys.value("transparent")?.unwrap_or(false);
    let to = match (keys.table.get("to"), is_transparent) {
        (Some(entry), true) => {
            return Err(
                keys.bad(entry, "a transparent forward leads where the application wants to go: leave out `to`")
            );
        }
        (None, true) => None,
        (_, false) => Some(destination(keys, keys.required("to", "to = \"server.example:80\"")?)?),
    };
    Ok(Forward { listen, to, keep_source })
}

fn stream(keys: &Keys<'_>) -> Result<Stream, ScenarioError> {
    let valid: Vec<&str> = STREAM_KEYS.iter().map(|(key, ..)| *key).collect();
    keys.only(&valid)?;
    let listen = keys.required("listen", "listen = \"127.0.0.1:5004\"")?;
    let text = keys.scalar(listen, "an address and port, or a path")?;
    let inlet = text.parse().map_err(|reason: String| keys.bad(listen, reason))?;
    let to = destination(keys, keys.required("to", "to = \"10.2.0.7:5004\"")?)?;
    Ok(Stream { listen: inlet, to })
}

fn destination(keys: &Keys<'_>, entry: &Entry) -> Result<(Host, u16), ScenarioError> {
    let text = keys.scalar(entry, "a host and port")?;
    let found = text.rsplit_once(':').and_then(|(host, port)| Some((Host::parse(host)?, port.parse().ok()?)));
    let hint = "write a host and a port: server.example:80, 10.2.0.1:80 or [fd00::2]:80";
    found.ok_or_else(|| keys.bad(entry, format!("'{text}' is no destination; {hint}")))
}

/// The table `[decoupling]`.
fn socket(keys: &Keys<'_>, config: &mut Config) -> Result<(), ScenarioError> {
    parameters(keys, "decoupling", &mut config.reliable, |reliable| reliable.circuit.check())
}

/// The table `[streaming]`.
fn circuit(keys: &Keys<'_>, config: &mut Config) -> Result<(), ScenarioError> {
    parameters(keys, "streaming", &mut config.streaming, CircuitSettings::check)
}

fn parameters<P: Parameters>(
    keys: &Keys<'_>,
    table: &str,
    settings: &mut P,
    check: fn(&P) -> Result<(), ParameterError>,
) -> Result<(), ScenarioError> {
    let Some(entry) = keys.table.get(table) else { return Ok(()) };
    let keys = keys.below(entry, table)?;
    keys.set_all(settings, &[], "a single value")?;
    check(settings).map_err(|error| {
        let fields = settings.fields();
        let valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let at = keys.table.get(error.key()).unwrap_or(entry);
        keys.parameter(at, error, &valid)
    })
}
