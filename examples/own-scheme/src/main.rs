//! The airtcp command with our scheme, controller and socket beside the built-in ones.
#![forbid(unsafe_code)]

use airtcp::Tables;
use own_scheme::{ack_thinner, fixed_window, gentle, half_rate};
use std::process::ExitCode;

fn main() -> ExitCode {
    airtcp::main_with(Tables {
        schemes: vec![ack_thinner::ENTRY, half_rate::ENTRY],
        controllers: vec![gentle::ENTRY],
        sockets: vec![fixed_window::ENTRY],
    })
}
