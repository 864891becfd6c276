//! Units in which people read metrics. Files hold base units: bit/s, ns, bytes.

/// How a number is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// bit/s, shown as Mbit/s.
    Rate,
    /// A part of one, shown in percent.
    Share,
    /// How many times as much.
    Times,
    /// ns, shown as ms.
    Millis,
    /// ns, shown as s.
    Seconds,
    /// From 0 to 1, with three decimals.
    Index,
    /// Bytes, shown as kB.
    Kilobytes,
    /// Bytes, shown as MB.
    Megabytes,
    /// A whole number of these; empty if the title says of what.
    Count(&'static str),
    /// A mean number of things.
    Mean,
}

impl Unit {
    /// What stands under a heading; empty for plain numbers.
    pub fn label(self) -> &'static str {
        match self {
            Unit::Rate => "Mbit/s",
            Unit::Share => "%",
            Unit::Millis => "ms",
            Unit::Seconds => "s",
            Unit::Kilobytes => "kB",
            Unit::Megabytes => "MB",
            Unit::Count(label) => label,
            Unit::Times | Unit::Index | Unit::Mean => "",
        }
    }

    /// The unit in which files hold it.
    pub fn base(self) -> &'static str {
        match self {
            Unit::Rate => "bit/s",
            Unit::Share | Unit::Times => "ratio",
            Unit::Millis | Unit::Seconds => "ns",
            Unit::Kilobytes | Unit::Megabytes => "bytes",
            Unit::Index => "0 to 1",
            Unit::Count("") | Unit::Mean => "count",
            Unit::Count(label) => label,
        }
    }

    /// A number in base units in this unit.
    pub fn convert(self, value: f64) -> f64 {
        match self {
            Unit::Rate | Unit::Millis | Unit::Megabytes => value / 1e6,
            Unit::Share => value * 100.0,
            Unit::Kilobytes => value / 1e3,
            Unit::Seconds => value / 1e9,
            Unit::Times | Unit::Index | Unit::Count(_) | Unit::Mean => value,
        }
    }

    /// A number in base units as text, without the label.
    pub fn write(self, value: f64) -> String {
        let value = self.convert(value);
        match self {
            Unit::Share => format!("{value:.1}"),
            Unit::Index => format!("{value:.3}"),
            Unit::Count(_) => format!("{value:.0}"),
            _ => three_digits(value),
        }
    }
}

/// Three significant digits, never an exponent: 0.123, 1.23, 12.3, 123, 1234.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 0.0005 => 0,
        size if size < 0.9995 => 3,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_what_matters_and_no_noise() {
        assert_eq!(Unit::Rate.write(8_840_000.0), "8.84");
        assert_eq!(Unit::Rate.write(9_996_000.0), "10.0");
        assert_eq!(Unit::Rate.write(951_234_567.0), "951");
        assert_eq!(Unit::Rate.write(12_345.0), "0.012");
        assert_eq!(Unit::Rate.write(0.0), "0");
        assert_eq!(Unit::Share.write(0.1 + 0.2), "30.0");
    }
}
