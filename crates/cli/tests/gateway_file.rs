//! The gateway file: what it means, and one golden test per kind of error.

use airtcp::gateway_file;
use airtcp_core::Value;
use airtcp_experiment::Catalogue;
use airtcp_linux::gateway::{Direction, Role};
use insta::assert_snapshot;

/// The whole file on one box, as promised to operators.
const FILE: &str = r#"# /etc/airtcp/gateway.toml, the whole file on one box; the other box differs in the line `peer` only
schema = 1
scheme = "gsnoop"
link = "wlan0"                # the lossy interface; the box is A towards it and B from it
peer = "10.9.0.2:4791"
key = "/etc/airtcp/link.key"  # control messages must carry a valid keyed MAC
"#;

fn read(text: &str) -> Result<airtcp_linux::gateway::Config, String> {
    gateway_file::read("gateway.toml", text, &Catalogue::BUILT_IN).map_err(|error| error.to_string())
}

fn error_with(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "the file does not contain '{from}'");
    read(&FILE.replacen(from, to, 1)).expect_err("an error")
}

#[test]
fn the_promised_file_is_read() {
    let config = read(FILE).unwrap();
    assert_eq!((config.scheme.as_str(), config.link.as_str(), config.name.as_str()), ("gsnoop", "wlan0", "wlan0"));
    assert_eq!(config.peer, Some("10.9.0.2:4791".parse().unwrap()));
    assert_eq!(config.key, Some("/etc/airtcp/link.key".into()));
    assert_eq!((config.max_memory_bytes, config.settings.len()), (64 << 20, 0));
}

#[test]
fn parameters_and_facts_about_the_link_reach_the_worker() {
    let config =
        read(&format!("{FILE}rate = \"20Mbit\"\nqueue = \"75kB\"\nrealtime = 0\n[gsnoop]\ntries = 3\n")).unwrap();
    let settings: Vec<(&str, &str)> =
        config.settings.iter().map(|(key, value)| (key.as_str(), value.scalar().unwrap())).collect();
    assert_eq!(settings, [("tries", "3")]);
    assert_eq!(
        (config.facts.rate_bps, config.facts.queue_bytes, config.facts.mtu),
        (Some(20_000_000), Some(75_000), None)
    );
    assert_eq!(config.realtime, None);
}

#[test]
fn a_scheme_at_one_box_needs_no_peer() {
    for scheme in ["snoop", "eln", "delayed-dupacks", "fast-tcp"] {
        let config = read(&format!("schema = 1\nscheme = \"{scheme}\"\nlink = \"wlan0\"\n")).unwrap();
        assert_eq!((config.scheme.as_str(), config.peer), (scheme, None));
    }
}

#[test]
fn fast_tcp_is_told_the_rate_and_the_queue_of_its_link() {
    let file = "schema = 1\nscheme = \"fast-tcp\"\nlink = \"wwan0\"\nrate = \"30Mbit\"\nqueue = \"250kB\"\n\n[fast-tcp]\nthreshold = \"50kB, 100kB\"\n";
    let config = read(file).unwrap();
    assert_eq!((config.facts.rate_bps, config.facts.queue_bytes), (Some(30_000_000), Some(250_000)));
    assert_eq!(config.settings["threshold"], "50kB, 100kB".into());
    let error = read(&file.replace("50kB, 100kB", "100kB, 50kB")).unwrap_err();
    assert!(error.contains("ascending"), "{error}");
}

#[test]
fn an_unknown_key() {
    assert_snapshot!(error_with("peer =", "pear ="), @"gateway.toml:5: unknown key 'pear' in the file; did you mean 'peer'? (airtcp show gateway)");
}

#[test]
fn a_bound_on_memory_that_no_scheme_can_keep() {
    assert_snapshot!(error_with("scheme =", "max_memory = \"16KiB\"\nscheme ="), @"gateway.toml:3: bad value for 'max_memory' in the file: 16KiB is too small; write 128KiB or more (airtcp show gateway)");
}

