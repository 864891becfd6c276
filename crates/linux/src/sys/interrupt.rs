//! Doing something before SIGINT, SIGTERM or SIGHUP ends the process.
//!
//! A thread waits for the signal, does the work and then lets the signal have its usual effect, so that the parent sees a
//! process that died of it. No signal is blocked: programs started meanwhile are not affected.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;

/// Arranges for `work` to be done once, before any of the three signals ends the process.
///
/// # Errors
/// No descriptors or threads are left.
pub fn before_end(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("airtcp-signals".into()).spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        work();
        // It does not return: the default effect of the three is to end the process.
        let _ = emulate_default_handler(signal);
    })?;
    Ok(())
}
