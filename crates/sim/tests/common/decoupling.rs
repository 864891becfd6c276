//! The network of the decoupling paper: A to E and B to F over one link C-D with bit errors (DEC-E2, DEC-E3).

use super::{NO_HABITS, bulk, link, tcp};
use airtcp_core::Duration;
use airtcp_schemes::papers::decoupling::{datagrams, socket};
use airtcp_schemes::socket::SocketChoice;
use airtcp_sim::{Flow, Outcome, RunSettings, Tap, Topology};

/// The senders of the paper: BSD's timer, an acknowledgment for two segments, growth by acknowledgments.
pub const BSD: &[(&str, &str)] = &[
    ("controller", "reno"),
    ("rto_tick", "500ms"),
    ("rto_rule", "rfc6298"),
    ("byte_counting", "off"),
    ("delayed_ack_timeout", "200ms"),
    ("quick_acks", "0"),
    ("initial_window", "1"),
    ("tail_loss_probe", "false"),
];

/// The data TCP with what is ours: every hole is repaired, X counts the tunnel queue, nothing waits there twice (DEC-U9, DEC-U22).
pub const ALL_HOLES: &[(&str, &str)] = &[("holes", "all"), ("repeat", "path"), ("one_copy", "true")];

pub fn reliable(settings: &[(&str, &str)]) -> SocketChoice {
    socket::ENTRY.with(settings.iter().copied()).unwrap()
}

pub fn streaming(settings: &[(&str, &str)]) -> SocketChoice {
    datagrams::STREAMING.with(settings.iter().copied()).unwrap()
}

pub fn datagram(settings: &[(&str, &str)]) -> SocketChoice {
    datagrams::DATAGRAM.with(settings.iter().copied()).unwrap()
}

/// The network, and what its flows are like.
pub struct Paper {
    pub rtt_ms: u64,
    /// Jitter of A-C and B-C, both ways: without it drop-tail queues lock flows onto each other (DEC-U21).
    pub jitter: &'static str,
    /// Settings of C-D besides rate, delay and queue.
    pub air: &'static [(&'static str, &'static str)],
    pub socket: SocketChoice,
    pub tcp: &'static [(&'static str, &'static str)],
    pub flows: usize,
    pub size: Option<u64>,
    pub ipv6: bool,
}

/// BER 2e-6 (DEC-E3).
pub const BIT_ERRORS: &[(&str, &str)] = &[("loss", "{ kind = \"bit-error\", rate = 0.000002 }")];
pub const LOSSLESS: &[(&str, &str)] = &[];

impl Default for Paper {
    fn default() -> Self {
        let (socket, tcp) = (reliable(&[]), &[] as &[_]);
        Paper { rtt_ms: 100, jitter: "0ms", air: BIT_ERRORS, socket, tcp, flows: 2, size: None, ipv6: false }
    }
}

/// C-D.
pub const AIR: usize = 4;
/// A-C.
pub const FIRST_HOP: usize = 0;

impl Paper {
    pub fn topology(&self) -> Topology {
        let mut topology = Topology::new();
        let nodes = ["a", "b", "c", "d", "e", "f"].map(|name| topology.node(name));
        let lan = link(&[("rate", "100Mbit"), ("delay", "0ms")]);
        let first = link(&[("rate", "100Mbit"), ("delay", "0ms"), ("jitter", self.jitter)]);
        for [one, other] in [[0, 2], [1, 2], [3, 4], [3, 5]] {
            let wire = if one < 2 { &first } else { &lan };
            topology.link(&format!("lan{one}{other}"), nodes[one], nodes[other], wire.clone(), wire.clone());
        }
        let delay = format!("{}us", self.rtt_ms * 500);
        let base =
            [("rate", "10Mbit"), ("delay", &*delay), ("queue", "{ kind = \"droptail\", limit = \"50packets\" }")];
        let air = link(&[&base, self.air].concat());
        topology.link("air", nodes[2], nodes[3], air.clone(), air);
        (0..self.flows).for_each(|index| self.add_flow(&mut topology, index));
        topology
    }

    /// A to E if `index` is even, else B to F.
    pub fn add_flow(&self, topology: &mut Topology, index: usize) {
        let [from, to] = [index % 2, 4 + index % 2].map(|node| topology.nodes().nth(node).unwrap());
        let flow = bulk(&format!("flow{index}"), from, to, tcp(&[&[NO_HABITS], self.tcp].concat()));
        let start = Duration::from_millis(73 * index as u64);
        topology.flow(Flow { socket: self.socket.clone(), start, size: self.size, ipv6: self.ipv6, ..flow });
    }

    pub fn run_with(&self, settings: &RunSettings) -> Outcome {
        let outcome = self.topology().run(settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    }

    pub fn run(&self, seed: u64, seconds: u64) -> Outcome {
        self.run_with(&settings(seed, seconds))
    }

    pub fn run_tapped(&self, seed: u64, seconds: u64, tap: &mut dyn Tap) -> Outcome {
        let outcome = self.topology().run_tapped(&settings(seed, seconds), tap).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    }

    /// Application bytes per second of a flow: the mean of all flows and of seeds 1 to 4, over 110 s.
    pub fn goodput(&self) -> f64 {
        let runs = std::thread::scope(|scope| {
            let runs: Vec<_> = (1..=4).map(|seed| scope.spawn(move || self.run(seed, 120))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
        });
        let bytes: u64 = runs.iter().flat_map(|run| &run.flows).map(|flow| flow.measured_bytes).sum();
        bytes as f64 * 1e9 / (runs.len() * self.flows) as f64 / runs[0].measured.as_nanos() as f64
    }
}

pub fn settings(seed: u64, seconds: u64) -> RunSettings {
    let (duration, warmup) = (Duration::from_secs(seconds), Duration::from_secs(10));
    RunSettings { seed, duration, warmup, ..RunSettings::default() }
}

/// A counter of a flow's circuit or stream.
pub fn control(outcome: &Outcome, flow: usize, name: &str) -> u64 {
    let counters = &outcome.flows[flow].control;
    counters.iter().find(|(counter, _)| *counter == name).unwrap_or_else(|| panic!("{name} in {counters:?}")).1
}
