//! The gateways of a live run: one `airtcp gateway` process per node with an element, configured by a gateway file as
//! an operator would write it.

use super::failed;
use crate::gateway_file;
use airtcp_core::parameters::Field;
use airtcp_core::{ByteSize, Duration};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::{LinkSpec, On, ResolvedScenario};
use airtcp_link::LinkSettings;
use airtcp_linux::gateway::status::{self, Status};
use airtcp_linux::testbed::{Exec, Family, Program, Testbed};
use airtcp_schemes::{LinkFacts, Placement};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Port of control messages.
const PORT: u16 = 4791;
/// How long gateways may take until each has heard of the other.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const POLL: std::time::Duration = std::time::Duration::from_millis(20);

/// Running gateways. Dropping them ends them.
pub(crate) struct Gateways<'a> {
    boxes: Vec<GatewayBox>,
    directory: &'a Path,
    /// Position in the scenario of the scheme that each gateway runs.
    schemes: usize,
}

struct GatewayBox {
    name: String,
    node: String,
    scheme: usize,
    program: Program,
    log: PathBuf,
    has_peer: bool,
}

/// The last status of all gateways of each scheme, with their nodes, in the order of the scenario.
pub(crate) type Counters = Vec<Vec<(String, Status)>>;

/// Repairs by all gateways so far, over time since the start of the watch.
pub(crate) type Repairs = Vec<(Duration, u64)>;

impl<'a> Gateways<'a> {
    pub(super) fn start(testbed: &Testbed, cell: &ResolvedScenario, directory: &'a Path) -> Result<Self, NotRun> {
        let mut gateways = Gateways { boxes: Vec::new(), directory, schemes: cell.schemes.len() };
        for (index, scheme) in cell.schemes.iter().enumerate() {
            let on = match scheme.on {
                On::Link(link) => link,
                // Scenarios with cells are not run live.
                On::Wlan(_) => continue,
                On::Path(..) => {
                    let sentence = format!(
                        "scheme '{}' works along a path: '{}' runs in the simulator only",
                        scheme.name, scheme.kind
                    );
                    return Err(NotRun::Skipped(sentence));
                }
            };
            let link = &cell.links[on];
            let ends: &[usize] = if scheme.choice.entry.placement == Placement::BothEnds { &[0, 1] } else { &[0] };
            for &end in ends {
                let node = link.between[end];
                if cell.is_host(node) {
                    let sentence = format!(
                        "scheme '{}' is on link '{}' at host '{}'; a live gateway runs on a router; put a node between the host and the link",
                        scheme.name, link.name, cell.nodes[node]
                    );
                    return Err(NotRun::Skipped(sentence));
                }
                let started = gateways.start_box(testbed, cell, index, link, end)?;
                gateways.boxes.push(started);
            }
        }
        Ok(gateways)
    }

