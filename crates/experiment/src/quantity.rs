//! Labels of varied values as numbers in base units: `0.5%` is 0.005, `5ms` is 5,000,000 ns.

use airtcp_core::{ByteSize, Duration, Rate};

/// What a number measures, and so its base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A part of one.
    Share,
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// Bytes.
    Size,
    /// A plain number: a count, a factor.
    Number,
}

impl Dimension {
    /// What names of columns end with, as everywhere in files.
    pub fn suffix(self) -> &'static str {
        match self {
            Dimension::Share => "ratio",
            Dimension::Time => "ns",
            Dimension::Rate => "bps",
            Dimension::Size => "bytes",
            Dimension::Number => "number",
        }
    }
}

/// The quantity that a label stands for, in base units; `None` if it begins with no number or ends with no unit.
pub fn of_label(label: &str) -> Option<(Dimension, f64)> {
    let label = label.trim();
    if let Some(percent) = label.strip_suffix('%') {
        let percent = percent.trim();
        // As a decimal fraction, not divided: 3.162 / 100 is not the number nearest to 0.03162.
        let share = format!("{percent}e-2").parse().or_else(|_| percent.parse().map(|percent: f64| percent / 100.0));
        return Some((Dimension::Share, share.ok()?));
    }
    if let Ok(number) = label.parse() {
        return f64::is_finite(number).then_some((Dimension::Number, number));
    }
    let time = || Some((Dimension::Time, label.parse::<Duration>().ok()?.as_nanos()));
    let rate = || Some((Dimension::Rate, label.parse::<Rate>().ok()?.bps()));
    let size = || Some((Dimension::Size, label.parse::<ByteSize>().ok()?.0));
    let (dimension, number) = time().or_else(rate).or_else(size)?;
    Some((dimension, number as f64))
}

/// The labels of one key as numbers, `None` for words between them; nothing if there is no number, or if the numbers
/// measure different things. A bare zero measures anything.
pub fn of_labels(labels: &[String]) -> Option<(Dimension, Vec<Option<f64>>)> {
    let quantities: Vec<Option<(Dimension, f64)>> = labels.iter().map(|label| of_label(label)).collect();
    let is_bare_zero = |(dimension, number): &(Dimension, f64)| *dimension == Dimension::Number && *number == 0.0;
    let mut dimensions =
        quantities.iter().flatten().filter(|quantity| !is_bare_zero(quantity)).map(|(known, _)| *known);
    let first = match dimensions.next() {
        Some(first) => first,
        None => quantities.iter().flatten().next()?.0,
    };
    let is_one_kind = dimensions.all(|dimension| dimension == first);
    is_one_kind.then(|| (first, quantities.into_iter().map(|quantity| Some(quantity?.1)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Option<(Dimension, Vec<Option<f64>>)> {
        of_labels(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn labels_are_numbers_in_base_units() {
        let read = ["3.162%", "0.5ms", "10Mbit", "10 Mbit/s", "75kB", "25", "1e-5", "1e-3%"].map(of_label);
        let expected = [
            (Dimension::Share, 0.03162),
            (Dimension::Time, 500_000.0),
            (Dimension::Rate, 1e7),
            (Dimension::Rate, 1e7),
            (Dimension::Size, 75_000.0),
            (Dimension::Number, 25.0),
            (Dimension::Number, 1e-5),
            (Dimension::Share, 1e-5),
        ];
        assert_eq!(read, expected.map(Some));
        for word in ["cubic", "50packets", "", "%", "NaN", "inf", "gilbert-elliott mean=2%"] {
            assert_eq!(of_label(word), None, "{word}");
        }
    }

    #[test]
    fn words_between_numbers_have_no_number_and_unlike_numbers_are_none() {
        assert_eq!(labels(&["0", "5ms", "never"]), Some((Dimension::Time, vec![Some(0.0), Some(5e6), None])));
        assert_eq!(labels(&["0"]), Some((Dimension::Number, vec![Some(0.0)])));
        for unlike in [&["5ms", "5kB"][..], &["5%", "5"], &["cubic", "reno"], &[]] {
            assert_eq!(labels(unlike), None, "{unlike:?}");
        }
    }
}
