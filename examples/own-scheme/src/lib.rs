//! A scheme and a congestion controller of our own, added to airtcp without touching it.
#![forbid(unsafe_code)]

pub mod ack_thinner;
pub mod gentle;
