//! N uploads in a cell of 802.11b, or of 802.11n with aggregates.

use crate::network::{self, CLASSIC, Dialect, Network, link, set};
use airtcp_core::Duration;
use airtcp_sim::dot11::CellSettings;
use airtcp_sim::{Flow, Outcome, Topology};

/// A cell and how long it is simulated. The first three are also the arguments of `bench/ns2/cell.tcl`; `bench/ns3/cell.cc`
/// takes `wired` and `aggregated`, too.
#[derive(Clone, Debug, clap::Args)]
pub struct Cell {
    /// Number of stations, each with an upload.
    pub stations: u64,
    /// Queue of every interface, packets.
    pub queue: u64,
    /// Simulated seconds.
    pub seconds: u64,
    /// The server is 15 ms behind the access point, not at it.
    #[arg(long)]
    pub wired: bool,
    /// 802.11n at 65 Mbit/s, 5 GHz, instead of 802.11b.
    #[arg(long)]
    pub aggregated: bool,
    /// Who heard a collision waits EIFS, as in ns-2 and not in ns-3.
    #[arg(long)]
    pub eifs: bool,
    /// Stations with nothing to send.
    #[arg(long, default_value_t = 0)]
    pub idle: u64,
    /// Stations acknowledge for the access point.
    #[arg(long)]
    pub as_tcp: bool,
}

impl Network for Cell {
    const NAME: &'static str = "cell";
    const MODULES: &'static [&'static str] =
        &["applications", "internet", "network", "mobility", "point-to-point", "traffic-control", "wifi", "core"];
    const START_UP: u64 = 2;

    fn arguments(&self, dialect: Dialect) -> Vec<String> {
        let Cell { stations, queue, seconds, wired, aggregated, eifs, idle, as_tcp } = self;
        let mut all: Vec<String> = [stations, queue, seconds].map(ToString::to_string).into();
        match dialect {
            Dialect::Ours => {
                all.extend(wired.then(|| "--wired".to_owned()));
                all.extend(aggregated.then(|| "--aggregated".to_owned()));
                all.extend(eifs.then(|| "--eifs".to_owned()));
                all.extend(as_tcp.then(|| "--as-tcp".to_owned()));
                all.push(format!("--idle={idle}"));
            }
            Dialect::Ns2 => {}
            Dialect::Ns3 => all.extend([wired, aggregated].map(|flag| u8::from(*flag).to_string())),
        }
        all
    }

    fn counted(&self) -> Option<u64> {
        None
    }

    fn seconds(&self) -> u64 {
        self.seconds
    }

    fn lasting(&self, seconds: u64) -> Self {
        Cell { seconds, ..self.clone() }
    }

    fn run(&self) -> Outcome {
        let mut topology = Topology::new();
        let ap = topology.node("ap");
        let stations: Vec<_> =
            (0..self.stations + self.idle).map(|index| topology.node(&format!("sta{index}"))).collect();
        let queue = format!("{}packets", self.queue);
        let eifs = self.eifs.to_string();
        let kind = if self.aggregated { ("phy", "n") } else { ("basic_rate", "2Mbit") };
        let settings = [kind, ("queue", &queue), ("ap_queue", &queue), ("eifs", &eifs)];
        let cell = set(CellSettings::default(), &settings);
        let wlan = topology.wlan("wifi", ap, &stations, cell);
        let to = if self.wired {
            let (router, server) = (topology.node("router"), topology.node("server"));
            let [backhaul, net] = ["5ms", "10ms"].map(|delay| link("100Mbit", delay, "1000packets"));
            topology.link("backhaul", ap, router, backhaul.clone(), backhaul);
            topology.link("net", router, server, net.clone(), net);
            server
        } else {
            ap
        };
        if self.as_tcp {
            topology.scheme("as-tcp", wlan, &airtcp_schemes::papers::as_tcp::ENTRY);
        }
        let senders = [
            ("mtu", "1040"),
            ("window_scaling", "false"),
            ("receive_buffer", "20000B"),
            ("min_rto", "6s"),
            ("initial_rto", "6s"),
        ];
        let tcp = network::tcp(&[&CLASSIC[..], &senders].concat());
        for (index, from) in stations.iter().take(self.stations as usize).enumerate() {
            let start = Duration::from_micros(1_000_000 + 500_000 * (index as u64 + 1) / self.stations);
            let name = format!("f{index}");
            topology.flow(Flow { tcp: tcp.clone(), start, ..Flow::new(&name, *from, to) });
        }
        network::simulated(&topology, self.seconds, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_share_a_cell_and_idle_stations_change_nothing() {
        let of = |wired, idle, as_tcp| {
            let (eifs, aggregated) = (false, false);
            let cell = Cell { stations: 5, queue: 500, seconds: 12, wired, aggregated, eifs, idle, as_tcp };
            network::totals(&cell.run())
        };
        for wired in [false, true] {
            let [packets, bytes, events] = of(wired, 0, false);
            let mbit = bytes as f64 * 8.0 / 11.0 / 1e6;
            assert!((3.4..4.0).contains(&mbit) && packets > 4_500 && events > packets, "{mbit} {packets} {events}");
            assert_eq!(of(wired, 100, false), [packets, bytes, events]);
        }
        assert!(of(true, 0, true)[1] > of(true, 0, false)[1] * 5 / 4, "AS-TCP");
    }
}
