//! Kernel TCP in namespaces, driven by the command: needs root and TUN.

use airtcp_test_support::{is_long, skip};
use serde_json::Value;
use std::process::{Command, Output};

/// Says so where the harness counts what was skipped, and returns true.
fn cannot_run() -> bool {
    let Err(reason) = airtcp_linux::testbed::check_available() else { return false };
    skip(&reason.to_string());
    true
}

/// The same of a test that only the long form runs.
fn cannot_run_now() -> bool {
    if !is_long() {
        skip("only in the long form, make test-long");
    }
    !is_long() || cannot_run()
}

fn airtcp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_airtcp")).args(arguments).output().expect("it starts")
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn live_one_lossy_cell_is_repaired_on_kernel_tcp() {
    if cannot_run() {
        return;
    }
    let results = std::env::temp_dir().join(format!("airtcp-live-{}", std::process::id()));
    let sets = ["links.air.loss=5%", "flows.bulk.controller=cubic", "runs=1", "duration=5s", "warmup=1s"];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let arguments = [&["run", "demo", "--live", "--json", "--results", results.to_str().unwrap()], &sets[..]].concat();
    let output = airtcp(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let [plain, repaired] = [&summary["cells"][0], &summary["cells"][1]];
    assert_eq!(repaired["at"]["schemes.repair.kind"], "gsnoop");
    assert!(repaired["times_baseline"]["median"].as_f64().unwrap() > 2.0, "{summary:#}");
    assert!(repaired["scheme"]["repairs"].as_u64().unwrap() > 10);
    for cell in [plain, repaired] {
        assert_eq!(cell["checks"]["stream"], "passed");
        assert_eq!(cell["checks"]["conservation"], "passed");
        assert!(cell["emulator"]["loss_seen_ratio"].as_f64().unwrap() > 0.0);
    }
    let directory = summary["directory"].as_str().expect("where the files are");
    let series = std::fs::read_to_string(format!("{directory}/series.json")).expect("series were written");
    let series: Value = serde_json::from_str(&series).expect("they are JSON");
    assert_eq!(series["cells"][0]["schemes"], Value::Null);
    let near = &series["cells"][1]["schemes"][0];
    assert_eq!(near["name"], "schemes.repair.a");
    let rates = near["rate_bps"].as_array().expect("what the gateway believed");
    assert!(rates.len() > 80 && rates.iter().any(|bps| bps.as_u64().unwrap() > 5_000_000), "{near}");
    std::fs::remove_dir_all(results).expect("results were written");
}

#[test]
fn live_newzag_is_loaded_for_a_run_counts_and_is_gone_after_it() {
    if cannot_run() {
        return;
    }
    if airtcp_linux::bpf::is_available("newzag") || airtcp_linux::bpf::check(&airtcp_linux::bpf::PROGRAMS[0]).is_err() {
        return skip("newzag is loaded already, or cannot be loaded by this build and kernel");
    }
    let results = std::env::temp_dir().join(format!("airtcp-live-newzag-{}", std::process::id()));
    let sets = [
        "links.air.loss=3%",
        "flows.bulk.controller=newzag",
        "flows.bulk.controller_options.lda=original",
        "schemes.repair.kind=none",
        "runs=1",
        "duration=6s",
        "warmup=1s",
    ];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let arguments = [&["run", "demo", "--live", "--json", "--results", results.to_str().unwrap()], &sets[..]].concat();
    let output = airtcp(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let counted = &summary["cells"][0]["controller"];
    let of = |name: &str| counted[name].as_u64().unwrap();
    assert!(of("loss_events") > 5 && of("random") <= of("below_mean"), "{counted}");
    assert!(!airtcp_linux::bpf::is_available("newzag"));
    std::fs::remove_dir_all(results).expect("results were written");
}

/// A call, QUIC and a tunnel on one hop at the same time.
const NOT_TCP: &str = r#"schema = 1
base = "demo.toml"
duration = "6s"
warmup = "1s"
runs = 1

[flows.call]
from = "sender"
to = "receiver"
socket = "datagram"
socket_options = { every = "10ms", packet = 200, data_dscp = 46 }

[flows.quic]
from = "sender"
to = "receiver"
socket = "quic"

[flows.tunnel]
from = "sender"
to = "receiver"
socket = "wireguard"

[probes.ping]
from = "sender"
to = "receiver"

[vary]
links.air.loss = ["5%"]
schemes.repair.kind = ["none", "arq"]
"#;

#[test]
fn live_what_is_not_tcp_is_measured_and_repaired() {
    if cannot_run() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("airtcp-live-not-tcp-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("not-tcp.toml");
    let demo = include_str!("../../../scenarios/demo.toml").replace("[flows.bulk]", "[flows.tunnel]");
    std::fs::write(directory.join("demo.toml"), demo.split("[vary]").next().unwrap()).unwrap();
    std::fs::write(&file, NOT_TCP).unwrap();
    let results = directory.join("results");
    let output = airtcp(&["run", file.to_str().unwrap(), "--live", "--json", "--results", results.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let of = |cell: usize, flow: &str| {
        let flows = summary["cells"][cell]["flows"].as_array().unwrap();
        flows.iter().find(|found| found["name"] == flow).unwrap().clone()
    };
    let median = |value: &Value| value["median"].as_f64().unwrap();
    let lost = [0, 1].map(|cell| median(&of(cell, "call")["lost_share"]));
    assert!((0.01..0.12).contains(&lost[0]) && lost[1] < 0.005, "{lost:?}");
    let delay = [0, 1].map(|cell| median(&of(cell, "call")["delay_ns"]["p50"]));
    assert!(delay.iter().all(|delay| *delay > 30e6), "{delay:?}");
    for flow in ["quic", "tunnel"] {
        let goodput = [0, 1].map(|cell| median(&of(cell, flow)["goodput_bps"]));
        assert!(goodput[0] > 0.0 && goodput[1] > 1.5 * goodput[0], "{flow}: {goodput:?}");
    }
    let ping = [0, 1].map(|cell| median(&summary["cells"][cell]["probes"][0]["rtt_or_lost_ns"]["p99"]));
    let measured = summary["cells"][0]["measured_ns"].as_f64().unwrap();
    assert!(ping[0] == measured && ping[1] < 1e9, "one in twenty is lost, or none: {ping:?}");
    assert!(summary["cells"].as_array().unwrap().iter().all(|cell| cell["checks"]["stream"] == "passed"));
    // The simulator has two of the three sockets not, and says what to do.
    let output = airtcp(&["run", file.to_str().unwrap(), "--results", results.to_str().unwrap()]);
    assert!(text(&output).contains("the simulator has no QUIC; run it with --live"), "{}", text(&output));
    std::fs::remove_dir_all(directory).unwrap();
}

/// Two trunks over one bottleneck, with control TCPs that have no coarse timer: shares settle within seconds.
const TRUNKS: &str = r#"
schema = 1
base = "BASE"

[vary]
cases.trunks = [
  { label = "1 : 1", SITE, NEIGHBOUR },
  { label = "2 : 1", SITE, NEIGHBOUR, schemes.site.controls = 2 },
  { label = "3000 : 1500", SITE, NEIGHBOUR, schemes.site.vmss = 3000 },
]
"#;

/// Goodput of the site that shares a trunk, and of the single flow, in the cell with this number.
fn shares(summary: &Value, cell: usize) -> [f64; 2] {
    let cell = &summary["cells"][cell];
    let single = cell["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == "single").unwrap();
    let [all, single] = [&cell["goodput_bps"], &single["goodput_bps"]].map(|of| of["median"].as_f64().unwrap());
    assert!(["stream", "conservation", "bounds"].iter().all(|check| cell["checks"][check] == "passed"), "{cell:#}");
    [all - single, single]
}

#[test]
fn live_trunks_share_a_bottleneck_as_in_the_simulator() {
    if cannot_run() {
        return;
    }
    let is_long = is_long();
    let directory = std::env::temp_dir().join(format!("airtcp-live-trunks-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/trunk.toml");
    let modern = |trunk: &str| format!("schemes.{trunk}.recovery = \"newreno\", schemes.{trunk}.rto_tick = \"auto\"");
    let text_of_file =
        TRUNKS.replace("BASE", base).replace("SITE", &modern("site")).replace("NEIGHBOUR", &modern("neighbour"));
    // Only the first cell in the quick form.
    let keep = |line: &&str| is_long || !line.contains("site.controls") && !line.contains("site.vmss");
    let text_of_file: Vec<&str> = text_of_file.lines().filter(keep).collect();
    let file = directory.join("trunks.toml");
    std::fs::write(&file, text_of_file.join("\n")).unwrap();
    // Of a hundred simulated runs of 36 s none has shares below Jain's 0.95; of 10 s nine have.
    let (duration, live_runs) = ("duration=36s", if is_long { "runs=3" } else { "runs=1" });
    let run = |runs: &str, live: Option<&str>| -> Value {
        let results = directory.join("results");
        let sets = ["--set", duration, "--set", "warmup=4s", "--set", runs];
        let places = ["run", file.to_str().unwrap(), "--json", "--results", results.to_str().unwrap()];
        let output = airtcp(&places.into_iter().chain(sets).chain(live).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        serde_json::from_slice(&output.stdout).expect("stdout is JSON")
    };
    let (simulated, live) = (run("runs=9", None), run(live_runs, Some("--live")));
    let jain = |[one, other]: [f64; 2]| (one + other).powi(2) / (2.0 * (one.powi(2) + other.powi(2)));
    for cell in 0..if is_long { 3 } else { 1 } {
        let [simulated, live] = [&simulated, &live].map(|summary| shares(summary, cell));
        let [ratio, of_live] = [simulated, live].map(|[site, single]| site / single);
        println!("cell {cell}: simulated {simulated:.0?}, live {live:.0?}: {ratio:.2} and {of_live:.2}");
        assert!(live.iter().sum::<f64>() > 16e6, "{live:?} of 20 Mbit/s");
        if cell == 0 {
            assert!(jain(live) >= 0.95, "{live:?}: {}", jain(live));
        }
        if is_long {
            assert!((of_live / ratio - 1.0).abs() <= 0.15, "cell {cell}: {of_live} live, {ratio} simulated");
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

/// Bundler's experiment at a quarter of its rate, where a trunk finds its window within seconds.
#[test]
fn live_short_requests_pass_a_queue_that_a_trunk_has_moved() {
    if cannot_run_now() {
        return;
    }
    let results = std::env::temp_dir().join(format!("airtcp-live-bundler-{}", std::process::id()));
    let sets = [
        r#"vary.cases.queue=[{ label = "FIFO", schemes.site = { kind = "none" } }, { label = "trunk" }]"#,
        r#"vary.cases.sender=[{ label = "CUBIC" }]"#,
        r#"vary.links.narrow.loss=["0%"]"#,
        "links.narrow.rate=24Mbit",
        "links.narrow.queue=450kB",
        "workloads.web.load=21Mbit",
        "workloads.web.grace=1s",
        "duration=12s",
        "warmup=5s",
        "runs=1",
    ];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let arguments = ["run", "bundler", "--live", "--json", "--results", results.to_str().unwrap()];
    let output = airtcp(&[&arguments[..], &sets].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let [fifo, trunk] = [0, 1].map(|cell| &summary["cells"][cell]);
    let slowdown = |cell: &Value| cell["workloads"][0]["short"]["slowdown"]["p50"]["median"].as_f64().unwrap();
    let goodput = |cell: &Value| cell["goodput_bps"]["median"].as_f64().unwrap();
    assert!(trunk["scheme"]["tunnelled_packets"].as_u64() > Some(10_000), "{trunk:#}");
    // Simulated: 1.2 and 2.9.
    assert!(slowdown(trunk) < slowdown(fifo) * 0.7, "{} and {}", slowdown(trunk), slowdown(fifo));
    assert!(goodput(trunk) > goodput(fifo) * 0.9, "{} and {}", goodput(trunk), goodput(fifo));
    for cell in [fifo, trunk] {
        assert!(["stream", "conservation", "bounds"].iter().all(|check| cell["checks"][check] == "passed"), "{cell:#}");
    }
    std::fs::remove_dir_all(results).unwrap();
}

#[test]
fn live_a_greedy_stream_over_a_circuit_leaves_tcp_its_share() {
    if cannot_run_now() {
        return;
    }
    let results = std::env::temp_dir().join(format!("airtcp-live-streaming-{}", std::process::id()));
    let greedy = "vary.cases.stream=[{ label = \"greedy\", flows.stream.socket = \"streaming\", \
                  flows.stream.socket_options = { recovery = \"newreno\", rto_tick = \"auto\" } }]";
    let sets = ["duration=14s", "warmup=4s", "runs=1", "vary.flows.tcp.controller=[\"reno\"]", greedy];
    let sets = sets.into_iter().flat_map(|set| ["--set", set]);
    let places = ["run", "streaming", "--live", "--json", "--results", results.to_str().unwrap()];
    let output = airtcp(&places.into_iter().chain(sets).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let flows = summary["cells"][0]["flows"].as_array().unwrap();
    let goodput = |name: &str| {
        let flow = flows.iter().find(|flow| flow["name"] == name).unwrap();
        flow["goodput_bps"]["median"].as_f64().unwrap()
    };
    let [stream, tcp] = ["stream", "tcp"].map(goodput);
    println!("stream {stream:.0}, Reno {tcp:.0}");
    // It takes part, and no more than two Reno flows would of three.
    assert!(stream > 0.03 * (stream + tcp) && stream < 0.67 * (stream + tcp), "{stream} beside {tcp}");
    assert_eq!(summary["cells"][0]["checks"]["stream"], "passed");
    std::fs::remove_dir_all(results).unwrap();
}

#[test]
fn live_two_connections_through_forwarders_have_the_simulators_goodput_over_bit_errors() {
    if cannot_run() {
        return;
    }
    let results = std::env::temp_dir().join(format!("airtcp-live-bit-errors-{}", std::process::id()));
    let cases = "vary.cases.sender=[{ label = \"future work\", flows.one.socket = \"decoupling\", flows.two.socket = \"decoupling\", \
                 defaults.sockets.decoupling = { vmss = 3000, controls = 8, shaper = true, recovery = \"sack\" } }, \
                 { label = \"CUBIC\" }]";
    let run = |runs: &str, live: Option<&str>| -> [f64; 2] {
        let sets = ["duration=14s", "warmup=5s", runs, cases].into_iter().flat_map(|set| ["--set", set]);
        let places = ["run", "decoupling-live", "--json", "--results", results.to_str().unwrap()];
        let output = airtcp(&places.into_iter().chain(sets).chain(live).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
        [0, 1].map(|cell| summary["cells"][cell]["goodput_bps"]["median"].as_f64().unwrap())
    };
    let ([simulated, _], [live, cubic]) = (run("runs=7", None), run("runs=1", Some("--live")));
    println!("simulated {simulated:.0}, live {live:.0}, CUBIC {cubic:.0}");
    assert!((0.75..1.25).contains(&(live / simulated)), "{live} live, {simulated} simulated");
    assert!(live > 2.5 * cubic, "{live} beside {cubic} of CUBIC");
    std::fs::remove_dir_all(results).unwrap();
}

#[test]
fn live_a_program_of_the_users_runs_on_a_host_and_reaches_another() {
    if cannot_run() {
        return;
    }
    let script = "ping -c 1 -W 2 $AIRTCP_RECEIVER && sleep 0.3 && grep VmRSS /proc/$PPID/status && exit 7";
    let file = std::env::temp_dir().join(format!("airtcp-live-links-{}.json", std::process::id()));
    let rate = r#"links.air.rate={ kind = "steps", steps = "20Mbit, 5Mbit from 100ms" }"#;
    let program = ["--set", rate, "--report", file.to_str().unwrap(), "--", "sh", "-c", script];
    let output = airtcp(&[&["emulate", "demo", "--on", "sender"], &program[..]].concat());
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    assert!(text(&output).contains("1 received"), "{}", text(&output));
    // The links say what they did: a rate that varied, and packets there and back.
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(file).unwrap();
    let [there, back] = ["links.air.forward", "links.air.reverse"]
        .map(|name| report["links"].as_array().unwrap().iter().find(|link| link["name"] == name).unwrap());
    assert!([there, back].iter().all(|link| link["delivered_packets"].as_u64() >= Some(1)), "{report:#}");
    assert_eq!(there["rate_bps"][0], 20_000_000, "{report:#}");
    assert_eq!(there["rate_bps"].as_array().unwrap().last().unwrap(), &Value::from(5_000_000), "{report:#}");
    assert!(text(&output).contains("links.air.forward") && text(&output).contains("rate 5.00 to 20.00 Mbit/s"));
    // The emulator's memory is locked, and what is only reserved must not count: a gibibyte was.
    let text = text(&output);
    let resident = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(resident.is_some_and(|kilobytes: u64| kilobytes < 200_000), "{text}");
}
