//! What the gateways do not understand passes them byte-identical, but for the hop limit and
//! the IPv4 header checksum.

mod gateway_support;

use airtcp_linux::gateway::Config;
use gateway_support::packet::{Tap, ipv4, ipv6, without_router_changes};
use gateway_support::{Gateway, Net, can_run};
use std::time::Duration;

const UDP: u8 = 17;
const ICMP: u8 = 1;
const ESP: u8 = 50;
const UNKNOWN: u8 = 200;
const MORE_FRAGMENTS: u16 = 0x2000;

/// Recognisable content of `length` bytes.
fn content(tag: u8, length: usize) -> Vec<u8> {
    (0..length).map(|i| (i as u8).wrapping_mul(31) ^ tag).collect()
}

/// A UDP header with a checksum that is deliberately wrong: nobody on the way may care.
fn udp(tag: u8, length: usize) -> Vec<u8> {
    let mut datagram = vec![0x12, 0x34, 0xfe, 0xdc];
    datagram.extend(((length + 8) as u16).to_be_bytes());
    datagram.extend([0xba, 0xd0]);
    datagram.extend(content(tag, length));
    datagram
}

/// "Host unreachable", about a packet the other way.
fn icmp_error(forward: bool) -> Vec<u8> {
    let about = ipv4(!forward, UDP, 0, &[], &udp(15, 32));
    [&[3, 1, 0xab, 0xcd, 0, 0, 0, 0][..], &about[..28]].concat()
}

fn samples(forward: bool) -> Vec<(&'static str, Vec<u8>)> {
    let icmp_echo_reply = [&[0, 0, 0xaa, 0xbb, 1, 2, 0, 9][..], &content(2, 56)].concat();
    let tcp_with_odd_options = {
        let mut tcp = vec![0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0xff, 0xff];
        // A wrong checksum, then options: unknown kind 253, one of impossible length.
        tcp.extend([0xde, 0xad, 0, 0, 253, 4, 1, 2, 8, 200, 0, 0, 1, 1, 1, 1]);
        tcp.extend(content(3, 100));
        tcp
    };
    let fragmented = udp(4, 1392);
    // 8 bytes each: next header, length, then a PadN option.
    let padding = |next: u8| vec![next, 0, 1, 4, 0, 0, 0, 0];
    let hop_by_hop = [padding(60), padding(UDP), udp(5, 80)].concat();
    let routing = [vec![UDP, 0, 4, 0, 0, 0, 0, 0], udp(6, 80)].concat();
    let fragment6 = |offset_flags: u16, part: &[u8]| {
        let mut header = vec![UDP, 0];
        header.extend(offset_flags.to_be_bytes());
        header.extend([9, 9, 9, 9]);
        [&header, part].concat()
    };
    vec![
        ("UDP", ipv4(forward, UDP, 0, &[], &udp(1, 512))),
        ("UDP of full MTU", ipv4(forward, UDP, 0x4000, &[], &udp(7, 1472))),
        ("ICMP", ipv4(forward, ICMP, 0, &[], &icmp_echo_reply)),
        ("ICMP error", ipv4(forward, ICMP, 0, &[], &icmp_error(forward))),
        ("ESP", ipv4(forward, ESP, 0, &[], &content(8, 200))),
        ("unknown protocol", ipv4(forward, UNKNOWN, 0, &[], &content(9, 33))),
        ("empty payload", ipv4(forward, UNKNOWN, 0, &[], &[])),
        ("IPv4 options", ipv4(forward, UDP, 0, &[0x94, 4, 0, 0, 1, 1, 1, 0], &udp(10, 64))),
        ("first fragment", ipv4(forward, UDP, MORE_FRAGMENTS, &[], &fragmented[..800])),
        ("last fragment", ipv4(forward, UDP, 100, &[], &fragmented[800..])),
        ("TCP, options mangled", ipv4(forward, 6, 0, &[], &tcp_with_odd_options)),
        ("TCP, cut in its header", ipv4(forward, 6, 0, &[], &tcp_with_odd_options[..9])),
        ("TCP, header beyond the end", ipv4(forward, 6, 0, &[], &tcp_with_odd_options[..24])),
        ("IPv6 UDP", ipv6(forward, UDP, &udp(11, 512))),
        ("IPv6 hop-by-hop and destination options", ipv6(forward, 0, &hop_by_hop)),
        ("IPv6 routing header", ipv6(forward, 43, &routing)),
        ("IPv6 first fragment", ipv6(forward, 44, &fragment6(1, &fragmented[..800]))),
        ("IPv6 last fragment", ipv6(forward, 44, &fragment6(800, &fragmented[800..]))),
        ("IPv6 ESP", ipv6(forward, ESP, &content(12, 99))),
        ("IPv6 no next header", ipv6(forward, 59, &content(13, 5))),
        ("IPv6 unknown protocol", ipv6(forward, UNKNOWN, &content(14, 77))),
        ("IPv6 TCP cut in its header", ipv6(forward, 6, &tcp_with_odd_options[..9])),
    ]
}

