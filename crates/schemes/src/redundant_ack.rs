//! Which acknowledgment says all that an older one said: the rules of CAKE's ACK filter (Linux `net/sched/sch_cake.c`).
//!
//! Ours are stricter in four points: data replace nothing, windows of zero are kept, a duplicate acknowledgment is kept unless both report
//! blocks, and so is one that reports a duplicate in the second form of RFC 2883.

use airtcp_core::{Packet, SackBlocks, SeqNum, TcpFlags, TcpHeader, Timestamps};

/// Flags that may be set in an acknowledgment that is dropped; a change of them is never lost (RFC 3168).
const ECN: TcpFlags = TcpFlags(TcpFlags::ECE.0 | TcpFlags::CWR.0);

/// Whether this is an acknowledgment that a newer one can replace: nothing but an acknowledgment, with options whose
/// meaning is known.
pub(crate) fn is_replaceable(packet: &Packet) -> bool {
    let Some(tcp) = packet.tcp() else { return false };
    let options = &tcp.options;
    let is_of_syn = options.mss.is_some() || options.window_scale.is_some() || options.sack_permitted;
    tcp.flags.without(ECN) == TcpFlags::ACK
        && packet.payload_len() == 0
        && tcp.window > 0
        && !is_of_syn
        && !reports_duplicate(tcp)
        && !packet.has_unknown_options()
        && packet.checksum_holds()
}

/// Whether this can replace an older acknowledgment: it acknowledges, opens or resets nothing, and carries no data.
pub(crate) fn can_replace(packet: &Packet) -> bool {
    let acknowledges = |tcp: &TcpHeader| tcp.flags.ack() && !tcp.flags.syn() && !tcp.flags.rst() && tcp.window > 0;
    packet.payload_len() == 0 && packet.tcp().is_some_and(acknowledges) && packet.checksum_holds()
}

/// Whether `newer` says all that the replaceable acknowledgment `older` said.
pub(crate) fn covers(newer: &TcpHeader, older: &TcpHeader) -> bool {
    let (new, old) = (newer.options.sack.as_slice(), older.options.sack.as_slice());
    let is_reported_again =
        |(left, right): &(SeqNum, SeqNum)| new.iter().any(|(l, r)| l.at_or_before(*left) && right.at_or_before(*r));
    older.acknowledgment.at_or_before(newer.acknowledgment)
        && is_no_older(newer.options.timestamps, older.options.timestamps)
        && old.iter().all(is_reported_again)
        && (older.acknowledgment.before(newer.acknowledgment)
            || !old.is_empty() && bytes(&newer.options.sack) > bytes(&older.options.sack))
}

/// Whether `newer` says all that `older` said, an acknowledgment of the same flow.
pub(crate) fn makes_redundant(newer: &Packet, older: &Packet) -> bool {
    newer.flow() == older.flow()
        && ecn(newer) == ecn(older)
        && newer.tcp().zip(older.tcp()).is_some_and(|(newer, older)| covers(newer, older))
        && can_replace(newer)
        && is_replaceable(older)
}

/// The flags of which no change may be lost.
pub(crate) fn ecn(packet: &Packet) -> TcpFlags {
    TcpFlags(packet.tcp().map_or(0, |tcp| tcp.flags.0 & ECN.0))
}

/// RFC 7323: neither clock has gone back.
fn is_no_older(new: Option<Timestamps>, old: Option<Timestamps>) -> bool {
    let is_at_or_before = |old: u32, new: u32| SeqNum(old).at_or_before(SeqNum(new));
    match (new, old) {
        (Some(new), Some(old)) => is_at_or_before(old.value, new.value) && is_at_or_before(old.echo, new.echo),
        (new, old) => new == old,
    }
}

/// RFC 2883: the first block lies below the acknowledgment, or within the second block.
fn reports_duplicate(tcp: &TcpHeader) -> bool {
    let blocks = tcp.options.sack.as_slice();
    let Some((left, right)) = blocks.first() else { return false };
    let is_within = |(l, r): &(SeqNum, SeqNum)| l.at_or_before(*left) && right.at_or_before(*r);
    left.before(tcp.acknowledgment) || blocks.get(1).is_some_and(is_within)
}

