//! Which packets a gateway takes on which kinds of links: with and without Ethernet header, bridged, shared with others.
//! (The testbed's links are TUN devices, without Ethernet header; the other live tests use them.)

mod gateway_support;

use airtcp_linux::gateway::divert::Wanted;
use airtcp_linux::gateway::peers::PeerConfig;
use airtcp_linux::gateway::{Config, Status};
use airtcp_test_support::skip;
use gateway_support::packet::{Counter, Tap, ipv4};
use gateway_support::{Gateway, Net, RECEIVER, can_run, kill};
use std::process::Command;

const TCP: u8 = 6;
const UDP: u8 = 17;

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
        return;
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
        return;
    }
    let net = Net::new();
    // Another station on the air: its own hardware address at the same cable.
    add_station(&net);
    assert!(pings(&net, "s", "10.2.0.3") && pings(&net, "s", "10.2.0.2"));
    let gateway = net.gateway("a");
    let before = taken(&gateway);
    assert!(pings(&net, "s", "10.2.0.3"));
    assert_eq!(taken(&gateway), before, "the station's packets are its own affair");
    assert!(pings(&net, "s", "10.2.0.2"));
    assert_eq!(taken(&gateway), (before.0 + 1, before.1 + 1));
    gateway.stop();
}

const ANSWER_BY_STATION: &str = "ip route replace 10.1.0.0/24 via 10.2.0.1 dev station table 77";

/// A station of its own on the air, on the receiver's host: 10.2.0.3, and 10.4.0.1 behind it.
fn add_station(net: &Net) {
    net.exec("b", &format!("ip link add link air name station netns {} type macvlan mode bridge", net.ns("r")));
    for line in [
        "ip addr add 10.2.0.3/24 dev station",
        "ip link set station up",
        "ip addr add 10.4.0.1/32 dev lo",
        // The receiver itself answers through b.
        "ip rule add from 10.4.0.1 lookup 77",
        "ip rule add from 10.2.0.3 lookup 77",
        ANSWER_BY_STATION,
        // Its kernel says nothing of a port where no gateway listens, which the tests would count.
        "nft 'table inet quiet { chain c { type filter hook output priority 0; icmp code 3 icmp type 3 drop; }; }'",
    ] {
        net.exec("r", line);
    }
    net.exec("a", "ip route add 10.4.0.0/24 via 10.2.0.3");
}

/// A gateway on `a` with two peers: b, and the station.
fn hub(net: &Net, change: impl FnOnce(&mut [PeerConfig])) -> Gateway {
    let peer = |name: &str, address: &str| PeerConfig {
        name: name.into(),
        address: Some(address.parse().unwrap()),
        hops: 1,
        ..PeerConfig::default()
    };
    let mut peers = vec![peer("b", "10.2.0.2:4791"), peer("station", "10.2.0.3:4791")];
    change(&mut peers);
    net.gateway_with("a", Config { peer: None, peers, ..net.config("a") }, "")
}

/// Packets that the peers' elements got so far: of each, leaving and arriving.
fn taken_of_each(gateway: &Gateway) -> [(u64, u64); 2] {
    let status = gateway.status().expect("it runs");
    assert!(status.conserved && status.link_packets["homeless"] == 0, "{status:?}");
    [0, 1].map(|peer| (status.peers[peer].packets["received_inner"], status.peers[peer].packets["received_link"]))
}

fn wait_for(gateway: &mut Gateway, what: &str, peer: usize, takes: Wanted) {
    gateway.wait_for(what, |status| status.peers[peer].takes == Some(takes));
}