/// Sends all samples across; the hop limit they arrive with.
fn pass_all(net: &Net, forward: bool) -> Vec<u8> {
    let sender = Tap::open(net, "s", "wire", "a");
    let receiver = Tap::open(net, "r", "lan", "b");
    let (from, to) = if forward { (&sender, &receiver) } else { (&receiver, &sender) };
    let mut hop_limits = Vec::new();
    for (name, packet) in samples(forward) {
        let (_, wanted) = without_router_changes(&packet);
        from.send(&packet);
        let found = loop {
            let Some(seen) = to.receive(Duration::from_secs(2)) else { break None };
            let (hop_limit, rest) = without_router_changes(&seen);
            if rest == wanted {
                break Some(hop_limit);
            }
        };
        let direction = if forward { "to the receiver" } else { "to the sender" };
        hop_limits.push(found.unwrap_or_else(|| panic!("{name} {direction} did not pass as sent")));
    }
    hop_limits
}

#[test]
fn what_no_scheme_understands_passes_both_gateways_byte_identical_in_both_directions() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    for forward in [true, false] {
        let plain = pass_all(&net, forward);
        assert!(plain.iter().all(|hop_limit| *hop_limit == 62), "{plain:?}");
    }
    let (a, b) = (net.gateway("a"), net.gateway("b"));
    for forward in [true, false] {
        let through = pass_all(&net, forward);
        // As without gateways.
        assert!(through.iter().all(|hop_limit| *hop_limit == 62), "{through:?}");
    }
    for gateway in [&a, &b] {
        let status = gateway.status().unwrap();
        assert!(status.conserved, "{:?}", status.conservation);
        let sent = 2 * samples(true).len() as u64;
        let packets = status.packets["received_inner"] + status.packets["received_link"];
        assert!(packets >= sent, "all went through the devices: {packets} of {sent}");
        assert_eq!(status.link_packets["homeless"], 0);
    }
    a.stop();
    b.stop();
}

/// A gateway with both ends of a trunk, whose tunnel queue keeps the order of all packets.
fn trunk(net: &Net, host: &str, carriage: &str) -> Gateway {
    let queue = "{ kind = \"droptail\", limit = \"2000packets\" }";
    let settings = [("queue", queue), ("carriage", carriage)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.into())).into();
    let config = Config { scheme: "decoupling".into(), settings, ..net.config(host) };
    net.gateway_with(host, config, "")
}

/// All samples, and UDP of all sizes.
fn burst(forward: bool) -> Vec<Vec<u8>> {
    let sizes = (0..=1472).step_by(23);
    let of_size = |size: usize| ipv4(forward, UDP, 0, &[], &udp(size as u8, size));
    samples(forward).into_iter().map(|(_, packet)| packet).chain(sizes.map(of_size)).collect()
}

