//! Converts the reports of gateways, flows and emulator into the outcome of a run.

use super::gateways::{Counters, Repairs, Watched};
use super::workloads;
use airtcp_core::Duration;
use airtcp_experiment::scenario::{FlowSpec, LevelSpec, ResolvedScenario};
use airtcp_experiment::simulator::{alive_while_measured, link_rates};
use airtcp_experiment::world::{
    Belief, Drops, Dynamics, EmulatorReport, FlowOutcome, Level, Marks, Path, Percentiles, ProbeOutcome, RunOutcome,
    Sample, SchemeOutcome, Verdict,
};
use airtcp_linux::emulator::{self, PassageReport, SelfTest};
use airtcp_linux::gateway::status::HELD_PACKETS;
use airtcp_linux::traffic::{self, DatagramResult, FlowResult, ProbeResult, RequestsResult, RttPercentiles};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Everything that was found out about one run.
pub(super) struct Findings<'a> {
    pub(super) cell: &'a ResolvedScenario,
    pub(super) seed: u64,
    pub(super) flows: Vec<FlowResult>,
    pub(super) probes: Vec<ProbeResult>,
    pub(super) requests: Vec<RequestsResult>,
    pub(super) watched: Watched,
    pub(super) before: Counters,
    pub(super) after: Counters,
    pub(super) verdict: SelfTest,
    pub(super) report: emulator::EmulatorReport,
    pub(super) device_drops: u64,
}

pub(super) fn outcome(findings: &Findings<'_>) -> RunOutcome {
    let Findings { cell, seed, flows, watched: Watched { repairs, .. }, .. } = findings;
    let start = repairs.first().map_or(0, |(_, count)| *count);
    RunOutcome {
        wlan: BTreeMap::new(),
        flows: cell.flows.iter().zip(flows).map(|(spec, result)| flow(cell, spec, result, repairs, start)).collect(),
        schemes: schemes(findings),
        drops: drops(findings),
        marks: marks(findings),
        queue: None,
        levels: rates(cell, *seed),
        link_rates: link_rates(cell, *seed),
        beliefs: beliefs(findings),
        checks: checks(findings),
        trace: None,
        emulator: Some(emulator_report(findings)),
        probes: findings.probes.iter().map(probe).collect(),
        workloads: workloads::outcomes(cell, *seed, &findings.requests),
        path: Some(path(&findings.report.passages)),
        dynamics: Dynamics::default(),
    }
}

/// The levels over time that are known without looking: rates of links. Nobody records the others.
fn rates(cell: &ResolvedScenario, seed: u64) -> Vec<Level> {
    let rate = |spec: &LevelSpec| Some(Level { name: spec.name.clone(), samples: spec.rate_over_time(cell, seed)? });
    cell.levels.iter().filter_map(rate).collect()
}

/// What gateways that know a rate believed until the run's end; they are asked for a little longer.
fn beliefs(findings: &Findings<'_>) -> Vec<Belief> {
    let within = |belief: &Belief| {
        let samples = belief.samples.iter().copied().filter(|sample| sample.at <= findings.cell.duration);
        Belief { name: belief.name.clone(), samples: samples.collect() }
    };
    findings.watched.beliefs.iter().map(within).filter(|belief| !belief.samples.is_empty()).collect()
}

