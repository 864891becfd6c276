//! Why a topology cannot be run.

use crate::address::MAX_NODES;
use airtcp_core::Instant;
use airtcp_core::parameters::ParameterError;

/// Why a topology cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A scheme did not accept a parameter.
    #[error("scheme '{scheme}': {error}")]
    Scheme {
        /// Its name in the topology.
        scheme: String,
        /// What it says.
        error: ParameterError,
    },
    /// There is no path between the ends of a flow.
    #[error("flow '{flow}': no way from '{from}' to '{to}'; add a link between them")]
    Unreachable {
        /// The flow.
        flow: String,
        /// Its sender.
        from: String,
        /// Its receiver.
        to: String,
    },
    /// A socket exists in live runs only.
    #[error("flow '{flow}': {reason}")]
    LiveOnly {
        /// The flow.
        flow: String,
        /// What to do.
        reason: &'static str,
    },
    /// The ports are exhausted.
    #[error(
        "workload '{workload}': a topology has at most {} workloads, each of at most {} requests",
        crate::Workload::MOST,
        crate::Workload::MOST_REQUESTS
    )]
    TooManyRequests {
        /// The first that has no room.
        workload: String,
    },
    /// The address plan is exhausted.
    #[error("a topology can have at most {MAX_NODES} nodes")]
    TooManyNodes,
    /// The settings of a cell make no sense together.
    #[error("wlan '{wlan}': {reason}")]
    Wlan {
        /// Its name.
        wlan: String,
        /// What to change.
        reason: String,
    },
    /// Two schemes want the same end of a link.
    #[error("scheme '{scheme}': another scheme is on this link or cell already; it carries one")]
    Occupied {
        /// The second scheme.
        scheme: String,
    },
    /// A scheme for a path is on a link, or the other way round.
    #[error("scheme '{scheme}': '{slug}' is placed {wanted}")]
    Misplaced {
        /// Its name in the topology.
        scheme: String,
        /// Its name in the table.
        slug: &'static str,
        /// How.
        wanted: &'static str,
    },
    /// Time does not go on: what is sent comes back at once, again and again.
    #[error(
        "after {steps} events and packets the run is at {at} only: packets go round in no time; \
         give the links on their way a rate, or a delay of a microsecond or more"
    )]
    Endless {
        /// How far it came.
        at: Instant,
        /// Events and packets until then.
        steps: u64,
    },
    /// The caller asked to stop.
    #[error("the run was stopped before its end")]
    Stopped,
    /// The path of a scheme leads nowhere.
    #[error("scheme '{scheme}': no way leads from '{from}' to '{to}'; name two nodes that links connect")]
    NoPath {
        /// Its name in the topology.
        scheme: String,
        /// Where it begins.
        from: String,
        /// Where it ends.
        to: String,
    },
}
