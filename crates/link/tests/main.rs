//! Every integration test of this crate in one binary: it links once, and all its tests share the cores.

mod codel;
mod common;
mod conservation;
mod ecn;
mod fq_codel;
mod header_first;
mod impairments;
mod queue_levels;
mod transmission;
mod varying;
