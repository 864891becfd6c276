//! Live traffic: real kernel TCP between two namespaces, checked byte by byte.
//!
//! A flow is one connection with its congestion controller set explicitly, a sender thread
//! that also samples `TCP_INFO`, and a receiver thread that verifies every byte against the
//! function that made it and counts what arrived when. Both ends compute SHA-256, so an
//! unequal pair of hashes is a proof that something on the path changed content. Every wait is
//! bounded by the flow's deadline and ends at once when the flow is cancelled.
//!
//! | file | job |
//! |---|---|
//! | `flow` | what a flow is asked to do |
//! | `run` | starting and stopping it |
//! | `establish` | from two namespaces to a connected pair of sockets |
//! | `wrap` | starting just below the wrap of sequence numbers or timestamps |
//! | `sender`, `receiver` | the two loops |
//! | `result` | what a flow tells afterwards |
//! | `probe` | a ping beside the flows |
//! | `payload` | the content: a function of (seed, offset) |
//! | `files` | a file's worth of bytes with equal hashes, as a table cell |

mod establish;
pub mod files;
mod flow;
pub mod payload;
mod probe;
mod receiver;
mod result;
mod run;
mod sender;
mod wrap;

pub use flow::{Amount, FlowSpec, Progress, TrafficError};
pub use probe::{ProbeResult, ProbeSpec, RunningProbe, start_probe};
pub use result::{FlowResult, Outcome, RttPercentiles, Sample, hex};
pub use run::{RunningFlow, start};
pub use wrap::{Wrap, Wrapped};