    /// Starts the box of the scheme with the position `index` at the `end` of `link`.
    fn start_box(
        &self,
        testbed: &Testbed,
        cell: &ResolvedScenario,
        index: usize,
        link: &LinkSpec,
        end: usize,
    ) -> Result<GatewayBox, NotRun> {
        let scheme = &cell.schemes[index];
        let name = format!("box{}", self.boxes.len());
        let [node, other] = [end, 1 - end].map(|end| cell.nodes[link.between[end]].as_str());
        let has_peer = scheme.choice.entry.placement == Placement::BothEnds;
        let peer = testbed.link_address(&link.name, other, Family::V4).filter(|_| has_peer);
        let (out, back) = if end == 0 { (&link.forward, &link.reverse) } else { (&link.reverse, &link.forward) };
        // Nobody else is on the testbed's links, and the simulator's messages have no MAC either.
        let mut text = format!(
            "schema = 1\nscheme = \"{}\"\nlink = \"{}\"\nname = \"{name}\"\ninsecure = true\n",
            scheme.kind, link.name
        );
        let mut put = |key: &str, value: &str| writeln!(text, "{key} = \"{value}\"").expect("writing to a string");
        put("run_directory", &self.directory.display().to_string());
        if let Some(peer) = peer {
            put("peer", &format!("{peer}:{PORT}"));
        }
        let facts = facts(out, back);
        for (key, value) in gateway_file::facts_as_text(facts) {
            put(key, &value);
        }
        writeln!(text, "\n[{}]", scheme.kind).expect("writing to a string");
        for Field { name, value, .. } in scheme.choice.settings.given() {
            writeln!(text, "{name} = \"{value}\"").expect("writing to a string");
        }
        let file = self.directory.join(format!("{name}.toml"));
        std::fs::write(&file, text).map_err(failed)?;
        let log = self.directory.join(format!("{name}.log"));
        let program = std::env::current_exe().map_err(failed)?;
        let exec = Exec::new(program).arg("gateway").arg(&file).log(&log);
        let program = testbed.start(node, &exec).map_err(failed)?;
        Ok(GatewayBox { name, node: node.to_owned(), scheme: index, program, log, has_peer })
    }

    /// Waits until every gateway works and has heard from its peer.
    pub(crate) fn wait_until_up(&mut self) -> Result<(), NotRun> {
        for gateway in &mut self.boxes {
            let mut waited = std::time::Duration::ZERO;
            while !is_up(gateway, self.directory) {
                let ended = gateway.program.status().map_err(failed)?.is_some();
                if ended || waited >= PATIENCE {
                    let log = std::fs::read_to_string(&gateway.log).unwrap_or_default();
                    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
                    let what = if ended { "ended" } else { "is not up after 10 s" };
                    return Err(NotRun::Failed(format!("gateway {} {what}: {last}", gateway.name)));
                }
                std::thread::sleep(POLL);
                waited += POLL;
            }
        }
        Ok(())
    }

    /// Asks every gateway.
    pub(crate) fn counters(&self) -> Result<Counters, NotRun> {
        let mut counters: Counters = vec![Vec::new(); self.schemes];
        for gateway in &self.boxes {
            let status = status::query(self.directory, &gateway.name).map_err(failed)?;
            counters[gateway.scheme].push((gateway.node.clone(), status));
        }
        Ok(counters)
    }

    /// Does `work` and meanwhile notes the repairs about each `every`.
    pub(crate) fn watch<T: Send>(&self, every: Duration, work: impl FnOnce() -> T) -> Result<(T, Repairs), NotRun> {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut repairs = Repairs::new();
                let mut at = Duration::ZERO;
                while !self.boxes.is_empty() && !done.load(Ordering::Relaxed) {
                    let counts = self.boxes.iter().filter_map(|gateway| {
                        let status = status::query(self.directory, &gateway.name).ok()?;
                        status.events.get("repairs").copied()
                    });
                    repairs.push((at, counts.sum()));
                    std::thread::sleep(std::time::Duration::from_nanos(every.as_nanos()));
                    at += every;
                }
                repairs
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            Ok((result, watcher.join().map_err(|_| NotRun::Failed("watching the gateways failed".into()))?))
        })
    }
}

fn is_up(gateway: &GatewayBox, directory: &Path) -> bool {
    match status::query(directory, &gateway.name) {
        Ok(status) => !gateway.has_peer || status.gauges.get("peer_in_reach").is_none_or(|reach| *reach == 1),
        Err(_) => false,
    }
}

/// The facts about its link that the simulator gives an element.
fn facts(out: &LinkSettings, back: &LinkSettings) -> LinkFacts {
    let queue = out.queue.limit();
    LinkFacts {
        rate: out.rate.constant(),
        round_trip: Some(out.delay.nominal() + back.delay.nominal()),
        queue: Some(ByteSize(queue.bytes(out.mtu))),
        queue_packets: queue.packets(),
        mtu: Some(out.mtu),
        addresses: None,
    }
}
