//! A host, two routers and a server in a row; what a home router does, and a file through both.
// Each test that takes this in uses a part of it.
#![allow(dead_code)]

use airtcp_core::Duration;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::testbed::{Exec, Family, LinkSpec, NodeSpec, Testbed, TestbedSpec};
use airtcp_linux::traffic::{self, FlowSpec, Outcome};

/// The nodes between which a home's links lie, and its lossy hop `wlan0` of 22 Mbit/s and 2 % loss.
pub fn home() -> Testbed {
    let lan = [("rate", "100Mbit"), ("delay", "5ms")];
    let air = [("rate", "22Mbit"), ("delay", "5ms"), ("loss", "2%")];
    row(["laptop", "a", "b", "server"], [("lan", &lan), ("wlan0", &air), ("wan", &lan)])
}

/// Rules of a home router: `inside` to `outside`, masqueraded, and nothing else but the gateways' messages.
pub fn home_router(inside: &str, outside: &str) -> String {
    format!(
        "table inet home {{
           chain input {{ type filter hook input priority 0; policy drop
             ct state established,related accept; iifname lo accept; meta l4proto {{ icmp, ipv6-icmp }} accept
             iifname wlan0 udp dport 4791 accept; }}
           chain forward {{ type filter hook forward priority 0; policy drop
             ct state invalid counter drop; ct state established,related counter accept
             iifname {inside} oifname {outside} counter accept; counter; }}
           chain post {{ type nat hook postrouting priority 100; oifname {outside} counter masquerade; }}
         }}\n"
    )
}

/// Runs a command on a node; its exit code and what it says.
pub fn run_on(testbed: &Testbed, node: &str, program: &str, words: &[&str]) -> (Option<i32>, String) {
    let log = std::env::temp_dir().join(format!("{}{node}.output", testbed.prefix()));
    let mut program = testbed.start(node, &Exec::new(program).args(words).log(&log)).expect("it starts");
    let code = program.wait().expect("it ends").code();
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    (code, said)
}

/// Loads rules of nftables on a node.
pub fn load_rules(testbed: &Testbed, node: &str, rules: &str) {
    let (code, said) = run_on(testbed, node, "nft", &[rules]);
    assert_eq!(code, Some(0), "{said}");
}

/// All of a node's network that a gateway could have changed.
pub fn network_state(testbed: &Testbed, node: &str) -> String {
    let looks: [&[&str]; 4] = [&["rule"], &["-6", "rule"], &["route", "show", "table", "all"], &["-brief", "link"]];
    let ip: String = looks.iter().map(|words| run_on(testbed, node, "ip", words).1).collect();
    ip + &run_on(testbed, node, "nft", &["-s", "list", "ruleset"]).1
}

/// Seconds that a file of so many bytes takes from laptop to server, all of it intact.
pub fn upload(testbed: &Testbed, seed: u64, bytes: u64) -> f64 {
    let origin = testbed.emulator().restart(seed, None, Duration::ZERO).expect("the emulator runs");
    let end = |node| testbed.end(node, Family::V4).expect("a node");
    let spec = FlowSpec::transfer("file", end("laptop"), end("server"), "cubic", bytes, Duration::from_secs(60));
    let result = traffic::start(spec, origin).expect("a thread").join().expect("sockets");
    assert!(result.outcome == Outcome::Complete && result.stream_is_intact(), "{:?}", result.outcome);
    let [from, until] = [result.connected_at, result.last_byte_at].map(|at| at.expect("a whole transfer"));
    until.saturating_sub(from).as_nanos() as f64 / 1e9
}

/// The two nodes in the middle forward; each link leads to the next node and has its settings in both directions.
pub fn row(nodes: [&str; 4], links: [(&str, &[(&str, &str)]); 3]) -> Testbed {
    let settings = |keys: &[(&str, &str)]| {
        let mut settings = LinkSettings::default();
        keys.iter().for_each(|(key, value)| settings.set(key, &(*value).into()).expect("a setting"));
        settings
    };
    let links = links.iter().zip(nodes.windows(2));
    let spec = TestbedSpec {
        nodes: nodes.map(|name| NodeSpec { name: name.into(), forwards: nodes[1..3].contains(&name) }).into(),
        links: links
            .map(|((name, keys), ends)| LinkSpec::new(name, [ends[0], ends[1]], settings(keys), settings(keys)))
            .collect(),
        default_controller: "cubic".into(),
        emulator: EmulatorOptions::default(),
    };
    Testbed::up(spec).expect("a testbed")
}
