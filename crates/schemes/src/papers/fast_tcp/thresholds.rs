//! Lengths of the forward queue from which acknowledgments are delayed (FTC-3), as a list: several thresholds are an
//! extension that the paper names (FTC-8).

use airtcp_core::{ByteSize, Value, ValueError, ValueType};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Most thresholds of a list.
const MOST: usize = 8;

/// At most eight queue lengths, each above the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds(Vec<ByteSize>);

impl Thresholds {
    /// One threshold, as in the paper.
    pub fn one(bytes: u64) -> Self {
        Thresholds([ByteSize(bytes)].into())
    }

    /// How many thresholds a queue of `bytes` has reached: 0 is uncongested.
    pub fn level(&self, bytes: u64) -> u64 {
        self.0.iter().take_while(|threshold| bytes >= threshold.0).count() as u64
    }
}

impl ValueType for Thresholds {
    const KIND: &'static str = "sizes, \"50kB\" or \"50kB, 100kB\"";

    fn read(value: &Value) -> Result<Self, ValueError> {
        let size = |part: &str| part.trim().parse::<ByteSize>().map_err(|error| error.to_string());
        let sizes = value.scalar()?.split(',').map(size).collect::<Result<Vec<_>, _>>()?;
        if sizes.len() > MOST {
            return Err(format!("{} thresholds are more than {MOST}; leave some out", sizes.len()).into());
        }
        if sizes.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("each threshold has to be above the one before; write them in ascending order".into());
        }
        Ok(Thresholds(sizes))
    }

    fn write(&self) -> String {
        self.0.iter().map(ByteSize::to_string).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ftc_8_each_threshold_reached_is_a_level() {
        let thresholds = Thresholds::read(&"50kB, 100kB".into()).unwrap();
        let levels = [0, 49_999, 50_000, 99_999, 100_000, u64::MAX].map(|bytes| thresholds.level(bytes));
        assert_eq!(levels, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_list_reads_back_what_it_wrote() {
        for text in ["50kB", "1500B, 50kB, 2MB"] {
            let thresholds = Thresholds::read(&text.into()).unwrap();
            assert_eq!(Thresholds::read(&thresholds.write().into()), Ok(thresholds), "{text}");
        }
    }

    #[test]
    fn lists_out_of_order_or_too_long_are_refused_with_a_remedy() {
        assert!(Thresholds::read(&"100kB, 50kB".into()).unwrap_err().to_string().contains("ascending"));
        assert!(Thresholds::read(&"50kB, 50kB".into()).is_err());
        assert!(Thresholds::read(&"".into()).is_err());
        let many = (1..=9).map(|n| format!("{n}kB")).collect::<Vec<_>>();
        assert!(Thresholds::read(&many.join(",").into()).unwrap_err().to_string().contains("leave some out"));
        assert!(Thresholds::read(&many[..8].join(",").into()).is_ok());
    }
}
