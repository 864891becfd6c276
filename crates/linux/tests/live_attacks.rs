//! Attacks on two gateways with a key while an honest transfer runs: it is as fast as without them, nothing is stuck
//! afterwards, and each attack is counted. docs/security-model.md lists them.

mod live_support;
#[path = "router_support/wire.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod wire;

use airtcp_core::{Duration, Instant, Rate, Rng};
use airtcp_linux::gateway::{Config, Status, status};
use airtcp_linux::sys::clock;
use airtcp_linux::sys::netns::NetNs;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::FlowSpec;
use live_support::gateway::{Gateway, PORT};
use live_support::impostor::{SECRET, key_file};
use live_support::raw::{ControlTap, RawSender};
use live_support::{Path, sleep_ms, turn};
use std::cell::Cell;
use std::io::Write;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::process::Command;
use wire::{ACK, Place, SYN};

/// What is left of the goodput at least.
const LEAST: f64 = 0.9;
/// So slow that the link is what limits the flow, and not a busy machine.
const AIR_RATE: &str = "30Mbit";
/// Port of the honest flow's receiver.
const FLOW_PORT: u16 = 5201;
const WARMUP: Duration = Duration::from_millis(700);
const UNTIL: Duration = Duration::from_millis(2_700);

/// Two gateways with a key.
struct Scene {
    path: Path,
    gateways: [Gateway; 2],
    transfers: Cell<u32>,
}

impl Scene {
    fn up(impairment: &[(&str, &str)]) -> Scene {
        let path = Path::up(&[&[("rate", AIR_RATE)], impairment].concat());
        let mut gateways = ["a", "b"].map(|node| {
            let file = key_file(&path, &format!("{node}.key"), SECRET);
            Gateway::spawn(&path, node, |config| {
                config.insecure = false;
                config.facts.rate_bps = Some(AIR_RATE.parse::<Rate>().unwrap().bps());
                config.key = Some(file);
            })
        });
        for gateway in &mut gateways {
            gateway.wait_for("in reach", |status| status.diverting && status.gauges["peer_in_reach"] == 1);
        }
        Scene { path, gateways, transfers: Cell::new(0) }
    }

    /// Goodput of an honest flow, in bits per second. Meanwhile `attack` has its turn each millisecond.
    fn goodput(&self, mut attack: impl FnMut()) -> f64 {
        let ends = ["sender", "receiver"].map(|node| self.path.testbed.end(node, Family::V4).expect("a node"));
        let spec = FlowSpec::bulk("honest", ends[0], ends[1], "cubic", WARMUP, UNTIL);
        self.transfers.set(self.transfers.get() + 1);
        // The same losses each time.
        let origin = self.path.restart(1, None);
        let flow = self.path.start(FlowSpec { port: FLOW_PORT, ..spec }, origin);
        while !flow.is_finished() {
            attack();
            sleep_ms(1);
        }
        let result = flow.join().expect("sockets");
        assert!(result.stream_is_intact(), "{:?}", result.outcome);
        result.goodput().bps() as f64
    }

    /// Asserts that an honest flow is as fast during an attack, and that the gateways are well after it; what they counted
    /// of it. A slow turn of the machine is no failure, so there are three tries.
    fn withstands(&mut self, name: &str, mut attack: impl FnMut()) -> [Status; 2] {
        let mut shares = Vec::new();
        while shares.len() < 3 && shares.iter().all(|share| *share < LEAST) {
            let undisturbed = self.goodput(|| {});
            let attacked = self.goodput(&mut attack);
            println!("{name}: {:.1} of {:.1} Mbit/s", attacked / 1e6, undisturbed / 1e6);
            shares.push(attacked / undisturbed);
        }
        assert!(shares.iter().any(|share| *share >= LEAST), "{name}: {shares:?} of the goodput are left");
        let [a, b] = &mut self.gateways;
        let statuses = [a, b].map(|gateway| {
            gateway.wait_for("well", |status| status.diverting && status.gauges["held_packets"] == 0);
            gateway.assert_sound()
        });
        assert_eq!(statuses.each_ref().map(|status| status.restarts), [0, 0], "{name}");
        statuses
    }

    fn place(&self, node: &str, port: u16) -> Place {
        (self.path.testbed.address(node, Family::V4).expect("a node"), port)
    }

