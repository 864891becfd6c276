//! A file's worth of bytes across the testbed, with the SHA-256 of both ends.
//!
//! The content comes from the pattern, not from a disk: what counts is that it is incompressible,
//! differs from seed to seed, and is hashed independently where it is sent and where it arrives.

use super::flow::{Amount, FlowSpec, TrafficError};
use super::result::{FlowResult, Outcome, hex};
use super::run;
use airtcp_core::Instant;
use std::fmt;

/// The verdict on one transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Bytes that were to arrive.
    pub asked_bytes: u64,
    /// The flow behind it.
    pub flow: FlowResult,
}

/// Runs the transfers of one cell side by side and waits for all of them. Each spec must ask
/// for [`Amount::Bytes`]; others count as asked for 0 bytes.
pub fn transfer(specs: Vec<FlowSpec>, origin: Instant) -> Result<Vec<Transfer>, TrafficError> {
    let running: Vec<_> = specs
        .into_iter()
        .map(|spec| {
            let asked_bytes = match spec.amount {
                Amount::Bytes(bytes) => bytes,
                Amount::Until(_) => 0,
            };
            run::start(spec, origin).map(|flow| (asked_bytes, flow))
        })
        .collect::<Result<_, _>>()?;
    running.into_iter().map(|(asked_bytes, flow)| Ok(Transfer { asked_bytes, flow: flow.join()? })).collect()
}

impl Transfer {
    /// True when every byte arrived, unchanged and once.
    pub fn is_equal(&self) -> bool {
        self.flow.outcome == Outcome::Complete
            && self.flow.received_bytes >= self.asked_bytes
            && self.flow.stream_is_intact()
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = &self.flow;
        write!(
            f,
            "{}: {} of {} bytes, sent {} received {} {}",
            flow.name,
            flow.received_bytes,
            self.asked_bytes,
            hex(&flow.sender_sha256),
            hex(&flow.receiver_sha256),
            if self.is_equal() { "equal" } else { "DIFFERENT" },
        )?;
        if let Some(offset) = flow.first_wrong_byte {
            write!(f, ", first wrong byte at {offset}")?;
        }
        match &flow.outcome {
            Outcome::Complete => Ok(()),
            other => write!(f, ", {other:?}"),
        }
    }
}
