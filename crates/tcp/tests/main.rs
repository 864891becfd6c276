//! Every integration test of this crate in one binary: it links once, and all its tests share the cores.

mod classic;
mod controllers;
mod habits;
mod harness;
mod marks;
mod newzag;
mod one_segment;
mod properties;
mod protocol;
mod recovery;
mod silence;
mod transfer;
mod validation;
