//! From `paper.toml` to verdicts, on runs of known numbers.

use crate::common::{CATALOGUE, DEMO, given};
use airtcp_experiment::paper::reproduce::Reproduction;
use airtcp_experiment::paper::{Mode, Paper, PaperFile, Plan, Worlds, output};
use airtcp_experiment::results::RunOptions;
use airtcp_experiment::scenario::{ScenarioError, Source};
use airtcp_experiment::world::{FlowOutcome, World};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome};
use serde_json::{Value, json};

const PAPER: &str = include_str!("data/paper.toml");

/// Goodput 10 Mbit/s x s / (s + loss in percent); s is a scheme's hold in ms, 1 without; in paper mode 3 Mbit/s. A
/// window of 20 halves what plain gets. Seeds differ by the same share in every cell.
struct Known;

impl World for Known {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        let loss = cell.links[1].forward.loss.mean(1500).parts_per_billion() as f64 / 1e7;
        if loss > 9.0 {
            return Err(NotRun::Skipped("the air is too thin".into()));
        }
        let hold = cell.schemes.first().and_then(|scheme| {
            let (_, hold) = given(scheme).into_iter().find(|(key, _)| *key == "hold")?;
            hold.strip_suffix("ms")?.parse::<f64>().ok()
        });
        let halved = hold.is_none() && cell.flows[0].config.max_cwnd == Some(20);
        let strength = hold.unwrap_or(1.0);
        let is_flat = cell.schemes.iter().any(|scheme| given(scheme).iter().any(|(key, _)| *key == "mode"));
        let bps = if is_flat { 3e6 } else { 1e7 * strength / (strength + loss) };
        let bps = bps * (1.0 + seed as f64 / 100.0) / if halved { 2.0 } else { 1.0 };
        let window = cell.measured();
        let bytes = (bps / 8.0 * window.as_nanos() as f64 / 1e9) as u64;
        let flow = FlowOutcome { name: "bulk".into(), window_bytes: bytes, window, ..FlowOutcome::default() };
        Ok(RunOutcome { flows: vec![flow], ..RunOutcome::default() })
    }
}

fn file(text: &str) -> PaperFile<'static> {
    let source = Source { file: "paper.toml".into(), text: text.into() };
    let open = |name: &str| -> Result<Source, ScenarioError> { Ok(Source { file: name.into(), text: DEMO.into() }) };
    PaperFile::parse(&source, open).unwrap()
}

fn paper(text: &str, mode: Mode) -> Paper {
    file(text).read(mode, &[], &CATALOGUE).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(text: &str, mode: Mode) -> Plan {
    Plan::new(&file(text), mode, &CATALOGUE).unwrap_or_else(|error| panic!("{error}"))
}

fn run(plan: &Plan) -> Reproduction<'_> {
    plan.run(Worlds(&[&Known]), RunOptions { threads: 2 }, &mut ())
}

/// The verdict on the test paper's experiments of one claim with `checks`.
fn verdict_in(mode: Mode, checks: &str, more: &str) -> String {
    let (experiments, _) = PAPER.split_once("[[claims]]").unwrap();
    let claim = format!(
        "[[claims]]\nid = \"GSN-C9\"\nkind = \"trend\"\nsentence = \"x\"\ncomparative = true\nmutation_explained = \"\"\n{more}\n"
    );
    let plan = plan(&format!("{experiments}{claim}checks = [{checks}]"), mode);
    let reproduction = run(&plan);
    reproduction.claims[0].verdict.to_string()
}

fn verdict(checks: &str) -> String {
    verdict_in(Mode::default(), checks, "")
}

fn line(label: &str) -> String {
    format!("{{ cases.scheme = \"{label}\" }}")
}

fn ratio(of: &str, over: &str, rest: &str) -> String {
    let (of, over) = (line(of), line(over));
    format!("{{ kind = \"ratio\", experiment = \"e1\", measure = \"goodput_bps\", of = {of}, over = {over}, {rest} }}")
}

// Strong over plain: 20 / (20 + loss) x (1 + loss), that is 1.905, 2.727 and 4.167 at 1, 2 and 4 %.

#[test]
fn a_ratio_is_judged_at_every_point() {
    assert_eq!(verdict(&ratio("strong", "plain", "at_least = 1.90")), "holds");
    assert_eq!(verdict(&ratio("strong", "plain", "at_least = 1.91")), "does not hold");
    assert_eq!(verdict(&ratio("strong", "plain", "at_most = 4.17")), "holds");
    assert_eq!(verdict(&ratio("strong", "plain", "at_most = 4.16")), "does not hold");
}

