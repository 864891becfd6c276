//! Ctrl-C: the first asks for an orderly end, the second ends at once. A terminal that goes away (SIGHUP) asks for an orderly end, too.
//! SIGTERM does not wait for what is simulated.

use airtcp_linux::sys::process::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a process that was interrupted ends with: 128 + SIGINT, as shells have it.
pub(crate) const EXIT_CODE: u8 = 130;

/// What a user asked for by a signal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    /// Ctrl-C or SIGTERM came: nothing more begins.
    pub stop: Arc<AtomicBool>,
    /// SIGTERM came: what is simulated ends where it is.
    pub end: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on. A second signal ends the process.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn listen() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag down and raises it.
            flag::register_conditional_shutdown(signal, i32::from(EXIT_CODE), Arc::clone(&interrupt.stop))?;
            flag::register(signal, Arc::clone(&interrupt.stop))?;
        }
        // `nohup` and such stay what they are: nobody ends what was to outlive its terminal.
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&interrupt.stop))?;
        }
        flag::register(SIGTERM, Arc::clone(&interrupt.end))?;
        Ok(interrupt)
    }

    /// What happens now, for the user.
    pub(crate) fn words(&self) -> &'static str {
        if self.end.load(Ordering::Relaxed) {
            "airtcp: stopping; simulated runs in progress are dropped"
        } else {
            "airtcp: finishing the runs in progress; Ctrl-C again drops them"
        }
    }
}
