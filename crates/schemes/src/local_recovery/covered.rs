//! A packet as codes have it: how it is ordered, and its image as it was sent.

use super::frame::{order_word, read_order_word};
use crate::hop::Part;
use crate::selective_repeat::Frame;
use airtcp_core::Packet;
use alloc::vec::Vec;

/// Bytes of a symbol beyond the packet: the order, and the first byte of the image.
pub(super) const OVERHEAD: u32 = 3;

/// The symbol of a packet that leaves, or left, in this frame.
pub(super) fn symbol(frame: &Frame, packet: &Packet) -> Vec<u8> {
    let mut out = order_word(frame).to_vec();
    out.extend(packet.to_image());
    out
}

/// The packet as the other end had it: routers between change class and hop limit.
pub(super) fn as_sent(packet: &Packet, traffic_class: u8, hop_limit: u8) -> Packet {
    let mut packet = packet.clone();
    packet.set_traffic_class(traffic_class);
    packet.set_hop_limit(hop_limit);
    packet
}

/// A packet that was computed.
#[derive(Clone, Debug)]
pub(super) struct Restored {
    /// Distance to the packet that it goes behind, 0 for none.
    pub after: u16,
    pub part: Part,
    pub packet: Packet,
}

/// What a symbol shows, after so many routers; `None` if it is not one of ours.
pub(super) fn restore(symbol: &[u8], routers: u8) -> Option<Restored> {
    let (&word, image) = symbol.split_first_chunk::<2>()?;
    let (after, part) = read_order_word(word)?;
    let mut packet = Packet::from_image(image)?;
    if routers > 0 {
        packet.set_hop_limit(packet.ip().hop_limit.saturating_sub(routers).max(1));
    }
    Some(Restored { after, part, packet })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::{data, opaque};
    use airtcp_core::SeqNum;

    fn frame() -> Frame {
        Frame { incarnation: 1, number: SeqNum(2), sequence: SeqNum(3), back: 4, after: 5, part: Part::Head }
    }

    #[test]
    fn what_is_computed_is_what_was_sent_less_the_routers_between() {
        for packet in [data(3), opaque(700)] {
            let restored = restore(&symbol(&frame(), &packet), 2).unwrap();
            assert_eq!((restored.after, restored.part), (5, Part::Head));
            assert_eq!(restored.packet.ip().hop_limit, packet.ip().hop_limit - 2);
            assert_eq!(as_sent(&restored.packet, 0, packet.ip().hop_limit).to_wire(), packet.to_wire());
        }
    }

    #[test]
    fn both_ends_have_the_same_symbol_whatever_routers_change() {
        let sent = opaque(700);
        let mut came = sent.clone();
        came.set_hop_limit(3);
        came.set_traffic_class(0xff);
        let ip = sent.ip();
        let again = as_sent(&came, ip.traffic_class, ip.hop_limit);
        assert_eq!(symbol(&frame(), &again), symbol(&Frame { number: SeqNum(9), back: 0, ..frame() }, &sent));
    }

    #[test]
    fn nothing_else_is_a_packet() {
        assert!(restore(&[], 0).is_none());
        assert!(restore(&[0, 0, 0, 0x45], 0).is_none());
        assert!(restore(&[0xc0, 0, 0], 0).is_none());
    }
}
