//! Packets written and read by etherparse, an independent implementation.
#![allow(dead_code)]

use airtcp_core::{Packet, TcpFlags};
use bytes::Bytes;
use etherparse::{IpFragOffset, IpHeaders, IpNumber, Ipv4Header, Ipv6Extensions, Ipv6FragmentHeader, Ipv6Header};
use etherparse::{Ipv4Extensions, Ipv6RawExtHeader, Ipv6RoutingExtensions, TcpHeader};
use std::net::IpAddr;

/// A TCP/IP packet as etherparse has it.
#[derive(Clone, Debug)]
pub struct Reference {
    pub ip: IpHeaders,
    pub tcp: TcpHeader,
    pub payload: Vec<u8>,
}

pub const V4: ([u8; 4], [u8; 4]) = ([10, 0, 0, 1], [192, 168, 200, 255]);
pub const V6: ([u8; 16], [u8; 16]) =
    ([0xfd, 0, 0, 1, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 1], [0xfd, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 2]);

impl Reference {
    pub fn v4(tcp: TcpHeader, payload: &[u8]) -> Self {
        let ip = Ipv4Header::new(0, 64, IpNumber::TCP, V4.0, V4.1).expect("a length of zero fits");
        Reference { ip: IpHeaders::Ipv4(ip, Ipv4Extensions::default()), tcp, payload: payload.to_vec() }
    }

    pub fn v6(tcp: TcpHeader, payload: &[u8]) -> Self {
        let ip = Ipv6Header {
            next_header: IpNumber::TCP,
            hop_limit: 64,
            source: V6.0,
            destination: V6.1,
            ..Ipv6Header::default()
        };
        Reference { ip: IpHeaders::Ipv6(ip, Ipv6Extensions::default()), tcp, payload: payload.to_vec() }
    }

    /// With hop-by-hop options and destination options of `units` × 8 further bytes, and a routing header.
    pub fn with_extension_headers(mut self, units: usize) -> Self {
        let options = |filler: u8| {
            Ipv6RawExtHeader::new_raw(IpNumber::TCP, &vec![filler; 6 + units * 8])
                .expect("a multiple of 8 with its head")
        };
        if let IpHeaders::Ipv6(ip, extensions) = &mut self.ip {
            extensions.hop_by_hop_options = Some(options(0));
            extensions.routing =
                Some(Ipv6RoutingExtensions { routing: options(0), final_destination_options: Some(options(1)) });
            ip.next_header = extensions.set_next_headers(IpNumber::TCP);
        }
        self
    }

    /// Only the fragment at `offset` × 8 bytes.
    pub fn fragment(mut self, offset: u16, more: bool) -> Self {
        let fragment_offset = IpFragOffset::try_new(offset).expect("a fragment offset of 13 bits");
        match &mut self.ip {
            IpHeaders::Ipv4(ip, _) => {
                (ip.fragment_offset, ip.more_fragments, ip.dont_fragment) = (fragment_offset, more, false)
            }
            IpHeaders::Ipv6(ip, extensions) => {
                extensions.fragment = Some(Ipv6FragmentHeader::new(IpNumber::TCP, fragment_offset, more, 77));
                ip.next_header = extensions.set_next_headers(IpNumber::TCP);
            }
        }
        self
    }

    /// The bytes, lengths and checksums by etherparse.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut reference = self.clone();
        let transport_len = self.tcp.header_len() + self.payload.len();
        reference.ip.set_payload_len(transport_len).expect("test packets are short");
        if let IpHeaders::Ipv4(ip, _) = &mut reference.ip {
            ip.header_checksum = ip.calc_header_checksum();
        }
        reference.tcp.checksum = reference.tcp_checksum();
        let mut bytes = Vec::new();
        reference.ip.write(&mut bytes).expect("a vector takes everything");
        bytes.extend(reference.tcp.to_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    /// Reads a whole unfragmented TCP/IP datagram.
    pub fn read(bytes: &[u8]) -> Self {
        let (ip, payload) = IpHeaders::from_slice(bytes).expect("a well-formed IP header");
        assert_eq!(payload.ip_number, IpNumber::TCP);
        let (tcp, payload) = TcpHeader::from_slice(payload.payload).expect("a well-formed TCP header");
        Reference { ip, tcp, payload: payload.to_vec() }
    }

    pub fn tcp_checksum(&self) -> u16 {
        match &self.ip {
            IpHeaders::Ipv4(ip, _) => self.tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, &self.payload),
            IpHeaders::Ipv6(ip, _) => self.tcp.calc_checksum_ipv6_raw(ip.source, ip.destination, &self.payload),
        }
        .expect("test packets are short")
    }

    pub fn assert_checksums_hold(&self) {
        if let IpHeaders::Ipv4(ip, _) = &self.ip {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum(), "IPv4 header checksum");
        }
        assert_eq!(self.tcp.checksum, self.tcp_checksum(), "TCP checksum");
    }

    pub fn parsed(&self) -> Packet {
        Packet::parse(Bytes::from(self.to_bytes())).expect("a well-formed datagram parses")
    }

    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match &self.ip {
            IpHeaders::Ipv4(ip, _) => (IpAddr::from(ip.source), IpAddr::from(ip.destination)),
            IpHeaders::Ipv6(ip, _) => (IpAddr::from(ip.source), IpAddr::from(ip.destination)),
        }
    }

    /// DSCP with ECN, and TTL.
    pub fn class_and_hops(&self) -> (u8, u8) {
        match &self.ip {
            IpHeaders::Ipv4(ip, _) => (ip.dscp.value() << 2 | ip.ecn.value(), ip.time_to_live),
            IpHeaders::Ipv6(ip, _) => (ip.traffic_class, ip.hop_limit),
        }
    }

    pub fn flags(&self) -> TcpFlags {
        let t = &self.tcp;
        let bits = [t.fin, t.syn, t.rst, t.psh, t.ack, t.urg, t.ece, t.cwr, t.ns];
        TcpFlags(bits.iter().enumerate().map(|(bit, is_set)| u16::from(*is_set) << bit).sum())
    }

    pub fn set_flags(&mut self, flags: u16) {
        let bit = |n: u16| flags >> n & 1 != 0;
        let t = &mut self.tcp;
        [t.fin, t.syn, t.rst, t.psh, t.ack, t.urg, t.ece, t.cwr, t.ns] = std::array::from_fn(|n| bit(n as u16));
    }
}