fn bytes(blocks: &SackBlocks) -> u64 {
    blocks.as_slice().iter().map(|(left, right)| u64::from(right.since(*left))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, data, edited, segment};
    use bytes::Bytes;

    fn stamped(number: u32, value: u32, echo: u32) -> Packet {
        edited(&ack(number), |tcp| tcp.options.timestamps = Some(Timestamps { value, echo }))
    }

    fn reporting(number: u32, blocks: &[(u32, u32)]) -> Packet {
        edited(&ack(number), |tcp| {
            for (left, right) in blocks {
                assert!(tcp.options.sack.push(SeqNum(*left), SeqNum(*right)));
            }
        })
    }

    fn with_flags(number: u32, flags: TcpFlags) -> Packet {
        edited(&ack(number), |tcp| tcp.flags = flags)
    }

    fn does_cover(newer: &Packet, older: &Packet) -> bool {
        covers(newer.tcp().unwrap(), older.tcp().unwrap())
    }

    #[test]
    fn only_bare_acknowledgments_can_be_replaced() {
        let plain = TcpFlags::ACK;
        assert!(is_replaceable(&ack(1000)) && is_replaceable(&stamped(1000, 1, 1)));
        assert!(is_replaceable(&with_flags(1000, plain.with(TcpFlags::ECE).with(TcpFlags::CWR))));
        for flag in [
            TcpFlags::SYN,
            TcpFlags::FIN,
            TcpFlags::RST,
            TcpFlags::PSH,
            TcpFlags::URG,
            TcpFlags::AE,
            TcpFlags::ELN,
            TcpFlags::EMULATED,
        ] {
            assert!(!is_replaceable(&with_flags(1000, plain.with(flag))), "{flag:?}");
        }
        assert!(!is_replaceable(&with_flags(1000, TcpFlags::default())));
        assert!(!is_replaceable(&data(0)));
        assert!(!is_replaceable(&edited(&ack(1000), |tcp| tcp.window = 0)));
        assert!(!is_replaceable(&edited(&ack(1000), |tcp| tcp.options.mss = Some(1460))));
        let mut damaged = ack(1000);
        damaged.mark_corrupted();
        assert!(!is_replaceable(&damaged) && !can_replace(&damaged));
    }

    #[test]
    fn an_unknown_option_keeps_an_acknowledgment() {
        // As a device delivers it: two NOPs, then option 254 of six bytes with a checksum to match.
        let mut bytes = stamped(1000, 1, 1).to_wire().to_vec();
        let same = Packet::parse(Bytes::from(bytes.clone())).unwrap();
        assert!(is_replaceable(&same));
        let options = 20 + 20;
        assert_eq!(bytes[options + 2], 8);
        bytes[options + 2] = 254;
        let checksum = u16::from_be_bytes([bytes[36], bytes[37]]);
        // RFC 1624: a word went from 0x080a to 0xfe0a.
        let sum = u32::from(!checksum) + u32::from(!0x080a_u16) + 0xfe0a;
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        bytes[36..38].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        let other = Packet::parse(Bytes::from(bytes)).unwrap();
        assert!(other.checksum_holds() && other.has_unknown_options() && !is_replaceable(&other));
    }

    #[test]
    fn what_acknowledges_without_data_can_replace_but_for_syn_rst_and_closed_windows() {
        assert!(can_replace(&ack(1000)) && can_replace(&segment(1, 0, TcpFlags(0x11))) && !can_replace(&data(0)));
        for flags in [TcpFlags::PSH, TcpFlags::ACK.with(TcpFlags::SYN), TcpFlags::ACK.with(TcpFlags::RST)] {
            assert!(!can_replace(&with_flags(1000, flags)), "{flags:?}");
        }
        assert!(!can_replace(&edited(&ack(1000), |tcp| tcp.window = 0)));
    }

    #[test]
    fn the_higher_number_covers_across_the_wrap_and_the_same_number_does_not() {
        assert!(does_cover(&ack(2000), &ack(1000)) && !does_cover(&ack(1000), &ack(2000)));
        assert!(does_cover(&ack(5), &ack(u32::MAX - 5)));
        // Duplicates are counted.
        assert!(!does_cover(&ack(1000), &ack(1000)));
    }

    #[test]
    fn clocks_do_not_go_back() {
        assert!(does_cover(&stamped(2000, 7, 3), &stamped(1000, 7, 3)));
        assert!(does_cover(&stamped(2000, 2, 3), &stamped(1000, u32::MAX, 3)));
        assert!(!does_cover(&stamped(2000, 6, 3), &stamped(1000, 7, 3)));
        assert!(!does_cover(&stamped(2000, 7, 2), &stamped(1000, 7, 3)));
        assert!(!does_cover(&ack(2000), &stamped(1000, 7, 3)) && !does_cover(&stamped(2000, 7, 3), &ack(1000)));
    }

    #[test]
    fn blocks_are_covered_by_wider_ones_only() {
        let old = reporting(1000, &[(3000, 4000)]);
        assert!(does_cover(&reporting(2000, &[(3000, 4000)]), &old));
        assert!(does_cover(&reporting(2000, &[(6000, 7000), (2500, 5000)]), &old));
        assert!(!does_cover(&reporting(2000, &[(3500, 5000)]), &old));
        assert!(!does_cover(&ack(2000), &old));
        // Of two with the same number, the one that reports more, and neither of two that count.
        assert!(does_cover(&reporting(1000, &[(3000, 5000)]), &old));
        assert!(!does_cover(&reporting(1000, &[(3000, 4000)]), &old));
        assert!(!does_cover(&old, &ack(1000)));
    }

    #[test]
    fn reports_of_duplicates_are_kept_in_both_forms() {
        assert!(is_replaceable(&reporting(1000, &[(3000, 4000), (6000, 7000)])));
        assert!(!is_replaceable(&reporting(1000, &[(500, 900)])));
        assert!(!is_replaceable(&reporting(1000, &[(3000, 4000), (2500, 5000)])));
    }
}
