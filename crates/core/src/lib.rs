//! The vocabulary every part of airtcp shares: time, units, chance, packets, and the
//! [`Element`] contract between a scheme and the world it runs in.
//!
//! Nothing here can read a clock, open a socket or iterate a randomly seeded map: time and
//! randomness come in as arguments, so the same scheme runs bit-identically in the simulator
//! and unchanged on real packets.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod control;
pub mod element;
pub mod event;
pub mod flow_table;
#[doc(hidden)]
pub mod fuzzing;
mod given;
pub mod initial_sequence;
pub mod label;
pub mod ledger;
pub mod packet;
pub mod parameters;
pub mod port;
pub mod reason;
mod refusal;
pub mod rng;
pub mod serial;
pub mod testing;
pub mod time;
pub mod units;
mod value;

pub use element::{
    Acquaintance, Backlog, Context, Element, HeldFlow, Io, Legacy, Outcome, OwnSegments, Peer, Token, Traffic, TxStatus,
};
pub use event::{Event, Gauge};
pub use given::Given;
pub use ledger::{Balance, Counts, Ledger, count_bytes, count_one};
pub use packet::{
    CONTROL_DSCP, Ecn, Fields, FlowKey, IpHeader, Packet, Payload, SackBlocks, Segment, TakenShim, TcpFlags, TcpHeader,
    TcpOptions, Timestamps,
};
pub use port::Port;
pub use reason::{CreateReason, DropReason};
pub use rng::Rng;
pub use serial::SeqNum;
pub use time::{Duration, Instant};
pub use units::{ByteSize, Probability, Rate, UnitError, Units};
pub use value::{Value, ValueError, ValueType};
