//! TCP and UDP packets by hand, each with a number by which it is known again behind address translation.

use std::net::IpAddr;

pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

/// An address and port.
pub type Place = (IpAddr, u16);

/// What is sent, and what is seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub from: Place,
    pub to: Place,
    pub hops: u8,
    /// TCP flags; `None` for UDP.
    pub flags: Option<u8>,
    /// Sequence number of TCP, first bytes of UDP.
    pub number: u32,
    /// The packet's checksum holds.
    pub is_intact: bool,
}

/// A TCP segment with 64 hops to go. An acknowledgment of `ack`, if that is not 0.
pub fn tcp(from: Place, to: Place, flags: u8, [sequence, ack]: [u32; 2], payload: usize) -> Vec<u8> {
    let mut segment = ports(from, to);
    segment.extend(sequence.to_be_bytes());
    segment.extend(ack.to_be_bytes());
    segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend((0..payload).map(|i| i as u8));
    packet(from.0, to.0, 6, segment, 16)
}

/// A UDP datagram with 64 hops to go.
pub fn udp(from: Place, to: Place, number: u32) -> Vec<u8> {
    datagram(from, to, &number.to_be_bytes())
}

/// A UDP datagram with 64 hops to go and any content.
pub fn datagram(from: Place, to: Place, content: &[u8]) -> Vec<u8> {
    let mut datagram = ports(from, to);
    datagram.extend((8 + content.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(content);
    packet(from.0, to.0, 17, datagram, 6)
}

fn ports(from: Place, to: Place) -> Vec<u8> {
    [from.1.to_be_bytes(), to.1.to_be_bytes()].concat()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn pseudo(from: IpAddr, to: IpAddr, protocol: u8, length: usize) -> u32 {
    sum(&octets(from)) + sum(&octets(to)) + u32::from(protocol) + length as u32
}

fn packet(from: IpAddr, to: IpAddr, protocol: u8, mut content: Vec<u8>, checksum_at: usize) -> Vec<u8> {
    let checksum = !fold(pseudo(from, to, protocol, content.len()) + sum(&content));
    content[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    let mut header;
    if from.is_ipv4() {
        header = vec![0x45, 0];
        header.extend((20 + content.len() as u16).to_be_bytes());
        header.extend([0, 7, 0x40, 0, 64, protocol, 0, 0]);
    } else {
        header = vec![0x60, 0, 0, 0];
        header.extend((content.len() as u16).to_be_bytes());
        header.extend([protocol, 64]);
    }
    header.extend(octets(from));
    header.extend(octets(to));
    if from.is_ipv4() {
        let checksum = !fold(sum(&header));
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    [header, content].concat()
}

/// Reads TCP and UDP; `None` for all else.
pub fn read(packet: &[u8]) -> Option<Seen> {
    let is_ipv4 = packet[0] >> 4 == 4;
    let (protocol, hops, at, from, to) = if is_ipv4 { (9, 8, 20, 12..16, 16..20) } else { (6, 7, 40, 8..24, 24..40) };
    let address = |bytes: &[u8]| match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).unwrap()),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).unwrap()),
    };
    let (from, to) = (address(packet.get(from)?), address(packet.get(to)?));
    let (protocol, hops, content) = (packet[protocol], packet[hops], packet.get(at..)?);
    let word = |at: usize| content.get(at..at + 4).map(|word| u32::from_be_bytes(word.try_into().unwrap()));
    let (flags, number) = match protocol {
        6 => (Some(*content.get(13)?), word(4)?),
        17 => (None, word(8)?),
        _ => return None,
    };
    let port = |at: usize| u16::from_be_bytes([content[at], content[at + 1]]);
    let is_intact = fold(pseudo(from, to, protocol, content.len()) + sum(content)) == 0xffff;
    Some(Seen { from: (from, port(0)), to: (to, port(2)), hops, flags, number, is_intact })
}

/// True for a rejection: RST, or ICMP's "unreachable".
pub fn is_rejection(packet: &[u8]) -> bool {
    let icmp = if packet[0] >> 4 == 4 { (packet[9] == 1, 20, 3) } else { (packet[6] == 58, 40, 1) };
    (icmp.0 && packet.get(icmp.1) == Some(&icmp.2))
        || read(packet).and_then(|seen| seen.flags).is_some_and(|flags| flags & RST != 0)
}
