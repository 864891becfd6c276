//! The axis to the right: numbers where every value of the varied key is one, else categories.

use crate::scenario::Scenario;
use crate::table::title_of;

/// How the axis to the right is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// One place for each value, evenly spaced: at least one value is no number.
    Categories,
    /// Equal differences have equal distances.
    Linear,
    /// Equal ratios have equal distances: the file says `log`, or positive values span more than two decades.
    Logarithmic,
}

/// The axis to the right.
#[derive(Clone, Debug, PartialEq)]
pub struct Horizontal {
    /// The varied key.
    pub name: String,
    /// The key as people say it.
    pub title: String,
    /// Unit of the numbers, as files write it; empty for plain numbers and categories.
    pub unit: String,
    /// How it is divided.
    pub scale: Scale,
    /// Every value in the order of the scenario: its label, and its number in `unit`.
    pub steps: Vec<(String, Option<f64>)>,
}

/// Units that files write, what they measure, and how many of the base unit they are.
const UNITS: [(&str, Dimension, f64); 18] = [
    ("%", Dimension::Share, 1.0),
    ("", Dimension::Number, 1.0),
    ("ns", Dimension::Time, 1.0),
    ("us", Dimension::Time, 1e3),
    ("µs", Dimension::Time, 1e3),
    ("ms", Dimension::Time, 1e6),
    ("s", Dimension::Time, 1e9),
    ("min", Dimension::Time, 6e10),
    ("bit", Dimension::Rate, 1.0),
    ("kbit", Dimension::Rate, 1e3),
    ("Mbit", Dimension::Rate, 1e6),
    ("Gbit", Dimension::Rate, 1e9),
    ("B", Dimension::Size, 1.0),
    ("kB", Dimension::Size, 1e3),
    ("KiB", Dimension::Size, 1024.0),
    ("MB", Dimension::Size, 1e6),
    ("MiB", Dimension::Size, 1_048_576.0),
    ("GB", Dimension::Size, 1e9),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Share,
    Number,
    Time,
    Rate,
    Size,
}

/// A wider range than this many times is drawn logarithmically.
pub(super) const TWO_DECADES: f64 = 100.0;

impl Horizontal {
    /// The axis of the varied key `name`. A key that was fixed with `--set` has its one value.
    pub fn of(scenario: &Scenario, name: &str) -> Horizontal {
        let varied = scenario.axes.iter().find(|(axis, _)| axis == name).map(|(_, labels)| labels.clone());
        let labels = varied.unwrap_or_else(|| vec![scenario.text_at(name).unwrap_or_default()]);
        let (unit, numbers) = numbers(&labels).unwrap_or_else(|| (String::new(), vec![None; labels.len()]));
        let scale = scale(&numbers, scenario.logarithmic.iter().any(|axis| axis == name));
        let steps = labels.into_iter().zip(numbers).collect();
        Horizontal { name: name.to_owned(), title: title_of(name), unit, scale, steps }
    }
}

impl Horizontal {
    /// `text` as a number in the unit of this axis; `None` if it is none, or the axis has no numbers.
    pub fn number(&self, text: &str) -> Option<f64> {
        let (number, unit) = quantity(text).filter(|_| self.scale != Scale::Categories)?;
        let own = UNITS.iter().position(|(name, ..)| *name == self.unit)?;
        in_unit((number, unit), own)
    }

    /// True if `number` lies between the least and the greatest step.
    pub fn reaches(&self, number: f64) -> bool {
        let numbers = || self.steps.iter().filter_map(|(_, number)| *number);
        numbers().any(|step| step <= number) && numbers().any(|step| step >= number)
    }
}

/// A quantity in the unit at `own`.
fn in_unit((number, unit): (f64, usize), own: usize) -> Option<f64> {
    let (name, dimension, factor) = UNITS[own];
    // What is written in the axis's own unit is not divided: no rounding. A bare zero has every unit.
    let (its_name, theirs, its_factor) = UNITS[unit];
    match unit {
        _ if name == its_name || number == 0.0 => Some(number),
        _ if theirs == dimension => Some(number * its_factor / factor),
        _ => None,
    }
}

