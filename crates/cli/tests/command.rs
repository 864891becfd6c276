//! The command as a user meets it: exit codes, what goes to stdout and what to stderr.

use airtcp_test_support::{Scratch, is_long};
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn airtcp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_airtcp")).args(arguments).env_remove("RUST_LOG").output().expect("it starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

const SHORT: [&str; 8] =
    ["--set", "duration=3s", "--set", "warmup=1s", "--set", "runs=2", "--set", "flows.bulk.controller=cubic"];

fn run(results: &Scratch, more: &[&str]) -> Output {
    airtcp(&[&["run", "demo"], &SHORT[..], &["--results", results.text()], more].concat())
}

#[test]
fn a_run_prints_its_table_and_leaves_results_and_report() {
    let results = Scratch::new("run");
    let output = run(&results, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("goodput") && text.contains("gilbert-elliott") && text.contains("report"), "{text}");
    assert!(!text.contains('\x1b'), "no colours into a pipe");
    let directory = std::fs::read_dir(results.path()).unwrap().next().unwrap().unwrap().path();
    assert!(directory.join("report.html").exists());
    for name in ["summary.json", "scenario.toml", "series.json", "manifest.json"] {
        assert!(directory.join("sim").join(name).exists(), "{name}");
    }
}

#[test]
fn json_is_the_summary_and_nothing_else() {
    let results = Scratch::new("json");
    let output = run(&results, &["--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    assert_eq!(summary["schema"], "airtcp.run/1");
    let written = std::fs::read_to_string(PathBuf::from(summary["directory"].as_str().unwrap()).join("summary.json"));
    assert_eq!(written.unwrap(), stdout(&output));
}

#[test]
fn a_resolved_scenario_reproduces_its_summary_to_the_byte() {
    let results = Scratch::new("again");
    let first = run(&results, &["--json"]);
    let summary: Value = serde_json::from_slice(&first.stdout).unwrap();
    let scenario = format!("{}/scenario.toml", summary["directory"].as_str().unwrap());
    let again = airtcp(&["run", &scenario, "--json", "--threads", "1", "--results", results.text()]);
    assert_eq!(stdout(&again), stdout(&first));
}

#[test]
fn a_sweep_leaves_figures_columns_and_a_manifest_that_tells_how_it_was_made() {
    let results = Scratch::new("sweep");
    let short =
        ["--set", "duration=2s", "--set", "warmup=1s", "--set", "runs=2", "--set", "flows.bulk.controller=cubic"];
    let less =
        ["--set", "vary.links.air.loss=[\"1%\", \"5%\"]", "--json", "--threads", "2", "--results", results.text()];
    let output = airtcp(&[&["run", "sweep"], &short[..], &less[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let directory = PathBuf::from(summary["directory"].as_str().unwrap());
    for name in ["figures/goodput-over-loss.svg", "figures/goodput-over-loss.csv", "runs.parquet", "counters.parquet"] {
        assert!(directory.join(name).exists(), "{name}");
    }
    let csv = std::fs::read_to_string(directory.join("figures/goodput-over-loss.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
    let manifest = std::fs::read(directory.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!((&manifest["threads"], &manifest["resumed_runs"]), (&2.into(), &0.into()));
    for key in ["version", "revision", "interval", "wall_seconds", "command"] {
        assert!(!manifest[key].is_null(), "{key} is missing in {manifest}");
    }
    for key in ["kernel", "cpu", "cpus", "architecture"] {
        assert!(!manifest["machine"][key].is_null(), "{key} is missing in {manifest}");
    }
    let revision = manifest["revision"].as_str().unwrap().trim_end_matches("-modified");
    let is_commit = revision.len() == 40 && revision.bytes().all(|digit| digit.is_ascii_hexdigit());
    assert!(is_commit || revision == "unknown", "{revision}");
}

#[test]
fn several_results_make_one_report() {
    let results = Scratch::new("report");
    run(&results, &[]);
    run(&results, &["--set", "links.air.loss=3%"]);
    let directories: Vec<String> =
        std::fs::read_dir(results.path()).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect();
    assert_eq!(directories.len(), 2);
    let page = format!("{}/both.html", results.text());
    let output = airtcp(&["report", &directories[0], &directories[1], "--output", &page]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        std::fs::read_to_string(page).unwrap().matches("<h1>").count(),
        4,
        "in short, side by side, and one each"
    );
}

#[test]
fn where_nothing_can_be_written_the_exit_code_still_tells() {
    let full = || std::fs::File::create("/dev/full").unwrap();
    let status = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_airtcp"));
        command.args(arguments).stdout(full()).stderr(full()).status().unwrap().code()
    };
    assert_eq!(status(&["run", "no-such-file.toml"]), Some(2));
    let results = Scratch::new("full");
    // What was asked for is not there.
    for more in [&["--json"][..], &["--markdown"], &[]] {
        let run = [&["run", "demo"], &SHORT[..], &["--results", results.text()], more].concat();
        assert_eq!(status(&run), Some(1), "{more:?}");
    }
    for arguments in [&["show"][..], &["show", "gsnoop", "--json"], &["--help"]] {
        assert_eq!(status(arguments), Some(1), "{arguments:?}");
    }
    // A run that cannot be kept has failed.
    assert_eq!(status(&[&["run", "demo"], &SHORT[..], &["--results", "/dev/full"]].concat()), Some(1));
}

#[test]
fn bad_input_is_exit_code_2_with_one_sentence_and_nothing_on_stdout() {
    let results = Scratch::new("bad");
    for (arguments, sentence) in [
        (vec!["run", "no-such-file.toml"], "airtcp: no-such-file.toml: cannot be read"),
        (vec!["run", "demo", "--set", "links.air.los=5%"], "did you mean 'loss'?"),
        (vec!["gateway", "no-such-file.toml"], "airtcp: no-such-file.toml: cannot be read"),
        (vec!["run", "dmeo"], "cannot be read: No such file or directory (os error 2); did you mean 'demo'?"),
        (vec!["run", "demo.toml"], "did you mean 'demo'?"),
        (vec!["run", "demo", "--set", "links.air.delay=5"], "units are ns, us, µs, ms, s, min"),
        (vec!["show", "gsnop"], "did you mean 'gsnoop'?"),
        (vec!["report", results.text()], "no results here"),
        (vec!["emulate", "demo", "--on", "nobody", "--", "true"], "there is no node 'nobody'"),
        (vec!["run", "demo", "--threads", "0"], "invalid value '0'"),
        (vec!["cc", "load", "newzga"], "did you mean 'newzag'?"),
        (vec!["cc", "load", "newzag", "--set", "lda"], "write KEY=VALUE"),
        (vec!["walk"], "unrecognized subcommand"),
    ] {
        let output = airtcp(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(sentence), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_run_in_which_nothing_can_run_says_why_and_fails() {
    let results = Scratch::new("nothing");
    let output = airtcp(&["run", "demo", "--set", "flows.bulk.controller=illinois", "--results", results.text()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stdout(&output),
        "10 cells not run: the simulator has no 'illinois'; the kernel's own runs with --live\n"
    );
    assert_eq!(std::fs::read_dir(results.path()).unwrap().count(), 0, "no empty results");
}

#[test]
fn show_lists_every_scheme_and_controller() {
    let output = stdout(&airtcp(&["show"]));
    for name in ["gsnoop", "cubic", "reno", "bbr", "illinois", "demo", "gateway", "papers", "10 claims"] {
        assert!(output.contains(name), "{name}");
    }
    let json: Value = serde_json::from_slice(&airtcp(&["show", "--json"]).stdout).unwrap();
    assert_eq!(json["schemes"][0], "gsnoop");
}

#[test]
fn every_topic_has_a_page_and_an_example() {
    let all: Value = serde_json::from_slice(&airtcp(&["show", "--json"]).stdout).unwrap();
    for topic in all["topics"].as_array().unwrap() {
        let name = topic["name"].as_str().unwrap();
        for arguments in [vec!["show", name], vec!["show", name, "--example"], vec!["show", name, "--json"]] {
            let output = airtcp(&arguments);
            assert_eq!(output.status.code(), Some(0), "{arguments:?}");
            assert!(!stdout(&output).trim().is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn the_printed_scenario_runs_as_it_is() {
    let results = Scratch::new("example");
    let file = format!("{}/mine.toml", results.text());
    std::fs::write(&file, airtcp(&["show", "scenario", "--example"]).stdout).unwrap();
    let output = airtcp(&[&["run", &file], &SHORT[..], &["--results", results.text()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn the_printed_examples_are_valid_with_every_line_switched_on() {
    let results = Scratch::new("switched-on");
    let text = stdout(&airtcp(&["show", "gsnoop", "--example"]));
    let switched_on: String = text
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|line| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')))
                .unwrap_or(line)
        })
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(switched_on.contains("tries = 4"), "{switched_on}");
    let demo = stdout(&airtcp(&["show", "scenario", "--example"]));
    let (before, after) = demo.split_once("[schemes.repair]").unwrap();
    let rest = after.split_once("[vary]").unwrap().1;
    let file = format!("{}/mine.toml", results.text());
    std::fs::write(&file, format!("{before}{switched_on}\n[vary]{rest}")).unwrap();
    let output = airtcp(&[&["run", &file], &SHORT[..], &["--results", results.text()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [vec!["--help"], vec!["--version"], vec!["run", "--help"], vec!["gateway", "--help"]] {
        let output = airtcp(&arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!stdout(&output).contains("--worker"), "the worker is nobody's business");
    }
}

#[test]
fn doctor_says_what_to_do_about_everything_that_is_not_good() {
    let output = airtcp(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "nothing was asked for that could be refused");
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    for finding in findings["findings"].as_array().unwrap() {
        assert_eq!(finding["level"] == "good", finding["fix"] == "", "{finding}");
    }
}

#[test]
fn a_capture_is_written_on_request_and_refused_for_too_many_cells() {
    let results = Scratch::new("pcap");
    let output = run(&results, &["--pcap=3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("captures") && stdout(&output).contains("(1 file, "), "{}", stdout(&output));
    let directory = std::fs::read_dir(results.path()).unwrap().next().unwrap().unwrap().path();
    let file = directory.join("sim/captures/3-1pct-gsnoop.pcapng");
    assert_eq!(std::fs::read(file).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header block");
    let every_cell = airtcp(&["run", "demo", "--pcap", "--results", results.text()]);
    assert_eq!(every_cell.status.code(), Some(2));
    assert!(stderr(&every_cell).contains("at most 16"), "{}", stderr(&every_cell));
    let no_number = run(&results, &["--pcap=all,1"]);
    assert_eq!(no_number.status.code(), Some(2));
    let live = airtcp(&["run", "demo", "--live", "--pcap"]);
    assert_eq!(live.status.code(), Some(2), "captures are of the simulator");
}

#[test]
fn a_scenario_that_ships_is_a_base_from_anywhere_unless_a_file_of_its_name_is_beside() {
    let results = Scratch::new("base");
    let file = format!("{}/mine.toml", results.text());
    for base in ["demo", "demo.toml"] {
        std::fs::write(&file, format!("schema = 1\nbase = \"{base}\"\nabout = \"mine\"\n")).unwrap();
        let output = airtcp(&[&["run", &file], &SHORT[..], &["--results", results.text()]].concat());
        assert_eq!(output.status.code(), Some(0), "{base}: {}", stderr(&output));
    }
    std::fs::write(format!("{}/demo.toml", results.text()), "schema = 2\n").unwrap();
    let output = airtcp(&["run", &file]);
    assert_eq!(output.status.code(), Some(2), "the file counts");
    std::fs::write(&file, "schema = 1\nbase = \"domo.toml\"\n").unwrap();
    let output = airtcp(&["run", &file]);
    assert!(stderr(&output).contains("'domo.toml' cannot be read"), "{}", stderr(&output));
}

#[test]
fn tables_and_pages_are_as_wide_as_the_terminal() {
    let results = Scratch::new("wide");
    let wide = |columns: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airtcp"));
        let output = command.args(arguments).env("COLUMNS", columns).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let run = [&["run", "demo"], &SHORT[..], &["--results", results.text()]].concat();
    let narrow = wide("50", &run);
    let is_path = |line: &&str| line.starts_with("results  ") || line.starts_with("report   ");
    assert!(narrow.lines().filter(|line| !is_path(line)).all(|line| line.chars().count() <= 50), "{narrow}");
    let whole = wide("200", &run);
    let rows = |text: &str| text.lines().filter(|line| line.contains("gilbert-elliott")).count();
    assert!(rows(&narrow) > rows(&whole), "{narrow}\n{whole}");
    // Every number of the wide table is in the narrow ones, and no other.
    let numbers = |text: &str| {
        let is_row = |line: &&str| line.contains("gilbert-elliott");
        let lines = text.lines().filter(is_row);
        let mut words: Vec<String> = lines.flat_map(str::split_whitespace).map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    };
    assert_eq!(numbers(&narrow), numbers(&whole));
    for page in ["gsnoop", "link", "metrics", "data", "forward"] {
        let text = wide("80", &["show", page]);
        let is_long = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
        assert_eq!(text.lines().filter(is_long).collect::<Vec<_>>(), Vec::<&str>::new(), "{page}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text), words(&wide("100000", &["show", page])), "{page}");
    }
}

/// Runs what the first page prints. In short, the command that this test was built with stands where `make release` puts it.
#[test]
fn a_newcomer_has_a_figure_of_their_own_after_the_commands_of_the_first_page() {
    assert!(include_str!("../../../site/pages/index.md").contains("<!-- README: Your own figure -->"));
    let section =
        include_str!("../../../README.md").split("\n## ").find(|section| section.starts_with("Your own figure\n"));
    let printed = section.expect("the section is there").split("```\n").nth(1).expect("commands are in a block");
    // A here-document belongs to the command that reads it.
    let mut end = None;
    let commands = printed.lines().filter(|line| {
        if end.is_some() {
            end = end.filter(|end| end != line);
            return false;
        }
        end = line.split_once("<<").map(|(_, end)| end);
        true
    });
    let count = commands.count();
    assert!((1..=5).contains(&count), "{count} commands:\n{printed}");

    let place = Scratch::new("newcomer");
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let make = place.path().join("bin/make");
    std::fs::create_dir_all(make.parent().unwrap()).unwrap();
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or(tree.join("target"), PathBuf::from);
    let script = if is_long() {
        symlink(built, place.path().join("target")).unwrap();
        format!("#!/bin/sh\nPATH=${{PATH#*:}} exec make -C '{}' \"$@\"\n", tree.display())
    } else {
        std::fs::create_dir_all(place.path().join("target/release")).unwrap();
        symlink(env!("CARGO_BIN_EXE_airtcp"), place.path().join("target/release/airtcp")).unwrap();
        "#!/bin/sh\n[ \"$*\" = release ]\n".to_owned()
    };
    std::fs::write(&make, script).unwrap();
    std::fs::set_permissions(&make, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", make.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    let output = shell.args(["-e", "-c", printed]).current_dir(place.path()).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));

    let said = stdout(&output);
    let report = said.lines().last().and_then(|line| line.split_whitespace().nth(1)).expect("the report comes last");
    let report = place.path().join(report);
    assert!(report.is_file(), "{said}");
    let figure = std::fs::read_to_string(report.with_file_name("sim/figures/goodput.svg")).unwrap();
    assert!(figure.contains("gsnoop") && figure.contains("local-recovery"), "{figure}");
}

#[test]
fn why_a_daemon_does_not_start_is_a_line_of_its_log_where_programs_read_that() {
    let place = Scratch::new("refused");
    let file = place.path().join("wlan0.toml");
    std::fs::write(&file, "schema = 1\nschema = 2\n").unwrap();
    let file = file.to_str().unwrap();
    for verb in ["gateway", "forward"] {
        let output = airtcp(&[verb, file, "--log", "json"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let line: Value = serde_json::from_str(&stderr(&output)).expect("one line of JSON");
        let said = ["kind", "name", "level", "event"].map(|key| line[key].as_str().expect("a text"));
        assert_eq!(said, [verb, "wlan0", "error", "refused"]);
        assert!(line["text"].as_str().is_some_and(|text| text.contains("wlan0.toml:2")), "{line}");
        let plain = stderr(&airtcp(&[verb, file]));
        assert!(plain.starts_with("airtcp: ") && plain.contains("wlan0.toml:2"), "{plain}");
    }
}
