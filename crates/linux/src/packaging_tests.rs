//! What `packaging/` says of metrics, against what is told.

use crate::gateway::control::{Ignored, PeerState};
use crate::gateway::exposition::Format;
use crate::gateway::metrics::{render, tests::status};
use crate::gateway::reload::Reloads;
use crate::gateway::status::{PeerStatus, Report, Status};
use crate::{forwarder, gateway};
use airtcp_core::{DropReason, Event, Gauge};
use airtcp_schemes::SCHEMES;
use airtcp_test_support::skip;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const ALERTS: &str = include_str!("../../../packaging/prometheus/airtcp.rules.yml");
const DASHBOARD: &str = include_str!("../../../packaging/grafana/airtcp.json");

fn counts<'a>(labels: impl Iterator<Item = &'a str>) -> BTreeMap<String, u64> {
    labels.map(|label| (label.to_owned(), 1)).collect()
}

/// A gateway that tells all that any scheme tells.
fn gateway() -> Status {
    let device = counts(["sent_bytes", "errors_memory", "received_packets"].into_iter());
    let events = Event::COMMON.iter().chain(SCHEMES.iter().flat_map(|entry| entry.reports.events));
    let gauges = Gauge::COMMON.iter().chain(SCHEMES.iter().flat_map(|entry| entry.reports.gauges));
    Status {
        peer_state: Some(PeerState { up: true, why: String::new(), secured: true, introduction: None }),
        events: counts(events.map(|event| event.label())),
        gauges: counts(gauges.map(|gauge| gauge.label()).chain([gateway::status::HELD_PACKETS])),
        discarded: counts(DropReason::COMMON.iter().map(|reason| reason.label())),
        control_ignored: counts(Ignored::ALL.iter().map(|reason| reason.label())),
        devices: [("out".to_owned(), device)].into(),
        ..status()
    }
}

/// One with peers, each of which tells the same.
fn hub() -> Status {
    let all = gateway();
    let peer = |name: &str| PeerStatus {
        name: name.into(),
        events: all.events.clone(),
        gauges: all.gauges.clone(),
        discarded: all.discarded.clone(),
        control_ignored: all.control_ignored.clone(),
        devices: all.devices.clone(),
        ..PeerStatus::default()
    };
    Status { peers: vec![peer("east"), peer("west")], name: "hub".into(), ..all.clone() }
}

fn forwarder() -> forwarder::Status {
    forwarder::Status {
        schema: forwarder::status::SCHEMA.into(),
        name: "edge".into(),
        pid: 1,
        uptime_ns: 1,
        peer: "10.9.0.2:4792".into(),
        peer_state: PeerState { up: true, why: String::new(), secured: true, introduction: None },
        state: "forwarding".into(),
        gauges: counts(["connections", "memory"].into_iter()),
        counters: counts(["opened", "asked", "finished", "broken", "stream_sent", "gave_up"].into_iter()),
        broken: counts(["ECONNRESET"].into_iter()),
        ignored: counts(["frame_forged"].into_iter()),
        clients: BTreeMap::new(),
        reloads: Reloads::default(),
    }
}

/// Words of a text that name a metric of ours.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("airtcp_") && *word != "airtcp_").collect()
}

#[test]
fn what_alerts_and_the_dashboard_name_is_told() {
    let told = [render(&gateway(), Format::Prometheus), forwarder().metrics(Format::Prometheus)].concat();
    let (told, named) = (names(&told), [ALERTS, DASHBOARD].map(names));
    assert!(named.iter().all(|named| named.len() > 5), "{named:?}");
    for name in named.iter().flatten() {
        assert!(told.contains(name), "{name} is in packaging/ and not among the metrics");
    }
    // Values of labels, too.
    let labels = render(&gateway(), Format::Prometheus);
    for selector in ["event=~", "reason=~"] {
        let texts = [ALERTS, DASHBOARD].map(|text| text.replace('\\', ""));
        for list in texts.iter().flat_map(|text| text.split(selector).skip(1)) {
            let list = list.trim_start_matches('"').split('"').next().unwrap();
            for value in list.split('|') {
                let label = format!("{}\"{value}\"", selector.trim_end_matches('~'));
                assert!(labels.contains(&label), "{label} is in packaging/ and never told");
            }
        }
    }
}

#[test]
fn every_family_of_openmetrics_is_declared_once_and_the_page_ends() {
    for page in [render(&gateway(), Format::OpenMetrics), forwarder().metrics(Format::OpenMetrics)] {
        let families: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        let once: BTreeSet<&str> = families.iter().filter_map(|family| family.split(' ').next()).collect();
        assert_eq!(families.len(), once.len());
        assert!(!once.iter().any(|family| family.ends_with("_total")), "{once:?}");
        assert!(page.ends_with("\n# EOF\n"));
        let mut family = ("", "");
        for line in page.lines().filter(|line| !line.starts_with("# HELP") && *line != "# EOF") {
            match line.strip_prefix("# TYPE ") {
                Some(declared) => family = declared.split_once(' ').unwrap(),
                None => {
                    let suffix = if family.1 == "counter" { "_total" } else { "" };
                    assert_eq!(line.split('{').next(), Some(format!("{}{suffix}", family.0).as_str()), "{line}");
                }
            }
        }
    }
}

/// `scripts/setup test` puts it into the target directory.
fn promtool() -> Option<Command> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/usr/bin/promtool");
    let program = if own.exists() { own } else { "promtool".into() };
    let works = Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    works.is_ok_and(|status| status.success()).then(|| Command::new(program))
}

#[test]
fn promtool_has_nothing_to_say_about_metrics_and_alerts() {
    if promtool().is_none() {
        return skip("promtool is missing; scripts/setup test fetches it");
    }
    let pages = [render(&gateway(), Format::Prometheus), render(&hub(), Format::Prometheus)];
    for page in pages.into_iter().chain([forwarder().metrics(Format::Prometheus)]) {
        let mut metrics = promtool().unwrap();
        let piped =
            metrics.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && said.trim().is_empty(), "{said}");
    }
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/prometheus/airtcp.rules.yml");
    let output = promtool().unwrap().args(["check", "rules"]).arg(rules).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
