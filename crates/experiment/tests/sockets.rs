//! `socket` and `socket_options` in files.

use airtcp_experiment::catalogue::Catalogue;
use airtcp_experiment::results::ceiling_bps;
use airtcp_experiment::scenario::FlowSpec;
use airtcp_experiment::simulator::Simulator;
use airtcp_experiment::{NotRun, World};

use crate::common::read_with;
use airtcp_schemes::SOCKETS;
use airtcp_schemes::papers::decoupling::{datagrams, socket};
use airtcp_schemes::socket::SocketChoice;
use airtcp_tcp::Config;
use std::collections::BTreeSet;

const FILE: &str = r#"schema = 1
duration = "5s"

[nodes]
a = {}
b = {}

[links.air]
between = ["a", "b"]
rate = "10Mbit"

[flows.bulk]
from = "a"
to = "b"
SOCKET
"#;

fn flow(keys: &str, control: bool) -> Result<FlowSpec, String> {
    let text = FILE.replace("SOCKET", keys);
    let text = if control { text.replace("schema = 1", "schema = 1\ncontrol = true") } else { text };
    let scenario = read_with(&text, &[], &Catalogue::BUILT_IN).map_err(|error| error.to_string())?;
    Ok(scenario.cells[0].scenario.flows[0].clone())
}

fn choice(socket: &str, control: bool) -> Result<SocketChoice, String> {
    flow(socket, control).map(|flow| flow.socket)
}

#[test]
fn a_host_is_linux_unless_the_flow_or_its_socket_says_otherwise() {
    let config =
        |keys: &str| flow(keys, false).map(|flow| Config { controller: Config::default().controller, ..flow.config });
    assert_eq!(config(""), Ok(Config::default()));
    assert_eq!(config("habits = \"linux\"\ntso = false"), Ok(Config { tso: false, ..Config::default() }));
    assert_eq!(config("habits = \"none\""), Ok(Config::without_habits()));
    assert_eq!(config("tso = true\nhabits = \"none\""), Ok(Config { tso: true, ..Config::without_habits() }));
    // What is no host's TCP has none of them, but where it is left out.
    let decoupling = "socket = \"decoupling\"";
    assert_eq!(config(decoupling), Ok(Config::without_habits()));
    assert_eq!(config(&format!("{decoupling}\nhabits = \"linux\"")), Ok(Config::default()));
    assert!(flow(decoupling, true).unwrap().config.tso);
    let refused = flow("habits = \"bsd\"", false).unwrap_err();
    assert!(refused.contains("'habits' in [flows.bulk]") && refused.contains("linux"), "{refused}");
}

#[test]
fn a_flow_is_carried_by_what_its_socket_says() {
    assert_eq!(choice("", false), Ok(SocketChoice::default()));
    let decoupling = choice("socket = \"decoupling\"\nsocket_options = { vmss = 3000, holes = \"first\" }", false);
    assert_eq!(decoupling, Ok(socket::ENTRY.with([("vmss", "3000"), ("holes", "first")]).unwrap()));
    let streaming = choice("socket = \"streaming\"\nsocket_options = { packet = 1000, controls = 2 }", false);
    assert_eq!(streaming, Ok(datagrams::STREAMING.with([("packet", "1000"), ("controls", "2")]).unwrap()));
    assert_ne!(streaming, Ok(datagrams::STREAMING.with([("packet", "1000")]).unwrap()));
}

#[test]
fn in_control_runs_a_circuit_is_left_out_and_other_traffic_stays() {
    for socket in ["socket = \"decoupling\"", "socket = \"streaming\""] {
        assert_eq!(choice(socket, true), Ok(SocketChoice::default()));
    }
    let datagram = choice("socket = \"datagram\"\nsocket_options = { rate = \"1Mbit\" }", true);
    assert_eq!(datagram, Ok(datagrams::DATAGRAM.with([("rate", "1Mbit")]).unwrap()));
}

