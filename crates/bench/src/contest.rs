//! The races and what they must show.

use crate::cell::Cell;
use crate::dumbbell::Dumbbell;
use crate::judge;
use crate::network::Network;
use crate::race::{Speed, alternate, goodput};
use crate::rivals::Rival;

/// Every race; returns whether every target was met.
pub fn all() -> anyhow::Result<bool> {
    let many = ("dumbbell: 50 flows, 100 Mbit/s, RTT 20 ms, queue 200", [50, 100, 8, 200, 400], 20, 3.0, Some(100.0));
    let one = ("single: 1 flow, 10 Mbit/s, RTT 50 ms, queue 50", [1, 10, 23, 50, 8000], 120, 1.5, None);
    let mut passed = true;
    for (name, network, ns3_seconds, times_ns2, times_ns3) in [many, one] {
        passed &= dumbbell(name, network, ns3_seconds, times_ns2, times_ns3)?;
    }
    for (stations, seconds, ns3_seconds) in [(10, 400, 20), (80, 200, 8)] {
        passed &= cell(stations, seconds, ns3_seconds)?;
    }
    passed &= aggregated_cell()?;
    Ok(passed)
}

/// One dumbbell: flows, Mbit/s, ms, packets of queue, seconds; the seconds for ns-3, which takes longer; targets.
fn dumbbell(
    name: &str,
    [flows, mbit, delay_ms, queue, seconds]: [u64; 5],
    ns3_seconds: u64,
    times_ns2: f64,
    times_ns3: Option<f64>,
) -> anyhow::Result<bool> {
    println!("{name}");
    let (ours, ns2, ns3) = (Rival::ours()?, Rival::ns2()?, Rival::ns3()?);
    let classic = Dumbbell { flows, mbit, delay_ms, queue, seconds, modern: false, checks: false };
    let slow = classic.lasting(ns3_seconds);
    let speeds = alternate(&[
        (&ours, "airtcp", classic.clone()),
        (&ns2, "ns-2", classic.clone()),
        (&ns3, "ns-3 (Debian)", slow.clone()),
        (&ours, "airtcp, SACK and RACK", Dumbbell { modern: true, ..classic.clone() }),
        (&ours, "airtcp, checks on", Dumbbell { checks: true, ..classic }),
    ])?;
    let [us, ns2, ns3, ..] = speeds[..] else { unreachable!("five rows") };
    let packets = |speed: &Speed| speed.packets;
    let mut passed = beats("ns-2, data packets per CPU second", packets, us, ns2, times_ns2);
    // Over its shorter time ns-3 is held against a run of ours of the same length, for goodput.
    let us_slow = Speed { goodput: goodput(&ours, &slow)?, ..us };
    match times_ns3 {
        Some(times) => passed &= beats("ns-3, data packets per CPU second", packets, us_slow, ns3, times),
        None if !us_slow.is_like(&ns3) => println!("      ns-3's goodput is another: not compared"),
        None => println!("      {:.0} x ns-3", us.packets / ns3.packets),
    }
    passed &= judge("memory of ns-2 over ours", ns2.memory as f64 / us.memory as f64, 1.0);
    println!();
    Ok(passed)
}

/// Uploads in a cell, with a server at the access point and one behind it. ns-2 has the first only, and another wait
/// after collisions.
fn cell(stations: u64, seconds: u64, ns3_seconds: u64) -> anyhow::Result<bool> {
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
    let [us_eifs, ns2, us, ns3, us_wired, ns3_wired, idle, _] = speeds[..] else { unreachable!("eight rows") };
    let simulated = |speed: &Speed| speed.simulated;
    let mut passed = beats("ns-2, simulated s per CPU s", simulated, us_eifs, ns2, 5.0);
    passed &= judge("x ns-2 without a wired part, ours with one", us_wired.simulated / ns2.simulated, 5.0);
    for (what, slow, us, ns3) in [("ns-3", &slow_air, us, ns3), ("ns-3, wired", &slow_wired, us_wired, ns3_wired)] {
        let us_slow = Speed { goodput: goodput(&ours, slow)?, ..us };
        passed &= beats(&format!("{what}, simulated s per CPU s"), simulated, us_slow, ns3, 150.0);
    }
    passed &= judge("speed with 200 idle stations over that without", idle.simulated / us.simulated, 1.0 / 1.1);
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

/// Judges how many times faster we are, if both carried the same.
fn beats(name: &str, of: impl Fn(&Speed) -> f64, us: Speed, them: Speed, target: f64) -> bool {
    if !us.is_like(&them) {
        println!("FAIL  goodputs are {:.1} % apart: not the same network as {name}'s", us.apart(&them) * 100.0);
        return false;
    }
    judge(&format!("x {name}"), of(&us) / of(&them), target)
}
