//! Congestion controllers in the kernel: loaded, used, taken away, also while in use, and nothing is left.

#![cfg(feature = "bpf")]

mod live_support;

use airtcp_linux::bpf::{self, BpfError, Registration, pinned};
use airtcp_linux::sys::{bpf_fs, netns::NetNs, tcp_socket as socket};
use live_support::skip;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A name of our own: an operator may have loaded the real one.
const NAME: &str = "airtcptest";
static TURN: Mutex<()> = Mutex::new(());

/// Waits for this test's turn; `None`, with the reason told, where nothing can be loaded.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    let guard = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let _ = pinned::unload(NAME);
    match Registration::new(newzag(), NAME, &[]) {
        Ok(registration) => {
            drop(registration);
            gone();
            Some(guard)
        }
        Err(error @ (BpfError::NotBuilt(_) | BpfError::NotRoot | BpfError::NoBtf)) => {
            skip(test, &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn newzag() -> &'static bpf::Program {
    bpf::program("newzag").unwrap()
}

/// Programs and maps in the kernel that our controllers are made of.
fn in_kernel() -> usize {
    let ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("newzag");
    let programs = libbpf_rs::query::ProgInfoIter::default().filter(|program| ours(&program.name)).count();
    let maps = libbpf_rs::query::MapInfoIter::default();
    programs + maps.filter(|map| ours(&map.name) || map.name == ".bss.counters").count()
}

/// The kernel frees programs and names a moment after their last use: looks for 10 s.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let looks = (0..1000).any(|_| {
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
    let test = "live_a_controller_is_loaded_used_and_taken_away_while_in_use_fifty_times_and_nothing_is_left";
    let Some(_turn) = turn(test) else { return };
    std::thread::sleep(Duration::from_millis(300));
    let before = in_kernel();
    for _ in 0..50 {
        pinned::load(newzag(), NAME, &[]).unwrap();
        assert!(in_kernel() > before && bpf::is_available(NAME));
        transfer(256, || {
            pinned::unload(NAME).unwrap();
            assert!(!bpf::is_available(NAME));
        });
    }
    eventually("programs or maps are left", || in_kernel() == before);
}

#[test]
fn live_a_loaded_controller_is_listed_with_its_counters_and_refuses_to_be_loaded_twice() {
    let Some(_turn) = turn("live_a_loaded_controller_is_listed_with_its_counters_and_refuses_to_be_loaded_twice")
    else {
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
    let Some(_turn) = turn("live_what_a_killed_load_left_is_removed_by_the_next") else { return };
    pinned::load(newzag(), NAME, &[]).unwrap();
    // As after a kill between the two files, seen from the next start.
    std::fs::remove_file(format!("{}/{NAME}/link", pinned::ROOT)).unwrap();
    assert!(!pinned::list().unwrap().iter().any(|loaded| loaded.name == NAME));
    gone();
    pinned::load(newzag(), NAME, &[]).unwrap();
    assert!(bpf_fs::is_mounted("/sys/fs/bpf") && bpf::is_available(NAME));
    pinned::unload(NAME).unwrap();
}

#[test]
fn live_a_registration_is_gone_when_it_is_dropped_and_a_namespace_may_make_it_its_default() {
    let Some(_turn) = turn("live_a_registration_is_gone_when_it_is_dropped_and_a_namespace_may_make_it_its_default")
    else {
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
