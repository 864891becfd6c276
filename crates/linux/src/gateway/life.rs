//! One worker process, as its supervisor sees it: what it says, and what it is told.

use super::config::Config;
use super::host::{Host, Report};
use super::orders::{Order, Orders};
use crate::notice::Notice;
use crate::sys::clock;
use crate::sys::descriptors::{adopt, inherit, keep_over_exec};
use crate::sys::poll::PollSet;
use crate::sys::process::{
    Offspring, Requested, Signals, die_with_parent, in_own_group, reap_orphans, send_signal, set_nonblocking,
};
use airtcp_core::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// A worker that is silent for longer is killed.
pub const SILENCE: Duration = Duration::from_secs(1);
/// A starting worker may take longer: it runs `ip` and `nft` a dozen times.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// An ending worker may take this long before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// The supervisor says so often that it goes on.
pub const BEAT: Duration = Duration::from_millis(500);
/// How long a worker may take to answer a reload.
const RELOAD_PATIENCE: Duration = Duration::from_secs(5);

/// The variable by which a program leaves its worker to the one that takes its place.
const LEFT: &str = "AIRTCP_WORKER";

/// What is in [`LEFT`].
#[derive(Serialize, Deserialize)]
struct Left {
    /// Whose worker it is.
    supervisor: u32,
    worker: u32,
    /// Open descriptors.
    orders: RawFd,
    lines: RawFd,
    how: String,
    /// The worker is to be given the file again: somebody asked for that, or it is not what the worker was told.
    #[serde(default)]
    reload: bool,
}

/// One worker process.
pub struct Life {
    child: Offspring,
    orders: UnixStream,
    lines: File,
    partial: Vec<u8>,
    heard: Instant,
    /// An heir has opened all that it needs.
    pub prepared: bool,
    /// It takes packets.
    pub ready: bool,
    /// That was told.
    announced: bool,
    /// How it takes packets.
    how: String,
    failure: Option<String>,
    /// It could work alone, but not take the place of another one.
    wants_to_be_alone: bool,
    notes: Vec<Notice>,
    /// What it was asked to work with, and when.
    pub asked: Option<(Config, Instant)>,
    answers: VecDeque<Answer>,
}

/// Why no worker took the place of another one.
pub struct NoHeir {
    /// In words.
    pub why: String,
    /// One could, if the other one ended first.
    pub could_be_alone: bool,
}

/// Why [`Life::watch`] returned.
pub enum Wake {
    /// It takes packets from now on, a reload or an upgrade is wanted, or more of these.
    Turn {
        /// It takes packets from now on.
        is_ready: bool,
    },
    /// It answered a reload.
    Answered(Answer),
    /// The end was requested.
    Requested,
    /// It is silent or gone.
    Gone(String),
}

/// What a worker says to another configuration.
pub enum Answer {
    /// It is applied.
    Reloaded(String),
    /// It cannot be applied.
    Kept(String),
    /// A new worker can apply it.
    Replace(String),
}

impl Life {
    /// Starts one.
    ///
    /// # Errors
    /// The system cannot.
    pub fn start(orders: Orders, mut command: Command) -> io::Result<Life> {
        Life::start_with(&Order::Start(Box::new(orders)), &mut command)
    }

    /// Starts one that is to take the place of this one.
    ///
    /// # Errors
    /// The system cannot.
    pub fn start_heir(&self, orders: Orders, mut command: Command) -> io::Result<Life> {
        // What this one sends to where its orders come from, the heir is to hear.
        let socket = self.orders.as_raw_fd();
        Life::start_with(&Order::Inherit(Box::new(orders), socket), inherit(&mut command, socket))
    }

