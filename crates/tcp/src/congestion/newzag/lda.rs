//! The estimate of the round trip and the rules that tell random loss from congestion by it.
//!
//! This file and `crates/linux/src/bpf/c/newzag.h` are twins: same names, same integers, same order. A
//! test runs both on a million random samples and compares every decision.

use airtcp_core::{Duration, choices, parameters};

choices! {
    /// Which losses count as random.
    pub enum Lda {
        /// One loss below mean - dev, two below mean - dev/2, three below the mean, more below mean + dev/2 (NZG-3).
        Original = "original",
        /// One to three losses below the mean, more below mean + dev/2 (NZG-4).
        Adjusted = "adjusted",
    }
}

choices! {
    /// The exponent Y of the weight 2^Y that a new sample has in the mean; 2^(Y+1) in the deviation.
    pub enum Weight {
        /// 1/256.
        Y8 = "-8",
        /// 1/128.
        Y7 = "-7",
        /// 1/64.
        Y6 = "-6",
        /// 1/32.
        Y5 = "-5",
        /// 1/16.
        Y4 = "-4",
        /// 1/8.
        Y3 = "-3",
        /// 1/4.
        Y2 = "-2",
    }
}

impl Weight {
    /// -Y, 2 to 8.
    pub fn shift(self) -> u32 {
        8 - self as u32
    }
}

choices! {
    /// What the deviation of a sample is measured from.
    pub enum DeviationFrom {
        /// The mean that the sample is part of, as the formulas are printed.
        NewMean = "new-mean",
        /// The mean before the sample.
        OldMean = "old-mean",
    }
}

parameters! {
    /// Parameters of TCP NewZag and of ZigZag.
    pub struct Settings {
        /// Which losses count as random.
        pub lda: Lda = Lda::Adjusted, "NZG-4; the first version is NZG-3";
        /// Exponent Y of the weight 2^Y of a new sample.
        pub y: Weight = Weight::Y4, "NZG-2";
        /// Mean from which the deviation of a sample is measured.
        pub deviation_from: DeviationFrom = DeviationFrom::NewMean, "NZG-2, NZG-U2";
        /// Tick of the clock that measures round trips, at least a microsecond. The paper has 1ms; Linux 2.4 had 10ms.
        pub clock: Duration = Duration::from_micros(1), "ours: with 1ms (NZG-10) the verdict depends on where a tick falls";
        /// After a timeout the window is two segments instead of the one that the stack leaves.
        pub timeout_leaves_two: bool = false, "NZG-8, NZG-X4";
        /// A timeout is judged like any loss instead of being congestion.
        pub judges_timeouts: bool = false, "NZG-U6";
        /// From this many segments waiting in queues, judged by the latest and the shortest round trip, a loss is congestion whatever the rule says; never if 0, as in the paper.
        pub max_backlog: u32 = 4, "ours: do no harm; Veno's beta is 3";
    }
}

impl Settings {
    /// The tick of the clock, microseconds, at least 1.
    pub fn tick_us(&self) -> u64 {
        self.clock.as_micros().clamp(1, u64::from(u32::MAX))
    }
}

/// Fraction bits of mean and deviation: as many as the smallest weight needs.
pub const NEWZAG_SHIFT: u32 = 8;

/// Round trips seen so far, microseconds << [`NEWZAG_SHIFT`]; all zero before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewzagRtt {
    /// Moving average.
    pub mean: i64,
    /// Moving average of the absolute deviation: 0.8 standard deviations of a Gaussian, not one (NZG-X6).
    pub dev: i64,
    /// The latest sample.
    pub last: i64,
    /// The least sample.
    pub min: i64,
    /// There was a sample.
    pub known: bool,
}

/// What an interval of `rtt_us` that ends at `now_us` is on a clock of `tick_us` (NZG-10), microseconds: a difference
/// of two readings, so the same interval may count one tick more or less.
pub fn newzag_rtt_on_clock(now_us: u64, rtt_us: u32, tick_us: u64) -> u64 {
    let sent_us = now_us.saturating_sub(u64::from(rtt_us));
    (now_us / tick_us - sent_us / tick_us) * tick_us
}

/// NZG-2: one more sample, microseconds.
pub fn newzag_sample(rtt: &mut NewzagRtt, settings: &Settings, sample_us: u64) {
    let sample = (sample_us << NEWZAG_SHIFT) as i64;
    rtt.last = sample;
    // NZG-U3, as RFC 6298 begins.
    if !rtt.known {
        *rtt = NewzagRtt { mean: sample, dev: sample >> 1, last: sample, min: sample, known: true };
        return;
    }
    rtt.min = rtt.min.min(sample);
    let shift = settings.y.shift();
    let old_mean = rtt.mean;
    rtt.mean += (sample - rtt.mean) >> shift;
    let mean = if settings.deviation_from == DeviationFrom::OldMean { old_mean } else { rtt.mean };
    rtt.dev += ((sample - mean).abs() - rtt.dev) >> (shift - 1);
}

