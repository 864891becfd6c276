//! When requests begin, and how large each is.

use super::super::WorkloadSpec;
use airtcp_core::{Duration, Rng};
use airtcp_sim::{Arrival, Workload};

impl WorkloadSpec {
    /// The mean time between two requests that gives the load.
    pub fn mean_gap(&self) -> Duration {
        let bits = self.sizes.mean_millionths() * 8;
        let nanos = bits * 1_000 / u128::from(self.load.bps().max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).max(1))
    }

    /// The requests of the run with `seed`, in the order in which they begin.
    pub fn arrivals(&self, seed: u64, duration: Duration) -> Vec<Arrival> {
        let mut times = Rng::derive(seed, &format!("workloads.{}/times", self.name));
        let mut sizes = Rng::derive(seed, &format!("workloads.{}/sizes", self.name));
        let (mean, mut at) = (self.mean_gap(), self.start);
        let mut arrivals = Vec::new();
        while arrivals.len() < Workload::MOST_REQUESTS {
            at = at.saturating_add(exponential(times.next_u64(), mean));
            if at >= duration {
                break;
            }
            arrivals.push(Arrival { at, size: self.sizes.draw(&mut sizes) });
        }
        arrivals
    }
}

/// ln 2 in parts of 2^64.
const LN_2: u128 = 0xb172_17f7_d1cf_79ab;

/// An exponential time with this mean, of 64 uniform bits: mean · −ln(uniform), in whole numbers so that it is the same
/// on every machine.
fn exponential(uniform: u64, mean: Duration) -> Duration {
    // −log2 in parts of 2^32: the leading zeros, and then a bit for each squaring of what is between 1 and 2.
    let uniform = uniform.max(1);
    let zeros = uniform.leading_zeros();
    let mut mantissa = uniform << zeros;
    let mut log = 0u64;
    for _ in 0..32 {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let is_two = square >> 64 != 0;
        log = log << 1 | u64::from(is_two);
        mantissa = (if is_two { square >> 1 } else { square }) as u64;
    }
    let log = ((u64::from(zeros) + 1) << 32) - log;
    let ln = (u128::from(log) * LN_2) >> 64;
    Duration::from_nanos(((ln * u128::from(mean.as_nanos())) >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithm_in_whole_numbers_is_the_logarithm() {
        let mean = Duration::from_secs(1);
        for uniform in [1, 12_345, 1 << 40, u64::MAX / 3, u64::MAX / 2, u64::MAX] {
            let expected = -(uniform as f64 / 2f64.powi(64)).ln() * 1e9;
            let found = exponential(uniform, mean).as_nanos() as f64;
            assert!((found - expected).abs() < 2.0, "{uniform}: {found} for {expected}");
        }
    }

    #[test]
    fn times_between_requests_are_exponential() {
        let (mut rng, mean) = (Rng::derive(1, "times"), Duration::from_millis(2));
        let mut gaps: Vec<u64> = (0..200_000).map(|_| exponential(rng.next_u64(), mean).as_nanos()).collect();
        let total: u64 = gaps.iter().sum();
        assert!((total / 200_000).abs_diff(2_000_000) < 20_000);
        gaps.sort_unstable();
        // The median is ln 2 means, and one of e^3 is longer than three.
        assert!(gaps[100_000].abs_diff(1_386_294) < 15_000);
        assert!(gaps.iter().filter(|gap| **gap > 6_000_000).count().abs_diff(9_957) < 400);
    }
}
