//! One seed per run, one random stream per component.
//!
//! A component's stream is a PCG XSL 128/64 (MCG) whose state is derived from (seed, component
//! name) only, so adding an idle node changes no other component's draws. The generator's
//! output is documented as stable by its authors (`rand_pcg`: "value-stable").

use crate::units::Probability;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A component's own stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The stream of the component called `name` in the run seeded with `seed`.
    pub fn derive(seed: u64, name: &str) -> Self {
        // FNV-1a tells names apart, SplitMix64 spreads the result over the generator's state.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut state = split_mix(seed) ^ hash;
        let mut bytes = [0u8; 16];
        for half in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            half.copy_from_slice(&split_mix(state).to_le_bytes());
        }
        Rng(Pcg64Mcg::from_seed(bytes))
    }

    /// The next 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True with probability `p`. Draws once, also when the outcome is certain, so that two
    /// runs that differ in a probability only stay on common random numbers.
    pub fn chance(&mut self, p: Probability) -> bool {
        let draw = self.next_u64();
        draw < p.fixed() || p == Probability::ALWAYS
    }

    /// Uniform in `0..n`; 0 for `n` = 0. The bias is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
}

/// SplitMix64's output function: a bijection that spreads every input bit over the word.
pub(crate) const fn split_mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let first = |seed, name| Rng::derive(seed, name).next_u64();
        assert_eq!(first(1, "links.air"), first(1, "links.air"));
        assert_ne!(first(1, "links.air"), first(1, "links.lan"));
        assert_ne!(first(1, "links.air"), first(2, "links.air"));
    }

    #[test]
    fn the_stream_is_pinned() {
        // A change here changes every published number: it belongs under Behaviour in the changelog.
        let mut rng = Rng::derive(1, "pin");
        let seen = [rng.next_u64(), rng.next_u64()];
        assert_eq!(seen, PINNED);
    }
    const PINNED: [u64; 2] = [9_721_464_214_907_374_033, 11_328_145_952_797_140_941];

    #[test]
    fn chance_comes_close_to_its_probability() {
        let mut rng = Rng::derive(7, "chance");
        let p = "5%".parse().unwrap();
        let hits = (0..100_000).filter(|_| rng.chance(p)).count();
        assert!((4_700..5_300).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| rng.chance(Probability::ALWAYS)));
        assert!((0..1000).all(|_| !rng.chance(Probability::NEVER)));
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let mut rng = Rng::derive(7, "below");
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[rng.below(6) as usize] += 1;
        }
        assert!(seen.iter().all(|n| *n > 800), "{seen:?}");
    }
}
