//! Random operations on one scheme or one congestion controller at a time, drawn from a seed.
//!
//! Where a scenario asks whether a network makes progress, this asks for what must hold whatever happens to an element,
//! also what no well-behaved network does: every packet is accounted for, nothing that an element does not understand is
//! changed, bounds are kept, timers move on, and the same operations give the same answers.

pub mod controller;
pub mod element;
mod oracle;
mod post;
mod rig;
mod traffic;
