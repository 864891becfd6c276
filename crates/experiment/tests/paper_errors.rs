//! One golden test per kind of error in a paper's file: file, line, key and the nearest valid one.

use crate::common::{CATALOGUE, DEMO};
use airtcp_experiment::paper::{Mode, PaperFile, Plan};
use airtcp_experiment::scenario::{ScenarioError, Source};
use insta::assert_snapshot;

const PAPER: &str = include_str!("data/paper.toml");

fn error_in(text: &str) -> String {
    let source = Source { file: "paper.toml".into(), text: text.into() };
    let open = |name: &str| -> Result<Source, ScenarioError> { Ok(Source { file: name.into(), text: DEMO.into() }) };
    let plan = PaperFile::parse(&source, open).and_then(|file| Plan::new(&file, Mode::default(), &CATALOGUE));
    plan.err().expect("an error").to_string()
}

/// The error that the test paper gives with `from` replaced by `to`.
fn error_with(from: &str, to: &str) -> String {
    assert!(PAPER.contains(from), "the paper does not contain '{from}'");
    error_in(&PAPER.replacen(from, to, 1))
}

#[test]
fn an_unknown_key_of_the_paper() {
    assert_snapshot!(error_with("citation", "citaton"), @"paper.toml:5: unknown key 'citaton' in the file; did you mean 'citation'? (airtcp show paper)");
}

