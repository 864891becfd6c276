//! What the links of a live scenario did while somebody else's program ran.

use airtcp_core::Duration;
use airtcp_experiment::scenario::ResolvedScenario;
use airtcp_link::LinkRate;
use airtcp_linux::emulator::DirectionReport;
use serde::Serialize;
use std::fmt;

/// Rates over time are means of so long.
const EVERY: Duration = Duration::from_millis(100);

/// All directions of all links.
#[derive(Debug, Serialize)]
pub(crate) struct LinkReport {
    /// Seed of the links' random streams.
    seed: u64,
    /// Time since the links began, ns.
    time_ns: u64,
    /// Length of the spans of `rate_bps`, ns.
    rate_every_ns: u64,
    links: Vec<Direction>,
}

/// One direction of one link.
#[derive(Debug, Serialize)]
struct Direction {
    /// What the link did with packets.
    #[serde(flatten)]
    packets: DirectionReport,
    /// The mean rate of each span, of a link whose rate varies; else its rate, if it has one.
    rate_bps: Vec<u64>,
}

impl LinkReport {
    /// The links of `scenario` with `seed`, `time` after they began; `directions` as the emulator reports them.
    pub(crate) fn new(scenario: &ResolvedScenario, seed: u64, time: Duration, directions: &[DirectionReport]) -> Self {
        let ways = scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        // The emulator reports forward and reverse of each link in the same order.
        let links = ways.zip(directions).map(|(way, report)| Direction::new(&way.rate, seed, time, report)).collect();
        LinkReport { seed, time_ns: time.as_nanos(), rate_every_ns: EVERY.as_nanos(), links }
    }
}

impl Direction {
    fn new(rate: &LinkRate, seed: u64, time: Duration, report: &DirectionReport) -> Self {
        let spans = if rate.is_varying() { time.as_nanos().div_ceil(EVERY.as_nanos()) } else { 1 };
        let rates = rate.means(seed, &report.name, EVERY, spans).unwrap_or_default();
        Direction { packets: report.clone(), rate_bps: rates.iter().map(|rate| rate.bps()).collect() }
    }
}

/// A line for each direction: what came, what left, what was dropped and why, and between which rates.
impl fmt::Display for LinkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Direction { packets: link, rate_bps }) in self.links.iter().enumerate() {
            let end = if index + 1 < self.links.len() { "\n" } else { "" };
            write!(f, "{:<24} {} packets in, {} out", link.name, link.received_packets, link.delivered_packets)?;
            for (reason, count) in link.drops() {
                write!(f, ", {count} {}", reason.label())?;
            }
            for (count, what) in [
                (link.duplicated_packets, "duplicated"),
                (link.reordered_packets, "overtaken"),
                (link.corrupted_packets, "damaged"),
                (link.marked_packets, "marked"),
            ] {
                if count > 0 {
                    write!(f, ", {count} {what}")?;
                }
            }
            let range = rate_bps.iter().min().zip(rate_bps.iter().max());
            if let Some((least, most)) = range.filter(|_| rate_bps.len() > 1) {
                write!(f, "; rate {:.2} to {:.2} Mbit/s", *least as f64 / 1e6, *most as f64 / 1e6)?;
            }
            f.write_str(end)?;
        }
        Ok(())
    }
}
