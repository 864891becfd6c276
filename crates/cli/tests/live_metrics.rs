//! A real Prometheus at a gateway that works: what `packaging/` has it scrape, ask and be alarmed by. Needs root, TUN, and
//! Prometheus with promtool (`scripts/setup test` fetches both).

mod row_support;

use airtcp_linux::testbed::{Exec, Family, Program, Testbed, check_available};
use airtcp_test_support::skip;
use row_support::{home, run_on, upload};
use serde_json::Value;
use std::path::{Path, PathBuf};

const SCRAPE: &str = include_str!("../../../packaging/prometheus/scrape.yml");
const DASHBOARD: &str = include_str!("../../../packaging/grafana/airtcp.json");
const SERVER: &str = "127.0.0.1:9090";
/// What one gateway does not have.
const OF_FORWARDERS: &str = "airtcp_forwarder_";

/// A program of Prometheus: what `scripts/setup test` made, or the system's.
fn program(name: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/usr/bin").join(name);
    if own.exists() { own } else { name.into() }
}

/// Why the test cannot run here.
fn missing() -> Option<String> {
    if let Err(why) = check_available() {
        return Some(why.to_string());
    }
    let works = |name: &&str| std::process::Command::new(program(name)).arg("--version").output().is_ok();
    let missing = ["prometheus", "promtool"].into_iter().find(|name| !works(name))?;
    Some(format!("{missing} is missing; scripts/setup test fetches it"))
}

/// Two gateways, and Prometheus on the router of the first.
struct Watched {
    // Programs end before their testbed does.
    gateways: [Program; 2],
    _prometheus: Program,
    testbed: Testbed,
    directory: PathBuf,
}

impl Watched {
    fn up() -> Watched {
        let testbed = home();
        let directory = std::env::temp_dir().join(format!("{}metrics", testbed.prefix()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let gateways = [("a", "b"), ("b", "a")].map(|(node, other)| gateway(&testbed, &directory, node, other));
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus/airtcp.rules.yml");
        let rules = rules.canonicalize().expect("the rules");
        let configuration = directory.join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}\n\
             rule_files: [\"{}\"]\nscrape_configs:\n{SCRAPE}",
            rules.display()
        );
        std::fs::write(&configuration, text).expect("a file");
        let exec = Exec::new(program("prometheus")).log(directory.join("prometheus.log"));
        let exec = exec.arg(format!("--config.file={}", configuration.display()));
        let exec = exec.arg(format!("--storage.tsdb.path={}", directory.join("data").display()));
        let prometheus = testbed.start("a", &exec.arg(format!("--web.listen-address={SERVER}"))).expect("it starts");
        Watched { gateways, _prometheus: prometheus, testbed, directory }
    }

    /// What Prometheus answers: a line for each series.
    fn ask(&self, query: &str) -> Result<String, String> {
        let url = format!("http://{SERVER}");
        let promtool = program("promtool").display().to_string();
        let (code, said) = run_on(&self.testbed, "a", &promtool, &["query", "instant", &url, query]);
        if code == Some(0) { Ok(said.trim().to_owned()) } else { Err(said) }
    }

    /// Waits until there is an answer with a series that is wanted.
    fn wait_for(&self, query: &str, is_wanted: impl Fn(&str) -> bool) {
        let mut answer = Err(String::new());
        for _ in 0..150 {
            answer = self.ask(query);
            if answer.as_ref().is_ok_and(|answer| is_wanted(answer)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let log = std::fs::read_to_string(self.directory.join("prometheus.log")).unwrap_or_default();
        panic!("waited in vain for {query}: {answer:?}\n{log}");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn gateway(testbed: &Testbed, directory: &Path, node: &str, other: &str) -> Program {
    let peer = testbed.link_address("wlan0", other, Family::V4).expect("an end of the link");
    let run = directory.join(node);
    std::fs::create_dir_all(&run).expect("a directory");
    let file = directory.join(format!("{node}.toml"));
    let text = format!(
        "schema = 1\nscheme = \"gsnoop\"\nlink = \"wlan0\"\npeer = \"{peer}:4791\"\ninsecure = true\nrate = \"20Mbit\"\n\
         metrics = 9791\nrun_directory = \"{}\"\n",
        run.display()
    );
    std::fs::write(&file, text).expect("a file");
    let exec = Exec::new(env!("CARGO_BIN_EXE_airtcpd")).arg("gateway").arg(file).log(run.join("log"));
    testbed.start(node, &exec).expect("it starts")
}

/// Every expression of the dashboard, as Grafana would ask it.
fn expressions() -> Vec<String> {
    fn collect(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                into.extend(members.get("expr").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| collect(value, into));
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(&serde_json::from_str(DASHBOARD).expect("JSON"), &mut found);
    found.iter().map(|text| text.replace("$gateway", ".*").replace("$__rate_interval", "10s")).collect()
}

#[test]
fn live_prometheus_scrapes_answers_the_dashboard_and_raises_the_alarm() {
    if let Some(why) = missing() {
        return skip(&why);
    }
    let mut watched = Watched::up();
    watched.wait_for("airtcp_peer_up", |answer| answer.contains("=> 1 "));
    upload(&watched.testbed, 1, 2_000_000);
    let expressions = expressions();
    assert!(expressions.len() > 10, "{expressions:?}");
    for expression in &expressions {
        // Empty is what somebody sees who has no forwarder; a mistake in the expression is an error.
        watched.wait_for(expression, |answer| answer.contains(" => ") || expression.contains(OF_FORWARDERS));
    }
    watched.wait_for("airtcp_events_total{event=\"repairs\"} > 0", |answer| answer.contains(" => "));
    assert_eq!(watched.ask("ALERTS").as_deref(), Ok(""), "an alarm about nothing");

    watched.gateways[1].stop().expect("it ends");
    watched.wait_for("ALERTS{alertname=\"AirtcpPeerDown\"}", |answer| answer.contains("pending"));
}
