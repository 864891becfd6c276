//! Numbers in few characters, so that columns have the same width whatever is told.

/// The three first digits of a number in the largest unit that it reaches; plain where it reaches none.
fn scaled(value: u64, units: &[(u64, &str)]) -> String {
    let Some((factor, unit)) = units.iter().find(|(factor, _)| value >= *factor) else { return value.to_string() };
    let (whole, rest) = (value / factor, value % factor);
    match whole {
        0..10 => format!("{whole}.{:02}{unit}", rest / (factor / 100)),
        10..100 => format!("{whole}.{}{unit}", rest / (factor / 10)),
        _ => format!("{whole}{unit}"),
    }
}

/// `8.93M`; five characters at most.
pub(super) fn short(value: u64) -> String {
    let units = [
        (10_u64.pow(18), "E"),
        (10_u64.pow(15), "P"),
        (10_u64.pow(12), "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    scaled(value, &units)
}

/// Of hundredths of a percent: `2.00%`; six characters at most.
pub(super) fn percent(hundredths: u64) -> String {
    match hundredths {
        0..10_000 => format!("{}.{:02}%", hundredths / 100, hundredths % 100),
        10_000..1_000_000 => format!("{}%", hundredths / 100),
        _ => ">9999%".to_owned(),
    }
}

/// Of nanoseconds: `30.4ms`; six characters at most.
pub(super) fn time(nanos: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    match nanos {
        0 => "0".to_owned(),
        1..1_000 => "<1us".to_owned(),
        _ if nanos >= 10_000 * SECOND => ">9999s".to_owned(),
        _ => scaled(nanos, &[(SECOND, "s"), (1_000_000, "ms"), (1_000, "us")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([0, 999, 32_000, 8_930_000, 123_456_789].map(short), ["0", "999", "32.0k", "8.93M", "123M"]);
        assert_eq!([5, 1_234, 10_000, 25_000].map(percent), ["0.05%", "12.34%", "100%", "250%"]);
        assert_eq!([0, 500, 1_500, 30_400_000, 2_500_000_000].map(time), ["0", "<1us", "1.50us", "30.4ms", "2.50s"]);
    }

    #[test]
    fn no_number_is_longer_than_its_column() {
        let mut value = 1_u64;
        while value < u64::MAX / 3 {
            for value in [value, value - 1, u64::MAX] {
                assert!(short(value).len() <= 5 && percent(value).len() <= 6 && time(value).len() <= 6, "{value}");
            }
            value *= 3;
        }
    }
}
