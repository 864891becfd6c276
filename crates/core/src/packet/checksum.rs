//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// One's-complement sum of `bytes` as big-endian words, added to `sum`; not folded.
pub fn add(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // In the machine's own order, which is faster: the sum of swapped words is the swapped sum (RFC 1071 section 2 B). It
    // cannot overflow, as there are fewer than 2^32 words.
    let own = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from(u32::from_ne_bytes(*word))));
    sum + u64::from(u32::from_be_bytes(last)) + u64::from(fold(own).to_be())
}

/// Folds a sum to 16 bits.
pub fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum field after one 16-bit word changed from `old` to `new` (RFC 1624, equation 3).
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_rfc_1071_is_reproduced() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(add(0, &bytes)), 0xddf2);
    }

    #[test]
    fn an_update_equals_a_new_sum() {
        let mut bytes = [0x45, 0, 0x12, 0x34, 0xff, 0xff, 0, 0, 0xab, 0xcd, 0xee, 0x01];
        for new in [0u16, 1, 0x7fff, 0x8000, 0xfffe, 0xffff] {
            let before = !fold(add(0, &bytes));
            let old = u16::from_be_bytes([bytes[4], bytes[5]]);
            bytes[4..6].copy_from_slice(&new.to_be_bytes());
            assert_eq!(update(before, old, new), !fold(add(0, &bytes)), "{old:#x} -> {new:#x}");
        }
    }
}
