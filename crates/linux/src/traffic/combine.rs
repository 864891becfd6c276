//! The reports of both ends of a stream put together.

use super::flow::FlowSpec;
use super::receiver::Received;
use super::result::{self, FlowResult, Outcome};
use super::sender::Sent;
use airtcp_core::Duration;

/// What became of a flow whose sender was connected at `connected_at`.
pub(super) fn combine(spec: &FlowSpec, connected_at: Duration, mut sent: Sent, received: Received) -> FlowResult {
    let complete = received.closed_in_order && received.bytes == sent.bytes;
    let outcome = match sent.outcome.take() {
        _ if complete => Outcome::Complete,
        Some(outcome) => outcome,
        None => Outcome::Broken(received.error.clone().unwrap_or_else(|| "stream cut".into())),
    };
    let last = sent.samples.last().map(|sample| sample.info).unwrap_or_default();
    FlowResult {
        name: spec.name.clone(),
        outcome,
        opened_at: None,
        connected_at: Some(connected_at),
        last_byte_at: received.last_at,
        sent_bytes: sent.bytes,
        received_bytes: received.bytes,
        window: spec.window,
        window_bytes: received.window_bytes,
        received_series: received.series,
        retransmitted_segments: last.retransmitted_segments.into(),
        window_retransmitted_segments: result::window_retransmissions(&sent.samples, spec.window),
        retransmitted_bytes: last.retransmitted_bytes,
        timeouts: last.timeouts.map(u64::from),
        rtt: result::rtt_percentiles(&sent.samples, spec.window),
        longest_stall: received.longest_stall,
        sender_sha256: sent.hash_of_first(spec.seed, received.bytes),
        receiver_sha256: received.hash,
        wrapped: sent.wrapped,
        datagrams: None,
        first_wrong_byte: received.first_wrong_byte,
        samples: sent.samples,
    }
}