fn scale(numbers: &[Option<f64>], asked_for_log: bool) -> Scale {
    let Some(numbers) = numbers.iter().copied().collect::<Option<Vec<f64>>>() else { return Scale::Categories };
    let smallest = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = numbers.iter().copied().fold(0.0, f64::max);
    let is_wide = smallest > 0.0 && largest / smallest > TWO_DECADES;
    if is_wide || asked_for_log && smallest > 0.0 { Scale::Logarithmic } else { Scale::Linear }
}

/// All labels as numbers of one unit, that of the largest; `None` if one is no number, or they cannot be compared.
fn numbers(labels: &[String]) -> Option<(String, Vec<Option<f64>>)> {
    let quantities = labels.iter().map(|label| quantity(label)).collect::<Option<Vec<_>>>()?;
    let in_base = |(number, unit): &(f64, usize)| number * UNITS[*unit].2;
    let (_, unit) = *quantities.iter().max_by(|a, b| in_base(a).total_cmp(&in_base(b)))?;
    let all: Vec<Option<f64>> = quantities.iter().map(|quantity| in_unit(*quantity, unit)).collect();
    all.iter().all(Option::is_some).then(|| (UNITS[unit].0.to_owned(), all))
}

/// `5ms` as 5 and the place of its unit.
fn quantity(label: &str) -> Option<(f64, usize)> {
    let text = label.trim();
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
    let (number, rest) =
        ends.map(|end| text.split_at(end)).find_map(|(head, rest)| Some((head.parse().ok()?, rest)))?;
    let unit =
        UNITS.iter().position(|(name, ..)| *name == rest.trim().trim_end_matches("/s").trim_end_matches("ps"))?;
    Some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(labels: &[&str]) -> (String, Vec<f64>) {
        let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
        let (unit, numbers) = numbers(&labels).expect("numbers");
        (unit, numbers.into_iter().flatten().collect())
    }

    #[test]
    fn values_in_several_units_are_read_in_the_unit_of_the_largest() {
        assert_eq!(axis(&["500us", "2ms", "0.01s"]), ("s".into(), vec![0.0005, 0.002, 0.01]));
        assert_eq!(axis(&["64kbit", "10Mbit"]), ("Mbit".into(), vec![0.064, 10.0]));
    }

    #[test]
    fn numbers_keep_the_digits_that_the_file_wrote() {
        assert_eq!(axis(&["0", "0.01%", "0.01884%", "20%"]), ("%".into(), vec![0.0, 0.01, 0.01884, 20.0]));
        assert_eq!(axis(&["25", "1e-6"]), (String::new(), vec![25.0, 1e-6]));
    }

    #[test]
    fn words_and_unlike_quantities_are_categories() {
        for labels in
            [["cubic", "reno"], ["5ms", "5kB"], ["5%", "gilbert-elliott mean=2%"], ["5%", "5"], ["1.2.3", "4"]]
        {
            assert_eq!(numbers(&labels.map(str::to_owned)), None, "{labels:?}");
        }
    }

    #[test]
    fn the_scale_is_logarithmic_if_asked_for_or_beyond_two_decades() {
        let scale_of = |numbers: [f64; 2], log| scale(&numbers.map(Some), log);
        assert_eq!(scale_of([1.0, 100.0], false), Scale::Linear);
        assert_eq!(scale_of([1.0, 101.0], false), Scale::Logarithmic);
        assert_eq!(scale_of([1.0, 5.0], true), Scale::Logarithmic);
        assert_eq!(scale_of([0.0, 1000.0], false), Scale::Linear, "zero has no place on a logarithmic axis");
        assert_eq!(scale(&[None, Some(1.0)], false), Scale::Categories);
    }
}
