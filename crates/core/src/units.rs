//! Quantities with units, read from and written to strings: `"10Mbit"`, `"25ms"`, `"75kB"`, `"2%"`.
//!
//! Decimal fractions are parsed exactly, without floating point, so a scenario means the same
//! on every machine. `k`, `M`, `G` are powers of 1000; bits are lower case, bytes end in `B`.

use crate::time::Duration;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// A link or shaping rate in bits per second, counted on IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

/// A probability in fixed point: the chance that a uniform 64-bit draw is below it.
///
/// `Probability::ALWAYS` is certain (the fixed-point value 2^64 − 1 is treated as 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u64);

/// Why a quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text does not begin with a non-negative decimal number.
    #[error("'{0}' does not begin with a number; write for example {1}")]
    NoNumber(String, &'static str),
    /// The number is followed by something that is no unit of this quantity.
    #[error("'{0}' has no known unit; write for example {1}; units are {2}")]
    BadUnit(String, &'static str, Units),
    /// The number is larger than the quantity can be.
    #[error("'{0}' is out of range; write for example {1}")]
    Range(String, &'static str),
}

/// Units of a quantity, and how many of the base unit each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units(&'static [(&'static str, u128)]);

impl Units {
    fn factor(self, unit: &str) -> Option<u128> {
        self.0.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(index, (name, _))| {
            let gap = if index == 0 { "" } else { ", " };
            write!(f, "{gap}{name}")
        })
    }
}

const RATES: Units = Units(&[("bit", 1), ("kbit", 1_000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)]);
const TIMES: Units =
    Units(&[("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)]);
const SIZES: Units = Units(&[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
]);
const SHARES: Units = Units(&[("%", 1)]);

/// An exact decimal: `mantissa / 10^scale`.
#[derive(Clone, Copy)]
struct Decimal {
    mantissa: u128,
    scale: u32,
}

impl Decimal {
    /// Splits `text` into a decimal number and the unit that follows it.
    fn split<'a>(text: &'a str, example: &'static str) -> Result<(Decimal, &'a str), UnitError> {
        let none = || UnitError::NoNumber(text.to_string(), example);
        let range = || UnitError::Range(text.to_string(), example);
        let body = text.trim();
        let end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
        let (number, mut unit) = body.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(none());
        }
        let mut mantissa: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            mantissa = mantissa
                .checked_mul(10)
                .and_then(|m| m.checked_add(u128::from(digit - b'0')))
                .filter(|m| *m < 1 << 100)
                .ok_or_else(range)?;
        }
        let mut scale = fraction.len() as i64;
        // Scientific notation, as TOML floats print: 1e-5.
        if let Some(rest) = unit.strip_prefix(['e', 'E']) {
            let length = rest
                .char_indices()
                .take_while(|(i, c)| c.is_ascii_digit() || *i == 0 && matches!(c, '-' | '+'))
                .count();
            let exponent: i64 = rest[..length].parse().map_err(|_| none())?;
            scale = scale.checked_sub(exponent).filter(|s| s.abs() <= 40).ok_or_else(range)?;
            unit = &rest[length..];
        }
        if scale < 0 {
            let factor = 10u128.checked_pow(scale.unsigned_abs() as u32).ok_or_else(range)?;
            mantissa = mantissa.checked_mul(factor).ok_or_else(range)?;
            scale = 0;
        }
        if scale > 30 {
            return Err(range());
        }
        Ok((Decimal { mantissa, scale: scale as u32 }, unit.trim()))
    }

    /// The value times `factor`, rounded to the nearest integer.
    fn times(self, factor: u128) -> Option<u64> {
        let divisor = 10u128.pow(self.scale);
        let product = self.mantissa.checked_mul(factor)?;
        u64::try_from(product.checked_add(divisor / 2)? / divisor).ok()
    }
}

/// `text` in base units; `unit_of` is the unit that its unit stands for.
fn read(text: &str, example: &'static str, units: Units, unit_of: fn(&str) -> &str) -> Result<u64, UnitError> {
    let (number, unit) = Decimal::split(text, example)?;
    let bad = || UnitError::BadUnit(text.trim().to_string(), example, units);
    let factor = units.factor(unit_of(unit)).ok_or_else(bad)?;
    number.times(factor).ok_or_else(|| UnitError::Range(text.trim().to_string(), example))
}

/// Writes `value` with the largest unit that divides it.
fn write_largest(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (factor, unit) = units
        .iter()
        .find(|(factor, _)| value != 0 && value.is_multiple_of(*factor))
        .unwrap_or_else(|| units.last().expect("every quantity has a base unit"));
    write!(f, "{}{unit}", value / factor)
}

impl Rate {
    /// `bps` bits per second; zero means that nothing passes.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// Time to serialise `bytes`, keeping the part below a nanosecond in `carry` for the next
    /// call, so that a long stream leaves at exactly this rate. `carry` is in units of
    /// 1 / rate nanoseconds. [`Duration::MAX`] at rate zero.
    pub fn serialisation(self, bytes: u32, carry: &mut u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let numerator = u64::from(bytes) * 8_000_000_000 + *carry;
        *carry = numerator % self.0;
        Duration::from_nanos(numerator / self.0)
    }
    /// Bytes sent in `span`, rounded down.
    pub fn bytes_in(self, span: Duration) -> u64 {
        let bits = u128::from(self.0) * u128::from(span.as_nanos()) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        // 10Mbit/s and 10Mbps are the same.
        read(text, "\"10Mbit\"", RATES, |unit| unit.trim_end_matches("/s").trim_end_matches("ps")).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_largest(f, self.0, &[(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "kbit"), (1, "bit")])
    }
}

impl FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        read(text, "\"25ms\"", TIMES, |unit| unit).map(Duration::from_nanos)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_largest(f, self.as_nanos(), &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        read(text, "\"75kB\"", SIZES, |unit| unit).map(ByteSize)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_largest(
            f,
            self.0,
            &[
                (1_000_000_000, "GB"),
                (1 << 30, "GiB"),
                (1_000_000, "MB"),
                (1 << 20, "MiB"),
                (1_000, "kB"),
                (1 << 10, "KiB"),
                (1, "B"),
            ],
        )
    }
}

