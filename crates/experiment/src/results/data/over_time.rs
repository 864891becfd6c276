//! The first run of a cell over time: a row for each sample.

use super::Value;
use crate::results::series::goodput_bps;
use crate::world::RunOutcome;

/// Columns between `at_ns` and the end of a row, by whose they are.
enum Values {
    /// `goodput_bps`, `cwnd_bytes`, `rtt_ns`, `repairs`, `delivered_bytes`, `acked_bytes`.
    Flow([u64; 6]),
    /// `rate_bps`.
    Link(u64),
    /// `rate_bps`, `link_wait_ns`, `queue_bytes`.
    Scheme([u64; 3]),
    /// `level`.
    Level(u64),
}

impl Values {
    fn of(&self) -> &'static str {
        match self {
            Values::Flow(_) => "flow",
            Values::Link(_) => "link",
            Values::Scheme(_) => "scheme",
            Values::Level(_) => "level",
        }
    }

    /// One field for each column.
    fn fields(self) -> [Option<u64>; 10] {
        let mut fields = [None; 10];
        match self {
            Values::Flow(values) => fields[..6].copy_from_slice(&values.map(Some)),
            Values::Link(rate) => fields[6] = Some(rate),
            Values::Scheme(values) => fields[6..9].copy_from_slice(&values.map(Some)),
            Values::Level(level) => fields[9] = Some(level),
        }
        fields
    }
}

/// Gives `put` what stands behind the key in each row.
pub(super) fn each<'a, E>(
    outcome: &'a RunOutcome,
    put: &mut dyn FnMut(&[Value<'a>]) -> Result<(), E>,
) -> Result<(), E> {
    let mut put = |name: &'a str, at_ns: u64, values: Values| {
        let mut row = [Value::Integer(None); 13];
        (row[0], row[1], row[2]) = (Value::Text(values.of()), Value::Text(name), Value::Integer(Some(at_ns)));
        row[3..].copy_from_slice(&values.fields().map(Value::Integer));
        put(&row)
    };
    for flow in &outcome.flows {
        for (sample, goodput) in flow.series.iter().zip(goodput_bps(&flow.series)) {
            let values = [goodput, sample.cwnd, sample.rtt.as_nanos(), sample.repairs, sample.delivered, sample.acked];
            put(&flow.name, sample.at.as_nanos(), Values::Flow(values))?;
        }
    }
    for link in &outcome.link_rates {
        link.samples.iter().try_for_each(|(at, bps)| put(&link.name, *at, Values::Link(*bps)))?;
    }
    for belief in &outcome.beliefs {
        for sample in &belief.samples {
            let values = [sample.rate_bps, sample.link_wait.as_nanos(), sample.queue_bytes];
            put(&belief.name, sample.at.as_nanos(), Values::Scheme(values))?;
        }
    }
    for level in &outcome.levels {
        level.samples.iter().try_for_each(|(at, value)| put(&level.name, *at, Values::Level(*value)))?;
    }
    Ok(())
}
