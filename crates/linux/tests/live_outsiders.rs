//! The gateways and programs that know nothing of them: iperf3 from Debian, whoever asks for the
//! status while traffic runs, and whoever sends control messages without being the peer.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::gateway::{Status, status};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family};
use airtcp_linux::traffic::Outcome;
use airtcp_test_support::skip;
use live_support::gateway::{Gateway, PORT};
use live_support::impostor::{Impostor, SECRET, key_file, socket_on};
use live_support::{Path, sleep_ms, turn};
use std::process::Command;

const LOSS: &[(&str, &str)] = &[("loss", "2%")];

/// Goodput of iperf3 from sender to receiver, in bits per second.
fn iperf3(path: &Path) -> f64 {
    let server = path.testbed.start("receiver", &Exec::new("iperf3").args(["-s", "-1"])).expect("iperf3 starts");
    sleep_ms(300);
    let to = path.testbed.address("receiver", Family::V4).expect("a node").to_string();
    let log = path.directory.join("iperf3.json");
    let arguments = ["-C", "cubic", "-J", "-O", "1", "-t", "5", "-c", &to];
    let mut client = path.testbed.start("sender", &Exec::new("iperf3").args(arguments).log(&log)).expect("iperf3");
    let ended = client.wait().expect("it ends");
    let text = std::fs::read_to_string(&log).expect("a log");
    assert!(ended.success(), "{text}");
    drop(server);
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    answer["end"]["sum_received"]["bits_per_second"].as_f64().expect("a figure")
}

#[test]
fn live_iperf3_is_several_times_faster_through_the_gateways_than_without_them() {
    let Some(_turn) = turn() else { return };
    if !airtcp_linux::gateway::command::is_installed("iperf3") {
        skip("the program 'iperf3' is missing");
        return;
    }
    let path = Path::up(LOSS);
    let plain = iperf3(&path);
    let mut gateways = path.gateways();
    let repaired = iperf3(&path);
    println!(
        "iperf3, 2 % loss, 100 Mbit/s: plain {:.1} Mbit/s, through G-Snoop {:.1}, {:.1} times",
        plain / 1e6,
        repaired / 1e6,
        repaired / plain
    );
    assert!(repaired > 3.0 * plain);
    gateways.iter_mut().for_each(|gateway| drop(gateway.assert_sound()));
}

#[test]
fn live_the_status_answers_while_traffic_runs_and_accounts_for_every_packet() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(LOSS);
    let gateways = path.gateways();
    let origin = path.restart(5, None);
    let flow = path.start(path.file(Family::V6, 20_000_000, 5, Duration::from_secs(30)), origin);
    let mut slowest = Duration::ZERO;
    let mut answers = 0;
    let mut seen = [0; 2];
    while !flow.is_finished() {
        for (gateway, seen) in gateways.iter().zip(&mut seen) {
            let asked = clock::now();
            let status = gateway.status().expect("an answer within a second");
            slowest = slowest.max(clock::now().saturating_since(asked));
            assert!(status.conserved && status.broken.is_none(), "{status:?}");
            let received: u64 = [&status.packets["received_inner"], &status.packets["received_link"]].into_iter().sum();
            assert!(received >= *seen, "counters never go back");
            *seen = received;
            let metrics = status::ask(&gateway.config.run_directory, &gateway.config.name, "metrics").unwrap();
            assert!(metrics.contains("airtcp_packets_total"), "{metrics}");
            answers += 1;
        }
        sleep_ms(20);
    }
    let result = flow.join().expect("sockets");
    println!("{answers} answers while {} bytes crossed, the slowest after {slowest}", result.received_bytes);
    assert_eq!(result.outcome, Outcome::Complete);
    assert!(answers >= 40 && seen.iter().all(|packets| *packets > 13_000), "{answers} {seen:?}");
    assert!(slowest < Duration::from_millis(500));
}

/// Starts both gateways with a secret each.
fn gateways_with_keys(path: &Path, secrets: [&str; 2]) -> [Gateway; 2] {
    [("a", secrets[0]), ("b", secrets[1])].map(|(node, secret)| {
        let file = key_file(path, &format!("{node}.key"), secret);
        Gateway::start(path, node, |config| {
            config.insecure = false;
            config.key = Some(file);
        })
    })
}

