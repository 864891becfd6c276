//! The race: each network, each rival, in turns.

use crate::judge;
use crate::measure::{self, Cost};
use crate::network::Network;
use crate::rivals::Rival;

/// A race and what it must show.
struct Contest {
    name: &'static str,
    network: Network,
    /// Simulated seconds for ns-3, which takes longer.
    ns3_seconds: u64,
    times_ns2: f64,
    times_ns3: Option<f64>,
}

const ROUNDS: usize = 5;
/// Simulated seconds of the run that is subtracted: everything is built and has begun.
const START_UP: u64 = 1;
/// Simulated seconds in which instructions are counted.
const COUNTED: u64 = 20;
/// Goodputs further apart than this are of different networks.
const SAME_GOODPUT: f64 = 0.05;

fn contests() -> [Contest; 2] {
    let network = |flows, mbit, delay_ms, queue, seconds| Network {
        flows,
        mbit,
        delay_ms,
        queue,
        seconds,
        modern: false,
        checks: false,
    };
    [
        Contest {
            name: "dumbbell: 50 flows, 100 Mbit/s, RTT 20 ms, queue 200",
            network: network(50, 100, 8, 200, 400),
            ns3_seconds: 20,
            times_ns2: 3.0,
            times_ns3: Some(100.0),
        },
        Contest {
            name: "single: 1 flow, 10 Mbit/s, RTT 50 ms, queue 50",
            network: network(1, 10, 23, 50, 8000),
            ns3_seconds: 120,
            times_ns2: 1.5,
            times_ns3: None,
        },
    ]
}

/// What a rival costs, beyond its start.
struct Speed {
    packets_per_cpu_second: f64,
    events_per_cpu_second: Option<f64>,
    simulated_per_cpu_second: f64,
    instructions_per_packet: Option<f64>,
    memory: u64,
    goodput: f64,
}

/// Runs everything; returns whether every target was met.
pub fn all() -> anyhow::Result<bool> {
    let (ours, ns2, ns3) = (Rival::ours()?, Rival::ns2()?, Rival::ns3()?);
    let mut passed = true;
    for contest in contests() {
        println!("{}", contest.name);
        println!(
            "  {:<22} {:>14} {:>12} {:>12} {:>14} {:>10} {:>14}",
            "", "packets/CPU s", "events/CPU s", "sim s/CPU s", "instr./packet", "MiB", "goodput Mbit/s"
        );
        let classic = &contest.network;
        let slow = Network { seconds: contest.ns3_seconds, ..classic.clone() };
        let modern = Network { modern: true, ..classic.clone() };
        let watched = Network { checks: true, ..classic.clone() };
        let speeds = alternate(&[
            (&ours, "airtcp", classic),
            (&ns2, "ns-2", classic),
            (&ns3, "ns-3 (Debian)", &slow),
            (&ours, "airtcp, SACK and RACK", &modern),
            (&ours, "airtcp, checks on", &watched),
        ])?;
        let [us, ns2, ns3, ..] = &speeds[..] else { unreachable!("five rows") };
        passed &= beats("ns-2", us, ns2, contest.times_ns2);
        // Over its shorter time ns-3 is held against a run of ours of the same length, for goodput.
        let same_length = measure::run(ours.program(), &ours.arguments(&slow))?;
        let us_slow = Speed { goodput: goodput(&same_length, &slow), ..*us };
        match contest.times_ns3 {
            Some(times) => passed &= beats("ns-3", &us_slow, ns3, times),
            None if apart(&us_slow, ns3) > SAME_GOODPUT => println!("      ns-3's goodput is another: not compared"),
            None => println!("      {:.0} x ns-3", us.packets_per_cpu_second / ns3.packets_per_cpu_second),
        }
        passed &= judge("memory of ns-2 over ours", ns2.memory as f64 / us.memory as f64, 1.0);
        println!();
    }
    Ok(passed)
}

fn beats(name: &str, us: &Speed, them: &Speed, target: f64) -> bool {
    let apart = apart(us, them);
    if apart > SAME_GOODPUT {
        println!("FAIL  goodputs are {:.1} % apart: not the same network as {name}'s", apart * 100.0);
        return false;
    }
    judge(
        &format!("x {name}, data packets per CPU second"),
        us.packets_per_cpu_second / them.packets_per_cpu_second,
        target,
    )
}

/// How far the goodputs are from each other.
fn apart(us: &Speed, them: &Speed) -> f64 {
    (us.goodput / them.goodput - 1.0).abs()
}

/// Each row measured [`ROUNDS`] times, in turns; the fastest of each, since whatever else a machine does only adds.
fn alternate(rows: &[(&Rival, &str, &Network)]) -> anyhow::Result<Vec<Speed>> {
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for (row, costs) in rows.iter().zip(&mut costs) {
            let (rival, _, network) = row;
            let short = Network { seconds: START_UP, ..(*network).clone() };
            let start = measure::run(rival.program(), &rival.arguments(&short))?;
            let whole = measure::run(rival.program(), &rival.arguments(network))?;
            costs.push(Cost {
                cpu: whole.cpu - start.cpu,
                packets: whole.packets - start.packets,
                events: whole.events.zip(start.events).map(|(whole, start)| whole - start),
                ..whole
            });
        }
    }
    rows.iter().zip(costs).map(|((rival, name, network), costs)| Ok(row(rival, name, network, costs))).collect()
}

fn row(rival: &Rival, name: &str, network: &Network, mut costs: Vec<Cost>) -> Speed {
    costs.sort_by(|one, other| one.cpu.total_cmp(&other.cpu));
    let cost = costs[0];
    let speed = Speed {
        packets_per_cpu_second: cost.packets / cost.cpu,
        events_per_cpu_second: cost.events.map(|events| events / cost.cpu),
        simulated_per_cpu_second: (network.seconds - START_UP) as f64 / cost.cpu,
        instructions_per_packet: instructions_per_packet(rival, network),
        memory: cost.memory,
        goodput: goodput(&cost, network),
    };
    let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    println!(
        "  {name:<22} {:>14.0} {:>12} {:>12.0} {:>14} {:>10.1} {:>14.2}",
        speed.packets_per_cpu_second,
        optional(speed.events_per_cpu_second),
        speed.simulated_per_cpu_second,
        optional(speed.instructions_per_packet),
        speed.memory as f64 / (1 << 20) as f64,
        speed.goodput
    );
    speed
}

/// Mbit/s over the whole run.
fn goodput(cost: &Cost, network: &Network) -> f64 {
    cost.bytes * 8.0 / 1e6 / network.seconds as f64
}

fn instructions_per_packet(rival: &Rival, network: &Network) -> Option<f64> {
    let count = |seconds| {
        let network = Network { seconds, ..network.clone() };
        let arguments = rival.arguments(&network);
        let cost = measure::run(rival.program(), &arguments).ok()?;
        Some((measure::instructions(rival.program(), &arguments)?, cost.packets))
    };
    let seconds = if rival.name == "ns-3" { START_UP + 1 } else { COUNTED };
    let (few, fewer) = (count(seconds)?, count(START_UP)?);
    Some((few.0 - fewer.0) / (few.1 - fewer.1))
}