#[test]
fn points_are_restricted_by_label_list_and_range() {
    for at in ["\"2%\"", "[\"2%\", \"4%\"]", "{ from = \"1.5%\", to = \"10%\" }", "{ from = \"2%\", to = \"4%\" }"] {
        let check =
            |bound: &str| ratio("strong", "plain", &format!("at = {{ links.air.loss = {at} }}, at_least = {bound}"));
        assert_eq!(
            (verdict(&check("2.72")), verdict(&check("2.73"))),
            ("holds".into(), "does not hold".into()),
            "{at}"
        );
    }
}

#[test]
fn quoted_and_dotted_keys_of_a_selection_mean_the_same() {
    let check = ratio("strong", "plain", "at = { \"links.air.loss\" = \"4%\" }, at_least = 4");
    assert_eq!(verdict(&check), "holds");
}

#[test]
fn most_points_are_enough_where_the_check_says_so() {
    assert_eq!(verdict(&ratio("strong", "plain", "at_least = 2.5, points = \"most\"")), "holds");
    assert_eq!(verdict(&ratio("strong", "plain", "at_least = 3, points = \"most\"")), "does not hold");
}

#[test]
fn a_line_may_come_from_another_experiment() {
    // A window of 20 halves plain: twice as much in e1, at each loss that both have.
    let check = |bound: &str| {
        format!(
            "{{ kind = \"ratio\", experiment = \"e2\", measure = \"goodput_bps\", of = {{ experiment = \"e1\", cases.scheme = \"plain\" }}, over = {}, at = {{ links.air.loss = [\"2%\", \"4%\"] }}, at_least = {bound} }}",
            line("plain")
        )
    };
    assert_eq!((verdict(&check("1.99")), verdict(&check("2.01"))), ("holds".into(), "does not hold".into()));
}

fn of_lines(kind: &str, labels: &[&str], rest: &str) -> String {
    let lines: Vec<String> = labels.iter().map(|label| line(label)).collect();
    let lines = lines.join(", ");
    format!("{{ kind = \"{kind}\", experiment = \"e1\", measure = \"goodput_bps\", lines = [{lines}]{rest} }}")
}

#[test]
fn an_ordering_is_judged() {
    assert_eq!(verdict(&of_lines("ordering", &["strongest", "strong", "weak", "plain"], "")), "holds");
    assert_eq!(verdict(&of_lines("ordering", &["strongest", "plain", "weak"], "")), "does not hold");
    assert_eq!(verdict(&of_lines("ordering", &["weak", "plain"], ", by = 1.3")), "holds");
    assert_eq!(verdict(&of_lines("ordering", &["weak", "plain"], ", by = 1.34")), "does not hold");
}

#[test]
fn a_diminishing_gain_is_judged() {
    assert_eq!(verdict(&of_lines("diminishing", &["weak", "strong", "strongest"], "")), "holds");
    assert_eq!(
        verdict(&of_lines("diminishing", &["plain", "weak", "strong"], ", at = { links.air.loss = \"4%\" }")),
        "does not hold"
    );
    assert_eq!(verdict(&of_lines("diminishing", &["strongest", "strong", "weak"], "")), "does not hold");
}

fn along(kind: &str, rest: &str) -> String {
    format!(
        "{{ kind = \"{kind}\", experiment = \"e1\", measure = \"goodput_bps\", along = \"links.air.loss\", {rest} }}"
    )
}

#[test]
fn a_monotone_line_is_judged() {
    let check = |direction: &str| along("monotone", &format!("of = {}, direction = \"{direction}\"", line("weak")));
    assert_eq!(
        (verdict(&check("decreasing")), verdict(&check("increasing"))),
        ("holds".into(), "does not hold".into())
    );
}

#[test]
fn a_value_within_bounds_is_judged() {
    // Plain at 4 %: 2 Mbit/s, and 1 to 6 % more by seed.
    let check = |rest: &str| {
        format!(
            "{{ kind = \"within\", experiment = \"e1\", measure = \"goodput_bps\", of = {}, at = {{ links.air.loss = \"4%\" }}, {rest} }}",
            line("plain")
        )
    };
    assert_eq!(verdict(&check("at_least = 2.01e6, at_most = 2.13e6")), "holds");
    assert_eq!(verdict(&check("at_least = 2.03e6")), "does not hold");
    assert_eq!(verdict(&check("at_most = 2.11e6")), "does not hold");
}

