//! Taking testbeds down when the process is told to end.

use super::TestbedError;
use super::registry;
use crate::sys::interrupt;
use std::sync::OnceLock;

/// From now on SIGINT, SIGTERM and SIGHUP first remove every testbed of this process, and then
/// end it as they would have.
pub(super) fn take_down_on_signals() -> Result<(), TestbedError> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if *INSTALLED.get_or_init(|| interrupt::before_end(registry::remove_own).is_ok()) {
        return Ok(());
    }
    Err(TestbedError::Unavailable("cannot watch for SIGINT and SIGTERM".into()))
}
