//! The gateway file: strict, with the same errors as a scenario.
//!
//! ```toml
//! schema = 1
//! scheme = "gsnoop"
//! link = "wlan0"
//! peer = "10.9.0.2:4791"
//! key = "/etc/airtcp/link.key"
//! rate = "20Mbit"      # facts about the link, where the scheme needs them
//!
//! [gsnoop]             # the scheme's own parameters
//! tries = 4
//! ```
//!
//! A hub has tables `[[peer]]` ([`PEER_KEYS`]) in place of `peer` and `key`.

mod peers;

pub use peers::PEER_KEYS;

use crate::settings_file::{self, check_schema};
use airtcp_core::ValueType as _;
use airtcp_core::{ByteSize, Rate};
use airtcp_experiment::Catalogue;
use airtcp_experiment::scenario::{Entry, Keys, Origin, Problem, ScenarioError, parse, scheme_settings};
use airtcp_linux::gateway::control::Secret;
use airtcp_linux::gateway::peers::CONTROL_PORT;
use airtcp_linux::gateway::scheme::make;
use airtcp_linux::gateway::{Config, ConfigError, Direction, Facts, Role};
use airtcp_schemes::papers::as_tcp;
use airtcp_schemes::{LEAST_MEMORY, LinkFacts, MAX_MEMORY, PathEnds, Placement, SchemeEntry};
use std::net::SocketAddr;
use std::path::Path;

/// Keys of the file: key, example, meaning. In addition, the table with the scheme's name holds its own parameters.
pub const KEYS: &[(&str, &str, &str)] = &[
    ("schema", "1", "version of the file format; required"),
    ("scheme", "\"gsnoop\"", "the scheme to run (airtcp show schemes); required"),
    ("link", "\"wlan0\"", "the interface of the lossy link; required"),
    (
        "peer",
        "\"10.9.0.2:4791\"",
        "address and port of the other gateway, or a table [[peer]] for each of several; required by schemes that run at both ends",
    ),
    (
        "key",
        "\"/etc/airtcp/link.key\"",
        "file with the secret of both gateways (airtcp key makes one); required with a peer, or else `insecure`",
    ),
    ("previous_key", "\"/etc/airtcp/old.key\"", "file with a secret that is accepted as well, while you change `key`"),
    ("insecure", "false", "true: no key; for links on which nobody else can send"),
    ("hops", "1", "hops to the peer: 1 if no router is in between; messages from further away are ignored"),
    (
        "networks",
        "[\"10.1.0.0/16\"]",
        "what is behind the peer: only packets from and to there are the gateway's; all of the next hop, or of the link, if left out",
    ),
    (
        "role",
        "\"station\"",
        "of as-tcp: \"station\" on a host that has joined the Wi-Fi network of `link`, \"access-point\" where connections are split; neither needs a peer",
    ),
    (
        "direction",
        "\"both\"",
        "of a trunk: \"out\" if it only begins at this gateway, \"in\" if it only ends here; the other gateway then needs the opposite",
    ),
    ("name", "\"wlan0\"", "name of this gateway's devices and sockets; the link's name if left out"),
    ("listen", "\"0.0.0.0:4791\"", "address for control messages; any address and the peer's port if left out"),
    ("rate", "\"20Mbit\"", "rate of the link in IP bits per second; the scheme sends no faster"),
    (
        "shared_rate",
        "\"100Mbit\"",
        "rate of a link whose one queue leads to all of several peers: they share it fairly; leave it out on a Wi-Fi access point",
    ),
    ("round_trip", "\"10ms\"", "round-trip time over the link; measured if left out"),
    ("queue", "\"75kB\"", "limit of the egress queue of the link"),
    ("mtu", "1500", "longest IP packet that the link carries; the interface's MTU if left out"),
    ("max_memory", "\"64MiB\"", "limit of the memory of the scheme's tables"),
    ("realtime", "40", "priority under SCHED_FIFO, 0 for none"),
    (
        "metrics",
        "9791",
        "port for metrics over HTTP, for this machine alone, or an address and port: \"10.1.0.1:9791\"; none if left out",
    ),
    ("run_directory", "\"/run/airtcp\"", "directory of the status socket"),
];

/// Reads the file at `path`.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn load(path: &Path, catalogue: &Catalogue<'_>) -> Result<Config, ScenarioError> {
    settings_file::load(path, |file, text| read(file, text, catalogue))
}

/// Reads the file at `path`, and looks into the key files that it names: what the gateway needs to begin.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn load_to_start(path: &Path, catalogue: &Catalogue<'_>) -> Result<Config, ScenarioError> {
    settings_file::load(path, |file, text| read_for(file, text, catalogue, For::Starting))
}

/// Reads the file at `path` for a look at the link: it need not name the other end.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn load_to_observe(path: &Path, catalogue: &Catalogue<'_>) -> Result<Config, ScenarioError> {
    settings_file::load(path, |file, text| read_for(file, text, catalogue, For::Observing))
}

