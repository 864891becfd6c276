//! The live world: the same scenario on kernel TCP, and UDP, between network namespaces of this machine.
//!
//! Each run builds its own testbed, starts one `airtcp gateway` per element of the scheme, and an `airtcp
//! forward` at both hosts of a flow with a decoupling socket or a stream over a circuit, as an operator would, tests
//! the emulated links, runs the flows and takes everything down again. Runs follow each other strictly: they measure
//! time.

mod carriers;
mod controllers;
mod convert;
mod forwarders;
mod gateways;
mod links;
mod punctual;
mod session;
mod sites;
mod workloads;

use forwarders::Forwarders;
pub(crate) use links::LinkReport;
use punctual::punctual;
pub(crate) use session::Session;

use airtcp_core::Duration;
use airtcp_core::parameters::Parameters;
use airtcp_experiment::scenario::{self, IpVersion};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome, World};
use airtcp_linux::emulator;
use airtcp_linux::testbed::{Family, TestbedError};
use airtcp_linux::traffic::{
    self, Amount, Carrier, FlowResult, FlowSpec, ProbeResult, ProbeSpec, RequestsResult, RunningFlow, RunningProbe,
    RunningRequests, TrafficError,
};
use airtcp_tcp::Config;

/// Runs on kernel TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live(());

impl Live {
    /// This machine; whether it can run anything shows in the first run.
    pub fn new() -> Self {
        Live(())
    }
}

impl World for Live {
    fn name(&self) -> &'static str {
        "live"
    }

    fn runs_in_parallel(&self) -> bool {
        false
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        let cell = &*cell.of_run(seed);
        refuse_what_is_not_emulated(cell)?;
        refuse_what_the_kernel_decides(cell)?;
        let controllers = controllers::Controllers::load(cell)?;
        punctual(|| run_once(cell, seed, &controllers))
    }
}

fn run_once(cell: &ResolvedScenario, seed: u64, controllers: &controllers::Controllers) -> Result<RunOutcome, NotRun> {
    let session = Session::up(cell, seed)?;
    let verdict = test_links(&session, seed)?;
    let mut gateways = session.start_gateways()?;
    gateways.wait_until_up()?;
    let forwarders = session.start_forwarders()?;
    let settings = cell.links.iter().map(|link| [link.forward.clone(), link.reverse.clone()]).collect();
    let origin = session.testbed().emulator().restart(seed, Some(settings), cell.warmup).map_err(failed)?;
    let before = gateways.counters()?;
    let traffic = || run_traffic(&session, cell, seed, origin, &forwarders);
    let (results, watched) = gateways.watch(cell.sample_every(), origin, traffic)?;
    let Traffic { flows, probes, requests } = results?;
    let after = gateways.counters()?;
    let report = session.testbed().emulator().report().map_err(failed)?;
    let drops = session.testbed().device_drops().map_err(not_run)?;
    let mut outcome = convert::outcome(&convert::Findings {
        cell,
        seed,
        flows,
        probes,
        requests,
        watched,
        before,
        after,
        verdict,
        report,
        device_drops: drops,
    });
    // The kernel counts for all flows of a controller together: the first one stands for them.
    for (index, flow) in cell.flows.iter().enumerate() {
        if cell.flows[..index].iter().all(|before| before.controller != flow.controller) {
            outcome.flows[index].controller = controllers.counters(&flow.controller)?;
        }
    }
    Ok(outcome)
}

/// Tests tried before a run is called invalid: another process on the cores for a moment is not the
/// link's fault.
const SELF_TESTS: u64 = 20;
/// Longest wait between two tests; a busy moment ends sooner, a busy machine does not.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

fn test_links(session: &Session, seed: u64) -> Result<emulator::SelfTest, NotRun> {
    let mut number = 0;
    loop {
        // Other draws each time, or a rare but honest draw would fail every time.
        let verdict = emulator::self_test(session.testbed(), seed.wrapping_add(number)).map_err(not_run)?;
        number += 1;
        if verdict.valid || number == SELF_TESTS {
            for problem in &verdict.problems {
                tracing::warn!("the emulated link does not behave as configured: {problem}");
            }
            return Ok(verdict);
        }
        let wait = (Duration::from_millis(500) * number).min(LONGEST_WAIT);
        std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
    }
}

