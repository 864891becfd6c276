//! A cell of stations that upload to a server behind the access point, or download from it.

use super::{bulk, cell_settings, link, tcp};
use airtcp_core::Duration;
use airtcp_sim::dot11::CellSettings;
use airtcp_sim::{Flow, LinkId, Outcome, RunSettings, Topology, WlanId};

/// A cell with as many uploads, or downloads, as stations.
pub struct Cell {
    pub stations: usize,
    pub cell: CellSettings,
    pub wire: &'static [(&'static str, &'static str)],
    pub tcp: &'static [(&'static str, &'static str)],
    pub size: Option<u64>,
    pub downloads: bool,
    pub seconds: u64,
}

impl Cell {
    pub fn of(stations: usize, settings: &[(&str, &str)]) -> Cell {
        Cell {
            stations,
            cell: cell_settings(settings),
            wire: &[("rate", "100Mbit"), ("delay", "15ms")],
            tcp: &[],
            size: None,
            downloads: false,
            seconds: 30,
        }
    }

    pub fn topology(&self) -> (Topology, WlanId, LinkId) {
        let mut topology = Topology::new();
        let (ap, router, server) = (topology.node("ap"), topology.node("router"), topology.node("server"));
        let nodes: Vec<_> = (1..=self.stations).map(|number| topology.node(&format!("sta{number}"))).collect();
        let wlan = topology.wlan("wifi", ap, &nodes, self.cell.clone());
        let near = link(&[("rate", "100Mbit"), ("delay", "1ms"), ("queue", "1000packets")]);
        let backhaul = topology.link("backhaul", router, ap, near.clone(), near);
        let wire = link(self.wire);
        topology.link("wire", router, server, wire.clone(), wire);
        for (index, node) in nodes.iter().enumerate() {
            let start = Duration::from_millis(37 * index as u64);
            let (kind, from, to) = if self.downloads { ("download", server, *node) } else { ("upload", *node, server) };
            let name = format!("{kind}{index}");
            topology.flow(Flow { size: self.size, start, ..bulk(&name, from, to, tcp(self.tcp)) });
        }
        (topology, wlan, backhaul)
    }

    /// Runs it after `schemes` were placed.
    pub fn run(&self, schemes: impl FnOnce(&mut Topology, WlanId, LinkId)) -> Outcome {
        let (mut topology, wlan, backhaul) = self.topology();
        schemes(&mut topology, wlan, backhaul);
        let settings = RunSettings {
            duration: Duration::from_secs(self.seconds),
            warmup: Duration::from_secs(5),
            digests: self.size.is_some(),
            ..Default::default()
        };
        let outcome = topology.run(&settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        outcome
    }

    pub fn plain(&self) -> Outcome {
        self.run(|_, _, _| {})
    }
}