#[test]
fn what_only_live_runs_have_is_skipped_by_the_simulator_with_a_sentence() {
    for (socket, sentence) in [
        ("socket = \"quic\"", "flow 'bulk': the simulator has no QUIC; run it with --live"),
        ("socket = \"wireguard\"\nsocket_options = { mtu = 1380 }", "flow 'bulk': the simulator has no WireGuard;"),
    ] {
        let scenario = read_with(&FILE.replace("SOCKET", socket), &[], &Catalogue::BUILT_IN).unwrap();
        match Simulator::default().run(&scenario.cells[0].scenario, 1) {
            Err(NotRun::Skipped(said)) => assert!(said.starts_with(sentence), "{said}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_ceiling_is_for_packets_of_the_sockets_own_size_and_ends_at_its_rate() {
    let ceiling = |socket: &str| {
        let scenario = read_with(&FILE.replace("SOCKET", socket), &[], &Catalogue::BUILT_IN).unwrap();
        ceiling_bps(&scenario.cells[0].scenario, 1).unwrap().round() as u64
    };
    assert_eq!(ceiling(""), 10_000_000 * 1448 / 1500);
    // 50 datagrams a second of 172 bytes: 28 of 200 are headers.
    assert_eq!(ceiling("socket = \"datagram\"\nsocket_options = { every = \"20ms\", packet = 200 }"), 50 * 172 * 8);
    assert_eq!(ceiling("socket = \"datagram\"\nsocket_options = { rate = \"80kbit\", packet = 200 }"), 68_800);
    assert_eq!(ceiling("socket = \"datagram\"\nsocket_options = { rate = \"1Gbit\", packet = 200 }"), 8_600_000);
    // 1420 bytes before the tunnel, 60 more behind it.
    assert_eq!(ceiling("socket = \"wireguard\""), 10_000_000 * 1368 / 1480);
    assert_eq!(ceiling("socket = \"quic\""), 9_594_595, "1420 of 1480 bytes");
}

#[test]
fn every_socket_has_a_name_of_its_own_and_names_the_one_that_replaces_it() {
    for (index, entry) in SOCKETS.iter().enumerate() {
        assert!(SOCKETS[..index].iter().all(|other| other.slug != entry.slug), "{}", entry.slug);
        assert!(SOCKETS.iter().any(|other| other.slug == entry.control), "{}", entry.slug);
        let names: Vec<&str> = entry.fields().iter().map(|field| field.name).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), once.len(), "a parameter of '{}' hides another: {names:?}", entry.slug);
    }
}

#[test]
fn what_a_socket_cannot_be_is_refused_with_what_to_write() {
    for (socket, wanted) in [
        ("socket = \"decupling\"", "did you mean 'decoupling'"),
        ("socket_options = { vmss = 1500 }", "the socket 'tcp' has no options"),
        ("socket = \"decoupling\"\nsocket_options = { hole = \"all\" }", "did you mean 'holes'"),
        ("socket = \"decoupling\"\nsocket_options = { vmss = 1 }", "write 64 to 65495"),
        ("socket = \"datagram\"", "without a circuit nothing else says how fast"),
        ("socket = \"datagram\"\nsocket_options = { rate = \"1Mbit\", every = \"1ms\" }", "leave one of the two out"),
        ("socket = \"datagram\"\nsocket_options = { every = \"1ns\" }", "write 10us or more"),
        ("socket = \"datagram\"\nsocket_options = { rate = \"1Mbit\", data_dscp = 64 }", "a code point is 0 to 63"),
        ("socket = \"wireguard\"\nsocket_options = { mtu = 1000 }", "1280 to 9000 bytes"),
        ("socket = \"quic\"\nsocket_options = { mtu = 1000 }", "has no options"),
        ("socket = \"streaming\"\nsize = \"1MB\"", "datagrams get lost"),
        ("socket = \"streaming\"\nsocket_options = { packet = 20 }", "64 to 65535 bytes"),
    ] {
        let error = choice(socket, false).unwrap_err();
        assert!(error.contains(wanted), "{socket}: {error}");
    }
}
