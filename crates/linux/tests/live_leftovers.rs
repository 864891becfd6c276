//! Nothing of a live run stays: namespaces, rules, routes, devices, processes, settings. After
//! Ctrl-C and SIGTERM it is gone at once, after `kill -9` with the next start.
//!
//! The run is this test program started once more as a process of its own.

mod live_support;

use airtcp_core::{Duration, Rng};
use airtcp_linux::sys::{clock, process};
use airtcp_linux::testbed::{Family, RUN_DIR, remove_leftovers};
use airtcp_test_support::Scratch;
use live_support::{Path, sleep_ms, turn};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

const HOLD: &str = "AIRTCP_TEST_HOLD";

/// What the tests below start as a process of its own: a whole live run that waits to be ended.
#[test]
fn live_hold_a_run_for_another_test() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let path = Path::up(&[("loss", "1%")]);
    let mut gateways = path.gateways();
    let origin = path.restart(1, None);
    let _flow = path.start(path.file(Family::V4, 1 << 32, 1, Duration::from_secs(60)), origin);
    let workers = gateways.each_mut().map(|gateway| gateway.worker());
    let [a, b] = gateways.each_ref().map(|gateway| gateway.supervisor());
    println!("up {a} {b} {} {}", workers[0], workers[1]);
    sleep_ms(60_000);
}

/// A run in a process of its own.
struct Run {
    child: Child,
    /// Supervisors and workers, once the run is up.
    gateways: Vec<u32>,
}

impl Run {
    /// Starts one and does not wait.
    fn begin() -> Run {
        Run::begin_with_path(&std::env::var("PATH").expect("where programs are"))
    }

