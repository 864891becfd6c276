//! The process that looks after the worker: starts it, listens to its heartbeats, kills and
//! restarts one that is silent, and takes everything down at the end.
//!
//! A reload (SIGHUP) is given to the worker, which applies it, refuses it, or says that a new worker can: then it makes place
//! for one, which takes its place. If it could not while the other one works, and does not start either when that has ended, the
//! next one has the former configuration again.
//!
//! An upgrade (SIGUSR2) has a worker of the program that is installed now take the place of the one that runs, and puts that
//! program in the place of this one: the process keeps its number, so a service manager notices nothing. If the new worker says that it could
//! work, but not take another one's place, the former one ends first; whatever else goes wrong leaves all as it was. Where the file changed
//! meanwhile, the new program has its worker reload.
//!
//! The worker dies with the supervisor (the kernel sees to it), so there is never a worker
//! without one. The supervisor touches no packet and holds no device.

use super::config::{self, Config, ConfigError};
use super::confine;
use super::divert;
use super::inspect;
use super::life::{Answer, BEAT, Life, NoHeir, Wake};
use super::orders::{Mode, Order, Orders};
use super::pid_file::PidFile;
use super::reload::{Change, Reloads, list};
use crate::notice::{Level, Notice, What};
use crate::sys::poll::PollSet;
use crate::sys::process::{Requested, Signals, become_subreaper, ignore_requests};
use crate::sys::{clock, interface};
use airtcp_core::{Duration, Instant};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub use super::host::{Host, Report, Upgrade};
pub use super::life::SILENCE;

/// Pause before the first restart; doubled for each that follows a short life.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
/// Longest pause before a restart.
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// Between two looks for a link that is not there.
const LINK_POLL: Duration = Duration::from_millis(500);
/// A life longer than this is no short one.
const HEALTHY: Duration = Duration::from_secs(10);

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

/// Runs a gateway until SIGINT or SIGTERM; SIGHUP has it read its configuration again. Call it on the main thread.
///
/// # Errors Why it did not start. Once it runs, only a signal ends it.
pub fn run(config: &Config, mode: Mode, host: &mut dyn Host) -> Result<(), SupervisorError> {
    config.validate()?;
    // From now on SIGHUP ends nothing.
    let signals = Signals::collect()?;
    // Before anything changes, so that a second start touches nothing of the first.
    let unusable = |source| SupervisorError::RunDirectory { path: config.run_directory.display().to_string(), source };
    let pid_file = PidFile::lock(config).map_err(unusable)?;
    let pid_file = pid_file.ok_or_else(|| SupervisorError::NameTaken(config.name.clone()))?;
    pid_file.unwritten.iter().for_each(|text| host.report(limited(text.clone())));
    // Asked by the program before this one, if that left its worker.
    let (first, is_to_reload) = Life::of_program_before().unzip();
    if first.is_none()
        && let Some(refusal) = inspect::refusal(&inspect::check(config))
    {
        return Err(SupervisorError::Refused(refusal));
    }
    for text in confine::supervisor().failed {
        host.report(limited(text));
    }
    become_subreaper()?;
    let mut supervisor = Supervisor {
        config: config.clone(),
        former: None,
        reloads: Reloads::default(),
        wanted: Requested { reload: is_to_reload.unwrap_or_default(), ..Requested::default() },
        mode,
        signals,
        restarts: 0,
        backoff: BACKOFF_FIRST,
    };
    let result = supervisor.supervise(first, host);
    // A worker that had to be killed leaves its rules, which do nothing, and its socket.
    divert::remove_leftovers(&supervisor.config.link);
    let _ = std::fs::remove_file(pid_file.directory.file(&config::socket_name(&config.name)));
    result
}

struct Supervisor {
    config: Config,
    /// What was before a reload for which a worker starts.
    former: Option<Config>,
    reloads: Reloads,
    /// Somebody asked for it, and nothing was done for it yet.
    wanted: Requested,
    mode: Mode,
    signals: Signals,
    restarts: u64,
    backoff: Duration,
}

/// How a worker's life ended.
enum End {
    Requested,
    /// It made place for one with another configuration.
    Renewed,
    /// It made place for another program.
    Upgraded(Command),
    Gone(String),
}

