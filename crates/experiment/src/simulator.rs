//! The world of virtual time: a resolved scenario on [`airtcp_sim`].

use crate::catalogue::NO_SCHEME;
use crate::scenario::{
    FlowSpec, IpVersion, LevelKind, LevelSpec, On, ResolvedScenario, WorkloadSpec, varying_rates, workload,
};
use crate::world::{
    Belief, BeliefSample, Drops, Dynamics, FlowOutcome, Level, Marks, NotRun, Percentiles, ProbeOutcome, Queue,
    RunOutcome, Sample, SchemeOutcome, Trace, Verdict, WorkloadOutcome, World,
};
use airtcp_core::{Duration, Instant};
use airtcp_sim::dot11::FrameKind;
use airtcp_sim::{Flow, LevelSample, Outcome, RunSettings, Tap, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs in virtual time.
#[derive(Clone, Debug, Default)]
pub struct Simulator {
    /// Initial sequence numbers and timestamps just below the wrap.
    pub near_wrap: bool,
    /// Runs under way end, without an outcome, once it is true.
    pub stop: Option<Arc<AtomicBool>>,
}

impl World for Simulator {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        self.run_watched(cell, seed, None)
    }
}

impl Simulator {
    /// Runs `cell` while `tap` looks on.
    ///
    /// # Errors
    /// As [`World::run`].
    pub fn run_tapped(&self, cell: &ResolvedScenario, seed: u64, tap: &mut dyn Tap) -> Result<RunOutcome, NotRun> {
        self.run_watched(cell, seed, Some(tap))
    }

    fn run_watched(&self, cell: &ResolvedScenario, seed: u64, tap: Option<&mut dyn Tap>) -> Result<RunOutcome, NotRun> {
        let of_flows = cell.flows.iter().map(|flow| (&flow.controller, &flow.config));
        let of_workloads = cell.workloads.iter().map(|workload| (&workload.controller, &workload.config));
        let mut controllers = of_flows.chain(of_workloads);
        if let Some((missing, _)) = controllers.find(|(controller, config)| *controller != config.controller.slug) {
            let sentence = format!("the simulator has no '{missing}'; the kernel's own runs with --live");
            return Err(NotRun::Skipped(sentence));
        }
        let live_only = |flow: &FlowSpec| Some((flow.name.clone(), flow.socket.settings.live_only()?));
        if let Some((flow, reason)) = cell.flows.iter().find_map(live_only) {
            return Err(NotRun::Skipped(format!("flow '{flow}': {reason}")));
        }
        let settings = RunSettings {
            seed,
            duration: cell.duration,
            warmup: cell.warmup,
            sample_every: cell.sample_every(),
            near_wrap: self.near_wrap,
            stop: self.stop.clone(),
            ..RunSettings::default()
        };
        let cell = &*cell.of_run(seed);
        let topology = topology(cell, seed);
        let recorded = |level: &LevelSpec| match &level.kind {
            LevelKind::Recorded(level) => Some(level.clone()),
            LevelKind::Rate(_) => None,
        };
        let settings = RunSettings { levels: cell.levels.iter().filter_map(recorded).collect(), ..settings };
        let outcome = match tap {
            Some(tap) => topology.run_tapped(&settings, tap),
            None => topology.run(&settings),
        };
        let outcome = outcome.map_err(|error| NotRun::Failed(error.to_string()))?;
        Ok(convert(cell, seed, outcome))
    }
}

fn topology(cell: &ResolvedScenario, seed: u64) -> Topology {
    let mut topology = Topology::new();
    let nodes: Vec<_> = cell.nodes.iter().map(|name| topology.node(name)).collect();
    let mut links = Vec::new();
    for link in &cell.links {
        let [a, b] = link.between.map(|node| nodes[node]);
        links.push(topology.link(&link.name, a, b, link.forward.clone(), link.reverse.clone()));
    }
    let mut wlans = Vec::new();
    for wlan in &cell.wlans {
        let stations: Vec<_> = wlan.stations.iter().map(|station| nodes[*station]).collect();
        let id = topology.wlan(&wlan.name, nodes[wlan.ap], &stations, wlan.settings.clone());
        wlan.edca.iter().for_each(|(station, edca)| topology.contend(id, nodes[*station], edca.clone()));
        wlans.push(id);
    }
    for scheme in &cell.schemes {
        let on: airtcp_sim::On = match scheme.on {
            On::Link(link) => links[link].into(),
            On::Wlan(wlan) => wlans[wlan].into(),
            On::Path(from, to) => [nodes[from], nodes[to]].into(),
        };
        topology.scheme(&scheme.name, on, scheme.choice.clone());
    }
    for flow in &cell.flows {
        topology.flow(Flow {
            name: flow.name.clone(),
            from: nodes[flow.from],
            to: nodes[flow.to],
            socket: flow.socket.clone(),
            tcp: flow.config.clone(),
            start: flow.start,
            size: flow.size.map(|size| size.0),
            ipv6: flow.ip == IpVersion::V6,
        });
    }
    for workload in &cell.workloads {
        topology.workload(airtcp_sim::Workload {
            name: workload.name.clone(),
            from: nodes[workload.from],
            to: nodes[workload.to],
            tcp: workload.config.clone(),
            request: workload.request,
            arrivals: workload.arrivals(seed, cell.duration).into(),
            connections: workload.connections,
            ipv6: workload.ip == IpVersion::V6,
        });
    }
    for probe in &cell.probes {
        topology.probe(airtcp_sim::Probe {
            name: probe.name.clone(),
            from: nodes[probe.from],
            to: nodes[probe.to],
            every: probe.every,
            size: probe.size,
        });
    }
    topology
}

