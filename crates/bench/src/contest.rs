//! The races and what they must show.

use crate::cell::Cell;
use crate::dumbbell::Dumbbell;
use crate::network::Network;
use crate::race::{Speed, alternate, goodput};
use crate::rivals::Rival;
use crate::verdicts::Verdicts;

/// Instructions for a data packet of the first race.
const INSTRUCTIONS: f64 = 3_000.0;
/// Data packets in a CPU second of senders of today.
const MODERN_PACKETS: f64 = 4e6;
/// Memory for each of many flows, with its links and hosts.
const BYTES_PER_FLOW: f64 = 4096.0;

/// Every race.
pub fn all(verdicts: &mut Verdicts) -> anyhow::Result<()> {
    let fifty = fifty_flows(verdicts)?;
    five_hundred_flows(verdicts, fifty)?;
    one_flow(verdicts)?;
    twenty_thousand_flows(verdicts, fifty)?;
    fast_and_long(verdicts)?;
    for (stations, seconds, ns3_seconds, times_ns2) in [(10, 400, 20, 60.0), (80, 200, 8, 250.0)] {
        cell(verdicts, stations, seconds, ns3_seconds, times_ns2)?;
    }
    aggregated_cell(verdicts)
}

/// The first race, which others are held against.
fn fifty_flows(verdicts: &mut Verdicts) -> anyhow::Result<Speed> {
    verdicts.of("dumbbell: 50 flows, 100 Mbit/s, RTT 20 ms, queue 200");
    let (ours, ns2, ns3) = (Rival::ours()?, Rival::ns2()?, Rival::ns3()?);
    let classic = Dumbbell::new(50, 100, 8, 200, 400);
    let slow = classic.lasting(20);
    let speeds = alternate(
        verdicts,
        &[
            (&ours, "airtcp", classic.clone()),
            (&ns2, "ns-2", classic.clone()),
            (&ns3, "ns-3 (Debian)", slow.clone()),
            (&ours, "airtcp, SACK and RACK", Dumbbell { modern: true, ..classic.clone() }),
            (&ours, "airtcp, checks on", Dumbbell { checks: true, ..classic }),
        ],
    )?;
    let [us, ns2, ns3, modern, checked] = speeds[..] else { unreachable!("five rows") };
    beats(verdicts, "ns-2, data packets per CPU second", packets, us, ns2, 6.0);
    // Over its shorter time ns-3 is held against a run of ours of the same length, for goodput.
    let us_slow = Speed { goodput: goodput(&ours, &slow)?, ..us };
    beats(verdicts, "ns-3, data packets per CPU second", packets, us_slow, ns3, 300.0);
    match us.instructions {
        Some(instructions) => verdicts.at_most("instructions for a data packet", instructions, INSTRUCTIONS),
        None => verdicts.fail("instructions were not counted: valgrind is missing; install it: scripts/setup bench"),
    }
    let modern = modern.packets / 1e6;
    verdicts.at_least("million data packets per CPU second, SACK and RACK", modern, MODERN_PACKETS / 1e6);
    verdicts.within("time with checks over time without", us.packets / checked.packets, 0.0..=1.05);
    verdicts.at_least("memory of ns-2 over ours", ns2.memory as f64 / us.memory as f64, 1.0);
    println!();
    Ok(us)
}

fn five_hundred_flows(verdicts: &mut Verdicts, fifty: Speed) -> anyhow::Result<()> {
    verdicts.of("dumbbell: 500 flows, 1 Gbit/s, RTT 20 ms, queue 2000");
    let (ours, ns2) = (Rival::ours()?, Rival::ns2()?);
    let network = Dumbbell::new(500, 1000, 8, 2000, 40);
    let speeds = alternate(verdicts, &[(&ours, "airtcp", network.clone()), (&ns2, "ns-2", network)])?;
    let [us, ns2] = speeds[..] else { unreachable!("two rows") };
    beats(verdicts, "ns-2, data packets per CPU second", packets, us, ns2, 5.0);
    verdicts.at_least("speed over that of 50 flows", us.packets / fifty.packets, 0.75);
    println!();
    Ok(())
}

fn one_flow(verdicts: &mut Verdicts) -> anyhow::Result<()> {
    verdicts.of("single: 1 flow, 10 Mbit/s, RTT 50 ms, queue 50");
    let (ours, ns2) = (Rival::ours()?, Rival::ns2()?);
    let network = Dumbbell::new(1, 10, 23, 50, 8000);
    let modern = Dumbbell { modern: true, ..network.clone() };
    let speeds = alternate(
        verdicts,
        &[(&ours, "airtcp", network.clone()), (&ns2, "ns-2", network), (&ours, "airtcp, SACK and RACK", modern)],
    )?;
    let [us, ns2, _] = speeds[..] else { unreachable!("three rows") };
    beats(verdicts, "ns-2, data packets per CPU second", packets, us, ns2, 6.0);
    println!();
    Ok(())
}

/// Each flow has hosts and links of its own.
fn twenty_thousand_flows(verdicts: &mut Verdicts, fifty: Speed) -> anyhow::Result<()> {
    verdicts.of("dumbbell: 20,000 flows, 40 Gbit/s, RTT 40 ms, queue 40,000, all begun within a second");
    let ours = Rival::ours()?;
    let network = Dumbbell { spacing_us: 50, ..Dumbbell::new(20_000, 40_000, 18, 40_000, 5) };
    let few = Dumbbell { flows: 1, ..network.clone() };
    let speeds = alternate(verdicts, &[(&ours, "airtcp", network), (&ours, "airtcp, 1 flow", few)])?;
    let [us, few] = speeds[..] else { unreachable!("two rows") };
    let memory = us.memory.saturating_sub(few.memory) as f64 / 20_000.0;
    verdicts.at_most("bytes of memory for each flow", memory, BYTES_PER_FLOW);
    verdicts.at_most("cost of a packet over that of 50 flows", fifty.packets / us.packets, 2.0);
    println!();
    Ok(())
}

