//! The first run of a cell over time: a row for each sample.

use super::{Value, Values};
use crate::results::series::goodput_bps;
use crate::world::{BeliefSample, RunOutcome, Sample};

/// Columns behind `of`, `name` and `at_ns`: `goodput_bps`, `cwnd_bytes`, `rtt_ns`, `repairs`, `delivered_bytes`, `acked_bytes`,
/// `rate_bps`, `link_wait_ns`, `queue_bytes`, `level`.
const COLUMNS: usize = 10;
/// The first of them that each of these has.
const FLOW: usize = 0;
const LINK: usize = 6;
const SCHEME: usize = 6;
const LEVEL: usize = 9;

/// Takes so many rows, by what stands behind the key in each.
type Put<'a, E> = &'a mut dyn FnMut(usize, &[Values<'_>]) -> Result<(), E>;

/// Gives `put` the rows of each flow, link, scheme and level.
pub(super) fn each<E>(outcome: &RunOutcome, put: Put<'_, E>) -> Result<(), E> {
    let mut put = |[of, name]: [&str; 2], first: usize, columns: &[Vec<u64>]| {
        let [at, columns @ ..] = columns else { return Ok(()) };
        let mut row = [Values::Same(Value::Integer(None)); 3 + COLUMNS];
        row[..2].copy_from_slice(&[of, name].map(|text| Values::Same(Value::Text(text))));
        row[2] = Values::Integers(at);
        row[3 + first..].iter_mut().zip(columns).for_each(|(place, column)| *place = Values::Integers(column));
        put(at.len(), &row)
    };
    for flow in &outcome.flows {
        let column = |value: fn(&Sample) -> u64| flow.series.iter().map(value).collect();
        let columns = [
            column(|sample| sample.at.as_nanos()),
            goodput_bps(&flow.series).collect(),
            column(|sample| sample.cwnd),
            column(|sample| sample.rtt.as_nanos()),
            column(|sample| sample.repairs),
            column(|sample| sample.delivered),
            column(|sample| sample.acked),
        ];
        put(["flow", &flow.name], FLOW, &columns)?;
    }
    let pairs = |samples: &[(u64, u64)]| <[Vec<u64>; 2]>::from(samples.iter().copied().unzip());
    for link in &outcome.link_rates {
        put(["link", &link.name], LINK, &pairs(&link.samples))?;
    }
    for belief in &outcome.beliefs {
        let column = |value: fn(&BeliefSample) -> u64| belief.samples.iter().map(value).collect();
        let columns = [
            column(|sample| sample.at.as_nanos()),
            column(|sample| sample.rate_bps),
            column(|sample| sample.link_wait.as_nanos()),
            column(|sample| sample.queue_bytes),
        ];
        put(["scheme", &belief.name], SCHEME, &columns)?;
    }
    for level in &outcome.levels {
        put(["level", &level.name], LEVEL, &pairs(&level.samples))?;
    }
    Ok(())
}
