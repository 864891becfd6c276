//! The decision rules, as functions of what the runs gave.
//!
//! Every rule compares run by run, each with the run of the same seed, takes the median of these comparisons and its
//! 95 % interval ([`estimate`]); runs of two worlds have nothing in common, and their medians are compared. It holds only if
//! the *whole interval* is on the right side of the threshold. A rule that the median alone would pass does not hold, unless
//! its check says `by_median`: few live runs, each a minute long.

use crate::results::{Estimate, difference_of_gains, estimate, of_medians};

/// What a rule found at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The number that decided, with its interval.
    pub estimate: Estimate,
    /// Whether the rule holds.
    pub holds: bool,
    /// How far the deciding end of the interval is on the right side of the threshold; negative on the wrong one.
    pub slack: f64,
}

/// Bounds of a number; at least one is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Not below.
    pub at_least: Option<f64>,
    /// Not above.
    pub at_most: Option<f64>,
    /// The median alone decides, and the interval is only shown.
    pub by_median: bool,
}

impl Bounds {
    /// Holds if both ends of the interval (or the median) are within the bounds, which belong to them.
    pub fn finding(self, estimate: Estimate) -> Finding {
        let [low, high] = if self.by_median { [estimate.median; 2] } else { estimate.ci95 };
        let above = self.at_least.map_or(f64::INFINITY, |bound| low - bound);
        let below = self.at_most.map_or(f64::INFINITY, |bound| bound - high);
        let slack = if above < below { above } else { below };
        match estimate.median.is_finite() {
            true => Finding { estimate, holds: above >= 0.0 && below >= 0.0, slack },
            // Nothing was measured, or something was divided by nothing.
            false => Finding { estimate, holds: false, slack: f64::NEG_INFINITY },
        }
    }
}

/// Which way a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Up.
    Increasing,
    /// Down.
    Decreasing,
}

/// Median and interval of `a` over `b`, run by run; not a number for no runs, nor where a run of `b` is zero: whatever
/// is more than nothing says nothing.
pub fn ratio_of(a: &[f64], b: &[f64]) -> Estimate {
    of(&quotients(a, b))
}