/// Sends a burst, and compares what came out with what went in.
fn pass_in_order(net: &Net, forward: bool) {
    let sender = Tap::open(net, "s", "wire", "a");
    let receiver = Tap::open(net, "r", "lan", "b");
    let (from, to) = if forward { (&sender, &receiver) } else { (&receiver, &sender) };
    let sent: Vec<Vec<u8>> = burst(forward);
    sent.iter().for_each(|packet| from.send(packet));
    let wanted: Vec<Vec<u8>> = sent.iter().map(|packet| without_router_changes(packet).1).collect();
    let mut seen = Vec::new();
    while seen.len() < wanted.len() {
        let Some(packet) = to.receive(Duration::from_secs(2)) else { break };
        let (_, packet) = without_router_changes(&packet);
        // Others are the kernel's own, such as a question for a neighbour.
        seen.extend(Some(packet).filter(|packet| wanted.contains(packet)));
    }
    let first = seen.iter().zip(&wanted).position(|(seen, wanted)| seen != wanted);
    assert!(seen == wanted, "{} of {} arrived, the first out of order is {first:?}", seen.len(), wanted.len());
}

/// Everything across a trunk each way; the gateways, still running.
fn pass_a_trunk(net: &Net, carriage: &str) -> [Gateway; 2] {
    net.meet();
    let mut gateways = ["a", "b"].map(|host| trunk(net, host, carriage));
    for gateway in &mut gateways {
        gateway.wait_for("open", |status| status.diverting && status.gauges.get("trunk_open") == Some(&1));
    }
    for forward in [true, false] {
        let through = pass_all(net, forward);
        assert!(through.iter().all(|hop_limit| *hop_limit == 62), "{through:?}");
        pass_in_order(net, forward);
    }
    for gateway in &gateways {
        let status = gateway.status().unwrap();
        assert!(status.conserved && status.broken.is_none(), "{status:?}");
        let sent = samples(true).len() + burst(true).len();
        assert!(status.events["tunnelled_packets"] >= sent as u64, "{:?}", status.events);
        assert!(status.events["header_packets"] > 0, "{:?}", status.events);
        assert_eq!(status.packets["received_link"], 0, "what arrives is not taken");
        assert_eq!(status.link_packets["homeless"], 0);
    }
    gateways
}

#[test]
fn a_trunk_carries_every_packet_byte_identical_and_in_order_in_both_directions() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    pass_a_trunk(&net, "direct").into_iter().for_each(Gateway::stop);
}

/// True for a datagram of UDP between the gateways' ports.
fn is_between_gateways(packet: &[u8]) -> bool {
    let port = 4791u16.to_be_bytes();
    packet[0] == 0x45 && packet[9] == UDP && packet[20..24] == [port, port].concat()
}

#[test]
fn a_trunk_in_a_tunnel_does_so_too_and_all_of_it_is_one_flow_on_the_path() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    for host in ["a", "b"] {
        // So that packets of 1500 bytes enter whole.
        net.exec(host, "ip link set air mtu 1600");
    }
    let tap = Tap::open(&net, "a", "air", "b");
    let gateways = pass_a_trunk(&net, "tunnel");
    let (mut carried, mut beside) = (0, 0);
    let samples: Vec<_> = burst(true).iter().map(|packet| without_router_changes(packet).1).collect();
    while let Some(packet) = tap.leaving(Duration::from_millis(1)) {
        carried += usize::from(is_between_gateways(&packet));
        beside += usize::from(samples.contains(&without_router_changes(&packet).1));
    }
    assert_eq!(beside, 0, "packets beside the tunnel");
    let sent = burst(true).len();
    assert!(carried > sent, "{carried} datagrams between the gateways for {sent} packets");
    for gateway in gateways {
        assert!(gateway.status().unwrap().events["decapsulated_packets"] >= sent as u64);
        gateway.stop();
    }
}
