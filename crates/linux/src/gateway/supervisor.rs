//! The process that looks after the worker: starts it, listens to its heartbeats, kills and
//! restarts one that is silent, and takes everything down at the end.
//!
//! The worker dies with the supervisor (the kernel sees to it), so there is never a worker
//! without one. The supervisor touches no packet and holds no device.

use super::config::{self, Config, ConfigError};
use super::confine;
use super::divert;
use super::inspect;
use super::worker::{Mode, Orders};
use crate::sys::directory::PrivateDirectory;
use crate::sys::poll::PollSet;
use crate::sys::process::{
    Signal, Signals, become_subreaper, die_with_parent, in_own_group, reap_orphans, send_signal, set_nonblocking,
};
use crate::sys::{clock, interface};
use airtcp_core::{Duration, Instant};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A worker that is silent for longer is killed.
pub const SILENCE: Duration = Duration::from_secs(1);
/// A starting worker may take longer: it runs `ip` and `nft` a dozen times.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// An ending worker may take this long before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// Pause before the first restart; doubled for each that follows a short life.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
/// Longest pause before a restart.
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// Between two looks for a link that is not there.
const LINK_POLL: Duration = Duration::from_millis(500);
/// A life longer than this is no short one.
const HEALTHY: Duration = Duration::from_secs(10);

/// Events of a supervisor, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A worker diverts traffic.
    Running {
        /// Its process.
        pid: u32,
        /// How it takes packets, in words.
        how: String,
    },
    /// Something that an operator should know.
    Note {
        /// In words.
        text: String,
    },
    /// A worker is gone; the kernel forwards plainly until the next one runs.
    Restarting {
        /// Why it is gone.
        why: String,
        /// Pause before the next one.
        after: Duration,
    },
    /// The link is not there; the gateway starts when it is.
    Waiting {
        /// Its name.
        link: String,
    },
    /// The end was requested.
    Ending,
}

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The machine is not fit; the sentence says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// The first worker failed; its own sentence.
    #[error("{0}")]
    Worker(String),
    /// The run directory cannot be used.
    #[error("the run directory {path} cannot be used: {source}; set `run_directory`")]
    RunDirectory {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Another gateway of this name.
    #[error("a gateway named '{0}' is running; stop it, or set another `name`")]
    NameTaken(String),
    /// The system refused something that never fails in practice.
    #[error("the supervisor cannot start: {0}")]
    System(#[from] io::Error),
}

/// Runs a gateway until SIGINT, SIGTERM or SIGHUP. `worker` makes the command that runs
/// [`super::worker::main`]; `report` hears what happens. Call it on the main thread.
///
/// # Errors Why it did not start. Once it runs, only a signal ends it.
pub fn run(
    config: &Config,
    mode: Mode,
    worker: &mut dyn FnMut() -> Command,
    report: &mut dyn FnMut(Report),
) -> Result<(), SupervisorError> {
    config.validate()?;
    // First of all, so that a second start touches nothing of the first.
    let pid_file = PidFile::lock(config)?;
    pid_file.unwritten.iter().for_each(|text| report(Report::Note { text: text.clone() }));
    if let Some(refusal) = inspect::refusal(&inspect::check(config)) {
        return Err(SupervisorError::Refused(refusal));
    }
    for text in confine::supervisor().failed {
        report(Report::Note { text });
    }
    let signals = Signals::collect()?;
    become_subreaper()?;
    let mut supervisor = Supervisor { config, mode, signals, restarts: 0, backoff: BACKOFF_FIRST };
    let result = supervisor.supervise(worker, report);
    // A worker that had to be killed leaves its rules, which do nothing, and its socket.
    divert::remove_leftovers(&config.link);
    let _ = std::fs::remove_file(pid_file.directory.file(&config::socket_name(&config.name)));
    result
}

struct Supervisor<'a> {
    config: &'a Config,
    mode: Mode,
    signals: Signals,
    restarts: u64,
    backoff: Duration,
}

/// How a worker's life ended.
enum End {
    Requested,
    Gone(String),
}

impl Supervisor<'_> {
    fn supervise(
        &mut self,
        worker: &mut dyn FnMut() -> Command,
        report: &mut dyn FnMut(Report),
    ) -> Result<(), SupervisorError> {
        let mut was_ready = false;
        loop {
            if !self.link_exists() {
                report(Report::Waiting { link: self.config.link.clone() });
                while !self.link_exists() {
                    if self.pause(LINK_POLL) {
                        report(Report::Ending);
                        return Ok(());
                    }
                }
            }
            let started = clock::now();
            match self.live(worker(), &mut was_ready, report) {
                End::Requested => {
                    report(Report::Ending);
                    return Ok(());
                }
                End::Gone(why) if !was_ready && self.link_exists() => return Err(SupervisorError::Worker(why)),
                End::Gone(why) => {
                    if clock::now().saturating_since(started) >= HEALTHY {
                        self.backoff = BACKOFF_FIRST;
                    }
                    report(Report::Restarting { why, after: self.backoff });
                    let pause = self.backoff;
                    self.backoff = pause.saturating_mul(2).min(BACKOFF_MAX);
                    if self.pause(pause) {
                        report(Report::Ending);
                        return Ok(());
                    }
                    self.restarts += 1;
                }
            }
        }
    }

    /// One worker from its start to its end. A start that fails is an end, too: a machine short of processes or memory
    /// may have some again.
    fn live(&self, worker: Command, was_ready: &mut bool, report: &mut dyn FnMut(Report)) -> End {
        let mut life = match Life::start(self.config, self.mode, self.restarts, worker) {
            Ok(life) => life,
            Err(error) => return End::Gone(format!("the worker could not be started: {error}")),
        };
        let end = life.watch(&self.signals, report);
        *was_ready |= life.ready;
        match end {
            End::Requested => life.end(),
            End::Gone(_) => life.kill(),
        }
        end
    }

    fn link_exists(&self) -> bool {
        interface::index(&self.config.link).is_ok()
    }

    /// Waits before a restart; true if the end was requested meanwhile.
    fn pause(&self, pause: Duration) -> bool {
        let until = clock::now() + pause;
        loop {
            let left = until.saturating_since(clock::now());
            if left.is_zero() {
                return false;
            }
            let mut set = PollSet::new();
            set.add_readable(self.signals.as_fd());
            let _ = set.wait(Some(left));
            if end_requested(&self.signals) {
                return true;
            }
        }
    }
}