#[test]
fn a_value_is_judged_by_its_median_where_the_check_says_so() {
    // 2.035 Mbit/s in the middle of six runs, 2.02 at the least.
    let check = |rest: &str| {
        format!(
            "{{ kind = \"within\", experiment = \"e1\", measure = \"goodput_bps\", of = {}, at = {{ links.air.loss = \"4%\" }}, {rest} }}",
            line("plain")
        )
    };
    assert_eq!(verdict(&check("at_least = 2.06e6")), "does not hold");
    assert_eq!(verdict(&check("at_least = 2.06e6, by_median = true")), "holds");
    assert_eq!(verdict(&check("at_least = 2.08e6, by_median = true")), "does not hold");
}

/// In `e2` windows of 20 halve what plain gets, and nothing else.
#[test]
fn an_agreement_of_gains_is_judged() {
    let check = |over: &str| {
        format!(
            "{{ kind = \"agreement\", experiment = \"e2\", beside = \"e1\", measure = \"goodput_bps\", of = {}, over = {}, apart = 0.05 }}",
            line("strong"),
            line(over)
        )
    };
    assert_eq!(verdict(&check("weak")), "holds");
    assert_eq!(verdict(&check("plain")), "does not hold");
}

/// The same world under the other name, on a machine that cannot run it.
struct NoRoot;

impl World for NoRoot {
    fn name(&self) -> &'static str {
        "live"
    }

    fn run(&self, _: &ResolvedScenario, _: u64) -> Result<RunOutcome, NotRun> {
        Err(NotRun::Skipped("it takes root".into()))
    }
}

#[test]
fn an_experiment_runs_in_the_world_it_names() {
    let text = PAPER.replacen("like = \"e1\"", "like = \"e1\"\nworld = \"live\"", 1);
    let plan = plan(&text, Mode::default());
    let reproduction = plan.run(Worlds(&[&Known, &NoRoot]), RunOptions { threads: 2 }, &mut ());
    assert_eq!(reproduction.results.iter().map(|results| results.world).collect::<Vec<_>>(), ["simulator", "live"]);
    assert!(!reproduction.results[0].is_empty() && reproduction.results[1].is_empty());
}

/// The same world under the other name.
struct KnownLive;

impl World for KnownLive {
    fn name(&self) -> &'static str {
        "live"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        Known.run(cell, seed)
    }
}

#[test]
fn runs_of_two_worlds_are_compared_by_their_medians() {
    // One run against six: 1.01 over 1.035, while the two runs of one seed are equal.
    let (experiments, _) = PAPER.split_once("[[claims]]").unwrap();
    let judged = |e2: &str, live: &dyn World| {
        let experiments = experiments.replacen("like = \"e1\"", e2, 1);
        let check = format!(
            "{{ kind = \"ratio\", experiment = \"e2\", measure = \"goodput_bps\", of = {}, over = {{ experiment = \"e1\", cases.scheme = \"weak\" }}, at_most = 0.98, by_median = true }}",
            line("weak")
        );
        let claim = "[[claims]]\nid = \"GSN-C9\"\nkind = \"trend\"\nsentence = \"x\"\ncomparative = false\n";
        let plan = plan(&format!("{experiments}{claim}checks = [{check}]"), Mode::default());
        let reproduction = plan.run(Worlds(&[&Known, live]), RunOptions { threads: 2 }, &mut ());
        reproduction.claims[0].verdict.to_string()
    };
    assert_eq!(judged("like = \"e1\"\nworld = \"live\"\nruns = 1", &KnownLive), "holds");
    assert_eq!(judged("like = \"e1\"\nruns = 1", &KnownLive), "does not hold");
}

#[test]
fn a_crossover_is_judged() {
    // Plain gets 5, 3.3 and 2 Mbit/s at 1, 2 and 4 %; flat gets 3 everywhere.
    let check = |starts: &str, between: &str| {
        let lines = format!("of = {}, over = {}", line("plain"), line("flat"));
        verdict(&along("crossover", &format!("{lines}, starts = \"{starts}\", between = {between}")))
    };
    assert_eq!(check("above", "[\"2%\", \"4%\"]"), "holds");
    assert_eq!(check("below", "[\"2%\", \"4%\"]"), "does not hold");
    assert_eq!(check("above", "[\"1%\", \"2%\"]"), "does not hold");
}

