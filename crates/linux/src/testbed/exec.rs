//! Programs in a node's namespace: gateways, iperf3, whatever a user wants to try.
//!
//! Run through `ip netns exec`, which also gives the program a /sys of that namespace, and
//! replaces itself by the program, so the process id is the program's own.
//!
//! A program does not survive the process that started it. To be found in its namespace is not enough for that: until `ip`
//! has entered the namespace it is nowhere to be found, and a process that is killed just then cannot tell anybody of it.

use super::TestbedError;
use crate::sys::process::{in_own_group, send_signal, spawn_not_to_survive};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A program to start.
#[derive(Clone, Debug)]
pub struct Exec {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    log: Option<PathBuf>,
    foreground: bool,
}

impl Exec {
    /// A program, found through PATH, that runs in the background and whose output is discarded.
    pub fn new(program: impl Into<OsString>) -> Self {
        Exec { program: program.into(), arguments: Vec::new(), environment: Vec::new(), log: None, foreground: false }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Writes standard output and error to a file.
    #[must_use]
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Gives it this process's terminal, input and output, for a program that a person uses.
    #[must_use]
    pub fn foreground(mut self) -> Self {
        self.foreground = true;
        self
    }

    pub(super) fn start(&self, namespace: &str) -> Result<Program, TestbedError> {
        let name = self.program.to_string_lossy().into_owned();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(&self.program).args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if !self.foreground {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // A group of its own: Ctrl-C reaches us first, and we end it in good order.
            in_own_group(&mut command);
        }
        if let Some(path) = &self.log {
            let action = || TestbedError::io(format!("write {}", path.display()));
            let file = File::create(path).map_err(action())?;
            command.stderr(file.try_clone().map_err(action())?).stdout(file);
        }
        let child =
            spawn_not_to_survive(command).map_err(TestbedError::io(format!("start '{name}' in {namespace}")))?;
        Ok(Program { child, name, log: self.log.clone() })
    }
}

/// How long a program may take to end by itself after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);

/// A program that runs in a node's namespace. Dropping it ends it: SIGTERM, half a second,
/// SIGKILL.
#[derive(Debug)]
pub struct Program {
    child: Child,
    name: String,
    log: Option<PathBuf>,
}

impl Program {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its output, if that goes to a file.
    pub fn log(&self) -> Option<&Path> {
        self.log.as_deref()
    }

    /// Sends it a signal, for example `libc::SIGSTOP`.
    pub fn signal(&self, signal: i32) -> Result<(), TestbedError> {
        send_signal(self.child.id(), signal)
            .map_err(TestbedError::io(format!("send signal {signal} to '{}'", self.name)))
    }

    /// Its exit status, if it has ended.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, TestbedError> {
        let name = &self.name;
        self.child.try_wait().map_err(TestbedError::io(format!("ask for the status of '{name}'")))
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Result<ExitStatus, TestbedError> {
        let name = &self.name;
        self.child.wait().map_err(TestbedError::io(format!("wait for '{name}'")))
    }

    /// Waits for its end, at most `limit`; `None` if it still runs.
    pub fn wait_at_most(&mut self, limit: Duration) -> Result<Option<ExitStatus>, TestbedError> {
        const STEP: Duration = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        loop {
            let status = self.status()?;
            if status.is_some() || waited >= limit {
                return Ok(status);
            }
            std::thread::sleep(STEP);
            waited += STEP;
        }
    }

    /// Asks it to end, and makes it after half a second.
    pub fn stop(&mut self) -> Result<ExitStatus, TestbedError> {
        if let Some(status) = self.status()? {
            return Ok(status);
        }
        self.signal(libc::SIGTERM)?;
        // A stopped process does not see SIGTERM before it goes on.
        self.signal(libc::SIGCONT)?;
        if let Some(status) = self.wait_at_most(GRACE)? {
            return Ok(status);
        }
        self.signal(libc::SIGKILL)?;
        self.wait()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            tracing::warn!("{error}");
        }
    }
}
