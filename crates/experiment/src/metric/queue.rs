//! The queues before links, and how long packets wait between hosts.

use super::{Combine, Members, Metric, PerRun, Run, Unit};
use crate::world::{Drops, Percentiles, RunOutcome};
use airtcp_core::DropReason;

pub(super) const METRICS: &[Metric] = &[
    metric(
        "queue.drops",
        "dropped by queues",
        PACKETS,
        "packets that queues dropped for want of room or to slow their senders, schemes' own queues included",
        |run, _| Some(dropped_by_queues(run.outcome) as f64),
    ),
    of_headers(
        "queue.header_drops",
        "headers dropped",
        PACKETS,
        "of what the queues before links dropped: header packets of TCP Decoupling, known by their DSCP",
        |run, _| Some(dropped_by_links(run.outcome).0 as f64),
    ),
    of_headers("queue.data_drops", "data dropped", PACKETS, "of the same: everything else", |run, _| {
        Some(dropped_by_links(run.outcome).1 as f64)
    }),
    metric(
        "queue.bytes_max",
        "longest queue",
        Unit::Kilobytes,
        "most IP bytes that waited before any link; in the simulator only",
        |run, _| Some(run.outcome.queue?.bytes_max as f64),
    ),
    metric(
        "queue.first_drop_ns",
        "first drop",
        Unit::Seconds,
        "when a queue dropped first; in the simulator only",
        |run, _| Some(run.outcome.queue?.first_drop?.as_nanos() as f64),
    ),
    metric(
        "queue.headers_max",
        "most headers waiting",
        Unit::Count(""),
        "most header packets that waited in a header-first queue",
        |run, _| Some(run.outcome.queue?.headers_max? as f64),
    ),
    Metric {
        combine: Combine::Decimals(3),
        ..metric(
            "queue.headers_mean",
            "headers waiting",
            Unit::Mean,
            "how many waited on average over the run",
            |run, _| run.outcome.queue?.headers_mean,
        )
    },
    wait(
        "path.data_wait_ns.p50",
        "data wait p50",
        "what segments with data took beyond the shortest passage of the run, median; live only",
        |run, _| data_wait(run, |p| p.p50),
    ),
    wait("path.data_wait_ns.p95", "data wait p95", "95th percentile of the same", |run, _| data_wait(run, |p| p.p95)),
    wait("path.data_wait_ns.p99", "data wait p99", "99th percentile of the same", |run, _| data_wait(run, |p| p.p99)),
    wait("path.ack_wait_ns.p50", "ack wait p50", "the same of bare acknowledgments, median; live only", |run, _| {
        ack_wait(run, |p| p.p50)
    }),
    wait("path.ack_wait_ns.p95", "ack wait p95", "95th percentile of the same", |run, _| ack_wait(run, |p| p.p95)),
    wait("path.ack_wait_ns.p99", "ack wait p99", "99th percentile of the same", |run, _| ack_wait(run, |p| p.p99)),
    wait(
        "path.round_trip_ns.p50",
        "round trip p50",
        "from a segment to the echo of its timestamp, median; live only",
        |run, _| round_trip(run, |p| p.p50),
    ),
    wait("path.round_trip_ns.p95", "round trip p95", "95th percentile of the same", |run, _| {
        round_trip(run, |p| p.p95)
    }),
    wait("path.round_trip_ns.p99", "round trip p99", "99th percentile of the same", |run, _| {
        round_trip(run, |p| p.p99)
    }),
];

const PACKETS: Unit = Unit::Count("packets");

const fn metric(name: &'static str, title: &'static str, unit: Unit, about: &'static str, per_run: PerRun) -> Metric {
    Metric { name, title, unit, about, per_run, combine: Combine::Count, members: Members::None }
}

/// Left out of the summary where no queue tells headers from data.
const fn of_headers(
    name: &'static str,
    title: &'static str,
    unit: Unit,
    about: &'static str,
    per_run: PerRun,
) -> Metric {
    Metric { combine: Combine::CountIf(has_headers), ..metric(name, title, unit, about, per_run) }
}

const fn wait(name: &'static str, title: &'static str, about: &'static str, per_run: PerRun) -> Metric {
    Metric { combine: Combine::Whole, ..metric(name, title, Unit::Millis, about, per_run) }
}

type Percentile = fn(Percentiles) -> u64;

fn data_wait(run: &Run<'_>, of: Percentile) -> Option<f64> {
    Some(of(run.outcome.path?.data_wait) as f64)
}

fn ack_wait(run: &Run<'_>, of: Percentile) -> Option<f64> {
    Some(of(run.outcome.path?.ack_wait) as f64)
}

fn round_trip(run: &Run<'_>, of: Percentile) -> Option<f64> {
    Some(of(run.outcome.path?.round_trip) as f64)
}

/// Packets that queues dropped, for want of room or to slow their senders, anywhere.
fn dropped_by_queues(run: &RunOutcome) -> u64 {
    run.drops.iter().filter(|drop| is_of_a_queue(drop)).map(|drop| drop.packets).sum()
}

/// What the queues before links dropped: header packets of TCP Decoupling, and all else. (DEC-23, DEC-C21)
fn dropped_by_links(run: &RunOutcome) -> (u64, u64) {
    let of_links = run.drops.iter().filter(|drop| drop.place.starts_with("links.") && is_of_a_queue(drop));
    of_links.fold((0, 0), |(headers, others), drop| (headers + drop.headers, others + drop.packets - drop.headers))
}

fn has_headers(run: &RunOutcome) -> bool {
    dropped_by_links(run).0 > 0 || run.queue.is_some_and(|queue| queue.headers_max.is_some())
}

fn is_of_a_queue(drop: &Drops) -> bool {
    [DropReason::QUEUE_FULL, DropReason::AQM].iter().any(|reason| reason.label() == drop.reason)
}