    /// Where the control messages of a gateway come from.
    fn control(&self, node: &str) -> Place {
        (self.path.testbed.link_address("air", node, Family::V4).expect("an end of the air"), PORT)
    }
}

/// Counts off so many in a second.
struct Beat {
    per_second: u64,
    done: u64,
    last: Option<Instant>,
    /// What is left over, in billionths.
    rest: u64,
}

impl Beat {
    fn new(per_second: u64) -> Beat {
        Beat { per_second, done: 0, last: None, rest: 0 }
    }

    /// The numbers that are due since the last time. A longer pause is not made up for.
    fn due(&mut self) -> Range<u64> {
        let now = clock::now();
        let pause = now.saturating_since(self.last.replace(now).unwrap_or(now)).min(Duration::from_millis(20));
        self.rest += pause.as_nanos() * self.per_second;
        let due = self.done..self.done + self.rest / 1_000_000_000;
        self.rest %= 1_000_000_000;
        self.done = due.end;
        due
    }
}

/// A control message as a datagram of a gateway.
fn control(from: Place, to: Place, message: &[u8]) -> Vec<u8> {
    let mut packet = wire::datagram(from, to, message);
    packet[8] = 255;
    packet
}

#[test]
fn live_forged_replayed_and_reflected_control_messages_are_counted_and_cost_nothing() {
    let Some(_turn) = turn() else { return };
    let mut scene = Scene::up(&[("loss", "1%")]);
    let (a, b) = (scene.control("a"), scene.control("b"));
    let (at_a, at_b) = (RawSender::on(&scene.path, "a"), RawSender::on(&scene.path, "b"));
    let (tap, mut heard) = (ControlTap::on(&scene.path, "b"), Vec::new());
    let mut beat = Beat::new(600);
    let statuses = scene.withstands("control messages", || {
        heard.extend(tap.take());
        // What the attack itself sends is heard as well.
        heard.truncate(50);
        for n in beat.due() {
            let Some(genuine) = heard.get(n as usize % heard.len().max(1)) else { continue };
            let mut forged = genuine.clone();
            forged[20..28].fill(0xff);
            match n % 3 {
                0 => at_a.send(&control(a, b, &forged)),
                1 => at_a.send(&control(a, b, genuine)),
                _ => at_b.send(&control(b, a, genuine)),
            }
        }
    });
    let [a, b] = statuses;
    assert!(b.control_ignored["bad_mac"] > 300 && b.control_ignored["replayed"] > 300, "{:?}", b.control_ignored);
    assert!(a.control_ignored["reflected"] > 300, "{:?}", a.control_ignored);
    assert!(a.peer_state.is_some_and(|state| state.up) && b.peer_state.is_some_and(|state| state.up));
}

#[test]
fn live_control_messages_that_get_through_one_way_only_stop_the_gateways_and_no_flow() {
    let Some(_turn) = turn() else { return };
    // Without losses in the air, so that a flow needs no gateways.
    let mut scene = Scene::up(&[]);
    let namespace = scene.path.testbed.namespace("b").expect("a node").clone();
    let nft = move |rule: &str| {
        let status = namespace.run(|| Command::new("nft").arg(rule).status());
        assert!(status.expect("a thread").expect("the program 'nft'").success(), "{rule}");
    };
    nft("table ip cut { chain input { type filter hook input priority 0; }; }");
    let configs = scene.gateways.each_ref().map(|gateway| gateway.config.clone());
    let ask = |config: &Config| status::query(&config.run_directory, &config.name).expect("it runs");
    let (mut cut_at, mut seen) = (None, None);
    scene.withstands("one way", || match cut_at {
        None => {
            nft("add rule ip cut input udp dport 4791 drop");
            cut_at = Some(clock::now());
        }
        Some(cut_at) if seen.is_none() && clock::now() > cut_at + Duration::from_millis(1_500) => {
            seen = Some(configs.each_ref().map(ask));
            nft("flush chain ip cut input");
        }
        _ => {}
    });
    let seen = seen.expect("the flow takes longer");
    assert!(seen.iter().all(|status| !status.diverting), "{seen:?}");
    let [a, b] = seen.map(|status| status.peer_state.expect("a peer").why);
    assert!(a.contains("does not hear") && b.contains("nothing is heard"), "{a}; {b}");
}

