//! From a document without `[vary]` to a [`ResolvedScenario`].

use super::document::{Entry, Origin, Table, Value, join_path};
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::limits::{LEAST_SAMPLE, LONGEST, MAX_RUNS, MOST_SAMPLES};
use super::{ResolvedScenario, TOP_LEVEL, defaults, flow, groups, link, probe, scheme, topology, wlan};
use crate::catalogue::Catalogue;
use airtcp_core::Duration;

/// Settings of the whole file.
pub(super) struct Header {
    pub(super) runs: u32,
    pub(super) seed: u64,
    pub(super) about: String,
}

fn top<'a>(document: &'a Table, file: &'a Origin) -> Keys<'a> {
    Keys::of_file(document, file, "scenario")
}

/// Reads the top level.
pub(super) fn header(document: &Table, file: &Origin) -> Result<Header, ScenarioError> {
    let keys = top(document, file);
    let schema = keys.required("schema", "schema = 1")?;
    let found = schema.node.scalar().unwrap_or_else(|| schema.node.value.kind().into());
    if found != "1" {
        return Err(Problem::Schema(found).at(&schema.node.origin));
    }
    let valid: Vec<&str> = TOP_LEVEL.iter().map(|(key, ..)| *key).collect();
    keys.only(&valid)?;
    let runs: u32 = keys.value("runs")?.unwrap_or(1);
    if !(1..=MAX_RUNS).contains(&runs) {
        let entry = document.get("runs").expect("1 if left out");
        return Err(keys.bad(entry, format!("{runs} is out of range; from 1 to {MAX_RUNS}")));
    }
    Ok(Header { runs, seed: keys.value("seed")?.unwrap_or(1), about: keys.value("about")?.unwrap_or_default() })
}

/// Paths into the file's named things that `[vary]` or `--set` name lead to one that is there.
pub(super) fn check_names(document: &Table, paths: &[(Vec<String>, Origin)]) -> Result<(), ScenarioError> {
    for (path, origin) in paths {
        let what = match path[0].as_str() {
            "links" => "link",
            "wlans" => "wlan",
            "flows" => "flow",
            "probes" => "probe",
            "schemes" => "scheme",
            _ => continue,
        };
        if path.len() < 3 || document.at(&path[..2]).is_some() {
            continue;
        }
        let choices: Vec<String> = document
            .table(&path[0])
            .into_iter()
            .flat_map(|table| &table.entries)
            .map(|entry| entry.key.clone())
            .collect();
        let (name, key, table) = (path[1].clone(), join_path(path), "[vary]".into());
        return Err(Problem::NoSuch { what, name, key, table, choices }.at(origin));
    }
    Ok(())
}

/// Reads one cell.
pub(super) fn resolve(
    document: &Table,
    file: &Origin,
    name: &str,
    catalogue: &Catalogue<'_>,
) -> Result<ResolvedScenario, ScenarioError> {
    let document = &*groups::expanded(defaults::applied(document, catalogue)?)?;
    let keys = top(document, file);
    let valid: Vec<&str> = TOP_LEVEL.iter().map(|(key, ..)| *key).collect();
    keys.only(&valid)?;
    let Times { duration, warmup, sample_every } = times(&keys)?;
    let nodes = nodes(&keys)?;
    let wlans = match document.get("wlans") {
        Some(entry) => wlan::wlans(&keys.below(entry, "wlan")?, &nodes)?,
        None => Vec::new(),
    };
    let links = match document.get("links") {
        // Stations of a cell need no other link.
        None if !wlans.is_empty() => Vec::new(),
        _ => link::links(&keys.below(keys.required("links", "[links.air]")?, "link")?, &nodes)?,
    };
    let flows_entry = keys.required("flows", "[flows.bulk]")?;
    let flow_keys = keys.below(flows_entry, "flow")?;
    let mut flows = flow::flows(&flow_keys, &nodes, catalogue)?;
    if flows.is_empty() {
        return Err(Problem::Topology("[flows] is empty: nothing would be sent".into()).at(&flows_entry.origin));
    }
    let network = topology::Network::new(&nodes, &links, &wlans);
    topology::check(&flow_keys, &network, &flows)?;
    let hosts: Vec<usize> =
        (0..nodes.len()).filter(|node| flows.iter().any(|flow| [flow.from, flow.to].contains(node))).collect();
    let probes = match document.get("probes") {
        Some(entry) => probe::probes(&keys.below(entry, "scenario")?, &nodes, &hosts)?,
        None => Vec::new(),
    };
    let mut schemes = match document.get("schemes") {
        Some(entry) => scheme::schemes(&keys.below(entry, "schemes")?, &network, catalogue)?,
        None => Vec::new(),
    };
    if keys.value::<bool>("control")?.unwrap_or(false) {
        schemes.clear();
        flow::replace_by_reno(&mut flows, catalogue);
    }
    let levels = Vec::new();
    Ok(ResolvedScenario {
        name: name.to_owned(),
        duration,
        warmup,
        nodes,
        links,
        wlans,
        flows,
        probes,
        schemes,
        sample_every,
        levels,
    })
}

/// When a run ends, from when on it is measured, and how often it is sampled.
struct Times {
    duration: Duration,
    warmup: Duration,
    sample_every: Option<Duration>,
}

fn times(keys: &Keys<'_>) -> Result<Times, ScenarioError> {
    let entry = keys.required("duration", "duration = \"20s\"")?;
    let duration: Duration = keys.value("duration")?.expect("required above");
    let warmup: Duration = keys.value("warmup")?.unwrap_or(Duration::ZERO);
    if duration > LONGEST {
        return Err(keys.bad(entry, format!("a run of more than {LONGEST} is a mistake")));
    }
    if duration <= warmup {
        return Err(keys.bad(entry, format!("nothing is left to measure after a warm-up of {warmup}")));
    }
    let sample_every: Option<Duration> = keys.value("sample_every")?;
    if let Some(every) = sample_every
        && (every < LEAST_SAMPLE || duration.as_nanos() / every.as_nanos() > MOST_SAMPLES)
    {
        let reason =
            format!("{every} is too short; {LEAST_SAMPLE} or more, and at most {MOST_SAMPLES} samples in a run");
        return Err(keys.bad(keys.table.get("sample_every").expect("read above"), reason));
    }
    Ok(Times { duration, warmup, sample_every })
}

fn nodes(keys: &Keys<'_>) -> Result<Vec<String>, ScenarioError> {
    let entry = keys.required("nodes", "[nodes]")?;
    let nodes = keys.below(entry, "scenario")?;
    let name = |entry: &Entry| {
        let below = nodes.below(entry, "scenario")?;
        below.only(&[])?;
        Ok(entry.key.clone())
    };
    debug_assert!(matches!(entry.node.value, Value::Table(_)));
    nodes.table.entries.iter().map(name).collect()
}