fn flow(cell: &ResolvedScenario, spec: &FlowSpec, result: &FlowResult, repairs: &Repairs, start: u64) -> FlowOutcome {
    let complete = spec.size.is_some() && result.outcome == traffic::Outcome::Complete;
    let ended = result.last_byte_at.filter(|_| complete);
    let (window_start, window) = alive_while_measured(cell, spec, ended);
    FlowOutcome {
        name: result.name.clone(),
        window_bytes: result.window_bytes,
        window_start,
        window,
        total_bytes: result.received_bytes,
        acked_bytes: result.samples.last().map_or(0, |sample| sample.info.acknowledged_bytes),
        completion: ended.zip(result.opened_at).map(|(end, begin)| end.saturating_sub(begin)),
        transfer: ended.zip(result.connected_at).map(|(end, begin)| end.saturating_sub(begin)),
        retransmitted_segments: result.window_retransmitted_segments,
        rtos: result.timeouts.unwrap_or(0),
        acknowledged_missing: None,
        controller: Vec::new(),
        control: result.datagrams.as_ref().map_or_else(Vec::new, counts),
        rtt: of_times(result.rtt),
        delay: result.datagrams.map(|datagrams| of_times(datagrams.delay)),
        segment_bytes: spec.sizes().payload,
        longest_stall: result.longest_stall,
        series: series(cell, result, repairs, start),
    }
}

