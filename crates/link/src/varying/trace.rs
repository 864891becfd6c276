//! A recorded course, from a file.
//!
//! Two forms are read, and told apart by their lines:
//!
//! - mahimahi's: a line for each opportunity to send 1500 bytes, in whole milliseconds from the beginning, in order. The
//!   opportunities of a millisecond are its rate, in the millisecond that ends then. The last line is also the length of the
//!   trace.
//! - columns separated by commas: seconds, and values from then on, until the seconds of the next line; the last line lasts as long
//!   as the one before it. A first line of names is allowed. Rates are in Mbit/s, delays in ms, losses in percent.
//!
//! At its end a trace begins again, as mahimahi does it.

use super::course::Pieces;
use super::table::{Listed, Rows, mean};
use airtcp_core::{Duration, Probability, Rate, Value, ValueError, ValueType, parameters};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;

/// Bits of a line of mahimahi's, and so millionths of a Mbit/s of one line in a millisecond.
const OPPORTUNITY: u64 = 12_000_000;

parameters! {
    /// A recorded course. See the module for the two forms of file.
    pub struct Trace {
        /// Name of the file.
        pub trace: TraceFile = TraceFile::default(), "ours";
        /// Which column of values, by its name or its number from 1; if auto the first one, and in the reverse direction the second where there is one.
        pub column: Option<String> = None, "ours";
        /// Where in the trace the run begins.
        pub at: Duration = Duration::ZERO, "ours";
    }
}

/// What a trace can be of.
pub(crate) trait Traced: Sized {
    /// From a millionth of the unit that files have.
    fn of_millionths(n: u64) -> Self;
}

impl Traced for Rate {
    fn of_millionths(n: u64) -> Self {
        Rate::from_bps(n)
    }
}

impl Traced for Duration {
    fn of_millionths(n: u64) -> Self {
        Duration::from_nanos(n)
    }
}

impl Traced for Probability {
    fn of_millionths(n: u64) -> Self {
        Probability::ratio(n, 100_000_000)
    }
}

impl Trace {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.trace.name.is_empty() {
            return Err("a trace needs a file; write for example { trace = \"walk.csv\" }".into());
        }
        Ok(())
    }

    /// Reads `text`, the content of the file, for a direction.
    ///
    /// # Errors
    /// What is wrong with it, with the line.
    pub fn load(&mut self, text: &str, is_reverse: bool) -> Result<(), String> {
        let table = parse(text)?;
        let column = match &self.column {
            Some(wanted) => table.named(wanted)?,
            None => usize::from(is_reverse && table.columns.len() > 1),
        };
        let rows: Vec<(Duration, u64)> =
            table.times.iter().copied().zip(table.columns[column].iter().copied()).collect();
        self.trace.content = Some(Content { rows: rows.into(), period: table.period });
        Ok(())
    }

    fn content(&self) -> &Content {
        self.trace.content.as_ref().expect("a trace is loaded before a link has it")
    }

    /// Whether a value of it is above zero.
    pub(crate) fn is_ever_positive(&self) -> bool {
        self.content().rows.iter().any(|(_, value)| *value > 0)
    }

    pub(crate) fn largest(&self) -> u64 {
        self.content().rows.iter().map(|(_, value)| *value).max().unwrap_or_default()
    }

    /// The mean, in millionths of the file's unit.
    pub(crate) fn mean(&self) -> u64 {
        let Content { rows, period } = self.content();
        mean(rows, Some(*period), |value| *value)
    }

    pub(crate) fn pieces<T: Traced + Debug + 'static>(&self) -> Box<dyn Pieces<T>> {
        let Content { rows, period } = self.content();
        Box::new(Listed::new(rows.clone(), Some(*period), self.at, |value| T::of_millionths(*value)))
    }
}

/// A file by its name, and what is in it once it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFile {
    name: String,
    content: Option<Content>,
}

/// The column that was asked for, in millionths of its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    rows: Rows<u64>,
    period: Duration,
}

