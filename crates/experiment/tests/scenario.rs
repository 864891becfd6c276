//! What a scenario file means.

use crate::common::{CATALOGUE, DEMO, demo_with, given, read};
use airtcp_core::{Duration, Rate};
use airtcp_experiment::scenario::BUILT_IN;
use airtcp_experiment::{Catalogue, Scenario};
use airtcp_link::Queue;

const SWEEP: &str = r#"
schema = 1
about = "Loss x scheme, CUBIC and BBR senders"
base = "base.toml"        # tables not written here come from there; one level only
duration = "60s"
warmup = "5s"
runs = 30                 # common random numbers across schemes

[vary]
links.air.loss = { log = ["0.01%", "20%"], steps = 13 }   # or linear = [...]
flows.bulk.controller = ["cubic", "reno"]
schemes.repair = [        # a table replaces the whole table
  { kind = "none", label = "plain" },
  { kind = "snoop", on = "air" },
  { kind = "gsnoop", on = "air", mode = "paper", label = "gsnoop (paper)" },
  { kind = "gsnoop", on = "air", mode = "modern", label = "gsnoop" },
]

[[figures]]               # -> figures/goodput-over-loss.{svg,csv}
name = "goodput-over-loss"
x = "links.air.loss"
y = "of_ceiling"
lines = "schemes.repair"
panes = "flows.bulk.controller"
"#;

fn labels(scenario: &Scenario, axis: usize) -> Vec<&str> {
    scenario.axes[axis].1.iter().map(String::as_str).collect()
}

#[test]
fn the_demo_has_twenty_cells() {
    let demo = read(DEMO, &[]).unwrap();
    assert_eq!((demo.name.as_str(), demo.runs, demo.seed, demo.cells.len()), ("demo", 5, 1, 20));
    assert_eq!(labels(&demo, 0), ["0%", "1%", "5%", "10%", "gilbert-elliott mean=2% burst=5"]);
    let last = &demo.cells[19];
    assert_eq!(last.at[1], ("flows.bulk.controller".into(), "bbr".into()));
    assert_eq!(last.scenario.schemes[0].kind, "gsnoop");
    assert!(demo.cells[0].scenario.schemes.is_empty(), "kind none places nothing");
}

#[test]
fn links_take_their_values_in_both_directions() {
    let demo = read(DEMO, &["links.air.loss=5%"]).unwrap();
    let air = &demo.cells[0].scenario.links[1];
    assert_eq!((air.name.as_str(), air.between), ("air", [1, 2]));
    assert_eq!(air.forward.rate, Rate::from_bps(10_000_000).into());
    assert_eq!(air.forward, air.reverse);
    assert_eq!(air.forward.loss.mean(1500), "5%".parse().unwrap());
}

#[test]
fn reverse_overrides_one_key_of_one_direction() {
    let text = demo_with("[links.lan]", "[links.air.reverse]\nrate = \"1Mbit\"\n\n[links.lan]");
    let air = &read(&text, &[]).unwrap().cells[0].scenario.links[1];
    assert_eq!(air.reverse.rate, Rate::from_bps(1_000_000).into());
    assert_eq!(air.forward.rate, Rate::from_bps(10_000_000).into());
    assert_eq!(air.reverse.delay, air.forward.delay);
}

