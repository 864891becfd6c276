//! Sizes of answers: a table of the share of requests that are no larger than so many bytes, straight between its lines.
//!
//! | table | is |
//! |---|---|
//! | `caida` | requests of a CAIDA Internet trace, as the experiments of Bundler have them (Cangialosi, Narayan, Goyal et al., EuroSys 2021; `distributions/CAIDA_CDF` of github.com/bundler-project/evaluation) |
//! | `web-search` | flows of a web search cluster (Alizadeh et al., DCTCP, SIGCOMM 2010, figure 4; `conf/DCTCP_CDF.txt` of github.com/HKUST-SING/TrafficGenerator) |

use super::super::document::Value;
use super::super::error::{Problem, ScenarioError};
use super::super::keys::Keys;
use super::super::traces::TraceFiles;
use airtcp_core::{ByteSize, Probability, Rng, ValueType};
use std::fmt;

/// Lines of a table: bytes, and the share of requests that are no larger, in millionths.
type Lines = &'static [(u64, u64)];

/// The tables that have a name.
pub const TABLES: &[Table] = &[
    Table {
        name: "caida",
        lines: &[
            (0, 0),
            (10_000, 976_000),
            (100_000, 995_000),
            (1_000_000, 999_000),
            (5_000_000, 999_800),
            (100_000_000, 1_000_000),
        ],
    },
    Table {
        name: "web-search",
        lines: &[
            (0, 0),
            (10_000, 150_000),
            (20_000, 200_000),
            (30_000, 300_000),
            (50_000, 400_000),
            (80_000, 530_000),
            (200_000, 600_000),
            (1_000_000, 700_000),
            (2_000_000, 800_000),
            (5_000_000, 900_000),
            (10_000_000, 970_000),
            (30_000_000, 1_000_000),
        ],
    },
];

/// A table that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// What files call it.
    pub name: &'static str,
    /// Bytes, and the share of requests that are no larger, in millionths.
    pub lines: Lines,
}

/// What sizes are drawn from.
#[derive(Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes, rising, and the share of requests that are no larger, in parts of 2^63.
    points: Vec<(u64, u64)>,
}

/// All requests.
const ALL: u64 = 1 << 63;
/// More lines than this are no table of sizes.
const MOST_LINES: usize = 10_000;
/// A larger answer does not end in any run.
const LARGEST: u64 = 1 << 40;

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x?}", self.points)
    }
}

/// Reads `sizes` and `largest` of a workload.
pub(super) fn read(keys: &Keys<'_>, files: &TraceFiles) -> Result<Sizes, ScenarioError> {
    let sizes = match keys.table.get("sizes") {
        None => Sizes::of_table(&TABLES[0]),
        Some(entry) if matches!(entry.node.value, Value::Table(_)) => {
            let inner = keys.below(entry, "workload")?;
            inner.only(&["file"])?;
            let file = inner.scalar(inner.required("file", "file = \"sizes.csv\"")?, "the name of a file")?;
            let text = files.get(&file).map_or("", String::as_str);
            Sizes::parse(text).map_err(|reason| Problem::Trace { file, reason }.at(inner.origin))?
        }
        Some(entry) => {
            let word = keys.scalar(entry, "the name of a table, a size or { file = … }")?;
            match (TABLES.iter().find(|table| table.name == word), ByteSize::read(&entry.node.to_value())) {
                (Some(table), _) => Sizes::of_table(table),
                (None, Ok(ByteSize(size))) if (1..=LARGEST).contains(&size) => Sizes::one(size),
                _ => {
                    let names = TABLES.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
                    let reason =
                        format!("'{word}' is none of {names}, no size as 12kB, and no {{ file = \"sizes.csv\" }}");
                    return Err(keys.bad(entry, reason));
                }
            }
        }
    };
    match keys.value::<ByteSize>("largest")? {
        None => Ok(sizes),
        Some(ByteSize(largest)) => sizes
            .up_to(largest)
            .ok_or_else(|| keys.refuse("largest", "the table has no request that small; write more, or leave it out")),
    }
}

impl Sizes {
    /// Those of a table that has a name.
    pub fn of_table(table: &Table) -> Sizes {
        let share = |millionths: u64| (u128::from(millionths) * u128::from(ALL) / 1_000_000) as u64;
        Sizes { points: table.lines.iter().map(|(bytes, millionths)| (*bytes, share(*millionths))).collect() }
    }

    /// Always this size.
    pub fn one(bytes: u64) -> Sizes {
        Sizes { points: vec![(bytes, 0), (bytes, ALL)] }
    }

