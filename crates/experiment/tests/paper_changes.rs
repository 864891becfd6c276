//! Claims judged again: with other seeds, under variants and mutations, in the settings of sweeps, quickly.

use crate::common::{CATALOGUE, DEMO, given};
use airtcp_experiment::paper::verdicts::{self, Judged};
use airtcp_experiment::paper::{Mode, PaperFile, Plan, Reproduction, TestRuns, Worlds, output};
use airtcp_experiment::results::{self, RunOptions};
use airtcp_experiment::scenario::{ScenarioError, Source};
use airtcp_experiment::world::{FlowOutcome, World};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome};
use serde_json::Value;

const EXPERIMENTS: &str = r#"
schema = 1
slug = "known"
title = "Known numbers"
citation = "test"

[experiments.e1]
base = "base.toml"
runs = 6
vary.cases.scheme = [
  { label = "plain", schemes.repair = { kind = "none" } },
  { label = "strong", schemes.repair.hold = "20ms" },
  { label = "luck", schemes.repair.hold = "1ms" },
]

[quick]
runs = 1

[variants.stronger]
item = "GSN-U3"
about = "it holds longer"
cases.scheme."strong".schemes.repair.hold = "40ms"

[mutations.no-hold]
about = "it holds nothing"
cases.scheme."strong".schemes.repair.hold = "2ms"

[mutations.other-window]
about = "something that does not matter"
set = { flows.bulk.max_cwnd = 20 }

[mutations.more-runs]
about = "what varies from run to run shows less"
set = { runs = 12 }

[sweeps.hold]
about = "how long it holds"
path = "schemes.repair.hold"
values = ["5ms", "10ms", "30ms", "40ms"]
cases = { scheme = ["strong"] }

[sweeps.both]
about = "both readings"
variants = ["stronger", "stronger"]
"#;

/// Goodput in Mbit/s is a scheme's hold in ms, 2 without one; with a hold of 1 ms, 3 with the first seeds and 1 with others.
struct Held;

impl World for Held {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        let hold = cell.schemes.first().and_then(|scheme| {
            let (_, hold) = given(scheme).into_iter().find(|(key, _)| *key == "hold")?;
            hold.strip_suffix("ms")?.parse::<f64>().ok()
        });
        let mbps = match hold {
            Some(1.0) if seed < 1000 => 3.0,
            Some(hold) => hold,
            None => 2.0,
        };
        let window = cell.measured();
        let window_bytes = (mbps * 1e6 / 8.0 * window.as_nanos() as f64 / 1e9) as u64;
        let flow = FlowOutcome { name: "bulk".into(), window_bytes, window, ..FlowOutcome::default() };
        Ok(RunOutcome { flows: vec![flow], ..RunOutcome::default() })
    }
}

const QUICK: Mode = Mode { quick: true, control: false, mutations: false };
const MUTATIONS: Mode = Mode { quick: false, control: false, mutations: true };

fn plan(claim: &str, mode: Mode) -> Result<Plan, ScenarioError> {
    let text = format!("{EXPERIMENTS}\n[[claims]]\nid = \"GSN-C1\"\nsentence = \"x\"\n{claim}");
    let source = Source { file: "paper.toml".into(), text };
    let open = |name: &str| -> Result<Source, ScenarioError> { Ok(Source { file: name.into(), text: DEMO.into() }) };
    Plan::new(&PaperFile::parse(&source, open).unwrap(), mode, &CATALOGUE)
}

fn run(plan: &Plan) -> Reproduction<'_> {
    plan.run(Worlds(&[&Held]), RunOptions { threads: 2 }, &mut ())
}

/// The claim of a trend with `more`, that `of` gets a multiple of what plain gets.
fn claim(of: &str, bounds: &str, more: &str) -> String {
    let explained = if more.contains("mutation") { "" } else { "mutation_explained = \"--control takes it away\"\n" };
    format!(
        "kind = \"trend\"\ncomparative = true\n{explained}{more}\nchecks = [{{ kind = \"ratio\", experiment = \"e1\", \
         measure = \"goodput_bps\", of = {{ cases.scheme = \"{of}\" }}, over = {{ cases.scheme = \"plain\" }}, {bounds} }}]"
    )
}

/// What `claims.json` says of the claim.
fn judged(claim: &str, mode: Mode) -> Value {
    let plan = plan(claim, mode).unwrap_or_else(|error| panic!("{error}"));
    output::claims(&run(&plan), "there")["claims"][0].clone()
}

fn verdict(claim: &str, mode: Mode) -> String {
    let plan = plan(claim, mode).unwrap_or_else(|error| panic!("{error}"));
    run(&plan).claims[0].verdict.to_string()
}

