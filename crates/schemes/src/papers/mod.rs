//! The schemes of the papers that this house is about, a folder each. None builds on a baseline: what they share stands
//! beside the two folders.

pub mod as_tcp;
pub mod decoupling;
pub mod fast_tcp;
pub mod gsnoop;
