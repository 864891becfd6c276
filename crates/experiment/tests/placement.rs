//! Schemes along a path: `from` and `to` instead of `on`.

use crate::common::{given, read_with};
use airtcp_experiment::scenario::On;
use airtcp_experiment::{Catalogue, Simulator, World};

const FILE: &str = r#"
schema = 1
duration = "2s"

[nodes]
sender = {}
a = {}
b = {}
receiver = {}
island = {}

[links.lan]
between = ["sender", "a"]
rate = "100Mbit"

[links.air]
between = ["a", "b"]
rate = "10Mbit"
delay = "5ms"

[links.home]
between = ["b", "receiver"]
rate = "100Mbit"

[flows.bulk]
from = "sender"
to = "receiver"

[schemes.trunk]
kind = "decoupling"
from = "a"
to = "b"
vmss = 3000
"#;

fn error(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "the file does not contain '{from}'");
    let text = FILE.replacen(from, to, 1);
    read_with(&text, &[], &Catalogue::BUILT_IN).expect_err("an error").to_string()
}

fn has(message: &str, line: u32, wanted: &str) {
    assert!(message.contains(&format!(":{line}: ")) && message.contains(wanted), "{message}");
}

#[test]
fn a_trunk_leads_from_a_node_to_another_one() {
    let scenario = read_with(FILE, &[], &Catalogue::BUILT_IN).unwrap();
    let cell = &scenario.cells[0].scenario;
    assert_eq!(cell.schemes[0].on, On::Path(1, 2));
    assert_eq!(given(&cell.schemes[0]), [("vmss", "3000".into())]);
    let outcome = Simulator::default().run(cell, 1).unwrap();
    assert!(outcome.schemes[0].counters["header_packets"] > 100, "{:?}", outcome.schemes[0].counters);
}

#[test]
fn what_stands_beside_none_is_checked_and_left_out() {
    for sets in [&["schemes.trunk.kind=none"][..], &["control=true"]] {
        assert!(read_with(FILE, sets, &Catalogue::BUILT_IN).unwrap().cells[0].scenario.schemes.is_empty());
    }
    assert!(read_with(FILE, &["schemes.trunk.kind=none", "schemes.trunk.vmms=1"], &Catalogue::BUILT_IN).is_err());
}

#[test]
fn a_place_that_cannot_be_is_refused_at_its_line() {
    has(
        &error("from = \"a\"\nto = \"b\"", "on = \"air\""),
        31,
        "'decoupling' leads from a node to another one; write from and to",
    );
    has(&error("vmss = 3000", "on = \"air\""), 33, "write from and to");
    has(&error("kind = \"decoupling\"", "kind = \"snoop\""), 31, "'snoop' is on a link or a cell; write on");
    let both = error("kind = \"decoupling\"", "kind = \"gsnoop\"\non = \"air\"");
    has(&both, 32, "'gsnoop' is on a link or a cell, or leads from a node to another one; write on, or from and to");
    has(&error("to = \"b\"\n", ""), 29, "missing key 'to'");
    has(&error("to = \"b\"", "to = \"a\""), 32, "a path ends at another node than it begins at");
    has(&error("to = \"b\"", "to = \"island\""), 32, "no links lead from 'a' to 'island'");
    has(&error("to = \"b\"", "to = \"bb\""), 32, "there is no node 'bb'");
    has(&error("vmss = 3000", "vmss = 70000"), 33, "write 64 to 65495");
}

/// Two hosts at a router between two gateways, whose path is the only one that loses.
const BETWEEN: &str = r#"
schema = 1
duration = "5s"
nodes = { sender = {}, a = {}, m = {}, b = {}, receiver = {}, from = {}, to = {} }

[links.lan]
between = ["sender", "a"]

[links.near]
between = ["a", "m"]
delay = "3ms"

[links.air]
between = ["m", "b"]
rate = "10Mbit"
delay = "5ms"
loss = "5%"

[links.home]
between = ["b", "receiver"]

[links.in]
between = ["from", "m"]

[links.out]
between = ["b", "to"]

[flows.ours]
from = "sender"
to = "receiver"
socket = "datagram"
socket_options = { every = "5ms", packet = 1000 }

[flows.theirs]
from = "from"
to = "to"
socket = "datagram"
socket_options = { every = "5ms", packet = 1000 }

[schemes.repair]
kind = "local-recovery"
from = "a"
to = "b"
"#;

#[test]
fn gateways_along_a_path_repair_what_passes_both_and_see_nothing_else() {
    let scenario = read_with(BETWEEN, &[], &Catalogue::BUILT_IN).unwrap();
    let cell = &scenario.cells[0].scenario;
    assert_eq!(cell.schemes[0].on, On::Path(1, 3));
    let outcome = Simulator::default().run(cell, 1).unwrap();
    let lost = |flow: usize| {
        let count = |name: &str| outcome.flows[flow].control.iter().find(|(key, _)| key == name).unwrap().1;
        count("datagrams_lost") * 100 / count("datagrams")
    };
    assert_eq!([lost(0), lost(1).clamp(3, 7)], [0, lost(1)], "{outcome:?}");
    // A copy of each datagram, as each is a burst of its own; theirs would be as many again.
    let copies = outcome.schemes[0].counters["spare_copies"];
    assert!((900..1100).contains(&copies), "{copies}");
}

#[test]
fn two_schemes_at_one_place_are_refused() {
    let second = |text: &str| error("vmss = 3000", &format!("\n[schemes.second]\n{text}"));
    let to_the_end = second("kind = \"decoupling\"\nfrom = \"a\"\nto = \"receiver\"");
    has(&to_the_end, 34, "schemes 'trunk' and 'second' are both at node 'a' before the same link; one fits");
    has(&second("kind = \"gsnoop\"\non = \"air\""), 34, "schemes 'trunk' and 'second' are both on link 'air'");
    let back = format!("{FILE}\n[schemes.back]\nkind = \"decoupling\"\nfrom = \"b\"\nto = \"a\"\n");
    assert_eq!(read_with(&back, &[], &Catalogue::BUILT_IN).unwrap().cells[0].scenario.schemes.len(), 2);
    let behind = format!("{FILE}\n[schemes.second]\nkind = \"snoop\"\non = \"home\"\n");
    assert!(read_with(&behind, &[], &Catalogue::BUILT_IN).is_ok());
}
