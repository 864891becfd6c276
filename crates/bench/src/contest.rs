//! The races and what they must show.

use crate::cell::Cell;
use crate::dumbbell::Dumbbell;
use crate::network::Network;
use crate::race::{Speed, alternate, goodput};
use crate::rivals::Rival;
use crate::{judge, judge_at_most, verdict};

/// Instructions for a data packet of the first race.
const INSTRUCTIONS: f64 = 3_000.0;
/// Data packets in a CPU second of senders of today.
const MODERN_PACKETS: f64 = 4e6;
/// Memory for each of many flows, with its links and hosts.
const BYTES_PER_FLOW: f64 = 4096.0;

/// Every race; returns whether every target was met.
pub fn all() -> anyhow::Result<bool> {
    let (mut passed, fifty) = fifty_flows()?;
    passed &= five_hundred_flows(fifty)?;
    passed &= one_flow()?;
    passed &= twenty_thousand_flows(fifty)?;
    passed &= fast_and_long()?;
    for (stations, seconds, ns3_seconds, times_ns2) in [(10, 400, 20, 60.0), (80, 200, 8, 250.0)] {
        passed &= cell(stations, seconds, ns3_seconds, times_ns2)?;
    }
    passed &= aggregated_cell()?;
    Ok(passed)
}

/// The first race, which others are held against.
fn fifty_flows() -> anyhow::Result<(bool, Speed)> {
    println!("dumbbell: 50 flows, 100 Mbit/s, RTT 20 ms, queue 200");
    let (ours, ns2, ns3) = (Rival::ours()?, Rival::ns2()?, Rival::ns3()?);
    let classic = Dumbbell::new(50, 100, 8, 200, 400);
    let slow = classic.lasting(20);
    let speeds = alternate(&[
        (&ours, "airtcp", classic.clone()),
        (&ns2, "ns-2", classic.clone()),
        (&ns3, "ns-3 (Debian)", slow.clone()),
        (&ours, "airtcp, SACK and RACK", Dumbbell { modern: true, ..classic.clone() }),
        (&ours, "airtcp, checks on", Dumbbell { checks: true, ..classic }),
    ])?;
    let [us, ns2, ns3, modern, checked] = speeds[..] else { unreachable!("five rows") };
    let mut passed = beats("ns-2, data packets per CPU second", packets, us, ns2, 6.0);
    // Over its shorter time ns-3 is held against a run of ours of the same length, for goodput.
    let us_slow = Speed { goodput: goodput(&ours, &slow)?, ..us };
    passed &= beats("ns-3, data packets per CPU second", packets, us_slow, ns3, 300.0);
    if let Some(instructions) = us.instructions {
        passed &= judge_at_most("instructions for a data packet", instructions, INSTRUCTIONS);
    }
    passed &= judge("million data packets per CPU second, SACK and RACK", modern.packets / 1e6, MODERN_PACKETS / 1e6);
    let checks = us.packets / checked.packets;
    passed &= verdict("time with checks over time without", checks, 1.05, checks <= 1.05);
    passed &= judge("memory of ns-2 over ours", ns2.memory as f64 / us.memory as f64, 1.0);
    println!();
    Ok((passed, us))
}

fn five_hundred_flows(fifty: Speed) -> anyhow::Result<bool> {
    println!("dumbbell: 500 flows, 1 Gbit/s, RTT 20 ms, queue 2000");
    let (ours, ns2) = (Rival::ours()?, Rival::ns2()?);
    let network = Dumbbell::new(500, 1000, 8, 2000, 40);
    let speeds = alternate(&[(&ours, "airtcp", network.clone()), (&ns2, "ns-2", network)])?;
    let [us, ns2] = speeds[..] else { unreachable!("two rows") };
    let passed = beats("ns-2, data packets per CPU second", packets, us, ns2, 5.0)
        & judge("speed over that of 50 flows", us.packets / fifty.packets, 0.75);
    println!();
    Ok(passed)
}

fn one_flow() -> anyhow::Result<bool> {
    println!("single: 1 flow, 10 Mbit/s, RTT 50 ms, queue 50");
    let (ours, ns2) = (Rival::ours()?, Rival::ns2()?);
    let network = Dumbbell::new(1, 10, 23, 50, 8000);
    let modern = Dumbbell { modern: true, ..network.clone() };
    let speeds = alternate(&[
        (&ours, "airtcp", network.clone()),
        (&ns2, "ns-2", network),
        (&ours, "airtcp, SACK and RACK", modern),
    ])?;
    let [us, ns2, _] = speeds[..] else { unreachable!("three rows") };
    let passed = beats("ns-2, data packets per CPU second", packets, us, ns2, 6.0);
    println!();
    Ok(passed)
}

