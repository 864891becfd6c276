//! The network layer: what of IPv4 (RFC 791) and IPv6 (RFC 8200) a middlebox needs.

use core::fmt;
use core::net::IpAddr;

/// Protocol numbers we name.
pub mod protocol {
    /// Internet Control Message Protocol.
    pub const ICMP: u8 = 1;
    /// Transmission Control Protocol.
    pub const TCP: u8 = 6;
    /// User Datagram Protocol.
    pub const UDP: u8 = 17;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// Experimentation and testing (RFC 4727); here a [shim](crate::Packet::push_shim).
    pub const EXPERIMENT: u8 = 254;
}

/// Parsed fields of an IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address; its family is the packet's version.
    pub source: IpAddr,
    /// Destination address, same family.
    pub destination: IpAddr,
    /// DSCP and ECN (IPv4 TOS, IPv6 traffic class).
    pub traffic_class: u8,
    /// Remaining hops (TTL).
    pub hop_limit: u8,
    /// Upper-layer protocol, behind any IPv6 extension headers that could be followed.
    pub protocol: u8,
    /// True for any part of a fragmented datagram; its transport is then opaque.
    pub is_fragment: bool,
    /// Bytes before the transport header: options and extension headers included.
    pub header_len: u16,
    /// Whole datagram in bytes.
    pub total_len: u32,
}

/// DSCP of header packets, the "CONTROL bit" of TCP Decoupling (DEC-12): of the pool for local use (RFC 2474 section 6), with
/// the ECN bits left alone.
pub const CONTROL_DSCP: u8 = 0b00_0011;

impl IpHeader {
    /// The DSCP field (RFC 2474), 0 to 63.
    pub const fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }

    /// The ECN field (RFC 3168).
    pub fn ecn(&self) -> Ecn {
        match self.traffic_class & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// ECN codepoints (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand marks.
    NotEct,
    /// ECN-capable, codepoint 01.
    Ect1,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The two header bits.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }
    /// True where a mark may replace a drop.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// Addresses and ports of one direction of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Sender of this direction.
    pub source: IpAddr,
    /// Receiver of this direction.
    pub destination: IpAddr,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
}

impl FlowKey {
    /// The other direction of the same connection.
    pub const fn reversed(self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (self.source, self.destination);
        write!(f, "{source}.{} > {destination}.{}", self.source_port, self.destination_port)
    }
}