/// Sends a file; status of both gateways after it.
fn send_file(path: &Path, gateways: &mut [Gateway; 2], bytes: u64) -> [Status; 2] {
    let origin = path.restart(6, None);
    let flow = path.start(path.file(Family::V4, bytes, 6, Duration::from_secs(60)), origin);
    let result = flow.join().expect("sockets");
    assert_eq!(result.outcome, Outcome::Complete);
    assert!(result.stream_is_intact());
    assert_eq!(result.received_bytes, bytes);
    gateways.each_mut().map(Gateway::assert_sound)
}

#[test]
fn live_losses_are_repaired_with_the_same_key_at_both_ends() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(LOSS);
    let mut gateways = gateways_with_keys(&path, [SECRET, SECRET]);
    gateways.iter_mut().for_each(Gateway::wait_in_reach);
    let [a, b] = send_file(&path, &mut gateways, 10_000_000);
    assert!(a.events["repairs"] > 50 && b.events["nacks"] > 50, "{:?} {:?}", a.events, b.events);
    for status in [a, b] {
        // Whoever speaks before a lost answer arrives again has no session yet.
        let mut ignored = status.control_ignored.iter().filter(|(reason, _)| *reason != "no_session");
        assert!(ignored.all(|(_, count)| *count == 0), "{:?}", status.control_ignored);
        assert!(status.peer_state.is_some_and(|state| state.up && state.secured));
    }
}

#[test]
fn live_with_different_keys_nothing_is_repaired_and_everything_passes() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(LOSS);
    let mut gateways = gateways_with_keys(&path, [SECRET, "another secret, as long"]);
    for status in send_file(&path, &mut gateways, 2_000_000) {
        assert_eq!(status.gauges["peer_in_reach"], 0);
        assert_eq!((status.events["repairs"], status.control["received"]), (0, 0));
        assert!(status.control_ignored["bad_mac"] > 5, "{:?}", status.control_ignored);
        let state = status.peer_state.as_ref().expect("a peer");
        assert!(!state.up && state.why.contains("another key"), "{state:?}");
        // The file's 1382 full segments passed in the kernel: nothing is diverted without a peer.
        assert!(!status.diverting && status.link_packets.values().all(|count| *count == 0), "{status:?}");
        assert_eq!((status.packets["received_inner"], status.packets["received_link"]), (0, 0));
    }
}

#[test]
fn live_control_messages_of_anybody_but_the_peer_are_ignored_and_counted() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let file = key_file(&path, "b.key", SECRET);
    let mut b = Gateway::start(&path, "b", |config| {
        config.insecure = false;
        config.key = Some(file);
    });
    let mut impostor = Impostor::new(&path, Some(SECRET));
    let genuine = impostor.answer_hello();
    b.wait_in_reach();
    let before = b.assert_sound();
    assert_eq!(before.control_ignored.values().sum::<u64>(), 0, "{:?}", before.control_ignored);

    // Somebody else with the key, and the peer's address with another port.
    let hello = impostor.sealed(&genuine[28..genuine.len() - 16]);
    let stranger = path.testbed.address("sender", Family::V4).expect("a node");
    socket_on(&path, "sender", stranger, PORT).send_to(&hello, impostor.to).expect("sent");
    let peer = impostor.socket.local_addr().unwrap().ip();
    socket_on(&path, "a", peer, PORT + 1).send_to(&hello, impostor.to).expect("sent");
    // The peer's address from behind a router.
    impostor.socket.set_ttl(254).unwrap();
    impostor.send(&hello);
    impostor.socket.set_ttl(255).unwrap();
    // Nothing, noise, less than an envelope, another protocol, reserved bits; another version.
    impostor.send(&[]);
    impostor.send(&[0xa5; 1_400]);
    impostor.send(&genuine[..27]);
    impostor.send(b"GET / HTTP/1.1\r\nHost: a gateway\r\n\r\n");
    impostor.send(&changed(&genuine, 6, 1));
    impostor.send(&changed(&genuine, 4, 1));
    // Without authentication, with a changed message, with the MAC of another key.
    impostor.send(&changed(&genuine[..genuine.len() - 16], 5, 0));
    impostor.send(&changed(&genuine, 30, 1));
    impostor.send(&impostor.with_key("a key of somebody else").challenge());
    // Heard before; B's own words.
    impostor.send(&genuine);
    impostor.send(&genuine);
    let own_words = impostor.receive();
    impostor.send(&own_words);
    // From the peer, in order, and nonsense to the scheme.
    let nonsense = impostor.sealed(b"\xffnonsense");
    impostor.send(&nonsense);

    let after = b.wait_for("told everything", |status| status.events["control_malformed"] == 1);
    let wanted = [
        ("stranger", 2),
        ("hop_limit", 1),
        ("malformed", 5),
        ("version", 1),
        ("unauthenticated", 1),
        ("bad_mac", 2),
        ("replayed", 2),
        ("reflected", 1),
    ];
    for (reason, count) in wanted {
        assert_eq!(after.control_ignored[reason], count, "{reason}: {:?}", after.control_ignored);
    }
    assert_eq!(after.control["received"], before.control["received"] + 1, "the nonsense only");
    impostor.answer_hello();
    let end = b.wait_for("listening to its peer", |status| status.control["received"] > after.control["received"]);
    assert_eq!((end.gauges["peer_in_reach"], end.restarts, end.conserved), (1, 0, true));
}

