//! A part of a sweep, for a process or machine of its own: `2/8` is the second of eight.
//!
//! Runs are dealt out so that each shard has as many as any other, but for one, and some of every kind: in the order of the
//! multiples of the golden ratio, modulo one, of their places. Neighbours fall into different shards, and no period of
//! the sweep falls into one.

use std::fmt;
use std::str::FromStr;

/// One of several parts that make a sweep together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// From 1 to `count`.
    index: u32,
    count: u32,
}

/// More shards than this are a mistake.
const MAX_SHARDS: u32 = 100_000;

/// 2^64 divided by the golden ratio, and odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Why a text is no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write I/N with 1 <= I <= N <= {MAX_SHARDS}: 2/8 is the second of eight shards")]
pub struct NotAShard;

impl Shard {
    /// From 1 to [`Shard::count`].
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// How many of `runs` runs it has.
    pub fn size(self, runs: usize) -> usize {
        let before = |index: u32| (u64::from(index) * runs as u64).div_ceil(u64::from(self.count));
        usize::try_from(before(self.index) - before(self.index - 1)).expect("not more than there are")
    }

    /// The shard of each of `runs` runs, from 0, if there are `count`.
    pub fn deal(count: u32, runs: usize) -> Vec<u32> {
        let mut order: Vec<usize> = (0..runs).collect();
        order.sort_unstable_by_key(|run| (*run as u64).wrapping_mul(GOLDEN));
        let mut shards = vec![0; runs];
        for (rank, run) in order.into_iter().enumerate() {
            shards[run] = u32::try_from(rank as u64 * u64::from(count) / runs as u64).expect("below count");
        }
        shards
    }

    /// Keeps of the runs of a sweep, in order, those of this shard.
    pub(super) fn of<T>(self, runs: Vec<T>) -> Vec<T> {
        let shards = Shard::deal(self.count, runs.len());
        runs.into_iter().zip(shards).filter(|(_, shard)| *shard + 1 == self.index).map(|(run, _)| run).collect()
    }
}

impl FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Shard, NotAShard> {
        let (index, count) = text.split_once('/').ok_or(NotAShard)?;
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| NotAShard);
        let (index, count) = (number(index)?, number(count)?);
        if (1..=count).contains(&index) && count <= MAX_SHARDS { Ok(Shard { index, count }) } else { Err(NotAShard) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_shard_and_shards_are_equal() {
        for (count, runs) in [(1, 7), (3, 12), (8, 8), (8, 100), (7, 1000), (5, 3), (2, 0)] {
            let mut sizes = vec![0usize; count as usize];
            Shard::deal(count, runs).into_iter().for_each(|shard| sizes[shard as usize] += 1);
            assert_eq!(sizes.iter().sum::<usize>(), runs);
            let told: Vec<usize> = (1..=count).map(|index| Shard { index, count }.size(runs)).collect();
            assert_eq!(sizes, told);
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1, "{count} {runs} {sizes:?}");
        }
    }

    #[test]
    fn a_shard_has_some_of_every_kind_whatever_the_period_of_the_sweep() {
        for (count, runs, period) in [(8, 800, 4), (8, 800, 8), (10, 3000, 30), (4, 400, 16)] {
            let shards = Shard::deal(count, runs);
            for shard in 0..count {
                let mut kinds = vec![0usize; period];
                (0..runs).filter(|run| shards[*run] == shard).for_each(|run| kinds[run % period] += 1);
                let even = runs / count as usize / period;
                assert!(
                    kinds.iter().all(|kind| kind.abs_diff(even) <= 3 + even / 4),
                    "{count} {runs} {period}: {kinds:?}"
                );
            }
        }
    }

    #[test]
    fn a_shard_reads_back_and_nonsense_does_not() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["", "2", "0/8", "9/8", "2/0", "-1/3", "1/2/3", "a/b", "1/1000000"] {
            assert_eq!(text.parse::<Shard>(), Err(NotAShard), "{text}");
        }
    }
}
