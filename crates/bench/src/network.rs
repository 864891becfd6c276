//! The networks of the race, as airtcp simulates them: N flows over one link.

use airtcp_core::Duration;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_sim::{Flow, RunSettings, Topology};
use airtcp_tcp::Config;

/// A network and how long it is simulated. The first five are also the arguments of `bench/ns2/dumbbell.tcl` and
/// `bench/ns3/dumbbell.cc`.
#[derive(Clone, Debug, clap::Args)]
pub struct Network {
    /// Number of flows; each sender and receiver stands behind a link of 1 Gbit/s and 1 ms.
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
}

/// NewReno with an acknowledgment for each segment, as the other simulators.
const CLASSIC: [(&str, &str); 6] = [
    ("controller", "reno"),
    ("recovery", "newreno"),
    ("sack", "false"),
    ("timestamps", "false"),
    ("delayed_ack_segments", "1"),
    ("slow_start_after_idle", "false"),
];

fn link(rate: &str, delay: &str, queue: &str) -> LinkSettings {
    let mut link = LinkSettings::default();
    for (key, value) in [("rate", rate), ("delay", delay), ("queue", queue)] {
        link.set(key, value).expect("settings of a link");
    }
    link
}

impl Network {
    /// Runs it and prints data packets sent, bytes delivered and events.
    pub fn simulate(&self) {
        let [packets, bytes, events] = self.run();
        println!("{packets} {bytes} {events}");
    }

    fn run(&self) -> [u64; 3] {
        let mut topology = Topology::new();
        let (left, right) = (topology.node("left"), topology.node("right"));
        let queue = format!("{}packets", self.queue);
        let middle = link(&format!("{}Mbit", self.mbit), &format!("{}ms", self.delay_ms), &queue);
        topology.link("middle", left, right, middle.clone(), middle);
        let access = link("1Gbit", "1ms", "10000packets");
        let mut tcp = Config::default();
        for (key, value) in CLASSIC.iter().filter(|_| !self.modern) {
            tcp.set(key, value).expect("a parameter of TCP");
        }
        for index in 0..self.flows {
            let from = topology.node(&format!("s{index}"));
            let to = topology.node(&format!("d{index}"));
            topology.link(&format!("s{index}"), from, left, access.clone(), access.clone());
            topology.link(&format!("d{index}"), right, to, access.clone(), access.clone());
            let start = Duration::from_millis(10 * index);
            topology.flow(Flow {
                name: format!("f{index}"),
                from,
                to,
                tcp: tcp.clone(),
                start,
                size: None,
                ipv6: false,
            });
        }
        let duration = Duration::from_secs(self.seconds);
        let settings = RunSettings {
            duration,
            warmup: Duration::ZERO,
            checks: self.checks,
            series: false,
            ..RunSettings::default()
        };
        let outcome = topology.run(&settings).expect("a valid network");
        let packets: u64 = outcome.flows.iter().map(|flow| flow.segments_sent).sum();
        let bytes: u64 = outcome.flows.iter().map(|flow| flow.total_bytes).sum();
        [packets, bytes, outcome.events]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_of_either_kind_fill_the_link() {
        for modern in [false, true] {
            let network = Network { flows: 3, mbit: 10, delay_ms: 8, queue: 50, seconds: 20, modern, checks: true };
            let [packets, bytes, events] = network.run();
            // 1448 or 1460 bytes of 1500 arrive.
            let mbit = bytes as f64 * 8.0 / 20.0 / 1e6;
            assert!((9.3..9.74).contains(&mbit) && packets > 16_000 && events > packets, "{mbit} {packets} {events}");
        }
    }
}
