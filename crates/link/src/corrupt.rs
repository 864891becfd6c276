//! Damage on the way: what a checksum finds.

use airtcp_core::{Packet, Rng};
use bytes::BytesMut;

/// Damages `packet`: a live one really, by one bit behind the IP header, so that the receiver's own checksum finds
/// it; a simulated one by its mark.
///
/// The bit is in the transport's payload where there is one, so that the packet still belongs to its flow, else in
/// the transport header behind the ports.
pub(crate) fn corrupt(packet: Packet, rng: &mut Rng) -> Packet {
    let Some(datagram) = packet.datagram() else {
        return marked(packet);
    };
    let payload_at = datagram.len() - packet.payload_len() as usize;
    let behind_ports = usize::from(packet.ip().header_len) + 4;
    let from = if payload_at < datagram.len() { payload_at } else { behind_ports };
    if from >= datagram.len() {
        return marked(packet);
    }
    let bit = rng.below((datagram.len() - from) as u64 * 8) as usize;
    let mut bytes = BytesMut::from(&datagram[..]);
    bytes[from + bit / 8] ^= 1 << (bit % 8);
    let Some(mut damaged) = Packet::parse(bytes.freeze()) else {
        return marked(packet);
    };
    if packet.wire_len() != packet.ip().total_len {
        damaged.set_wire_len(packet.wire_len());
    }
    damaged
}

fn marked(mut packet: Packet) -> Packet {
    packet.mark_corrupted();
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::{Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions};
    use core::net::Ipv4Addr;

    fn packet(len: u32) -> Packet {
        let tcp = TcpHeader {
            source_port: 1,
            destination_port: 2,
            sequence: SeqNum(3),
            acknowledgment: SeqNum(4),
            flags: TcpFlags::ACK,
            window: 5,
            urgent: 0,
            options: TcpOptions::default(),
        };
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
        Packet::tcp_virtual(&Segment { source, destination, traffic_class: 0, tcp }, 1, 0, len)
    }

    #[test]
    fn a_live_packet_differs_in_one_bit_that_its_checksum_finds() {
        let mut rng = Rng::derive(1, "flip");
        for len in [0, 1, 1000] {
            for _ in 0..200 {
                let live = Packet::parse(packet(len).to_wire()).unwrap();
                let before = live.to_wire();
                let damaged = corrupt(live, &mut rng);
                let differing: u32 =
                    before.iter().zip(damaged.to_wire().iter()).map(|(a, b)| (a ^ b).count_ones()).sum();
                assert_eq!(differing, 1);
                assert!(damaged.tcp().is_none() || !damaged.checksum_holds());
                if len > 0 {
                    assert_eq!(damaged.flow(), packet(len).flow());
                }
            }
        }
    }

    #[test]
    fn a_simulated_packet_is_marked() {
        let damaged = corrupt(packet(100), &mut Rng::derive(1, "flip"));
        assert!(damaged.is_corrupted() && damaged.payload() == packet(100).payload());
    }
}
