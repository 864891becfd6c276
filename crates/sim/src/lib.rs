//! The deterministic simulator: virtual time over any graph of nodes and links.
//!
//! One event queue owns time. A link contributes at most one pending event (its next arrival)
//! and an element at most one (its next timeout, re-armed lazily), and packets pass plain links
//! without any, so a run costs little more than the packets themselves. Every run is checked while it goes on: conservation of packets,
//! byte-exact streams, and the bounds that elements state. The same seed gives the same trace,
//! bit for bit, in debug and release, whatever runs beside it.
#![forbid(unsafe_code)]

mod address;
mod air;
mod approach;
mod belief;
mod blocks;
mod build;
mod check;
mod control;
mod digest;
pub mod dot11;
mod element;
mod engine;
mod error;
mod events;
mod express;
mod fetch;
mod finish;
mod guard;
mod host;
mod index;
mod io;
mod levels;
mod look_ahead;
mod network;
mod outcome;
mod path;
mod pipe;
pub mod queue;
mod rounds;
mod routes;
mod run;
mod sample;
mod settings;
mod spares;
mod tap;
mod topology;
mod upcoming;

pub use belief::Belief;
pub use error::SimError;
pub use index::{ElementId, InterfaceId, LinkId, NodeId, WlanId};
pub use levels::Level;
pub use outcome::{
    Checks, Drop, ElementOutcome, FlowOutcome, LevelSample, Mark, Outcome, Percentiles, ProbeOutcome, QueueOutcome,
    RequestOutcome, Sample, SchemeOutcome, WlanOutcome, WorkloadOutcome,
};
pub use settings::RunSettings;
pub use tap::{Direction, Tap};
pub use topology::{Arrival, Flow, On, Probe, Topology, Workload};
