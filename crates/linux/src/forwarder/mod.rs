//! The reliable decoupling socket for applications that know nothing of it (DEC-30): two daemons between which the TCP
//! connections of other programs run as data TCPs over circuits of control TCPs.
//!
//! ```text
//! application ── kernel TCP ── forwarder ══ one UDP 5-tuple ══ forwarder ── kernel TCP ── application
//!                              data TCP ─── data, header packets, ACKs ──► data TCP
//! ```
//!
//! - Without I/O: [`frame`] and [`record`] are what is written, [`seal`] says what is the peer's, [`line`] is one connection,
//!   [`exchange`] all of them.
//! - With it: the rest.

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
mod seal;
pub mod settings;
mod tallies;

pub use line_key::LineKey;
pub use tallies::Tallies;
