//! The coefficients of a code: what both ends multiply the source symbols by.

use crate::position::Position;
use airtcp_core::Rng;

/// The coefficients of the source symbols from `first` on in the code with this seed, without end: each uniform in
/// 1..=255. They are the same on every machine and in every version, as the crate's generator is.
pub(super) fn coefficients(first: Position, seed: u16) -> impl Iterator<Item = u8> {
    // Two windows with the same seed share no coefficients. The ends count from the same 32 bits on.
    let mut rng = Rng::derive(u64::from(first as u32) << 16 | u64::from(seed), "sliding code");
    core::iter::repeat_with(move || rng.below(255) as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn no_coefficient_is_zero_and_every_other_value_is_as_frequent() {
        let mut seen = [0u32; 256];
        for seed in 0..1000 {
            for coefficient in coefficients(7, seed).take(255) {
                seen[usize::from(coefficient)] += 1;
            }
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|n| (800..1200).contains(n)), "{seen:?}");
    }

    #[test]
    fn they_are_pinned_because_two_versions_talk_to_each_other() {
        assert_eq!(coefficients(1 << 32, 3).take(6).collect::<Vec<_>>(), [126, 55, 225, 176, 57, 219]);
    }

    #[test]
    fn another_seed_or_another_window_has_other_coefficients() {
        let of = |first, seed| coefficients(first, seed).take(16).collect::<Vec<_>>();
        assert_ne!(of(5, 1), of(5, 2));
        assert_ne!(of(5, 1), of(6, 1));
        assert_ne!(of(5, 1)[1..], of(6, 1)[..15]);
    }
}