impl Supervisor {
    fn supervise(&mut self, mut first: Option<Life>, host: &mut dyn Host) -> Result<(), SupervisorError> {
        let mut was_ready = false;
        loop {
            if first.is_none() && self.wait_for_link(host) {
                break;
            }
            let (started, link) = (clock::now(), self.config.link.clone());
            match self.live(first.take(), &mut was_ready, host) {
                End::Requested => break,
                End::Renewed => {}
                End::Upgraded(program) => self.become_program(program, None, host),
                End::Gone(why) => {
                    let has_fallen_back = self.fall_back(&why, host);
                    let is_renewed = std::mem::take(&mut self.wanted.reload) && self.reload_alone(host);
                    if !has_fallen_back {
                        if !was_ready && !is_renewed && self.link_exists() {
                            return Err(SupervisorError::Worker(why));
                        }
                        if self.rest(why, started, host) {
                            break;
                        }
                    }
                }
            }
            self.restarts += 1;
            if self.config.link != link {
                // One that had to be killed leaves its rules there.
                divert::remove_leftovers(&link);
            }
        }
        host.report(Report::Ending);
        Ok(())
    }

    /// Waits until there is a link; true if the end was requested meanwhile.
    fn wait_for_link(&mut self, host: &mut dyn Host) -> bool {
        if self.link_exists() {
            return false;
        }
        host.report(Report::Waiting { link: self.config.link.clone() });
        while !self.link_exists() {
            if self.pause(LINK_POLL, host) {
                return true;
            }
        }
        false
    }

    /// Waits a while after a worker's end, longer after each short life; true if the end was requested meanwhile.
    fn rest(&mut self, why: String, started: Instant, host: &mut dyn Host) -> bool {
        if clock::now().saturating_since(started) >= HEALTHY {
            self.backoff = BACKOFF_FIRST;
        }
        host.report(Report::Restarting { why, after: self.backoff });
        let pause = self.backoff;
        self.backoff = pause.saturating_mul(2).min(BACKOFF_MAX);
        self.pause(pause, host)
    }

    /// What a worker is told that begins now.
    fn orders(&self) -> Orders {
        let (config, reloads) = (self.config.clone(), self.reloads.clone());
        Orders { config, mode: self.mode, restarts: self.restarts, reloads }
    }

    /// One worker from its start to its end, or from that of the program before. A start that fails is an end, too: a machine
    /// short of processes or memory may have some again.
    fn live(&mut self, first: Option<Life>, was_ready: &mut bool, host: &mut dyn Host) -> End {
        let mut life = match first.map_or_else(|| Life::start(self.orders(), host.worker()), Ok) {
            Ok(life) => life,
            Err(error) => return End::Gone(format!("the worker could not be started: {error}")),
        };
        loop {
            let wake = life.watch(&self.signals, &mut self.wanted, host);
            *was_ready |= life.ready;
            match wake {
                Wake::Turn { is_ready } => {
                    if is_ready && self.former.take().is_some() {
                        let text = "applied by a new worker; the kernel forwarded meanwhile".to_owned();
                        self.conclude_in(&mut life, Ok(text), host);
                    }
                }
                Wake::Answered(answer) => {
                    if self.take_answer(&mut life, answer, host) {
                        life.end();
                        return End::Renewed;
                    }
                }
                Wake::Requested => {
                    life.end();
                    return End::Requested;
                }
                Wake::Gone(why) => {
                    life.kill();
                    if life.asked.is_some() {
                        self.conclude(Err(format!("{why} meanwhile; reload again")), host);
                    }
                    return End::Gone(why);
                }
            }
            let is_idle = life.ready && life.asked.is_none();
            if is_idle && std::mem::take(&mut self.wanted.upgrade) {
                if let Some(end) = self.upgrade(&mut life, host) {
                    return end;
                }
                life.tell(&Order::Told(self.reloads.clone()));
            }
            if is_idle && std::mem::take(&mut self.wanted.reload) {
                match read(host) {
                    Ok(config) => life.ask(config),
                    Err(why) => self.conclude_in(&mut life, Err(why), host),
                }
            }
        }
    }