#[test]
fn an_analytic_claim_needs_no_runs() {
    let check = |low: &str| {
        format!(
            "{{ kind = \"analytic\", formula = \"bandwidth_delay_packets\", inputs = {{ rate = \"10Mbit\", time = \"10ms\", packet = \"512B\" }}, at_least = {low}, at_most = 25 }}"
        )
    };
    assert_eq!((verdict(&check("24.4")), verdict(&check("24.5"))), ("holds".into(), "does not hold".into()));
}

#[test]
fn all_checks_of_a_claim_have_to_hold() {
    let (good, bad) = (ratio("strong", "plain", "at_least = 1.5"), ratio("strong", "plain", "at_least = 9"));
    assert_eq!(verdict(&format!("{good}, {good}")), "holds");
    assert_eq!(verdict(&format!("{good}, {bad}")), "does not hold");
}

#[test]
fn a_claim_whose_cells_were_not_run_is_not_checkable() {
    let (experiments, claim) = PAPER.split_once("[[claims]]").unwrap();
    let text = format!("{}[[claims]]{claim}", experiments.replacen("\"4%\"]", "\"4%\", \"10%\"]", 1));
    let text = text.replace("to = \"4%\"", "to = \"10%\"");
    let plan = plan(&text, Mode::default());
    let reproduction = run(&plan);
    assert_eq!(reproduction.claims[0].verdict.to_string(), "not checkable (not run)");
    assert!(reproduction.claims[0].judgement.reason.contains("the air is too thin"));
}

#[test]
fn a_claim_that_cannot_be_checked_names_the_item() {
    let (experiments, _) = PAPER.split_once("[[claims]]").unwrap();
    let claim = "[[claims]]\nid = \"GSN-C1\"\nkind = \"design\"\nsentence = \"x\"\nnot_checkable = { item = \"GSN-U7\", reason = \"nobody knows\" }";
    let plan = plan(&format!("{experiments}{claim}"), Mode::default());
    assert_eq!(run(&plan).claims[0].verdict.to_string(), "not checkable (GSN-U7)");
}

#[test]
fn a_claim_that_only_a_variant_makes_hold_names_its_item() {
    let judged = |bound: &str, variant: &str| {
        verdict_in(Mode::default(), &ratio("strong", "plain", &format!("at_least = {bound}")), variant)
    };
    let needs = "with = \"window-20\"";
    assert_eq!(judged("1.9", needs), "holds");
    assert_eq!(judged("3.8", needs), "holds only with window-20 (GSN-U3)");
    assert_eq!(judged("3.9", needs), "does not hold");
    assert_eq!(judged("3.8", "sensitivity = [\"window-20\"]"), "does not hold", "it is not said to need it");
}

#[test]
fn only_the_cells_a_variant_is_judged_on_are_run() {
    let all = plan(PAPER, Mode::default());
    let claimed = 3 * 2;
    assert_eq!(all.runs(), (15 + 10 + claimed) * 6);
    let three = plan(&PAPER.replace("seed_bases = 1", "seed_bases = 3"), Mode::default());
    assert_eq!(three.runs(), (15 + 10 + claimed + 2 * claimed) * 6);
}

#[test]
fn without_the_scheme_a_comparative_claim_fails_and_one_that_holds_is_vacuous() {
    let control = Mode { control: true, ..Mode::default() };
    let real = plan(PAPER, control);
    let reproduction = run(&real);
    assert_eq!((reproduction.claims[0].verdict.to_string(), reproduction.vacuous()), ("does not hold".into(), vec![]));
    let empty = plan(&PAPER.replace("at_least = 1.9", "at_least = 1.0"), control);
    assert_eq!(run(&empty).vacuous(), ["GSN-C1"]);
    let not_comparative =
        PAPER.replace("at_least = 1.9", "at_least = 1.0").replace("comparative = true", "comparative = false");
    assert_eq!(run(&plan(&not_comparative, control)).vacuous(), [""; 0]);
}

#[test]
fn a_control_keeps_the_labels_and_leaves_the_schemes_out() {
    let control = paper(PAPER, Mode { control: true, ..Mode::default() });
    let usual = paper(PAPER, Mode::default());
    let labels =
        |paper: &Paper| paper.experiments[0].scenario.cells.iter().map(|cell| cell.at.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&control), labels(&usual));
    assert!(control.experiments[0].scenario.cells.iter().all(|cell| cell.scenario.schemes.is_empty()));
    assert!(usual.experiments[0].scenario.cells.iter().any(|cell| !cell.scenario.schemes.is_empty()));
    assert!(control.experiments[0].scenario.resolved.contains("control = true"), "the results can be reproduced");
}

