//! One race: rows measured in turns, and what they say of each other.

use crate::measure::{self, Cost};
use crate::network::Network;
use crate::rivals::Rival;
use crate::verdicts::Verdicts;

const ROUNDS: usize = 5;
/// Goodputs further apart than this are of different networks.
const SAME_GOODPUT: f64 = 0.05;

/// A row: who simulates, its name in the table, and what.
pub type Row<'a, N> = (&'a Rival<N>, &'a str, N);

/// What a rival costs, beyond its start.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// Data packets that senders sent in a CPU second.
    pub packets: f64,
    /// Simulated seconds in a CPU second.
    pub simulated: f64,
    /// Most memory, bytes.
    pub memory: u64,
    /// Mbit/s.
    pub goodput: f64,
    /// Instructions for a data packet, where they were counted.
    pub instructions: Option<f64>,
    /// CPU time of the median run over that of the fastest: 1 on a quiet machine.
    pub spread: f64,
}

impl Speed {
    /// Whether both carried the same.
    pub fn is_like(&self, other: &Speed) -> bool {
        self.apart(other) <= SAME_GOODPUT
    }

    /// How far the goodputs are from each other, as a share.
    pub fn apart(&self, other: &Speed) -> f64 {
        (self.goodput / other.goodput - 1.0).abs()
    }
}

/// Each row measured several times, in turns; the fastest of each, since whatever else a machine does only adds. How much it added is
/// noted.
pub fn alternate<N: Network>(verdicts: &mut Verdicts, rows: &[Row<'_, N>]) -> anyhow::Result<Vec<Speed>> {
    println!(
        "  {:<24} {:>14} {:>12} {:>12} {:>14} {:>10} {:>14} {:>8}",
        "", "packets/CPU s", "events/CPU s", "sim s/CPU s", "instr./packet", "MiB", "goodput Mbit/s", "spread"
    );
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((rival, _, network), costs) in rows.iter().zip(&mut costs) {
            costs.push(cost(rival, network)?);
        }
    }
    let speeds: Vec<Speed> = rows.iter().zip(costs).map(|(row, costs)| print(row, costs)).collect();
    speeds.iter().for_each(|speed| verdicts.note_spread(speed.spread));
    Ok(speeds)
}

/// Mbit/s that a rival's network carries, for a comparison with one of the same length.
pub fn goodput<N: Network>(rival: &Rival<N>, network: &N) -> anyhow::Result<f64> {
    Ok(mbit(&cost(rival, network)?, network))
}

/// What a run costs beyond its start.
fn cost<N: Network>(rival: &Rival<N>, network: &N) -> anyhow::Result<Cost> {
    let start = measure::run(rival.program(), &rival.arguments(&network.lasting(N::START_UP)))?;
    let whole = measure::run(rival.program(), &rival.arguments(network))?;
    Ok(Cost {
        cpu: whole.cpu - start.cpu,
        packets: whole.packets - start.packets,
        bytes: whole.bytes - start.bytes,
        events: whole.events.zip(start.events).map(|(whole, start)| whole - start),
        ..whole
    })
}

fn mbit<N: Network>(cost: &Cost, network: &N) -> f64 {
    cost.bytes * 8.0 / 1e6 / (network.seconds() - N::START_UP) as f64
}

fn print<N: Network>((rival, name, network): &Row<'_, N>, mut costs: Vec<Cost>) -> Speed {
    costs.sort_by(|one, other| one.cpu.total_cmp(&other.cpu));
    let cost = costs[0];
    let speed = Speed {
        packets: cost.packets / cost.cpu,
        simulated: (network.seconds() - N::START_UP) as f64 / cost.cpu,
        memory: cost.memory,
        goodput: mbit(&cost, network),
        instructions: instructions_per_packet(rival, network),
        spread: costs[costs.len() / 2].cpu / cost.cpu,
    };
    let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    println!(
        "  {name:<24} {:>14.0} {:>12} {:>12.0} {:>14} {:>10.1} {:>14.2} {:>8.2}",
        speed.packets,
        optional(cost.events.map(|events| events / cost.cpu)),
        speed.simulated,
        optional(speed.instructions),
        speed.memory as f64 / (1 << 20) as f64,
        speed.goodput,
        speed.spread
    );
    speed
}

fn instructions_per_packet<N: Network>(rival: &Rival<N>, network: &N) -> Option<f64> {
    let count = |seconds| {
        let arguments = rival.arguments(&network.lasting(seconds));
        let cost = measure::run(rival.program(), &arguments).ok()?;
        Some((measure::instructions(rival.program(), &arguments)?, cost.packets))
    };
    let counted = network.counted()?;
    let seconds = if rival.is_slow() { N::START_UP + 1 } else { counted };
    let (few, fewer) = (count(seconds)?, count(N::START_UP)?);
    Some((few.0 - fewer.0) / (few.1 - fewer.1))
}
