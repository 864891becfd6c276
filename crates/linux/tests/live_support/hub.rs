//! A hub with many peers: server – hub – ether – spoke n – host n. The hub's link ends in `ether`, from where a link of its own
//! leads to each spoke; so packets of all peers share the hub's link, and meet what happens on the air of one.

use super::gateway::PORT;
use super::{seconds, settings, sleep_ms};
use airtcp_core::{Duration, Instant};
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::gateway::peers::PeerConfig;
use airtcp_linux::gateway::status::{PeerStatus, query};
use airtcp_linux::gateway::{Config, Facts, Status};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family, LinkSpec, NodeSpec, Program, Testbed, TestbedSpec};
use airtcp_linux::traffic::{self, FlowResult, FlowSpec, Outcome, RunningFlow};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Rate of the air to each spoke, which the gateways are told.
const SPOKE_BPS: u64 = 5_000_000;
const SPOKE_RATE: &str = "5Mbit";
/// The queue in front of it.
const QUEUE_BYTES: u64 = 25_000;
/// Out and back between the hub and a spoke, without queues.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// What happens on the air of a spoke besides.
pub type Impairment<'a> = &'a [(&'a str, &'a str)];

/// The testbed, and where its files are.
pub struct HubNet {
    pub testbed: Testbed,
    pub directory: PathBuf,
    spokes: usize,
    scheme: &'static str,
    /// Rate of the hub's link, where it is the narrow one.
    shared_bps: Option<u64>,
}

impl HubNet {
    /// Where the air to each spoke is narrow, and gateways of `scheme`.
    pub fn up(spokes: usize, scheme: &'static str) -> HubNet {
        HubNet::build(spokes, scheme, None)
    }

    /// Where the hub's link is narrow, which all share.
    pub fn shared(spokes: usize, scheme: &'static str, bps: u64) -> HubNet {
        HubNet::build(spokes, scheme, Some(bps))
    }

    fn build(spokes: usize, scheme: &'static str, shared_bps: Option<u64>) -> HubNet {
        let node = |name: String, forwards| NodeSpec { name, forwards };
        let ends = [node("server".into(), false), node("hub".into(), true), node("ether".into(), true)];
        let behind = (0..spokes).flat_map(|n| [node(format!("spoke{n}"), true), node(format!("host{n}"), false)]);
        let fast = || settings(&[("rate", "1Gbit"), ("delay", "1ms")]);
        let link =
            |name: &str, between: [&str; 2], both: LinkSettings| LinkSpec::new(name, between, both.clone(), both);
        let narrow = shared_bps.map(|bps| air(&format!("{bps}bit"), &[]));
        let (of_hub, of_spoke) =
            (narrow.unwrap_or_else(fast), if shared_bps.is_some() { fast() } else { air(SPOKE_RATE, &[]) });
        let mut links = vec![link("wire", ["server", "hub"], fast()), link("air", ["hub", "ether"], of_hub)];
        for n in 0..spokes {
            let (spoke, host) = (format!("spoke{n}"), format!("host{n}"));
            links.push(link(&format!("air{n}"), ["ether", &spoke], of_spoke.clone()));
            links.push(link(&format!("lan{n}"), [&spoke, &host], fast()));
        }
        let spec = TestbedSpec {
            nodes: ends.into_iter().chain(behind).collect(),
            links,
            default_controller: "cubic".into(),
            emulator: EmulatorOptions::default(),
        };
        let testbed = Testbed::up(spec).expect("a testbed");
        let directory = std::env::temp_dir().join(format!("{}hub", testbed.prefix()));
        std::fs::create_dir_all(&directory).unwrap();
        let net = HubNet { testbed, directory, spokes, scheme, shared_bps };
        (0..spokes).for_each(|n| drop(net.key(n)));
        net
    }