#[test]
fn parameters_that_depend_on_each_other_are_checked_together() {
    let with = |parameters: &str| read(&format!("{FILE}[gsnoop]\n{parameters}"));
    assert!(with("hello = \"2s\"\npeer_timeout = \"10s\"\n").is_ok());
    let error = with("hello = \"2s\"\n").unwrap_err();
    assert!(error.contains("'hello'") && error.contains("write 4s or more"), "{error}");
}

#[test]
fn an_unknown_scheme() {
    assert_snapshot!(error_with("\"gsnoop\"", "\"gsnop\""), @"gateway.toml:3: there is no scheme 'gsnop' (scheme in the file); did you mean 'gsnoop'?");
}

#[test]
fn an_unknown_parameter() {
    assert_snapshot!(read(&format!("{FILE}[gsnoop]\ntreis = 3\n")).unwrap_err(), @"gateway.toml:8: unknown key 'treis' in [gsnoop]; did you mean 'tries'? (airtcp show gsnoop)");
}

#[test]
fn parameters_of_another_scheme() {
    assert_snapshot!(read(&format!("{FILE}[snoop]\ntries = 3\n")).unwrap_err(), @"gateway.toml:7: unknown key 'snoop' in the file; did you mean 'gsnoop'? (airtcp show gateway)");
}

