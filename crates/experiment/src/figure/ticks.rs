//! Where an axis is marked.

/// Numbers an axis is marked with, and its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// Left or lower end.
    pub low: f64,
    /// Right or upper end.
    pub high: f64,
    /// Numbers with a mark and their text, ascending.
    pub marks: Vec<(f64, String)>,
}

/// About `count` round numbers over `low` to `high`, ends rounded outwards to the next of them, at least nearly.
pub fn linear(low: f64, high: f64, count: usize) -> Ticks {
    let high = if high > low { high } else { low + low.abs().max(1.0) };
    let rough = (high - low) / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        power * [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * power >= rough * 0.999).unwrap_or(10.0);
    // What is less than a twentieth of a step beyond a mark does not get another step: 100.1 % ends at 100.
    let (first, last) = ((low / step + 0.05).floor(), (high / step - 0.05).ceil().max(1.0));
    let decimals = decimals_of(step);
    let mark = |index: i64| {
        let number = (first + index as f64) * step;
        (number, format!("{number:.decimals$}"))
    };
    Ticks { low: first * step, high: last * step, marks: (0..=(last - first) as i64).map(mark).collect() }
}

/// Decimals that tell multiples of `step` apart.
fn decimals_of(step: f64) -> usize {
    (0..12)
        .find(|decimals| {
            let scaled = step * 10f64.powi(*decimals);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        })
        .map_or(12, |decimals| decimals as usize)
}

/// Powers of ten from `low` to `high`, both above zero; with 2 and 5 times them where that gives few marks.
pub fn logarithmic(low: f64, high: f64) -> Ticks {
    let high = if high > low { high } else { low * 10.0 };
    let between = |factors: &[f64]| {
        let decades = (low.log10().floor() as i32 - 1)..=(high.log10().ceil() as i32 + 1);
        let all = decades.flat_map(|decade| factors.iter().map(move |factor| (decade, factor * 10f64.powi(decade))));
        // Slack for the rounding of powers.
        all.filter(|(_, number)| *number >= low * (1.0 - 1e-9) && *number <= high * (1.0 + 1e-9)).collect::<Vec<_>>()
    };
    let decades = between(&[1.0]);
    let numbers = if decades.len() < 3 { between(&[1.0, 2.0, 5.0]) } else { decades };
    let text = |(decade, number): (i32, f64)| (number, format!("{number:.*}", usize::try_from(-decade).unwrap_or(0)));
    Ticks { low, high, marks: numbers.into_iter().map(text).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: &Ticks) -> Vec<&str> {
        ticks.marks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn linear_marks_are_round_and_enclose_the_data() {
        assert_eq!(texts(&linear(0.0, 96.4, 5)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(texts(&linear(0.0, 1.0, 5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&linear(5.0, 25.0, 5)), ["5", "10", "15", "20", "25"]);
        assert_eq!(linear(0.0, 0.032, 5).high, 0.04);
        assert_eq!(linear(0.0, 100.1, 5).high, 100.0, "a hair above a mark");
    }

    #[test]
    fn a_range_of_one_number_still_has_two_ends() {
        let ticks = linear(3.0, 3.0, 5);
        assert!(ticks.low <= 3.0 && ticks.high > 3.0);
        assert!(linear(0.0, 0.0, 5).high > 0.0);
        assert!(logarithmic(2.0, 2.0).high > 2.0);
    }

    #[test]
    fn logarithmic_marks_are_decades_or_finer_where_there_are_few() {
        assert_eq!(texts(&logarithmic(0.01, 20.0)), ["0.01", "0.1", "1", "10"]);
        assert_eq!(texts(&logarithmic(1.0, 20.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(logarithmic(0.01, 20.0).high, 20.0, "the ends are the data's");
    }
}
