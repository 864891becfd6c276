//! A scheme, a congestion controller and a socket of our own, added to airtcp without touching it.
#![forbid(unsafe_code)]

pub mod ack_thinner;
pub mod fixed_window;
pub mod gentle;
pub mod half_rate;
