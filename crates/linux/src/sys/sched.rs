//! Scheduling of live threads: real-time priority, core, timer slack, locked memory.
//!
//! Measured on the project's machines: as normal tasks packet loops have a tail of 3 to 5 ms,
//! under SCHED_FIFO with a timer slack of 1 ns it is below 0.1 ms.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::unistd::Pid;
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

/// Cores that the calling thread may run on; 1 if that is unknown.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Binds the calling thread to one core.
///
/// # Errors
/// EINVAL if the machine has no such core.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Lets timers of the calling thread fire as exactly as the kernel can.
///
/// # Errors
/// What `prctl` says.
pub fn set_exact_timers() -> io::Result<()> {
    Ok(set_timerslack(1)?)
}

/// Keeps all memory that the process uses resident, now and later. Memory that is only reserved, as allocators do by the
/// gibibyte, is not filled: that would take a second, and the machine's memory.
///
/// # Errors
/// ENOMEM or EPERM when the limit on locked memory is lower.
pub fn lock_memory() -> io::Result<()> {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: mlockall takes flags only.
    super::check(unsafe { libc::mlockall(flags) }).map(drop)
}