impl TraceFile {
    /// As the scenario names it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it was loaded.
    pub fn is_loaded(&self) -> bool {
        self.content.is_some()
    }
}

impl ValueType for TraceFile {
    const KIND: &'static str = "name of a file, beside the scenario or among those that ship";
    fn read(value: &Value) -> Result<Self, ValueError> {
        Ok(TraceFile { name: value.scalar()?.trim().to_string(), content: None })
    }
    fn write(&self) -> String {
        self.name.clone()
    }
}

/// A file, read.
struct Table {
    names: Vec<String>,
    times: Vec<Duration>,
    columns: Vec<Vec<u64>>,
    period: Duration,
}

impl Table {
    fn named(&self, wanted: &str) -> Result<usize, String> {
        let numbered = || wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let found = self.names.iter().position(|name| name == wanted).or_else(numbered);
        found.filter(|column| *column < self.columns.len()).ok_or_else(|| {
            let known: Vec<String> = match self.names.as_slice() {
                [] => (1..=self.columns.len()).map(|number| number.to_string()).collect(),
                names => names.to_vec(),
            };
            format!("it has no column '{wanted}'; its columns are {}", known.join(", "))
        })
    }
}

fn parse(text: &str) -> Result<Table, String> {
    let lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<(&str, usize)> = lines.collect();
    match lines.first() {
        None => Err("it is empty".into()),
        Some((first, _)) if first.contains(',') => columns(&lines),
        Some(_) => opportunities(&lines),
    }
}

fn opportunities(lines: &[(&str, usize)]) -> Result<Table, String> {
    // Per millisecond that has any: the number of its opportunities.
    let mut counted: Vec<(u64, u64)> = Vec::new();
    for (line, number) in lines {
        let ms: u64 = line.parse().map_err(|_| {
            format!("line {number}: '{line}' is neither a whole number of milliseconds nor values separated by commas")
        })?;
        match counted.last_mut() {
            Some((last, count)) if *last == ms => *count += 1,
            Some((last, _)) if *last > ms => return Err(format!("line {number}: {ms} ms is before the line above it")),
            _ => counted.push((ms, 1)),
        }
    }
    let length = counted.last().map_or(0, |(last, _)| *last);
    if length == 0 {
        return Err("its last line is at 0 ms, so it has no length".into());
    }
    // What is due at zero is due at the end of the lap before.
    let at_zero = if counted[0].0 == 0 { counted.remove(0).1 } else { 0 };
    if let Some((_, count)) = counted.last_mut() {
        *count += at_zero;
    }
    let (mut times, mut rates, mut free) = (Vec::new(), Vec::new(), 0);
    for (ms, count) in counted {
        if free < ms - 1 {
            times.push(Duration::from_millis(free));
            rates.push(0);
        }
        times.push(Duration::from_millis(ms - 1));
        rates.push(count * OPPORTUNITY);
        free = ms;
    }
    Ok(Table { names: Vec::new(), times, columns: [rates].into(), period: Duration::from_millis(length) })
}

fn columns(lines: &[(&str, usize)]) -> Result<Table, String> {
    let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let first = cells(lines[0].0);
    let has_names = first.iter().all(|cell| millionths(cell).is_none());
    let (names, lines) = if has_names { (first[1..].to_vec(), &lines[1..]) } else { (Vec::new(), lines) };
    let width = first.len() - 1;
    let (mut times, mut columns) = (Vec::new(), alloc::vec![Vec::new(); width]);
    for (line, number) in lines {
        let row = cells(line);
        if row.len() != width + 1 {
            return Err(format!("line {number}: it has {} columns, the first line has {}", row.len(), width + 1));
        }
        let time = seconds(&row[0]).ok_or_else(|| format!("line {number}: '{}' is no number of seconds", row[0]))?;
        match times.last() {
            None if !time.is_zero() => return Err(format!("line {number}: the first line of values is at 0 seconds")),
            Some(last) if *last >= time => return Err(format!("line {number}: {time} is not after the line above it")),
            _ => times.push(time),
        }
        for (column, cell) in columns.iter_mut().zip(&row[1..]) {
            column.push(millionths(cell).ok_or_else(|| format!("line {number}: '{cell}' is no number"))?);
        }
    }
    let [.., before, last] = times.as_slice() else {
        return Err("it has fewer than two lines of values, so it has no length".into());
    };
    let period = last.saturating_add(last.saturating_sub(*before));
    Ok(Table { names, times, columns, period })
}