    fn start_with(order: &Order, command: &mut Command) -> io::Result<Life> {
        let (mut orders, far) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(far)).stdout(Stdio::piped());
        let mut child = die_with_parent(in_own_group(command)).spawn()?;
        // A worker that ends without reading them says why by itself.
        let _ = orders.write_all(&order.line());
        let lines = File::from(OwnedFd::from(child.stdout.take().expect("piped")));
        Life::of(Offspring::of(child.id()), orders, lines)
    }

    fn of(child: Offspring, orders: UnixStream, lines: File) -> io::Result<Life> {
        orders.set_nonblocking(true)?;
        set_nonblocking(lines.as_fd())?;
        Ok(Life {
            child,
            orders,
            lines,
            partial: Vec::new(),
            heard: clock::now(),
            prepared: false,
            ready: false,
            announced: false,
            how: String::new(),
            failure: None,
            wants_to_be_alone: false,
            notes: Vec::new(),
            asked: None,
            answers: VecDeque::new(),
        })
    }

    /// The worker that the program before this one left to this one, if it did, and whether that is to be given the file again.
    pub fn of_program_before() -> Option<(Life, bool)> {
        let text = std::env::var(LEFT).ok()?;
        let left: Left = serde_json::from_str(&text).ok()?;
        // What a child of that program was told is of no concern to it.
        if left.supervisor != std::process::id() {
            return None;
        }
        let [orders, lines] = [left.orders, left.lines].map(adopt);
        let (child, orders, lines) = (Offspring::of(left.worker), orders.ok()?.into(), lines.ok()?.into());
        let life = Life::of(child, orders, lines).ok()?;
        let mut life = Life { ready: true, how: left.how, ..life };
        life.tell(&Order::Adopted);
        Some((life, left.reload))
    }

    /// Has the program that takes this one's place go on with this worker, and give it the file again if it is to `reload`.
    ///
    /// # Errors
    /// The system cannot.
    pub fn leave_to(&self, program: &mut Command, reload: bool) -> io::Result<()> {
        self.keep_over_exec(true)?;
        let (orders, lines) = (self.orders.as_raw_fd(), self.lines.as_raw_fd());
        let (supervisor, worker, how) = (std::process::id(), self.child.id(), self.how.clone());
        program.env(LEFT, serde_json::to_string(&Left { supervisor, worker, orders, lines, how, reload })?);
        Ok(())
    }

    /// That program does not begin.
    ///
    /// # Errors
    /// The system cannot.
    pub fn take_back(&self) -> io::Result<()> {
        self.keep_over_exec(false)
    }

    fn keep_over_exec(&self, is_kept: bool) -> io::Result<()> {
        keep_over_exec(self.orders.as_fd(), is_kept)?;
        keep_over_exec(self.lines.as_fd(), is_kept)
    }

    /// Waits until the heir has come as far as is `wanted`; why it does not.
    fn wait_for(&mut self, heir: &mut Life, wanted: fn(&Life) -> bool, host: &mut dyn Host) -> Result<(), String> {
        let end = clock::now() + START_PATIENCE;
        let mut is_over = false;
        loop {
            host.beat();
            // The one before beats, too.
            is_over = is_over || self.hear();
            let has_ended = heir.hear();
            heir.notes.drain(..).for_each(|notice| host.report(Report::Note(notice)));
            if wanted(heir) {
                return Ok(());
            }
            let left = end.saturating_since(clock::now());
            if has_ended || left.is_zero() {
                return Err(heir.failure.take().unwrap_or_else(|| "the new worker does not begin".into()));
            }
            let mut set = PollSet::new();
            set.add_readable(heir.lines.as_fd());
            if !is_over {
                set.add_readable(self.lines.as_fd());
            }
            set.wait(Some(left.min(BEAT))).map_err(|error| format!("the supervisor cannot wait: {error}"))?;
        }
    }

    /// Has another worker take the place of this one, which ends when that has opened all that it needs. Meanwhile packets
    /// wait.
    ///
    /// # Errors
    /// Why not; this one goes on if it was not to end yet.
    pub fn hand_over(&mut self, orders: Orders, command: Command, host: &mut dyn Host) -> Result<(), NoHeir> {
        let mut heir = self.start_heir(orders, command).map_err(|error| NoHeir {
            why: format!("the worker could not be started: {error}"),
            could_be_alone: false,
        })?;
        self.tell(&Order::Lend);
        if let Err(why) = self.wait_for(&mut heir, |heir| heir.prepared, host) {
            heir.kill();
            return Err(NoHeir { why, could_be_alone: heir.wants_to_be_alone });
        }
        self.tell(&Order::Yield);
        let outcome = self.wait_for(&mut heir, |heir| heir.ready, host);
        // It says its last words before it ends.
        let end = clock::now() + SILENCE;
        while !self.child.has_ended() && clock::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        self.child.kill();
        // If that one fails now, it is gone as any other, and the next one starts.
        *self = heir;
        outcome.map_err(|why| NoHeir { why, could_be_alone: false })
    }

    /// Asks it to work with another configuration.
    pub fn ask(&mut self, config: Config) {
        let is_told = self.tell(&Order::Reload(Box::new(config.clone())));
        self.asked = Some((config, clock::now()));
        if !is_told {
            self.answers.push_back(Answer::Replace("it does not take orders".into()));
        }
    }

    /// Gives an order; false if there was no room for it.
    pub fn tell(&mut self, order: &Order) -> bool {
        self.orders.write_all(&order.line()).is_ok()
    }

    /// Listens until there is something to decide. Adds to `wanted` what was asked for, whatever else it tells.
    pub fn watch(&mut self, signals: &Signals, wanted: &mut Requested, host: &mut dyn Host) -> Wake {
        loop {
            host.beat();
            if let Some(answer) = self.answers.pop_front() {
                return Wake::Answered(answer);
            }
            let patience = if self.ready { SILENCE } else { START_PATIENCE };
            let left = (self.heard + patience).saturating_since(clock::now());
            let mut set = PollSet::new();
            set.add_readable(signals.as_fd());
            set.add_readable(self.lines.as_fd());
            if let Err(error) = set.wait(Some(left.min(BEAT))) {
                return Wake::Gone(format!("the supervisor cannot wait: {error}"));
            }
            let requested = signals.take();
            *wanted = wanted.or(requested);
            if requested.end {
                return Wake::Requested;
            }
            let ended = self.hear();
            let is_news = self.ready && !self.announced;
            if is_news {
                self.announced = true;
                host.report(Report::Running { pid: self.child.id(), how: self.how.clone() });
            }
            self.notes.drain(..).for_each(|notice| host.report(Report::Note(notice)));
            if ended {
                let why = self.failure.take();
                return Wake::Gone(why.unwrap_or_else(|| "the worker ended unexpectedly".into()));
            }
            // Judged after reading: a supervisor that was stopped itself finds the beats waiting.
            if clock::now() >= self.heard + patience {
                return Wake::Gone(format!("the worker was silent for {} ms", patience.as_millis()));
            }
            let is_late = |asked: Instant| clock::now() >= asked + RELOAD_PATIENCE;
            if self.answers.is_empty() && self.asked.as_ref().is_some_and(|(_, asked)| is_late(*asked)) {
                self.answers.push_back(Answer::Replace("it does not answer".into()));
            }
            if requested.reload || requested.upgrade || is_news {
                return Wake::Turn { is_ready: is_news };
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
        if line == "prepared" {
            self.prepared = true;
        } else if let Some(how) = line.strip_prefix("ready: ") {
            self.ready = true;
            self.how = how.to_owned();
        } else if let Some(why) = line.strip_prefix("failed: ") {
            self.failure = Some(why.to_owned());
        } else if let Some(why) = line.strip_prefix("alone: ") {
            (self.failure, self.wants_to_be_alone) = (Some(why.to_owned()), true);
        } else if let Some(text) = line.strip_prefix("note: ") {
            self.notes.extend(Notice::parse(text));
        } else if let Some(text) = line.strip_prefix("reloaded: ") {
            self.answers.push_back(Answer::Reloaded(text.to_owned()));
        } else if let Some(why) = line.strip_prefix("kept: ") {
            self.answers.push_back(Answer::Kept(why.to_owned()));
        } else if let Some(why) = line.strip_prefix("replace: ") {
            self.answers.push_back(Answer::Replace(why.to_owned()));
        }
    }

    /// Asks the worker to end in good order, then makes it.
    pub fn end(&mut self) {
        let _ = send_signal(self.child.id(), libc::SIGTERM);
        // One that is stopped cannot hear until it is continued.
        let _ = send_signal(self.child.id(), libc::SIGCONT);
        let deadline = clock::now() + END_PATIENCE;
        while clock::now() < deadline {
            if self.child.has_ended() {
                reap_orphans();
                return;
            }
            let _ = self.hear();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        self.kill();
    }

    /// Kills the worker if it still runs, waits for it, and removes what it left.
    pub fn kill(&mut self) {
        self.child.kill();
        reap_orphans();
    }
}
