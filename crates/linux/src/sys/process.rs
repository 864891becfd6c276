//! Signals and child processes: what std does not offer.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal as Number, kill, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getppid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{LazyLock, Mutex, mpsc};

/// Gives this process, and what it starts, small pages only: a huge page that holds little takes 2 MiB all the same.
///
/// # Errors
/// The kernel has no such switch.
pub fn forgo_huge_pages() -> io::Result<()> {
    Ok(prctl::set_thp_disable(true)?)
}

/// Lets the process have so many files open at one time (RLIMIT_NOFILE).
///
/// # Errors
/// The system's own limit is lower.
pub fn allow_open_files(most: u64) -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= most {
        return Ok(());
    }
    Ok(setrlimit(Resource::RLIMIT_NOFILE, most, hard.max(most))?)
}

/// The same, or as many as the system allows: how many it may have open then.
///
/// # Errors
/// The kernel has no such limit.
pub fn allow_open_files_up_to(most: u64) -> io::Result<u64> {
    if allow_open_files(most).is_err() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(getrlimit(Resource::RLIMIT_NOFILE)?.0)
}

/// Requests to end and reports on children, as a readable descriptor instead of handlers.
pub struct Signals(SignalFd);

/// A signal that [`Signals`] delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT or SIGTERM: end in good order.
    End,
    /// SIGHUP: read the settings again.
    Reload,
    /// SIGUSR2: go on as the program that is installed now.
    Upgrade,
    /// SIGCHLD: a child changed its state.
    Child,
}

/// What was requested by signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// To end in good order.
    pub end: bool,
    /// To read the settings again.
    pub reload: bool,
    /// To go on as the program that is installed now.
    pub upgrade: bool,
}

impl Requested {
    /// What either of them requests.
    pub fn or(self, other: Requested) -> Requested {
        Requested {
            end: self.end || other.end,
            reload: self.reload || other.reload,
            upgrade: self.upgrade || other.upgrade,
        }
    }
}

impl Signals {
    /// Blocks SIGINT, SIGTERM, SIGHUP, SIGUSR2 and SIGCHLD in the calling thread, and collects them.
    /// Call it before other threads start: they inherit the mask.
    ///
    /// # Errors
    /// What `signalfd` says.
    pub fn collect() -> io::Result<Signals> {
        let set: SigSet =
            [Number::SIGINT, Number::SIGTERM, Number::SIGHUP, Number::SIGUSR2, Number::SIGCHLD].into_iter().collect();
        set.thread_block()?;
        // As they were before `ignore_requests`; what arrived since this process blocks them stays.
        set_requests(SigHandler::SigDfl)?;
        Ok(Signals(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?))
    }

    /// Takes all that wait.
    pub fn take(&self) -> Requested {
        let of = |signal| Requested {
            end: signal == Signal::End,
            reload: signal == Signal::Reload,
            upgrade: signal == Signal::Upgrade,
        };
        std::iter::from_fn(|| self.next()).map(of).fold(Requested::default(), Requested::or)
    }

    /// The next signal, if one is waiting.
    pub fn next(&self) -> Option<Signal> {
        let info = self.0.read_signal().ok()??;
        Some(match info.ssi_signo {
            number if number == Number::SIGCHLD as u32 => Signal::Child,
            number if number == Number::SIGHUP as u32 => Signal::Reload,
            number if number == Number::SIGUSR2 as u32 => Signal::Upgrade,
            _ => Signal::End,
        })
    }
}

/// Has the kernel drop SIGHUP and SIGUSR2 until the program that takes this one's place collects signals. They would end it
/// in between.
///
/// # Errors
/// What `sigaction` says.
pub fn ignore_requests() -> io::Result<()> {
    set_requests(SigHandler::SigIgn)
}

/// True if the signal is ignored, as under nohup.
pub fn is_ignored(number: i32) -> bool {
    // SAFETY: a sigaction of zeros is valid, and is only written to.
    let mut present: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action nothing changes; `present` has room for the old one.
    let asked = unsafe { libc::sigaction(number, std::ptr::null(), &raw mut present) };
    asked == 0 && present.sa_sigaction == libc::SIG_IGN
}

fn set_requests(handler: SigHandler) -> io::Result<()> {
    for number in [Number::SIGHUP, Number::SIGUSR2] {
        // SAFETY: no handler of this program is installed, so none is lost and none runs.
        unsafe { signal(number, handler) }?;
    }
    Ok(())
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Makes the child start with no signal blocked and in a process group of its own, so that a
/// Ctrl-C in the terminal reaches its parent only.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe { command.process_group(0).pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) }
}

