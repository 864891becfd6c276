//! The Debian package on two machines with systemd, as docs/operations.md prints the commands: `make accept-packages`, which
//! names a Debian root with `AIRTCP_MACHINE_BASE`; the package is in its `/srv`. One of the two is a home router.

mod nspawn_support;
mod row_support;

use airtcp_core::Duration;
use airtcp_linux::testbed::{Family, Testbed};
use airtcp_test_support::skip;
use nspawn_support::Machine;
use row_support::{home, home_router, load_rules, network_state, upload};
use std::path::Path;

const OPERATIONS: &str = include_str!("../../../docs/operations.md");
/// What the packaged file and the page have in place of the other router's address on the link.
const PEER: &str = "192.0.2.1";
/// A second and more at what the link carries.
const FILE_BYTES: u64 = 4_000_000;
/// How soon `airtcp status` has to show the peer.
const IN_REACH_MAX: Duration = Duration::from_secs(5);
const ROUTERS: [&str; 2] = ["a", "b"];

/// The commands of the section *As a service*.
fn commands() -> Vec<&'static str> {
    let section = OPERATIONS.split("\n## As a service\n").nth(1).expect("the section");
    section.split("```").nth(1).expect("a block").lines().filter(|line| !line.is_empty()).collect()
}

/// Two machines with systemd, between a laptop and a server.
struct Boxes {
    // Machines are switched off before their network goes.
    machines: [Machine; 2],
    testbed: Testbed,
}

impl Boxes {
    fn up(base: &Path) -> Boxes {
        let testbed = home();
        let machines = ROUTERS.map(|node| Machine::boot(&testbed, node, base));
        load_rules(&testbed, ROUTERS[0], &home_router("lan", "wlan0"));
        Boxes { machines, testbed }
    }

    /// What the commands say of a machine, with the address of the other one.
    fn line(&self, machine: usize, line: &str) -> String {
        let other = self.testbed.link_address("wlan0", ROUTERS[1 - machine], Family::V4).expect("an end of the link");
        line.replace(PEER, &other.to_string())
    }

    /// The operator's one edit.
    fn give_editor(&self, machine: usize) {
        let script = self.line(machine, &format!("#!/bin/sh\nsed -i 's/^peer = .*/peer = \"{PEER}:4791\"/' \"$1\"\n"));
        self.machines[machine].must(&format!("printf %s '{}' >/usr/bin/editor", script.replace('\'', "'\\''")));
        self.machines[machine].must("chmod 755 /usr/bin/editor");
    }

    /// All that the package or a gateway could have changed on a machine.
    fn state(&self, machine: usize) -> String {
        let looks = [
            "find / -xdev -iname '*airtcp*' ! -path '/srv/*' ! -path '/proc/*' ! -path '/var/cache/*'; ls /etc/systemd/system/*.wants",
            // Of a unit that is gone and did not fail, systemd keeps the name for a while.
            "systemctl list-units --all --plain --no-legend 'airtcp*' | grep -vE 'not-found +inactive +dead'; pgrep -a airtcp || true",
        ];
        let seen: String = looks.iter().map(|line| self.machines[machine].must(line)).collect();
        network_state(&self.testbed, ROUTERS[machine]) + &seen
    }

    /// The process that moves packets.
    fn worker(&self, machine: usize) -> u64 {
        let status: serde_json::Value =
            serde_json::from_str(&self.machines[machine].must("airtcp status --json")).expect("JSON");
        status[0]["pid"].as_u64().expect("a process id")
    }

    /// Waits until each machine's `airtcp status` shows the other one.
    fn wait_in_reach(&self) -> Duration {
        let of = |machine: usize| {
            let shows = || self.machines[machine].run("airtcp status").1.contains(" answers (airtcp ");
            self.machines[machine].wait_for("the peer in `airtcp status`", IN_REACH_MAX, shows)
        };
        of(0).max(of(1))
    }

