//! The airtcp command with the schemes and controllers of this workspace.
#![forbid(unsafe_code)]

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// The system's takes three times as long for an allocation of a packet's size.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    airtcp::main_with(airtcp::Tables::default())
}
