//! Is a series flat? The median of its last part is compared with that of an earlier one, so neither a single peak nor the time
//! in which tables fill counts.

/// How much more than before is still flat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A share of what it was, and something besides.
    Growth { share: f64, besides: f64 },
    /// Not at all.
    None,
}

/// Resident memory, in KiB.
pub const MEMORY: Bound = Bound::Growth { share: 0.05, besides: 256.0 };
/// Times, in milliseconds: a quarter more.
pub const LATENCY: Bound = Bound::Growth { share: 0.25, besides: 0.0 };

/// What the comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    pub before: f64,
    pub after: f64,
    pub is_flat: bool,
}

/// Compares samples of two parts of a run; `None` if there are none.
pub fn compare(before: &[f64], after: &[f64], bound: Bound) -> Option<Trend> {
    let (before, after) = (median(before)?, median(after)?);
    let most = match bound {
        Bound::Growth { share, besides } => before * (1.0 + share) + besides,
        Bound::None => before,
    };
    Some(Trend { before, after, is_flat: after <= most })
}

pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour of samples, 5 s apart, as second and last quarter.
    fn quarters(series: impl Fn(usize) -> f64) -> [Vec<f64>; 2] {
        [180..360, 540..720].map(|part| part.map(&series).collect())
    }

    fn is_flat(bound: Bound, series: impl Fn(usize) -> f64) -> bool {
        let [before, after] = quarters(series);
        compare(&before, &after, bound).expect("samples").is_flat
    }

    #[test]
    fn what_only_varies_is_flat() {
        let noise = |n: usize| (n * 7919 % 13) as f64;
        assert!(is_flat(MEMORY, |n| 9_000.0 + 20.0 * noise(n)));
        assert!(is_flat(Bound::None, |n| if n % 50 == 0 { 40.0 } else { 32.0 }));
        assert!(is_flat(LATENCY, |n| if n % 12 == 0 { 900.0 } else { 25.0 + noise(n) / 10.0 }));
    }

    #[test]
    fn what_fills_at_first_is_flat() {
        assert!(is_flat(MEMORY, |n| 5_000.0 + 4_000.0 * (n as f64 / 100.0).min(1.0)));
    }

    #[test]
    fn two_bytes_of_each_of_a_million_flows_are_found() {
        let flows = |n: usize| n as f64 * 5.0 * 278.0;
        assert!(!is_flat(MEMORY, |n| 8_000.0 + flows(n) * 2.0 / 1024.0));
        assert!(is_flat(MEMORY, |n| 8_000.0 + flows(n) * 0.5 / 1024.0), "the bound is what it says");
    }

    #[test]
    fn a_descriptor_in_half_an_hour_is_found() {
        assert!(!is_flat(Bound::None, |n| if n < 400 { 32.0 } else { 33.0 }));
    }

    #[test]
    fn times_that_grow_by_a_third_are_found() {
        assert!(!is_flat(LATENCY, |n| 25.0 * (1.0 + n as f64 / 1_000.0)));
    }

    #[test]
    fn a_series_without_samples_says_nothing() {
        assert_eq!(compare(&[], &[1.0], MEMORY), None);
    }
}
