//! Controllers with options in scenarios, what they count, and what control runs make of them.

use crate::common::{DEMO, demo_with, read, summary_json};
use insta::assert_snapshot;

const PLAIN: [&str; 4] = ["runs=1", "duration=8s", "warmup=2s", "links.air.loss=1%"];

fn summary_of(sets: &[&str]) -> serde_json::Value {
    let sets = [&PLAIN[..], &["schemes.repair.kind=none"], sets].concat();
    let scenario = read(DEMO, &sets).unwrap();
    let options = airtcp_experiment::results::RunOptions { threads: 1 };
    let simulator = airtcp_experiment::Simulator::default();
    let results = airtcp_experiment::results::run(&scenario, &simulator, options, &mut ());
    summary_json(&results)["cells"][0].clone()
}

/// The error of a flow with `controller` and these options.
fn refusal(controller: &str, options: &str) -> String {
    let vary = format!("flows.bulk.controller = [\"{controller}\"]");
    let text = demo_with("flows.bulk.controller = [\"cubic\", \"bbr\"]", &vary);
    let with_options = format!("controller = \"cubic\"\ncontroller_options = {options}");
    read(&text.replacen("controller = \"cubic\"", &with_options, 1), &[]).unwrap_err().to_string()
}

#[test]
fn options_are_refused_by_name_with_the_nearest_and_the_page_that_lists_them() {
    assert_snapshot!(refusal("newzag", "{ lad = \"original\" }"), @"demo.toml:36: unknown key 'lad' in [flows.bulk.controller_options]; did you mean 'lda'? (airtcp show newzag)");
    assert_snapshot!(refusal("newzag", "{ y = -9 }"), @"demo.toml:36: bad value for 'y' in [flows.bulk.controller_options]: '-9' is not a choice; did you mean '-8'? (airtcp show newzag)");
    assert_snapshot!(refusal("newzag", "{ y = [-4, -5] }"), @"demo.toml:36: 'y' in [flows.bulk.controller_options] takes a single value, not a list");
    assert_snapshot!(refusal("newzag", "7"), @"demo.toml:36: 'controller_options' in [flows.bulk] takes a table, not a number");
    assert_snapshot!(refusal("reno", "{ beta = 717 }"), @"demo.toml:36: bad value for 'beta' in [flows.bulk.controller_options]: the controller 'reno' has no options (airtcp show reno)");
}

#[test]
fn options_reach_the_controller_and_what_it_counts_the_summary() {
    let newzag = |option: &str| {
        let option = format!("flows.bulk.controller_options.{option}");
        // As a host without habits it has more losses above the mean.
        summary_of(&["vary.flows.bulk.controller=[\"newzag\"]", "flows.bulk.habits=none", &option])["controller"]
            .clone()
    };
    let counts = newzag("lda=adjusted");
    let events = counts["loss_events"].as_u64().unwrap();
    assert!(events > 5 && counts["random"] == counts["below_mean"], "{counts}");
    let share = counts["random_share"]["median"].as_f64().unwrap();
    assert!((share - counts["random"].as_f64().unwrap() / events as f64).abs() < 1e-4, "{counts}");
    let original = newzag("lda=original");
    // The original asks for more than a round trip below the mean.
    assert!(original["random"].as_u64() < original["below_mean"].as_u64(), "{original}");
}

#[test]
fn in_control_runs_controllers_that_linux_does_not_have_are_reno() {
    let of = |controller: &str, control: bool| {
        let controller = format!("vary.flows.bulk.controller=[\"{controller}\"]");
        summary_of(&[&controller, &format!("control={control}")])
    };
    let (newzag, control, reno) = (of("newzag", false), of("newzag", true), of("reno", false));
    assert_eq!(control["goodput_bps"], reno["goodput_bps"]);
    assert_ne!(newzag["goodput_bps"], reno["goodput_bps"]);
    assert!(control.get("controller").is_none());
    assert_eq!(of("cubic", true)["goodput_bps"], of("cubic", false)["goodput_bps"]);
}
