//! Every integration test of this crate in one binary: it links once, and all its tests share the cores.

mod canaries;
mod cells;
mod networks;
mod operations;
mod seeds;
