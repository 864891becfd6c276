//! A supervisor that does not end for what is not its end: a log that takes nothing, a worker that cannot be started, a
//! link that is not there, a second start, clients that say nothing.

mod gateway_support;

use airtcp_linux::gateway::{Config, status};
use gateway_support::{Gateway, Net, Stopwatch, can_run, kill};
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn waits_for(what: &str, mut wanted: impl FnMut() -> bool) {
    let waiting = Stopwatch::start();
    while !wanted() {
        assert!(waiting.elapsed() < Duration::from_secs(10), "not {what} after 10 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn live_a_log_that_takes_nothing_ends_no_gateway() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let config = net.config("a");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = net.command(&config, "a", "").stderr(full).spawn().unwrap();
    let mut gateway = Gateway::new(child, config, "/dev/null".into());
    let first = gateway.wait_until_running().pid;
    kill(first, "KILL");
    assert_ne!(gateway.wait_for("restarted", |status| status.restarts == 1).pid, first);
    gateway.stop();
}

#[test]
fn live_a_worker_that_cannot_be_started_for_a_while_is_started_later() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let config = net.config("a");
    // A copy of the program that can be out of the way.
    let [program, away] = ["gateway", "away"].map(|name| net.directory.join(name));
    std::fs::copy(env!("CARGO_BIN_EXE_airtcp-bare-gateway"), &program).unwrap();
    let file = net.directory.join("gateway.json");
    std::fs::write(&file, serde_json::to_vec(&config).unwrap()).unwrap();
    let log = net.directory.join("gateway.log");
    let mut command = net.program("a", &program);
    command.arg(&file).stderr(File::create(&log).unwrap());
    command.env("AIRTCP_BARE_WORKER", &program);
    let mut gateway = Gateway::new(command.spawn().unwrap(), config, log);
    let worker = gateway.wait_until_running().pid;
    std::fs::rename(&program, &away).unwrap();
    kill(worker, "KILL");
    waits_for("refused", || gateway.said().matches("could not be started").count() >= 2);
    std::fs::rename(&away, &program).unwrap();
    gateway.wait_for("restarted", |status| status.restarts > 1);
    gateway.stop();
}

#[test]
fn live_a_link_that_is_not_there_is_waited_for_at_the_start_and_later() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    net.exec("a", "ip link set air down");
    net.exec("a", "ip link set air name elsewhere");
    let mut config = net.config("a");
    config.peer = None;
    let log = net.directory.join("gwa.log");
    let child = net.command(&config, "a", "").stderr(File::create(&log).unwrap()).spawn().unwrap();
    let mut gateway = Gateway::new(child, config, log);
    waits_for("waiting", || gateway.said().contains("Waiting"));
    // It is found although no worker answers, and told so.
    assert_eq!(status::names(&net.directory), ["gwa"]);
    let unanswered = status::query(&net.directory, "gwa").unwrap_err().to_string();
    assert!(unanswered.contains("'gwa' runs, and no worker of it does"), "{unanswered}");
    net.exec("a", "ip link set elsewhere name air");
    net.exec("a", "ip link set air up");
    gateway.wait_until_running();
    // Another device under the same name.
    net.exec("a", "ip link del air");
    waits_for("waiting again", || gateway.said().matches("Waiting").count() == 2);
    net.exec("a", "ip link add air type veth peer name other");
    let status = gateway.wait_for("back", |status| status.restarts > 0 && status.diverting);
    assert!(status.conserved);
    gateway.stop();
}

#[test]
fn live_a_program_that_somebody_takes_off_the_link_is_put_back_within_seconds() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let config = Config { method: Some(airtcp_linux::gateway::divert::Method::Clsact), ..net.config("a") };
    let mut gateway = net.gateway_with("a", config, "");
    net.exec("a", "tc qdisc del dev air clsact");
    gateway.wait_for("restarted", |status| status.restarts == 1 && status.diverting);
    assert!(net.ping() && gateway.status().unwrap().packets["received_inner"] > 0);
    gateway.stop();
}

#[test]
fn live_a_second_start_touches_nothing_of_the_first() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let gateway = net.gateway("a");
    let worker = gateway.worker();
    // Also while the first does not answer.
    gateway.signal("STOP");
    kill(worker, "STOP");
    let (fine, text) = net.gateway_output("a", &gateway.config, "");
    kill(worker, "CONT");
    gateway.signal("CONT");
    assert!(!fine && text.contains("is running"), "{text}");
    let pid = std::fs::read_to_string(gateway.config.pid_path()).unwrap();
    assert_eq!(pid.trim(), gateway.supervisor().to_string());
    assert!(gateway.status().is_some() && net.ping());
    gateway.stop();
}

