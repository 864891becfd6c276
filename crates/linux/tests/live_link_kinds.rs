//! Which packets a gateway takes on which kinds of links: with and without Ethernet header, bridged, shared with others.
//! (The testbed's links are TUN devices, without Ethernet header; the other live tests use them.)

mod gateway_support;

use airtcp_linux::gateway::Config;
use gateway_support::packet::{Tap, ipv4};
use gateway_support::{Gateway, Net, RECEIVER, can_run};
use std::io::Write;
use std::process::Command;

const TCP: u8 = 6;
const UDP: u8 = 17;

fn skip(name: &str, reason: &str) {
    println!("skipped: {name}: {reason}");
    if let Some(path) = std::env::var_os("AIRTCP_SKIP_LOG") {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "{name}: {reason}").unwrap();
    }
}

/// Packets taken off the link so far: leaving, arriving.
fn taken(gateway: &Gateway) -> (u64, u64) {
    let counters = gateway.status().expect("it runs").link_packets;
    assert_eq!(counters["homeless"], 0);
    (counters["taken_out"], counters["taken_in"])
}

fn pings(net: &Net, host: &str, to: &str) -> bool {
    let words = ["netns", "exec", &net.ns(host), "ping", "-n", "-c1", "-W1", "-q", to];
    Command::new("ip").args(words).output().unwrap().status.success()
}

#[test]
fn live_on_a_bridge_port_frames_keep_the_addresses_of_those_who_sent_them() {
    if !can_run() {
        return skip("live_bridge_port", "no root, no TUN or no nft");
    }
    let net = Net::new();
    for line in [
        "ip link add br0 type bridge",
        "ip addr flush dev air",
        "ip link set air master br0",
        "ip link set wire master br0",
        "ip addr add 10.2.0.1/24 dev br0",
        "ip addr add fd02::1/64 dev br0 nodad",
        "ip link set br0 up",
    ] {
        net.exec("a", line);
    }
    net.exec("s", "ip addr add 10.2.0.9/24 dev wire");
    net.exec("s", "ip addr add fd02::9/64 dev wire nodad");
    assert!(pings(&net, "s", "10.2.0.2") && pings(&net, "s", "fd02::2") && pings(&net, "a", "10.2.0.2"));
    let gateway = net.gateway("a");
    for to in ["10.2.0.2", "fd02::2"] {
        let before = taken(&gateway);
        assert!(pings(&net, "s", to), "{to}");
        assert_eq!(taken(&gateway), (before.0 + 1, before.1 + 1), "{to}");
    }
    let neighbours = net.exec("b", "ip neigh show 10.2.0.9");
    let hardware = net.exec("s", "cat /sys/class/net/wire/address");
    assert!(neighbours.contains(hardware.trim()), "{neighbours}");
    gateway.stop();
}

#[test]
fn live_on_a_shared_link_only_what_goes_to_or_comes_from_the_other_gateway_is_taken() {
    if !can_run() {
        return skip("live_shared_link", "no root, no TUN or no nft");
    }
    let net = Net::new();
    // Another station on the air: its own hardware address at the same cable.
    net.exec("b", &format!("ip link add link air name station netns {} type macvlan mode bridge", net.ns("r")));
    for line in
        ["ip addr add 10.2.0.3/24 dev station", "ip link set station up", "ip route add 10.1.0.0/24 via 10.2.0.1"]
    {
        net.exec("r", line);
    }
    assert!(pings(&net, "s", "10.2.0.3") && pings(&net, "s", "10.2.0.2"));
    let gateway = net.gateway("a");
    let before = taken(&gateway);
    assert!(pings(&net, "s", "10.2.0.3"));
    assert_eq!(taken(&gateway), before, "the station's packets are its own affair");
    assert!(pings(&net, "s", "10.2.0.2"));
    assert_eq!(taken(&gateway), (before.0 + 1, before.1 + 1));
    gateway.stop();
}

#[test]
fn live_a_scheme_for_tcp_gets_tcp_and_what_the_other_gateway_wrapped_and_nothing_else() {
    if !can_run() {
        return skip("live_tcp_only", "no root, no TUN or no nft");
    }
    let net = Net::new();
    net.meet();
    let config = Config { scheme: "delayed-dupacks".into(), peer: None, ..net.config("a") };
    let gateway = net.gateway_with("a", config, "");
    let inside = Tap::open(&net, "s", "wire", "a");
    let segment = [&[0u8; 12][..], &[0x50, 16, 0, 9, 0, 0, 0, 0]].concat();
    assert!(net.ping() && net.ping_to(RECEIVER.1));
    inside.send(&ipv4(true, UDP, 0, &[], &segment));
    inside.send(&ipv4(true, TCP, 0x2000, &[], &[0; 64]));
    assert_eq!(taken(&gateway), (0, 0));
    inside.send(&ipv4(true, TCP, 0, &[], &segment));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(taken(&gateway).0, 1);
    // 254 is the protocol of a shim: only a gateway can take it off.
    let outside = Tap::open(&net, "b", "air", "a");
    outside.send(&ipv4(false, 254, 0, &[], &segment));
    outside.send(&ipv4(false, UDP, 0, &[], &segment));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(taken(&gateway).1, 1);
    gateway.stop();
}

#[test]
fn live_on_a_vlan_the_gateway_works_as_on_the_cable_below() {
    if !can_run() {
        return skip("live_vlan", "no root, no TUN or no nft");
    }
    let net = Net::new();
    for (host, end, network, far) in [("a", 1, 3, 2), ("b", 2, 1, 1)] {
        let line = format!("ip -n {} link add link air name air.7 type vlan id 7", net.ns(host));
        let made = Command::new("sh").args(["-c", &line]).output().unwrap();
        if !made.status.success() {
            return skip(
                "live_vlan",
                &format!("this kernel has no VLANs: {}", String::from_utf8_lossy(&made.stderr).trim()),
            );
        }
        net.exec(host, "ip link set air.7 up");
        net.exec(host, &format!("ip addr add 10.7.0.{end}/24 dev air.7"));
        net.exec(host, &format!("ip route replace 10.{network}.0.0/24 via 10.7.0.{far}"));
    }
    assert!((0..5).any(|_| net.ping()));
    let config = Config { link: "air.7".into(), peer: Some("10.7.0.2:4791".parse().unwrap()), ..net.config("a") };
    let gateway = net.gateway_with("a", config, "");
    let before = taken(&gateway);
    assert!(net.ping());
    assert_eq!(taken(&gateway), (before.0 + 1, before.1 + 1));
    gateway.stop();
}
