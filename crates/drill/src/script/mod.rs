//! A script: what happens to one TCP socket, in order. The notation is packetdrill's (Cardwell et
//! al., USENIX ATC 2013), a subset that docs/drills.md lists.

mod assertion;
mod cursor;
mod parse;
mod segment;

pub use assertion::Assertion;
pub use segment::{OptionSpec, SegmentSpec, SegmentSpecOptions};

use airtcp_core::Duration;

/// A whole script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// IPv6 instead of IPv4.
    pub is_ipv6: bool,
    /// The largest IP packet of the device; 1500 if not stated.
    pub mtu: Option<u32>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub struct Step {
    /// Line of the script.
    pub line: usize,
    /// When.
    pub when: When,
    /// What.
    pub action: Action,
}

/// When something happens, or is expected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the step before.
    After(Duration),
    /// So long after the script's start.
    At(Duration),
    /// Between so long and so long after the step before.
    Between(Duration, Duration),
    /// Whenever: for expected segments only.
    Any,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Settings of the stack, in `sysctl`'s names.
    Settings(Vec<(String, String)>),
    /// The application calls, and gets this result.
    Call(Call, Outcome),
    /// A segment arrives.
    Inject(SegmentSpec),
    /// A segment must leave.
    Expect(SegmentSpec),
    /// The state of the connection must be this.
    Assert(Vec<Assertion>),
}

/// A system call of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `socket()`.
    Socket,
    /// `setsockopt(TCP_CONGESTION)`.
    SetController(String),
    /// `setsockopt()` of another option, to this number.
    SetOption(SocketOption, u32),
    /// `bind()`, and calls without effect here: `fcntl()` (sockets never block), `setsockopt()` of
    /// SO_REUSEADDR and TCP_NODELAY (always on).
    Nothing,
    /// `listen()`.
    Listen,
    /// `accept()`.
    Accept,
    /// `connect()`.
    Connect,
    /// `write()` or `send()` of so many bytes.
    Write(u64),
    /// `read()` or `recv()` of at most so many bytes.
    Read(u64),
    /// `shutdown(SHUT_WR)`.
    Shutdown,
    /// `close()`.
    Close,
}

/// Options of a socket that end a connection whose peer is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// `SO_KEEPALIVE`
    Keepalive,
    /// `TCP_KEEPIDLE`, in seconds
    KeepaliveTime,
    /// `TCP_KEEPINTVL`, in seconds
    KeepaliveInterval,
    /// `TCP_KEEPCNT`
    KeepaliveProbes,
    /// `TCP_LINGER2`, in seconds
    FinTimeout,
    /// `SO_MAX_PACING_RATE`, in bytes per second: it has any controller paced
    MaxPacingRate,
}

/// What a call returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A count, or a descriptor, which is not compared.
    Value(i64),
    /// −1 and this errno.
    Error(String),
}

/// Why a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct ScriptError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The first line that is not in the subset.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        parse::script(text)
    }
}
