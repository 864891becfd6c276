//! The networks that the tests run on.
#![allow(dead_code, reason = "each test file uses some of it")]

pub mod decoupling;
pub mod uploads;

use airtcp_core::Event;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_schemes::papers::gsnoop;
use airtcp_sim::dot11::CellSettings;
use airtcp_sim::{Flow, FlowOutcome, NodeId, Outcome, RunSettings, SchemeOutcome, Topology};
use airtcp_tcp::Config;

pub fn link(settings: &[(&str, &str)]) -> LinkSettings {
    let mut link = LinkSettings::default();
    for &(key, value) in settings {
        link.set(key, &value.into()).unwrap();
    }
    link
}

pub fn cell_settings(settings: &[(&str, &str)]) -> CellSettings {
    let mut cell = CellSettings::default();
    for &(key, value) in settings {
        cell.set(key, &value.into()).unwrap();
    }
    cell
}

/// Application bits of all flows in the measured time, in Mbit/s.
pub fn mbit(outcome: &Outcome) -> f64 {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.measured_bytes).sum();
    bytes as f64 * 8e3 / outcome.measured.as_nanos() as f64
}

/// A Linux host, or with `habits = "none"` one without its habits, as a flow of a file has it, with these settings.
pub fn tcp(settings: &[(&str, &str)]) -> Config {
    let is_plain = settings.contains(&NO_HABITS);
    let mut config = if is_plain { Config::without_habits() } else { Config::default() };
    for &(key, value) in settings.iter().filter(|setting| **setting != NO_HABITS) {
        config.set(key, &value.into()).unwrap();
    }
    config
}

/// The setting of hosts of the papers and of tests that count acknowledgments.
pub const NO_HABITS: (&str, &str) = ("habits", "none");

pub fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

pub fn bulk(name: &str, from: NodeId, to: NodeId, tcp: Config) -> Flow {
    Flow { tcp, ..Flow::new(name, from, to) }
}

/// sender - a - b - receiver as in the demo: 10 Mbit/s and 10 ms in the air, 60 ms in all.
pub struct Demo {
    pub topology: Topology,
    pub ends: [NodeId; 2],
    pub air: airtcp_sim::LinkId,
}

pub fn demo(air: &[(&str, &str)]) -> Demo {
    let mut topology = Topology::new();
    let [sender, a, b, receiver] = ["sender", "a", "b", "receiver"].map(|name| topology.node(name));
    let wire = link(&[("rate", "100Mbit"), ("delay", "25ms")]);
    topology.link("wire", sender, a, wire.clone(), wire);
    let base = [("rate", "10Mbit"), ("delay", "5ms"), ("queue", "{ kind = \"droptail\", limit = \"75kB\" }")];
    let settings = link(&[&base, air].concat());
    let air = topology.link("air", a, b, settings.clone(), settings);
    let lan = link(&[("rate", "100Mbit"), ("delay", "0.1ms")]);
    topology.link("lan", b, receiver, lan.clone(), lan);
    Demo { topology, ends: [sender, receiver], air }
}

impl Demo {
    pub fn with_gsnoop(self) -> Self {
        self.with_gsnoop_set(&[])
    }
    pub fn with_gsnoop_set(mut self, settings: &[(&str, &str)]) -> Self {
        self.topology.scheme("repair", self.air, gsnoop::ENTRY.with(owned(settings)).unwrap());
        self
    }
    pub fn with_bulk(mut self, controller: &str) -> Self {
        let config = tcp(&[("controller", controller)]);
        self.topology.flow(bulk("bulk", self.ends[0], self.ends[1], config));
        self
    }
    pub fn with_file(mut self, bytes: u64, ipv6: bool) -> Self {
        let flow = bulk("file", self.ends[0], self.ends[1], tcp(&[]));
        self.topology.flow(Flow { size: Some(bytes), ipv6, ..flow });
        self
    }
    pub fn run(&self, seed: u64) -> Outcome {
        self.run_with(&RunSettings { seed, ..RunSettings::default() })
    }
    pub fn run_with(&self, settings: &RunSettings) -> Outcome {
        let outcome = self.topology.run(settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    }
}

/// Share of the ceiling: capacity x (1 - loss) x payload / IP packet.
pub fn of_ceiling(outcome: &Outcome, loss: f64) -> f64 {
    let goodput = outcome.flows[0].measured_bytes as f64 * 8e9 / outcome.measured.as_nanos() as f64;
    goodput / (10e6 * (1.0 - loss) * 1448.0 / 1500.0)
}

pub fn events(scheme: &SchemeOutcome, event: Event) -> u64 {
    scheme.elements.iter().flat_map(|e| &e.events).filter(|(e, _)| *e == event).map(|(_, n)| n).sum()
}

/// What must be equal between two runs that differ in nothing that matters.
pub fn essence(flow: &FlowOutcome) -> (u64, u64, u64, u64) {
    (flow.total_bytes, flow.segments_sent, flow.retransmitted_segments, flow.rtos)
}
