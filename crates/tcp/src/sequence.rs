//! Between 32-bit sequence numbers on the wire and 64-bit offsets inside.

use airtcp_core::SeqNum;

/// One direction's numbering: offset 0 is the SYN, offset 1 the first byte of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    initial: SeqNum,
}

impl Sequence {
    /// Numbering that starts at `initial`.
    pub fn new(initial: SeqNum) -> Self {
        Sequence { initial }
    }

    /// The sequence number at `offset`.
    pub fn at(self, offset: u64) -> SeqNum {
        // The low 32 bits are what the wire carries.
        self.initial + (offset & 0xffff_ffff) as u32
    }

    /// The offset of `number`, the one within 2^31 of `near`; negative before the SYN.
    pub fn offset(self, number: SeqNum, near: u64) -> i64 {
        near as i64 + i64::from(number.distance_from(self.at(near)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_offsets_convert_both_ways_across_wraps() {
        let sequence = Sequence::new(SeqNum(u32::MAX - 5));
        for offset in [0u64, 5, 6, 7, 1 << 31, 1 << 32, (5 << 32) + 17] {
            for near in [offset, offset + 1000, offset.saturating_sub(1000)] {
                assert_eq!(sequence.offset(sequence.at(offset), near), offset as i64);
            }
        }
        assert_eq!(sequence.offset(SeqNum(u32::MAX - 6), 0), -1);
    }
}
