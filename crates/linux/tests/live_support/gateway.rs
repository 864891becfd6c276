//! A gateway on a node of the testbed, with the processes one may kill or stop. It runs G-Snoop unless told otherwise.

use super::{AIR_BPS, AIR_QUEUE_BYTES, AIR_ROUND_TRIP, Path, sleep_ms};
use airtcp_core::Duration;
use airtcp_linux::gateway::{Config, Facts, Status, status};
use airtcp_linux::sys::{clock, process};
use airtcp_linux::testbed::{Exec, Family, Program};
use std::path::PathBuf;

/// UDP port of the control messages.
pub const PORT: u16 = 4791;

/// How a gateway is started.
pub struct Launch<'a> {
    pub path: &'a Path,
    pub node: &'a str,
    pub program: PathBuf,
    pub log: PathBuf,
}

/// Makes it the configuration of a gateway with this scheme. Local recovery is not told a rate: it has to learn it.
pub fn set_scheme(config: &mut Config, scheme: &str) {
    config.scheme = scheme.to_owned();
    if scheme == "local-recovery" {
        config.facts.rate_bps = None;
    }
}

/// A supervisor and its worker; ended when dropped.
pub struct Gateway {
    program: Program,
    pub config: Config,
}

impl Gateway {
    /// Starts a gateway on `a` or `b` and waits until it diverts traffic. `change` may alter its
    /// configuration.
    pub fn start(path: &Path, node: &str, change: impl FnOnce(&mut Config)) -> Gateway {
        let mut gateway = Gateway::spawn(path, node, change);
        gateway.wait_for("running", |_| true);
        gateway
    }

    /// Starts a gateway and does not wait.
    pub fn spawn(path: &Path, node: &str, change: impl FnOnce(&mut Config)) -> Gateway {
        let program = env!("CARGO_BIN_EXE_airtcp-bare-gateway").into();
        let log = path.directory.join(format!("gw{node}.log"));
        Gateway::spawn_as(&Launch { path, node, program, log }, change)
    }

    /// The same, of a program and with a log of choice.
    pub fn spawn_as(launch: &Launch<'_>, change: impl FnOnce(&mut Config)) -> Gateway {
        let Launch { path, node, .. } = launch;
        let other = if *node == "a" { "b" } else { "a" };
        let peer = path.testbed.link_address("air", other, Family::V4).expect("an end of the air");
        let mut config = Config {
            name: format!("gw{node}"),
            peer: Some((peer, PORT).into()),
            insecure: true,
            run_directory: path.directory.clone(),
            facts: Facts {
                far_end: *node == "b",
                rate_bps: Some(AIR_BPS),
                round_trip_ns: Some(AIR_ROUND_TRIP.as_nanos()),
                queue_bytes: Some(AIR_QUEUE_BYTES),
                ..Facts::default()
            },
            ..Config::new("gsnoop", "air")
        };
        change(&mut config);
        let file = path.directory.join(format!("{}.json", config.name));
        std::fs::write(&file, serde_json::to_vec(&config).unwrap()).unwrap();
        let exec = Exec::new(&launch.program).arg(file).log(&launch.log);
        let program = path.testbed.start(node, &exec).expect("the gateway starts");
        Gateway { program, config }
    }

    pub fn status(&self) -> Option<Status> {
        status::query(&self.config.run_directory, &self.config.name).ok()
    }

    /// Waits up to 10 s for a state.
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let from = clock::now();
        loop {
            if let Some(status) = self.status().filter(&wanted) {
                return status;
            }
            let ended = self.program.status().expect("a child");
            let waited = clock::now().saturating_since(from);
            assert!(
                ended.is_none() && waited < Duration::from_secs(10),
                "{} is not {what} after {waited}: ended {ended:?}, status {:?}, log: {}",
                self.config.name,
                self.status(),
                self.log()
            );
            sleep_ms(10);
        }
    }

    /// Waits until the other gateway is known.
    pub fn wait_in_reach(&mut self) {
        self.wait_for("in reach of its peer", |status| status.gauges["peer_in_reach"] == 1);
    }

    /// What the supervisor wrote, if it wrote into a file.
    pub fn log(&self) -> String {
        let file = self.program.log().filter(|path| path.is_file());
        file.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    }

    pub fn supervisor(&self) -> u32 {
        self.program.id()
    }

    /// The worker's process.
    pub fn worker(&mut self) -> u32 {
        self.wait_for("running", |_| true).pid
    }

    /// How often the supervisor replaced the worker.
    pub fn restarts(&mut self) -> u64 {
        self.wait_for("running", |_| true).restarts
    }

    pub fn signal_supervisor(&self, signal: i32) {
        self.program.signal(signal).expect("the supervisor lives");
    }

    /// Waits for the end of one that was killed.
    pub fn bury(&mut self) {
        self.program.wait().expect("a child");
    }

    /// Panics if a packet is unaccounted for or an invariant of the scheme is broken.
    pub fn assert_sound(&mut self) -> Status {
        let status = self.wait_for("running", |_| true);
        assert!(status.conserved, "{}: packets unaccounted for: {:?}", status.name, status.conservation);
        assert_eq!(status.broken, None, "{}", status.name);
        status
    }
}

/// Sends a signal to a worker.
pub fn signal_worker(pid: u32, signal: i32) {
    process::send_signal(pid, signal).expect("the worker lives");
}
