//! Upgrades of gateways under traffic: another program takes over in the same process, no flow breaks, and one that cannot
//! take over leaves all as it was.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::gateway::{Config, ask_upgrade, status};
use live_support::gateway::{Gateway, Launch, set_scheme, signal_worker};
use live_support::load::{Calm, Load, file_bytes};
use live_support::{Path, SCHEMES, is_long, sleep_ms, turn};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// What an upgrade may cost.
const STALL_MAX: Duration = Duration::from_secs(1);
/// As in drills: other programs may have the cores meanwhile.
const STALL_ON_A_BUSY_MACHINE: Duration = Duration::from_secs(5);

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

/// Upgrades both gateways in turns while so many files cross them. Each file arrives whole.
fn upgrade_under(path: &Path, gateways: &mut [Upgradable; 2], flows: u64, upgrades: u64) -> Calm {
    let contents = std::fs::read(env!("CARGO_BIN_EXE_airtcp-bare-gateway")).unwrap();
    let load = Load::start(path, flows, file_bytes(flows));
    for done in 0..upgrades {
        sleep_ms(100);
        let end = &mut gateways[(done % 2) as usize];
        let supervisor = end.gateway.supervisor();
        end.install(&contents);
        assert!(!end.runs_what_is_installed());
        let worker = end.upgrade().unwrap_or_else(|why| panic!("upgrade {done}: {why}"));
        assert!(end.runs_what_is_installed(), "upgrade {done}");
        assert_eq!((end.gateway.supervisor(), end.gateway.worker()), (supervisor, worker), "upgrade {done}");
        end.gateway.wait_in_reach();
    }
    sleep_ms(100);
    load.finish()
}

fn upgradable(path: &Path, scheme: &str) -> [Upgradable; 2] {
    let mut gateways = ["a", "b"].map(|node| Upgradable::start(path, node, scheme));
    gateways.iter_mut().for_each(|end| end.gateway.wait_in_reach());
    gateways
}

/// As many upgrades as are wanted, beside as long a time without any.
fn upgrades_add_no_stall(scheme: &str, flows: u64, upgrades: u64) {
    let path = Path::up(&[("loss", "1%")]);
    let mut gateways = upgradable(&path, scheme);
    let upgraded = upgrade_under(&path, &mut gateways, flows, upgrades);
    println!("{scheme}, {flows} flows, {upgrades} upgrades: {upgraded}");
    gateways.iter_mut().for_each(|end| drop(end.gateway.assert_sound()));
    // From the same beginning: gateways that know their link are another control.
    let fresh = Path::up(&[("loss", "1%")]);
    let _gateways = upgradable(&fresh, scheme);
    let undisturbed = Load::undisturbed(&fresh, flows, &upgraded);
    println!("{scheme}, {flows} flows, undisturbed: {undisturbed}");
    assert!(upgraded.together < STALL_MAX, "{upgraded}");
    upgraded.assert_no_worse_than(&undisturbed, STALL_MAX);
}

#[test]
fn live_upgrades_under_traffic_break_no_flow() {
    let Some(_turn) = turn() else { return };
    if is_long() {
        for (scheme, flows) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, 20), (scheme, 200)]) {
            upgrades_add_no_stall(scheme, flows, 20);
        }
        return;
    }
    let path = Path::up(&[("loss", "1%")]);
    let mut gateways = upgradable(&path, "local-recovery");
    let upgraded = upgrade_under(&path, &mut gateways, 4, 4);
    println!("local-recovery, 4 flows, 4 upgrades: {upgraded}");
    for end in &mut gateways {
        end.gateway.assert_sound();
        assert!(!end.gateway.log().contains("ends before the next one begins"), "{}", end.gateway.log());
    }
    assert!(upgraded.longest() < STALL_ON_A_BUSY_MACHINE, "{upgraded}");
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
    // It has nothing against the file, and is no gateway.
    end.install(b"#!/bin/sh\nexit 0\n");
    let why = end.upgrade().unwrap_err();
    assert!(why.contains("its worker does not take over"), "{why}");
    let status = end.gateway.assert_sound();
    assert_eq!((status.pid, status.restarts, status.reloads.refused), (worker, 0, 3));
    assert!(end.gateway.log().contains("UpgradeRefused"));
    // Whatever is installed, the next worker is of the program that runs.
    signal_worker(worker, libc::SIGKILL);
    let worker = end.gateway.wait_for("another worker", |status| status.restarts == 1).pid;
    assert!(!end.runs_what_is_installed());
    // What waits meanwhile is done, and nothing of it ends the daemon.
    let contents = std::fs::read(env!("CARGO_BIN_EXE_airtcp-bare-gateway")).unwrap();
    end.install(&contents);
    let supervisor = end.gateway.supervisor();
    for signal in [libc::SIGUSR2, libc::SIGHUP, libc::SIGUSR2, libc::SIGHUP] {
        airtcp_linux::sys::process::send_signal(supervisor, signal).unwrap();
    }
    end.gateway.wait_for("another program's worker", |status| status.pid != worker);
    // It answers a moment before the supervisor becomes the other program.
    let becomes_it = || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        end.runs_what_is_installed()
    };
    assert!((0..100).any(|_| becomes_it()));
    assert!(status::query(&configuration, "gwa").is_ok());
}

#[test]
fn live_an_upgrade_goes_on_with_the_file_as_it_is_by_then() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let mut end = Upgradable::start(&path, "a", "gsnoop");
    let contents = std::fs::read(env!("CARGO_BIN_EXE_airtcp-bare-gateway")).unwrap();
    let write = |config: &Config| {
        std::fs::write(path.directory.join("gwa.json"), serde_json::to_vec(config).unwrap()).unwrap();
    };
    let mut config = end.gateway.config.clone();
    config.facts.rate_bps = Some(30_000_000);
    write(&config);
    end.install(&contents);
    end.upgrade().unwrap();
    let status = end.gateway.wait_for("told of the file", |status| status.reloads.asked == 1);
    assert_eq!((status.reloads.refused, status.gauges["rate_bps"]), (0, 30_000_000), "{}", status.reloads.last);
    // Nobody would find it again by its name.
    write(&Config { name: "other".into(), ..config.clone() });
    end.install(&contents);
    let why = end.upgrade().unwrap_err();
    assert!(why.contains("`name` changed in the file"), "{why}");
    // As it was told, nothing is reloaded.
    write(&config);
    end.upgrade().unwrap();
    assert_eq!(end.gateway.wait_for("running", |_| true).reloads.asked, 0);
}
