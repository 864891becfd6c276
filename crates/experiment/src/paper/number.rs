//! Labels of steps as numbers, so that a range of a selection means the same however many steps there are.

use crate::quantity::{self, Dimension};

/// The quantity a label stands for: seconds, bit/s, bytes, a share of one, or a plain number.
pub fn of_label(text: &str) -> Option<f64> {
    match quantity::of_label(text) {
        Some((Dimension::Time, nanos)) => Some(nanos / 1e9),
        Some((_, number)) => Some(number),
        None => {
            let text = text.trim();
            let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            text[..digits].parse().ok()
        }
    }
}

/// True if `x` is in `from ..= to`, allowing for the four digits that steps of a range are rounded to.
pub fn is_between(x: f64, from: f64, to: f64) -> bool {
    let slack = 1e-3;
    x >= from - slack * from.abs() && x <= to + slack * to.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_numbers() {
        let read = ["0.1%", "5ms", "10Mbit", "75kB", "25", "50packets", "1e-5"].map(|text| of_label(text).unwrap());
        assert_eq!(read, [0.001, 0.005, 10e6, 75e3, 25.0, 50.0, 1e-5]);
        assert_eq!(of_label("plain Reno"), None);
    }

    #[test]
    fn a_range_holds_its_rounded_ends_and_nothing_beyond() {
        assert!(is_between(0.000_316_2, 0.000_316_227_8, 0.1));
        assert!(!is_between(0.000_31, 0.000_316_227_8, 0.1));
        assert!(!is_between(0.102, 0.001, 0.1));
    }
}
