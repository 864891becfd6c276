//! What the live tests share: sender – a – b – receiver with a lossy link between a and b, and
//! gateways as processes on a and b.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod drill;
pub mod gateway;
pub mod hub;
pub mod impostor;
pub mod kernel_log;
pub mod load;
pub mod raw;
pub mod trouble;

use airtcp_core::parameters::Parameters;
use airtcp_core::{Duration, Instant};
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::gateway::command::is_installed;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Family, LinkSpec, NodeSpec, Testbed, TestbedSpec, check_available};
use airtcp_linux::traffic::{self, FlowSpec, RunningFlow};
pub use airtcp_test_support::is_long;
use gateway::{Gateway, set_scheme};
use std::path::PathBuf;
use std::sync::MutexGuard;

/// Waits for this test's turn; `None`, with the reason told, where it cannot run.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    let needs_nft = || {
        let missing = "the program 'nft' is missing; install the package 'nftables'";
        if is_installed("nft") { Ok(()) } else { Err(missing.to_owned()) }
    };
    airtcp_test_support::turn(check_available().map_err(|why| why.to_string()).and_then(|()| needs_nft()))
}

/// Settings of one direction of a link.
pub fn settings(keys: &[(&str, &str)]) -> LinkSettings {
    let mut settings = LinkSettings::default();
    for &(key, value) in keys {
        settings.set(key, &value.into()).unwrap_or_else(|error| panic!("{key} = {value}: {error}"));
    }
    settings
}

/// Rate of the air, which the gateways are told.
pub const AIR_BPS: u64 = 100_000_000;
/// Out and back over the air, without queues.
pub const AIR_ROUND_TRIP: Duration = Duration::from_millis(5);
/// The queue in front of the air: a round trip of the whole path.
pub const AIR_QUEUE_BYTES: u64 = 125_000;
/// The schemes that are meant for the field.
pub const SCHEMES: [&str; 2] = ["gsnoop", "local-recovery"];

/// The air with what else is to happen to packets there.
pub fn air(impairment: &[(&str, &str)]) -> LinkSettings {
    let queue = format!("{{ kind = \"droptail\", limit = \"{AIR_QUEUE_BYTES}B\" }}");
    settings(&[&[("rate", "100Mbit"), ("delay", "2.5ms"), ("queue", &queue)], impairment].concat())
}

/// The path: 10 ms round trip, 100 Mbit/s in the middle, and 5 times that around it.
pub struct Path {
    pub testbed: Testbed,
    /// Configurations, keys, status sockets, logs.
    pub directory: PathBuf,
}

impl Path {
    /// Sets the path up; `impairment` is what happens on the air, in both directions.
    pub fn up(impairment: &[(&str, &str)]) -> Path {
        let node = |name: &str, forwards| NodeSpec { name: name.into(), forwards };
        let link = |name, between, both: LinkSettings| LinkSpec::new(name, between, both.clone(), both);
        let spec = TestbedSpec {
            nodes: vec![node("sender", false), node("a", true), node("b", true), node("receiver", false)],
            links: vec![
                link("wire", ["sender", "a"], settings(&[("rate", "500Mbit"), ("delay", "2ms")])),
                link("air", ["a", "b"], air(impairment)),
                link("lan", ["b", "receiver"], settings(&[("rate", "500Mbit"), ("delay", "0.5ms")])),
            ],
            default_controller: "cubic".into(),
            emulator: EmulatorOptions::default(),
        };
        let testbed = Testbed::up(spec).expect("a testbed");
        let directory = std::env::temp_dir().join(format!("{}live", testbed.prefix()));
        std::fs::create_dir_all(&directory).unwrap();
        Path { testbed, directory }
    }

    /// Begins a run with links as at first, or with something else happening on the air.
    pub fn restart(&self, seed: u64, impairment: Option<&[(&str, &str)]>) -> Instant {
        let links = &self.testbed.spec().links;
        let settings = impairment.map(|impairment| {
            let of = |link: &LinkSpec| match link.name.as_str() {
                "air" => [air(impairment), air(impairment)],
                _ => [link.forward.clone(), link.reverse.clone()],
            };
            links.iter().map(of).collect()
        });
        self.testbed.emulator().restart(seed, settings, Duration::ZERO).expect("the emulator runs")
    }

    /// Starts a gateway on `a` or `b`.
    pub fn gateway(&self, node: &str) -> Gateway {
        Gateway::start(self, node, |_| {})
    }

    /// Starts both gateways and waits until each knows of the other.
    pub fn gateways(&self) -> [Gateway; 2] {
        self.gateways_with(SCHEMES[0])
    }

    /// The same with another scheme.
    pub fn gateways_with(&self, scheme: &str) -> [Gateway; 2] {
        let mut gateways = ["a", "b"].map(|node| Gateway::start(self, node, |config| set_scheme(config, scheme)));
        gateways.iter_mut().for_each(Gateway::wait_in_reach);
        gateways
    }

    /// A transfer of `bytes` from sender to receiver by CUBIC, given up after `deadline`.
    pub fn file(&self, family: Family, bytes: u64, seed: u64, deadline: Duration) -> FlowSpec {
        let end = |node| self.testbed.end(node, family).expect("a node");
        let spec = FlowSpec::transfer("file", end("sender"), end("receiver"), "cubic", bytes, deadline);
        FlowSpec { seed, ..spec }
    }

    pub fn start(&self, spec: FlowSpec, origin: Instant) -> RunningFlow {
        traffic::start(spec, origin).expect("a thread")
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Sleeps until so long after a run's origin.
pub fn sleep_until(origin: Instant, at: Duration) {
    let left = (origin + at).saturating_since(clock::now());
    std::thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
}

pub fn sleep_ms(ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
}

/// A time in seconds, for printing.
pub fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

pub fn family_name(family: Family) -> &'static str {
    match family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}