#[test]
fn queues_can_be_varied_as_whole_tables_and_read_back_from_the_resolved_file() {
    let queues = "links.air.queue = [{ kind = \"red\", ecn = true }, { kind = \"codel\", target = \"8ms\" }, \
                  { kind = \"fq-codel\", flows = 64 }, \"50packets\"]";
    let text = demo_with("flows.bulk.controller = [\"cubic\", \"bbr\"]", queues);
    let scenario = read(&text, &[]).unwrap();
    assert_eq!(labels(&scenario, 1), ["red ecn=true", "codel target=8ms", "fq-codel flows=64", "50packets"]);
    let queue = |cell: usize| scenario.cells[cell].scenario.links[1].forward.queue.clone();
    let queues = [0, 2, 4, 6].map(queue);
    assert!(matches!(&queues[0], Queue::Red(red) if red.ecn), "{queues:?}");
    assert!(matches!(&queues[1], Queue::Codel(codel) if codel.target == Duration::from_millis(8)), "{queues:?}");
    assert!(matches!(&queues[2], Queue::FqCodel(queue) if queue.flows == 64), "{queues:?}");
    assert!(matches!(&queues[3], Queue::DropTail(_)), "{queues:?}");
    assert_eq!(read(&scenario.resolved, &[]).unwrap().hash, scenario.hash);
}

#[test]
fn a_sweep_completes_itself_from_its_base() {
    let sweep = read(SWEEP, &[]).unwrap();
    assert_eq!(sweep.cells.len(), 13 * 2 * 4);
    assert_eq!(labels(&sweep, 2), ["plain", "snoop", "gsnoop (paper)", "gsnoop"]);
    assert_eq!(&labels(&sweep, 0)[..3], ["0.01%", "0.01884%", "0.0355%"]);
    assert_eq!(sweep.cells[0].scenario.duration, Duration::from_secs(60));
    assert_eq!(sweep.cells[0].scenario.links.len(), 3);
    assert_eq!(given(&sweep.cells[2].scenario.schemes[0]), [("mode", "paper".into())]);
    assert_eq!(sweep.figures[0].lines.as_deref(), Some("schemes.repair"));
    assert_eq!(sweep.tables[0].columns, ["schemes.repair"], "the base's tables show what the base varies");
}

#[test]
fn what_is_set_no_longer_varies() {
    let demo = read(DEMO, &["links.air.loss=3%", "flows.bulk.controller=reno", "runs=2"]).unwrap();
    assert_eq!((demo.cells.len(), demo.runs), (2, 2));
    assert_eq!(demo.tables[0].rows, [""; 0]);
    let all = read(DEMO, &["links.air.loss=3%", "flows.bulk.controller=reno", "schemes.repair.kind=gsnoop"]).unwrap();
    assert_eq!(all.cells.len(), 1);
}

#[test]
fn a_set_can_vary_something_else() {
    let demo = read(DEMO, &["vary.links.air.delay=[\"5ms\", \"20ms\"]"]).unwrap();
    assert_eq!(demo.cells.len(), 40);
}

#[test]
fn the_resolved_scenario_reads_back_as_itself() {
    for (text, sets) in [(DEMO, vec![]), (SWEEP, vec![]), (DEMO, vec!["links.air.loss=3%"])] {
        let scenario = read(text, &sets).unwrap();
        let again = read(&scenario.resolved, &[]).unwrap();
        assert_eq!((&again.resolved, &again.hash), (&scenario.resolved, &scenario.hash));
        let cells = |scenario: &Scenario| format!("{:?}", scenario.cells);
        assert_eq!(cells(&again), cells(&scenario));
    }
}

#[test]
fn comments_and_spaces_do_not_change_the_hash() {
    let demo = read(DEMO, &[]).unwrap();
    let spaced = read(&demo_with("delay = \"5ms\"", "delay   =    \"5ms\" # one way"), &[]).unwrap();
    let other = read(&demo_with("delay = \"5ms\"", "delay = \"6ms\""), &[]).unwrap();
    assert_eq!(demo.hash, spaced.hash);
    assert_ne!(demo.hash, other.hash);
}

#[test]
fn nodes_without_a_flow_forward() {
    let demo = read(DEMO, &[]).unwrap();
    let hosts: Vec<bool> = (0..4).map(|node| demo.cells[0].scenario.is_host(node)).collect();
    assert_eq!(hosts, [true, false, false, true]);
}

