//! What both ends know of one direction of a connection: its last header, and by how much its numbers grew last.

use airtcp_core::{FlowKey, Packet, Segment, SeqNum, TcpHeader};
use bytes::Bytes;

/// By how much the numbers grow from header to header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Of the sequence number: VMSS on a header packet.
    pub sequence: u16,
    /// Of the acknowledgment number.
    pub acknowledgment: u16,
}

/// A header, and what is expected of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub segment: Segment,
    pub hop_limit: u8,
    pub steps: Steps,
}

impl Context {
    /// The fields of a header packet; `None` if the same packet cannot be made of them again to the last bit.
    pub fn of(packet: &Packet) -> Option<Context> {
        let ip = packet.ip();
        let (source, destination, traffic_class) = (ip.source, ip.destination, ip.traffic_class);
        let segment = Segment { source, destination, traffic_class, tcp: *packet.tcp()? };
        let context = Context { segment, hop_limit: ip.hop_limit, steps: Steps::default() };
        let is_exact = packet.payload_len() == 0 && packet.checksum_holds();
        (is_exact && context.packet().to_wire() == packet.to_wire()).then_some(context)
    }

    /// The packet that these fields make.
    pub fn packet(&self) -> Packet {
        let mut packet = Packet::tcp_bytes(&self.segment, Bytes::new());
        packet.set_hop_limit(self.hop_limit);
        packet
    }

    pub fn tcp(&self) -> &TcpHeader {
        &self.segment.tcp
    }

    pub fn flow(&self) -> FlowKey {
        FlowKey {
            source: self.segment.source,
            destination: self.segment.destination,
            source_port: self.segment.tcp.source_port,
            destination_port: self.segment.tcp.destination_port,
        }
    }

    /// The TCP checksum of the packet.
    pub fn checksum(&self) -> u16 {
        let (packet, at) = (self.packet().to_wire(), if self.segment.source.is_ipv4() { 36 } else { 56 });
        u16::from_be_bytes([packet[at], packet[at + 1]])
    }

    /// The numbers grow by their steps, `times` times.
    pub fn advance(&mut self, times: u32) {
        let grown = |number: SeqNum, step: u16| number + u32::from(step).wrapping_mul(times);
        let (tcp, steps) = (&mut self.segment.tcp, self.steps);
        tcp.sequence = grown(tcp.sequence, steps.sequence);
        tcp.acknowledgment = grown(tcp.acknowledgment, steps.acknowledgment);
    }
}
