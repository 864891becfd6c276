//! What became of a workload's requests, put together: times and slowdowns by size.
//!
//! One without an answer at the run's end counts as longer than any that came (as a probe's datagram does, RFC 2681, 5.1):
//! it took the whole measured time.

use super::super::{ResolvedScenario, WorkloadSpec};
use super::Ideal;
use crate::world::{Percentiles, RequestClass, WorkloadOutcome};
use airtcp_core::Duration;

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it was due, since the start of the run.
    pub at: Duration,
    /// Bytes of its answer.
    pub size: u64,
    /// From then to the last byte of the answer; `None` if that did not come.
    pub took: Option<Duration>,
}

/// Name of each class, and the size below which a request is in it. The first fits into an initial window of ten segments.
const CLASSES: [(&str, u64); 3] = [("short", 15_000), ("medium", 150_000), ("long", u64::MAX)];

/// Slowdowns are kept in thousandths.
const THOUSANDTHS: u128 = 1000;

/// All of `requests`, of which those count that begin in the measured part of the run. `window_bytes` came in it, and at
/// most `most_open` connections were open at one time.
pub fn outcome(
    scenario: &ResolvedScenario,
    workload: &WorkloadSpec,
    requests: &[Request],
    (window_bytes, most_open): (u64, u64),
) -> WorkloadOutcome {
    let (from, until) = workload.counted(scenario.warmup, scenario.duration);
    let ideal = Ideal::of(scenario, workload);
    let counted: Vec<Request> =
        requests.iter().copied().filter(|request| (from..until).contains(&request.at)).collect();
    let class = |name: &str, (smallest, below): (u64, u64)| {
        let of_class = counted.iter().filter(|request| (smallest..below).contains(&request.size));
        class(name, &of_class.copied().collect::<Vec<_>>(), ideal, scenario.measured())
    };
    let mut smallest = 0;
    let classes = CLASSES.map(|(name, below)| class(name, (std::mem::replace(&mut smallest, below), below)));
    WorkloadOutcome {
        name: workload.name.clone(),
        window_bytes,
        window_start: scenario.warmup,
        window: scenario.measured(),
        most_open,
        all: class("all", (0, u64::MAX)),
        classes: classes.into(),
    }
}

fn class(name: &str, requests: &[Request], ideal: Option<Ideal>, measured: Duration) -> RequestClass {
    let took = |request: &Request| request.took.unwrap_or(measured).as_nanos();
    let slowdown = |ideal: Ideal| {
        let of = |request: &Request| {
            let nanos = u128::from(took(request)) * THOUSANDTHS;
            (nanos / u128::from(ideal.time(request.size).as_nanos().max(1))) as u64
        };
        percentiles(requests.iter().map(of).collect())
    };
    RequestClass {
        name: name.to_owned(),
        requests: requests.len() as u64,
        unfinished: requests.iter().filter(|request| request.took.is_none()).count() as u64,
        completion: percentiles(requests.iter().map(took).collect()),
        slowdown: ideal.and_then(slowdown),
    }
}

/// By nearest rank; `None` for none.
fn percentiles(mut values: Vec<u64>) -> Option<Percentiles> {
    values.sort_unstable();
    let at = |per_cent: usize| values.get((values.len() * per_cent).div_ceil(100).checked_sub(1)?).copied();
    Some(Percentiles { p50: at(50)?, p95: at(95)?, p99: at(99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_answer_took_the_whole_measured_time() {
        let ms = Duration::from_millis;
        let request = |took| Request { at: ms(0), size: 100, took };
        let mut requests = vec![request(Some(ms(10))); 96];
        requests.extend([request(None); 4]);
        let class = class("short", &requests, None, ms(20_000));
        assert_eq!((class.requests, class.unfinished, class.slowdown), (100, 4, None));
        let times = class.completion.unwrap();
        assert_eq!((times.p50, times.p95, times.p99), (10_000_000, 10_000_000, 20_000_000_000));
        assert_eq!(percentiles(Vec::new()), None);
    }
}