#[test]
fn a_claim_that_only_the_first_seeds_bear_out_is_undecided() {
    let luck = claim("luck", "at_least = 1.4", "");
    assert_eq!(verdict(&luck, Mode::default()), "undecided (holds; does not hold; does not hold)");
    assert_eq!(verdict(&claim("strong", "at_least = 9", ""), Mode::default()), "holds");
    assert_eq!(verdict(&luck, QUICK), "holds", "there is one set of seeds");
    assert_eq!(judged(&luck, Mode::default())["bases"][2]["value"], 0.5);
}

#[test]
fn a_claim_names_the_variant_that_it_needs_also_quickly() {
    let needs = |bound: &str| claim("strong", &format!("at_least = {bound}"), "with = \"stronger\"");
    for mode in [Mode::default(), QUICK] {
        assert_eq!(verdict(&needs("11"), mode), "holds only with stronger (GSN-U3)");
        assert_eq!(verdict(&needs("21"), mode), "does not hold");
        assert_eq!(verdict(&needs("9"), mode), "holds");
    }
}

#[test]
fn a_change_asks_for_its_own_number_of_runs_but_never_quickly() {
    let changed = claim("strong", "at_least = 9", "mutation = \"more-runs\"");
    let runs =
        |mode| plan(&changed, mode).unwrap().sweeps().iter().map(|sweep| sweep.scenario.runs).collect::<Vec<_>>();
    assert_eq!(runs(MUTATIONS), [12]);
    assert_eq!(runs(Mode { quick: true, ..MUTATIONS }), [1]);
}

#[test]
fn a_claim_is_judged_in_every_setting_of_its_sweeps() {
    // 5, 10, 30 and 40 ms: 2.5, 5, 15 and 20 times as much.
    let swept = claim("strong", "at_least = 4.9", "sweeps = [\"hold\"]");
    let row = judged(&swept, Mode::default());
    assert_eq!((&row["sweeps"][0]["holds"], &row["sweeps"][0]["of"]), (&3.into(), &4.into()));
    let setting = &row["sweeps"][0]["settings"][0];
    assert_eq!(
        (&setting["setting"], &setting["verdict"], &setting["value"]),
        (&"5ms".into(), &"does not hold".into(), &2.5.into())
    );
    assert_eq!(judged(&swept, QUICK)["sweeps"][0]["of"], Value::Null, "only in full");
    let variants = judged(&claim("strong", "at_least = 15", "sweeps = [\"both\"]"), Mode::default());
    assert_eq!(variants["sweeps"][0]["holds"], 2);
    assert_eq!(variants["verdict"], "does not hold", "a sweep does not change the verdict");
}

#[test]
fn a_claim_that_holds_with_its_mechanism_switched_off_is_vacuous() {
    let of = |bound: &str, more: &str| {
        let plan = plan(&claim("strong", &format!("at_least = {bound}"), more), MUTATIONS).unwrap();
        let reproduction = run(&plan);
        let names: Vec<String> = reproduction.vacuous().into_iter().map(str::to_owned).collect();
        (plan.runs(), reproduction.claims[0].verdict.to_string(), names)
    };
    let caught = |verdict: &str| (12, verdict.to_owned(), Vec::<String>::new());
    let survives = || (12, "holds".to_owned(), vec!["GSN-C1".to_owned()]);
    assert_eq!(of("9", "mutation = \"no-hold\""), caught("does not hold"));
    assert_eq!(of("0.9", "mutation = \"no-hold\""), survives());
    assert_eq!(of("9", "mutation = \"other-window\""), survives());
    let explained = "mutation = \"other-window\"\nmutation_explained = \"it is a test\"";
    assert_eq!(of("9", explained), caught("holds"));
}

#[test]
fn under_a_mutation_a_claim_keeps_the_variant_that_it_needs() {
    let needs = claim("strong", "at_least = 11", "with = \"stronger\"\nmutation = \"other-window\"");
    assert_eq!(verdict(&needs, MUTATIONS), "holds");
}

#[test]
fn a_printed_number_never_holds_and_ours_stands_beside_it() {
    let row = judged(&claim("strong", "printed = 8", "").replace("trend", "exact"), Mode::default());
    let expected = serde_json::json!(["ours beside theirs", "printed number", 10.0, [8.0, 8.0], 1.25]);
    assert_eq!(serde_json::json!([row["verdict"], row["basis"], row["value"], row["printed"], row["ratio"]]), expected);
    let range = judged(&claim("strong", "printed = [8, 12]", ""), Mode::default());
    assert_eq!((&range["verdict"], &range["ratio"]), (&"ours beside theirs".into(), &1.0.into()));
    let bounded =
        |bound: &str| judged(&claim("strong", &format!("printed = 8, at_least = {bound}"), ""), Mode::default());
    assert_eq!(bounded("9")["verdict"], "holds", "a trend with a number beside it");
    assert_eq!(bounded("11")["verdict"], "does not hold");
}

