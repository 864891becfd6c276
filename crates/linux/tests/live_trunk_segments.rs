//! A trunk whose header packets are TCP segments between the two gateways: what is on the wire, and what the kernels see of it.

mod gateway_support;

use airtcp_core::{CONTROL_DSCP, Packet, TcpFlags};
use airtcp_linux::gateway::Config;
use airtcp_linux::gateway::divert::Method;
use bytes::Bytes;
use gateway_support::packet::{Tap, ipv4, without_router_changes};
use gateway_support::trunk::{self, is_open};
use gateway_support::{Gateway, Net, can_run};
use std::time::Duration;

const UDP: u8 = 17;
/// As the settings have it unless told otherwise.
const PORT: u16 = 47_920;
const MOMENT: Duration = Duration::from_millis(300);
const SAMPLES: u8 = 100;

/// With IPv6 by the older way into the kernel.
fn config(net: &Net, host: &str, is_ipv6: bool) -> Config {
    let method = is_ipv6.then_some(Method::Clsact);
    Config { method, ..trunk::config(net, host, &[("headers", "tcp")], is_ipv6) }
}

fn gateway(net: &Net, host: &str, is_ipv6: bool) -> Gateway {
    net.gateway_with(host, config(net, host, is_ipv6), "")
}

/// Packets of a host at one site for one at the other, each with its number.
fn samples() -> Vec<Vec<u8>> {
    let udp = |number: u8| [&[0x12, 0x34, 0xfe, 0xdc, 1, 244, 0, 0][..], &[number; 492]].concat();
    (0..SAMPLES).map(|number| ipv4(true, UDP, 0, &[], &udp(number))).collect()
}

/// TCP segments, as they are on the cable.
fn segments(seen: impl Iterator<Item = Vec<u8>>) -> Vec<Packet> {
    // Others are neighbours who look for each other.
    seen.filter_map(|bytes| Packet::parse(bytes.into())).filter(|packet| packet.tcp().is_some()).collect()
}

/// Resets that the host's kernel sent.
fn resets(net: &Net, host: &str) -> u64 {
    let snmp = net.exec(host, "cat /proc/net/snmp");
    let mut lines = snmp.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let column = names.split_whitespace().position(|name| name == "OutRsts").unwrap();
    values.split_whitespace().nth(column).unwrap().parse().unwrap()
}

#[test]
fn header_packets_are_tcp_on_the_wire_and_no_kernel_answers_them() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    for is_ipv6 in [false, true] {
        let resets_of_both = || ["a", "b"].map(|host| resets(&net, host));
        let resets_before = resets_of_both();
        let wire = Tap::open(&net, "b", "air", "a");
        let answers = Tap::open(&net, "b", "air", "a");
        let (sender, receiver) = (Tap::open(&net, "s", "wire", "a"), Tap::open(&net, "r", "lan", "b"));
        let (mut near, mut far) = (gateway(&net, "a", is_ipv6), gateway(&net, "b", is_ipv6));
        near.wait_for("open", is_open);
        far.wait_for("open", is_open);
        samples().iter().for_each(|packet| sender.send(packet));
        let numbers: Vec<Vec<u8>> = std::iter::from_fn(|| receiver.receive(MOMENT))
            .filter(|packet| packet[0] == 0x45 && packet[9] == UDP)
            .map(|packet| without_router_changes(&packet).1)
            .collect();
        let sent: Vec<Vec<u8>> = samples().iter().map(|packet| without_router_changes(packet).1).collect();
        assert!(numbers == sent, "{} of {SAMPLES} packets, or in another order", numbers.len());

        let out = segments(std::iter::from_fn(|| wire.receive(Duration::from_millis(1))));
        let back = segments(std::iter::from_fn(|| answers.leaving(Duration::from_millis(1))));
        for segment in out.iter().chain(&back) {
            let (flow, flags) = (segment.flow().unwrap(), segment.tcp().unwrap().flags);
            assert!(segment.checksum_holds() && segment.payload_len() == 0 && !flags.rst(), "{segment:?}");
            assert_eq!(flow.source.is_ipv6(), is_ipv6);
            assert!([flow.source_port, flow.destination_port].contains(&PORT), "{flow:?}");
        }
        let is_header = |segment: &&Packet| segment.tcp().unwrap().flags.psh();
        let headers: Vec<&Packet> = out.iter().filter(is_header).collect();
        let virtual_segments = usize::from(SAMPLES) * 520 / 1500;
        assert!(headers.len() >= virtual_segments - 1, "{} header packets", headers.len());
        assert!(headers.iter().all(|header| header.ip().traffic_class >> 2 == CONTROL_DSCP));
        assert!(back.len() >= headers.len() / 2, "{} acknowledgments", back.len());
        assert_eq!(resets_of_both(), resets_before);

        far.kill_dash_nine();
        let mut far = gateway(&net, "b", is_ipv6);
        far.wait_for("open", is_open);
        near.wait_for("open again", is_open);
        assert!(net.ping());
        for gateway in [&mut near, &mut far] {
            let status = gateway.status().unwrap();
            assert!(status.conserved && status.broken.is_none() && status.restarts == 0, "{status:?}");
        }
        near.stop();
        far.stop();
    }
}

