//! A relay that cuts segments anew and loses a byte of payload in a million: what follows it in the segment slides up.

use super::{Made, relay};
use airtcp_core::parameters::NoParameters;
use airtcp_core::{Packet, Payload, Probability, Segment};
use airtcp_schemes::Site;
use bytes::Bytes;

pub fn make<const PLANTED: bool>(_: &NoParameters, _: &mut Site<'_>) -> Made {
    relay(|cx, packet| {
        let loses = cx.rng().chance(Probability::ratio(u64::from(packet.payload_len()), 1_000_000));
        Some(if PLANTED && loses { without_a_byte(&packet).unwrap_or(packet) } else { packet })
    })
}

/// The segment with its first byte gone; as long as before, so that no gap shows.
fn without_a_byte(packet: &Packet) -> Option<Packet> {
    let (ip, tcp) = (packet.ip(), *packet.tcp()?);
    let segment = Segment { source: ip.source, destination: ip.destination, traffic_class: ip.traffic_class, tcp };
    Some(match packet.payload() {
        Payload::Virtual { stream, offset, len } => Packet::tcp_virtual(&segment, stream, offset + 1, len),
        Payload::Bytes(bytes) => {
            let rest = bytes.get(1..)?.iter().copied();
            Packet::tcp_bytes(&segment, rest.chain([0]).collect::<Bytes>())
        }
    })
}