    /// Begins a run, with something else happening on the air of some spokes.
    pub fn restart(&self, seed: u64, impaired: &[(usize, Impairment<'_>)]) -> Instant {
        let of = |link: &LinkSpec| {
            let impairment = impaired.iter().find(|(n, _)| link.name == format!("air{n}"));
            impairment.map_or([link.forward.clone(), link.reverse.clone()], |(_, impairment)| {
                [0; 2].map(|_| air(SPOKE_RATE, impairment))
            })
        };
        let settings = self.testbed.spec().links.iter().map(of).collect();
        self.testbed.emulator().restart(seed, Some(settings), Duration::ZERO).expect("the emulator runs")
    }

    pub fn address(&self, node: &str, family: Family) -> IpAddr {
        self.testbed.address(node, family).expect("a node")
    }

    /// The secret of the hub and one spoke.
    fn key(&self, n: usize) -> PathBuf {
        let file = self.directory.join(format!("{n}.key"));
        if !file.exists() {
            std::fs::write(&file, format!("the secret of spoke number {n}")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        file
    }

    fn base(&self, name: &str, link: &str) -> Config {
        Config { name: name.into(), run_directory: self.directory.clone(), ..Config::new(self.scheme, link) }
    }

    fn facts(&self) -> Facts {
        Facts {
            rate_bps: Some(self.shared_bps.unwrap_or(SPOKE_BPS)),
            round_trip_ns: Some(ROUND_TRIP.as_nanos()),
            queue_bytes: Some(QUEUE_BYTES),
            ..Facts::default()
        }
    }

    /// Starts the hub's gateway. Those of `anywhere` are known by their keys only.
    pub fn hub(&self, anywhere: &[usize]) -> HubGateway<'_> {
        self.hub_with(anywhere, |_| {})
    }

    /// The same with a changed configuration.
    pub fn hub_with(&self, anywhere: &[usize], change: impl FnOnce(&mut Config)) -> HubGateway<'_> {
        let peer = |n: usize| {
            let hosts = Family::BOTH.map(|family| self.address(&format!("host{n}"), family));
            PeerConfig {
                name: format!("spoke{n}"),
                address: (!anywhere.contains(&n)).then(|| self.spoke_address(n)),
                key: Some(self.key(n)),
                hops: 2,
                facts: self.facts(),
                networks: hosts
                    .map(|host| format!("{host}/{}", if host.is_ipv4() { 32 } else { 128 }).parse().unwrap())
                    .into(),
                ..PeerConfig::default()
            }
        };
        let mut config = Config { peers: (0..self.spokes).map(peer).collect(), ..self.base("hub", "air") };
        change(&mut config);
        let gateway = self.start("hub", config);
        gateway.wait("running", |_| true);
        gateway
    }

    pub fn spoke_address(&self, n: usize) -> SocketAddr {
        SocketAddr::new(self.address(&format!("spoke{n}"), Family::V4), PORT)
    }

    /// Starts the gateway of a spoke: that of a file with one peer.
    pub fn spoke(&self, n: usize) -> HubGateway<'_> {
        let node = format!("spoke{n}");
        let config = Config {
            peer: Some(SocketAddr::new(self.address("hub", Family::V4), PORT)),
            key: Some(self.key(n)),
            hops: 2,
            facts: Facts { far_end: true, ..self.facts() },
            ..self.base(&node, &format!("air{n}"))
        };
        self.start(&node, config)
    }

    fn start(&self, node: &str, config: Config) -> HubGateway<'_> {
        let file = self.directory.join(format!("{}.json", config.name));
        std::fs::write(&file, serde_json::to_vec(&config).unwrap()).unwrap();
        let log = self.directory.join(format!("{}.log", config.name));
        let exec = Exec::new(env!("CARGO_BIN_EXE_airtcp-bare-gateway")).arg(file).log(&log);
        let program = self.testbed.start(node, &exec).expect("it starts");
        HubGateway { net: self, program, name: config.name }
    }

    /// Starts a transfer from the server to a spoke's host.
    pub fn file(&self, n: usize, family: Family, bytes: u64, origin: Instant) -> RunningFlow {
        let end = |node: &str| self.testbed.end(node, family).expect("a node");
        let (from, to) = (end("server"), end(&format!("host{n}")));
        let deadline = Duration::from_secs(60);
        let spec = FlowSpec::transfer(&format!("file{n}"), from, to, "cubic", bytes, deadline);
        traffic::start(FlowSpec { seed: n as u64 + 1, ..spec }, origin).expect("a thread")
    }

