//! Ctrl-C: the first asks for an orderly end, the second ends at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a process that was interrupted ends with: 128 + SIGINT, as shells have it.
pub(crate) const EXIT_CODE: u8 = 130;

/// A flag that is true once SIGINT or SIGTERM has come. One more of them ends the process.
///
/// # Errors
/// The system's.
pub(crate) fn flag() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag down and raises it.
        flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