impl Probability {
    /// Impossible.
    pub const NEVER: Probability = Probability(0);
    /// Certain.
    pub const ALWAYS: Probability = Probability(u64::MAX);

    /// From the fixed-point value: probability × 2^64.
    pub const fn from_fixed(value: u64) -> Self {
        Probability(value)
    }
    /// `numerator / denominator`; [`Probability::ALWAYS`] from 1 up.
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        if numerator >= denominator {
            return Probability::ALWAYS;
        }
        Probability(((u128::from(numerator) << 64) / u128::from(denominator)) as u64)
    }
    /// The fixed-point value: probability × 2^64.
    pub const fn fixed(self) -> u64 {
        self.0
    }
    /// True for probability zero.
    pub const fn is_never(self) -> bool {
        self.0 == 0
    }
    /// 1 − p.
    pub const fn complement(self) -> Self {
        Probability(u64::MAX - self.0)
    }
    /// Both of two independent things.
    pub const fn and(self, other: Probability) -> Self {
        if self.0 == u64::MAX {
            return other;
        }
        if other.0 == u64::MAX {
            return self;
        }
        Probability(((self.0 as u128 * other.0 as u128) >> 64) as u64)
    }
    /// All of `n` independent things of this probability.
    pub const fn pow(self, mut n: u64) -> Self {
        let (mut result, mut base) = (Probability::ALWAYS, self);
        while n > 0 {
            if n & 1 == 1 {
                result = result.and(base);
            }
            base = base.and(base);
            n >>= 1;
        }
        result
    }
    /// Parts per billion, for display and reports.
    pub const fn parts_per_billion(self) -> u64 {
        ((self.0 as u128 * 1_000_000_000 + (1 << 63)) >> 64) as u64
    }
}

