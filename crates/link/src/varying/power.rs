//! Powers of two with a fraction, in integers: what a random walk over ratios needs, the same on every machine.

/// One, in exponents: the lower 16 bits are the fraction.
pub(super) const ONE: u32 = 1 << 16;

/// The root of the root of … two: 2^(2^-1), 2^(2^-2), … with 32 bits of fraction.
const ROOTS: [u64; 16] = {
    let (mut roots, mut at, mut root) = ([0; 16], 0, 2u128 << 32);
    while at < 16 {
        root = (root << 32).isqrt();
        roots[at] = root as u64;
        at += 1;
    }
    roots
};

/// `base` × 2^`exponent`, rounded down.
pub(super) fn times_power(base: u64, exponent: u32) -> u64 {
    let mut result = u128::from(base) << 32;
    for (at, root) in ROOTS.iter().enumerate() {
        if exponent & (ONE >> (at + 1)) != 0 {
            result = (result * u128::from(*root)) >> 32;
        }
    }
    u64::try_from((result >> 32).checked_shl(exponent / ONE).unwrap_or(u128::MAX)).unwrap_or(u64::MAX)
}

/// The largest exponent with `from` × 2^exponent not above `to`; zero where there is none.
pub(super) fn exponent_between(from: u64, to: u64) -> u32 {
    let (mut low, mut high) = (0, 64 * ONE);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if times_power(from, middle) <= to {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_floating_point() {
        for exponent in [0, 1, 77, ONE / 2, ONE, 3 * ONE + ONE / 3, 20 * ONE + 5] {
            let exact = 1e6 * (f64::from(exponent) / f64::from(ONE)).exp2();
            let seen = times_power(1_000_000, exponent) as f64;
            assert!((seen / exact - 1.0).abs() < 2e-6, "{exponent}: {seen} {exact}");
        }
        assert_eq!(times_power(3, 64 * ONE), u64::MAX, "no overflow");
    }

    #[test]
    fn the_exponent_between_two_numbers_leads_from_one_to_the_other() {
        assert_eq!(exponent_between(5_000_000, 5_000_000), 0);
        assert_eq!(exponent_between(5, 4), 0);
        let exponent = exponent_between(2_000_000, 20_000_000);
        assert!((f64::from(exponent) / f64::from(ONE) - 10f64.log2()).abs() < 1e-4);
        assert!(times_power(2_000_000, exponent) <= 20_000_000);
    }
}
