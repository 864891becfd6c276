//! A catalogue that does not change when schemes are added, and scenarios made from the demo.

#![allow(dead_code, reason = "each test file uses its part")]

use airtcp_core::{Context, Duration, Element, Packet, Port, choices, parameters};
use airtcp_experiment::results::summary::Summary;
use airtcp_experiment::results::{self, Results, RunOptions};
use airtcp_experiment::scenario::{Origin, Problem, Scenario, ScenarioError, SchemeSpec, Source};
use airtcp_experiment::world::{
    Drops, Dynamics, EmulatorReport, FlowOutcome, Percentiles, Sample, SchemeOutcome, Verdict,
};
use airtcp_experiment::{Catalogue, NotRun, ResolvedScenario, RunOutcome, World};
use airtcp_schemes::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
pub use airtcp_test_support::{Scratch, skip};
use std::collections::BTreeMap;

/// `summary.json` as its readers find it, once written and read back.
pub fn summary_json(results: &Results<'_>) -> serde_json::Value {
    let summary = Summary::of(results, "results/demo/live");
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(serde_json::from_value::<Summary>(json.clone()).unwrap(), summary, "a summary reads back");
    json
}

/// The demo as users see it.
pub const DEMO: &str = include_str!("../../../../scenarios/demo.toml");

choices! {
    /// Two ways.
    pub enum Mode {
        /// The paper's.
        Paper = "paper",
        /// Ours.
        Modern = "modern",
    }
}
parameters! {
    /// Of a scheme that does nothing.
    pub struct Settings {
        /// Which way.
        pub mode: Mode = Mode::Modern, "test";
        /// How long.
        pub hold: Duration = Duration::from_millis(50), "test";
    }
}

struct Idle;

impl Element for Idle {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        cx.send(port.opposite(), packet);
    }
}

fn make(_: &Settings, _: &mut Site<'_>) -> Made {
    Ok(Box::new(Idle))
}

const fn entry(slug: &'static str) -> SchemeEntry {
    SchemeEntry {
        slug,
        about: "Does nothing.",
        source: "test",
        placement: Placement::BothEnds,
        keeps_end_to_end: true,
        reports: Reports::NONE,
        settings: || settings_for(make),
    }
}

/// `snoop` and `gsnoop` that do nothing, and the controllers there are.
pub const CATALOGUE: Catalogue<'static> =
    Catalogue { schemes: &[entry("snoop"), entry("gsnoop")], ..Catalogue::BUILT_IN };

/// What the file sets of a scheme.
#[allow(dead_code, reason = "not every test asks")]
pub fn given(scheme: &SchemeSpec) -> Vec<(&'static str, String)> {
    scheme.choice.settings.given().into_iter().map(|field| (field.name, field.value)).collect()
}

/// Reads `text` as `demo.toml`; its base, if any, is the demo.
pub fn read(text: &str, sets: &[&str]) -> Result<Scenario, ScenarioError> {
    read_with(text, sets, &CATALOGUE)
}

/// The same with schemes that do something.
pub fn read_with(text: &str, sets: &[&str], catalogue: &Catalogue<'_>) -> Result<Scenario, ScenarioError> {
    let source = Source { file: "demo.toml".into(), text: text.into() };
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Scenario::read(&source, &sets, catalogue, &mut |name| match name {
        "base.toml" => Ok(Source { file: name.into(), text: DEMO.into() }),
        "nested.toml" => Ok(Source { file: name.into(), text: "base = \"base.toml\"".into() }),
        _ => Err(Problem::Unreadable("no such file".into()).at(&Origin::of_file(name))),
    })
}

/// The demo with `from`, which it has to contain, replaced by `to`.
pub fn demo_with(from: &str, to: &str) -> String {
    assert!(DEMO.contains(from), "the demo does not contain '{from}'");
    DEMO.replacen(from, to, 1)
}

/// The error that the demo gives with `from` replaced by `to`.
pub fn error_with(from: &str, to: &str) -> String {
    read(&demo_with(from, to), &[]).expect_err("an error").to_string()
}

/// The error that the demo gives with `set` applied.
pub fn error_of_set(set: &str) -> String {
    read(DEMO, &[set]).expect_err("an error").to_string()
}

/// A world whose outcomes are made up from cell and seed: tables and summaries of known numbers.
pub struct MadeUp;

impl World for MadeUp {
    fn name(&self) -> &'static str {
        "live"
    }

    fn runs_in_parallel(&self) -> bool {
        false
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        let flow = &cell.flows[0];
        let loss = cell.links[1].forward.loss.mean(1500).parts_per_billion() / 10_000_000;
        if loss == 10 {
            return Err(NotRun::Skipped("/dev/net/tun is missing".into()));
        }
        let bps = if cell.schemes.is_empty() { 9_600_000 / (1 + 10 * loss) } else { 9_600_000 - 100_000 * loss };
        let measured = cell.measured();
        let outcome = FlowOutcome {
            name: flow.name.clone(),
            window_bytes: (bps + 1000 * seed) / 8 * (measured.as_nanos() / 1_000_000_000),
            window: measured,
            retransmitted_segments: 10 * loss + seed,
            segment_bytes: 1448,
            rtt: Percentiles { p50: 62_000_000, p95: 70_000_000 + 1_000_000 * loss, p99: 90_000_000 },
            series: vec![Sample { at: Duration::from_secs(1), delivered: 1_000_000, ..Sample::default() }],
            ..FlowOutcome::default()
        };
        let counters = [("repairs".to_owned(), 100 * loss + seed)].into();
        let broken = flow.controller == "bbr" && loss == 5 && seed == 2;
        let stream = if broken { Verdict::Failed("one byte is wrong".into()) } else { Verdict::Passed };
        Ok(RunOutcome {
            flows: vec![outcome],
            schemes: cell
                .schemes
                .iter()
                .map(|scheme| SchemeOutcome { name: scheme.name.clone(), counters: BTreeMap::clone(&counters) })
                .collect(),
            wlan: BTreeMap::new(),
            drops: vec![Drops {
                place: "links.air.forward".into(),
                reason: "loss".into(),
                packets: 150 * loss,
                headers: 0,
            }],
            marks: Vec::new(),
            queue: None,
            levels: Vec::new(),
            link_rates: Vec::new(),
            beliefs: Vec::new(),
            checks: vec![("conservation".into(), Verdict::Passed), ("stream".into(), stream)],
            trace: None,
            emulator: Some(EmulatorReport { valid: true, rate_error_ratio: 0.00041, ..EmulatorReport::default() }),
            probes: Vec::new(),
            workloads: Vec::new(),
            path: None,
            dynamics: Dynamics::default(),
        })
    }
}

/// Runs `scenario` in a world of made-up numbers.
pub fn made_up(scenario: &Scenario) -> Results<'_> {
    results::run(scenario, &MadeUp, RunOptions { threads: 1 }, &mut ())
}