    /// A command on a node, as its administrator gives it.
    pub fn run(&self, node: &str, line: &str) {
        let log = self.directory.join("shell.log");
        let exec = Exec::new("sh").args(["-ec", line]).log(&log);
        let status = self.testbed.start(node, &exec).expect("sh").wait().expect("a child");
        assert!(status.success(), "`{line}`: {}", std::fs::read_to_string(&log).unwrap_or_default());
    }

    /// Gives a spoke another address, as a provider does: the old one is gone, and nothing leads there.
    pub fn move_spoke(&self, n: usize, to: &str) {
        let old = self.spoke_address(n).ip();
        self.run("ether", &format!("ip route add {to}/32 dev air{n}"));
        self.run("hub", &format!("ip route add {to}/32 dev air"));
        // Its routes name the address that it sends from.
        let routes = format!("ip -4 route show | grep 'src {old}' | sed 's/src {old}/src {to}/'");
        let commands = format!(
            "ip addr add {to}/32 dev lo; {routes} | while read -r route; do ip route replace $route; done; ip addr del {old}/32 dev lo"
        );
        self.run(&format!("spoke{n}"), &commands);
        self.run("hub", &format!("ip route del {old}/32; ip route add blackhole {old}/32"));
    }
}

/// The air of a spoke.
fn air(rate: &str, impairment: Impairment<'_>) -> LinkSettings {
    let queue = format!("{{ kind = \"droptail\", limit = \"{QUEUE_BYTES}B\" }}");
    settings(&[&[("rate", rate), ("delay", "9ms"), ("queue", &queue)], impairment].concat())
}

impl Drop for HubNet {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A file that arrived unchanged; how long it took from the handshake to the last byte.
pub fn arrived(result: &FlowResult) -> Duration {
    assert_eq!(result.outcome, Outcome::Complete, "{}", result.name);
    assert!(result.stream_is_intact(), "{}", result.name);
    let [from, until] = [result.connected_at, result.last_byte_at].map(|at| at.expect("a whole transfer"));
    println!(
        "{}: {:.3} s, longest wait {:.3} s",
        result.name,
        seconds(until.saturating_sub(from)),
        seconds(result.longest_stall)
    );
    until.saturating_sub(from)
}

/// A supervisor and its worker; ended when dropped.
pub struct HubGateway<'a> {
    net: &'a HubNet,
    pub program: Program,
    name: String,
}

impl HubGateway<'_> {
    pub fn status(&self) -> Option<Status> {
        query(&self.net.directory, &self.name).ok()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.net.directory.join(format!("{}.log", self.name))).unwrap_or_default()
    }

    /// Waits up to 10 s for a state.
    pub fn wait(&self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let from = clock::now();
        loop {
            if let Some(status) = self.status().filter(&wanted) {
                return status;
            }
            let waited = clock::now().saturating_since(from);
            let (status, log) = (self.status(), self.log());
            assert!(waited < Duration::from_secs(10), "{} is not {what}: {status:?}\n{log}", self.name);
            sleep_ms(10);
        }
    }

    /// Waits until a hub takes packets of these peers, and of no others.
    pub fn wait_for_peers(&self, peers: &[usize]) -> Status {
        let takes = |status: &Status| {
            let is_as_wanted = |(n, peer): (usize, &PeerStatus)| is_taken(peer) == peers.contains(&n);
            status.peers.iter().enumerate().all(is_as_wanted)
        };
        self.wait(&format!("taking packets of {peers:?}"), takes)
    }

    /// Panics if a packet is unaccounted for or an invariant of the scheme is broken.
    pub fn assert_sound(&self) -> Status {
        let status = self.wait("running", |_| true);
        assert!(status.conserved && status.broken.is_none(), "{status:?}");
        assert_eq!(status.restarts, 0, "{}", self.log());
        status
    }

    /// Ends in good order.
    pub fn stop(mut self) {
        self.program.signal(libc::SIGTERM).expect("it runs");
        assert!(self.program.wait().expect("it ends").success());
    }
}

/// True if a peer answers, and its packets are taken.
pub fn is_taken(peer: &PeerStatus) -> bool {
    let up = peer.peer_state.as_ref().is_some_and(|state| state.up);
    up && peer.gauges.get("peer_in_reach") == Some(&1)
        && peer.takes != Some(airtcp_linux::gateway::divert::Wanted::Nothing)
}
