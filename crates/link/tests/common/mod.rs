//! Links under test, fed and drained by hand.
#![allow(dead_code)]

use airtcp_core::packet::{Segment, TcpFlags, TcpHeader, TcpOptions};
use airtcp_core::{DropReason, Instant, Packet, SeqNum};
use airtcp_link::{Link, LinkSettings};
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr};

/// Settings from keys and texts, as a file would give them.
pub fn settings(entries: &[(&str, &str)]) -> LinkSettings {
    use airtcp_core::parameters::Parameters;
    let mut settings = LinkSettings::default();
    for &(key, value) in entries {
        settings.set(key, &value.into()).unwrap();
    }
    settings.check().unwrap();
    settings
}

pub fn link(entries: &[(&str, &str)]) -> Link {
    Link::new(&settings(entries), 1, "link")
}

/// A packet of `bytes` IP bytes that carries `number`.
pub fn packet(number: u32, bytes: u32) -> Packet {
    let mut payload = vec![0; bytes as usize - 20];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Packet::opaque(address, address, EXPERIMENT, Bytes::from(payload))
}

/// Protocol number for experiments (RFC 3692): one without ports, so that all packets are of one flow.
const EXPERIMENT: u8 = 253;

/// A UDP packet of `bytes` IP bytes from `port`.
pub fn of_flow(port: u16, bytes: u32) -> Packet {
    let mut payload = vec![0; bytes as usize - 20];
    payload[..2].copy_from_slice(&port.to_be_bytes());
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Packet::opaque(address, address, 17, Bytes::from(payload))
}

/// A TCP segment of `bytes` IP bytes from `port`; what is more than its headers is data.
pub fn segment(port: u16, sequence: u32, bytes: u32) -> Packet {
    tcp_packet(port, sequence, TcpFlags::ACK, bytes - HEADERS)
}

/// The first segment of a connection from `port`.
pub fn begin(port: u16, sequence: u32) -> Packet {
    tcp_packet(port, sequence, TcpFlags::SYN, 0)
}

/// An acknowledgment from `port`, without data.
pub fn acknowledgment(port: u16, sequence: u32) -> Packet {
    tcp_packet(port, sequence, TcpFlags::ACK, 0)
}

fn tcp_packet(port: u16, sequence: u32, flags: TcpFlags, data: u32) -> Packet {
    let tcp = TcpHeader {
        source_port: port,
        destination_port: 80,
        sequence: SeqNum(sequence),
        acknowledgment: SeqNum(1),
        flags,
        window: 1000,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let segment = Segment { source: address, destination: address, traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, 1, 0, data)
}

/// IPv4 and TCP without options.
const HEADERS: u32 = 40;

pub fn port(packet: &Packet) -> u16 {
    let payload = packet.payload_bytes().expect("test packets are bytes");
    u16::from_be_bytes([payload[0], payload[1]])
}

pub fn number(packet: &Packet) -> u32 {
    let payload = packet.payload_bytes().expect("test packets are bytes");
    u32::from_be_bytes(payload[..4].try_into().unwrap())
}

pub fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Sends and says why the packet was dropped, if it was.
pub fn send(link: &mut Link, now: Instant, packet: Packet) -> Option<DropReason> {
    let mut dropped = None;
    link.send(now, packet, &mut |_, reason| {
        assert!(dropped.replace(reason).is_none(), "one packet was dropped twice");
    });
    dropped
}

/// Lets time pass until `end`: every event of the link, with what arrives and what is dropped at that time.
pub fn run_until(
    link: &mut Link,
    end: Instant,
    arrives: &mut dyn FnMut(Instant, Packet),
    drops: &mut dyn FnMut(Instant, Packet, DropReason),
) {
    while let Some(now) = link.next_event().filter(|at| *at <= end) {
        link.advance(now, &mut |packet, reason| drops(now, packet, reason));
        while let Some(packet) = link.receive(now) {
            arrives(now, packet);
        }
    }
}

/// Everything that arrives from now on: time and number.
pub fn drain(link: &mut Link) -> Vec<(Instant, u32)> {
    let mut arrived = Vec::new();
    while let Some(now) = link.next_event() {
        link.advance(now, &mut |_, _| {});
        while let Some(packet) = link.receive(now) {
            arrived.push((now, number(&packet)));
        }
    }
    arrived
}

/// Which of `count` packets of `bytes` get through, sent one at a time.
pub fn fates(link: &mut Link, count: u32, bytes: u32) -> Vec<bool> {
    (0..count)
        .map(|n| {
            let now = link.busy_until();
            let passed = send(link, now, packet(n, bytes)).is_none();
            while link.receive(Instant::MAX).is_some() {}
            passed
        })
        .collect()
}