fn fast_and_long(verdicts: &mut Verdicts) -> anyhow::Result<()> {
    verdicts.of("dumbbell: 10 flows, 10 Gbit/s, RTT 100 ms, queue of a BDP, SACK, RACK and CUBIC");
    let ours = Rival::ours()?;
    let network = Dumbbell { modern: true, access_mbit: 10_000, ..Dumbbell::new(10, 10_000, 48, 83_333, 30) };
    let speeds = alternate(verdicts, &[(&ours, "airtcp", network)])?;
    let [us] = speeds[..] else { unreachable!("one row") };
    verdicts.at_least("simulated seconds in a CPU second", us.simulated, 0.333);
    verdicts.within("share of the link that is carried", us.goodput / 10_000.0, 0.75..=f64::INFINITY);
    println!();
    Ok(())
}

/// Uploads in a cell, with a server at the access point and one behind it. ns-2 has the first only, and another wait
/// after collisions.
fn cell(verdicts: &mut Verdicts, stations: u64, seconds: u64, ns3_seconds: u64, times_ns2: f64) -> anyhow::Result<()> {
    verdicts.of(&format!("802.11b cell: {stations} uploads at 11 Mbit/s, queues of 500"));
    let (ours, ns2, ns3) = (Rival::ours()?, Rival::ns2()?, Rival::ns3()?);
    let air =
        Cell { stations, queue: 500, seconds, wired: false, aggregated: false, eifs: false, idle: 0, as_tcp: false };
    let [like_ns2, wired] = [Cell { eifs: true, ..air.clone() }, Cell { wired: true, ..air.clone() }];
    let [slow_air, slow_wired] = [&air, &wired].map(|cell| cell.lasting(ns3_seconds));
    let speeds = alternate(
        verdicts,
        &[
            (&ours, "airtcp, EIFS", like_ns2.clone()),
            (&ns2, "ns-2, EIFS", like_ns2),
            (&ours, "airtcp", air.clone()),
            (&ns3, "ns-3 (Debian)", slow_air.clone()),
            (&ours, "airtcp, wired", wired.clone()),
            (&ns3, "ns-3 (Debian), wired", slow_wired.clone()),
            (&ours, "airtcp, 200 idle", Cell { idle: 200, ..air }),
            (&ours, "airtcp, wired, AS-TCP", Cell { as_tcp: true, ..wired }),
        ],
    )?;
    let [us_eifs, ns2, us, ns3, us_wired, ns3_wired, idle, as_tcp] = speeds[..] else { unreachable!("eight rows") };
    let simulated = |speed: &Speed| speed.simulated;
    beats(verdicts, "ns-2, simulated s per CPU s", simulated, us_eifs, ns2, times_ns2);
    for (what, slow, us, ns3) in [("ns-3", &slow_air, us, ns3), ("ns-3, wired", &slow_wired, us_wired, ns3_wired)] {
        let us_slow = Speed { goodput: goodput(&ours, slow)?, ..us };
        beats(verdicts, &format!("{what}, simulated s per CPU s"), simulated, us_slow, ns3, 150.0);
    }
    let idle = idle.simulated / us.simulated;
    verdicts.within("speed with 200 idle stations over that without", idle, 0.9..=f64::INFINITY);
    verdicts.at_least("packets per CPU s with AS-TCP over those without", as_tcp.packets / us_wired.packets, 0.5);
    println!();
    Ok(())
}

/// Uploads in a cell whose frames are aggregated, to a server behind the access point.
pub fn aggregated_cell(verdicts: &mut Verdicts) -> anyhow::Result<()> {
    verdicts.of("802.11n cell: 20 uploads at 65 Mbit/s in aggregates, queues of 500");
    let (ours, ns3) = (Rival::ours()?, Rival::ns3()?);
    let cell = Cell {
        stations: 20,
        queue: 500,
        seconds: 60,
        wired: true,
        aggregated: true,
        eifs: false,
        idle: 0,
        as_tcp: false,
    };
    let slow = cell.lasting(8);
    let speeds = alternate(verdicts, &[(&ours, "airtcp", cell), (&ns3, "ns-3 (Debian)", slow.clone())])?;
    let [us, them] = speeds[..] else { unreachable!("two rows") };
    let us_slow = Speed { goodput: goodput(&ours, &slow)?, ..us };
    beats(verdicts, "ns-3, simulated s per CPU s", |speed| speed.simulated, us_slow, them, 100.0);
    println!();
    Ok(())
}

fn packets(speed: &Speed) -> f64 {
    speed.packets
}

/// Judges how many times faster we are, if both carried the same.
fn beats(verdicts: &mut Verdicts, name: &str, of: impl Fn(&Speed) -> f64, us: Speed, them: Speed, target: f64) {
    if us.is_like(&them) {
        return verdicts.at_least(&format!("x {name}"), of(&us) / of(&them), target);
    }
    verdicts.fail(&format!("goodputs are {:.1} % apart: not the same network as {name}'s", us.apart(&them) * 100.0));
}