fn quotients(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

/// What `first` gains, `of` over `over` less one, and what `second` gains differ by at most `apart`; each is the median of
/// one line over that of the other, as runs of two worlds have nothing in common by which they could be paired.
pub fn agreement(first: [&[f64]; 2], second: [&[f64]; 2], apart: f64) -> Finding {
    let bounds = Bounds { at_least: Some(-apart), at_most: Some(apart), by_median: true };
    bounds.finding(difference_of_gains(first, second))
}

/// `of` over `over` is within the bounds. Where the median decides, a run that has something over nothing counts as more than any
/// number; others still have a median.
pub fn ratio(of: &[f64], over: &[f64], bounds: Bounds) -> Finding {
    let quotients = quotients(of, over);
    let has_median = bounds.by_median && !quotients.iter().any(|quotient| quotient.is_nan());
    bounds.finding(estimate(&quotients).filter(|_| has_median).unwrap_or_else(|| ratio_of(of, over)))
}

/// The median of `of` over that of `over` is within the bounds; their runs cannot be paired.
pub fn ratio_of_medians(of: &[f64], over: &[f64], bounds: Bounds) -> Finding {
    bounds.finding(of_medians([of, over], |[of, over]| of / over))
}

/// `a` less `b` is within the bounds.
pub fn difference(a: &[f64], b: &[f64], bounds: Bounds) -> Finding {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    bounds.finding(of(&differences))
}

/// The median of `a` less that of `b` is within the bounds; their runs cannot be paired.
pub fn difference_of_medians(a: &[f64], b: &[f64], bounds: Bounds) -> Finding {
    bounds.finding(of_medians([a, b], |[a, b]| a - b))
}

/// The measure itself is within the bounds.
pub fn within(values: &[f64], bounds: Bounds) -> Finding {
    bounds.finding(of(values))
}

/// Each line is more than `by` times the next one; the closest pair decides.
pub fn ordering(lines: &[Vec<f64>], by: f64) -> Finding {
    let pairs = lines.windows(2).map(|pair| more_than(ratio_of(&pair[0], &pair[1]), by));
    least(pairs)
}

/// Along the line no step goes the wrong way by more than the share `tolerance`, and its end is beyond its beginning.
pub fn monotone(line: &[Vec<f64>], direction: Direction, tolerance: f64) -> Finding {
    let growth = |before: &[f64], after: &[f64]| match direction {
        Direction::Increasing => ratio_of(after, before),
        Direction::Decreasing => ratio_of(before, after),
    };
    let (first, last) = (&line[0], &line[line.len() - 1]);
    let overall = more_than(growth(first, last), 1.0);
    let bounds = Bounds { at_least: Some(1.0 - tolerance), at_most: None, by_median: false };
    let steps = line.windows(2).map(|step| bounds.finding(growth(&step[0], &step[1])));
    // A step may be as close to its bound as it likes: the whole way is what the claim is about.
    match least(steps) {
        worst if !worst.holds => worst,
        _ => overall,
    }
}

/// The first step gains, and each further step gains less than the one before it; gains are ratios.
pub fn diminishing(line: &[Vec<f64>]) -> Finding {
    let gains: Vec<Vec<f64>> = line
        .windows(2)
        .map(|step| step[1].iter().zip(&step[0]).map(|(after, before)| after / before).collect())
        .collect();
    let gain = more_than(of(&gains[0]), 1.0);
    if !gain.holds {
        return gain;
    }
    ordering(&gains, 1.0)
}

/// Two lines over `x`, in rising order, cross between `from` and `to`: at every point up to `from` line `a` is surely
/// above (`starts_above`) or surely below `b`, and at every point from `to` on surely the other way round.
///
/// The number is where the medians cross, its interval the closest points on which both sides are sure. The slack is
/// the least distance of a ratio's interval from 1.
pub fn crossover(x: &[f64], a: &[Vec<f64>], b: &[Vec<f64>], starts_above: bool, from: f64, to: f64) -> Finding {
    let ratios: Vec<Estimate> =
        a.iter().zip(b).map(|(a, b)| if starts_above { ratio_of(a, b) } else { ratio_of(b, a) }).collect();
    let sure = |distance: f64| if distance.is_nan() { f64::NEG_INFINITY } else { distance };
    let before = |ratio: &Estimate| sure(ratio.ci95[0] - 1.0);
    let after = |ratio: &Estimate| sure(1.0 - ratio.ci95[1]);
    let mut slack = f64::INFINITY;
    let (mut has_before, mut has_after) = (false, false);
    for (x, ratio) in x.iter().zip(&ratios) {
        if *x <= from {
            has_before = true;
            slack = slack.min(before(ratio));
        } else if *x >= to {
            has_after = true;
            slack = slack.min(after(ratio));
        }
    }
    let last_before = x.iter().zip(&ratios).take_while(|(_, ratio)| before(ratio) > 0.0).last().map(|(x, _)| *x);
    let first_after = x.iter().zip(&ratios).rev().take_while(|(_, ratio)| after(ratio) > 0.0).last().map(|(x, _)| *x);
    let crossing = x.windows(2).zip(ratios.windows(2)).find_map(|(x, ratios)| {
        let [left, right] = [ratios[0].median - 1.0, ratios[1].median - 1.0];
        (left > 0.0 && right <= 0.0).then(|| x[0] + (x[1] - x[0]) * left / (left - right))
    });
    let ends = [last_before.unwrap_or(f64::NAN), first_after.unwrap_or(f64::NAN)];
    let estimate = Estimate { median: crossing.unwrap_or(f64::NAN), ci95: ends };
    Finding { estimate, holds: has_before && has_after && slack > 0.0, slack }
}

/// Ours over theirs: 1 inside a printed range, outside over its closer end.
pub fn beside(ours: f64, [low, high]: [f64; 2]) -> f64 {
    match ours {
        _ if ours < low => ours / low,
        _ if ours > high => ours / high,
        _ if ours.is_nan() => f64::NAN,
        _ => 1.0,
    }
}

/// A computed number is within the bounds.
pub fn analytic(value: f64, bounds: Bounds) -> Finding {
    bounds.finding(Estimate { median: value, ci95: [value, value] })
}

fn of(values: &[f64]) -> Estimate {
    let all_finite = values.iter().all(|value| value.is_finite());
    estimate(values).filter(|_| all_finite).unwrap_or(Estimate { median: f64::NAN, ci95: [f64::NAN; 2] })
}

fn more_than(estimate: Estimate, bound: f64) -> Finding {
    let slack = estimate.ci95[0] - bound;
    Finding { estimate, holds: slack > 0.0, slack: if slack.is_nan() { f64::NEG_INFINITY } else { slack } }
}

/// The finding with the least slack; there is at least one.
fn least(findings: impl Iterator<Item = Finding>) -> Finding {
    findings.reduce(|least, other| if other.slack < least.slack { other } else { least }).expect("two lines or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six runs, the fewest that have a 95 % interval: it reaches from the least to the greatest.
    fn runs(least: f64, greatest: f64) -> Vec<f64> {
        let middle = f64::midpoint(least, greatest);
        vec![least, middle, middle, middle, middle, greatest]
    }

    fn flat(value: f64) -> Vec<f64> {
        vec![value; 6]
    }

    fn at_least(bound: f64) -> Bounds {
        Bounds { at_least: Some(bound), at_most: None, by_median: false }
    }

    #[test]
    fn a_ratio_holds_if_its_whole_interval_reaches_the_threshold() {
        assert!(ratio(&runs(1.5, 2.0), &flat(1.0), at_least(1.5)).holds);
        assert!(!ratio(&runs(1.49, 2.0), &flat(1.0), at_least(1.5)).holds, "the median alone would pass");
    }

    #[test]
    fn a_ratio_at_most_looks_at_the_upper_end() {
        let at_most = Bounds { at_least: None, at_most: Some(0.99), by_median: false };
        assert!(ratio(&runs(0.5, 0.99), &flat(1.0), at_most).holds);
        assert!(!ratio(&runs(0.5, 0.991), &flat(1.0), at_most).holds);
    }

    #[test]
    fn a_difference_compares_runs_of_the_same_seed_in_the_unit_of_the_measure() {
        let plain = [1.0, 5.0, 2.0, 8.0, 3.0, 9.0];
        let at_most = |bound| Bounds { at_least: None, at_most: Some(bound), by_median: false };
        let later = plain.map(|value| value + 4.0);
        assert_eq!(difference(&later, &plain, at_most(4.0)).estimate.ci95, [4.0, 4.0]);
        assert!(difference(&later, &plain, at_most(4.0)).holds && !difference(&later, &plain, at_most(3.9)).holds);
        assert!(difference(&plain, &later, at_most(-4.0)).holds, "the other way round it is negative");
    }

    #[test]
    fn a_ratio_compares_runs_of_the_same_seed() {
        let plain = [1.0, 5.0, 2.0, 8.0, 3.0, 9.0];
        let doubled = plain.map(|value| 2.0 * value);
        let finding = ratio(&doubled, &plain, at_least(2.0));
        assert_eq!((finding.holds, finding.estimate.ci95), (true, [2.0, 2.0]), "spread between seeds cancels out");
    }

    #[test]
    fn runs_of_two_worlds_are_compared_by_their_medians_in_any_order_and_number() {
        let (few, many) = ([2.0, 9.0, 4.0], [1.0, 3.0, 2.0, 2.5, 1.5, 2.0, 2.0]);
        let bounds = Bounds { by_median: true, ..at_least(2.0) };
        assert!(ratio_of_medians(&few, &many, bounds).holds);
        assert_eq!(ratio(&few, &many, bounds).estimate.ci95, [2.0, 3.0], "run by run, with three of the many");
        assert!(difference_of_medians(&few, &many, bounds).holds);
        assert!(!difference_of_medians(&few, &many, at_least(2.0)).holds, "the interval is wide");
        assert!(!ratio_of_medians(&few, &[], bounds).holds);
    }

    #[test]
    fn by_median_only_the_middle_counts() {
        let bounds = Bounds { by_median: true, ..at_least(1.5) };
        assert!(ratio(&runs(1.0, 2.0), &flat(1.0), bounds).holds);
        assert!(!ratio(&runs(0.99, 2.0), &flat(1.0), bounds).holds);
        assert!(!ratio(&[], &[], bounds).holds);
    }

    #[test]
    fn gains_agree_if_their_medians_are_close_either_way() {
        let plain = flat(100.0);
        for (gained, holds) in [(129.0, true), (111.0, true), (131.0, false), (109.0, false)] {
            assert_eq!(agreement([&flat(gained), &plain], [&flat(120.0), &plain], 0.1).holds, holds, "{gained}");
        }
        assert!(!agreement([&[], &plain], [&flat(120.0), &plain], 0.1).holds);
    }

    #[test]
    fn a_value_is_within_if_both_ends_are() {
        let bounds = Bounds { at_least: Some(0.7), at_most: Some(1.0), by_median: false };
        assert!(within(&runs(0.7, 1.0), bounds).holds);
        assert!(!within(&runs(0.69, 0.9), bounds).holds);
        assert!(!within(&runs(0.8, 1.01), bounds).holds);
    }

    #[test]
    fn an_ordering_holds_if_every_line_is_surely_above_the_next() {
        assert!(ordering(&[flat(3.0), flat(2.0), flat(1.0)], 1.0).holds);
        assert!(!ordering(&[flat(3.0), flat(1.0), flat(1.0)], 1.0).holds, "equal is not above");
        assert!(!ordering(&[flat(3.0), runs(0.9, 2.0), flat(1.0)], 1.0).holds);
    }

    #[test]
    fn an_ordering_by_a_factor_needs_more_than_that_factor() {
        assert!(ordering(&[flat(1.21), flat(1.0)], 1.2).holds);
        assert!(!ordering(&[flat(1.2), flat(1.0)], 1.2).holds);
    }

    #[test]
    fn a_line_is_monotone_if_no_step_turns_back_beyond_the_tolerance() {
        let line = |dip: f64| vec![flat(1.0), flat(2.0), flat(2.0 * dip), flat(3.0)];
        assert!(monotone(&line(0.98), Direction::Increasing, 0.02).holds);
        assert!(!monotone(&line(0.97), Direction::Increasing, 0.02).holds);
    }

    #[test]
    fn a_flat_line_is_not_monotone() {
        let flat_line = [flat(1.0), flat(1.0)];
        assert!(!monotone(&flat_line, Direction::Increasing, 0.1).holds);
        assert!(!monotone(&flat_line, Direction::Decreasing, 0.1).holds);
    }

    #[test]
    fn a_falling_line_is_decreasing_and_not_increasing() {
        let falling = [flat(3.0), flat(2.0), flat(1.0)];
        assert!(monotone(&falling, Direction::Decreasing, 0.0).holds);
        assert!(!monotone(&falling, Direction::Increasing, 0.0).holds);
    }

    #[test]
    fn a_gain_diminishes_if_the_first_step_gains_and_the_next_gains_less() {
        assert!(diminishing(&[flat(1.0), flat(1.5), flat(1.6)]).holds);
        assert!(!diminishing(&[flat(1.0), flat(1.5), flat(2.25)]).holds, "the same gain again");
        assert!(!diminishing(&[flat(1.0), flat(1.0), flat(0.9)]).holds, "no gain to begin with");
    }

    #[test]
    fn lines_cross_if_each_is_surely_above_on_its_side() {
        let x = [1.0, 2.0, 3.0, 4.0];
        let a = [flat(2.0), flat(1.5), flat(0.5), flat(0.4)];
        let ones = [flat(1.0), flat(1.0), flat(1.0), flat(1.0)];
        let finding = crossover(&x, &a, &ones, true, 2.0, 3.0);
        assert_eq!((finding.holds, finding.estimate.median, finding.estimate.ci95), (true, 2.5, [2.0, 3.0]));
        assert!(!crossover(&x, &a, &ones, false, 2.0, 3.0).holds, "it starts above, not below");
        assert!(crossover(&x, &ones, &a, false, 2.0, 3.0).holds);
        assert!(!crossover(&x, &a, &ones, true, 3.0, 4.0).holds, "at 3 it is below already");
        assert!(!crossover(&x, &ones, &ones, true, 2.0, 3.0).holds, "equal lines do not cross");
    }

    #[test]
    fn lines_do_not_cross_where_a_side_is_unsure_or_empty() {
        let x = [1.0, 2.0];
        let ones = [flat(1.0), flat(1.0)];
        assert!(crossover(&x, &[runs(1.1, 2.0), flat(0.5)], &ones, true, 1.0, 2.0).holds);
        assert!(!crossover(&x, &[runs(0.9, 2.0), flat(0.5)], &ones, true, 1.0, 2.0).holds);
        assert!(!crossover(&x, &[flat(2.0), flat(0.5)], &ones, true, 1.0, 3.0).holds, "nothing beyond 3");
    }

    #[test]
    fn a_computed_value_may_be_exactly_at_its_bounds() {
        let bounds = Bounds { at_least: Some(22.5), at_most: Some(25.0), by_median: false };
        assert!(analytic(25.0, bounds).holds && analytic(22.5, bounds).holds);
        assert!(!analytic(25.01, bounds).holds && !analytic(22.49, bounds).holds);
    }

    #[test]
    fn whatever_is_divided_by_zero_does_not_hold() {
        let zero = [0.0; 6];
        let some = [1.0; 6];
        assert!(!ratio(&some, &zero, at_least(2.0)).holds, "more than nothing");
        assert!(!ratio(&zero, &zero, at_least(1.0)).holds, "nothing over nothing");
        let once = [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(!ratio(&[3.0; 10], &once, at_least(2.0)).holds, "in one run of ten");
        let by_median = Bounds { by_median: true, ..at_least(2.0) };
        assert!(ratio(&[3.0; 10], &once, by_median).holds, "the other nine have a median");
        assert!(!ratio(&[3.0; 10], &once, Bounds { at_least: None, at_most: Some(2.9), ..by_median }).holds);
        assert!(!ratio(&some, &zero, by_median).holds && !ratio(&zero, &zero, by_median).holds);
        assert!(!ratio(&[0.0; 10], &once, by_median).holds, "nothing over nothing in one");
        assert!(!within(&[f64::INFINITY; 6], at_least(1.0)).holds);
        let lines = [some.to_vec(), zero.to_vec(), zero.to_vec()];
        assert!(!ordering(&lines, 1.0).holds && !diminishing(&lines).holds);
        assert!(!monotone(&[zero.to_vec(), some.to_vec(), some.to_vec()], Direction::Increasing, 0.1).holds);
        assert!(ratio(&zero, &some, Bounds { at_least: None, at_most: Some(0.5), by_median: false }).holds);
    }

    #[test]
    fn ours_is_held_against_the_closer_end_of_what_is_printed() {
        assert_eq!([1.0, 1.05, 2.0, 1.07].map(|ours| beside(ours, [1.04, 1.07])), [1.0 / 1.04, 1.0, 2.0 / 1.07, 1.0]);
        assert_eq!(beside(3.0, [4.0, 4.0]), 0.75);
    }

    #[test]
    fn no_runs_decide_nothing() {
        assert!(!ratio(&[], &[], at_least(0.0)).holds);
        assert!(!within(&[], at_least(0.0)).holds);
    }
}
