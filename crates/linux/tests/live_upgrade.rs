//! Upgrades of gateways under traffic: another program takes over in the same process, no flow breaks, and one that cannot
//! take over leaves all as it was.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::gateway::{ask_upgrade, status};
use airtcp_linux::testbed::Family;
use live_support::gateway::{Gateway, Launch, set_scheme};
use live_support::{Path, SCHEMES, is_long, seconds, sleep_ms, turn, wait_for_files};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// As in drills: other programs may have the cores meanwhile.
const STALL_MAX: Duration = Duration::from_secs(5);
const DEADLINE: Duration = Duration::from_secs(120);

/// A gateway whose program can be replaced.
struct Upgradable {
    gateway: Gateway,
    program: PathBuf,
}

impl Upgradable {
    fn start(path: &Path, node: &str, scheme: &str) -> Upgradable {
        let program = path.directory.join(format!("program-{node}"));
        std::fs::copy(env!("CARGO_BIN_EXE_airtcp-bare-gateway"), &program).unwrap();
        let log = path.directory.join(format!("gw{node}.log"));
        let launch = Launch { path, node, program: program.clone(), log };
        let mut gateway = Gateway::spawn_as(&launch, |config| set_scheme(config, scheme));
        gateway.wait_for("running", |_| true);
        Upgradable { gateway, program }
    }

    /// As a package manager does: a new file by the same name.
    fn install(&self, contents: &[u8]) {
        let new = self.program.with_extension("new");
        std::fs::write(&new, contents).unwrap();
        std::fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::rename(new, &self.program).unwrap();
    }

    /// The installed file is what runs.
    fn runs_what_is_installed(&self) -> bool {
        let running = std::fs::metadata(format!("/proc/{}/exe", self.gateway.supervisor())).unwrap().ino();
        running == std::fs::metadata(&self.program).unwrap().ino()
    }

    fn upgrade(&self) -> Result<u32, String> {
        ask_upgrade(&self.gateway.config.run_directory, &self.gateway.config.name).expect("an answer")
    }
}

fn upgrades_break_no_flow(scheme: &str, flows: u64, bytes: u64, upgrades: u64) {
    let path = Path::up(&[("loss", "1%")]);
    let mut gateways = ["a", "b"].map(|node| Upgradable::start(&path, node, scheme));
    gateways.iter_mut().for_each(|end| end.gateway.wait_in_reach());
    let contents = std::fs::read(env!("CARGO_BIN_EXE_airtcp-bare-gateway")).unwrap();
    let origin = path.restart(1, None);
    let spec = |n| path.file(Family::BOTH[n as usize % 2], bytes, n, DEADLINE);
    let running: Vec<_> = (0..flows).map(|n| path.start(spec(n), origin)).collect();
    let mut done = 0;
    while done < upgrades && running.iter().any(|flow| !flow.is_finished()) {
        let end = &mut gateways[(done % 2) as usize];
        let supervisor = end.gateway.supervisor();
        end.install(&contents);
        assert!(!end.runs_what_is_installed());
        let worker = end.upgrade().unwrap_or_else(|why| panic!("upgrade {done}: {why}"));
        assert!(end.runs_what_is_installed(), "upgrade {done}");
        assert_eq!((end.gateway.supervisor(), end.gateway.worker()), (supervisor, worker), "upgrade {done}");
        end.gateway.wait_in_reach();
        done += 1;
        sleep_ms(100);
    }
    // A machine whose cores others have may not come to all.
    assert!(done >= upgrades / 2, "the files are too short for so many upgrades: {done}");
    let worst = wait_for_files(running, bytes);
    println!("{scheme}: {done} upgrades, {flows} flows, longest stall {:.3} s", seconds(worst));
    // Many flows stall by themselves at their small share.
    assert!(flows > 20 || worst < STALL_MAX, "{worst}");
    for end in &mut gateways {
        end.gateway.assert_sound();
    }
}

#[test]
fn live_upgrades_under_traffic_break_no_flow() {
    let Some(_turn) = turn() else { return };
    if is_long() {
        SCHEMES.iter().for_each(|scheme| upgrades_break_no_flow(scheme, 200, 3_000_000, 20));
    } else {
        upgrades_break_no_flow("local-recovery", 4, 25_000_000, 4);
    }
}

#[test]
fn live_a_program_that_cannot_take_over_leaves_all_as_it_was() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let mut end = Upgradable::start(&path, "a", "gsnoop");
    let (worker, configuration) = (end.gateway.worker(), end.gateway.config.run_directory.clone());
    end.install(b"#!/bin/sh\necho 'this program needs a newer kernel'\nexit 3\n");
    let why = end.upgrade().unwrap_err();
    assert!(why.ends_with("this program needs a newer kernel"), "{why}");
    std::fs::remove_file(&end.program).unwrap();
    let why = end.upgrade().unwrap_err();
    assert!(why.contains("is not there"), "{why}");
    let status = end.gateway.assert_sound();
    assert_eq!((status.pid, status.restarts, status.reloads.refused), (worker, 0, 2));
    assert!(end.gateway.log().contains("UpgradeRefused"));
    // What waits meanwhile is done, and nothing of it ends the daemon.
    let contents = std::fs::read(env!("CARGO_BIN_EXE_airtcp-bare-gateway")).unwrap();
    end.install(&contents);
    let supervisor = end.gateway.supervisor();
    for signal in [libc::SIGUSR2, libc::SIGHUP, libc::SIGUSR2, libc::SIGHUP] {
        airtcp_linux::sys::process::send_signal(supervisor, signal).unwrap();
    }
    end.gateway.wait_for("another program's worker", |status| status.pid != worker);
    assert!(end.runs_what_is_installed());
    assert!(status::query(&configuration, "gwa").is_ok());
}