    /// The same, with other programs.
    fn begin_with_path(path: &str) -> Run {
        let child = Command::new(std::env::current_exe().expect("this test"))
            .env("PATH", path)
            .args(["--exact", "live_hold_a_run_for_another_test", "--nocapture"])
            .env(HOLD, "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Run { child, gateways: Vec::new() }
    }

    /// Starts one and waits until traffic runs through its gateways.
    fn up() -> Run {
        let mut run = Run::begin();
        let output = BufReader::new(run.child.stdout.take().expect("piped"));
        let mut lines = output.lines().map_while(Result::ok);
        let pids = lines.find_map(|line| line.split_once("up ").map(|(_, pids)| pids.to_owned()));
        let pids = pids.expect("it comes up");
        run.gateways = pids.split_whitespace().map(|pid| pid.parse().expect("a pid")).collect();
        assert!(run.gateways.iter().all(|pid| is_alive(*pid)));
        assert!(!left_by(&run).is_empty());
        sleep_ms(200);
        run
    }

    /// Sends a signal and waits for the end.
    fn end(&mut self, signal: i32) {
        process::send_signal(self.child.id(), signal).expect("it runs");
        assert_eq!(self.child.wait().expect("it ends").signal(), Some(signal), "it ended by the signal");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let directories = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        for entry in directories {
            if entry.file_name().to_string_lossy().starts_with(&format!("airtcp-{}-", self.child.id())) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Namespaces, registry entries and gateway processes of a run, by name.
fn left_by(run: &Run) -> Vec<String> {
    let pid = run.child.id();
    let named = |directory: &str, prefix: String| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(move |name| name.starts_with(&prefix)).collect::<Vec<_>>()
    };
    let mut left = named("/run/netns", format!("airtcp-{pid}-"));
    left.extend(named(RUN_DIR, format!("{pid}-")));
    left.extend(run.gateways.iter().filter(|pid| is_alive(**pid)).map(|pid| format!("process {pid}")));
    left.extend(processes_with(&format!("airtcp-{pid}-")));
    left
}

/// The same once what is ending has ended: a killed process takes the kernel a moment, and one that the run had just started, such
/// as `ip`, ends when it has done its work.
fn left_in_the_end(run: &Run) -> Vec<String> {
    (0..500).take_while(|_| !left_by(run).is_empty()).for_each(|_| sleep_ms(20));
    left_by(run)
}

/// Processes with this in an argument.
fn processes_with(text: &str) -> impl Iterator<Item = String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let words = |process: std::fs::DirEntry| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    processes.map(words).filter(move |line| line.contains(text))
}

/// What a live run could change in the namespace that everybody uses.
fn machine() -> BTreeMap<&'static str, String> {
    let commands = [
        "ip -o link show",
        "ip -o address show",
        "ip rule show",
        "ip -6 rule show",
        "ip route show table all",
        "ip -6 route show table all",
        "nft list ruleset",
        "sysctl net.ipv4.tcp_allowed_congestion_control net.ipv4.tcp_congestion_control net.ipv4.ip_forward",
    ];
    let run = |line: &'static str| {
        let output = Command::new("sh").args(["-c", line]).output().expect("sh runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        (line, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    commands.into_iter().map(run).collect()
}

#[test]
fn live_after_ctrl_c_or_sigterm_nothing_of_the_run_is_left() {
    let Some(_turn) = turn() else { return };
    let before = machine();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut run = Run::up();
        assert_eq!(machine(), before, "a live run touches nothing of the machine's own");
        run.end(signal);
        assert_eq!(left_in_the_end(&run), Vec::<String>::new(), "signal {signal}");
        assert_eq!(machine(), before);
    }
}

#[test]
fn live_what_kill_dash_nine_leaves_is_removed_by_the_next_start() {
    let Some(_turn) = turn() else { return };
    let before = machine();
    let mut run = Run::up();
    run.end(libc::SIGKILL);
    assert!(!left_by(&run).is_empty(), "nobody could clean up yet");
    let next = Path::up(&[]);
    assert_eq!(left_in_the_end(&run), Vec::<String>::new());
    // It works, and goes too.
    drop(next.gateways());
    drop(next);
    assert_eq!(machine(), before);
}

#[test]
fn live_a_run_killed_while_it_starts_leaves_nothing_that_the_next_start_does_not_remove() {
    let Some(_turn) = turn() else { return };
    let before = machine();
    let seed = clock::wall_clock_ns() / 1_000_000 % 1_000_000;
    println!("seed {seed}");
    let mut rng = Rng::derive(seed, "when to kill");
    for round in 0..10 {
        let mut run = Run::begin();
        let at_ms = rng.below(600);
        sleep_ms(at_ms);
        run.end(if round % 2 == 0 { libc::SIGKILL } else { libc::SIGTERM });
        let found = left_by(&run).len();
        remove_leftovers().expect("leftovers go");
        println!("ended after {at_ms} ms: {found} left");
        assert_eq!(left_in_the_end(&run), Vec::<String>::new(), "seed {seed}, round {round}");
        assert_eq!(machine(), before, "seed {seed}, round {round}");
    }
}

/// Where programs are, and among them an `ip` that takes its time: it has opened the namespace, and enters it half a second
/// later.
fn with_slow_ip(directory: &std::path::Path) -> String {
    let path = std::env::var("PATH").expect("where programs are");
    let script = format!(
        "#!/bin/sh\nif [ \"$1 $2\" = 'netns exec' ]; then\n  exec 3<\"/run/netns/$3\"\n  touch {}\n  sleep 0.5\n  shift 3\n  \
         exec nsenter --net=/proc/self/fd/3 \"$@\"\nfi\nPATH={path} exec ip \"$@\"\n",
        directory.join("entering").display()
    );
    std::fs::write(directory.join("ip"), script).expect("a writable directory");
    std::fs::set_permissions(directory.join("ip"), Permissions::from_mode(0o755)).expect("it is there");
    format!("{}:{path}", directory.display())
}

#[test]
fn live_a_run_killed_before_its_gateway_is_in_the_namespace_leaves_no_gateway() {
    let Some(_turn) = turn() else { return };
    let directory = Scratch::new("slow-ip");
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let mut run = Run::begin_with_path(&with_slow_ip(directory.path()));
        let entering = directory.path().join("entering");
        (0..1_000).take_while(|_| !entering.exists()).for_each(|_| sleep_ms(10));
        std::fs::remove_file(entering).expect("a gateway starts within 10 s");
        run.end(signal);
        remove_leftovers().expect("leftovers go");
        sleep_ms(1_000);
        assert_eq!(left_by(&run), Vec::<String>::new(), "signal {signal}");
    }
}
