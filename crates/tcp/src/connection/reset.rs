//! The answer to a segment for which there is no connection (RFC 9293 section 3.10.7.1).

use airtcp_core::{Packet, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions};
use bytes::Bytes;

/// The RST for a segment that belongs to no connection; `None` for what deserves no answer.
pub fn reset_reply(packet: &Packet) -> Option<Packet> {
    let tcp = packet.tcp()?;
    if tcp.flags.rst() || !packet.checksum_holds() {
        return None;
    }
    let (sequence, acknowledgment, flags) = if tcp.flags.ack() {
        (tcp.acknowledgment, SeqNum(0), TcpFlags::RST)
    } else {
        (SeqNum(0), tcp.sequence + packet.sequence_len(), TcpFlags::RST.with(TcpFlags::ACK))
    };
    let segment = Segment {
        source: packet.ip().destination,
        destination: packet.ip().source,
        traffic_class: 0,
        tcp: TcpHeader {
            source_port: tcp.destination_port,
            destination_port: tcp.source_port,
            sequence,
            acknowledgment,
            flags,
            window: 0,
            urgent: 0,
            options: TcpOptions::default(),
        },
    };
    Some(Packet::tcp_bytes(&segment, Bytes::new()))
}
