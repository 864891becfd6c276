//! Means with intervals, and chi-square.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use std::fmt;

/// A mean and half of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Half of the interval.
    pub half: f64,
}

impl Mean {
    /// Of independent samples (Student's t).
    pub fn of(samples: &[f64]) -> Mean {
        let count = samples.len() as f64;
        let value = samples.iter().sum::<f64>() / count;
        if samples.len() < 2 {
            return Mean { value, half: 0.0 };
        }
        let variance = samples.iter().map(|sample| (sample - value).powi(2)).sum::<f64>() / (count - 1.0);
        let quantile = StudentsT::new(0.0, 1.0, count - 1.0).map_or(f64::NAN, |student| student.inverse_cdf(0.975));
        Mean { value, half: quantile * (variance / count).sqrt() }
    }

    /// Whether two means are within `ratio` of each other, or closer than their joint 95 % interval.
    pub fn agrees(&self, reference: &Mean, ratio: f64) -> bool {
        let apart = (self.value - reference.value).abs();
        apart <= ratio * reference.value || apart <= self.half.hypot(reference.half)
    }
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(f, "{:.decimals$} ± {:.decimals$}", self.value, self.half)
    }
}

/// The middle of the samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The chance of counts as far from `expected` as these; cells with fewer than 5 expected are joined to the one before.
pub fn chi_square_chance(observed: &[f64], expected: &[f64]) -> f64 {
    let mut cells: Vec<(f64, f64)> = Vec::new();
    for (observed, expected) in observed.iter().zip(expected) {
        match cells.last_mut() {
            Some(last) if *expected < 5.0 || last.1 < 5.0 => {
                last.0 += observed;
                last.1 += expected;
            }
            _ => cells.push((*observed, *expected)),
        }
    }
    let distance: f64 = cells.iter().map(|(observed, expected)| (observed - expected).powi(2) / expected).sum();
    let freedom = (cells.len().max(2) - 1) as f64;
    ChiSquared::new(freedom).map_or(f64::NAN, |chi| 1.0 - chi.cdf(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let mean = Mean::of(&[9.0, 10.0, 11.0]);
        // t(0.975, 2) = 4.303, standard error 1/sqrt(3).
        assert!((mean.half - 4.303 / 3f64.sqrt()).abs() < 1e-3, "{mean}");
        assert!(mean.agrees(&Mean { value: 11.0, half: 0.0 }, 0.1));
        assert!(!Mean { value: 8.0, half: 1.0 }.agrees(&Mean { value: 10.0, half: 1.0 }, 0.1));
    }

    #[test]
    fn counts_off_by_ten_deviations_are_not_chance() {
        assert!(chi_square_chance(&[500.0, 500.0], &[500.0, 500.0]) > 0.99);
        assert!(chi_square_chance(&[660.0, 340.0], &[500.0, 500.0]) < 1e-9);
    }

    #[test]
    fn the_median_of_an_even_number_is_between() {
        assert_eq!((median(&[3.0, 1.0]), median(&[3.0, 1.0, 9.0])), (2.0, 3.0));
    }
}
