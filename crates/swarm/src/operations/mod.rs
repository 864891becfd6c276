//! Random operations on one scheme or one congestion controller at a time, drawn from a seed.
//!
//! A scenario tests whether a network makes progress. This tests what must hold whatever happens to an element, even if
//! no well-behaved network does it: every packet is accounted for, nothing that an element does not understand is
//! changed, bounds are kept, timers move on, and the same operations give the same answers.

pub mod controller;
pub mod element;
mod lies;
mod oracle;
mod post;
mod rig;
mod traffic;
