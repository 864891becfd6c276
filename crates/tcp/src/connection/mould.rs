//! What the segments of an end are made of.

use super::Endpoint;
use airtcp_core::{Fields, Packet, Segment, TcpHeader, Template, Timestamps};
use bytes::Bytes;

/// Headers and memory for the next segment.
#[derive(Debug)]
pub(super) struct Mould {
    /// What all segments but SYNs begin as.
    template: Template,
    /// A packet that has ended.
    spare: Option<Packet>,
}

impl Mould {
    /// For the segments of the end at `local`, with timestamps or without.
    pub(super) fn new(local: Endpoint, remote: Endpoint, has_timestamps: bool) -> Mould {
        let mut segment = blank_segment(local, remote);
        segment.tcp.options.timestamps = has_timestamps.then(Timestamps::default);
        Mould { template: Template::new(&segment), spare: None }
    }

    /// Takes a packet that has ended; gives back the one that it had.
    #[inline]
    pub(super) fn reuse(&mut self, packet: Packet) -> Option<Packet> {
        self.spare.replace(packet)
    }

    /// Whether it has such a packet.
    #[inline]
    pub(super) fn has_spare(&self) -> bool {
        self.spare.is_some()
    }

    /// A segment with data of a virtual stream.
    #[inline(always)]
    pub(super) fn virtual_segment(&mut self, fields: &Fields, stream: u64, offset: u64, len: u32) -> Packet {
        Packet::tcp_virtual_in(self.spare.take(), &self.template, fields, stream, offset, len)
    }

    /// A segment with real data, or with none.
    #[inline(always)]
    pub(super) fn segment(&mut self, fields: &Fields, payload: Bytes) -> Packet {
        Packet::tcp_bytes_in(self.spare.take(), &self.template, fields, payload)
    }
}

/// A segment from one end to the other that says nothing yet.
pub(super) fn blank_segment(local: Endpoint, remote: Endpoint) -> Segment {
    let tcp = TcpHeader { source_port: local.port, destination_port: remote.port, ..TcpHeader::default() };
    Segment { source: local.address, destination: remote.address, traffic_class: 0, tcp }
}