#[test]
fn live_a_message_that_comes_by_another_interface_is_not_heard() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let mut b = Gateway::start(&path, "b", |_| {});
    let mut impostor = Impostor::new(&path, None);
    let genuine = impostor.answer_hello();
    b.wait_in_reach();
    // The receiver takes A's address, so that it can write to B from there by the other side of B.
    let peer = impostor.socket.local_addr().unwrap().ip();
    let namespace = path.testbed.namespace("receiver").expect("a node");
    let add = || Command::new("ip").args(["address", "add", &format!("{peer}/32"), "dev", "lo"]).status();
    assert!(namespace.run(add).expect("a thread").expect("the program 'ip'").success());
    let elsewhere = socket_on(&path, "receiver", peer, PORT);
    // A program of B that listens at all interfaces hears it.
    let anywhere = socket_on(&path, "b", impostor.to.ip(), PORT + 1);
    anywhere.set_read_timeout(Some(std::time::Duration::from_secs(1))).unwrap();

    let hello = impostor.sealed(&genuine[28..]);
    let before = b.assert_sound();
    elsewhere.send_to(&hello, impostor.to).expect("sent");
    elsewhere.send_to(&hello, (impostor.to.ip(), PORT + 1)).expect("sent");
    let (length, from) = anywhere.recv_from(&mut [0; 2048]).expect("B is reached");
    assert_eq!((length, from.ip()), (hello.len(), peer));
    let after = b.assert_sound();
    assert_eq!(
        (after.control["received"], &after.control_ignored),
        (before.control["received"], &before.control_ignored)
    );
    // It was in order: by the link it is taken, from a peer that answers.
    impostor.speak(Duration::from_millis(300));
    impostor.send(&hello);
    b.wait_for("told", |status| status.control["received"] == before.control["received"] + 1);
}

#[test]
fn live_a_peer_with_another_scheme_or_key_is_named_in_status_and_log() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let file = key_file(&path, "b.key", SECRET);
    let mut b = Gateway::start(&path, "b", |config| {
        config.insecure = false;
        config.key = Some(file);
    });
    let mut impostor = Impostor::new(&path, Some(SECRET));
    for (secret, words) in [("some other secret", "another key"), (SECRET, "another scheme")] {
        impostor.restart(Some(secret), "arq");
        impostor.speak(Duration::from_millis(500));
        let named = |status: &Status| status.peer_state.as_ref().is_some_and(|state| state.why.contains(words));
        let status = b.wait_for(words, named);
        assert!(!status.diverting);
    }
    // Lines of the log are five seconds apart.
    let is_told = (0..80).any(|_| {
        impostor.speak(Duration::from_millis(100));
        b.log().contains("another scheme")
    });
    assert!(is_told, "{}", b.log());
}

/// A copy with one byte set to another value.
fn changed(datagram: &[u8], at: usize, value: u8) -> Vec<u8> {
    let mut copy = datagram.to_vec();
    assert_ne!(copy[at], value, "a change changes something");
    copy[at] = value;
    copy
}
