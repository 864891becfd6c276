//! N flows over one link.

use crate::network::{self, CLASSIC, Dialect, Network, link};
use airtcp_core::Duration;
use airtcp_sim::{Flow, Outcome, Topology};

/// A dumbbell and how long it is simulated. The first five are also the arguments of `bench/ns2/dumbbell.tcl` and
/// `bench/ns3/dumbbell.cc`.
#[derive(Clone, Debug, clap::Args)]
pub struct Dumbbell {
    /// Number of flows; each sender and receiver stands behind a link of 1 ms.
    pub flows: u64,
    /// Rate of the link that all share, Mbit/s.
    pub mbit: u64,
    /// Its delay, ms.
    pub delay_ms: u64,
    /// Its queue, packets.
    pub queue: u64,
    /// Simulated seconds.
    pub seconds: u64,
    /// Senders of today, SACK and RACK with timestamps and delayed acknowledgments, instead of NewReno.
    #[arg(long)]
    pub modern: bool,
    /// With the checks that watch every run.
    #[arg(long)]
    pub checks: bool,
    /// Each flow begins so many µs after the one before; the other simulators know no other than this.
    #[arg(long, default_value_t = SPACING_US)]
    pub spacing_us: u64,
    /// Rate of each sender's and receiver's own link, Mbit/s; the other simulators know no other than this.
    #[arg(long, default_value_t = ACCESS_MBIT)]
    pub access_mbit: u64,
}

/// As in `bench/ns2` and `bench/ns3`.
const SPACING_US: u64 = 10_000;
const ACCESS_MBIT: u64 = 1_000;

impl Dumbbell {
    /// Classic senders, without checks.
    pub fn new(flows: u64, mbit: u64, delay_ms: u64, queue: u64, seconds: u64) -> Self {
        let (modern, checks, spacing_us, access_mbit) = (false, false, SPACING_US, ACCESS_MBIT);
        Dumbbell { flows, mbit, delay_ms, queue, seconds, modern, checks, spacing_us, access_mbit }
    }
}

impl Network for Dumbbell {
    const NAME: &'static str = "dumbbell";
    const MODULES: &'static [&'static str] =
        &["applications", "internet", "network", "point-to-point", "traffic-control", "core"];
    const START_UP: u64 = 1;

    fn arguments(&self, dialect: Dialect) -> Vec<String> {
        let Dumbbell { flows, mbit, delay_ms, queue, seconds, modern, checks, spacing_us, access_mbit } = self;
        let (rate, delay) = match dialect {
            Dialect::Ours => (mbit.to_string(), delay_ms.to_string()),
            Dialect::Ns2 => (format!("{mbit}Mb"), format!("{delay_ms}ms")),
            Dialect::Ns3 => (format!("{mbit}Mbps"), format!("{delay_ms}ms")),
        };
        let mut all = vec![flows.to_string(), rate, delay, queue.to_string(), seconds.to_string()];
        if dialect == Dialect::Ours {
            all.extend(modern.then(|| "--modern".to_owned()));
            all.extend(checks.then(|| "--checks".to_owned()));
            all.push(format!("--spacing-us={spacing_us}"));
            all.push(format!("--access-mbit={access_mbit}"));
        }
        all
    }

    fn counted(&self) -> Option<u64> {
        (self.mbit <= 100).then_some(20)
    }

    fn seconds(&self) -> u64 {
        self.seconds
    }

    fn lasting(&self, seconds: u64) -> Self {
        Dumbbell { seconds, ..self.clone() }
    }

    fn run(&self) -> Outcome {
        let mut topology = Topology::new();
        let (left, right) = (topology.node("left"), topology.node("right"));
        let queue = format!("{}packets", self.queue);
        let middle = link(&format!("{}Mbit", self.mbit), &format!("{}ms", self.delay_ms), &queue);
        topology.link("middle", left, right, middle.clone(), middle);
        let access = link(&format!("{}Mbit", self.access_mbit), "1ms", "10000packets");
        let kind = if self.modern { &[][..] } else { &CLASSIC };
        // Where the default of 6 MiB would limit.
        let windows = if self.mbit >= 10_000 { &[("receive_buffer", "512MB")][..] } else { &[] };
        let tcp = network::tcp(&[kind, windows].concat());
        for index in 0..self.flows {
            let from = topology.node(&format!("s{index}"));
            let to = topology.node(&format!("d{index}"));
            topology.link(&format!("s{index}"), from, left, access.clone(), access.clone());
            topology.link(&format!("d{index}"), right, to, access.clone(), access.clone());
            let (name, start) = (format!("f{index}"), Duration::from_micros(self.spacing_us * index));
            topology.flow(Flow { tcp: tcp.clone(), start, ..Flow::new(&name, from, to) });
        }
        network::simulated(&topology, self.seconds, self.checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_of_either_kind_fill_the_link() {
        for modern in [false, true] {
            let network = Dumbbell { modern, checks: true, ..Dumbbell::new(3, 10, 8, 50, 20) };
            let [packets, bytes, events] = network::totals(&network.run());
            // 1448 or 1460 bytes of 1500 arrive.
            let mbit = bytes as f64 * 8.0 / 20.0 / 1e6;
            assert!((9.3..9.74).contains(&mbit) && packets > 16_000 && events > packets, "{mbit} {packets} {events}");
        }
    }
}