    /// Lines of bytes and the share of requests that are no larger, from 0 to 1; after `#` stand words.
    ///
    /// # Errors
    /// A sentence about the first line that is wrong.
    pub fn parse(text: &str) -> Result<Sizes, String> {
        let mut points: Vec<(u64, u64)> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let wrong = |why: &str| format!("line {}: {why}", number + 1);
            let mut words = line.split([',', ' ', '\t']).filter(|word| !word.is_empty());
            let (Some(bytes), Some(share), None) = (words.next(), words.next(), words.next()) else {
                return Err(wrong("write bytes and the share of requests that are no larger, as '10000, 0.976'"));
            };
            let bytes = bytes.parse().ok().filter(|bytes| *bytes <= LARGEST);
            let bytes: u64 = bytes.ok_or_else(|| wrong("bytes are a whole number, at most 2^40"))?;
            let share: Probability = share.parse().map_err(|_| wrong("a share is a number from 0 to 1"))?;
            let share = if share == Probability::ALWAYS { ALL } else { share.fixed() >> 1 };
            if points.last().is_some_and(|(before, below)| bytes < *before || share < *below) {
                return Err(wrong("bytes and shares rise from line to line"));
            }
            points.push((bytes, share));
            if points.len() > MOST_LINES {
                return Err(wrong(&format!("a table has at most {MOST_LINES} lines")));
            }
        }
        match (points.first(), points.last()) {
            (Some((_, 0)), Some((largest, ALL))) if *largest > 0 => Ok(Sizes { points }),
            (Some(_), Some(_)) => Err("a table begins with the share 0 and ends with 1".into()),
            _ => Err("there is no line of bytes and shares in it".into()),
        }
    }

    /// The same without those that are larger; `None` if all are.
    pub fn up_to(&self, largest: u64) -> Option<Sizes> {
        let mut points: Vec<(u64, u64)> = self.points.iter().copied().filter(|(bytes, _)| *bytes <= largest).collect();
        let (before, below) = *points.last()?;
        if let Some((after, above)) = self.points.get(points.len()).filter(|_| before < largest) {
            let within = u128::from(above - below) * u128::from(largest - before) / u128::from(after - before);
            points.push((largest, below + within as u64));
        }
        let (_, all) = *points.last()?;
        if all == 0 || largest == 0 {
            return None;
        }
        for (_, share) in &mut points {
            *share = (u128::from(*share) * u128::from(ALL) / u128::from(all)) as u64;
        }
        Some(Sizes { points })
    }

    /// Bytes on average, in millionths.
    pub fn mean_millionths(&self) -> u128 {
        let part = |pair: &[(u64, u64)]| {
            let (sum, share) = (u128::from(pair[0].0) + u128::from(pair[1].0), u128::from(pair[1].1 - pair[0].1));
            // Shares in parts of 2^32 leave room for a size of 2^40 in millionths.
            sum * (share >> 31) * 500_000
        };
        (self.points.windows(2).map(part).sum::<u128>() >> 32).max(1)
    }

    /// The size of the next request; at least a byte.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let draw = rng.next_u64() >> 1;
        let place = self.points.partition_point(|(_, share)| *share <= draw).clamp(1, self.points.len() - 1);
        let ((low, below), (high, above)) = (self.points[place - 1], self.points[place]);
        let part = u128::from(high - low) * u128::from(draw - below) / u128::from((above - below).max(1));
        (low + part as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sizes: &Sizes) -> u128 {
        let mut rng = Rng::derive(1, "sizes");
        let drawn = 2_000_000;
        (0..drawn).map(|_| u128::from(sizes.draw(&mut rng))).sum::<u128>() / drawn
    }

    #[test]
    fn what_is_drawn_has_the_mean_of_the_table() {
        // By hand: 0.976 · 5 kB + 0.019 · 55 kB + 0.004 · 550 kB + 0.0008 · 3 MB + 0.0002 · 52.5 MB.
        let caida = Sizes::of_table(&TABLES[0]);
        assert_eq!(caida.mean_millionths().div_ceil(1_000_000), 21_025);
        assert!(mean(&caida).abs_diff(21_025) < 1_500, "{}", mean(&caida));
        let short = caida.up_to(100_000).unwrap();
        let by_hand = (976 * 5_000 + 19 * 55_000) / 995;
        assert!(short.mean_millionths().abs_diff(by_hand * 1_000_000) < 1_000_000);
        assert!(mean(&short).abs_diff(by_hand) < 40, "{}", mean(&short));
        assert_eq!((Sizes::one(7).mean_millionths(), mean(&Sizes::one(7))), (7_000_000, 7));
    }

    #[test]
    fn the_share_of_small_ones_is_that_of_the_table() {
        let mut rng = Rng::derive(1, "sizes");
        let sizes = Sizes::of_table(&TABLES[1]);
        let small = (0..100_000).filter(|_| sizes.draw(&mut rng) <= 50_000).count();
        assert!(small.abs_diff(40_000) < 600, "{small}");
    }

    #[test]
    fn a_file_is_a_table_or_a_sentence() {
        let sizes = Sizes::parse("# mine\n0 0\n1000, 0.5\n\n3000\t1 # all\n").unwrap();
        assert_eq!(sizes.mean_millionths(), 1_250_000_000);
        for (text, said) in [
            ("", "no line"),
            ("0 0\n10 0.5", "ends with 1"),
            ("0 0\n10 0.5\n5 1", "line 3: bytes and shares rise"),
            ("0 0\n10 1.5", "line 2: a share is"),
            ("0 0\nx 1", "line 2: bytes are"),
            ("0 0 0", "line 1: write bytes and"),
        ] {
            let error = Sizes::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