    /// Does what a worker's answer to a reload asks for; true if the worker is to make place for one with the configuration.
    fn take_answer(&mut self, life: &mut Life, answer: Answer, host: &mut dyn Host) -> bool {
        let Some((config, _)) = life.asked.take() else { return false };
        let outcome = match answer {
            Answer::Reloaded(text) => {
                self.config = config;
                Ok(text)
            }
            Answer::Kept(why) => Err(why),
            Answer::Replace(why) => match self.refusal(&config) {
                Some(refusal) => Err(refusal),
                None => {
                    let text = format!("a new worker takes over: {why}");
                    host.report(Report::Note(Notice::info(What::NewWorker, text)));
                    let former = std::mem::replace(&mut self.config, config);
                    match self.hand_over(life, host.worker(), host) {
                        Ok(()) => Ok("applied by a new worker; packets waited meanwhile".to_owned()),
                        Err(NoHeir { could_be_alone: true, .. }) => {
                            self.former = Some(former);
                            return true;
                        }
                        Err(NoHeir { why, .. }) => {
                            self.config = former;
                            Err(why)
                        }
                    }
                }
            },
        };
        self.conclude_in(life, outcome, host);
        false
    }

    /// Why a new worker should not begin with this configuration.
    fn refusal(&self, config: &Config) -> Option<String> {
        if config.link != self.config.link && interface::index(&config.link).is_err() {
            return Some(format!("there is no interface {}: correct `link`, or bring it up first", config.link));
        }
        inspect::refusal(&inspect::check(config))
    }

    /// A reload has come to its end: notes it, and reports it.
    fn conclude(&mut self, outcome: Result<String, String>, host: &mut dyn Host) {
        match outcome {
            Ok(text) => {
                self.reloads.conclude(true, text.clone());
                host.report(Report::Reloaded { text });
            }
            Err(why) => {
                self.reloads.conclude(false, why.clone());
                host.report(Report::Kept { why });
            }
        }
    }

    /// The same, and tells the worker.
    fn conclude_in(&mut self, life: &mut Life, outcome: Result<String, String>, host: &mut dyn Host) {
        self.conclude(outcome, host);
        life.tell(&Order::Told(self.reloads.clone()));
    }

    /// The worker that was to apply a reload is gone: what was before holds again. False if it was another worker.
    fn fall_back(&mut self, why: &str, host: &mut dyn Host) -> bool {
        let Some(former) = self.former.take() else { return false };
        self.config = former;
        self.conclude(Err(format!("{why}; the former configuration is used again")), host);
        true
    }

    /// Reads the configuration again while no worker runs, and has the next one begin with it: that one's start tells what
    /// becomes of the reload. False if it is refused.
    fn reload_alone(&mut self, host: &mut dyn Host) -> bool {
        let outcome = read(host).and_then(|config| match Change::between(&self.config, &config) {
            Change::NewDaemon(keys) => Err(format!("{} cannot change while the gateway runs", list(&keys))),
            _ => self.refusal(&config).map_or(Ok(config), Err),
        });
        match outcome {
            Ok(config) => {
                let text = "the next worker begins with the file as it is now".to_owned();
                host.report(Report::Note(Notice::info(What::NewWorker, text)));
                let now = std::mem::replace(&mut self.config, config);
                self.former.get_or_insert(now);
                true
            }
            Err(why) => {
                self.conclude(Err(why), host);
                false
            }
        }
    }

    /// Has a worker of the new program take the place of this one, and goes on as that program. Comes back only if that cannot
    /// be. A worker that cannot be replaced while it works ends first.
    fn upgrade(&mut self, life: &mut Life, host: &mut dyn Host) -> Option<End> {
        let begun = host.upgrade().and_then(|upgrade| Ok((upgrade, !self.is_current(host)?)));
        let (Upgrade { daemon, worker }, is_other_file) = match begun {
            Ok(begun) => begun,
            Err(why) => {
                self.refuse_upgrade(why, host);
                return None;
            }
        };
        match self.hand_over(life, worker, host) {
            Ok(()) => {
                let reload = self.wanted.reload || is_other_file;
                self.become_program(daemon, Some((life, reload)), host);
                None
            }
            Err(NoHeir { why, could_be_alone: true }) => {
                let text = format!("the worker ends before the next one begins: {why}");
                host.report(Report::Note(Notice::info(What::NewWorker, text)));
                life.end();
                Some(End::Upgraded(daemon))
            }
            Err(NoHeir { why, .. }) => {
                self.refuse_upgrade(format!("its worker does not take over: {why}"), host);
                None
            }
        }
    }

