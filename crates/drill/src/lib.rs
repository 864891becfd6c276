//! Drills: scripts in packetdrill's notation, each a short story of one TCP socket, played against
//! our TCP in virtual time ([`Ours`], exact) and against the Linux kernel ([`Kernel`], as exact as
//! the machine is quiet). docs/drills.md describes the notation and lists known differences. [`random`] makes traces
//! instead of scripts.
#![forbid(unsafe_code)]

pub mod collection;
mod kernel;
mod ours;
pub mod random;
mod run;
mod script;
mod stack;
mod wire;

pub use kernel::Kernel;
pub use ours::Ours;
pub use run::{Difference, play};
pub use script::{Script, ScriptError};
pub use stack::Stack;