fn seconds(text: &str) -> Option<Duration> {
    format!("{text}s").parse().ok()
}

/// A decimal number in millionths.
fn millionths(text: &str) -> Option<u64> {
    format!("{text}Mbit").parse::<Rate>().ok().map(Rate::bps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::varying::course::Piece;

    fn loaded(text: &str, column: Option<&str>, is_reverse: bool) -> Result<Trace, String> {
        let trace = TraceFile { name: "x".into(), content: None };
        let mut trace = Trace { trace, column: column.map(Into::into), ..Trace::default() };
        trace.load(text, is_reverse).map(|()| trace)
    }

    fn pieces(text: &str, count: usize) -> Vec<(u64, u64)> {
        let mut pieces = loaded(text, None, false).unwrap().pieces::<Rate>();
        let of = |piece: Piece<Rate>| (piece.value.bps() / 1_000_000, piece.until.as_nanos() / 1_000_000);
        (0..count).map(|_| of(pieces.next())).collect()
    }

    #[test]
    fn opportunities_are_the_rate_of_the_millisecond_that_they_end() {
        // Two packets at 3 ms, one at 4, one at 8: 12 Mbit/s are a packet in a millisecond.
        assert_eq!(pieces("3\n3\n4\n8\n", 6), [(0, 2), (24, 3), (12, 4), (0, 7), (12, 8), (0, 10)]);
        assert_eq!(pieces("0\n0\n5\n", 3), [(0, 4), (36, 5), (0, 9)], "what is due at zero is due a lap later");
    }

    #[test]
    fn a_lap_carries_as_many_packets_as_the_file_has_lines() {
        let text = "0\n0\n1\n7\n7\n20\n";
        let trace = loaded(text, None, false).unwrap();
        assert_eq!(trace.mean() * 20 / 1000, 6 * 12_000, "bits in 20 ms");
    }

    #[test]
    fn columns_hold_until_the_next_line_and_have_names_or_numbers() {
        let text = "second,down_mbit,up_mbit\n0,100.5,10\n1,50,0.25\n";
        let means = |column, is_reverse| loaded(text, column, is_reverse).map(|trace| trace.mean());
        assert_eq!(means(None, false), Ok(75_250_000));
        assert_eq!(means(None, true), Ok(5_125_000), "back is the second column");
        assert_eq!(means(Some("down_mbit"), true), Ok(75_250_000));
        assert_eq!(means(Some("2"), false), Ok(5_125_000));
        assert!(means(Some("sideways"), false).unwrap_err().contains("down_mbit, up_mbit"));
        assert!(means(Some("3"), false).is_err());
        assert_eq!(pieces(text, 3), [(100, 1000), (50, 2000), (100, 3000)]);
        assert_eq!(pieces("# a comment\n\n0, 1\n0.5, 2\n", 2), [(1, 500), (2, 1000)]);
    }

    #[test]
    fn a_file_that_is_no_trace_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "empty"),
            ("0\n0\n", "no length"),
            ("5\n3\n", "line 2"),
            ("5\nfast\n", "line 2: 'fast'"),
            ("0,1\n", "fewer than two"),
            ("0,1\n1,2,3\n", "line 2: it has 3 columns"),
            ("0,1\n0,2\n", "line 2"),
            ("1,1\n2,2\n", "at 0 seconds"),
            ("0,1\n1,-2\n", "line 2: '-2'"),
            ("second,rate\n", "fewer than two"),
        ] {
            let error = loaded(text, None, false).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