#[test]
fn a_bad_value_of_a_parameter() {
    assert_snapshot!(read(&format!("{FILE}[gsnoop]\nhold = \"50\"\n")).unwrap_err(), @r#"gateway.toml:8: bad value for 'hold' in [gsnoop]: '50' has no known unit; write for example "25ms"; units are ns, us, µs, ms, s, min (airtcp show gsnoop)"#);
}

#[test]
fn a_peer_without_a_port() {
    assert_snapshot!(error_with("10.9.0.2:4791", "10.9.0.2"), @"gateway.toml:5: bad value for 'peer' in the file: '10.9.0.2' is not an address; write an address and a port: 10.9.0.2:4791 or [fd00::2]:4791 (airtcp show gateway)");
}

#[test]
fn a_missing_peer() {
    assert_snapshot!(error_with("peer = \"10.9.0.2:4791\"", ""), @r#"gateway.toml:1: missing key 'peer' in the file; write for example peer = "10.9.0.2:4791""#);
}

#[test]
fn a_missing_key() {
    assert_snapshot!(error_with("key =", "# key ="), @"gateway.toml:5: bad value for 'peer' in the file: a gateway with a peer needs a key, so that nobody else can pretend to be the peer: set `key`; make one with `airtcp key /etc/airtcp/link.key` and copy it to the other router. On a link where nobody else can send, set `insecure = true` instead (airtcp show gateway)");
}

#[test]
fn a_gateway_without_a_key_says_so() {
    let config = read(&FILE.replace("key = \"/etc/airtcp/link.key\"", "insecure = true")).unwrap();
    assert_eq!((config.insecure, config.key, config.hops), (true, None, 1));
}

#[test]
fn a_key_that_is_being_changed_and_a_peer_behind_routers() {
    let config = read(&format!("{FILE}previous_key = \"old.key\"\nhops = 3\n")).unwrap();
    assert_eq!((config.previous_key, config.hops, config.insecure), (Some("old.key".into()), 3, false));
}

#[test]
fn a_missing_link() {
    assert_snapshot!(error_with("link = \"wlan0\"", ""), @r#"gateway.toml:1: missing key 'link' in the file; write for example link = "wlan0""#);
}

#[test]
fn a_link_that_no_interface_can_be() {
    assert_snapshot!(error_with("\"wlan0\"", "\"wlan 0\""), @"gateway.toml:4: bad value for 'link' in the file: 'wlan 0' cannot be a network interface: use a name that `ip link` shows (airtcp show gateway)");
}

#[test]
fn a_bad_unit() {
    assert_snapshot!(read(&format!("{FILE}max_memory = \"64Mb\"\n")).unwrap_err(), @r#"gateway.toml:7: bad value for 'max_memory' in the file: '64Mb' has no known unit; write for example "75kB"; units are B, kB, MB, GB, KiB, MiB, GiB (airtcp show gateway)"#);
}

#[test]
fn an_unknown_schema() {
    assert_snapshot!(error_with("schema = 1", "schema = 2"), @"gateway.toml:2: schema 2 is not known here; this version reads 'schema = 1'");
}

#[test]
fn text_that_is_not_toml() {
    assert_snapshot!(error_with("schema = 1", "schema 1"), @"gateway.toml:2: not valid TOML: key with no value, expected `=`");
}

/// One end of a trunk to a site three routers away.
const TRUNK: &str = r#"schema = 1
scheme = "decoupling"
link = "wan0"
peer = "198.51.100.7:4791"
hops = 4
key = "/etc/airtcp/site.key"
networks = ["10.7.0.0/16", "fd07::/48"]
direction = "out"

[decoupling]
controls = 2
queue = { kind = "fq-codel", target = "20ms" }
"#;

#[test]
fn a_trunk_leads_to_the_networks_of_a_peer_some_routers_away() {
    let config = read(TRUNK).unwrap();
    assert_eq!((config.hops, config.direction, config.networks.len()), (4, Direction::Out, 2));
    assert!(matches!(config.settings["queue"], Value::Table(_)));
    assert_eq!(read(&TRUNK.replace("direction = \"out\"\n", "")).unwrap().direction, Direction::Both);
    for setting in ["headers = \"tcp\"", "carriage = \"tunnel\""] {
        assert!(read(&TRUNK.replace("controls = 2", setting)).is_ok(), "{setting}");
    }
}

#[test]
fn a_trunk_that_cannot_be() {
    let with = |from: &str, to: &str| read(&TRUNK.replacen(from, to, 1)).expect_err("an error");
    assert_snapshot!(with("\"out\"", "\"up\""), @r#"gateway.toml:8: bad value for 'direction' in the file: 'up' is no direction; write "both", "out" or "in" (airtcp show gateway)"#);
    assert_snapshot!(with("controls = 2", "headers = \"tcp\"\ncarriage = \"tunnel\""), @"gateway.toml:11: bad value for 'headers' in [decoupling]: in a tunnel data and header packets are one flow, of messages; write udp, or carriage direct (airtcp show decoupling)");
    let hub = TRUNK.replace("controls", "headers = \"tcp\"\ncontrols").replace("peer = \"198.51.100.7:4791\"\nhops = 4\nkey = \"/etc/airtcp/site.key\"\nnetworks = [\"10.7.0.0/16\", \"fd07::/48\"]\n", "");
    let peer = |rest: &str| format!("{hub}\n[[peer]]\nname = \"east\"\nkey = \"/etc/airtcp/east.key\"\n{rest}");
    assert_eq!(read(&peer("peer = \"198.51.100.7:4791\"\n")).map(|config| config.peers.len()).unwrap(), 1);
    assert_snapshot!(read(&peer("")).expect_err("an error"), @"gateway.toml:6: impossible topology: bad value for 'headers': as segments the control TCPs need the address of the other gateway: set `peer`, or write udp");
    assert_snapshot!(with("peer = \"198.51.100.7:4791\"\n", ""), @r#"gateway.toml:1: missing key 'peer' in the file; write for example peer = "10.9.0.2:4791""#);
    assert_snapshot!(error_with("link =", "direction = \"in\"\nlink ="), @"gateway.toml:4: bad value for 'direction' in the file: 'gsnoop' works both ways: leave it out (airtcp show gateway)");
}

/// A host that has joined a Wi-Fi network.
const STATION: &str = "schema = 1\nscheme = \"as-tcp\"\nlink = \"wlan0\"\nrole = \"station\"\n";

#[test]
fn a_station_and_its_access_point_need_no_peer() {
    let role = |file: &str| read(file).map(|config| (config.role, config.peer)).unwrap();
    assert_eq!(role(STATION), (Some(Role::Station), None));
    assert_eq!(role(&STATION.replace("station", "access-point")), (Some(Role::AccessPoint), None));
}

#[test]
fn a_role_that_cannot_be() {
    let with = |from: &str, to: &str| read(&STATION.replacen(from, to, 1)).expect_err("an error");
    assert_snapshot!(with("\"station\"", "\"ap\""), @r#"gateway.toml:4: bad value for 'role' in the file: 'ap' is no role; write "station" or "access-point" (airtcp show gateway)"#);
    assert_snapshot!(with("role", "peer = \"10.9.0.2\"\nrole"), @"gateway.toml:4: bad value for 'peer' in the file: what has a `role` sends no messages to a peer: leave out `peer` (airtcp show gateway)");
    assert_snapshot!(with("role = \"station\"", ""), @r#"gateway.toml:1: missing key 'role' in the file; write for example role = "station""#);
    assert_snapshot!(error_with("link =", "role = \"station\"\nlink ="), @"gateway.toml:4: bad value for 'role' in the file: 'gsnoop' is the same on both sides: leave it out (airtcp show gateway)");
}

/// A hub: one peer at a known address, one that is known by its key wherever it is.
const HUB: &str = r#"schema = 1
scheme = "local-recovery"
link = "wlp0s20f3"
rate = "20Mbit"
shared_rate = "50Mbit"

[[peer]]
name = "east"
peer = "10.9.0.2"
key = "/etc/airtcp/east.key"

[[peer]]
name = "west"
key = "/etc/airtcp/west.key"
networks = ["10.2.0.0/16", "fd02::/48"]
rate = "5Mbit"
hops = 4
"#;

fn hub_error(from: &str, to: &str) -> String {
    assert!(HUB.contains(from), "the file does not contain '{from}'");
    read(&HUB.replacen(from, to, 1)).expect_err("an error")
}

#[test]
fn a_hub_has_a_table_for_each_peer() {
    let config = read(HUB).unwrap();
    let [east, west] = &config.peers[..] else { panic!("{config:?}") };
    assert_eq!((east.name.as_str(), east.address), ("east", Some("10.9.0.2:4791".parse().unwrap())));
    assert_eq!((east.hops, east.facts.rate_bps, east.networks.len()), (1, Some(20_000_000), 0));
    assert_eq!(
        (west.name.as_str(), west.address, west.key.clone()),
        ("west", None, Some("/etc/airtcp/west.key".into()))
    );
    assert_eq!((west.hops, west.facts.rate_bps), (4, Some(5_000_000)));
    assert_eq!(west.networks, ["10.2.0.0/16", "fd02::/48"].map(|network| network.parse().unwrap()));
    assert_eq!((config.facts.rate_bps, config.shared_rate_bps), (Some(20_000_000), Some(50_000_000)));
    assert_eq!((config.peer, config.listen_address()), (None, Some("0.0.0.0:4791".parse().unwrap())));
    // Room for the names of the devices.
    assert_eq!(config.name, "wlp0s20f");
}

#[test]
fn what_peers_must_not_share() {
    assert_snapshot!(hub_error("\"west\"", "\"east\""), @"gateway.toml:13: bad value for 'name' in [[peer]] east: two peers are called 'east': give each a name of its own (airtcp show gateway)");
    assert_snapshot!(hub_error("west.key", "east.key"), @"gateway.toml:14: bad value for 'key' in [[peer]] west: the peers 'east' and 'west' have the same key, so each could pretend to be the other: make one for each (airtcp show gateway)");
    assert_snapshot!(hub_error("key = \"/etc/airtcp/west.key\"", "peer = \"10.9.0.2:4791\"\nkey = \"w.key\""), @"gateway.toml:14: bad value for 'peer' in [[peer]] west: the peers 'east' and 'west' have the same address: correct one, or leave out one of the two (airtcp show gateway)");
    assert_snapshot!(hub_error("name = \"east\"", "name = \"east\"\nnetworks = [\"10.2.3.0/24\"]"), @"gateway.toml:16: bad value for 'networks' in [[peer]] west: the network 10.2.0.0/16 of the peer 'west' overlaps 10.2.3.0/24 of 'east': packets go to one of them only (airtcp show gateway)");
}

#[test]
fn what_a_peer_needs() {
    assert_snapshot!(hub_error("key = \"/etc/airtcp/east.key\"\n", ""), @"gateway.toml:7: bad value for 'key' in [[peer]] east: the peer 'east' has no key, so anybody could pretend to be it: set its `key`; make one with `airtcp key /etc/airtcp/link.key` and copy it to the other router (airtcp show gateway)");
    assert_snapshot!(hub_error("key = \"/etc/airtcp/west.key\"\n", ""), @"gateway.toml:12: bad value for 'peer' in [[peer]] west: the peer 'west' has no address, so it is known by its key, and it has none: set its `key`; make one with `airtcp key /etc/airtcp/link.key` and copy it to the other router (airtcp show gateway)");
    assert_snapshot!(hub_error("name = \"east\"\n", ""), @r#"gateway.toml:7: missing key 'name' in [[peer]]; write for example name = "east""#);
    assert_snapshot!(hub_error("hops = 4", "hop = 4"), @"gateway.toml:17: unknown key 'hop' in [[peer]] west; did you mean 'hops'? (airtcp show gateway)");
    assert_snapshot!(hub_error("10.2.0.0/16", "10.2.0.1/16"), @"gateway.toml:15: bad value for 'networks' in [[peer]] west: '10.2.0.1/16' has bits set behind its length; the network is 10.2.0.0/16 (airtcp show gateway)");
    assert_snapshot!(hub_error("10.9.0.2", "wlan0"), @"gateway.toml:9: bad value for 'peer' in [[peer]] east: 'wlan0' is not an address; write an address and a port: 10.9.0.2:4791 or [fd00::2]:4791 (airtcp show gateway)");
}

#[test]
fn what_a_hub_does_not_have() {
    assert_snapshot!(hub_error("rate = \"20Mbit\"", "key = \"/etc/airtcp/link.key\""), @"gateway.toml:4: bad value for 'key' in the file: `key` holds for one peer: with several, set it in each [[peer]] (airtcp show gateway)");
    assert_snapshot!(hub_error("local-recovery", "snoop"), @"gateway.toml:7: bad value for 'peer' in the file: 'snoop' works alone at its end of a link: leave out the peers (airtcp show gateway)");
    assert_snapshot!(hub_error("rate = \"20Mbit\"", "name = \"much-too-long\""), @"gateway.toml:4: bad value for 'name' in the file: 'much-too-long' cannot name a gateway: use 1 to 8 letters, digits, '-' or '_' (airtcp show gateway)");
    assert_snapshot!(hub_error("rate = \"20Mbit\"", "max_memory = \"200KiB\""), @"gateway.toml:4: bad value for 'max_memory' in the file: `max_memory` is divided among 2 peers, and each needs 128KiB: raise it (airtcp show gateway)");
    let shared = read(&format!("{FILE}shared_rate = \"50Mbit\"\n")).unwrap_err();
    assert_snapshot!(shared, @"gateway.toml:7: bad value for 'shared_rate' in the file: `shared_rate` is divided among several peers: with one, set `rate` (airtcp show gateway)");
    assert_snapshot!(read(&FILE.replace("peer = \"10.9.0.2:4791\"", "peer = [\"10.9.0.2:4791\"]")).unwrap_err(), @"gateway.toml:5: 'peer' in the file takes an address and port, not a list");
}

#[test]
fn the_examples_of_the_page_on_many_peers_are_read() {
    let page = include_str!("../../../docs/many-peers.md");
    let files: Vec<&str> = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let read: Vec<_> = files.iter().map(|file| read(file).unwrap_or_else(|error| panic!("{error}\n{file}"))).collect();
    let peers: Vec<usize> = read.iter().map(|config| config.peers.len()).collect();
    assert_eq!(peers, [3, 0, 2]);
    assert_eq!(read[0].peers[2].address, None);
    assert_eq!(read[2].shared_rate_bps, Some(97_000_000));
}

#[test]
fn metrics_are_told_to_this_machine_alone_unless_an_address_is_named() {
    let metrics =
        |value: &str| read(&format!("{FILE}metrics = {value}\n")).map(|config| config.metrics.map(|at| at.to_string()));
    assert_eq!(read(FILE).unwrap().metrics, None);
    assert_eq!(metrics("9791").unwrap().as_deref(), Some("127.0.0.1:9791"));
    assert_eq!(metrics("\"10.1.0.1:9791\"").unwrap().as_deref(), Some("10.1.0.1:9791"));
    for wrong in ["\"somewhere\"", "99999", "true"] {
        let error = metrics(wrong).unwrap_err();
        assert!(error.contains("gateway.toml:7") && error.contains("9791"), "{error}");
    }
}

#[test]
fn a_link_is_watched_by_a_file_that_names_no_other_end_and_only_so() {
    let text = "schema = 1\nscheme = \"local-recovery\"\nlink = \"wlan0\"\n";
    assert!(read(text).expect_err("to run it needs one").contains("peer"));
    let scratch = airtcp_test_support::Scratch::new("observe");
    let file = scratch.path().join("gateway.toml");
    std::fs::write(&file, text).unwrap();
    let config = gateway_file::load_to_observe(&file, &Catalogue::BUILT_IN).unwrap();
    assert_eq!((config.link.as_str(), config.peer), ("wlan0", None));
    // All else is as strict.
    std::fs::write(&file, format!("{text}ratte = \"20Mbit\"\n")).unwrap();
    let error = gateway_file::load_to_observe(&file, &Catalogue::BUILT_IN).expect_err("a wrong key");
    assert!(error.to_string().contains("'rate'"), "{error}");
}

/// What is said of key files, with whatever was written into `key`.
fn start_error(scratch: &airtcp_test_support::Scratch, peers: &str) -> String {
    let file = scratch.path().join("gateway.toml");
    std::fs::write(&file, format!("schema = 1\nscheme = \"gsnoop\"\nlink = \"wlan0\"\n{peers}")).unwrap();
    let error = gateway_file::load_to_start(&file, &Catalogue::BUILT_IN).expect_err("no usable key");
    error.to_string().replace(&scratch.path().display().to_string(), "DIR")
}

#[test]
fn a_key_file_that_cannot_be_used_is_refused_at_the_line_that_names_it() {
    let scratch = airtcp_test_support::Scratch::new("keys");
    let key = scratch.path().join("link.key");
    let one = format!("peer = \"10.9.0.2:4791\"\nkey = \"{}\"\n", key.display());
    let error = start_error(&scratch, &one);
    assert!(error.starts_with("DIR/gateway.toml:5: ") && error.contains("airtcp key"), "{error}");
    std::fs::write(&key, "short").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_snapshot!(start_error(&scratch, &one), @"DIR/gateway.toml:5: bad value for 'key' in the file: the key in DIR/link.key has 5 bytes; at least 16 are needed; make one with `airtcp key DIR/link.key` and copy it to the other router (airtcp show gateway)");
    let peers = format!(
        "[[peer]]\nname = \"east\"\npeer = \"10.9.0.2\"\nkey = \"{0}\"\n[[peer]]\nname = \"west\"\npeer = \"10.9.0.3\"\nkey = \"{0}2\"\n",
        key.display()
    );
    std::fs::write(&key, "long enough to be a secret").unwrap();
    let error = start_error(&scratch, &peers);
    assert!(error.starts_with("DIR/gateway.toml:11: ") && error.contains("link.key2"), "{error}");
}

#[test]
fn a_name_an_address_and_a_priority_are_refused_at_their_lines() {
    for (line, key) in
        [("name = \"much too long\"", "name"), ("listen = \"[::]:4791\"", "listen"), ("realtime = 100", "realtime")]
    {
        let error = read(&format!("{FILE}{line}\n")).expect_err(line);
        assert!(error.starts_with("gateway.toml:7: ") && error.contains(&format!("'{key}'")), "{error}");
    }
}