#[test]
fn a_file_is_found_beside_its_base() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let demo = Scenario::load(&directory.join("demo.toml"), &[], &CATALOGUE).unwrap();
    assert_eq!(demo.name, "demo");
}

const CASES: &str = r#"
schema = 1
base = "base.toml"

[vary]
links.air.loss = ["0%", "5%"]
cases.who = [
  { label = "plain", schemes.repair = { kind = "none" } },
  { label = "reno and gateways", flows.bulk.controller = "reno", schemes.repair.mode = "paper" },
]
"#;

#[test]
fn a_case_sets_several_keys_at_once() {
    let scenario = read(CASES, &[]).unwrap();
    assert_eq!(labels(&scenario, 1), ["plain", "reno and gateways"]);
    let [plain, gateways] = [0, 1].map(|cell| &scenario.cells[cell].scenario);
    assert_eq!((plain.flows[0].controller.as_str(), plain.schemes.len()), ("cubic", 0));
    assert_eq!((gateways.flows[0].controller.as_str(), gateways.schemes[0].kind.as_str()), ("reno", "gsnoop"));
    assert_eq!(given(&gateways.schemes[0]), [("mode", "paper".into())], "what it does not name stays");
}

#[test]
fn a_scenario_with_cases_reads_back_as_itself() {
    let scenario = read(CASES, &[]).unwrap();
    let again = read(&scenario.resolved, &[]).unwrap();
    assert_eq!((&again.resolved, again.cells.len()), (&scenario.resolved, 4));
    assert_eq!(format!("{:?}", again.cells), format!("{:?}", scenario.cells));
}

#[test]
fn defaults_fill_in_what_links_and_flows_do_not_say() {
    let text = demo_with(
        "[flows.bulk]",
        "[defaults.flows]\nmtu = 512\ncontroller = \"reno\"\n\n[defaults.links]\nrate = \"3Mbit\"\nmtu = 576\n\n[flows.bulk]",
    );
    let scenario = &read(&text, &["flows.bulk.controller=cubic"]).unwrap().cells[0].scenario;
    assert_eq!((scenario.flows[0].config.mtu, scenario.flows[0].controller.as_str()), (512, "cubic"));
    let air = &scenario.links[1].forward;
    assert_eq!((air.mtu, &air.rate), (576, &Rate::from_bps(10_000_000).into()), "what a link says stays");
}

#[test]
fn defaults_can_vary() {
    let scenario =
        read(DEMO, &["vary.defaults.flows.mtu=[512, 1500]", "links.air.loss=0%", "flows.bulk.controller=reno"])
            .unwrap();
    let mtus: Vec<u32> = scenario.cells.iter().map(|cell| cell.scenario.flows[0].config.mtu).collect();
    assert_eq!(mtus, [512, 512, 1500, 1500]);
}

#[test]
fn a_control_has_the_same_labels_and_no_schemes() {
    let [control, usual] = [true, false].map(|control| read(DEMO, &[&format!("control={control}")]).unwrap());
    let at = |scenario: &Scenario| scenario.cells.iter().map(|cell| cell.at.clone()).collect::<Vec<_>>();
    assert_eq!(at(&control), at(&usual));
    assert!(control.cells.iter().all(|cell| cell.scenario.schemes.is_empty()));
    assert_ne!(control.hash, usual.hash);
}

#[test]
fn a_table_with_goodput_has_latency_under_load_beside_it() {
    const LATENCIES: [&str; 5] = ["rtt_", "delay_ns", "round_trip_ns", "completion_ns", "slowdown"];
    for (name, text) in BUILT_IN {
        let scenario = Scenario::of_text(name, text, &[], &Catalogue::BUILT_IN).unwrap();
        for table in scenario.tables {
            let has = |part: &str| table.show.iter().any(|metric| metric.contains(part));
            let has_latency = LATENCIES.iter().any(|part| has(part));
            assert!(has_latency || !has("goodput_bps"), "{name}: only {:?}", table.show);
        }
    }
}
