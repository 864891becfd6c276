//! `socket` and `socket_options` in files.

use airtcp_experiment::catalogue::Catalogue;

use crate::common::read_with;
use airtcp_sim::FlowKind;

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

fn kind(socket: &str, control: bool) -> Result<FlowKind, String> {
    let text = FILE.replace("SOCKET", socket);
    let text = if control { text.replace("schema = 1", "schema = 1\ncontrol = true") } else { text };
    let scenario = read_with(&text, &[], &Catalogue::BUILT_IN).map_err(|error| error.to_string())?;
    Ok(scenario.cells[0].scenario.flows[0].socket.clone())
}

#[test]
fn a_flow_is_carried_by_what_its_socket_says() {
    assert_eq!(kind("", false), Ok(FlowKind::Tcp));
    let decoupling = kind("socket = \"decoupling\"\nsocket_options = { vmss = 3000, holes = \"first\" }", false);
    let Ok(FlowKind::Decoupling(settings)) = decoupling else { panic!("{decoupling:?}") };
    assert_eq!((settings.circuit.vmss, settings.data.holes), (3000, airtcp_tcp::Holes::First));
    let streaming = kind("socket = \"streaming\"\nsocket_options = { packet = 1000, controls = 2 }", false);
    let Ok(FlowKind::Datagrams(settings)) = streaming else { panic!("{streaming:?}") };
    assert_eq!((settings.source.packet, settings.circuit.map(|circuit| circuit.controls)), (1000, Some(2)));
}

#[test]
fn in_control_runs_a_circuit_is_left_out_and_other_traffic_stays() {
    for socket in ["socket = \"decoupling\"", "socket = \"streaming\""] {
        assert_eq!(kind(socket, true), Ok(FlowKind::Tcp));
    }
    let datagram = kind("socket = \"datagram\"\nsocket_options = { rate = \"1Mbit\" }", true);
    assert!(matches!(datagram, Ok(FlowKind::Datagrams(_))), "{datagram:?}");
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
        let error = kind(socket, false).unwrap_err();
        assert!(error.contains(wanted), "{socket}: {error}");
    }
}
