//! The gateways of a live run: one `airtcp gateway` process per node with an element, configured by a gateway file as
//! an operator would write it.

use super::failed;
use super::sites::{self, Site};
use crate::gateway_file;
use crate::own_program::own_program;
use airtcp_core::parameters::Field;
use airtcp_core::{Duration, Gauge, Instant};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::ResolvedScenario;
use airtcp_experiment::world::{Belief, BeliefSample};
use airtcp_linux::gateway::status::{self, Status};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Program, Testbed};
use std::collections::{BTreeMap, BTreeSet};
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
    /// `schemes.repair.a`, as results call it.
    place: String,
    node: String,
    scheme: usize,
    program: Program,
    log: PathBuf,
    has_peer: bool,
}

/// The last status of all gateways of each scheme, with their nodes, in the order of the scenario.
pub(crate) type Counters = Vec<Vec<(String, Status)>>;

/// Repairs by all gateways so far, over time since the start of the run.
pub(crate) type Repairs = Vec<(Duration, u64)>;

/// What gateways said while a run went on.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) repairs: Repairs,
    /// One for each gateway; without samples for one that knows no rate.
    pub(crate) beliefs: Vec<Belief>,
}

impl<'a> Gateways<'a> {
    pub(super) fn start(testbed: &Testbed, cell: &ResolvedScenario, directory: &'a Path) -> Result<Self, NotRun> {
        let mut gateways = Gateways { boxes: Vec::new(), directory, schemes: cell.schemes.len() };
        let mut taken = BTreeSet::new();
        for (index, scheme) in cell.schemes.iter().enumerate() {
            for site in sites::of(testbed, cell, scheme)? {
                if !taken.insert((site.node, site.link)) {
                    let sentence = format!(
                        "scheme '{}' is at node '{}' on link '{}', where another one is: live, an end of a link has one gateway",
                        scheme.name, site.node, site.link
                    );
                    return Err(NotRun::Skipped(sentence));
                }
                let started = gateways.start_box(testbed, cell, index, &site)?;
                gateways.boxes.push(started);
            }
        }
        Ok(gateways)
    }

    /// Starts the box of the scheme with the position `index` at `site`.
    fn start_box(
        &self,
        testbed: &Testbed,
        cell: &ResolvedScenario,
        index: usize,
        site: &Site<'_>,
    ) -> Result<GatewayBox, NotRun> {
        let scheme = &cell.schemes[index];
        let name = format!("box{}", self.boxes.len());
        let (node, has_peer) = (site.node, site.peer.is_some());
        // Nobody else is on the testbed's links, and the simulator's messages have no MAC either.
        let mut text = format!(
            "schema = 1\nscheme = \"{}\"\nlink = \"{}\"\nname = \"{name}\"\ninsecure = true\n",
            scheme.kind, site.link
        );
        let mut put = |key: &str, value: &str| writeln!(text, "{key} = \"{value}\"").expect("writing to a string");
        put("run_directory", &self.directory.display().to_string());
        if let Some(peer) = site.peer {
            put("peer", &format!("{peer}:{PORT}"));
            put("hops", &site.hops.to_string());
        }
        if let Some(direction) = site.direction {
            put("direction", direction);
        }
        for (key, value) in gateway_file::facts_as_text(site.facts) {
            put(key, &value);
        }
        if !site.networks.is_empty() {
            writeln!(text, "networks = [\"{}\"]", site.networks.join("\", \"")).expect("writing to a string");
        }
        writeln!(text, "\n[{}]", scheme.kind).expect("writing to a string");
        for Field { name, value, .. } in scheme.choice.settings.given() {
            // A table, such as a queue, is not quoted.
            let quote = if value.starts_with('{') { "" } else { "\"" };
            writeln!(text, "{name} = {quote}{value}{quote}").expect("writing to a string");
        }
        let file = self.directory.join(format!("{name}.toml"));
        std::fs::write(&file, text).map_err(failed)?;
        let log = self.directory.join(format!("{name}.log"));
        let program = own_program().map_err(failed)?;
        let exec = Exec::new(program).arg("gateway").arg(&file).log(&log);
        let program = testbed.start(node, &exec).map_err(failed)?;
        let place = format!("schemes.{}.{node}", scheme.name);
        Ok(GatewayBox { name, place, node: node.to_owned(), scheme: index, program, log, has_peer })
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

    /// Does `work` and meanwhile asks every gateway at each `every` of the run that began at `origin`.
    pub(crate) fn watch<T: Send>(
        &self,
        every: Duration,
        origin: Instant,
        work: impl FnOnce() -> T,
    ) -> Result<(T, Watched), NotRun> {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let named = |gateway: &GatewayBox| Belief { name: gateway.place.clone(), samples: Vec::new() };
                let mut watched = Watched { repairs: Repairs::new(), beliefs: self.boxes.iter().map(named).collect() };
                let mut next = Duration::ZERO;
                while !self.boxes.is_empty() && !done.load(Ordering::Relaxed) {
                    self.look(origin, &mut watched);
                    next += every;
                    let wait = next.saturating_sub(clock::now().saturating_since(origin));
                    std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
                }
                watched
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            Ok((result, watcher.join().map_err(|_| NotRun::Failed("watching the gateways failed".into()))?))
        })
    }

    /// Asks every gateway once. One that does not answer is left out.
    fn look(&self, origin: Instant, watched: &mut Watched) {
        let at = clock::now().saturating_since(origin);
        let mut repairs = 0;
        for (gateway, belief) in self.boxes.iter().zip(&mut watched.beliefs) {
            let Ok(status) = status::query(self.directory, &gateway.name) else { continue };
            repairs += status.events.get("repairs").copied().unwrap_or(0);
            belief.samples.extend(believed(at, &status.gauges));
        }
        watched.repairs.push((at, repairs));
    }
}

/// What a gateway with these levels believes of its link; `None` if it knows no rate.
fn believed(at: Duration, gauges: &BTreeMap<String, u64>) -> Option<BeliefSample> {
    let level = |gauge: Gauge| gauges.get(gauge.label()).copied();
    Some(BeliefSample {
        at,
        rate_bps: level(Gauge::RATE_BPS)?,
        link_wait: Duration::from_nanos(level(Gauge::LINK_WAIT_NS).unwrap_or(0)),
        queue_bytes: level(Gauge::QUEUE_BYTES).unwrap_or(0),
    })
}

fn is_up(gateway: &GatewayBox, directory: &Path) -> bool {
    match status::query(directory, &gateway.name) {
        Ok(status) => !gateway.has_peer || status.gauges.get("peer_in_reach").is_none_or(|reach| *reach == 1),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_believes_what_its_status_says_and_nothing_without_a_rate() {
        let gauges = |levels: &[(Gauge, u64)]| -> BTreeMap<String, u64> {
            levels.iter().map(|(gauge, level)| (gauge.label().to_owned(), *level)).collect()
        };
        let [at, link_wait] = [200, 3].map(Duration::from_millis);
        let levels = [(Gauge::RATE_BPS, 7_000_000), (Gauge::LINK_WAIT_NS, 3_000_000), (Gauge::QUEUE_BYTES, 4500)];
        let belief = BeliefSample { at, rate_bps: 7_000_000, link_wait, queue_bytes: 4500 };
        assert_eq!(believed(at, &gauges(&levels)), Some(belief));
        assert_eq!(believed(at, &gauges(&levels[1..])), None);
    }
}
