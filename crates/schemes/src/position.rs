//! Sequence numbers unwrapped to 64 bits, so that ranges of a flow can be sorted and compared
//! without thinking of the wrap. The low 32 bits of a position are the sequence number.

use airtcp_core::SeqNum;

/// Position in a flow's sequence space; `position as u32` is the sequence number.
pub(crate) type Position = u64;

/// The position of the first sequence number seen of a flow. Space below it is left for
/// retransmissions of earlier bytes.
pub(crate) const fn first(sequence: SeqNum) -> Position {
    1 << 32 | sequence.0 as u64
}

/// The position of `sequence` closest to `reference`.
pub(crate) const fn near(reference: Position, sequence: SeqNum) -> Position {
    reference.saturating_add_signed(sequence.distance_from(SeqNum(reference as u32)) as i64)
}

/// The position closest to `reference` with these low bits.
pub(crate) const fn near_low(reference: Position, low: u16) -> Position {
    reference.saturating_add_signed(low.wrapping_sub(reference as u16) as i16 as i64)
}

/// The sequence number at a position.
pub(crate) const fn sequence(position: Position) -> SeqNum {
    SeqNum(position as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_grow_across_the_wrap() {
        let start = first(SeqNum(u32::MAX - 5));
        let later = near(start, SeqNum(10));
        assert_eq!(later - start, 16);
        assert_eq!(sequence(later), SeqNum(10));
        assert_eq!(near(later, SeqNum(u32::MAX - 5)), start);
    }

    #[test]
    fn low_bits_name_the_closest_position() {
        for at in [(1 << 32) - 9, 1 << 32, (1 << 32) + 0x7fff] {
            for off in [-0x7fff, -1, 0, 1, 0x7fff] {
                let near = (at as Position).saturating_add_signed(off);
                assert_eq!(near_low(at, near as u16), near, "{at} {off}");
            }
        }
    }

    #[test]
    fn bytes_before_the_first_seen_have_a_position() {
        let start = first(SeqNum(3));
        assert_eq!(start - near(start, SeqNum(u32::MAX)), 4);
    }
}
