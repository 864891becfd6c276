//! The command with our entries: they are listed, run and checked like the built-in ones.

use std::process::{Command, Output};

fn airtcp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-scheme"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn show_lists_the_scheme_and_the_controller() {
    let shown = text(&airtcp(&["show"]));
    assert!(shown.contains("ack-thinner") && shown.contains("gentle") && shown.contains("gsnoop"), "{shown}");
    assert!(text(&airtcp(&["show", "ack-thinner"])).contains("every"));
}

#[test]
fn a_run_takes_both_and_their_parameters_by_set() {
    let results = std::env::temp_dir().join(format!("own-scheme-{}", std::process::id()));
    let directory = results.display().to_string();
    let settings = ["--set", "runs=1", "--set", "duration=8s", "--set", "schemes.thin.every=8"];
    let output = airtcp(&[&["run", "own.toml", "--results", &directory, "--json"], &settings[..]].concat());
    let _ = std::fs::remove_dir_all(&results);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("\"ack-thinner\"") && shown.contains("\"gentle\""), "{shown}");
    // The event that the scheme declares itself, counted; the table of own.toml shows it.
    assert!(shown.contains("\"acks_merged\":") && !shown.contains("\"acks_merged\":0"), "{shown}");
}

#[test]
fn a_flow_takes_our_socket_and_a_table_shows_what_it_counts() {
    let results = std::env::temp_dir().join(format!("own-socket-{}", std::process::id()));
    let directory = results.display().to_string();
    let output = airtcp(&["run", "own-socket.toml", "--results", &directory, "--set", "runs=1", "--json"]);
    let _ = std::fs::remove_dir_all(&results);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("\"acks\":") && !shown.contains("\"acks\":0"), "{shown}");
    assert!(text(&airtcp(&["show", "sockets"])).contains("fixed-window"));
}

#[test]
fn claims_are_judged_by_what_our_scheme_and_our_socket_count() {
    let results = std::env::temp_dir().join(format!("own-paper-{}", std::process::id()));
    let directory = results.display().to_string();
    let output = airtcp(&["reproduce", "own-paper.toml", "--results", &directory, "--json"]);
    let control = airtcp(&["reproduce", "own-paper.toml", "--control", "--results", &directory]);
    let _ = std::fs::remove_dir_all(&results);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    // A verdict of each claim, beside those of its three sets of seeds.
    assert_eq!(shown.matches("\"verdict\":\"holds\",\"item\"").count(), 2, "{shown}");
    // Without the scheme nothing is merged, so the claim does not hold and is not vacuous.
    assert!(control.status.success(), "{}", text(&control));
}

#[test]
fn a_wrong_parameter_is_refused_with_the_nearest_one() {
    let output = airtcp(&["run", "own.toml", "--set", "schemes.thin.evry=8"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("did you mean 'every'?"), "{}", text(&output));
}

#[test]
fn the_gateway_file_is_checked_with_the_scheme() {
    // wlan0 is not here, so the check fails; but not for want of the scheme.
    let shown = text(&airtcp(&["gateway", "own-gateway.toml", "--check"]));
    assert!(!shown.contains("unknown"), "{shown}");
    assert!(shown.contains("CAP_NET_ADMIN") || shown.contains("root"), "{shown}");
}
