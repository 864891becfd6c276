//! The reports of both ends of a stream put together.

use super::flow::{FlowSpec, Progress};
use super::receiver::Received;
use super::result::{self, FlowResult, Outcome};
use super::sender::Sent;
use airtcp_core::Duration;

/// What became of a flow whose sender was connected at `connected_at`.
pub(super) fn combine(
    spec: &FlowSpec,
    progress: &Progress,
    connected_at: Duration,
    mut sent: Sent,
    received: Received,
) -> FlowResult {
    let outcome = outcome(sent.outcome.take(), sent.bytes, &received, progress.is_cancelled());
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

/// How the stream ended. Of a cancelled one each end stops by itself, so the other may see its
/// connection break: that was the cancellation.
fn outcome(of_sender: Option<Outcome>, sent_bytes: u64, received: &Received, is_cancelled: bool) -> Outcome {
    if received.closed_in_order && received.bytes == sent_bytes {
        return Outcome::Complete;
    }
    match of_sender {
        Some(Outcome::Broken(_)) | None if is_cancelled => Outcome::Cancelled,
        Some(outcome) => outcome,
        None => Outcome::Broken(received.error.clone().unwrap_or_else(|| "stream cut".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_breaks_because_the_other_end_was_cancelled_was_cancelled() {
        let part = Received { bytes: 10, ..Received::default() };
        let broken = || Some(Outcome::Broken("Broken pipe".into()));
        assert_eq!(outcome(broken(), 20, &part, true), Outcome::Cancelled);
        assert_eq!(outcome(None, 20, &part, true), Outcome::Cancelled);
        assert_eq!(outcome(Some(Outcome::TimedOut), 20, &part, true), Outcome::TimedOut);
        assert_eq!(outcome(broken(), 20, &part, false), broken().expect("it is one"));
        assert_eq!(outcome(None, 20, &part, false), Outcome::Broken("stream cut".into()));
        let whole = Received { bytes: 20, closed_in_order: true, ..Received::default() };
        assert_eq!(outcome(None, 20, &whole, true), Outcome::Complete);
    }
}
