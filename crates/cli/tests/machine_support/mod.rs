//! Two gateways, as the package runs them, on machines that a test changes under them.

use super::row_support::row;
use airtcp_linux::gateway::status::{self, Status};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family, Program, Testbed};
use airtcp_test_support::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The routers.
pub const ROUTERS: [&str; 2] = ["a", "b"];

/// A host, two routers and a server; each router has a directory for its file and one for what runs.
pub struct Machines {
    pub testbed: Testbed,
    pub scratch: Scratch,
}

impl Machines {
    pub fn new() -> Machines {
        let wire = [("rate", "100Mbit"), ("delay", "1ms")];
        let air = [("rate", "20Mbit"), ("delay", "5ms")];
        let testbed = row(["host", "a", "b", "server"], [("lan", &wire), ("air", &air), ("wan", &wire)]);
        let machines = Machines { testbed, scratch: Scratch::new("machine") };
        for [router, other] in [ROUTERS, ["b", "a"]] {
            for part in ["etc", "run"] {
                std::fs::create_dir_all(machines.path(router).join(part)).expect("a directory");
            }
            let peer = machines.testbed.link_address("air", other, Family::V4).expect("an end of the link");
            let run = machines.run_directory(router);
            let text = format!(
                "schema = 1\nscheme = \"local-recovery\"\nname = \"{router}\"\nlink = \"air\"\npeer = \"{peer}:4791\"\ninsecure = true\n\
                 rate = \"20Mbit\"\nrun_directory = \"{}\"\n",
                run.display()
            );
            std::fs::write(machines.file(router), text).expect("a file");
            std::fs::write(machines.log_path(router), "").expect("a file");
        }
        machines
    }

    pub fn path(&self, router: &str) -> PathBuf {
        self.scratch.path().join(router)
    }

    pub fn etc(&self, router: &str) -> PathBuf {
        self.path(router).join("etc")
    }

    pub fn file(&self, router: &str) -> PathBuf {
        self.etc(router).join("gateway.toml")
    }

    pub fn run_directory(&self, router: &str) -> PathBuf {
        self.path(router).join("run")
    }

    pub fn log_path(&self, router: &str) -> PathBuf {
        self.path(router).join("log")
    }

    pub fn log(&self, router: &str) -> String {
        std::fs::read_to_string(self.log_path(router)).unwrap_or_default()
    }

    /// Starts the gateway of a router after a line of shell in its namespaces, of which `exec "$@"` is the end.
    pub fn start(&self, router: &str, before: &str, options: &[&str]) -> Program {
        let exec = Exec::new("sh")
            .args(["-ec", &format!("{before} \"$@\""), "sh", env!("CARGO_BIN_EXE_airtcpd"), "gateway"])
            .arg(self.file(router))
            .args(options)
            .log(self.log_path(router));
        self.testbed.start(router, &exec).expect("it starts")
    }

    pub fn status(&self, router: &str) -> Option<Status> {
        status::query(&self.run_directory(router), router).ok()
    }

    /// Waits up to 10 s.
    pub fn wait_for(&self, what: &str, mut wanted: impl FnMut() -> bool) {
        let begin = clock::now();
        while !wanted() {
            let logs = ROUTERS.map(|router| self.log(router)).join("\n");
            assert!(clock::now().saturating_since(begin).as_millis() < 10_000, "not {what}: {logs}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until both gateways take packets.
    pub fn wait_for_both(&self) {
        self.wait_for("taking packets", || {
            ROUTERS.iter().all(|router| {
                self.status(router).is_some_and(|status| status.diverting && status.gauges["peer_in_reach"] == 1)
            })
        });
    }

    /// One ping from host to server; false if it does not come back within a second.
    pub fn ping(&self) -> bool {
        let server = self.testbed.address("server", Family::V4).expect("a node").to_string();
        let namespace = self.testbed.namespace("host").expect("a node").name();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, "ping", "-q", "-c", "1", "-W", "1", &server]);
        command.output().expect("ping").status.success()
    }

    /// Runs a verb for a router's gateway.
    pub fn ask(&self, verb: &str, router: &str) -> Result<String, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airtcpd"));
        command.args([verb, router, "--run-directory"]).arg(self.run_directory(router));
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(said.into_owned()) } else { Err(said.into_owned()) }
    }
}

/// The wall clock of processes that it is given to.
pub struct SteppedClock {
    library: PathBuf,
    file: PathBuf,
}

impl SteppedClock {
    /// Builds it; the C compiler is there, as Rust links with it.
    pub fn new(directory: &Path) -> SteppedClock {
        let clock = SteppedClock { library: directory.join("clock.so"), file: directory.join("step") };
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machine_support/stepped_clock.c");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&clock.library).arg(source).arg("-ldl");
        assert!(compile.status().expect("cc").success());
        clock.step_to(0);
        clock
    }

    /// Lets it show so many seconds more than it is.
    pub fn step_to(&self, seconds: i64) {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).create(true).truncate(false).open(&self.file).expect("a file");
        file.write_all_at(&seconds.to_ne_bytes(), 0).expect("room");
    }

    /// What a process is started with, for a line of shell.
    pub fn environment(&self) -> String {
        format!("STEPPED_CLOCK={} LD_PRELOAD={}", self.file.display(), self.library.display())
    }
}