/// NZG-3, NZG-4: whether `n` lost segments, at least one, are lost at random. Before any sample they are congestion.
pub fn newzag_is_random(rtt: &NewzagRtt, lda: Lda, n: u32) -> bool {
    let bound = match (lda, n) {
        (Lda::Original, 1) => rtt.mean - rtt.dev,
        (Lda::Original, 2) => rtt.mean - (rtt.dev >> 1),
        (_, 1..=3) => rtt.mean,
        _ => rtt.mean + (rtt.dev >> 1),
    };
    rtt.known && rtt.last < bound
}

/// Largest window that the backlog is reckoned for: what Linux has at most.
const NEWZAG_MAX_WINDOW: u32 = 1 << 30;

/// Whether fewer than `max` segments of a window of `cwnd` wait in queues: where more do, losses are likely to be congestion,
/// and a sender that gives up less than others takes from them.
pub fn newzag_queue_is_short(rtt: &NewzagRtt, cwnd: u32, max: u32) -> bool {
    let last = (rtt.last >> NEWZAG_SHIFT) as u64;
    let waiting = ((rtt.last - rtt.min) >> NEWZAG_SHIFT) as u64;
    max == 0 || u64::from(cwnd.min(NEWZAG_MAX_WINDOW)) * waiting < u64::from(max.min(NEWZAG_MAX_WINDOW)) * last
}