/// As the simulator's sockets count.
fn counts(datagrams: &DatagramResult) -> Vec<(String, u64)> {
    let counts = [
        ("datagrams", datagrams.sent),
        ("datagrams_lost", datagrams.arrivals.lost),
        ("datagrams_misordered", datagrams.arrivals.misordered),
        ("datagrams_repeated", datagrams.arrivals.repeated),
    ];
    counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// The sender's samples, with what had arrived and been repaired by then.
fn series(cell: &ResolvedScenario, result: &FlowResult, repairs: &Repairs, start: u64) -> Vec<Sample> {
    let every = cell.sample_every().as_nanos();
    let mut series = Vec::with_capacity(result.samples.len());
    let (mut delivered, mut bins) = (0, 0);
    for sample in result.samples.iter().filter(|sample| sample.at <= cell.duration) {
        while (bins as u64 + 1) * every <= sample.at.as_nanos() && bins < result.received_series.len() {
            delivered += result.received_series[bins];
            bins += 1;
        }
        let repaired = repairs.iter().take_while(|(at, _)| *at <= sample.at).last().map_or(start, |(_, count)| *count);
        series.push(Sample {
            at: sample.at,
            delivered,
            acked: sample.info.acknowledged_bytes,
            cwnd: u64::from(sample.info.congestion_window) * u64::from(sample.info.segment_size),
            rtt: sample.info.smoothed_rtt,
            repairs: repaired.saturating_sub(start),
        });
    }
    series
}

/// Counters since the run began, of all gateways together; the highest value of each level.
fn schemes(findings: &Findings<'_>) -> Vec<SchemeOutcome> {
    let of_scheme = |(index, spec): (usize, &airtcp_experiment::scenario::SchemeSpec)| {
        let mut counters: BTreeMap<String, u64> = BTreeMap::new();
        for ((_, before), (_, after)) in findings.before[index].iter().zip(&findings.after[index]) {
            for (label, count) in &after.events {
                let earlier = before.events.get(label).copied().unwrap_or(0);
                let since = count.saturating_sub(earlier);
                if since > 0 {
                    *counters.entry(label.clone()).or_insert(0) += since;
                }
            }
            for (label, level) in after.gauges.iter().filter(|(label, _)| *label != HELD_PACKETS) {
                let highest = counters.entry(label.clone()).or_insert(0);
                *highest = (*level).max(*highest);
            }
        }
        SchemeOutcome { name: spec.name.clone(), counters }
    };
    findings.cell.schemes.iter().enumerate().map(of_scheme).collect()
}

fn marks(findings: &Findings<'_>) -> Vec<Marks> {
    let marking = findings.report.directions.iter().filter(|direction| direction.marked_packets > 0);
    marking.map(|direction| Marks { place: direction.name.clone(), packets: direction.marked_packets }).collect()
}

fn drops(findings: &Findings<'_>) -> Vec<Drops> {
    let of_link = findings.report.directions.iter().flat_map(|direction| {
        direction.drops().map(|(reason, packets)| Drops {
            place: direction.name.clone(),
            reason: reason.label().into(),
            packets,
            headers: direction.headers_dropped(reason),
        })
    });
    let mut drops: Vec<Drops> = of_link.collect();
    for (index, spec) in findings.cell.schemes.iter().enumerate() {
        for ((_, before), (node, after)) in findings.before[index].iter().zip(&findings.after[index]) {
            for (reason, count) in &after.discarded {
                let packets = count.saturating_sub(before.discarded.get(reason).copied().unwrap_or(0));
                if packets > 0 {
                    drops.push(Drops {
                        place: format!("schemes.{}.{node}", spec.name),
                        reason: reason.clone(),
                        packets,
                        headers: 0,
                    });
                }
            }
        }
    }
    if findings.device_drops > 0 {
        drops.push(Drops {
            place: "devices".into(),
            reason: "device".into(),
            packets: findings.device_drops,
            headers: 0,
        });
    }
    drops
}

fn checks(findings: &Findings<'_>) -> Vec<(Cow<'static, str>, Verdict)> {
    let verdict = |broken: Option<String>| broken.map_or(Verdict::Passed, Verdict::Failed);
    let boxes = || findings.after.iter().flatten().map(|(_, status)| status);
    let link = findings.report.directions.iter().find(|direction| !direction.is_conserved());
    let conservation =
        link.map(|direction| format!("packets of {} are unaccounted for", direction.name)).or_else(|| {
            boxes()
                .find(|status| !status.conserved)
                .map(|status| format!("packets of {} are unaccounted for: {:?}", status.name, status.conservation))
        });
    let damaged = findings.flows.iter().find(|flow| !flow.stream_is_intact());
    let stream = damaged
        .map(|flow| format!("flow '{}' arrived damaged (first wrong byte {:?})", flow.name, flow.first_wrong_byte));
    let stream = stream.or_else(|| {
        findings.requests.iter().find_map(|requests| {
            let (number, place) = requests.damaged?;
            Some(format!("request {number} of workload '{}' arrived damaged (first wrong byte {place})", requests.name))
        })
    });
    let bounds = boxes().find_map(|status| Some(format!("{}: {}", status.name, status.broken.as_ref()?)));
    let checks = [("conservation", conservation), ("stream", stream), ("bounds", bounds)];
    checks.into_iter().map(|(name, broken)| (name.into(), verdict(broken))).collect()
}

fn probe(result: &ProbeResult) -> ProbeOutcome {
    ProbeOutcome {
        name: result.name.clone(),
        sent: result.sent,
        received: result.received,
        rtt: of_times(result.rtt),
        rtt_or_lost: of_times(result.rtt_or_lost),
    }
}

fn of_times(found: RttPercentiles) -> Percentiles {
    percentiles(found.p50, found.p95, found.p99)
}

fn percentiles(p50: Duration, p95: Duration, p99: Duration) -> Percentiles {
    Percentiles { p50: p50.as_nanos(), p95: p95.as_nanos(), p99: p99.as_nanos() }
}

fn path(passages: &PassageReport) -> Path {
    let of = |found: emulator::Percentiles| percentiles(found.p50, found.p95, found.p99);
    Path { data_wait: of(passages.data_wait), ack_wait: of(passages.ack_wait), round_trip: of(passages.round_trip) }
}

/// The self-test before the run, and what the run's own packets met on the link that loses most.
fn emulator_report(findings: &Findings<'_>) -> EmulatorReport {
    let full = |settings: &airtcp_link::LinkSettings| settings.loss.mean(settings.mtu).parts_per_billion() as f64 / 1e9;
    let directions = findings.cell.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    // The report lists forward and reverse of each link in the same order.
    let worst = directions.map(full).zip(&findings.report.directions).fold((0.0, 0.0), |worst, (asked, direction)| {
        if asked > worst.0 { (asked, direction.loss_seen_ratio()) } else { worst }
    });
    EmulatorReport {
        valid: findings.verdict.valid,
        rate_error_ratio: findings.verdict.rate_error_ratio,
        release_error_p99_ns: findings.report.release_error.p99.as_nanos(),
        loss_asked_ratio: worst.0,
        loss_seen_ratio: worst.1,
    }
}
