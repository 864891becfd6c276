//! What the processes of a gateway can still do, and that they leave something to others.

mod gateway_support;

use airtcp_linux::gateway::Config;
use airtcp_linux::gateway::confine::Confinement;
use airtcp_linux::gateway::divert::Method;
use airtcp_linux::sys::process;
use gateway_support::{Net, Stopwatch, can_run, sh};
use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;
const SYS_ADMIN: u64 = 1 << 21;
const BPF: u64 = 1 << 39;

/// A line of a process' status.
fn of_process(pid: u32, key: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned()
}

fn capabilities(pid: u32, set: &str) -> u64 {
    u64::from_str_radix(&of_process(pid, set), 16).unwrap()
}

#[test]
fn live_a_worker_keeps_no_privilege_that_it_does_not_need() {
    if !can_run() {
        return;
    }
    for method in [Method::Tcx, Method::Clsact, Method::Routed] {
        let net = Net::new();
        net.meet();
        let config = Config { method: Some(method), ..net.config("a") };
        let mut gateway = net.gateway_with("a", config, "");
        let status = gateway.wait_for("diverting", |status| status.diverting);
        for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
            let least = if set == "CapBnd:" { !SYS_ADMIN } else { NET_ADMIN | NET_RAW | BPF };
            assert_eq!(capabilities(status.pid, set) & !least, 0, "{method:?} {set}");
            assert_eq!(capabilities(gateway.supervisor(), set) & SYS_ADMIN, 0, "{method:?} {set}");
        }
        for set in ["CapInh:", "CapAmb:"] {
            assert_eq!(capabilities(status.pid, set), 0, "{method:?} {set}");
        }
        for pid in [status.pid, gateway.supervisor()] {
            assert_eq!(of_process(pid, "NoNewPrivs:"), "1");
        }
        let is_filtered = method != Method::Routed;
        assert_eq!(of_process(status.pid, "Seccomp:"), if is_filtered { "2" } else { "0" });
        let capabilities = Some(["CAP_BPF", "CAP_NET_ADMIN", "CAP_NET_RAW"].map(str::to_owned).to_vec());
        let expected = Confinement { capabilities, system_calls_filtered: is_filtered, failed: Vec::new() };
        assert_eq!(status.confinement, expected);
        // All that a gateway does, it can still do: divert, tell its status, be replaced, end in good order.
        assert!(net.ping() && gateway.status().unwrap().packets["received_inner"] > 0);
        gateway_support::kill(status.pid, "KILL");
        gateway.wait_for("replaced", |status| status.restarts == 1 && status.diverting);
        let log = gateway.said();
        assert!(!log.contains("cannot be") && !log.contains("denied") && !log.contains("not permitted"), "{log}");
        gateway.stop();
    }
}

#[test]
fn live_a_run_directory_that_leads_elsewhere_is_refused() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let (elsewhere, link) = (net.directory.join("elsewhere"), net.directory.join("link"));
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &link).unwrap();
    let config = Config { run_directory: link, ..net.config("a") };
    let (fine, text) = net.gateway_output("a", &config, "");
    assert!(!fine && text.contains("symbolic link to") && text.contains("run_directory"), "{text}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn live_on_one_core_others_get_their_share() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let config = Config { realtime: Some(40), ..net.config("a") };
    let log = net.directory.join("gwa.log");
    let inner = net.command(&config, "a", "");
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(inner.get_program()).args(inner.get_args()).stderr(File::create(&log).unwrap());
    process::die_with_parent(&mut command);
    let mut gateway = gateway_support::Gateway::new(command.spawn().unwrap(), config, log);
    let pid = gateway.wait_until_running().pid;
    gateway.wait_for("diverting", |status| status.diverting);
    let policy = sh(&format!("chrt -p {pid}"));
    assert!(policy.contains("SCHED_OTHER"), "{policy}");
    assert!(gateway.said().contains("one core only"), "{}", gateway.said());
    // More packets than it can handle, and somebody else on its core.
    let mut flood = Command::new("ip");
    flood.args(["netns", "exec", &net.ns("s"), "ping", "-n", "-q", "-f", "-l", "1000", "-w", "3"]);
    let mut flood = flood.arg(gateway_support::RECEIVER.0).stdout(Stdio::null()).spawn().unwrap();
    let counting =
        "end=$(($(date +%s%N) + 1500000000)); n=0; while [ $(date +%s%N) -lt $end ]; do n=$((n+1)); done; echo $n";
    let started = Stopwatch::start();
    let counted: u64 = sh(&format!("taskset -c 0 sh -c '{counting}'")).trim().parse().unwrap();
    assert!(counted > 50 && started.elapsed() < Duration::from_secs(4), "{counted} in {:?}", started.elapsed());
    flood.wait().unwrap();
    gateway.stop();
}
