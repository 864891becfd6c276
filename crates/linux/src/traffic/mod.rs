//! Live traffic between two namespaces, checked byte by byte: real kernel TCP, by itself and
//! in a WireGuard tunnel, UDP and QUIC.
//!
//! A TCP flow is one connection with its congestion controller set explicitly, a sender thread
//! that also samples `TCP_INFO`, and a receiver thread that verifies every byte against the
//! function that made it and counts what arrived when. Both ends compute SHA-256, so an
//! unequal pair of hashes is a proof that something on the path changed content. Every wait is
//! bounded by the flow's deadline, and ends within a tenth of a second of a cancellation.
//!
//! | file | job |
//! |---|---|
//! | `flow` | what a flow is asked to do |
//! | `run` | starting and stopping it |
//! | `establish` | from two namespaces to a connected pair of sockets |
//! | `datagrams` | a stream of numbered UDP datagrams |
//! | `quic` | a QUIC connection |
//! | `wireguard` | a tunnel around a TCP flow |
//! | `wrap` | starting just below the wrap of sequence numbers or timestamps |
//! | `sender`, `receiver` | the two loops |
//! | `combine` | what both ends of a stream say, put together |
//! | `result` | what a flow tells afterwards |
//! | `requests` | a workload: requests that begin when they are due, each over a connection of its own |
//! | `probe` | a ping beside the flows |
//! | `payload` | the content: a function of (seed, offset) |
//! | `files` | a file's worth of bytes with equal hashes, as a table cell |

mod combine;
mod datagrams;
mod establish;
pub mod files;
mod flow;
pub mod payload;
mod probe;
#[cfg(feature = "quic")]
mod quic;
mod receiver;
mod requests;
mod result;
mod run;
mod sender;
#[cfg(feature = "wireguard")]
mod wireguard;
mod wrap;

pub use flow::{Amount, Carrier, FlowSpec, Progress, Stream, TrafficError};
pub use probe::{ProbeResult, ProbeSpec, RunningProbe, start_probe};
pub use requests::{LEAST_REQUEST, RequestsResult, RequestsSpec, RunningRequests, start_requests};
pub use result::{DatagramResult, FlowResult, Outcome, RttPercentiles, Sample, hex};
pub use run::{RunningFlow, start};
pub use wrap::{Wrap, Wrapped};