#[test]
fn live_packets_of_several_peers_on_one_link_are_told_apart_by_hardware_address() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    add_station(&net);
    net.meet();
    assert!(pings(&net, "s", "10.4.0.1"));
    let mut gateway = hub(&net, |_| {});
    [0, 1].iter().for_each(|peer| wait_for(&mut gateway, "taking packets of both", *peer, Wanted::All));
    let none = taken_of_each(&gateway);
    assert!(net.ping());
    assert_eq!(taken_of_each(&gateway), [(none[0].0 + 1, none[0].1 + 1), none[1]]);
    assert!(pings(&net, "s", "10.4.0.1"));
    assert_eq!(taken_of_each(&gateway), [0, 1].map(|peer| (none[peer].0 + 1, none[peer].1 + 1)));
    // A peer that speaks in the name of a host behind the other changes nothing for that one, also not where packets go
    // that the gateway has at the moment.
    let liar = Tap::open_to(&net, "r", "station", ("a", "air"));
    let through_b = Counter::open(&net, "r", "lan");
    let before = taken_of_each(&gateway);
    let worker = gateway.worker();
    kill(worker, "STOP");
    let words = ["netns", "exec", &net.ns("s"), "ping", "-n", "-c1", "-W2", "-q", RECEIVER.0];
    let mut ping = Command::new("ip").args(words).stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    liar.send(&ipv4(false, UDP, 0, &[], &[0; 16]));
    kill(worker, "CONT");
    assert!(ping.wait().unwrap().success());
    assert_eq!(through_b.arrived(), 1);
    gateway.wait_for("told", |status| status.peers[1].packets["received_link"] == before[1].1 + 1);
    assert_eq!(taken_of_each(&gateway), [(before[0].0 + 1, before[0].1 + 1), (before[1].0, before[1].1 + 1)]);
    // Another card at the same address.
    let before = taken_of_each(&gateway);
    net.exec("r", "ip link set station down");
    net.exec("r", "ip link set station address 02:00:00:00:00:77");
    net.exec("r", "ip link set station up");
    net.exec("r", ANSWER_BY_STATION);
    net.exec("a", "ip neigh replace 10.2.0.3 lladdr 02:00:00:00:00:77 dev air nud reachable");
    let is_known = (0..40).any(|_| {
        assert!(pings(&net, "s", "10.4.0.1"));
        std::thread::sleep(std::time::Duration::from_millis(50));
        taken_of_each(&gateway)[1].0 > before[1].0
    });
    assert!(is_known, "the new card");
    assert_eq!(taken_of_each(&gateway)[0], before[0]);
    gateway.stop();
}

#[test]
fn live_two_peers_behind_one_next_hop_need_networks_and_are_told_apart_by_them() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    add_station(&net);
    net.meet();
    assert!(pings(&net, "s", "10.4.0.1"));
    // The second is behind b, too, as far as routes tell.
    net.exec("a", "ip route add 10.2.0.9/32 via 10.2.0.2");
    let behind_b = |peers: &mut [PeerConfig]| peers[1].address = Some("10.2.0.9:4791".parse().unwrap());
    let mut gateway = hub(&net, behind_b);
    wait_for(&mut gateway, "taking packets of the first", 0, Wanted::All);
    let advice = |status: &Status| status.peers[1].advice.as_ref().is_some_and(|text| text.contains("set `networks`"));
    let status = gateway.wait_for("asking for networks", advice);
    assert_eq!(status.peers[1].takes, Some(Wanted::Nothing));
    gateway.stop();

    let by_network = |peers: &mut [PeerConfig]| {
        behind_b(peers);
        peers[0].networks = vec!["10.3.0.0/24".parse().unwrap(), "fd03::/64".parse().unwrap()];
        peers[1].networks = vec!["10.4.0.0/16".parse().unwrap()];
    };
    let mut gateway = hub(&net, by_network);
    [0, 1].iter().for_each(|peer| wait_for(&mut gateway, "taking packets of both", *peer, Wanted::All));
    for (to, peer) in [(RECEIVER.0, 0), (RECEIVER.1, 0), ("10.4.0.1", 1)] {
        let before = taken_of_each(&gateway);
        assert!(pings(&net, "s", to), "{to}");
        let mut expected = before;
        expected[peer] = (before[peer].0 + 1, before[peer].1 + 1);
        assert_eq!(taken_of_each(&gateway), expected, "{to}");
    }
    // What is behind nobody is nobody's.
    let before = taken_of_each(&gateway);
    assert!(pings(&net, "s", "10.2.0.3"));
    assert_eq!(taken_of_each(&gateway), before);
    gateway.stop();
}

#[test]
fn live_a_scheme_for_tcp_gets_tcp_and_what_the_other_gateway_wrapped_and_nothing_else() {
    if !can_run() {
        return;
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
        return;
    }
    let net = Net::new();
    for (host, end, network, far) in [("a", 1, 3, 2), ("b", 2, 1, 1)] {
        let line = format!("ip -n {} link add link air name air.7 type vlan id 7", net.ns(host));
        let made = Command::new("sh").args(["-c", &line]).output().unwrap();
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return skip(&format!("this kernel has no VLANs: {}", said.trim()));
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
