//! `airtcp trace`: a rate that varies as a file of seconds and Mbit/s, which `rate = { trace = "FILE" }` reads.

use crate::{Failure, output};
use airtcp_core::{Duration, Rate, Value, ValueType};
use airtcp_experiment::scenario::Source;
use airtcp_link::LinkRate;
use anyhow::anyhow;
use clap::Args;
use std::fmt::Write as _;
use std::path::Path;

/// More lines are a mistake.
const MOST_LINES: u64 = 1_000_000;

#[derive(Debug, Args)]
#[command(after_help = "Example: airtcp trace '{ kind = \"walk\", high = \"50Mbit\" }' --seed 7 >walk.csv\n\
    The kinds of rate are in airtcp show link. A recorded trace, '{ trace = \"FILE\" }', is written as its means.")]
pub(crate) struct Arguments {
    /// The rate, as a scenario writes it
    rate: String,
    /// Rate of the reverse direction, a column of its own
    #[arg(long, value_name = "RATE")]
    reverse: Option<String>,
    /// Length of the trace
    #[arg(long, value_name = "TIME", default_value = "60s")]
    duration: String,
    /// Time between two lines; each has the mean rate of this time
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    every: String,
    /// Seed of what is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let duration = time("--duration", &arguments.duration)?;
    let every = time("--every", &arguments.every)?;
    let lines = duration.as_nanos() / every.as_nanos();
    if !(2..=MOST_LINES).contains(&lines) {
        return Err(Failure::input(anyhow!("{lines} lines; a trace has from 2 to {MOST_LINES}: change --every")));
    }
    let directions = [("forward", Some(&arguments.rate)), ("reverse", arguments.reverse.as_ref())];
    let mut columns = Vec::new();
    for (direction, text) in directions {
        if let Some(text) = text {
            let means = means(text, direction, arguments.seed, every, lines)?;
            columns.push((direction, means));
        }
    }
    output::print(written(arguments, &columns, every).trim_end());
    Ok(())
}

/// The mean rates of a direction.
fn means(text: &str, direction: &str, seed: u64, every: Duration, lines: u64) -> Result<Vec<Rate>, Failure> {
    let refused = |reason: String| Failure::input(anyhow!("rate '{text}': {reason}; see airtcp show link"));
    let mut rate = LinkRate::read(&Value::from(text)).map_err(|error| refused(error.to_string()))?;
    if let Some(trace) = rate.trace_mut() {
        let source = Source::read(Path::new(trace.trace.name())).map_err(|error| refused(error.to_string()))?;
        trace.load(&source.text, direction == "reverse").map_err(&refused)?;
    }
    let means = rate.means(seed, &format!("links.air.{direction}"), every, lines);
    means.ok_or_else(|| refused("it has no limit, so there is nothing to write".into()))
}

fn written(arguments: &Arguments, columns: &[(&str, Vec<Rate>)], every: Duration) -> String {
    let reverse = arguments.reverse.as_ref().map(|rate| format!(" --reverse '{rate}'")).unwrap_or_default();
    let Arguments { rate, duration, every: between, seed, .. } = arguments;
    let mut text =
        format!("# airtcp trace '{rate}'{reverse} --duration {duration} --every {between} --seed {seed}\nsecond");
    for (direction, _) in columns {
        let _ = write!(text, ",{direction}_mbit");
    }
    text.push('\n');
    for line in 0..columns[0].1.len() {
        text.push_str(&decimal(every.as_nanos().saturating_mul(line as u64), 1_000_000_000));
        for (_, means) in columns {
            let _ = write!(text, ",{}", decimal(means[line].bps(), 1_000_000));
        }
        text.push('\n');
    }
    text
}

/// `value` / `unit`, with the digits that matter.
fn decimal(value: u64, unit: u64) -> String {
    let digits = unit.ilog10() as usize;
    let text = format!("{}.{:0digits$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn time(option: &str, text: &str) -> Result<Duration, Failure> {
    match text.parse::<Duration>() {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err(Failure::input(anyhow!("{option} 0 has no length; write for example {option} 100ms"))),
        Err(error) => Err(Failure::input(anyhow!("{option}: {error}"))),
    }
}