fn convert(cell: &ResolvedScenario, seed: u64, outcome: Outcome) -> RunOutcome {
    let verdict = |check: Option<Result<(), String>>| match check {
        None => Verdict::NotChecked,
        Some(Ok(())) => Verdict::Passed,
        Some(Err(sentence)) => Verdict::Failed(sentence),
    };
    let checks = outcome.checks;
    let headers = || outcome.queues.iter().filter_map(|queue| queue.headers);
    let first_drop = outcome.queues.iter().filter_map(|queue| queue.first_drop).min();
    RunOutcome {
        beliefs: beliefs(&outcome.schemes),
        flows: cell.flows.iter().zip(outcome.flows).map(|(spec, flow)| convert_flow(cell, spec, flow)).collect(),
        schemes: outcome.schemes.into_iter().map(convert_scheme).collect(),
        wlan: wlan(&outcome.wlans),
        drops: outcome
            .drops
            .into_iter()
            .map(|drop| Drops {
                place: drop.place,
                reason: drop.reason.label().into(),
                packets: drop.packets,
                headers: drop.headers,
            })
            .collect(),
        marks: outcome.marks.into_iter().map(|mark| Marks { place: mark.place, packets: mark.packets }).collect(),
        queue: Some(Queue {
            bytes_max: outcome.queues.iter().map(|queue| queue.bytes_max).max().unwrap_or(0),
            first_drop: first_drop.map(|at| at.saturating_since(Instant::ZERO)),
            headers_max: headers().map(|levels| levels.most).max(),
            headers_mean: headers()
                .map(|levels| levels.waited.as_nanos() as f64 / cell.duration.as_nanos() as f64)
                .max_by(f64::total_cmp),
        }),
        levels: levels(cell, seed, &outcome.levels),
        link_rates: link_rates(cell, seed),
        checks: vec![
            ("conservation".into(), verdict(checks.conservation)),
            ("stream".into(), verdict(checks.stream)),
            ("bounds".into(), verdict(checks.bounds)),
        ],
        trace: Some(Trace { hash: outcome.trace_hash, events: outcome.events }),
        emulator: None,
        probes: outcome.probes.into_iter().map(convert_probe).collect(),
        workloads: cell.workloads.iter().zip(outcome.workloads).map(|(spec, of)| requests(cell, spec, of)).collect(),
        path: None,
        dynamics: Dynamics::default(),
    }
}

fn convert_probe(probe: airtcp_sim::ProbeOutcome) -> ProbeOutcome {
    ProbeOutcome {
        name: probe.name,
        sent: probe.sent,
        received: probe.received,
        rtt: percentiles(probe.rtt),
        rtt_or_lost: percentiles(probe.rtt_or_lost),
    }
}

fn requests(cell: &ResolvedScenario, spec: &WorkloadSpec, of: airtcp_sim::WorkloadOutcome) -> WorkloadOutcome {
    let request = |request: airtcp_sim::RequestOutcome| workload::Request {
        at: request.at,
        size: request.size,
        took: request.took,
    };
    let requests: Vec<_> = of.requests.into_iter().map(request).collect();
    workload::outcome(cell, spec, &requests, (of.measured_bytes, of.most_open))
}

fn percentiles(of: airtcp_sim::Percentiles) -> Percentiles {
    Percentiles { p50: of.p50, p95: of.p95, p99: of.p99 }
}

/// The rates of the links that vary, in the run with `seed`: they follow from it, in every world.
pub fn link_rates(cell: &ResolvedScenario, seed: u64) -> Vec<Level> {
    varying_rates(cell, seed).into_iter().map(|(name, samples)| Level { name, samples }).collect()
}

fn beliefs(schemes: &[airtcp_sim::SchemeOutcome]) -> Vec<Belief> {
    let sample = |belief: &airtcp_sim::Belief| BeliefSample {
        at: belief.at.saturating_since(Instant::ZERO),
        rate_bps: belief.rate_bps,
        link_wait: belief.link_wait,
        queue_bytes: belief.queue_bytes,
    };
    let elements = schemes.iter().flat_map(|scheme| scheme.elements.iter().map(move |element| (scheme, element)));
    let beliefs = elements.map(|(scheme, element)| Belief {
        name: format!("schemes.{}.{}", scheme.name, element.node),
        samples: element.beliefs.iter().map(sample).collect(),
    });
    beliefs.filter(|belief| !belief.samples.is_empty()).collect()
}

