//! Signals and child processes: what std does not offer.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Requests to end and reports on children, as a readable descriptor instead of handlers.
pub struct Signals {
    fd: OwnedFd,
}

/// A signal that [`Signals`] delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT or SIGTERM or SIGHUP: end in good order.
    End,
    /// SIGCHLD: a child changed its state.
    Child,
}

impl Signals {
    /// Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD in the calling thread, and collects them.
    /// Call it before other threads start: they inherit the mask.
    ///
    /// # Errors
    /// What `signalfd` says.
    pub fn collect() -> io::Result<Signals> {
        let set = signal_set(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD]);
        // SAFETY: `set` is an initialised signal set, the old mask is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        // SAFETY: `set` is an initialised signal set; −1 makes a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        let fd = super::check(fd)?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Signals { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal, if one is waiting.
    pub fn next(&self) -> Option<Signal> {
        // SAFETY: signalfd_siginfo is plain data for which all-zero bytes are valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        // SAFETY: `info` is valid for writes of its size.
        let length = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size_of_val(&info)) };
        if length != size_of_val(&info) as isize {
            return None;
        }
        if info.ssi_signo == libc::SIGCHLD as u32 { Some(Signal::Child) } else { Some(Signal::End) }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set, sigaddset adds valid signal numbers to it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Makes the child start with no signal blocked and in a process group of its own, so that a
/// Ctrl-C in the terminal reaches its parent only.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let none = signal_set(&[]);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            super::check(libc::setpgid(0, 0)).map(drop)
        })
    }
}

/// Makes the child be killed as soon as the thread that starts it ends, however it ends.
pub fn die_with_parent(command: &mut Command) -> &mut Command {
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: only async-signal-safe calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            super::check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong))?;
            // The parent may have ended before the wish was known to the kernel.
            if libc::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
        })
    }
}

/// Sends a signal to a process that this one started.
///
/// # Errors
/// ESRCH when it is gone.
pub fn send_signal(pid: u32, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: takes two integers; a pid of a child of ours is never 0 or negative.
    super::check(unsafe { libc::kill(pid as libc::pid_t, signal) }).map(drop)
}

/// Makes a descriptor's reads and writes return at once.
///
/// # Errors
/// What `fcntl` says.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: F_GETFL and F_SETFL on an open descriptor take and return integers.
    let flags = super::check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    let flags = flags | libc::O_NONBLOCK;
    // SAFETY: as above.
    super::check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) }).map(drop)
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
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer.
    super::check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) }).map(drop)
}

/// Buries every child that has ended, waiting up to 100 ms for those that are just ending. Only
/// for a process that waits for no other child at this time.
pub fn reap_orphans() {
    for _ in 0..50 {
        // SAFETY: −1 is "any child"; the status is not wanted.
        let pid = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        match pid {
            0 => std::thread::sleep(std::time::Duration::from_millis(2)),
            pid if pid < 0 => return,
            _ => {}
        }
    }
}
