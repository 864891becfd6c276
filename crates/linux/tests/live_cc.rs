//! Congestion controllers in the kernel: loaded, used, taken away, also while in use, and nothing is left.

#![cfg(feature = "bpf")]

mod live_support;

use airtcp_linux::bpf::{self, BpfError, Registration, pinned};
use airtcp_linux::gateway::command::is_installed;
use airtcp_linux::sys::{bpf_fs, netns::NetNs, process, tcp_socket as socket};
use airtcp_test_support::skip;
use live_support::kernel_log::KernelLog;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A name of our own: an operator may have loaded the real one.
const NAME: &str = "airtcptest";
static TURN: Mutex<()> = Mutex::new(());

/// Waits for this test's turn; `None`, with the reason told, where nothing can be loaded.
fn turn() -> Option<MutexGuard<'static, ()>> {
    let guard = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let _ = pinned::unload(NAME);
    match Registration::new(newzag(), NAME, &[]) {
        Ok(registration) => {
            drop(registration);
            gone();
            Some(guard)
        }
        Err(error @ (BpfError::NotBuilt(_) | BpfError::NotRoot | BpfError::NoBtf)) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn newzag() -> &'static bpf::Program {
    bpf::program("newzag").unwrap()
}

/// Programs and maps in the kernel that our controllers are made of, by their kind and number, which the kernel gives
/// once: what another program loaded before, or has not lost yet, is told from ours.
fn in_kernel() -> BTreeSet<(&'static str, u32)> {
    let is_ours = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        // The kernel keeps 15 characters of a name.
        name.starts_with("newzag") || name == ".bss.counters" || name == ".rodata.setting"
    };
    let programs = libbpf_rs::query::ProgInfoIter::default().filter(|program| is_ours(&program.name));
    let maps = libbpf_rs::query::MapInfoIter::default().filter(|map| is_ours(&map.name));
    programs.map(|program| ("program", program.id)).chain(maps.map(|map| ("map", map.id))).collect()
}

/// True if there is something that was not there `before`.
fn is_more_than(before: &BTreeSet<(&'static str, u32)>) -> bool {
    !in_kernel().is_subset(before)
}

/// The kernel frees programs and names a moment after their last use, sockets and namespaces in the background: looks
/// for a minute.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let looks = (0..6000).any(|_| {
        let done = holds();
        if !done {
            std::thread::sleep(Duration::from_millis(10));
        }
        done
    });
    assert!(looks, "{what}");
}

fn gone() {
    eventually("the name is still there", || !bpf::is_available(NAME));
}

/// A transfer within a namespace of its own whose sender has the controller; half-way `at_half` is called.
fn transfer(kilobytes: usize, at_half: impl FnOnce()) {
    let namespace = NetNs::unnamed().unwrap();
    let (client, server) = namespace
        .run(|| {
            assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        })
        .unwrap();
    socket::set_congestion_control(client.as_fd(), NAME).unwrap();
    let reader = std::thread::spawn(move || {
        let (mut server, mut received, mut buffer) = (server, 0, vec![0; 1 << 16]);
        while let Ok(count @ 1..) = server.read(&mut buffer) {
            received += count;
        }
        received
    });
    let mut client = client;
    let chunk = [0x55; 1024];
    let mut at_half = Some(at_half);
    for number in 0..kilobytes {
        if number == kilobytes / 2
            && let Some(act) = at_half.take()
        {
            act();
        }
        client.write_all(&chunk).unwrap();
    }
    drop(client);
    assert_eq!(reader.join().unwrap(), kilobytes * 1024);
}

#[test]
fn live_a_controller_is_loaded_used_and_taken_away_while_in_use_fifty_times_and_nothing_is_left() {
    let Some(_turn) = turn() else { return };
    let before = in_kernel();
    for _ in 0..50 {
        pinned::load(newzag(), NAME, &[]).unwrap();
        assert!(is_more_than(&before) && bpf::is_available(NAME));
        transfer(256, || {
            pinned::unload(NAME).unwrap();
            assert!(!bpf::is_available(NAME));
        });
    }
    eventually("programs or maps are left", || !is_more_than(&before));
}

/// iperf3 on the loopback device of `namespace`, ended when dropped.
struct Iperf3(Child);

impl Iperf3 {
    fn start(namespace: &NetNs, arguments: &[&str]) -> Iperf3 {
        let mut command = Command::new("iperf3");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Iperf3(namespace.run(|| command.spawn()).unwrap().unwrap())
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn signal(&self, signal: i32) {
        process::send_signal(self.0.id(), signal).unwrap();
    }

    /// What it printed until its end.
    fn output(&mut self) -> String {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.0.wait().unwrap().success(), "{text}");
        text
    }
}