    fn main_pid(&self, machine: usize) -> String {
        self.machines[machine].must("systemctl show -p MainPID --value airtcp-gateway@gateway")
    }
}

#[test]
fn the_page_of_the_package_is_short() {
    let commands = commands();
    assert!(commands.len() <= 6, "{commands:?}");
    assert!(commands[0].starts_with("apt install ./airtcp_"), "{commands:?}");
}

#[test]
fn live_a_stranger_installs_the_package_restarts_upgrades_reboots_and_purges_it() {
    let Some(base) = std::env::var_os("AIRTCP_MACHINE_BASE") else {
        return skip("it boots two Debian machines: make accept-packages");
    };
    let mut boxes = Boxes::up(Path::new(&base));
    let before = [0, 1].map(|machine| boxes.state(machine));
    let plain = upload(&boxes.testbed, 1, FILE_BYTES);

    for line in commands() {
        // A key is made once, and copied from there.
        let on = if line.starts_with("airtcp key") || line.starts_with("scp") { 0..1 } else { 0..2 };
        for machine in on {
            boxes.give_editor(machine);
            println!("{}# {}", ROUTERS[machine], boxes.line(machine, line));
            print!("{}", boxes.machines[machine].must(&boxes.line(machine, line)));
        }
    }
    println!("the peer is in `airtcp status` after {}", boxes.wait_in_reach());
    let helped = upload(&boxes.testbed, 1, FILE_BYTES);
    println!("{FILE_BYTES} bytes at 2 % loss: plain {plain:.2} s, with gateways {helped:.2} s");
    assert!(helped * 1.5 < plain, "plain {plain}, with gateways {helped}");

    restart_reload_and_upgrade(&boxes);
    boxes.machines.iter_mut().for_each(Machine::reboot);
    println!("after a reboot the peer is in reach after {}", boxes.wait_in_reach());
    let rebooted = upload(&boxes.testbed, 1, FILE_BYTES);
    assert!(rebooted * 1.5 < plain, "plain {plain}, with gateways after a reboot {rebooted}");

    for machine in &boxes.machines {
        println!("{}", machine.must("apt purge -y airtcp"));
    }
    assert_eq!([0, 1].map(|machine| boxes.state(machine)), before);
    upload(&boxes.testbed, 2, FILE_BYTES / 4);
}

/// What an operator does to a service that runs.
fn restart_reload_and_upgrade(boxes: &Boxes) {
    let a = &boxes.machines[0];
    a.must("systemctl restart airtcp-gateway@gateway");
    println!("after a restart the peer is in reach after {}", boxes.wait_in_reach());
    a.must("systemctl reload airtcp-gateway@gateway");
    // A file that is wrong is refused in a sentence, and changes nothing.
    a.must("cp /etc/airtcp/gateway.toml /srv/right.toml && echo 'ratte = 1' >>/etc/airtcp/gateway.toml");
    let (code, _) = a.run("systemctl reload airtcp-gateway@gateway");
    assert_ne!(code, Some(0), "a reload of a wrong file");
    let journal = a.must("journalctl --no-pager -p warning SYSLOG_IDENTIFIER=airtcp AIRTCP_NAME=wlan0");
    assert!(journal.contains("gateway.toml:") && journal.contains("'rate'"), "{journal}");
    a.must("cp /srv/right.toml /etc/airtcp/gateway.toml && systemctl reload airtcp-gateway@gateway");

    // Installing the package again is an upgrade: the same service, another program.
    let (main, worker) = (boxes.main_pid(0), boxes.worker(0));
    a.must("apt install --reinstall -y ./airtcp_*.deb");
    boxes.wait_in_reach();
    assert_eq!(boxes.main_pid(0), main);
    let program = a.must(&format!("readlink /proc/{}/exe", main.trim()));
    assert_eq!(program.trim(), "/usr/bin/airtcpd", "the program that was installed anew");
    assert_ne!(boxes.worker(0), worker);
}
