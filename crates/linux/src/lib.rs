//! Wall-clock time on Linux: devices, the gateway, the live link emulator, the testbed and congestion controllers in the
//! kernel.
//!
//! The only crate with `unsafe`, all of it in `sys`: thin wrappers over system calls, each
//! with one job. Everything above it is ordinary Rust that gets time, packets and messages
//! from the kernel and hands them to the same elements that run in the simulator.

pub mod bpf;
pub mod device;
pub mod doctor;
pub mod emulator;
pub mod finding;
pub mod forwarder;
pub mod gateway;
pub mod notice;
pub mod observe;
pub mod sys;
pub mod testbed;
pub mod traffic;

#[cfg(test)]
mod operations_page_tests;
#[cfg(test)]
mod packaging_tests;
