//! Schemes to compare with, each at one box of the path: what their papers were measured against,
//! and what an operator might have tried instead. `docs/baselines.md` says where each one sits and
//! what it cannot do.
//!
//! They share the classification of acknowledgments ([`acks`]) and the queue before the link
//! ([`queue`]); nothing of them is shared with the systems under test.

mod acks;
pub mod delayed_dupacks;
pub mod eln;
mod queue;
pub mod snoop;
#[cfg(test)]
mod testing;
