//! Header packets (DEC-5): segments of a control TCP from which the payload is taken at one end and to which it is put
//! back at the other.
//!
//! Both ends must agree on VMSS, and which packets stand for payload. VMSS is the MSS that the two SYNs agree on, as for
//! any TCP, and no setting of the receiver: a box on the path that lowers the MSS lowers it for both. A header packet is
//! told from a bare acknowledgment by PSH, which stands on each of them (each ends what was written): the DSCP may be
//! changed on the way, and an acknowledgment of the sender's has the same number as its next header packet.

use airtcp_core::{Packet, Segment, TcpFlags};
use bytes::Bytes;

/// The virtual stream of every control TCP.
pub(super) const STREAM: u64 = 0;

/// The header packet of a segment: nothing but the payload is missing, and the CONTROL mark is set. (DEC-12)
pub(super) fn strip(segment: &Packet, dscp: u8) -> Option<Packet> {
    let mut tcp = *segment.tcp()?;
    tcp.flags = tcp.flags.with(TcpFlags::PSH);
    let ip = segment.ip();
    let traffic_class = dscp << 2 | ip.ecn().bits();
    Some(Packet::tcp_bytes(
        &Segment { source: ip.source, destination: ip.destination, traffic_class, tcp },
        Bytes::new(),
    ))
}

/// True for a packet that stands for a virtual segment.
pub(super) fn is_header(packet: &Packet) -> bool {
    let is_plain = |flags: TcpFlags| flags.psh() && !flags.syn() && !flags.fin() && !flags.rst();
    packet.payload_len() == 0 && packet.tcp().is_some_and(|tcp| is_plain(tcp.flags))
}

/// The segment that a header packet stands for: `vmss` bytes from `position` of the virtual stream. (DEC-17)
pub(super) fn restore(header: &Packet, position: u64, vmss: u32) -> Option<Packet> {
    let (tcp, ip) = (*header.tcp()?, header.ip());
    let segment = Segment { source: ip.source, destination: ip.destination, traffic_class: ip.traffic_class, tcp };
    Some(Packet::tcp_virtual(&segment, STREAM, position, vmss))
}