/// Every level that was asked for; those that were recorded are in the order of the file.
fn levels(cell: &ResolvedScenario, seed: u64, samples: &[LevelSample]) -> Vec<Level> {
    let mut recorded = 0..;
    let level = |spec: &LevelSpec| {
        let samples = spec.rate_over_time(cell, seed).unwrap_or_else(|| {
            let index = recorded.next().unwrap_or_default();
            samples.iter().map(|sample| (sample.at.as_nanos(), sample.values[index])).collect()
        });
        Level { name: spec.name.clone(), samples }
    };
    cell.levels.iter().map(level).collect()
}

/// The counters of all cells together.
fn wlan(wlans: &[airtcp_sim::WlanOutcome]) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    let mut add = |name: &str, amount: u64| *counters.entry(name.to_owned()).or_insert(0) += amount;
    for wlan in wlans {
        for (name, amount) in [
            ("exchanges", wlan.medium.exchanges),
            ("collisions", wlan.medium.collisions),
            ("contenders", wlan.medium.contenders),
            ("reverse_frames", wlan.medium.reverse_frames),
            ("riding_acks", wlan.medium.riders),
            ("polls", wlan.medium.polls),
            ("beacons", wlan.medium.beacons),
            ("busy_ns", wlan.medium.busy.as_nanos()),
        ] {
            add(name, amount);
        }
        if wlan.medium.aggregates > 0 {
            add("aggregates", wlan.medium.aggregates);
            add("aggregated_frames", wlan.medium.aggregated_frames);
            add("block_ack_requests", wlan.medium.block_ack_requests);
        }
        for (interface, (_, usage)) in wlan.interfaces.iter().enumerate() {
            add("given_up", usage.given_up);
            for kind in FrameKind::ALL {
                let airtime = usage.airtime[kind as usize];
                let of_kind = airtime.delivered + airtime.damaged + airtime.collided;
                add(if kind == FrameKind::TcpAck { "ack_ns" } else { "data_ns" }, of_kind.as_nanos());
                add("collided_ns", airtime.collided.as_nanos());
                add("damaged_ns", airtime.damaged.as_nanos());
            }
            let is_ap = interface == 0;
            add("ap_ack_frames", if is_ap { usage.frames_delivered[FrameKind::TcpAck as usize] } else { 0 });
        }
    }
    counters
}

fn convert_flow(cell: &ResolvedScenario, spec: &FlowSpec, flow: airtcp_sim::FlowOutcome) -> FlowOutcome {
    let completion = flow.completed_at.map(|at| at.saturating_since(Instant::ZERO + spec.start));
    let ended = flow.completed_at.map(|at| at.saturating_since(Instant::ZERO));
    let (window_start, window) = alive_while_measured(cell, spec, ended);
    let transfer = flow.completed_at.zip(flow.established_at).map(|(end, begin)| end.saturating_since(begin));
    FlowOutcome {
        name: flow.name,
        window_bytes: flow.measured_bytes,
        window_start,
        window,
        total_bytes: flow.total_bytes,
        acked_bytes: flow.acked_bytes,
        completion,
        transfer,
        retransmitted_segments: flow.retransmitted_segments,
        rtos: flow.rtos,
        acknowledged_missing: Some(flow.acknowledged_missing),
        controller: flow.controller.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        control: flow.control.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
        rtt: percentiles(flow.rtt),
        delay: flow.delay.map(percentiles),
        segment_bytes: flow.segment_bytes,
        longest_stall: flow.longest_stall,
        series: flow
            .series
            .into_iter()
            .map(|sample| Sample {
                at: sample.at.saturating_since(Instant::ZERO),
                delivered: sample.delivered,
                acked: sample.acked,
                cwnd: sample.cwnd,
                rtt: sample.srtt,
                repairs: sample.repairs,
            })
            .collect(),
    }
}

/// When a flow that ended at `ended`, or not at all, could deliver within the measured part of the run: from when on
/// since the run's start, and how long.
pub fn alive_while_measured(cell: &ResolvedScenario, flow: &FlowSpec, ended: Option<Duration>) -> (Duration, Duration) {
    let until = ended.unwrap_or(cell.duration).min(cell.duration);
    let from = cell.warmup.max(flow.start);
    (from, until.saturating_sub(from))
}

/// The boxes of a scheme together: counters are added, of levels the highest is taken.
fn convert_scheme(scheme: airtcp_sim::SchemeOutcome) -> SchemeOutcome {
    debug_assert_ne!(scheme.kind, NO_SCHEME);
    let mut counters = BTreeMap::new();
    for element in scheme.elements {
        for (event, count) in element.events {
            *counters.entry(event.label().to_owned()).or_insert(0) += count;
        }
        for (gauge, level) in element.gauges {
            let highest = counters.entry(gauge.label().to_owned()).or_insert(0);
            *highest = level.max(*highest);
        }
    }
    SchemeOutcome { name: scheme.name, counters }
}
