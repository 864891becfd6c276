//! Cells and groups in scenario files.

use crate::common::{read, read_with};
use airtcp_experiment::results::summary::CellSummary;
use airtcp_experiment::results::{CellState, Results};
use airtcp_experiment::simulator::Simulator;
use airtcp_experiment::world::World;
use airtcp_experiment::{Catalogue, Scenario};
use insta::assert_snapshot;

const WIFI: &str = r#"
schema = 1
duration = "3s"
warmup = "1s"

[nodes]
sta = { count = 3 }
ap = {}
server = { count = 3 }

[wlans.wifi]
ap = "ap"
stations = ["sta"]
ap_queue = "10packets"

[links.net]
between = ["ap", "server"]
rate = "100Mbit"
delay = "5ms"

[flows.upload]
from = "sta"
to = "server"
start_within = "500ms"
"#;

fn error(set: &str) -> String {
    read(WIFI, &[set]).unwrap_err().to_string()
}

fn names(scenario: &Scenario) -> (Vec<&str>, Vec<&str>) {
    let cell = &scenario.cells[0].scenario;
    (
        cell.links.iter().map(|link| link.name.as_str()).collect(),
        cell.flows.iter().map(|flow| flow.name.as_str()).collect(),
    )
}

#[test]
fn a_group_is_as_many_nodes_links_and_flows() {
    let scenario = read(WIFI, &[]).unwrap();
    let cell = &scenario.cells[0].scenario;
    assert_eq!(cell.nodes, ["sta1", "sta2", "sta3", "ap", "server1", "server2", "server3"]);
    assert_eq!(names(&scenario), (vec!["net1", "net2", "net3"], vec!["upload1", "upload2", "upload3"]));
    assert_eq!((cell.flows[1].from, cell.flows[1].to), (1, 5));
    assert_eq!((cell.wlans[0].ap, cell.wlans[0].stations.as_slice()), (3, &[0, 1, 2][..]));
}

#[test]
fn a_flow_is_there_as_often_as_its_count_says() {
    let counted =
        WIFI.replace("[flows.upload]", "[flows.page]\ncount = 2\nfrom = \"server\"\nto = \"sta\"\n[flows.upload]");
    let flows: Vec<String> = {
        let scenario = read(&counted, &[]).unwrap();
        let names: Vec<String> = scenario.cells[0].scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        names
    };
    assert_eq!(flows, ["page11", "page12", "page21", "page22", "page31", "page32", "upload1", "upload2", "upload3"]);
    for wrong in ["flows.page.count=2001", "flows.page.count=1.5"] {
        assert!(read(&counted, &[wrong]).is_err(), "{wrong}");
    }
    let without = read(&counted, &["flows.page.count=0"]).unwrap();
    assert_eq!(names(&without).1, ["upload1", "upload2", "upload3"]);
}

#[test]
fn the_size_of_a_group_can_vary() {
    let text = format!(
        "{WIFI}\n[vary]\ncases.size = [\n  {{ label = \"two\", nodes.sta.count = 2, nodes.server.count = 2 }},\n  {{ label = \"three\" }},\n]\n"
    );
    let scenario = read(&text, &[]).unwrap();
    let flows: Vec<usize> = scenario.cells.iter().map(|cell| cell.scenario.flows.len()).collect();
    assert_eq!(flows, [2, 3]);
}

#[test]
fn a_cell_runs_in_the_simulator_and_says_what_its_queue_dropped() {
    let scenario = read(WIFI, &["wlans.wifi.ap_queue=1packet"]).unwrap();
    let outcome = Simulator::default().run(&scenario.cells[0].scenario, 1).unwrap();
    assert!(outcome.flows.iter().map(|flow| flow.window_bytes).sum::<u64>() > 500_000);
    assert!(outcome.drops.iter().any(|drop| drop.place == "wlans.wifi.ap" && drop.reason == "queue_full"));
}

#[test]
fn what_was_acknowledged_and_is_missing_is_in_the_summary() {
    // All of a station's acknowledgments are made of the medium's, and every hundredth packet is lost behind it.
    let lossy = ["schemes.cell={ kind = \"as-tcp\", on = \"wifi\", split = \"nowhere\" }", "links.net.loss=1%"];
    let missing = |set: &[&str]| {
        let scenario = read_with(WIFI, set, &Catalogue::BUILT_IN).unwrap();
        let mut results = Results::new(&scenario, "simulator");
        let run = Simulator::default().run(&scenario.cells[0].scenario, 1).unwrap();
        results.cells[0] = CellState::Done(vec![run]);
        CellSummary::of(&results, 0)
            .unwrap()
            .readings
            .get("sender.acknowledged_missing_bytes")
            .map(|bytes| bytes.median)
    };
    assert_eq!(missing(&lossy[1..]), Some(0.0));
    assert!(missing(&lossy).is_some_and(|bytes| bytes >= 1448.0));
}

