//! What crosses the gateways: short connections that come and go all the time, and one to each host that lives as long as the
//! soak.

use crate::net::{Net, SPOKES};
use airtcp_core::{Duration, Instant};
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{FlowSpec, Outcome, RequestsSpec, RunningFlow, RunningRequests, start, start_requests};

/// Connections to each host in a second: 10^6 in an hour, less what a cycle needs to come to its end.
const PER_SECOND: u64 = 77;
/// Most connections that a host has open: as many as come in the longest fault.
const OPEN: usize = 1_000;
/// Nothing new begins so long before the end of a cycle, so that all can have their answer.
pub const REST: Duration = Duration::from_secs(5);

/// The family of a host's traffic.
pub fn family(n: usize) -> Family {
    Family::BOTH[n % 2]
}

/// The connection to a host that is never closed before the end.
pub fn long_flow(net: &Net, n: usize, origin: Instant, length: Duration) -> RunningFlow {
    let end = |node: &str| net.testbed.end(node, family(n)).expect("a node");
    let (from, to) = (end("server"), end(&format!("host{n}")));
    let spec = FlowSpec::bulk(&format!("long{n}"), from, to, "cubic", Duration::ZERO, length);
    let spec = FlowSpec {
        seed: n as u64 + 1,
        // About 3 Mbit/s: it is to last, not to fill the link.
        receive_buffer: Some(8_000),
        sample_every: Duration::from_secs(5),
        drain: Duration::from_secs(20),
        deadline: length + Duration::from_secs(60),
        ..spec
    };
    start(spec, origin).expect("a thread")
}

/// What is wrong with how a long connection ended; else its bytes and its longest wait.
pub fn judge_long_flow(flow: RunningFlow) -> Result<(u64, Duration), String> {
    let result = flow.join().map_err(|error| error.to_string())?;
    let name = &result.name;
    if result.outcome != Outcome::Complete {
        return Err(format!("{name} ended as {:?} after {} bytes", result.outcome, result.received_bytes));
    }
    if !result.stream_is_intact() {
        return Err(format!("{name} received other bytes than were sent: {:?}", result.first_wrong_byte));
    }
    Ok((result.received_bytes, result.longest_stall))
}

/// The short connections of a cycle, to all hosts.
pub struct Churn(Vec<RunningRequests>);

/// What became of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Churned {
    pub begun: u64,
    pub answered: u64,
    pub damaged: u64,
}

impl Churn {
    /// Starts those of the cycle from `from` to `until`, counted from the origin.
    pub fn start(net: &Net, origin: Instant, seed: u64, [from, until]: [Duration; 2]) -> Churn {
        let gap = Duration::from_nanos(1_000_000_000 / PER_SECOND);
        let times = std::iter::successors(Some(from), |at| Some(*at + gap)).take_while(|at| *at + REST < until);
        let arrivals: Vec<_> = times.enumerate().map(|(number, at)| (at, 100 + number as u64 * 37 % 1_400)).collect();
        let of_host = |n: usize| {
            let end = |node: &str| {
                let (namespace, address) = net.testbed.end(node, family(n)).expect("a node");
                (namespace.clone(), address)
            };
            let spec = RequestsSpec {
                name: format!("churn{n}"),
                server: end("server"),
                client: end(&format!("host{n}")),
                controller: "cubic".into(),
                request: 100,
                arrivals: arrivals.clone(),
                connections: OPEN,
                receive_buffer: None,
                window: (from, until),
                seed,
            };
            start_requests(spec, origin).expect("sockets")
        };
        Churn((0..SPOKES).map(of_host).collect())
    }

    /// Waits for the end of the cycle.
    pub fn join(self) -> Result<Churned, String> {
        let mut all = Churned::default();
        for requests in self.0 {
            let result = requests.join().map_err(|error| error.to_string())?;
            all.begun += result.took.len() as u64;
            all.answered += result.took.iter().flatten().count() as u64;
            all.damaged += u64::from(result.damaged.is_some());
        }
        Ok(all)
    }
}
