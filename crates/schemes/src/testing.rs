//! Segments of one connection, and agents on an imagined link, for tests.

use crate::{End, LinkFacts, MAX_MEMORY, Site};
use airtcp_core::{Duration, FlowKey, Instant, Packet, Rate, Rng, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions};
use core::net::{IpAddr, Ipv4Addr};

pub const MS: Duration = Duration::from_millis(1);

/// So many milliseconds into the test.
pub fn at(millis: u64) -> Instant {
    Instant::from_nanos((1000 + millis) * 1_000_000)
}

fn host(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// A segment from the sender.
pub fn segment(sequence: u32, len: u32, flags: TcpFlags) -> Packet {
    let tcp = header(1000, 80, sequence, 1, flags);
    let segment = Segment { source: host(1), destination: host(2), traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, 1, u64::from(sequence), len)
}

fn header(source_port: u16, destination_port: u16, sequence: u32, ack: u32, flags: TcpFlags) -> TcpHeader {
    TcpHeader {
        source_port,
        destination_port,
        sequence: SeqNum(sequence),
        acknowledgment: SeqNum(ack),
        flags,
        window: 1000,
        urgent: 0,
        options: TcpOptions::default(),
    }
}

/// 1000 bytes from the sender.
pub fn data(sequence: u32) -> Packet {
    segment(sequence, 1000, TcpFlags::ACK)
}

/// A pure acknowledgment from the receiver.
pub fn ack(number: u32) -> Packet {
    answer(number, 0)
}

/// An acknowledgment from the receiver with so many bytes of its own.
pub fn answer(number: u32, len: u32) -> Packet {
    let tcp = header(80, 1000, 1, number, TcpFlags::ACK);
    Packet::tcp_virtual(&Segment { source: host(2), destination: host(1), traffic_class: 0, tcp }, 2, 0, len)
}

/// The same packet with another header.
pub fn edited(packet: &Packet, edit: impl FnOnce(&mut TcpHeader)) -> Packet {
    let mut tcp = *packet.tcp().unwrap();
    edit(&mut tcp);
    let ip = packet.ip();
    let segment = Segment { source: ip.source, destination: ip.destination, traffic_class: ip.traffic_class, tcp };
    Packet::tcp_virtual(&segment, 1, 0, packet.payload_len())
}

/// The data's flow.
pub fn flow() -> FlowKey {
    data(0).flow().unwrap()
}

/// The near end of a link of 12 Mbit/s (a millisecond per full packet) with a round trip of 10 ms.
pub fn with_site<T>(make: impl FnOnce(&mut Site<'_>) -> T) -> T {
    let rate = Some(Rate::from_bps(12_000_000));
    let link = LinkFacts { rate, round_trip: Some(MS * 10), ..LinkFacts::default() };
    make(&mut Site { end: End::Near, link, rng: &mut Rng::derive(1, "site"), max_memory: MAX_MEMORY, forecast: None })
}

/// Sequence numbers of packets.
pub fn sequences(packets: &[Packet]) -> std::vec::Vec<u32> {
    packets.iter().filter_map(Packet::tcp).map(|tcp| tcp.sequence.0).collect()
}

/// Acknowledgment numbers of packets.
pub fn acknowledgments(packets: &[Packet]) -> std::vec::Vec<u32> {
    packets.iter().filter_map(Packet::tcp).map(|tcp| tcp.acknowledgment.0).collect()
}