/// Each flow has hosts and links of its own.
fn twenty_thousand_flows(fifty: Speed) -> anyhow::Result<bool> {
    println!("dumbbell: 20,000 flows, 40 Gbit/s, RTT 40 ms, queue 40,000, all begun within a second");
    let ours = Rival::ours()?;
    let network = Dumbbell { spacing_us: 50, ..Dumbbell::new(20_000, 40_000, 18, 40_000, 5) };
    let few = Dumbbell { flows: 1, ..network.clone() };
    let speeds = alternate(&[(&ours, "airtcp", network), (&ours, "airtcp, 1 flow", few)])?;
    let [us, few] = speeds[..] else { unreachable!("two rows") };
    let memory = us.memory.saturating_sub(few.memory) as f64 / 20_000.0;
    let passed = judge_at_most("bytes of memory for each flow", memory, BYTES_PER_FLOW)
        & judge_at_most("cost of a packet over that of 50 flows", fifty.packets / us.packets, 2.0);
    println!();
    Ok(passed)
}

fn fast_and_long() -> anyhow::Result<bool> {
    println!("dumbbell: 10 flows, 10 Gbit/s, RTT 100 ms, queue of a BDP, SACK, RACK and CUBIC");
    let ours = Rival::ours()?;
    let network = Dumbbell { modern: true, access_mbit: 10_000, ..Dumbbell::new(10, 10_000, 48, 83_333, 30) };
    let speeds = alternate(&[(&ours, "airtcp", network)])?;
    let [us] = speeds[..] else { unreachable!("one row") };
    let passed = judge("simulated seconds in a CPU second", us.simulated, 1.0 / 3.0)
        & judge("share of the link that is carried", us.goodput / 10_000.0, 0.75);
    println!();
    Ok(passed)
}

/// Uploads in a cell, with a server at the access point and one behind it. ns-2 has the first only, and another wait
/// after collisions.
fn cell(stations: u64, seconds: u64, ns3_seconds: u64, times_ns2: f64) -> anyhow::Result<bool> {
    println!("802.11b cell: {stations} uploads at 11 Mbit/s, queues of 500");
    let (ours, ns2, ns3) = (Rival::ours()?, Rival::ns2()?, Rival::ns3()?);
    let air =
        Cell { stations, queue: 500, seconds, wired: false, aggregated: false, eifs: false, idle: 0, as_tcp: false };
    let [like_ns2, wired] = [Cell { eifs: true, ..air.clone() }, Cell { wired: true, ..air.clone() }];
    let [slow_air, slow_wired] = [&air, &wired].map(|cell| cell.lasting(ns3_seconds));
    let speeds = alternate(&[
        (&ours, "airtcp, EIFS", like_ns2.clone()),
        (&ns2, "ns-2, EIFS", like_ns2),
        (&ours, "airtcp", air.clone()),
        (&ns3, "ns-3 (Debian)", slow_air.clone()),
        (&ours, "airtcp, wired", wired.clone()),
        (&ns3, "ns-3 (Debian), wired", slow_wired.clone()),
        (&ours, "airtcp, 200 idle", Cell { idle: 200, ..air }),
        (&ours, "airtcp, wired, AS-TCP", Cell { as_tcp: true, ..wired }),
    ])?;
    let [us_eifs, ns2, us, ns3, us_wired, ns3_wired, idle, as_tcp] = speeds[..] else { unreachable!("eight rows") };
    let simulated = |speed: &Speed| speed.simulated;
    let mut passed = beats("ns-2, simulated s per CPU s", simulated, us_eifs, ns2, times_ns2);
    for (what, slow, us, ns3) in [("ns-3", &slow_air, us, ns3), ("ns-3, wired", &slow_wired, us_wired, ns3_wired)] {
        let us_slow = Speed { goodput: goodput(&ours, slow)?, ..us };
        passed &= beats(&format!("{what}, simulated s per CPU s"), simulated, us_slow, ns3, 150.0);
    }
    let idle = idle.simulated / us.simulated;
    passed &= verdict("speed with 200 idle stations over that without", idle, 0.9, idle >= 0.9);
    passed &= judge("packets per CPU s with AS-TCP over those without", as_tcp.packets / us_wired.packets, 0.5);
    println!();
    Ok(passed)
}

/// Uploads in a cell whose frames are aggregated, to a server behind the access point.
pub fn aggregated_cell() -> anyhow::Result<bool> {
    println!("802.11n cell: 20 uploads at 65 Mbit/s in aggregates, queues of 500");
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
    let speeds = alternate(&[(&ours, "airtcp", cell), (&ns3, "ns-3 (Debian)", slow.clone())])?;
    let [us, them] = speeds[..] else { unreachable!("two rows") };
    let us_slow = Speed { goodput: goodput(&ours, &slow)?, ..us };
    let passed = beats("ns-3, simulated s per CPU s", |speed| speed.simulated, us_slow, them, 100.0);
    println!();
    Ok(passed)
}

fn packets(speed: &Speed) -> f64 {
    speed.packets
}

/// Judges how many times faster we are, if both carried the same.
fn beats(name: &str, of: impl Fn(&Speed) -> f64, us: Speed, them: Speed, target: f64) -> bool {
    if !us.is_like(&them) {
        println!("FAIL  goodputs are {:.1} % apart: not the same network as {name}'s", us.apart(&them) * 100.0);
        return false;
    }
    judge(&format!("x {name}"), of(&us) / of(&them), target)
}