/// Slots of 20 us are shorter than the time in which a thread can be woken.
fn refuse_what_is_not_emulated(cell: &ResolvedScenario) -> Result<(), NotRun> {
    let Some(wlan) = cell.wlans.first() else { return Ok(()) };
    let sentence = format!("the contention of 802.11 cell '{}' is not emulated; run it in the simulator", wlan.name);
    Err(NotRun::Skipped(sentence))
}

/// A live run takes the kernel's TCP as it is: what the file says about endpoints beyond that would be a lie.
fn refuse_what_the_kernel_decides(cell: &ResolvedScenario) -> Result<(), NotRun> {
    for flow in &cell.flows {
        if let Carrier::Datagrams(stream) = carriers::carrier(flow)? {
            if carriers::is_forwarded(flow) && stream.dscp > 0 {
                let name = &flow.name;
                return Err(NotRun::Skipped(format!("flow '{name}' sets 'data_dscp', which forwarders do not keep")));
            }
            // Without a TCP its other keys say nothing.
            continue;
        }
        let ours = Config { receive_buffer: flow.config.receive_buffer, ..Config::without_habits() };
        if carriers::is_forwarded(flow) && flow.config == ours {
            // The data TCP of a forwarder, which the kernel has no say in.
            continue;
        }
        refuse_settings("flow", &flow.name, &flow.config)?;
    }
    for workload in &cell.workloads {
        // That of the kernel is as long as it is; nothing waits for it.
        let config = Config { time_wait: Config::default().time_wait, ..workload.config.clone() };
        refuse_settings("workload", &workload.name, &config)?;
    }
    Ok(())
}

fn refuse_settings(what: &str, name: &str, config: &Config) -> Result<(), NotRun> {
    let Some(key) = set_otherwise(config) else { return Ok(()) };
    let by = if is_habit(key) { ", itself or by 'habits'," } else { "" };
    Err(NotRun::Skipped(format!("{what} '{name}' sets{by} '{key}', which the kernel decides in a live run")))
}

/// The first key that says something else than the kernel does. A window that the file limits is open from the start.
fn set_otherwise(config: &Config) -> Option<&'static str> {
    const GIVEN: [&str; 2] = ["controller", "receive_buffer"];
    const OF_A_BUFFER_THAT_GROWS: [&str; 2] = ["window_growth", "receive_autotuning"];
    let kernel = Config::default();
    let is_limited = config.receive_buffer != kernel.receive_buffer;
    let decides = |key| !(GIVEN.contains(&key) || is_limited && OF_A_BUFFER_THAT_GROWS.contains(&key));
    differing(config, &kernel).find(|key| decides(*key))
}

/// Whether `habits` sets this key of a flow.
fn is_habit(key: &str) -> bool {
    differing(&Config::without_habits(), &Config::default()).any(|habit| habit == key)
}

/// The keys that `config` and `other` have different values for.
fn differing(config: &Config, other: &Config) -> impl Iterator<Item = &'static str> {
    let pairs = config.fields().into_iter().zip(other.fields());
    pairs.filter(|(field, other)| field.value != other.value).map(|(field, _)| field.name)
}

/// What everything that sent tells.
struct Traffic {
    flows: Vec<FlowResult>,
    probes: Vec<ProbeResult>,
    requests: Vec<RequestsResult>,
}

/// The flows, and the probes and requests beside them.
fn run_traffic(
    session: &Session,
    cell: &ResolvedScenario,
    seed: u64,
    origin: airtcp_core::Instant,
    forwarders: &Forwarders,
) -> Result<Traffic, NotRun> {
    let probes = cell.probes.iter().map(|probe| {
        let spec = probe_spec(session, cell, probe)?;
        traffic::start_probe(spec, origin).map_err(no_traffic)
    });
    let probes = probes.collect::<Result<Vec<_>, _>>()?;
    let requests = workloads::start(session, cell, seed, origin)?;
    let specs = cell.flows.iter().enumerate().map(|(index, flow)| {
        let spec = flow_spec(session, cell, flow, seed)?;
        Ok(forwarders.lead(index, spec))
    });
    let specs = specs.collect::<Result<Vec<_>, NotRun>>()?;
    let running = specs.into_iter().map(|spec| traffic::start(spec, origin)).collect::<Result<Vec<RunningFlow>, _>>();
    let results = running.map_err(no_traffic)?.into_iter().map(RunningFlow::join);
    let results = results.collect::<Result<Vec<FlowResult>, _>>().map_err(no_traffic)?;
    for result in &results {
        use traffic::Outcome::{Broken, NotConnected};
        if let Broken(words) | NotConnected(words) = &result.outcome {
            return Err(NotRun::Failed(format!("flow '{}' broke: {words}", result.name)));
        }
    }
    let probes = probes.into_iter().map(RunningProbe::join).collect::<Result<Vec<_>, _>>().map_err(no_traffic)?;
    let requests =
        requests.into_iter().map(RunningRequests::join).collect::<Result<Vec<_>, _>>().map_err(no_traffic)?;
    Ok(Traffic { flows: results, probes, requests })
}

