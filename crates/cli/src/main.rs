//! The airtcp command with the schemes and controllers of this workspace.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    airtcp::main_with(airtcp::Tables::default())
}
