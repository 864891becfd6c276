//! `[workloads.<name>]`: requests that begin when they are due, whatever became of those before (an open loop), each over
//! a TCP connection of its own.
//!
//! The time between two is exponential (a Poisson process), with a mean that gives the load; their sizes come from a
//! table. All are drawn before a run begins, from its seed and the workload's name: they are the same in every cell with
//! this load and these sizes, and in both worlds.

mod arrivals;
mod ideal;
mod outcome;
mod sizes;

pub use ideal::Ideal;
pub use outcome::{Request, outcome};
pub use sizes::{Sizes, TABLES, Table};

use super::error::ScenarioError;
use super::flow::{self, controller, ip, way};
use super::keys::Keys;
use super::section::{names, section};
use super::topology::Network;
use super::traces::TraceFiles;
use super::{IpVersion, WorkloadSpec};
use crate::catalogue::Catalogue;
use airtcp_core::{ByteSize, Duration, Rate};
use airtcp_schemes::socket::{PacketSizes, SocketChoice};
use airtcp_tcp::{Config, Habits};
use std::ops::RangeInclusive;

section! {
    /// What a workload has besides the parameters of its endpoints.
    Section {
        /// host that answers: the server; required
        from, "\"server\"";
        /// host that asks: the client; required
        to, "\"client\"";
        /// bit/s of answers on average, without headers; required
        load, "\"84Mbit\"";
        /// sizes of the answers: caida, web-search, one size, or a table of your own, { file = "sizes.csv" }; caida if left out
        sizes, "\"caida\"";
        /// what the sizes' table has above this is left out; nothing if left out
        largest, "\"1MB\"";
        /// what the client sends to be answered, 16B to 65536B; 400B if left out
        request: ByteSize = ByteSize(400), "\"400B\"";
        /// when the first may begin; 0s if left out
        start: Duration = Duration::ZERO, "\"0s\"";
        /// requests that begin in the last so much of the run go on but are not counted; 5s if left out
        grace: Duration = Duration::from_secs(5), "\"5s\"";
        /// most connections that the client has open; a request waits until there is room; 1000 if left out
        connections: u32 = 1000, "1000";
        /// congestion controller of the server; cubic if left out
        controller, "\"cubic\"";
        /// parameters of the controller, which `airtcp show` lists under its name; its defaults if left out
        controller_options, "{ lda = \"original\" }";
        /// as that of a flow; linux if left out. With linux, time_wait is 1s unless set
        habits, "\"none\"";
        /// version of IP, 4 or 6; 4 if left out
        ip, "4";
    }
}

/// A request says what it is for, and fits into a segment or some.
const REQUEST: RangeInclusive<u64> = 16..=65_536;
/// Each connection that is open costs a socket at either end.
const MOST_CONNECTIONS: u32 = 10_000;

/// Reads the workload in `keys`, of a run that takes `duration` and is measured from `warmup` on.
pub(super) fn workload(
    keys: &Keys<'_>,
    (warmup, duration): (Duration, Duration),
    network: &Network<'_>,
    catalogue: &Catalogue<'_>,
    files: &TraceFiles,
) -> Result<WorkloadSpec, ScenarioError> {
    let mut config = match keys.value("habits")?.unwrap_or(Habits::Linux) {
        Habits::Linux => Config { time_wait: Duration::from_secs(1), ..Config::default() },
        Habits::Without => Config::without_habits(),
    };
    keys.set_all(&mut config, &names(KEYS), "a single value")?;
    let [from, to] = keys.ends(["server", "client"], "node", network.nodes)?;
    let ip = ip(keys)?;
    way(keys, network, [from, to], "workload", &config, ip)?;
    let Section { request, start, grace, connections } = Section::read(keys)?;
    keys.required("load", "load = \"84Mbit\"")?;
    let load: Rate = keys.value("load")?.unwrap_or(Rate::from_bps(0));
    if load.bps() == 0 {
        return Err(keys.refuse("load", "a load is more than 0 bit/s"));
    }
    if !REQUEST.contains(&request.0) {
        let reason = format!("{request} are out of range; {}B to {}B", REQUEST.start(), REQUEST.end());
        return Err(keys.refuse("request", reason));
    }
    if !(1..=MOST_CONNECTIONS).contains(&connections) {
        return Err(keys.refuse("connections", format!("{connections} is out of range; from 1 to {MOST_CONNECTIONS}")));
    }
    if warmup.max(start).saturating_add(grace) >= duration {
        let reason = format!(
            "nothing is left to count of a run of {duration}: requests count from {} on, but for the last {grace}",
            warmup.max(start)
        );
        return Err(keys.refuse("grace", reason));
    }
    let sizes = sizes::read(keys, files)?;
    let spec = WorkloadSpec {
        name: keys.name().to_owned(),
        from,
        to,
        controller: controller(keys, catalogue, &mut config)?,
        load,
        sizes,
        request: request.0,
        start,
        grace,
        connections,
        ip,
        config,
    };
    // Half as many again as on average: more than chance gives.
    let expected = spec.expected_requests(duration);
    if expected.saturating_mul(3) / 2 > airtcp_sim::Workload::MOST_REQUESTS as u64 {
        let most = airtcp_sim::Workload::MOST_REQUESTS;
        let reason = format!("about {expected} requests in {duration} are too many; a workload has at most {most}");
        return Err(keys.refuse("load", reason));
    }
    Ok(spec)
}

/// Controllers that Linux does not have become Reno, what they are compared with.
pub(super) fn replace_by_reno(workloads: &mut [WorkloadSpec], catalogue: &Catalogue<'_>) {
    for workload in workloads {
        flow::reno_for(&mut workload.controller, &mut workload.config, catalogue);
    }
}

impl WorkloadSpec {
    /// How many requests there are on average in a run of this length.
    pub fn expected_requests(&self, duration: Duration) -> u64 {
        let time = duration.saturating_sub(self.start).as_nanos();
        time / self.mean_gap().as_nanos().max(1)
    }

    /// The part of a run in which requests begin that count.
    pub fn counted(&self, warmup: Duration, duration: Duration) -> (Duration, Duration) {
        (warmup.max(self.start), duration.saturating_sub(self.grace))
    }

    /// Bytes of a full packet.
    pub fn sizes_of_packets(&self) -> PacketSizes {
        SocketChoice::default().settings.sizes(&self.config, self.ip == IpVersion::V4)
    }
}
