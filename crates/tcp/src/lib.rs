//! A TCP endpoint without I/O and without a clock: segments and time come in
//! ([`Connection::handle_segment`], [`Connection::handle_timeout`]), segments and a deadline are
//! pulled out ([`Connection::poll_transmit`], [`Connection::poll_timeout`]), reads and writes are
//! bounded. A simulated host, a split proxy and a test drive it alike.
//!
//! Positions in a stream are 64-bit offsets from the initial sequence number inside, and become
//! 32-bit sequence numbers on the wire only, so a wrap is no special case. Loss detection
//! ([`RecoveryKind`]) and congestion control ([`congestion`]) are chosen per connection.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod block_queue;
mod config;
pub mod congestion;
mod connection;
mod range_set;
mod receiver;
mod records;
mod recovery;
mod rtt;
mod scoreboard;
mod sender;
mod sent;
mod sequence;
mod stats;
mod stream;
mod timers;

pub use config::{ByteCounting, Config, Habits, Holes, RecoveryKind, RtoRule, default_mss};
pub use connection::{CloseReason, Connection, Endpoint, Opening, Outlet, Patience, State, reset_reply};
pub use stats::Stats;
pub use stream::{Chunk, Stream};