fn probe_spec(session: &Session, cell: &ResolvedScenario, probe: &scenario::ProbeSpec) -> Result<ProbeSpec, NotRun> {
    let end = |node: usize| {
        let name = &cell.nodes[node];
        let end = session.testbed().end(name, Family::V4);
        let end = end.map(|(namespace, address)| (namespace.clone(), address));
        end.ok_or_else(|| NotRun::Failed(format!("the testbed has no node '{name}'")))
    };
    Ok(ProbeSpec {
        name: probe.name.clone(),
        from: end(probe.from)?,
        to: end(probe.to)?,
        every: probe.every,
        size: probe.size,
        window: (cell.warmup, cell.duration),
    })
}

fn flow_spec(
    session: &Session,
    cell: &ResolvedScenario,
    flow: &airtcp_experiment::scenario::FlowSpec,
    seed: u64,
) -> Result<FlowSpec, NotRun> {
    let family = if flow.ip == IpVersion::V4 { Family::V4 } else { Family::V6 };
    let end = |node: usize| {
        let name = &cell.nodes[node];
        session.testbed().end(name, family).ok_or_else(|| NotRun::Failed(format!("the testbed has no node '{name}'")))
    };
    let (from, to) = (end(flow.from)?, end(flow.to)?);
    let bulk = FlowSpec::bulk(&flow.name, from, to, &flow.controller, cell.warmup, cell.duration);
    // As the default the kernel tunes it.
    let receive_buffer = Some(flow.config.receive_buffer).filter(|size| *size != Config::default().receive_buffer);
    Ok(FlowSpec {
        carrier: carriers::carrier(flow)?,
        receive_buffer: receive_buffer.map(|size| size.0),
        amount: flow.size.map_or(bulk.amount, |size| Amount::Bytes(size.0)),
        start: flow.start,
        seed,
        sample_every: cell.sample_every(),
        ..bulk
    })
}

/// A kernel without the controller is no failure of the run.
fn no_traffic(error: TrafficError) -> NotRun {
    match error {
        TrafficError::Controller { .. } | TrafficError::NotOfQuic { .. } | TrafficError::NotBuilt { .. } => {
            NotRun::Skipped(error.to_string())
        }
        _ => failed(error),
    }
}

fn not_run(error: TestbedError) -> NotRun {
    match error {
        TestbedError::Unavailable(sentence) => NotRun::Skipped(sentence),
        error => failed(error),
    }
}

fn failed(error: impl std::fmt::Display) -> NotRun {
    NotRun::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_run_takes_what_the_kernel_does_and_the_defaults_and_nothing_else() {
        let name = |config: Config| set_otherwise(&config);
        let receive_buffer = airtcp_core::ByteSize(1 << 20);
        assert_eq!(name(Config::default()), None);
        assert_eq!(name(Config { receive_buffer, ..Config::default() }), None);
        assert_eq!(name(Config { quick_acks: 3, ..Config::default() }), Some("quick_acks"));
        assert_eq!(name(Config { sack_compression: false, ..Config::default() }), Some("sack_compression"));
        assert_eq!(name(Config::without_habits()), Some("window_growth"));
        // As TCP_WINDOW_CLAMP has it.
        let open = Config { receive_buffer, window_growth: false, receive_autotuning: false, ..Config::default() };
        assert_eq!((name(Config { tso: false, ..open.clone() }), name(open)), (Some("tso"), None));
        assert_eq!((is_habit("tso"), is_habit("mtu")), (true, false));
        let other = Some(Duration::from_millis(300));
        assert_eq!(name(Config { delayed_ack_longest: other, ..Config::default() }), Some("delayed_ack_longest"));
    }
}
