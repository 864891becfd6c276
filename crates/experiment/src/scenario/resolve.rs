//! From a document without `[vary]` to a [`ResolvedScenario`].

use super::document::{Origin, Table, join_path};
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::limits::{LEAST_SAMPLE, LONGEST, MAX_RUNS, MOST_SAMPLES};
use super::section::{names, section};
use super::traces::TraceFiles;
use super::{ResolvedScenario, defaults, flow, groups, link, probe, scheme, topology, wlan, workload};
use crate::catalogue::Catalogue;
use airtcp_core::Duration;
use std::collections::BTreeSet;

section! {
    /// Settings of the whole file.
    Header {
        /// version of the file format; required
        schema, "1";
        /// name of the results; the file's name if left out
        name, "\"demo\"";
        /// one sentence
        about: String = String::new(), "\"…\"";
        /// a file that provides what is not written here; one level only
        base, "\"demo.toml\"";
        /// length of a run; required
        duration, "\"20s\"";
        /// time at the start that no rate counts; 0s if left out
        warmup: Duration = Duration::ZERO, "\"2s\"";
        /// time between the samples of figures over time; a 200th of the duration if left out
        sample_every, "\"20ms\"";
        /// runs of each cell; 1 if left out
        runs: u32 = 1, "5";
        /// run i uses seed + i; 1 if left out
        seed: u64 = 1, "1";
        /// schemes are left out, sockets with a circuit become TCP and controllers that Linux does not have become reno, labels stay: what is left shows nothing of them; false if left out
        control: bool = false, "true";
        /// name = {} for each, { count = 20 } for a group; a node named by a flow is a host, any other forwards
        nodes, "[nodes]";
        /// between two nodes (airtcp show link)
        links, "[links.air]";
        /// 802.11 cells, in the simulator (airtcp show wlan)
        wlans, "[wlans.wifi]";
        /// from a node to a node (airtcp show flow)
        flows, "[flows.bulk]";
        /// small datagrams between two hosts and back (airtcp show probe)
        probes, "[probes.ping]";
        /// requests that begin when they are due, from clients to a server (airtcp show workload)
        workloads, "[workloads.web]";
        /// values of every link or flow unless it sets its own
        defaults, "[defaults.flows]";
        /// kind, and the link it is on or the nodes it leads from and to (airtcp show schemes)
        schemes, "[schemes.repair]";
        /// mirrors the file: a list where the file has a value; every combination is a cell; cases.<name>: several keys at once
        vary, "[vary]";
        /// rows, columns: varied keys; show: measures
        tables, "[[tables]]";
        /// name, x, y, lines, panes; curves: formulas over x
        figures, "[[figures]]";
    }
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
    keys.only(&names(KEYS))?;
    let header = Header::read(&keys)?;
    if !(1..=MAX_RUNS).contains(&header.runs) {
        return Err(keys.refuse("runs", format!("{} is out of range; from 1 to {MAX_RUNS}", header.runs)));
    }
    Ok(header)
}

/// Paths into the file's named things that `[vary]` or `--set` name lead to one that is there.
pub(super) fn check_names(document: &Table, paths: &[(Vec<String>, Origin)]) -> Result<(), ScenarioError> {
    for (path, origin) in paths {
        let what = match path[0].as_str() {
            "links" => "link",
            "wlans" => "wlan",
            "flows" => "flow",
            "probes" => "probe",
            "workloads" => "workload",
            "schemes" => "scheme",
            _ => continue,
        };
        if path.len() < 3 || document.at(&path[..2]).is_some() {
            continue;
        }
        let choices = document.names(&path[0]);
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
    files: &TraceFiles,
) -> Result<ResolvedScenario, ScenarioError> {
    let document = &*groups::expanded(defaults::applied(document, catalogue)?)?;
    let keys = top(document, file);
    keys.only(&names(KEYS))?;
    let Header { warmup, control, .. } = Header::read(&keys)?;
    let (duration, sample_every) = times(&keys, warmup)?;
    keys.required("nodes", "[nodes]")?;
    let nodes = keys.each("nodes", "scenario", |node| node.only(&[]).map(|()| node.name().to_owned()))?;
    let wlans = keys.each("wlans", "wlan", |keys| wlan::wlan(keys, &nodes, files))?;
    if wlans.is_empty() {
        // Stations of a cell need no other link.
        keys.required("links", "[links.air]")?;
    }
    let links = link::links(&keys, &nodes, files)?;
    let network = topology::Network::new(&nodes, &links, &wlans);
    let mut workloads = keys.each("workloads", "workload", |keys| {
        workload::workload(keys, (warmup, duration), &network, catalogue, files)
    })?;
    if workloads.len() > airtcp_sim::Workload::MOST {
        let sentence =
            format!("{} workloads are too many; write {} or fewer", workloads.len(), airtcp_sim::Workload::MOST);
        return Err(Problem::Topology(sentence).at(file));
    }
    if workloads.is_empty() {
        // Requests need nothing beside them.
        keys.required("flows", "[flows.bulk]")?;
    }
    let mut flows = keys.each("flows", "flow", |keys| flow::flow(keys, duration, &network, catalogue, control))?;
    if let Some(entry) = keys.table.get("flows").filter(|_| flows.is_empty() && workloads.is_empty()) {
        return Err(Problem::Topology("[flows] is empty: nothing would be sent".into()).at(&entry.origin));
    }
    let ends = flows.iter().flat_map(|flow| [flow.from, flow.to]);
    let ends: BTreeSet<usize> =
        ends.chain(workloads.iter().flat_map(|workload| [workload.from, workload.to])).collect();
    let hosts: Vec<usize> = ends.into_iter().collect();
    let probes = keys.each("probes", "scenario", |keys| probe::probe(keys, &nodes, &hosts))?;
    let mut schemes = scheme::schemes(&keys, &network, catalogue)?;
    if control {
        schemes.clear();
        flow::replace_by_reno(&mut flows, catalogue);
        workload::replace_by_reno(&mut workloads, catalogue);
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
        workloads,
        schemes,
        sample_every,
        levels,
    })
}

/// When a run ends that is measured from `warmup` on, and how often it is sampled.
fn times(keys: &Keys<'_>, warmup: Duration) -> Result<(Duration, Option<Duration>), ScenarioError> {
    keys.required("duration", "duration = \"20s\"")?;
    let duration: Duration = keys.value("duration")?.unwrap_or_default();
    if duration > LONGEST {
        return Err(keys.refuse("duration", format!("a run of more than {LONGEST} is a mistake")));
    }
    if duration <= warmup {
        return Err(keys.refuse("duration", format!("nothing is left to measure after a warm-up of {warmup}")));
    }
    let sample_every: Option<Duration> = keys.value("sample_every")?;
    if let Some(every) = sample_every
        && (every < LEAST_SAMPLE || duration.as_nanos() / every.as_nanos() > MOST_SAMPLES)
    {
        let reason =
            format!("{every} is too short; {LEAST_SAMPLE} or more, and at most {MOST_SAMPLES} samples in a run");
        return Err(keys.refuse("sample_every", reason));
    }
    Ok((duration, sample_every))
}
