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
    has(&error("kind = \"decoupling\"", "kind = \"gsnoop\""), 31, "'gsnoop' is on a link or a cell; write on");
    has(&error("to = \"b\"\n", ""), 29, "missing key 'to'");
    has(&error("to = \"b\"", "to = \"a\""), 32, "a path ends at another node than it begins at");
    has(&error("to = \"b\"", "to = \"island\""), 32, "no links lead from 'a' to 'island'");
    has(&error("to = \"b\"", "to = \"bb\""), 32, "there is no node 'bb'");
    has(&error("vmss = 3000", "vmss = 70000"), 33, "write 64 to 65495");
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
