//! Doing something before SIGINT, SIGTERM or SIGHUP ends the process.
//!
//! A signal handler may do next to nothing, so ours writes the signal's number into a pipe. A
//! thread that waits there does the work and then lets the signal have its usual effect, so
//! that the parent sees a process that died of it. No signal is blocked: programs started
//! meanwhile are not affected.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Where the handler writes; never closed.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// Arranges for `work` to be done once, before any of the three signals ends the process.
pub fn before_end(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    super::check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: pipe2 succeeded: both are open and nobody else's.
    let [read_end, write_end] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    std::thread::Builder::new().name("airtcp-signals".into()).spawn(move || {
        let mut number = [0];
        if File::from(read_end).read_exact(&mut number).is_ok() {
            work();
            end_by(libc::c_int::from(number[0]));
        }
    })?;
    PIPE.store(write_end.into_raw_fd(), Ordering::SeqCst);
    for signal in SIGNALS {
        set_action(signal, on_signal as *const () as libc::sighandler_t)?;
    }
    Ok(())
}

extern "C" fn on_signal(number: libc::c_int) {
    let number = number as u8;
    // SAFETY: write is async-signal-safe, the pointer is to one readable byte. errno is put back:
    // the interrupted code may be about to read it.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(PIPE.load(Ordering::SeqCst), (&raw const number).cast(), 1);
        *libc::__errno_location() = errno;
    }
}

fn end_by(signal: libc::c_int) {
    if set_action(signal, libc::SIG_DFL).is_ok() {
        // SAFETY: no pointers. kill rather than raise: the default action is the process's.
        unsafe { libc::kill(libc::getpid(), signal) };
        // Delivery to another thread may take a moment.
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    std::process::exit(128 + signal);
}

fn set_action(signal: libc::c_int, action: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid sigaction; the handler is async-signal-safe.
    super::check(unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = action;
        new.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const new, std::ptr::null_mut())
    })
    .map(drop)
}
