//! The `airtcp` command, one file per verb.
//!
//! A crate outside the workspace makes a command with its own schemes, controllers and sockets beside the built-in ones:
//! `airtcp::main_with(Tables { schemes: vec![my::ENTRY], ..Default::default() })`.
//!
//! Results go to stdout, logs and progress to stderr. Exit code 0: done; 1: something failed; 2: bad usage or input;
//! 130: interrupted.
#![forbid(unsafe_code)]

mod capture;
pub mod forward_file;
pub mod gateway_file;
mod interrupt;
pub mod live;
mod log;
mod machine;
mod output;
mod own_program;
mod service;
mod settings_file;
mod timed;
mod verbs;

use airtcp_experiment::Catalogue;
use airtcp_schemes::SchemeEntry;
use airtcp_schemes::socket::SocketEntry;
use airtcp_tcp::congestion::ControllerEntry;
use clap::{CommandFactory, Parser};
use output::say;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Schemes, controllers and sockets to add to the built-in ones.
#[derive(Clone, Default)]
pub struct Tables {
    /// Schemes.
    pub schemes: Vec<SchemeEntry>,
    /// Congestion controllers, for the simulator.
    pub controllers: Vec<ControllerEntry>,
    /// Sockets, for the simulator.
    pub sockets: Vec<SocketEntry>,
}

/// TCP made fast over wireless links, and proved.
#[derive(Debug, Parser)]
#[command(name = "airtcp", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    verb: verbs::Verb,
}

/// Gateways and forwarders for routers: airtcp without its simulator.
#[derive(Debug, Parser)]
#[command(name = "airtcpd", version, max_term_width = 100)]
struct DaemonArguments {
    #[command(subcommand)]
    verb: verbs::RouterVerb,
}

/// How a verb can fail.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for something that makes no sense: exit code 2.
    Input(anyhow::Error),
    /// It was not done, or what it found is bad: exit code 1.
    Failed(anyhow::Error),
    /// Everything to say has been said; exit with this code.
    Code(u8),
}

impl Failure {
    /// The user's input is at fault.
    pub(crate) fn input(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Input(error.into())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Failed(error.into())
    }
}

/// Runs the command named by the process's arguments, with `tables` added to the built-in ones.
pub fn main_with(tables: Tables) -> ExitCode {
    let arguments = match parse::<Arguments>() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    output::start_log();
    let schemes: Vec<SchemeEntry> = airtcp_schemes::SCHEMES.iter().copied().chain(tables.schemes).collect();
    let built_in = airtcp_tcp::congestion::CONTROLLERS;
    let controllers: Vec<ControllerEntry> = built_in.iter().copied().chain(tables.controllers).collect();
    let sockets: Vec<SocketEntry> = airtcp_schemes::SOCKETS.iter().copied().chain(tables.sockets).collect();
    let catalogue = Catalogue { schemes: &schemes, controllers: &controllers, sockets: &sockets };
    exit_code(arguments.verb.run(&catalogue))
}

/// Runs the command of the small program, with the built-in schemes.
pub fn daemon_main() -> ExitCode {
    // A router's memory is short. A kernel that does not know how has no huge pages either.
    let _ = airtcp_linux::sys::process::forgo_huge_pages();
    match parse::<DaemonArguments>() {
        Ok(arguments) => {
            output::start_plain_log();
            exit_code(arguments.verb.run(&Catalogue::BUILT_IN))
        }
        Err(code) => code,
    }
}

/// Both commands as clap describes them, for manual pages and completions.
pub fn commands() -> [clap::Command; 2] {
    [Arguments::command(), DaemonArguments::command()]
}

/// The process's arguments, or what to exit with.
fn parse<A: Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        // Help and version are no errors: clap tells them apart.
        let code = u8::try_from(error.exit_code()).unwrap_or(2);
        match error.print() {
            Err(error) if error.kind() != ErrorKind::BrokenPipe && code == 0 => ExitCode::FAILURE,
            _ => ExitCode::from(code),
        }
    })
}

fn exit_code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => match output::lost() {
            None => ExitCode::SUCCESS,
            Some(reason) => {
                say!("airtcp: cannot write the output: {reason}");
                ExitCode::FAILURE
            }
        },
        Err(Failure::Code(code)) => ExitCode::from(code),
        Err(Failure::Input(error)) => {
            say!("airtcp: {error:#}");
            ExitCode::from(2)
        }
        Err(Failure::Failed(error)) => {
            say!("airtcp: {error:#}");
            ExitCode::FAILURE
        }
    }
}
