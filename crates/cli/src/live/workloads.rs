//! Workloads of a scenario between namespaces: the same requests as in the simulator.

use super::{Session, no_traffic};
use airtcp_core::{Duration, Instant};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::workload::{self, Request};
use airtcp_experiment::scenario::{IpVersion, ResolvedScenario, WorkloadSpec};
use airtcp_experiment::world::WorkloadOutcome;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{self, RequestsResult, RequestsSpec, RunningRequests};
use airtcp_tcp::Config;

/// Starts every workload of the run that began at `origin`.
pub(super) fn start(
    session: &Session,
    cell: &ResolvedScenario,
    seed: u64,
    origin: Instant,
) -> Result<Vec<RunningRequests>, NotRun> {
    let start = |workload: &WorkloadSpec| {
        traffic::start_requests(spec(session, cell, workload, seed)?, origin).map_err(no_traffic)
    };
    cell.workloads.iter().map(start).collect()
}

fn spec(
    session: &Session,
    cell: &ResolvedScenario,
    workload: &WorkloadSpec,
    seed: u64,
) -> Result<RequestsSpec, NotRun> {
    let family = if workload.ip == IpVersion::V4 { Family::V4 } else { Family::V6 };
    let end = |node: usize| {
        let name = &cell.nodes[node];
        let end = session.testbed().end(name, family);
        let end = end.map(|(namespace, address)| (namespace.clone(), address));
        end.ok_or_else(|| NotRun::Failed(format!("the testbed has no node '{name}'")))
    };
    // As the default the kernel tunes it.
    let receive_buffer = Some(workload.config.receive_buffer).filter(|size| *size != Config::default().receive_buffer);
    Ok(RequestsSpec {
        name: workload.name.clone(),
        server: end(workload.from)?,
        client: end(workload.to)?,
        controller: workload.controller.clone(),
        request: workload.request,
        arrivals: arrivals(cell, workload, seed),
        connections: workload.connections as usize,
        receive_buffer: receive_buffer.map(|size| size.0),
        window: (cell.warmup, cell.duration),
        seed,
    })
}

fn arrivals(cell: &ResolvedScenario, workload: &WorkloadSpec, seed: u64) -> Vec<(Duration, u64)> {
    let arrivals = workload.arrivals(seed, cell.duration);
    arrivals.into_iter().map(|arrival| (arrival.at, arrival.size)).collect()
}

/// What became of each.
pub(super) fn outcomes(cell: &ResolvedScenario, seed: u64, results: &[RequestsResult]) -> Vec<WorkloadOutcome> {
    let outcome = |(spec, result): (&WorkloadSpec, &RequestsResult)| {
        let due = arrivals(cell, spec, seed).into_iter().zip(&result.took);
        let requests: Vec<Request> = due.map(|((at, size), took)| Request { at, size, took: *took }).collect();
        workload::outcome(cell, spec, &requests, (result.window_bytes, result.most_open))
    };
    cell.workloads.iter().zip(results).map(outcome).collect()
}
