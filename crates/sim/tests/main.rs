//! Every integration test of this crate in one binary: it links once, and all its tests share the cores.

mod as_tcp;
mod baselines;
mod beliefs;
mod circuits;
mod common;
mod decoupling;
mod decoupling_routers;
mod decoupling_shares;
mod decoupling_socket;
mod decoupling_streams;
mod determinism;
mod express;
mod fast_tcp;
mod fewer_acks;
mod files;
mod gsnoop;
mod gsnoop_paper;
mod hop_baselines;
mod matrix;
mod newzag;
mod no_end;
mod probes;
mod queues;
mod tap;
mod wlan;
mod workloads;