#[test]
fn few_and_short_runs_have_thresholds_of_their_own_and_leave_out_what_they_cannot_judge() {
    let scaled = claim("strong", "at_least = 11, quick = { at_least = 9 }", "");
    assert_eq!((verdict(&scaled, Mode::default()), verdict(&scaled, QUICK)), ("does not hold".into(), "holds".into()));
    let slow = claim("strong", "at_least = 11", "not_quick = \"it takes an hour\"");
    assert_eq!(verdict(&slow, Mode::default()), "does not hold");
    let row = judged(&slow, QUICK);
    assert_eq!((&row["verdict"], &row["reason"]), (&"not judged".into(), &"it takes an hour".into()));
}

#[test]
fn a_test_is_shown_only_by_its_run() {
    let claim = "kind = \"design\"\nchecks = [{ kind = \"test\", package = \"p\", tests = [\"gsn_c1\"] }]";
    let plan = plan(claim, QUICK).unwrap();
    let wanted: Vec<(&str, Vec<&str>)> =
        plan.tests().into_iter().map(|(package, names)| (package, names.into_iter().collect())).collect();
    assert_eq!(wanted, [("p", vec!["gsn_c1"])]);
    let judged = |tests: &TestRuns| {
        let empty = plan.sweeps().into_iter().map(|sweep| results::Results::new(sweep.scenario, "simulator"));
        plan.judge(empty.collect(), tests).claims[0].verdict.to_string()
    };
    let ran = |passed: bool| TestRuns::Run([(("p".to_owned(), "gsn_c1".to_owned()), Ok(passed))].into());
    assert_eq!([judged(&ran(true)), judged(&ran(false))], ["holds", "does not hold"]);
    assert_eq!(judged(&TestRuns::NONE), "not checkable (not run)");
}

#[test]
fn a_change_that_touches_nothing_is_an_error() {
    let error = |from: &str, to: &str, more: &str| {
        let text = format!(
            "{EXPERIMENTS}\n[[claims]]\nid = \"GSN-C1\"\nsentence = \"x\"\n{}",
            claim("strong", "at_least = 9", more)
        );
        assert!(text.contains(from));
        let source = Source { file: "paper.toml".into(), text: text.replace(from, to) };
        let open =
            |name: &str| -> Result<Source, ScenarioError> { Ok(Source { file: name.into(), text: DEMO.into() }) };
        let file = PaperFile::parse(&source, open).unwrap();
        Plan::new(&file, MUTATIONS, &CATALOGUE).err().expect("an error").to_string()
    };
    let found = error(
        "\"strong\".schemes.repair.hold = \"2ms\"",
        "\"strnog\".schemes.repair.hold = \"2ms\"",
        "mutation = \"no-hold\"",
    );
    assert!(found.contains("no experiment has such a case"), "{found}");
    let unknown = error("mutation = \"no-hold\"", "mutation = \"no-hald\"", "mutation = \"no-hold\"");
    assert!(
        unknown.contains("there is no mutation 'no-hald'") && unknown.contains("did you mean 'no-hold'"),
        "{unknown}"
    );
}

#[test]
fn the_page_of_verdicts_has_a_row_per_claim_with_ours_theirs_settings_and_mutation() {
    let text = claim("strong", "at_least = 4.9", "sweeps = [\"hold\"]\nmutation = \"no-hold\"");
    let claims = |mode: Mode| {
        let plan = plan(&text, mode).unwrap();
        let claims = output::claims(&run(&plan), "there");
        (plan.paper, claims)
    };
    let ((paper, full), (_, mutated)) = (claims(Mode::default()), claims(MUTATIONS));
    let page = verdicts::page("", &[Judged { paper, full: Some(full), mutations: Some(mutated) }]);
    let row = page.lines().find(|line| line.starts_with("| GSN-C1 | x |")).expect("a row");
    for part in
        ["e1, 6 runs, 3 sets of seeds", "| 10.00 |", "| holds |", "| 3 of 4 |", "it holds nothing: fails, as it must"]
    {
        assert!(row.contains(part), "{part} in {row}");
    }
    assert!(page.contains("| GSN-C1 | how long it holds | 5ms | does not hold | 2.500 |"), "{page}");
    assert!(page.contains("1 claims; claims that hold: measured 1 of 1"), "{page}");
    let not_run = |old: &str, text: &str| {
        let paper = plan(text, Mode::default()).unwrap().paper;
        verdicts::page(old, &[Judged { paper, full: None, mutations: None }])
    };
    assert!(not_run("", &text).contains("| not run |"));
    assert_eq!(not_run(&page, &text), page, "it stays as it was");
    let changed = not_run(&page, &text.replace("4.9", "4.8"));
    assert!(changed.contains("has changed since") && changed.contains(row), "{changed}");
    assert_eq!(not_run(&changed, &text), page);
}