#[test]
fn live_clients_that_say_nothing_keep_nobody_from_the_status() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let gateway = net.gateway("a");
    let path = gateway.config.socket_path();
    let silent: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let asking = Stopwatch::start();
    assert!(gateway.status().is_some());
    assert!(asking.elapsed() < Duration::from_millis(500), "{:?}", asking.elapsed());
    // Each is turned away after a second.
    std::thread::sleep(Duration::from_millis(1_300));
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert_eq!(std::io::Read::read(&mut stream, &mut [0; 8]).unwrap_or(1), 0, "closed");
    }
    gateway.stop();
}

/// In the place of a gateway's program: a worker that starts until it is told to fail.
struct Stubborn {
    program: PathBuf,
    away: PathBuf,
    marks: [PathBuf; 2],
}

impl Stubborn {
    fn take_the_place_of(program: &Path) -> Stubborn {
        let beside = |name: &str| program.with_file_name(name);
        let stubborn = Stubborn {
            program: program.to_owned(),
            away: beside("away"),
            marks: [beside("starts"), beside("may-fail")],
        };
        let [starts, may_fail] = stubborn.marks.each_ref().map(|mark| mark.display());
        let script = format!(
            "#!/bin/sh\ntouch {starts}\nwhile [ ! -e {may_fail} ]; do sleep 0.02; done\necho 'failed: planted'\n"
        );
        let other = beside("stubborn");
        std::fs::write(&other, script).unwrap();
        std::fs::set_permissions(&other, Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(program, &stubborn.away).unwrap();
        std::fs::rename(&other, program).unwrap();
        stubborn
    }

    fn wait_until_it_starts(&self) {
        waits_for("starting", || self.marks[0].exists());
    }

    /// Ends, and gives the program its place back.
    fn fail(self) {
        std::fs::rename(&self.away, &self.program).unwrap();
        std::fs::write(&self.marks[1], "").unwrap();
    }
}

#[test]
fn live_a_reload_asked_while_a_worker_starts_holds_when_that_worker_fails() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let config = Config { peer: None, ..net.config("a") };
    let program = net.directory.join("gateway");
    std::fs::copy(env!("CARGO_BIN_EXE_airtcp-bare-gateway"), &program).unwrap();
    let file = net.directory.join("gateway.json");
    let write = |seed, listen: Option<&str>| {
        let listen = listen.map(|address| address.parse().unwrap());
        let peer = listen.and(net.config("a").peer);
        let config = Config { seed: Some(seed), listen, peer, ..config.clone() };
        std::fs::write(&file, serde_json::to_vec(&config).unwrap()).unwrap();
    };
    write(1, None);
    net.exec("a", "ip link set air down");
    net.exec("a", "ip link set air name elsewhere");
    let log = net.directory.join("gateway.log");
    let mut command = net.program("a", &program);
    command.arg(&file).stderr(File::create(&log).unwrap());
    command.env("AIRTCP_BARE_WORKER", &program);
    let mut gateway = Gateway::new(command.spawn().unwrap(), config.clone(), log);

    // The first worker fails: the reload may mend what it failed for.
    waits_for("waiting", || gateway.said().contains("Waiting"));
    let first = Stubborn::take_the_place_of(&program);
    net.exec("a", "ip link set elsewhere name air");
    net.exec("a", "ip link set air up");
    first.wait_until_it_starts();
    write(2, None);
    gateway.signal("HUP");
    first.fail();
    let reloads = gateway.wait_for("reloaded", |status| status.reloads.asked > 0).reloads;
    assert!(!reloads.last_refused && reloads.last.contains("applied by a new worker"), "{reloads:?}");

    // A later one fails in the same moment, and what is asked for does not start: the former file holds again.
    std::fs::remove_file(net.directory.join("may-fail")).unwrap();
    std::fs::remove_file(net.directory.join("starts")).unwrap();
    let later = Stubborn::take_the_place_of(&program);
    kill(gateway.worker(), "KILL");
    later.wait_until_it_starts();
    write(3, Some("192.0.2.1:4791"));
    gateway.signal("STOP");
    gateway.signal("HUP");
    later.fail();
    std::thread::sleep(Duration::from_millis(100));
    gateway.signal("CONT");
    let reloads = gateway.wait_for("asked twice", |status| status.reloads.asked == 2).reloads;
    let told = &reloads.last;
    assert!(reloads.refused == 1 && told.contains("192.0.2.1:4791") && told.contains("used again"), "{reloads:?}");
    gateway.stop();
}
