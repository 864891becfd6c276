//! Why a forwarder ended, or could not start.

use crate::gateway::control::KeyError;
use crate::gateway::status::OpenError;
use std::io;
use std::net::SocketAddr;

/// Why a forwarder ended, or could not start.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The key cannot be used.
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    Key(#[from] KeyError),
    /// Datagrams cannot be exchanged.
    #[error("datagrams cannot be exchanged between {listen} and {peer}: {source}; set another `listen`")]
    Datagrams {
        /// Where they would be received.
        listen: SocketAddr,
        /// Where they would go.
        peer: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody can connect.
    #[error("connections cannot be taken at {listen}: {source}; set another `listen` in this [[forward]]")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Datagrams of an application cannot be taken.
    #[error("datagrams cannot be taken at {listen}: {source}; set another `listen` in this [[stream]]")]
    Stream {
        /// Where.
        listen: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody could ask for the status.
    #[error(transparent)]
    Status(#[from] OpenError),
    /// The system refused something that never fails in practice.
    #[error("the forwarder cannot go on: {0}")]
    System(#[from] io::Error),
}