#[test]
fn a_missing_title() {
    assert_snapshot!(error_with("title = \"Known numbers\"", ""), @r#"paper.toml:1: missing key 'title' in the file; write for example title = "…""#);
}

#[test]
fn an_unknown_schema() {
    assert_snapshot!(error_with("schema = 1", "schema = 7"), @"paper.toml:2: schema 7 is not known here; this version reads 'schema = 1'");
}

#[test]
fn a_slug_that_names_no_folder() {
    assert_snapshot!(error_with("slug = \"known\"", "slug = \"Known numbers\""), @"paper.toml:3: bad value for 'slug' in the file: it names a folder: small letters, digits and - (airtcp show paper)");
}

#[test]
fn an_unknown_key_of_an_experiment() {
    assert_snapshot!(error_with("runs = 6", "rusn = 6"), @"paper.toml:14: unknown key 'rusn' in the file; did you mean 'runs'? (airtcp show scenario)");
}

#[test]
fn an_experiment_like_none_above() {
    assert_snapshot!(error_with("like = \"e1\"", "like = \"e3\""), @"paper.toml:31: there is no experiment above 'e3' (like in [experiments]); there are: e1");
}

#[test]
fn a_world_that_is_none() {
    let text = PAPER.replacen("like = \"e1\"", "like = \"e1\"\nworld = \"lve\"", 1);
    assert_snapshot!(error_in(&text), @"paper.toml:32: there is no world 'lve' (world in [experiments]); did you mean 'live'?");
}

#[test]
fn a_quick_key_that_nothing_reads() {
    let text = PAPER.replacen("duration = \"4s\"", "durration = \"4s\"", 1);
    let source = Source { file: "paper.toml".into(), text };
    let open = |name: &str| -> Result<Source, ScenarioError> { Ok(Source { file: name.into(), text: DEMO.into() }) };
    let quick = Mode { quick: true, ..Mode::default() };
    let error = PaperFile::parse(&source, open).unwrap().read(quick, &[], &CATALOGUE).unwrap_err();
    assert_snapshot!(error, @"paper.toml:10: unknown key 'durration' in the file; did you mean 'duration'? (airtcp show scenario)");
}

#[test]
fn a_variant_of_what_is_no_open_item() {
    assert_snapshot!(error_with("item = \"GSN-U3\"", "item = \"GSN-3\""), @"paper.toml:37: bad value for 'item' in [variants.window-20]: 'GSN-3' is no item of the specification; write for example GSN-U1 (airtcp show paper)");
}

#[test]
fn a_variant_that_sets_what_is_not_there() {
    assert_snapshot!(error_with("set = { flows.bulk.max_cwnd = 20 }", "set = { flows.bulk.max_cwdn = 20 }"), @"paper.toml:39: unknown key 'max_cwdn' in [flows.bulk]; did you mean 'max_cwnd'? (airtcp show flow)");
}

#[test]
fn a_claim_that_is_no_claim() {
    assert_snapshot!(error_with("id = \"GSN-C1\"", "id = \"GSN-U1\""), @"paper.toml:42: bad value for 'id' in [[claims]]: 'GSN-U1' is no item of the specification; write for example GSN-C1 (airtcp show paper)");
}

#[test]
fn a_claim_that_is_there_twice() {
    let (before, claim) = PAPER.split_once("[[claims]]").unwrap();
    assert_snapshot!(error_in(&format!("{before}[[claims]]{claim}\n[[claims]]{claim}")), @"paper.toml:54: bad value for 'id' in [[claims]]: 'GSN-C1' is there twice (airtcp show paper)");
}

#[test]
fn an_unknown_kind_of_claim() {
    assert_snapshot!(error_with("kind = \"trend\"", "kind = \"trent\""), @"paper.toml:43: bad value for 'kind' in [[claims]] GSN-C1: 'trent' is not a choice; did you mean 'trend'? (airtcp show paper)");
}

#[test]
fn a_comparative_claim_without_a_mutation() {
    assert_snapshot!(error_with("mutation_explained", "not_quick"), @"paper.toml:45: bad value for 'comparative' in [[claims]] GSN-C1: a comparative claim names the mutation under which it must not hold, or says in mutation_explained why it has none (airtcp show paper)");
}

#[test]
fn a_trend_that_does_not_say_whether_it_is_comparative() {
    assert_snapshot!(error_with("comparative = true", ""), @"paper.toml:41: missing key 'comparative' in [[claims]] GSN-C1; write for example comparative = true");
}

#[test]
fn an_unknown_variant() {
    assert_snapshot!(error_with("sensitivity = [\"window-20\"]", "sensitivity = [\"windw-20\"]"), @"paper.toml:47: there is no variant 'windw-20' (sensitivity in [[claims]] GSN-C1); did you mean 'window-20'?");
}

#[test]
fn a_claim_without_checks() {
    assert_snapshot!(error_with("checks = [", "not_checkable = { item = \"GSN-U1\", reason = \"x\" }\nchecks = ["), @"paper.toml:49: bad value for 'checks' in [[claims]] GSN-C1: it is said to be not checkable; keep one of the two (airtcp show paper)");
}

#[test]
fn an_unknown_kind_of_check() {
    assert_snapshot!(error_with("kind = \"ratio\"", "kind = \"ration\""), @"paper.toml:49: there is no kind of check 'ration' (kind in a check of GSN-C1); did you mean 'ratio'?");
}

#[test]
fn an_unknown_key_of_a_check() {
    assert_snapshot!(error_with("at_least = 1.9", "at_lest = 1.9"), @"paper.toml:49: unknown key 'at_lest' in a check of GSN-C1; did you mean 'at_least'? (airtcp show paper)");
}

#[test]
fn a_check_without_a_bound() {
    assert_snapshot!(error_with(", at_least = 1.9", ""), @"paper.toml:49: missing key 'at_least' in a check of GSN-C1; write for example at_least = 1.1, at_most = 2, or both");
}

#[test]
fn bounds_that_exclude_each_other() {
    assert_snapshot!(error_with("at_least = 1.9", "at_least = 1.9, at_most = 1"), @"paper.toml:49: bad value for 'at_least' in a check of GSN-C1: it is above at_most, so the check could never hold (airtcp show paper)");
}

#[test]
fn an_unknown_experiment() {
    assert_snapshot!(error_with("experiment = \"e1\"", "experiment = \"e7\""), @"paper.toml:49: there is no experiment 'e7' (experiment in a check of GSN-C1); there are: e1, e2");
}

#[test]
fn an_unknown_measure() {
    assert_snapshot!(error_with("measure = \"goodput_bps\"", "measure = \"goodput_bsp\""), @"paper.toml:49: there is no measure 'goodput_bsp' (measure in a check of GSN-C1); did you mean 'goodput_bps'?");
}

#[test]
fn an_unknown_axis() {
    assert_snapshot!(error_with("of = { cases.scheme", "of = { cases.schem"), @"paper.toml:49: there is no varied key 'cases.schem' (of in a check of GSN-C1); did you mean 'cases.scheme'?");
}

#[test]
fn an_unknown_label() {
    assert_snapshot!(error_with("of = { cases.scheme = \"strong\" }", "of = { cases.scheme = \"stong\" }"), @"paper.toml:49: there is no step 'stong' (of in a check of GSN-C1); did you mean 'strong'?");
}

#[test]
fn a_range_in_which_nothing_lies() {
    assert_snapshot!(error_with("{ from = \"1%\", to = \"4%\" }", "{ from = \"5%\", to = \"9%\" }"), @"paper.toml:49: bad value for 'at' in a check of GSN-C1: no step lies in this range; there are: 1%, 2%, 4% (airtcp show paper)");
}

#[test]
fn a_line_with_several_labels() {
    assert_snapshot!(error_with("of = { cases.scheme = \"strong\" }", "of = { cases.scheme = [\"strong\", \"weak\"] }"), @"paper.toml:49: bad value for 'of' in a check of GSN-C1: a line has one label of 'cases.scheme', not several (airtcp show paper)");
}

#[test]
fn a_line_of_another_experiment_that_lacks_a_point() {
    assert_snapshot!(error_with("over = { cases", "over = { experiment = \"e2\", cases"), @"paper.toml:49: bad value for 'kind' in a check of GSN-C1: 'plain' has no cell of e2 at 1% (airtcp show paper)");
}

#[test]
fn an_unknown_formula() {
    let check = "{ kind = \"analytic\", formula = \"bandwith_delay_packets\", inputs = {}, at_least = 1 }";
    let (before, _) = PAPER.split_once("checks = [").unwrap();
    assert_snapshot!(error_in(&format!("{before}checks = [{check}]")), @"paper.toml:48: there is no formula 'bandwith_delay_packets' (formula in a check of GSN-C1); did you mean 'bandwidth_delay_packets'?");
}

#[test]
fn a_missing_input_of_a_formula() {
    let check =
        "{ kind = \"analytic\", formula = \"bandwidth_delay_packets\", inputs = { rate = \"1Mbit\" }, at_least = 1 }";
    let (before, _) = PAPER.split_once("checks = [").unwrap();
    assert_snapshot!(error_in(&format!("{before}checks = [{check}]")), @r#"paper.toml:48: missing key 'time' in [a check of GSN-C1.inputs]; write for example time = "10ms""#);
}

#[test]
fn too_few_lines_to_diminish() {
    let lines = "[{ cases.scheme = \"weak\" }, { cases.scheme = \"strong\" }]";
    let check =
        format!("{{ kind = \"diminishing\", experiment = \"e1\", measure = \"goodput_bps\", lines = {lines} }}");
    let (before, _) = PAPER.split_once("checks = [").unwrap();
    assert_snapshot!(error_in(&format!("{before}checks = [{check}]")), @"paper.toml:48: bad value for 'lines' in a check of GSN-C1: it takes 3 lines or more (airtcp show paper)");
}
