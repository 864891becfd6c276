//! The reliable decoupling socket for applications that know nothing of it (DEC-30): two daemons between which the TCP
//! connections of other programs run as data TCPs over circuits of control TCPs.
//!
//! ```text
//! application ── kernel TCP ── forwarder ══ one UDP 5-tuple ══ forwarder ── kernel TCP ── application
//!                              data TCP ─── data, header packets, ACKs ──► data TCP
//! ```
//!
//! - Without I/O: [`frame`] and [`record`] are what is written, [`seal`] says what is the peer's, [`mod@line`] is one connection,
//!   [`exchange`] all of them; [`stream`] is one stream of datagrams (DEC-29), [`streams`] all of them.
//! - With it: [`daemon`] is the loop, [`application`] a kernel socket, [`resolver`] looks names up, [`association`] says who the
//!   peer is, [`status`] what is told.

mod application;
mod association;
pub mod check;
pub mod config;
mod control_starts;
pub mod daemon;
pub mod exchange;
mod frame;
mod goodbye;
pub mod line;
mod line_key;
pub mod opening;
pub mod pump;
#[cfg(test)]
mod random_operations_tests;
pub mod record;
mod renewed;
mod resolver;
mod seal;
pub mod settings;
pub mod status;
pub mod stream;
pub mod streams;
#[cfg(test)]
mod streams_tests;
mod tallies;

pub use config::{Config, ConfigError};
pub use line_key::LineKey;
pub use status::Status;
pub use tallies::Tallies;
