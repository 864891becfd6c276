//! The ways to take packets.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How packets are taken, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// At the link, by programs that are gone with the process (TCX, Linux 6.6 or newer).
    Tcx,
    /// At the link, by programs that the next start removes after a `kill -9` (clsact).
    Clsact,
    /// By marks and policy routes.
    Routed,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Tcx => "at the link (tcx)",
            Method::Clsact => "at the link (clsact)",
            Method::Routed => "by policy routes (second best: the kernel runs no program at the link)",
        })
    }
}
