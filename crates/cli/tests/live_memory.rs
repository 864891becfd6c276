//! The memory of a gateway that helps a thousand connections, with the limits that a file has which names none. Needs root and TUN.
//!
//! `AIRTCPD` names the program to measure, the packaged one (`make packages-memory`). Without it that of this build is, whose code
//! takes more: only what the processes have of their own counts then.

mod row_support;

use airtcp_core::Gauge;
use airtcp_linux::gateway::status::{self, Status};
use airtcp_linux::testbed::{Exec, Family, Program, Testbed, check_available};
use airtcp_test_support::{Scratch, skip};
use row_support::row;
use std::ffi::OsString;

/// Names the program to measure.
const PROGRAM: &str = "AIRTCPD";
const CONNECTIONS: u64 = 1000;
/// Each way of a connection is one.
const FLOWS: u64 = 2 * CONNECTIONS;
const MOST_KIB: u64 = 16 * 1024;
/// Connections of an iperf3.
const EACH: u64 = 125;

struct Gateway {
    daemon: Program,
    name: &'static str,
    directory: String,
}

impl Gateway {
    /// With README's file, but for address and key.
    fn start(testbed: &Testbed, scratch: &Scratch, [name, other]: [&'static str; 2]) -> Gateway {
        let peer = testbed.link_address("air", other, Family::V4).expect("an end of the link");
        let directory = format!("{}/{name}", scratch.text());
        std::fs::create_dir(&directory).expect("a directory");
        let file = format!("{directory}/gateway.toml");
        let text = format!(
            "schema = 1\nscheme = \"gsnoop\"\nlink = \"air\"\npeer = \"{peer}:4791\"\ninsecure = true\nname = \"{name}\"\nrun_directory = \"{directory}\"\n"
        );
        std::fs::write(&file, text).expect("a file");
        let program = std::env::var_os(PROGRAM).unwrap_or_else(|| OsString::from(env!("CARGO_BIN_EXE_airtcpd")));
        let exec = Exec::new(program).args(["gateway", &file]).log(format!("{directory}/log"));
        Gateway { daemon: testbed.start(name, &exec).expect("it starts"), name, directory }
    }

    fn status(&self) -> Option<Status> {
        status::query(self.directory.as_ref(), self.name).ok()
    }

    fn flows(&self) -> u64 {
        self.status().map_or(0, |status| status.gauges[Gauge::FLOWS.label()])
    }

    fn memory(&self) -> Option<Memory> {
        Some(Memory([resident(self.daemon.id())?, resident(self.status()?.pid)?]))
    }
}

/// What a process has in memory, KiB: its own, and pages of files.
#[derive(Clone, Copy, Debug, Default)]
struct Resident {
    own: u64,
    files: u64,
}

fn resident(process: u32) -> Option<Resident> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some(Resident { own: field("RssAnon:")? + field("RssShmem:")?, files: field("RssFile:")? })
}

/// Of supervisor and worker.
#[derive(Clone, Copy, Debug, Default)]
struct Memory([Resident; 2]);

impl Memory {
    /// Of both: the pages of the program, which they share, once.
    fn kib(&self) -> u64 {
        let [supervisor, worker] = self.0;
        let files = std::env::var_os(PROGRAM).map_or(0, |_| supervisor.files.max(worker.files));
        supervisor.own + worker.own + files
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [supervisor, worker] = self.0.map(|process| process.own + process.files);
        write!(f, "{} KiB (RSS of the supervisor {supervisor}, of the worker {worker})", self.kib())
    }
}

fn sleep_ms(time: u64) {
    std::thread::sleep(std::time::Duration::from_millis(time));
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let came = (0..1000).any(|_| {
        sleep_ms(20);
        is_so()
    });
    assert!(came, "waited in vain for {what}");
}

/// A thousand connections from the host to the server, three quarters of the link together.
fn connections(testbed: &Testbed, scratch: &Scratch) -> Vec<Program> {
    let server = testbed.end("server", Family::V4).expect("a node").1.to_string();
    let start = |node, words: &[&str]| {
        let exec = Exec::new("iperf3").args(words).log(format!("{}/iperf3-{node}", scratch.text()));
        testbed.start(node, &exec).expect("it starts")
    };
    // An iperf3 has 128 connections at most.
    let ports: Vec<String> = (0..CONNECTIONS / EACH).map(|n| (5201 + n).to_string()).collect();
    let servers: Vec<Program> =
        ports.iter().map(|port| start("server", &["--server", "--one-off", "--port", port])).collect();
    sleep_ms(1000);
    let client = |port: &String| {
        let to = ["--client", &server, "--port", port, "--time", "60", "--interval", "0"];
        start("host", &[&to[..], &["--parallel", &EACH.to_string(), "--bitrate", "15K", "--length", "1400"]].concat())
    };
    servers.into_iter().chain(ports.iter().map(client)).collect()
}

#[test]
fn live_a_thousand_connections_take_sixteen_mebibytes() {
    if let Err(why) = check_available() {
        return skip(&why.to_string());
    }
    let lan = [("rate", "100Mbit"), ("delay", "5ms")];
    let air = [("rate", "20Mbit"), ("delay", "5ms"), ("loss", "1%")];
    let testbed = row(["host", "a", "b", "server"], [("lan", &lan), ("air", &air), ("wan", &lan)]);
    let scratch = Scratch::new("memory");
    let gateways = [["a", "b"], ["b", "a"]].map(|ends| Gateway::start(&testbed, &scratch, ends));
    for gateway in &gateways {
        wait_for("packets to be taken", || gateway.status().is_some_and(|status| status.diverting));
    }
    let before = gateways.each_ref().map(|gateway| gateway.memory().expect("it runs"));
    let programs = connections(&testbed, &scratch);
    wait_for("a thousand connections", || gateways.iter().all(|gateway| gateway.flows() >= FLOWS));
    let mut most = [Memory::default(); 2];
    for _ in 0..20 {
        for (most, now) in most.iter_mut().zip(gateways.iter().filter_map(Gateway::memory)) {
            if now.kib() > most.kib() {
                *most = now;
            }
        }
        sleep_ms(100);
    }
    let flows = gateways.each_ref().map(Gateway::flows);
    for (n, gateway) in gateways.iter().enumerate() {
        println!("gateway {}: {} without connections, {} with {} flows", gateway.name, before[n], most[n], flows[n]);
    }
    drop(programs);
    assert!(flows.iter().all(|flows| *flows >= FLOWS), "{flows:?}");
    assert!(most.iter().all(|memory| (1..=MOST_KIB).contains(&memory.kib())), "{most:?}");
}