#[test]
fn quick_puts_its_keys_into_every_experiment_and_leaves_variants_out() {
    let quick = plan(PAPER, Mode { quick: true, ..Mode::default() });
    let scenarios: Vec<_> = quick.paper.experiments.iter().map(|experiment| &experiment.scenario).collect();
    assert_eq!((scenarios[0].runs, scenarios[0].cells.len(), scenarios[1].cells.len()), (1, 15, 5));
    assert_eq!(quick.runs(), 20);
}

#[test]
fn an_experiment_is_like_another_but_for_what_it_says() {
    let paper = paper(PAPER, Mode::default());
    let [e1, e2] = [0, 1].map(|index| &paper.experiments[index].scenario);
    assert_eq!((e1.name.as_str(), e2.name.as_str()), ("known-e1", "known-e2"));
    assert_eq!(
        (e1.cells[0].scenario.flows[0].config.max_cwnd, e2.cells[0].scenario.flows[0].config.max_cwnd),
        (None, Some(20))
    );
    assert_eq!(e1.axes[1], e2.axes[1]);
    assert_eq!(e2.axes[0].1, ["2%", "4%"]);
}

#[test]
fn every_way_to_run_a_paper_has_a_directory_of_its_own() {
    let hash = |quick, control| paper(PAPER, Mode { quick, control, mutations: false }).hash;
    let mut hashes = vec![hash(false, false), hash(true, false), hash(false, true), hash(true, true)];
    hashes.push(paper(PAPER, Mode { mutations: true, ..Mode::default() }).hash);
    hashes.push(paper(&PAPER.replace("at_least = 1.9", "at_least = 1.8"), Mode::default()).hash);
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
}

#[test]
fn claims_have_the_shape_that_is_promised() {
    let plan = plan(PAPER, Mode::default());
    let claims = output::claims(&run(&plan), "results/known");
    let expected = json!({
        "id": "GSN-C1", "sentence": "Strong is well above plain", "kind": "trend", "basis": "measured", "comparative": true,
        "verdict": "holds", "item": null, "reason": "", "value": 1.90476, "ci95": [1.90476, 1.90476], "printed": null, "ratio": null,
        "vacuous": false, "mutation": null, "mutation_explained": "--control takes strong away as a whole",
        "bases": [{"verdict": "holds", "value": 1.90476, "ci95": [1.90476, 1.90476]}], "sweeps": [],
        "checks": [{"kind": "ratio", "measure": "goodput_bps", "holds": true, "decides": true, "value": 1.90476, "ci95": [1.90476, 1.90476],
            "printed": null, "ratio": null,
            "text": "goodput_bps in e1: strong over plain is at least 1.9, at all of 3 points (air loss from 1% to 4%)",
            "points": [
                {"at": {"links.air.loss": "1%"}, "holds": true, "value": 1.90476, "ci95": [1.90476, 1.90476]},
                {"at": {"links.air.loss": "2%"}, "holds": true, "value": 2.72727, "ci95": [2.72727, 2.72727]},
                {"at": {"links.air.loss": "4%"}, "holds": true, "value": 4.16667, "ci95": [4.16667, 4.16667]},
            ]}],
        "leans_on": ["GSN-U1", "GSN-U3"],
        "sensitivity": [{"variant": "window-20", "item": "GSN-U3", "about": "windows of 20 packets", "verdict": "holds", "value": 3.80952, "ci95": [3.80952, 3.80952]}],
    });
    assert_eq!(claims["claims"][0], expected);
    assert_eq!(claims["schema"], "airtcp.claims/1");
    assert_eq!(claims["experiments"][1]["id"], "e2");
}

#[test]
fn a_reproduction_leaves_its_claims_beside_the_results_of_each_experiment() {
    let root = std::env::temp_dir().join(format!("airtcp-paper-{}", std::process::id()));
    let plan = plan(PAPER, Mode { quick: true, ..Mode::default() });
    let (directory, experiments) = output::write(&root, &run(&plan), &|_| json!({})).unwrap();
    assert_eq!(directory, root.join(format!("paper-known-{}", plan.paper.hash)));
    let claims: Value = serde_json::from_slice(&std::fs::read(directory.join("claims.json")).unwrap()).unwrap();
    assert_eq!(claims["quick"], true);
    for experiment in &experiments {
        assert!(experiment.starts_with(&directory) && experiment.join("sim/summary.json").exists());
        assert!(experiment.join("sim/figures/goodput.svg").exists());
    }
    std::fs::remove_dir_all(root).unwrap();
}
