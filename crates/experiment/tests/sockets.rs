//! `socket` and `socket_options` in files.

use airtcp_experiment::catalogue::Catalogue;

use crate::common::read_with;
use airtcp_schemes::SOCKETS;
use airtcp_schemes::papers::decoupling::{datagrams, socket};
use airtcp_schemes::socket::SocketChoice;

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

fn choice(socket: &str, control: bool) -> Result<SocketChoice, String> {
    let text = FILE.replace("SOCKET", socket);
    let text = if control { text.replace("schema = 1", "schema = 1\ncontrol = true") } else { text };
    let scenario = read_with(&text, &[], &Catalogue::BUILT_IN).map_err(|error| error.to_string())?;
    Ok(scenario.cells[0].scenario.flows[0].socket.clone())
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
fn every_socket_has_a_name_of_its_own_and_names_the_one_that_replaces_it() {
    for (index, entry) in SOCKETS.iter().enumerate() {
        assert!(SOCKETS[..index].iter().all(|other| other.slug != entry.slug), "{}", entry.slug);
        assert!(SOCKETS.iter().any(|other| other.slug == entry.control), "{}", entry.slug);
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
        ("socket = \"streaming\"\nsize = \"1MB\"", "datagrams get lost"),
        ("socket = \"streaming\"\nsocket_options = { packet = 20 }", "56 to 65535 bytes"),
    ] {
        let error = choice(socket, false).unwrap_err();
        assert!(error.contains(wanted), "{socket}: {error}");
    }
}