    /// The file says what the worker was told. What this program cannot read the next one may.
    ///
    /// # Errors
    /// It says what needs a new daemon.
    fn is_current(&self, host: &mut dyn Host) -> Result<bool, String> {
        let Ok(config) = read(host) else { return Ok(false) };
        match Change::between(&self.config, &config) {
            Change::NewDaemon(keys) => Err(format!("{} changed in the file: stop and start the gateway", list(&keys))),
            _ => Ok(config == self.config),
        }
    }

    /// Has a worker with the present configuration, started by `command`, take the place of this one.
    fn hand_over(&mut self, life: &mut Life, command: Command, host: &mut dyn Host) -> Result<(), NoHeir> {
        if self.mode == Mode::Bare {
            return Err(NoHeir { why: "it hands nothing over".to_owned(), could_be_alone: true });
        }
        let orders = Orders { restarts: self.restarts + 1, ..self.orders() };
        life.hand_over(orders, command, host)?;
        self.restarts += 1;
        Ok(())
    }

    /// Goes on as another program, in the same process. `left`: the worker, if there is one, and whether it is to reload. Comes back only if
    /// that cannot be: then this one goes on.
    fn become_program(&mut self, mut program: Command, left: Option<(&Life, bool)>, host: &mut dyn Host) {
        let meanwhile = if left.is_some() { "its worker works already" } else { "the kernel forwards meanwhile" };
        let text = format!("goes on as {}; {meanwhile}", program.get_program().display());
        host.report(Report::Note(Notice::info(What::NewProgram, text)));
        divert::remove_leftovers(&self.config.link);
        let prepared = left.map_or(Ok(()), |(life, reload)| life.leave_to(&mut program, reload));
        let prepared = prepared.and_then(|()| ignore_requests());
        let error = prepared.err().unwrap_or_else(|| program.exec());
        let _ = left.map(|(life, _)| life.take_back());
        self.refuse_upgrade(format!("the new program does not start: {error}"), host);
    }

    /// The same while no worker runs.
    fn upgrade_alone(&mut self, host: &mut dyn Host) {
        match host.upgrade() {
            Ok(upgrade) => self.become_program(upgrade.daemon, None, host),
            Err(why) => self.refuse_upgrade(why, host),
        }
    }

    /// Notes it as a reload that was refused.
    fn refuse_upgrade(&mut self, why: String, host: &mut dyn Host) {
        let text = format!("upgrade refused, all stays as it was: {why}");
        host.report(Report::Note(Notice { level: Level::Error, what: What::UpgradeRefused, text }));
        self.reloads.conclude(false, why);
    }

    fn link_exists(&self) -> bool {
        interface::index(&self.config.link).is_ok()
    }

    /// Waits before a restart; true if the end was requested meanwhile.
    fn pause(&mut self, pause: Duration, host: &mut dyn Host) -> bool {
        let until = clock::now() + pause;
        loop {
            let left = until.saturating_since(clock::now());
            host.beat();
            if left.is_zero() {
                return false;
            }
            let mut set = PollSet::new();
            set.add_readable(self.signals.as_fd());
            let _ = set.wait(Some(left.min(BEAT)));
            let requested = self.signals.take();
            if requested.end {
                return true;
            }
            if requested.reload {
                self.reload_alone(host);
            }
            if requested.upgrade {
                self.upgrade_alone(host);
            }
        }
    }
}

fn limited(text: String) -> Report {
    Report::Note(Notice::warning(What::Limited, text))
}

/// Reads the configuration again, and refuses what makes no sense.
fn read(host: &mut dyn Host) -> Result<Config, String> {
    let config = host.reload()?;
    config.validate().map_err(|error| error.to_string())?;
    Ok(config)
}
