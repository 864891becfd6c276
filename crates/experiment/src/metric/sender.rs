//! What the senders of all flows did.

use super::table::metrics;
use super::{Combine, Members, Unit};
use crate::world::{FlowOutcome, RunOutcome};

metrics! { METRICS: Combine::Count, Members::None;
    /// data segments sent again in the measured time
    "sender.retransmitted_segments", "resent", Unit::Count("segments") =>
        |run, _| sum(run.outcome, |flow| Some(flow.retransmitted_segments));
    /// retransmission timeouts in the measured time
    "sender.rtos", "RTOs", Unit::Count("") => |run, _| sum(run.outcome, |flow| Some(flow.rtos));
    /// application bytes of which the senders know that they arrived
    "sender.acked_bytes", "acknowledged", Unit::Megabytes => |run, _| sum(run.outcome, |flow| Some(flow.acked_bytes));
    /// bytes that were acknowledged and that the receiver misses at the end; in the simulator only
    "sender.acknowledged_missing_bytes", "acknowledged, missing", Unit::Count("bytes") =>
        |run, _| sum(run.outcome, |flow| flow.acknowledged_missing);
}

fn sum(run: &RunOutcome, of: fn(&FlowOutcome) -> Option<u64>) -> Option<f64> {
    run.flows.iter().map(of).sum::<Option<u64>>().map(|sum| sum as f64)
}