#[test]
fn flows_start_at_another_time_within_theirs_in_every_run() {
    let scenario = read(WIFI, &[]).unwrap();
    let cell = &scenario.cells[0].scenario;
    let starts = |seed| cell.of_run(seed).flows.iter().map(|flow| flow.start.as_nanos()).collect::<Vec<_>>();
    assert_eq!(starts(1), starts(1));
    assert_ne!(starts(1), starts(2));
    assert!((1..20).flat_map(starts).all(|start| start < 500_000_000));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    for (set, words) in [
        ("nodes.sta.count=0", "from 1 to 2000"),
        ("nodes.sta.count=2", "same count"),
        ("nodes.sta2={}", "rename"),
        ("wlans.wifi.ap=\"sta1\"", "twice"),
        ("wlans.wifi.ap=\"app\"", "did you mean 'ap'"),
        ("wlans.wifi.retry_limt=4", "did you mean 'retry_limit'"),
        ("wlans.wifi.rate=\"12Mbit\"", "11Mbit"),
        ("wlans.wifi.data_loss={ kind = \"bernouli\" }", "did you mean 'bernoulli'"),
        ("wlans.wifi.stations=[\"sta1\"]", "no links lead"),
    ] {
        let error = error(set);
        assert!(error.contains(words), "{set}: {error}");
    }
}

#[test]
fn stations_may_contend_in_their_own_way() {
    let scenario = read(WIFI, &["wlans.wifi.edca={ sta = { cw_min = 63 }, sta3 = { aifs = 8 } }"]).unwrap();
    let edca = &scenario.cells[0].scenario.wlans[0].edca;
    let said: Vec<_> = edca.iter().map(|(node, edca)| (*node, edca.cw_min, edca.aifs)).collect();
    assert_eq!(said, [(0, Some(63), None), (1, Some(63), None), (2, Some(63), None), (2, None, Some(8))]);

    // Without acknowledgments on the air, so that contention alone shares it.
    let got = |edca: &str| {
        let sets = ["schemes.cell={ kind = \"as-tcp\", on = \"wifi\" }", edca];
        let scenario = read_with(WIFI, &sets, &Catalogue::BUILT_IN).unwrap();
        let run = Simulator::default().run(&scenario.cells[0].scenario, 1).unwrap();
        run.flows.iter().map(|flow| flow.window_bytes).collect::<Vec<_>>()
    };
    let equal = got("wlans.wifi.edca={}");
    assert!(equal[2] * 10 > equal[0] * 9, "{equal:?}");
    let later = got("wlans.wifi.edca={ sta3 = { cw_min = 255 } }");
    assert!(later[2] * 2 < later[0], "{later:?}");
}

#[test]
fn a_station_that_cannot_contend_so_is_named() {
    assert_snapshot!(error("wlans.wifi.edca={ sat1 = { cw_min = 15 } }"), @"--set wlans.wifi.edca={ sat1 = { cw_min = 15 } }: unknown key 'sat1' in [wlans.wifi.edca]; did you mean 'sta1'? (airtcp show wlan)");
    assert_snapshot!(error("wlans.wifi.edca={ sta1 = { cw_mni = 15 } }"), @"--set wlans.wifi.edca={ sta1 = { cw_mni = 15 } }: unknown key 'cw_mni' in [wlans.wifi.edca.sta1]; did you mean 'cw_min'? (airtcp show wlan)");
    assert_snapshot!(error("wlans.wifi.edca={ sta1 = { cw_min = 1024 } }"), @"--set wlans.wifi.edca={ sta1 = { cw_min = 1024 } }: impossible topology: [wlans.wifi.edca.sta1]: the smallest contention window, 1024, is above the largest, 1023");
    for (edca, refused) in [("cw_max = 63", true), ("cw_min = 63", true), ("aifs = 3", false)] {
        let sets = ["wlans.wifi.contention=idle-sense", &format!("wlans.wifi.edca={{ sta1 = {{ {edca} }} }}")];
        let sentence = read(WIFI, &sets).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(
            sentence.contains("[wlans.wifi.edca.sta1]: contention = \"idle-sense\" sets the windows"),
            refused,
            "{sentence}"
        );
    }
}