fn end_requested(signals: &Signals) -> bool {
    std::iter::from_fn(|| signals.next()).any(|signal| signal == Signal::End)
}

/// One worker process.
struct Life {
    child: Child,
    lines: ChildStdout,
    partial: Vec<u8>,
    heard: Instant,
    ready: bool,
    /// How it takes packets, until it was told.
    how: String,
    failure: Option<String>,
    notes: Vec<String>,
}

impl Life {
    fn start(config: &Config, mode: Mode, restarts: u64, mut command: Command) -> io::Result<Life> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = die_with_parent(in_own_group(&mut command)).spawn()?;
        let orders = Orders { config: config.clone(), mode, restarts };
        let text = serde_json::to_vec(&orders).expect("orders have string keys only");
        let mut input = child.stdin.take().expect("piped");
        // A worker that ends without reading them says why by itself.
        let _ = input.write_all(&text);
        drop(input);
        let lines = child.stdout.take().expect("piped");
        set_nonblocking(lines.as_fd())?;
        let (heard, partial) = (clock::now(), Vec::new());
        Ok(Life { child, lines, partial, heard, ready: false, how: String::new(), failure: None, notes: Vec::new() })
    }

    /// Listens until the worker is silent or gone, or the end is requested.
    fn watch(&mut self, signals: &Signals, report: &mut dyn FnMut(Report)) -> End {
        loop {
            let patience = if self.ready { SILENCE } else { START_PATIENCE };
            let left = (self.heard + patience).saturating_since(clock::now());
            let mut set = PollSet::new();
            set.add_readable(signals.as_fd());
            set.add_readable(self.lines.as_fd());
            if let Err(error) = set.wait(Some(left)) {
                return End::Gone(format!("the supervisor cannot wait: {error}"));
            }
            if end_requested(signals) {
                return End::Requested;
            }
            let was_ready = self.ready;
            let ended = self.hear();
            if self.ready && !was_ready {
                report(Report::Running { pid: self.child.id(), how: std::mem::take(&mut self.how) });
            }
            self.notes.drain(..).for_each(|text| report(Report::Note { text }));
            if ended {
                let why = self.failure.take();
                return End::Gone(why.unwrap_or_else(|| "the worker ended unexpectedly".into()));
            }
            // Judged after reading: a supervisor that was stopped itself finds the beats waiting.
            if clock::now() >= self.heard + patience {
                return End::Gone(format!("the worker was silent for {} ms", patience.as_millis()));
            }
        }
    }

    /// Reads what the worker wrote; true if it closed its side.
    fn hear(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.lines.read(&mut buffer) {
                Ok(0) => return true,
                Ok(length) => {
                    self.heard = clock::now();
                    self.partial.extend_from_slice(&buffer[..length]);
                    while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                        let line: Vec<u8> = self.partial.drain(..=end).collect();
                        self.understand(&String::from_utf8_lossy(&line[..end]));
                    }
                }
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }

    fn understand(&mut self, line: &str) {
        if let Some(how) = line.strip_prefix("ready: ") {
            self.ready = true;
            self.how = how.to_owned();
        } else if let Some(why) = line.strip_prefix("failed: ") {
            self.failure = Some(why.to_owned());
        } else if let Some(text) = line.strip_prefix("note: ") {
            self.notes.push(text.to_owned());
        }
    }

    /// Asks the worker to end in good order, then makes it.
    fn end(&mut self) {
        let _ = send_signal(self.child.id(), libc::SIGTERM);
        // One that is stopped cannot hear until it is continued.
        let _ = send_signal(self.child.id(), libc::SIGCONT);
        let deadline = clock::now() + END_PATIENCE;
        while clock::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                reap_orphans();
                return;
            }
            let _ = self.hear();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        self.kill();
    }

    /// Kills the worker if it still runs, waits for it, and removes what it left.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        reap_orphans();
    }
}

/// The file that tells whom to stop, locked as long as this gateway runs; removed at the end.
struct PidFile {
    directory: PrivateDirectory,
    name: String,
    /// Why it tells nothing, if it does not.
    unwritten: Option<String>,
    /// Holds the lock, also where somebody removed the file.
    _file: File,
}

impl PidFile {
    fn lock(config: &Config) -> Result<PidFile, SupervisorError> {
        let unusable =
            |source| SupervisorError::RunDirectory { path: config.run_directory.display().to_string(), source };
        let directory = PrivateDirectory::open(&config.run_directory).map_err(unusable)?;
        let name = config.pid_name();
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(libc::O_NOFOLLOW)
            .open(directory.file(&name))
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SupervisorError::NameTaken(config.name.clone())),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        // A full disk is no reason not to repair packets.
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        let unwritten =
            written.err().map(|error| format!("{} has no process id: {error}", config.pid_path().display()));
        Ok(PidFile { directory, name, unwritten, _file: file })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.directory.file(&self.name));
    }
}
