//! The small program for routers: gateways and forwarders, without the simulator.
#![forbid(unsafe_code)]

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// For packets, as in `main.rs`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    airtcp::daemon_main()
}