/// Reads the text of a gateway file called `file`.
///
/// # Errors
/// The first thing that is wrong, with file, line and key.
pub fn read(file: &str, text: &str, catalogue: &Catalogue<'_>) -> Result<Config, ScenarioError> {
    read_for(file, text, catalogue, For::Running)
}

/// What a file is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Running,
    Starting,
    Observing,
}

fn read_for(file: &str, text: &str, catalogue: &Catalogue<'_>, purpose: For) -> Result<Config, ScenarioError> {
    let table = parse(file, text)?;
    let origin = Origin { line: 1, ..Origin::of_file(file) };
    let keys = Keys::of_file(&table, &origin, "gateway");
    check_schema(&keys)?;
    let scheme = scheme(&keys, catalogue)?;
    let valid: Vec<&str> = KEYS.iter().map(|(key, ..)| *key).chain([scheme.slug]).collect();
    keys.only(&valid)?;
    let link_entry = keys.required("link", "link = \"wlan0\"")?;
    let mut config = Config::new(scheme.slug, &keys.scalar(link_entry, "the name of an interface")?);
    config.role = role(&keys, scheme)?;
    if purpose != For::Observing && scheme.placement != Placement::NearEnd && config.role.is_none() {
        require_other_end(&keys, scheme)?;
    }
    let link = facts(&keys, LinkFacts::default())?;
    config.shared_rate_bps = keys.value::<Rate>("shared_rate")?.map(Rate::bps);
    if keys.table.get("peer").is_some_and(peers::are_in) {
        config.peers = peers::read(&keys, scheme, link)?;
        config.name.truncate(config.name_max());
    } else {
        config.peer = address(&keys, "peer")?;
    }
    config.listen = address(&keys, "listen")?;
    config.key = keys.value::<String>("key")?.map(Into::into);
    config.previous_key = keys.value::<String>("previous_key")?.map(Into::into);
    config.insecure = keys.value("insecure")?.unwrap_or(false);
    config.hops = keys.value("hops")?.unwrap_or(1);
    if let Some(name) = keys.value("name")? {
        config.name = name;
    }
    if let Some(entry) = keys.table.get("max_memory") {
        let size: ByteSize = keys.value("max_memory")?.unwrap_or(MAX_MEMORY);
        if size < LEAST_MEMORY {
            return Err(keys.bad(entry, format!("{size} is too small; write {LEAST_MEMORY} or more")));
        }
        config.max_memory_bytes = size.0;
    }
    if let Some(priority) = keys.value::<u8>("realtime")? {
        config.realtime = Some(priority).filter(|priority| *priority > 0);
    }
    if let Some(directory) = keys.value::<String>("run_directory")? {
        config.run_directory = directory.into();
    }
    config.metrics = settings_file::metrics(&keys)?;
    config.facts = Facts::near(link);
    parameters(&keys, scheme, &mut config)?;
    path(&keys, scheme, catalogue, &mut config)?;
    validate(&keys, &config, link_entry)?;
    if purpose == For::Starting {
        secrets(&keys, config.key.as_deref(), config.previous_key.as_deref())?;
        peers::secrets(&keys, &config.peers)?;
    }
    Ok(config)
}

/// Refuses what makes no sense, at its line.
fn validate(keys: &Keys<'_>, config: &Config, link: &Entry) -> Result<(), ScenarioError> {
    config.validate().map_err(|error| {
        let about = match error {
            ConfigError::NoKey => "peer",
            ConfigError::KeyAndInsecure => "insecure",
            ConfigError::PreviousKeyOnly => "previous_key",
            ConfigError::Hops => "hops",
            ConfigError::Name(..) => "name",
            ConfigError::Families { .. } => "listen",
            ConfigError::Priority(_) => "realtime",
            ConfigError::Link(_) | ConfigError::RoutedPeers => "link",
            ConfigError::Peer(peer, error) => return peers::refuse(keys, peer, &error),
        };
        keys.bad(keys.table.get(about).unwrap_or(link), error.to_string())
    })
}

/// Refuses key files that cannot be used, at the lines that name them.
fn secrets(keys: &Keys<'_>, key: Option<&Path>, previous: Option<&Path>) -> Result<(), ScenarioError> {
    for (name, path) in [("key", key), ("previous_key", previous)] {
        if let Some(Err(error)) = path.map(Secret::read) {
            return Err(keys.refuse(name, format!("{error}; {}", error.remedy())));
        }
    }
    Ok(())
}

/// A file of a scheme with two ends names the other one, or which of them it is for.
fn require_other_end(keys: &Keys<'_>, scheme: &SchemeEntry) -> Result<(), ScenarioError> {
    if keys.table.get("peer").is_some() {
        return Ok(());
    }
    match has_roles(scheme) {
        true => keys.required("role", "role = \"station\"").map(drop),
        false => keys.required("peer", "peer = \"10.9.0.2:4791\"").map(drop),
    }
}

