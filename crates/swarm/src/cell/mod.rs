//! A random 802.11 cell from a seed: physical layer, modulation, aggregates, contention, damage, beacons, and flows both ways.
//!
//! Its damage does not end, so there is no healing. A *calm* cell loses no more than its retries repair, and in it every file
//! arrives in time. In a *wild* one anything is set that the cell takes; what is asked of it is what holds whenever a run ends:
//! conservation, whole streams, bounds, and the same again for the same seed.

mod describe;
mod draw;
pub mod judge;
pub mod shrink;

use crate::scenario::SchemePlan;
use airtcp_core::Duration;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_sim::dot11::{CellSettings, Edca};
use airtcp_sim::{Flow, NodeId, RunSettings, Topology};
use airtcp_tcp::Config;

pub use draw::cell;

/// Keys of a table of a scenario, with their values as text.
pub type Keys = Vec<(String, String)>;

/// A cell, a server behind its access point, and what happens between them.
#[derive(Clone)]
pub struct Cell {
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Progress is asked for.
    pub is_calm: bool,
    /// Number of stations.
    pub stations: usize,
    /// What differs from the defaults.
    pub keys: Keys,
    /// How single stations contend.
    pub edca: Vec<(usize, Keys)>,
    /// Between the access point and the server, both ways.
    pub wire: LinkSettings,
    /// A scheme on the cell.
    pub scheme: Option<SchemePlan>,
    /// Files.
    pub flows: Vec<Upload>,
}

/// A file that travels between two of server (0), access point (1) and stations (2 and more).
#[derive(Clone)]
pub struct Upload {
    /// Sender and receiver.
    pub ends: [usize; 2],
    /// Parameters of both ends.
    pub tcp: Config,
    /// When it connects.
    pub start: Duration,
    /// Bytes of the file.
    pub size: u64,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
}

/// `parameters` with these keys.
///
/// # Errors
/// The sentence about the first that is refused.
fn with<P: Parameters>(mut parameters: P, keys: &Keys) -> Result<P, String> {
    for (key, value) in keys {
        parameters.set(key, &value.as_str().into()).map_err(|error| error.to_string())?;
    }
    Ok(parameters)
}

impl Cell {
    /// The settings that its keys make.
    pub fn settings(&self) -> CellSettings {
        with(CellSettings::default(), &self.keys).expect("keys were drawn that the cell takes")
    }

    /// The network as the simulator takes it.
    pub fn topology(&self) -> Topology {
        let mut topology = Topology::new();
        let [server, ap] = ["server", "ap"].map(|name| topology.node(name));
        let stations: Vec<NodeId> = (0..self.stations).map(|index| topology.node(&format!("sta{index}"))).collect();
        let wlan = topology.wlan("wifi", ap, &stations, self.settings());
        for (station, keys) in &self.edca {
            let edca = with(Edca::default(), keys).expect("keys were drawn that a station takes");
            topology.contend(wlan, stations[*station], edca);
        }
        topology.link("wire", server, ap, self.wire.clone(), self.wire.clone());
        if let Some(scheme) = &self.scheme {
            topology.scheme("scheme", wlan, scheme.choice());
        }
        let nodes: Vec<NodeId> = [server, ap].into_iter().chain(stations).collect();
        for (index, flow) in self.flows.iter().enumerate() {
            topology.flow(Flow {
                tcp: flow.tcp.clone(),
                start: flow.start,
                size: Some(flow.size),
                ipv6: flow.ipv6,
                ..Flow::new(&format!("f{index}"), nodes[flow.ends[0]], nodes[flow.ends[1]])
            });
        }
        topology
    }

    /// How it is run, for so long.
    pub fn run_settings(&self, duration: Duration) -> RunSettings {
        RunSettings { seed: self.seed, duration, warmup: Duration::ZERO, digests: true, ..RunSettings::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use airtcp_sim::dot11::Phy;

    #[test]
    fn every_cell_is_one_that_the_simulator_takes_and_every_kind_is_drawn() {
        let cells: Vec<Cell> = (0..400).map(|seed| cell(seed, &Tables::built_in())).collect();
        for cell in &cells {
            let settings = cell.settings();
            settings.check().unwrap();
            for (_, keys) in &cell.edca {
                settings.check_edca(&with(Edca::default(), keys).unwrap()).unwrap();
            }
        }
        for phy in [Phy::BLong, Phy::BShort, Phy::G, Phy::N, Phy::Ac, Phy::Ax] {
            assert!(cells.iter().filter(|cell| cell.settings().phy == phy).count() > 15, "{phy:?}");
        }
        for key in ["hack", "hand_up", "mcs", "streams", "width", "txop", "block_ack_window", "power_save", "ap_queue"]
        {
            let drawn = cells.iter().filter(|cell| cell.keys.iter().any(|(drawn, _)| drawn == key));
            assert!(drawn.count() > 20, "{key}");
        }
        assert!(cells.iter().any(|cell| cell.scheme.is_some()) && cells.iter().any(|cell| !cell.edca.is_empty()));
    }

    #[test]
    fn the_same_seed_draws_the_same_cell() {
        let text = |seed| cell(seed, &Tables::built_in()).to_string();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