#[test]
fn other_tcp_for_a_gateway_is_its_kernels_and_made_up_segments_end_no_trunk() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    let (mut near, mut far) = (gateway(&net, "a", false), gateway(&net, "b", false));
    near.wait_for("open", is_open);
    far.wait_for("open", is_open);
    let before = near.status().unwrap();
    let (wire, answers) = (Tap::open(&net, "a", "air", "b"), Tap::open(&net, "b", "air", "a"));
    let segment = |source: u16, target: u16, flags: TcpFlags| {
        let ports = [source.to_be_bytes(), target.to_be_bytes()].concat();
        let header = [&ports[..], &[1, 2, 3, 4, 0, 0, 0, 0, 0x50, flags.0 as u8, 16, 0, 0, 0, 0, 0]].concat();
        let mut wrong =
            Packet::opaque("10.2.0.1".parse().unwrap(), "10.2.0.2".parse().unwrap(), 6, Bytes::from(header));
        wrong.set_hop_limit(255);
        let mut bytes = wrong.to_wire().to_vec();
        let sum = checksum(&bytes);
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        assert!(Packet::parse(Bytes::from(bytes.clone())).unwrap().checksum_holds());
        wire.send(&bytes);
    };
    // Its own port, one before, one behind the last, and an ordinary one.
    for (source, target) in [(PORT, PORT), (PORT - 1, PORT), (PORT + 33, PORT), (PORT + 1, 22)] {
        segment(source, target, TcpFlags::SYN);
    }
    std::thread::sleep(MOMENT);
    let refused = segments(std::iter::from_fn(|| answers.leaving(Duration::from_millis(1))))
        .iter()
        .filter(|segment| segment.tcp().unwrap().flags.rst())
        .count();
    assert_eq!((refused, resets(&net, "b")), (4, 4), "the kernel's");
    for flags in [TcpFlags::SYN, TcpFlags::RST, TcpFlags::ACK] {
        for _ in 0..20 {
            segment(PORT + 1, PORT, flags);
        }
    }
    assert!(net.ping());
    assert_eq!(resets(&net, "b"), 4);
    let status = near.status().unwrap();
    assert!(is_open(&status) && status.conserved && status.broken.is_none(), "{status:?}");
    let status = far.status().unwrap();
    assert!(is_open(&status) && status.conserved && status.broken.is_none(), "{status:?}");
    assert_eq!(before.events["peer_down"], near.status().unwrap().events["peer_down"]);
    near.stop();
    far.stop();
    assert!(net.ping());
}

/// Of the TCP header of an IPv4 packet whose own is zero.
fn checksum(packet: &[u8]) -> u16 {
    let length = (packet.len() - 20) as u16;
    let words = [&packet[12..20], &[0, 6], &length.to_be_bytes(), &packet[20..]].concat();
    let sum: u32 = words.as_chunks::<2>().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    !((sum & 0xffff) as u16 + (sum >> 16) as u16)
}

#[test]
fn a_gateway_says_that_segments_are_not_authenticated_and_refuses_where_it_cannot_take_them() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    let config = config(&net, "a", false);
    let (is_fine, said) = net.gateway_output("a", &config, "--check");
    assert!(is_fine && said.contains("nothing authenticates"), "{said}");
    let (is_fine, said) = net.gateway_output("a", &Config { method: Some(Method::Routed), ..config.clone() }, "");
    assert!(!is_fine && said.contains("policy routes"), "{said}");
    let nowhere = Config { peer: Some("203.0.113.9:4791".parse().unwrap()), ..config };
    let (is_fine, said) = net.gateway_output("a", &nowhere, "");
    assert!(!is_fine && said.contains("no route leads to 203.0.113.9"), "{said}");
}
