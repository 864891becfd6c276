//! Random choices as scenarios and operations make them: a named stream and the shapes of distribution they need.

use airtcp_core::{Duration, Rng};

/// A random stream with the questions that are asked of it.
#[derive(Clone, Debug)]
pub struct Draw(Rng);

impl Draw {
    /// The stream called `name` of `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        Draw(Rng::derive(seed, name))
    }

    /// Uniform in `0..n`; 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Uniform in `0..n` as an index.
    pub fn index(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    /// Uniform from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.0.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// From `low` to `high`, both included, every magnitude alike: small values are as likely as large ones.
    pub fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let bits = |value: u64| u64::from(u64::BITS - value.leading_zeros());
        let chosen = self.between(bits(low), bits(high));
        let floor = if chosen == 0 { 0 } else { 1 << (chosen - 1) };
        let ceiling = if chosen >= 64 { u64::MAX } else { (1 << chosen) - 1 };
        self.between(floor.max(low), ceiling.min(high))
    }

    /// [`Draw::magnitude`] for spans of time.
    pub fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.magnitude(low.as_nanos(), high.as_nanos()))
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, which are not empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// 64 uniform bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// A hash of a sequence of numbers: equal for equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace(u64);

impl Trace {
    /// Folds a number in (FNV-1a's step over words, with a rotation so that high bits matter too).
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x0000_0100_0000_01b3).wrapping_add(1);
    }

    /// Folds bytes in.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magnitudes_stay_within_their_bounds_and_reach_both() {
        let mut draw = Draw::new(1, "magnitude");
        for (low, high) in [(0, 0), (0, 1), (3, 1000), (1, u64::MAX), (70, 71)] {
            let drawn: Vec<u64> = (0..20_000).map(|_| draw.magnitude(low, high)).collect();
            assert!(drawn.iter().all(|value| (low..=high).contains(value)), "{low} {high}");
            assert!(drawn.iter().any(|value| *value <= low.saturating_mul(2)));
            assert!(drawn.iter().any(|value| *value >= high / 2));
        }
    }

    #[test]
    fn a_trace_tells_order_and_content_apart() {
        let of = |words: &[u64]| {
            let mut trace = Trace::default();
            words.iter().for_each(|word| trace.add(*word));
            trace
        };
        assert_eq!(of(&[1, 2]), of(&[1, 2]));
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
    }
}