/// Makes the child be killed as soon as the thread that starts it ends, however it ends.
pub fn die_with_parent(command: &mut Command) -> &mut Command {
    let parent = Pid::this();
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            prctl::set_pdeathsig(Number::SIGKILL)?;
            // The parent may have ended before the wish was known to the kernel.
            if getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
        })
    }
}

/// Starts a program that is killed as soon as this process ends, however it ends, whichever thread asks.
///
/// The kernel watches the thread that starts a child. So one that lives as long as the process starts them all.
///
/// # Errors
/// What the system says.
pub fn spawn_not_to_survive(command: Command) -> io::Result<Child> {
    type Wish = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: LazyLock<io::Result<Mutex<mpsc::Sender<Wish>>>> = LazyLock::new(|| {
        let (sender, wishes) = mpsc::channel::<Wish>();
        let start = move || {
            for (mut command, answer) in wishes {
                let _ = answer.send(die_with_parent(&mut command).spawn());
            }
        };
        std::thread::Builder::new().name("starter".into()).spawn(start)?;
        Ok(Mutex::new(sender))
    });
    let starter = STARTER.as_ref().map_err(|error| io::Error::from(error.kind()))?;
    let (answer, child) = mpsc::channel();
    // Should that thread be gone, so is the wish, and with it `answer`.
    let _ = starter.lock().unwrap_or_else(|poison| poison.into_inner()).send((command, answer));
    child.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs ended")))
}

/// Sends a signal to a process that this one started.
///
/// # Errors
/// ESRCH when it is gone.
pub fn send_signal(pid: u32, signal: libc::c_int) -> io::Result<()> {
    Ok(kill(Pid::from_raw(pid as libc::pid_t), Number::try_from(signal)?)?)
}

/// A child of this process by its number: also one that the program before this one started.
#[derive(Debug)]
pub struct Offspring {
    pid: Pid,
    /// It ended and was buried.
    is_gone: bool,
}

impl Offspring {
    /// The child with this number.
    pub fn of(pid: u32) -> Offspring {
        Offspring { pid: Pid::from_raw(pid as libc::pid_t), is_gone: false }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// True once it has ended; it is buried then.
    pub fn has_ended(&mut self) -> bool {
        self.bury(WaitPidFlag::WNOHANG);
        self.is_gone
    }

    /// Kills it if it still runs, and waits for its end.
    pub fn kill(&mut self) {
        if !self.has_ended() {
            let _ = kill(self.pid, Number::SIGKILL);
            self.bury(WaitPidFlag::empty());
        }
    }

    fn bury(&mut self, how: WaitPidFlag) {
        while !self.is_gone {
            match waitpid(self.pid, Some(how)) {
                Ok(WaitStatus::StillAlive) => return,
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) => self.is_gone = true,
                Err(Errno::EINTR) | Ok(_) => {}
                // Buried by `reap_orphans`, or never a child of this process.
                Err(_) => self.is_gone = true,
            }
        }
    }
}

/// Makes a descriptor's reads and writes return at once.
///
/// # Errors
/// What `fcntl` says.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// True if the process has CAP_NET_ADMIN over its network namespace, judged by its effective set.
pub fn has_net_admin() -> bool {
    const CAP_NET_ADMIN: u32 = 12;
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        })
        .is_some_and(|set| set >> CAP_NET_ADMIN & 1 == 1)
}

/// Makes this process the parent of its descendants whose own parent ends, so that they can
/// be buried with [`reap_orphans`].
///
/// # Errors
/// What `prctl` says.
pub fn become_subreaper() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Buries every child that has ended, waiting up to 100 ms for those that are just ending. Only
/// for a process that waits for no other child at this time.
pub fn reap_orphans() {
    for _ in 0..50 {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => std::thread::sleep(std::time::Duration::from_millis(2)),
            Err(Errno::ECHILD) => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_known_by_its_number_alone() {
        let pid = |script: &str| Command::new("sh").args(["-c", script]).spawn().unwrap().id();
        let mut sleeper = Offspring::of(pid("sleep 60"));
        assert!(!sleeper.has_ended());
        sleeper.kill();
        assert!(sleeper.has_ended());
        let mut short = Offspring::of(pid("exit 3"));
        while !short.has_ended() {
            std::thread::yield_now();
        }
        assert!(Offspring::of(std::process::id()).has_ended(), "none of our children");
    }

    #[test]
    fn a_program_lives_on_when_the_thread_that_asked_for_it_ends() {
        let mut sleep = Command::new("sleep");
        sleep.arg("60");
        let mut child = std::thread::spawn(|| spawn_not_to_survive(sleep)).join().unwrap().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let missing = spawn_not_to_survive(Command::new("/nonexistent/program"));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