impl Drop for Iperf3 {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `ss` of `namespace` says of its TCP sockets.
fn sockets(namespace: &NetNs, arguments: &str) -> String {
    let output = namespace.run(|| Command::new("ss").arg("-H").args(arguments.split(' ')).output()).unwrap().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// True if the socket that a line of `ss -i` is about has sent so much.
fn has_sent(line: &str, bytes: u64) -> bool {
    let sent = line.split(' ').find_map(|word| word.strip_prefix("bytes_sent:"));
    sent.and_then(|sent| sent.parse::<u64>().ok()).is_some_and(|sent| sent >= bytes)
}

#[test]
fn live_iperf3_keeps_a_controller_that_is_unloaded_under_it_fifty_times_and_the_kernel_has_nothing_to_say() {
    let Some(_turn) = turn() else { return };
    if let Some(missing) = ["iperf3", "ss"].into_iter().find(|program| !is_installed(program)) {
        return skip(&format!("the program '{missing}' is missing; scripts/setup installs it"));
    }
    let Ok(mut log) = KernelLog::from_now() else { return skip("the kernel's log cannot be read here") };
    let before = in_kernel();
    let namespace = NetNs::unnamed().unwrap();
    let up = || Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(namespace.run(up).unwrap().unwrap().success());
    let mut server = Iperf3::start(&namespace, &["-s", "--forceflush"]);
    eventually("iperf3 does not listen", || sockets(&namespace, "-ltn").contains(":5201"));
    for round in 0..50 {
        pinned::load(newzag(), NAME, &[]).unwrap();
        // 128 KiB at 4 Mbit/s: a quarter of a second.
        let arguments = ["-c", "127.0.0.1", "-C", NAME, "-n", "128K", "-b", "4M", "-l", "4K", "--json"];
        // The client's own: the server's may have it before. iperf3 sets it twice; once data flows, it has done so.
        let uses = || {
            sockets(&namespace, "-tin dport = :5201").lines().any(|line| line.contains(NAME) && has_sent(line, 4096))
        };
        // Stopped in the middle, however slow this machine is; one that was through before is another one's turn.
        let mut client = (0..20)
            .find_map(|_| {
                let mut client = Iperf3::start(&namespace, &arguments);
                while client.is_running() && !uses() {}
                client.signal(libc::SIGSTOP);
                uses().then_some(client)
            })
            .expect("one of 20 is stopped while its socket has the controller");
        pinned::unload(NAME).unwrap();
        assert!(uses() && !bpf::is_available(NAME), "round {round}");
        assert!(is_more_than(&before), "what a socket uses stays");
        client.signal(libc::SIGCONT);
        let report: serde_json::Value = serde_json::from_str(&client.output()).unwrap();
        assert_eq!(report["end"]["sender_tcp_congestion"], NAME, "{report}");
        assert_eq!(report["end"]["sum_sent"]["bytes"], 128 << 10, "{report}");
    }
    assert!(server.is_running());
    drop((server, namespace));
    eventually("programs or maps are left", || !is_more_than(&before));
    assert_eq!(log.complaints(), Vec::<String>::new());
}

#[test]
fn live_a_loaded_controller_is_listed_with_its_counters_and_refuses_to_be_loaded_twice() {
    let Some(_turn) = turn() else {
        return;
    };
    assert!(matches!(pinned::unload(NAME), Err(BpfError::NotLoaded(_))));
    pinned::load(newzag(), NAME, &[("lda".into(), "original".into())]).unwrap();
    assert!(matches!(pinned::load(newzag(), NAME, &[]), Err(BpfError::Loaded(_))));
    assert!(matches!(Registration::new(newzag(), NAME, &[]), Err(BpfError::Taken(_))));
    let listed = pinned::list().unwrap();
    assert!(listed.iter().any(|loaded| loaded.name == NAME));
    pinned::unload(NAME).unwrap();
    assert!(!pinned::list().unwrap().iter().any(|loaded| loaded.name == NAME));
}

#[test]
fn live_what_a_killed_load_left_is_removed_by_the_next() {
    let Some(_turn) = turn() else { return };
    pinned::load(newzag(), NAME, &[]).unwrap();
    // As after a kill between the two files, seen from the next start.
    std::fs::remove_file(format!("{}/{NAME}/link", bpf::ROOT)).unwrap();
    assert!(!pinned::list().unwrap().iter().any(|loaded| loaded.name == NAME));
    gone();
    pinned::load(newzag(), NAME, &[]).unwrap();
    assert!(bpf_fs::is_mounted("/sys/fs/bpf") && bpf::is_available(NAME));
    pinned::unload(NAME).unwrap();
}

#[test]
fn live_a_registration_is_gone_when_it_is_dropped_and_a_namespace_may_make_it_its_default() {
    let Some(_turn) = turn() else {
        return;
    };
    let registration = Registration::new(newzag(), NAME, &[]).unwrap();
    let namespace = NetNs::unnamed().unwrap();
    namespace.write_sysctl("net/ipv4/tcp_congestion_control", NAME).unwrap();
    assert_eq!(namespace.read_sysctl("net/ipv4/tcp_congestion_control").unwrap().trim(), NAME);
    assert_eq!(registration.counters().unwrap().len(), newzag().counter_names().len());
    drop((registration, namespace));
    gone();
}
