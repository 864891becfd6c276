//! Round-trip times as a distribution in bounded space.
//!
//! Buckets are 1/64 of a power of two wide, so a percentile is off by less than 1.6 %.

use crate::outcome::Percentiles;
use airtcp_core::Duration;

const SUB_BITS: u32 = 6;

/// Counts of durations by size.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// From the lowest in use to the highest.
    buckets: Vec<u32>,
    /// The lowest in use.
    lowest: usize,
    total: u64,
}

fn bucket(nanos: u64) -> usize {
    let magnitude = nanos.max(1 << SUB_BITS).ilog2() - SUB_BITS;
    ((magnitude as usize) << SUB_BITS) + (nanos.max(1 << SUB_BITS) >> magnitude) as usize - (1 << SUB_BITS)
}

/// The middle of a bucket.
fn value(bucket: usize) -> u64 {
    let magnitude = bucket >> SUB_BITS;
    let base = ((bucket & ((1 << SUB_BITS) - 1)) as u64 + (1 << SUB_BITS)) << magnitude;
    base + (1 << magnitude) / 2
}

impl Rounds {
    /// Counts one sample.
    pub fn record(&mut self, sample: Duration) {
        let bucket = bucket(sample.as_nanos());
        if bucket.wrapping_sub(self.lowest) >= self.buckets.len() {
            self.widen(bucket);
        }
        self.buckets[bucket.wrapping_sub(self.lowest)] += 1;
        self.total += 1;
    }

    /// Has there be a place for a bucket.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        if self.buckets.is_empty() {
            self.lowest = bucket;
        }
        let below = self.lowest.saturating_sub(bucket);
        self.buckets.splice(0..0, std::iter::repeat_n(0, below));
        self.lowest -= below;
        self.buckets.resize(self.buckets.len().max(bucket - self.lowest + 1), 0);
    }

    /// Forgets everything; used at the end of the warm-up.
    pub fn clear(&mut self) {
        *self = Rounds::default();
    }

    /// Samples counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The values of which so many per cent of all samples and of `more`, which are longer than any, are not above, the lowest first;
    /// `None` for one of those.
    fn at<const N: usize>(&self, per_cent: [u64; N], more: u64) -> [Option<u64>; N] {
        let (mut buckets, mut seen, mut last) = (self.buckets.iter().enumerate(), 0, None);
        per_cent.map(|per_cent| {
            let rank = ((self.total + more) * per_cent).div_ceil(100).max(1);
            while seen < rank {
                let (index, count) = buckets.next()?;
                seen += u64::from(*count);
                last = Some(value(self.lowest + index));
            }
            last
        })
    }

    /// The percentiles results report.
    pub fn percentiles(&self) -> Percentiles {
        self.percentiles_with(0, Duration::ZERO)
    }

    /// The same together with `more` samples that took longer than any other, each of them `longest`.
    pub fn percentiles_with(&self, more: u64, longest: Duration) -> Percentiles {
        let longest = if more > 0 { longest.as_nanos() } else { 0 };
        let [p50, p95, p99] = self.at([50, 95, 99], more).map(|value| value.unwrap_or(longest));
        Percentiles { p50, p95, p99 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_two_percent() {
        let mut rounds = Rounds::default();
        for ms in 1..=100 {
            rounds.record(Duration::from_millis(ms));
        }
        let p = rounds.percentiles();
        for (got, want) in [(p.p50, 50), (p.p95, 95), (p.p99, 99)] {
            let want = want * 1_000_000;
            assert!(got.abs_diff(want) < want / 50, "{got} for {want}");
        }
        assert_eq!(Rounds::default().percentiles(), Percentiles::default());
    }

    #[test]
    fn only_the_sizes_between_the_extremes_take_memory() {
        let mut rounds = Rounds::default();
        for ms in [20, 10, 40, 20] {
            rounds.record(Duration::from_millis(ms));
        }
        // Two octaves, and the first of the next.
        assert!((129..=130).contains(&rounds.buckets.len()) && rounds.count() == 4, "{}", rounds.buckets.len());
        rounds.clear();
        rounds.record(Duration::from_nanos(1));
        rounds.record(Duration::MAX);
        assert_eq!((rounds.percentiles().p50, rounds.percentiles().p99 > 1 << 63), (64, true));
    }

    #[test]
    fn what_took_longer_than_any_stands_behind_all_others() {
        let mut rounds = Rounds::default();
        (0..94).for_each(|_| rounds.record(Duration::from_millis(1)));
        let longest = Duration::from_secs(20);
        let with = |more| rounds.percentiles_with(more, longest);
        assert_eq!(with(0), rounds.percentiles());
        assert_eq!((with(6).p50, with(6).p95), (rounds.percentiles().p50, longest.as_nanos()));
        assert!(with(4).p95 < longest.as_nanos() && with(4).p99 == longest.as_nanos());
        assert_eq!(Rounds::default().percentiles_with(1, longest).p50, longest.as_nanos(), "nothing came at all");
    }
}