/// NZG-6, NZG-U12: the slow start threshold, segments.
pub fn newzag_window(cwnd: u32, is_random: bool) -> u32 {
    let kept = if is_random { (u64::from(cwnd) * 4 / 5) as u32 } else { cwnd >> 1 };
    kept.max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(settings: &Settings, samples_us: &[u64]) -> NewzagRtt {
        let mut rtt = NewzagRtt::default();
        samples_us.iter().for_each(|sample| newzag_sample(&mut rtt, settings, *sample));
        rtt
    }

    #[test]
    fn nzg_2_mean_and_deviation_follow_the_printed_formulas_for_every_weight() {
        for (y, shift) in [
            (Weight::Y8, 8),
            (Weight::Y7, 7),
            (Weight::Y6, 6),
            (Weight::Y5, 5),
            (Weight::Y4, 4),
            (Weight::Y3, 3),
            (Weight::Y2, 2),
        ] {
            assert_eq!(y.shift(), shift);
            let settings = Settings { y, ..Settings::default() };
            // From 51.2 ms, 25.6 ms: 102.4 ms raises the mean by 51.2 ms / 2^shift, all of it whole numbers.
            let rtt = fed(&settings, &[51_200, 102_400]);
            let mean = 51_200 * 256 + ((51_200 * 256) >> shift);
            let far = 102_400 * 256 - mean;
            assert_eq!((rtt.mean, rtt.dev), (mean, 25_600 * 256 + ((far - 25_600 * 256) >> (shift - 1))), "{y:?}");
        }
    }

    #[test]
    fn nzg_2_the_first_sample_is_the_mean_and_half_of_it_the_deviation() {
        let rtt = fed(&Settings::default(), &[50_000]);
        assert_eq!((rtt.mean >> 8, rtt.dev >> 8), (50_000, 25_000));
    }

    #[test]
    fn nzg_2_the_deviation_is_measured_from_the_new_mean_unless_told() {
        let old = Settings { deviation_from: DeviationFrom::OldMean, ..Settings::default() };
        let (new, old) = (fed(&Settings::default(), &[64_000, 96_000]), fed(&old, &[64_000, 96_000]));
        assert_eq!(new.mean, old.mean);
        // |96 - 66| = 30 ms and |96 - 64| = 32 ms, against 32 ms so far, with a weight of 1/8.
        assert_eq!((new.dev >> 8, old.dev >> 8), (31_750, 32_000));
    }

    #[test]
    fn nzg_2_the_estimate_settles_on_a_steady_round_trip_from_either_side() {
        for y in [Weight::Y8, Weight::Y4, Weight::Y2] {
            for first in [1_000, 400_000] {
                let mut samples = alloc::vec![first];
                samples.extend([50_000; 20_000]);
                let rtt = fed(&Settings { y, ..Settings::default() }, &samples);
                // The remaining error is what the shift cuts off: less than 2^shift units of 1/256 us.
                assert!((rtt.mean - 50_000 * 256).abs() < 256 && rtt.dev < 2 * 256, "{y:?} {rtt:?}");
            }
        }
    }

    #[test]
    fn nzg_10_a_clock_of_one_or_ten_milliseconds_is_a_difference_of_two_readings() {
        // From 1.9 ms to 54.7 ms: 53 whole ticks of 1 ms lie between, 5 of 10 ms.
        assert_eq!(newzag_rtt_on_clock(54_700, 52_800, 1_000), 53_000);
        assert_eq!(newzag_rtt_on_clock(54_700, 52_800, 10_000), 50_000);
        assert_eq!(newzag_rtt_on_clock(60_100, 52_800, 10_000), 60_000);
        assert_eq!(newzag_rtt_on_clock(54_700, 52_800, 1), 52_800);
        // Longer than the clock runs: from its beginning.
        assert_eq!(newzag_rtt_on_clock(54_700, 60_000, 1_000), 54_000);
        assert_eq!(Settings { clock: Duration::ZERO, ..Settings::default() }.tick_us(), 1);
    }

    /// Mean 100 ms, deviation 20 ms, and a latest sample of `last_us`.
    fn at(last_us: i64) -> NewzagRtt {
        NewzagRtt { mean: 100_000 << 8, dev: 20_000 << 8, last: last_us << 8, min: 50_000 << 8, known: true }
    }

    #[test]
    fn spec_8_18_truth_table_of_both_rules_on_both_sides_of_each_bound() {
        let original = [(1, 80_000), (2, 90_000), (3, 100_000), (4, 110_000), (5, 110_000), (1_000, 110_000)];
        let adjusted = [(1, 100_000), (2, 100_000), (3, 100_000), (4, 110_000), (5, 110_000), (1_000, 110_000)];
        for (lda, bounds) in [(Lda::Original, original), (Lda::Adjusted, adjusted)] {
            for (n, bound) in bounds {
                assert!(newzag_is_random(&at(bound - 1), lda, n), "{lda:?} n = {n} below");
                assert!(!newzag_is_random(&at(bound), lda, n), "{lda:?} n = {n} at the bound");
                assert!(!newzag_is_random(&at(bound + 1), lda, n), "{lda:?} n = {n} above");
            }
        }
        assert!(!newzag_is_random(&NewzagRtt { known: false, ..at(1) }, Lda::Adjusted, 1));
    }

    #[test]
    fn nzg_3_the_original_rule_asks_more_of_few_losses() {
        let random = |last_us| [1, 2, 3, 4].map(|n| newzag_is_random(&at(last_us), Lda::Original, n));
        assert_eq!(random(75_000), [true, true, true, true]);
        assert_eq!(random(85_000), [false, true, true, true]);
        assert_eq!(random(95_000), [false, false, true, true]);
        assert_eq!(random(105_000), [false, false, false, true]);
        assert_eq!(random(115_000), [false; 4]);
    }

    #[test]
    fn nzg_4_the_adjusted_rule_compares_one_to_three_losses_with_the_mean() {
        let random = |last_us| [1, 2, 3, 4].map(|n| newzag_is_random(&at(last_us), Lda::Adjusted, n));
        assert_eq!(random(95_000), [true, true, true, true]);
        assert_eq!(random(105_000), [false, false, false, true]);
        assert_eq!(random(115_000), [false; 4]);
    }

    #[test]
    fn a_queue_is_short_while_fewer_segments_wait_than_may() {
        // 50 of 100 ms are spent in queues, so half of the window is there.
        for (cwnd, max, is_short) in
            [(7, 4, true), (8, 4, false), (9, 4, false), (9, 5, true), (u32::MAX, 0, true), (u32::MAX, u32::MAX, true)]
        {
            assert_eq!(newzag_queue_is_short(&at(100_000), cwnd, max), is_short, "{cwnd} {max}");
        }
        assert!(newzag_queue_is_short(&at(50_000), u32::MAX, 1), "the shortest round trip waits nowhere");
        assert!(!newzag_queue_is_short(&at(i64::from(u32::MAX)), u32::MAX, 4));
    }

    #[test]
    fn nzg_6_random_loss_keeps_four_fifths_congestion_half_and_both_two_segments() {
        for (cwnd, random, congestion) in
            [(69, 55, 34), (10, 8, 5), (3, 2, 2), (2, 2, 2), (1, 2, 2), (u32::MAX, u32::MAX / 5 * 4, u32::MAX / 2)]
        {
            assert_eq!((newzag_window(cwnd, true), newzag_window(cwnd, false)), (random, congestion), "{cwnd}");
        }
    }
}
