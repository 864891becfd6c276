//! Our socket in the simulator.

use airtcp_core::parameters::Parameters;
use airtcp_core::{Duration, Rate};
use airtcp_link::LinkSettings;
use airtcp_schemes::socket::SocketChoice;
use airtcp_sim::{Flow, Outcome, RunSettings, Topology};
use own_scheme::fixed_window;

/// One flow over 100 Mbit/s and a round trip of 40 ms, a hundredth of whose data is lost.
fn run(socket: SocketChoice) -> Outcome {
    let mut topology = Topology::new();
    let [from, to] = ["server", "client"].map(|name| topology.node(name));
    let mut there = LinkSettings { rate: Rate::from_bps(100_000_000).into(), ..LinkSettings::default() };
    there.delay = Duration::from_millis(20).into();
    let back = there.clone();
    there.set("loss", &"1%".into()).expect("a loss");
    topology.link("air", from, to, there, back);
    topology.flow(Flow { socket, ..Flow::new("bulk", from, to) });
    let outcome = topology.run(&RunSettings::default()).expect("a network that runs");
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

fn mbit(outcome: &Outcome) -> f64 {
    outcome.flows[0].measured_bytes as f64 * 8e3 / outcome.measured.as_nanos() as f64
}

#[test]
fn a_window_leaves_in_each_round_trip_whatever_is_lost() {
    let choice = fixed_window::ENTRY.with([("window", "100")]).expect("good settings");
    let (fixed, tcp) = (run(choice), run(SocketChoice::default()));
    // 100 segments of 1448 bytes in 40 ms are 29 Mbit/s; repairs cost a part of them.
    assert!((24.0..29.0).contains(&mbit(&fixed)), "{} Mbit/s", mbit(&fixed));
    assert!(mbit(&tcp) < mbit(&fixed) / 2.0, "{} Mbit/s", mbit(&tcp));
}

#[test]
fn what_it_counts_is_in_the_outcome() {
    let outcome = run(SocketChoice::new(fixed_window::ENTRY, (fixed_window::ENTRY.settings)()).expect("defaults"));
    let counted = outcome.flows[0].control.iter().find(|(name, _)| *name == "acks");
    assert!(counted.is_some_and(|(_, acks)| *acks > 1000), "{counted:?}");
}