impl FromStr for Probability {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const EXAMPLE: &str = "\"2%\" or \"0.02\"";
        let (number, unit) = Decimal::split(text, EXAMPLE)?;
        let hundredths = match unit {
            "%" => 2,
            "" => 0,
            _ => return Err(UnitError::BadUnit(text.trim().to_string(), EXAMPLE, SHARES)),
        };
        let out = || UnitError::Range(text.trim().to_string(), EXAMPLE);
        let divisor = 10u128.checked_pow(number.scale + hundredths).ok_or_else(out)?;
        if number.mantissa > divisor {
            return Err(out());
        }
        if number.mantissa == divisor {
            return Ok(Probability::ALWAYS);
        }
        // Long division, so that 64 fractional bits are exact whatever the divisor.
        let (mut fixed, mut remainder) = (0u64, number.mantissa);
        for _ in 0..64 {
            remainder *= 2;
            fixed = fixed << 1 | u64::from(remainder >= divisor);
            if remainder >= divisor {
                remainder -= divisor;
            }
        }
        Ok(Probability(fixed))
    }
}

impl fmt::Display for Probability {
    /// Percent with as many digits as matter: `2%`, `0.05%`, `0.000001%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == u64::MAX {
            return f.write_str("100%");
        }
        // 10^-12 of one, i.e. 10 digits after the point of a percentage.
        let tiny = ((u128::from(self.0) * 1_000_000_000_000 + (1 << 63)) >> 64) as u64;
        let (whole, mut fraction, mut width) = (tiny / 10_000_000_000, tiny % 10_000_000_000, 10);
        while width > 0 && fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        if width == 0 { write!(f, "{whole}%") } else { write!(f, "{whole}.{fraction:0width$}%") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!("10Mbit".parse(), Ok(Rate::from_bps(10_000_000)));
        assert_eq!("0.5 Gbit".parse(), Ok(Rate::from_bps(500_000_000)));
        assert_eq!("0.1ms".parse(), Ok(Duration::from_micros(100)));
        assert_eq!("75kB".parse(), Ok(ByteSize(75_000)));
        assert_eq!("64MiB".parse(), Ok(ByteSize(64 << 20)));
        assert_eq!("50%".parse(), Ok(Probability::from_fixed(1 << 63)));
        assert_eq!("0.25".parse(), Ok(Probability::from_fixed(1 << 62)));
        assert_eq!("1e-5".parse::<Probability>().unwrap().parts_per_billion(), 10_000);
    }

    #[test]
    fn wrong_units_are_named() {
        assert!(matches!("10Mb".parse::<Rate>(), Err(UnitError::BadUnit(..))));
        assert!(matches!("ms".parse::<Duration>(), Err(UnitError::NoNumber(..))));
        assert!(matches!("1.2.3ms".parse::<Duration>(), Err(UnitError::NoNumber(..))));
        assert!(matches!("101%".parse::<Probability>(), Err(UnitError::Range(..))));
        assert!(matches!("99999999999999Gbit".parse::<Rate>(), Err(UnitError::Range(..))));
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["0%", "2%", "0.05%", "0.0001%", "100%", "33.3%"] {
            let p: Probability = text.parse().unwrap();
            assert_eq!(format!("{p}"), text);
        }
        for text in ["10Mbit", "1500kbit", "1bit"] {
            assert_eq!(format!("{}", text.parse::<Rate>().unwrap()), text);
        }
        assert_eq!(format!("{}", Duration::from_micros(1500)), "1500us");
    }

    #[test]
    fn a_long_stream_leaves_at_exactly_the_rate() {
        let rate = Rate::from_bps(9_999_991);
        let (mut carry, mut total) = (0, 0u64);
        for _ in 0..100_000 {
            total += rate.serialisation(1500, &mut carry).as_nanos();
        }
        let exact = 100_000u128 * 1500 * 8 * 1_000_000_000 / 9_999_991;
        assert_eq!(u128::from(total), exact);
    }

    #[test]
    fn powers_of_a_probability_multiply() {
        let half: Probability = "50%".parse().unwrap();
        assert_eq!(half.pow(3), "12.5%".parse().unwrap());
        assert_eq!(half.pow(0), Probability::ALWAYS);
        assert_eq!(Probability::ALWAYS.pow(12_000), Probability::ALWAYS);
    }
}
