//! The airtcp command with the schemes and controllers of this workspace.
#![forbid(unsafe_code)]

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// glibc keeps no list of free blocks for a packet's size: its lists for threads end at 1032 bytes.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    airtcp::main_with(airtcp::Tables::default())
}