/// The port that the honest flow is sent from.
fn flow_port(sender: &NetNs) -> Option<u16> {
    let table = sender.run(|| std::fs::read_to_string("/proc/thread-self/net/tcp")).ok()?.ok()?;
    let to = format!(":{FLOW_PORT:04X} 01");
    let line = table.lines().find(|line| line.contains(&to))?;
    u16::from_str_radix(line.split_whitespace().nth(1)?.split_once(':')?.1, 16).ok()
}

#[test]
fn live_segments_of_somebody_who_guesses_are_in_doubt_and_change_nothing() {
    let Some(_turn) = turn() else { return };
    let mut scene = Scene::up(&[("loss", "1%")]);
    let raw = RawSender::on(&scene.path, "sender");
    let (mut beat, mut rng) = (Beat::new(80), Rng::derive(1, "blind"));
    let (to, from) = (scene.place("receiver", FLOW_PORT), scene.place("sender", 0).0);
    let sender = scene.path.testbed.namespace("sender").expect("a node").clone();
    let mut port = None;
    let statuses = scene.withstands("blind segments", || {
        for n in beat.due() {
            if n % 100 == 0 {
                port = flow_port(&sender);
            }
            let Some(port) = port else { continue };
            let numbers = [rng.next_u64() as u32, rng.next_u64() as u32];
            let flags = [ACK, ACK, SYN, wire::RST][n as usize % 4];
            raw.send(&wire::tcp((from, port), to, flags, numbers, if flags == ACK { 1000 } else { 0 }));
        }
    });
    for status in &statuses {
        assert!(status.events["doubted_segments"] > 50, "{:?}", status.events);
    }
    let transfers = u64::from(scene.transfers.get());
    assert!(statuses[0].events["polls"] < 60 * transfers, "{transfers} transfers: {:?}", statuses[0].events);
}

#[test]
fn live_flows_that_are_made_to_need_repairs_and_very_many_flows_take_nothing_from_others() {
    let Some(_turn) = turn() else { return };
    let mut scene = Scene::up(&[("loss", "1%")]);
    let raw = RawSender::on(&scene.path, "sender");
    let (from, to) = (scene.place("sender", 6000), scene.place("receiver", 6001));
    let repairs = |status: &Status| status.events["repairs"];
    let before = repairs(&scene.gateways[0].assert_sound());
    scene.goodput(|| {});
    let honest = repairs(&scene.gateways[0].assert_sound()) - before;
    let mut beat = Beat::new(120);
    let [a, _] = scene.withstands("crafted flows", || {
        for n in beat.due() {
            // Half are damaged, half have nearly the same bytes as the one before.
            let sequence = (n as u32 / 100) * 50_000 + (n as u32 % 100) * 20;
            let mut segment = wire::tcp(from, to, ACK, [sequence, 1], 1000);
            if n % 2 == 0 {
                *segment.last_mut().unwrap() ^= 1;
            }
            raw.send(&segment);
        }
    });
    let made = repairs(&a) - before - honest;
    // At most two honest flows with and two without the attack.
    assert!(made < honest * 5 + 100, "{made} repairs, {honest} of an honest flow");

    let mut beat = Beat::new(2_000);
    let [a, b] = scene.withstands("many flows", || {
        for n in beat.due() {
            let ports = [1024 + n / 30_000, 7_000 + n % 30_000].map(|port| port as u16);
            raw.send(&wire::tcp((from.0, ports[0]), (to.0, ports[1]), SYN, [n as u32, 0], 0));
        }
    });
    for status in [a, b] {
        assert!(status.events["flows_evicted"] > 100, "{:?}", status.events);
    }
}

#[test]
fn live_slow_clients_of_the_status_are_turned_away_and_cost_nothing() {
    let Some(_turn) = turn() else { return };
    let mut scene = Scene::up(&[("loss", "1%")]);
    let socket = scene.gateways[0].config.socket_path();
    let (mut beat, mut slow) = (Beat::new(200), Vec::new());
    let [a, _] = scene.withstands("status clients", || {
        for n in beat.due() {
            let Ok(mut client) = UnixStream::connect(&socket) else { continue };
            // Says nothing, half a word, or asks and does not read.
            let _ = client.write_all([&b""[..], b"sta", b"status\n"][n as usize % 3]);
            slow.push(client);
            if slow.len() > 100 {
                slow.remove(0);
            }
        }
    });
    assert!(a.clients["turned_away"] > 50, "{:?}", a.clients);
}
