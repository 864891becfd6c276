//! A whole gateway in a page: the supervisor, the worker and the scheme that the configuration
//! names, or, for the scheme `forward`, an element that passes everything on. Tests and
//! benchmarks run it; `--unseen` leaves out the element too and gives the yardstick for packets
//! per second.
//!
//! `airtcp-bare-gateway CONFIG.json [--unseen | --check | --dry-run]`
//!
//! Its workers are of the program that the variable `AIRTCP_BARE_WORKER` names, if it is set: tests have them fail.

use airtcp_linux::gateway::bare::BareForwarder;
use airtcp_linux::gateway::scheme::{self, Scheme};
use airtcp_linux::gateway::supervisor::{self, Host, Report, Upgrade};
use airtcp_linux::gateway::worker::{self, Mode};
use airtcp_linux::gateway::{Config, check, inspect, plan, upgrade};
use airtcp_schemes::{Reports, SCHEMES};
use mimalloc::MiMalloc;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// As in the airtcp command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("worker") => {
            // The supervisor reports a worker's failure.
            let make = |config: &Config| match config.scheme.as_str() {
                "forward" => Ok(Scheme {
                    element: Box::new(BareForwarder),
                    reports: Reports::NONE,
                    mode: String::new(),
                    may_be_replaced: true,
                }),
                _ => scheme::make(SCHEMES, config),
            };
            return ExitCode::from(u8::from(worker::main(&make).is_err()));
        }
        Some(path) => run(path, arguments.get(1).map_or("", String::as_str)),
        None => Err("name the configuration, a JSON file".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn read(path: &str) -> Result<Config, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))
}

/// A gateway whose file is JSON, and whose log is for tests to read.
struct Daemon {
    path: String,
    program: PathBuf,
}

fn worker_of(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("worker");
    command
}

impl Host for Daemon {
    fn worker(&mut self) -> Command {
        let planted = std::env::var_os("AIRTCP_BARE_WORKER").map(PathBuf::from);
        worker_of(planted.as_deref().unwrap_or("/proc/self/exe".as_ref()))
    }

    fn reload(&mut self) -> Result<Config, String> {
        read(&self.path)
    }

    fn upgrade(&mut self) -> Result<Upgrade, String> {
        let daemon = upgrade::checked(&self.program, &[self.path.clone().into(), "--check".into()], &mut || {})?;
        Ok(Upgrade { daemon, worker: worker_of(&self.program) })
    }

    fn report(&mut self, report: Report) {
        let _ = writeln!(std::io::stderr(), "{report:?}");
    }
}

fn run(path: &str, option: &str) -> Result<(), String> {
    let config = read(path)?;
    let mode = match option {
        "--check" => {
            let findings = check(&config);
            findings.iter().for_each(|f| println!("{:?}: {} {}", f.level, f.what, f.fix));
            return inspect::refusal(&findings).map_or(Ok(()), Err);
        }
        "--dry-run" => {
            print!("{}", plan(&config).map_err(|error| error.to_string())?);
            return Ok(());
        }
        "--unseen" => Mode::Bare,
        _ => Mode::Scheme,
    };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut daemon = Daemon { path: path.to_owned(), program };
    supervisor::run(&config, mode, &mut daemon).map_err(|error| error.to_string())
}
