//! What a scheme does, does not depend on how long its machine has been up: clocks of 32 bits in ms, in µs and in jiffies wrap
//! while it works, and a gateway may run for ten years.

use crate::common::{bulk, demo, tcp, uploads::Cell};
use airtcp_core::Duration;
use airtcp_schemes::{Placement, SCHEMES, SchemeEntry};
use airtcp_sim::{Outcome, RunSettings, Topology};

/// What the clock shows at the start of the run, in seconds: a little before something wraps.
const UPTIMES: [(&str, u64); 6] = [
    ("2^31 µs", (1 << 31) / 1_000_000),
    ("2^32 µs", (1 << 32) / 1_000_000),
    ("2^31 ms", (1 << 31) / 1_000),
    ("2^32 ms", (1 << 32) / 1_000),
    ("2^32 jiffies of 4 ms", (1 << 32) / 250),
    ("ten years", 10 * 365 * 86_400 + 3 * 86_400),
];

fn settings(uptime: Duration) -> RunSettings {
    RunSettings { duration: Duration::from_secs(3), warmup: Duration::from_secs(1), uptime, ..RunSettings::default() }
}

/// A network in which the scheme has something to do.
fn network(entry: &'static SchemeEntry) -> Topology {
    let air = [("loss", "3%"), ("reorder", "{ probability = \"1%\", delay = \"3ms\" }"), ("duplicate", "1%")];
    if entry.slug == "as-tcp" {
        let (mut topology, wlan, _) = Cell::of(3, &[]).topology();
        topology.scheme("scheme", wlan, entry);
        return topology;
    }
    let network = demo(&air).with_bulk("cubic").with_file(500_000, true);
    let (mut topology, [sender, receiver]) = (network.topology, network.ends);
    topology.flow(bulk("upload", receiver, sender, tcp(&[])));
    let boxes: Vec<_> = topology.nodes().collect();
    match entry.placement {
        Placement::Path => topology.scheme("scheme", [boxes[1], boxes[2]], entry),
        _ => topology.scheme("scheme", network.air, entry),
    }
    topology
}

fn run(topology: &Topology, uptime: Duration) -> Outcome {
    let outcome = topology.run(&settings(uptime)).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

#[test]
fn nothing_depends_on_how_long_a_machine_has_been_up() {
    let mut depend = Vec::new();
    for entry in SCHEMES {
        let topology = network(entry);
        // No machine runs a gateway in the moment of its own start.
        let young = run(&topology, Duration::from_secs(60));
        for (what, seconds) in UPTIMES {
            let old = run(&topology, Duration::from_secs(seconds));
            if old.flows != young.flows || old.schemes != young.schemes {
                depend.push(format!("{} {what} after the start of its machine", entry.slug));
            }
        }
    }
    assert!(depend.is_empty(), "not as in the first minute: {depend:#?}");
}