fn scheme<'a>(keys: &Keys<'_>, catalogue: &Catalogue<'a>) -> Result<&'a SchemeEntry, ScenarioError> {
    let entry = keys.required("scheme", "scheme = \"gsnoop\"")?;
    let slug = keys.scalar(entry, "the name of a scheme")?;
    let found = catalogue.scheme(&slug).ok_or_else(|| {
        let names = catalogue.schemes.iter().map(|entry| entry.slug.to_owned()).collect();
        keys.no_such("scheme", &slug, "scheme", &entry.node.origin, names)
    })?;
    Ok(found)
}

/// What is behind the peer, and which ways a trunk leads.
fn path(
    keys: &Keys<'_>,
    scheme: &SchemeEntry,
    catalogue: &Catalogue<'_>,
    config: &mut Config,
) -> Result<(), ScenarioError> {
    config.networks = peers::networks(keys)?;
    config.direction = direction(keys, scheme)?;
    // What goes between two gateways in general need not go between these.
    let made = config.each_peer().iter().try_for_each(|peer| make(catalogue.schemes, peer).map(drop));
    match (made, keys.table.get(scheme.slug)) {
        (Err(error), Some(table)) => Err(Problem::Topology(error).at(&table.node.origin)),
        _ => Ok(()),
    }
}

/// Only AS-TCP has sides that send each other no messages.
fn has_roles(scheme: &SchemeEntry) -> bool {
    scheme.slug == as_tcp::ENTRY.slug
}

/// Which side of a Wi-Fi link the file is for.
fn role(keys: &Keys<'_>, scheme: &SchemeEntry) -> Result<Option<Role>, ScenarioError> {
    let Some(entry) = keys.table.get("role") else { return Ok(None) };
    if !has_roles(scheme) {
        return Err(keys.bad(entry, format!("'{}' is the same on both sides: leave it out", scheme.slug)));
    }
    if let Some(peer) = keys.table.get("peer") {
        return Err(keys.bad(peer, "what has a `role` sends no messages to a peer: leave out `peer`".to_owned()));
    }
    match keys.scalar(entry, "a role")?.as_str() {
        "station" => Ok(Some(Role::Station)),
        "access-point" => Ok(Some(Role::AccessPoint)),
        other => Err(keys.bad(entry, format!("'{other}' is no role; write \"station\" or \"access-point\""))),
    }
}

/// Which ways a trunk leads.
fn direction(keys: &Keys<'_>, scheme: &SchemeEntry) -> Result<Direction, ScenarioError> {
    let Some(entry) = keys.table.get("direction") else { return Ok(Direction::Both) };
    if scheme.placement != Placement::Path {
        return Err(keys.bad(entry, format!("'{}' works both ways: leave it out", scheme.slug)));
    }
    match keys.scalar(entry, "a direction")?.as_str() {
        "both" => Ok(Direction::Both),
        "out" => Ok(Direction::Out),
        "in" => Ok(Direction::In),
        other => Err(keys.bad(entry, format!("'{other}' is no direction; write \"both\", \"out\" or \"in\""))),
    }
}

/// What a table says of a link, beside what is known already.
fn facts(keys: &Keys<'_>, known: LinkFacts) -> Result<LinkFacts, ScenarioError> {
    Ok(LinkFacts {
        rate: keys.value("rate")?.or(known.rate),
        round_trip: keys.value("round_trip")?.or(known.round_trip),
        queue: keys.value("queue")?.or(known.queue),
        queue_packets: None,
        mtu: keys.value("mtu")?.or(known.mtu),
        ends: None,
    })
}

fn address(keys: &Keys<'_>, key: &str) -> Result<Option<SocketAddr>, ScenarioError> {
    keys.table.get(key).map(|entry| settings_file::address(keys, entry, CONTROL_PORT)).transpose()
}

/// The table named like the scheme.
fn parameters(keys: &Keys<'_>, scheme: &SchemeEntry, config: &mut Config) -> Result<(), ScenarioError> {
    let Some(entry) = keys.table.get(scheme.slug) else { return Ok(()) };
    let keys = keys.below(entry, scheme.slug)?;
    let fields = scheme.fields();
    let valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
    keys.only(&valid)?;
    scheme_settings(&keys, scheme, &[], &valid, PathEnds::Gateways)?;
    config.settings = keys.table.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_value())).collect();
    Ok(())
}

/// What is known about the link, under the keys of the file.
pub(crate) fn facts_as_text(facts: LinkFacts) -> Vec<(&'static str, String)> {
    let rate = facts.rate.map(|rate| ("rate", rate.write()));
    let round_trip = facts.round_trip.map(|time| ("round_trip", time.write()));
    let queue = facts.queue.map(|size| ("queue", size.write()));
    let mtu = facts.mtu.map(|bytes| ("mtu", bytes.write()));
    [rate, round_trip, queue, mtu].into_iter().flatten().collect()
}
