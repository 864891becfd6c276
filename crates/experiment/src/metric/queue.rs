//! The queues before links, and how long packets wait between hosts.

use super::table::metrics;
use super::{Combine, Members, Run, Unit};
use crate::world::{Drops, Percentiles, RunOutcome};
use airtcp_core::DropReason;

const PACKETS: Unit = Unit::Count("packets");
/// Left out of the summary where no queue tells headers from data.
const WITH_HEADERS: Combine = Combine::CountIf(has_headers);

metrics! { METRICS: Combine::Count, Members::None;
    /// packets that queues dropped for want of room or to slow their senders, schemes' own queues included
    "queue.drops", "dropped by queues", PACKETS => |run, _| Some(dropped_by_queues(run.outcome) as f64);
    /// of what the queues before links dropped: header packets of TCP Decoupling, known by their DSCP
    "queue.header_drops", "headers dropped", PACKETS, WITH_HEADERS => |run, _| Some(dropped_by_links(run.outcome).0 as f64);
    /// of the same: everything else
    "queue.data_drops", "data dropped", PACKETS, WITH_HEADERS => |run, _| Some(dropped_by_links(run.outcome).1 as f64);
    /// most IP bytes that waited before any link; in the simulator only
    "queue.bytes_max", "longest queue", Unit::Kilobytes => |run, _| Some(run.outcome.queue?.bytes_max as f64);
    /// when a queue dropped first; in the simulator only
    "queue.first_drop_ns", "first drop", Unit::Seconds =>
        |run, _| Some(run.outcome.queue?.first_drop?.as_nanos() as f64);
    /// most header packets that waited in a header-first queue
    "queue.headers_max", "most headers waiting", Unit::Count("") => |run, _| Some(run.outcome.queue?.headers_max? as f64);
    /// how many waited on average over the run
    "queue.headers_mean", "headers waiting", Unit::Mean, Combine::Decimals(3) => |run, _| run.outcome.queue?.headers_mean;
}

metrics! { WAITS: Combine::Whole, Members::None;
    /// what segments with data took beyond the shortest passage of the run, median; live only
    "path.data_wait_ns.p50", "data wait p50", Unit::Millis => |run, _| data_wait(run, |p| p.p50);
    /// 95th percentile of the same
    "path.data_wait_ns.p95", "data wait p95", Unit::Millis => |run, _| data_wait(run, |p| p.p95);
    /// 99th percentile of the same
    "path.data_wait_ns.p99", "data wait p99", Unit::Millis => |run, _| data_wait(run, |p| p.p99);
    /// the same of bare acknowledgments, median; live only
    "path.ack_wait_ns.p50", "ack wait p50", Unit::Millis => |run, _| ack_wait(run, |p| p.p50);
    /// 95th percentile of the same
    "path.ack_wait_ns.p95", "ack wait p95", Unit::Millis => |run, _| ack_wait(run, |p| p.p95);
    /// 99th percentile of the same
    "path.ack_wait_ns.p99", "ack wait p99", Unit::Millis => |run, _| ack_wait(run, |p| p.p99);
    /// from a segment to the echo of its timestamp, median; live only
    "path.round_trip_ns.p50", "round trip p50", Unit::Millis => |run, _| round_trip(run, |p| p.p50);
    /// 95th percentile of the same
    "path.round_trip_ns.p95", "round trip p95", Unit::Millis => |run, _| round_trip(run, |p| p.p95);
    /// 99th percentile of the same
    "path.round_trip_ns.p99", "round trip p99", Unit::Millis => |run, _| round_trip(run, |p| p.p99);
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
