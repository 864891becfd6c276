//! Who repeats or makes up what a trunk's gateways send each other, and a far end that speaks another version.

mod gateway_support;

use airtcp_core::Packet;
use airtcp_linux::gateway::{Config, Status};
use bytes::Bytes;
use gateway_support::packet::{Tap, ipv4, without_router_changes};
use gateway_support::trunk::{config, is_open};
use gateway_support::{Gateway, Net, can_run};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

const PORT: u16 = 4791;
const UDP: u8 = 17;
const MOMENT: Duration = Duration::from_millis(300);

fn trunk(net: &Net, host: &str, settings: &[(&str, &str)]) -> Gateway {
    let key = net.directory.join("site.key");
    std::fs::write(&key, "a secret of this test only").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = Config { insecure: false, key: Some(key), ..config(net, host, settings, false) };
    net.gateway_with(host, config, "")
}

/// A datagram of one gateway to the other, from as near as they are.
fn datagram([from, to]: [&str; 2], content: &[u8]) -> Vec<u8> {
    let length = (content.len() + 8) as u16;
    let udp = [&PORT.to_be_bytes()[..], &PORT.to_be_bytes(), &length.to_be_bytes(), &[0, 0], content].concat();
    let [from, to]: [IpAddr; 2] = [from, to].map(|address| address.parse().unwrap());
    let mut packet = Packet::opaque(from, to, UDP, Bytes::from(udp));
    packet.set_hop_limit(255);
    packet.to_wire().to_vec()
}

/// Packets of a host at one site for one at the other, each with its number.
fn samples() -> Vec<Vec<u8>> {
    let udp = |number: u8| [&[0x12, 0x34, 0xfe, 0xdc, 0, 108, 0, 0][..], &[number; 100]].concat();
    (0..20).map(|number| ipv4(true, UDP, 0, &[], &udp(number))).collect()
}

/// How many of the samples come in until there is a pause.
fn count_samples(tap: &Tap) -> usize {
    let wanted: Vec<_> = samples().iter().map(|packet| without_router_changes(packet).1).collect();
    std::iter::from_fn(|| tap.receive(MOMENT))
        .filter(|packet| wanted.contains(&without_router_changes(packet).1))
        .count()
}

#[test]
fn a_tunnels_messages_are_taken_once_each_and_none_that_was_changed() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let mut gateways = ["a", "b"].map(|host| trunk(&net, host, &[("carriage", "tunnel")]));
    gateways.iter_mut().for_each(|gateway| drop(gateway.wait_for("open", is_open)));
    let [mut a, mut b] = gateways;
    let before = b.status().unwrap().control_ignored;
    let (wire, sender) = (Tap::open(&net, "a", "air", "b"), Tap::open(&net, "s", "wire", "a"));
    let receiver = Tap::open(&net, "r", "lan", "b");
    samples().iter().for_each(|packet| sender.send(packet));
    assert_eq!(count_samples(&receiver), 20);

    // Messages with header packets, HELLOs and handshakes, and with data.
    let is_message = |packet: &Vec<u8>| packet[0] == 0x45 && packet[9] == UDP && packet[28..32] == *b"ATCP";
    let heard: Vec<_> = std::iter::from_fn(|| wire.leaving(Duration::from_millis(1))).filter(is_message).collect();
    assert!(heard.len() >= 20, "{}", heard.len());
    for _ in 0..3 {
        heard.iter().for_each(|packet| wire.send(packet));
    }
    for packet in &heard {
        let mut content = packet[28..].to_vec();
        let at = content.len() - 20;
        content[at] ^= 1;
        wire.send(&datagram(["10.2.0.1", "10.2.0.2"], &content));
    }
    assert_eq!(count_samples(&receiver), 0, "what was heard once, and what was changed");
    let ignored = b.status().unwrap().control_ignored;
    let more = |reason: &str| ignored[reason] - before[reason];
    let count = heard.len() as u64;
    assert!(more("replayed") >= 3 * count && more("bad_mac") >= count, "{count} messages: {ignored:?}");
    for gateway in [&mut a, &mut b] {
        let status = gateway.wait_for("open", is_open);
        assert!(status.conserved && status.broken.is_none() && status.restarts == 0, "{status:?}");
    }
    assert!(net.ping());
    a.stop();
    b.stop();
}

#[test]
fn while_the_far_end_speaks_another_version_the_status_says_so_and_packets_pass_or_not_as_the_file_says() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    for (fail, passes) in [("open", true), ("closed", false)] {
        let mut near = trunk(&net, "a", &[("fail", fail)]);
        near.wait_until_running();
        let tap = Tap::open(&net, "b", "air", "a");
        let later = [&b"ATCP\x63"[..], &[0; 60]].concat();
        let says_so = |status: &Status| {
            tap.send(&datagram(["10.2.0.2", "10.2.0.1"], &later));
            let why = status.peer_state.as_ref().map(|state| state.why.clone()).unwrap_or_default();
            why.contains("another version") && status.control_ignored["version"] > 0
        };
        let status = near.wait_for("told of another version", says_so);
        assert_eq!(status.gauges["trunk_open"], 0);
        assert_eq!(net.ping(), passes, "{fail}");
        near.stop();
    }
}
