//! What a daemon answers that is asked for its status.

use airtcp_linux::forwarder;
use airtcp_linux::gateway::config::socket_path;
use airtcp_linux::gateway::status::{Status, StatusError, ask};
use std::path::Path;

/// What answers at a socket.
#[derive(Debug)]
pub(super) enum Told {
    Gateway(Box<Status>),
    Forwarder(Box<forwarder::Status>),
}

/// Asks the daemon `name`.
///
/// # Errors
/// Nobody answers, or nobody of ours.
pub(super) fn told(run_directory: &Path, name: &str) -> Result<Told, StatusError> {
    let answer = ask(run_directory, name, "status")?;
    match serde_json::from_str::<forwarder::Status>(&answer) {
        Ok(status) => Ok(Told::Forwarder(Box::new(status))),
        Err(_) => match serde_json::from_str(&answer) {
            Ok(status) => Ok(Told::Gateway(Box::new(status))),
            Err(source) => Err(StatusError::Strange { path: socket_path(run_directory, name), source }),
        },
    }
}
