//! Medians, and how sure they are.
//!
//! The interval around a median is the distribution-free one from order statistics: with *n* runs in order,
//! the median of the population lies between the *k*-th smallest and the *k*-th largest with probability
//! 1 − 2 · P(B < *k*), B binomial(*n*, ½). The largest *k* that keeps it at 95 % or more is taken. With fewer than
//! six runs none does; then it is the range of the runs (five runs: 93.75 %).

use rand_core::RngCore as _;
use rand_pcg::Pcg64Mcg;

/// The method in one sentence, for those who read results.
pub const METHOD: &str = "95 % interval of the median from order statistics (binomial, distribution-free); \
    the range of the runs where there are fewer than six; times_baseline is paired by seed";

/// A median with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the runs.
    pub median: f64,
    /// Lower and upper end of the 95 % interval.
    pub ci95: [f64; 2],
}

/// The median of `values` and its interval; `None` for no values.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (sorted.first()?, sorted.last()?);
    let n = sorted.len();
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let ci95 = match rank(n) {
        0 => [*first, *last],
        rank => [sorted[rank - 1], sorted[n - rank]],
    };
    Some(Estimate { median, ci95 })
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;

/// How far the gain of one line over another in `first` is above that in `second`, each gain of medians less one, with its
/// 95 % interval ([`of_medians`]).
pub fn difference_of_gains(first: [&[f64]; 2], second: [&[f64]; 2]) -> Estimate {
    of_medians([first[0], first[1], second[0], second[1]], |[a, b, c, d]| a / b - c / d)
}

/// What `of` makes of the medians of lines whose runs have nothing in common, with its 95 % interval: the runs of each line
/// are drawn again, with repetition and each line for itself (percentile bootstrap, the same for the same runs). Not a number
/// where a line has no runs.
pub fn of_medians<const N: usize>(lines: [&[f64]; N], of: impl Fn([f64; N]) -> f64) -> Estimate {
    let middle = |values: &[f64]| estimate(values).map_or(f64::NAN, |estimate| estimate.median);
    if lines.iter().any(|line| line.is_empty()) {
        return Estimate { median: f64::NAN, ci95: [f64::NAN; 2] };
    }
    let mut random = Pcg64Mcg::new(1);
    let mut again = |line: &[f64]| {
        let drawn = line.iter().map(|_| line[(random.next_u64() % line.len() as u64) as usize]);
        middle(&drawn.collect::<Vec<_>>())
    };
    let mut drawn: Vec<f64> = (0..RESAMPLES).map(|_| of(lines.map(&mut again))).collect();
    drawn.sort_by(f64::total_cmp);
    let ci95 = [RESAMPLES / 40, RESAMPLES - 1 - RESAMPLES / 40].map(|rank| drawn[rank]);
    Estimate { median: of(lines.map(middle)), ci95 }
}

/// The median of integers, rounded down between two; 0 for none.
pub fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    match sorted.len() {
        0 => 0,
        n => u64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

/// The largest `k` with 2 · P(binomial(n, ½) < k) ≤ 5 %; 0 if there is none.
fn rank(n: usize) -> usize {
    // Powers of one half leave f64 beyond 1000 runs; the normal approximation is exact enough long before.
    if n > 1000 {
        let half_width = 0.98 * (n as f64).sqrt();
        return (n as f64 / 2.0 - half_width).floor() as usize;
    }
    let mut probability = 0.5f64.powi(n as i32);
    let mut below = 0.0;
    for k in 0..n {
        below += probability;
        if 2.0 * below > 0.05 {
            return k;
        }
        probability *= (n - k) as f64 / (k + 1) as f64;
    }
    n
}

/// Jain's index of fairness, (Σx)² ÷ (n · Σx²); 1 for one flow and for none that got anything. (GSN-18)
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

/// `value` with so many decimals.
pub(crate) fn round(value: f64, decimals: i32) -> f64 {
    let factor = 10f64.powi(decimals);
    (value * factor).round() / factor
}

/// `a` over `b`: 1 where both are nothing, infinite where only `b` is.
pub fn quotient(a: f64, b: f64) -> f64 {
    match (a == 0.0, b == 0.0) {
        (true, true) => 1.0,
        (false, true) => f64::INFINITY,
        _ => a / b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_runs_are_bounded_by_their_range() {
        let estimate = estimate(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!((estimate.median, estimate.ci95), (3.0, [1.0, 5.0]));
    }

    #[test]
    fn thirty_runs_are_bounded_by_the_tenth_from_each_end() {
        // The textbook table for n = 30: ranks 10 and 21.
        let values: Vec<f64> = (1..=30).map(f64::from).collect();
        assert_eq!(estimate(&values).unwrap().ci95, [10.0, 21.0]);
        assert_eq!(estimate(&values).unwrap().median, 15.5);
    }

    #[test]
    fn six_runs_are_the_fewest_with_95_percent() {
        assert_eq!((rank(5), rank(6), rank(9)), (0, 1, 2));
    }

    #[test]
    fn the_approximation_joins_the_exact_ranks() {
        assert!(rank(1000).abs_diff(rank(1001)) <= 1);
    }

    // GSN-18
    #[test]
    fn the_interval_of_a_gain_is_that_of_the_medians_that_could_have_been() {
        let [five, ones] = [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0; 5]];
        // Medians of five draws from five: the extremes have a chance of 5.8 % on each side, so they are in it.
        let spread = difference_of_gains([&five, &ones], [&ones, &ones]);
        assert_eq!(spread, Estimate { median: 2.0, ci95: [0.0, 4.0] });
        assert!(difference_of_gains([&[], &ones], [&ones, &ones]).median.is_nan());
    }

    #[test]
    fn fairness_is_one_for_equal_shares_and_one_nth_for_one_winner() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain(&[9.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain(&[0.0]), 1.0);
    }
}
