//! Scheduling of live threads: real-time priority, core, timer slack, locked memory.
//!
//! Measured on the project's machines: as normal tasks packet loops have a tail of 3 to 5 ms,
//! under SCHED_FIFO with a timer slack of 1 ns it is below 0.1 ms.

use std::io;

/// Runs the calling thread under SCHED_FIFO at `priority` (1 to 99). Children do not inherit it.
///
/// # Errors
/// EPERM without CAP_SYS_NICE.
pub fn set_fifo(priority: u8) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: i32::from(priority) };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` is a valid sched_param; 0 is the calling thread.
    super::check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) }).map(drop)
}

/// Binds the calling thread to one core.
///
/// # Errors
/// EINVAL if the machine has no such core.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: an all-zero cpu_set_t is the empty set, and `core` is within its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        set
    };
    // SAFETY: `set` is a valid cpu_set_t of the size given; 0 is the calling thread.
    super::check(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) }).map(drop)
}

/// Lets timers of the calling thread fire as exactly as the kernel can.
///
/// # Errors
/// What `prctl` says.
pub fn set_exact_timers() -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer.
    super::check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) }).map(drop)
}

/// Keeps all memory of the process resident, now and later.
///
/// # Errors
/// ENOMEM or EPERM when the limit on locked memory is lower.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: takes flags only.
    super::check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}
