//! Random operations on the elements of one scheme.

use super::rig::{Place, Rig, step};
use super::traffic::{self, Traffic};
use crate::draw::{Draw, Trace};
use crate::parameters::{Reach, Scale};
use crate::site;
use airtcp_core::{ByteSize, Duration, Rate};
use airtcp_schemes::{LEAST_MEMORY, LinkFacts, SchemeEntry};

/// Operations in one run; every fifth run has many, so that tables fill.
const OPERATIONS: [u64; 2] = [600, 12_000];

/// Drives the scheme with the operations of a seed.
///
/// # Errors
/// A sentence: what was demanded of it and the number of the operation that broke it.
pub fn drive(seed: u64, entry: &SchemeEntry) -> Result<Trace, String> {
    run(seed, entry).map(|rig| rig.trace())
}

fn run(seed: u64, entry: &SchemeEntry) -> Result<Rig, String> {
    let mut draw = Draw::new(seed, "swarm/elements");
    let is_long = seed.is_multiple_of(5);
    let reach = if draw.percent(50) { Reach::Moderate } else { Reach::Extreme };
    let place = draw_place(&mut draw, entry, reach, is_long);
    let connections = draw.magnitude(1, 16) as usize;
    // Where tables are to fill, a long packet would blur their bound.
    let longest = if is_long { traffic::SEGMENT } else { 60_000 };
    let traffic = Traffic::new(&mut draw, connections, longest);
    let described = place.to_string();
    let mut rig = Rig::new(place, traffic, Draw::new(seed, "swarm/rig"))?;
    for number in 0..OPERATIONS[usize::from(is_long)] {
        operate(&mut rig, &mut draw, reach, is_long)
            .map_err(|what| format!("operation {number}: {what} ({described})"))?;
    }
    // With extreme parameters an element may hold packets longer than a run can wait.
    if reach == Reach::Moderate {
        rig.drain().map_err(|what| format!("after the last operation: {what} ({described})"))?;
    }
    Ok(rig)
}

/// Drives the scheme twice.
///
/// # Errors
/// What was broken, or that the two runs differ.
pub fn drive_twice(seed: u64, entry: &SchemeEntry) -> Result<Trace, String> {
    let (first, second) = (drive(seed, entry)?, drive(seed, entry)?);
    if first == second { Ok(first) } else { Err("two runs of the same operations differ".to_owned()) }
}

fn draw_place(draw: &mut Draw, entry: &SchemeEntry, reach: Reach, is_long: bool) -> Place {
    let rate = draw.percent(70).then(|| Rate::from_bps(draw.magnitude(100_000, 1_000_000_000)));
    let link = LinkFacts {
        rate,
        round_trip: draw.percent(70).then(|| draw.span(Duration::from_micros(1), Duration::from_secs(1))),
        queue: draw.percent(70).then(|| ByteSize(draw.magnitude(1500, 10_000_000))),
        mtu: draw.percent(70).then(|| draw.between(576, 9000) as u32),
        queue_packets: draw.percent(30).then(|| draw.magnitude(1, 1000)),
        ends: None,
    };
    let settings = site::draw_settings(draw, entry, &Scale { reach, rate, least_packets: 2, mtu: 1500 });
    // Little memory in a long run, so that tables are full before its end.
    let most = if is_long { 2 * LEAST_MEMORY.0 } else { 64 << 20 };
    let max_memory = ByteSize(draw.magnitude(LEAST_MEMORY.0, most));
    Place { entry: *entry, settings, link, max_memory }
}

fn operate(rig: &mut Rig, draw: &mut Draw, reach: Reach, is_long: bool) -> Result<(), String> {
    if draw.percent(40) {
        rig.now = step(draw, rig.now, rig.next_timeout());
        if draw.percent(50) {
            rig.tick()?;
        }
    }
    match draw.below(1000) {
        0..400 => {
            // New flows are most of a long run, to fill tables, and rare in a short one.
            let is_stranger = draw.percent(if is_long { 80 } else { 2 });
            let (direction, packet) =
                if is_stranger { rig.traffic.draw_stranger(draw) } else { rig.traffic.draw_segment(draw) };
            rig.offer(direction, packet)
        }
        400..430 => {
            let (direction, packet) = traffic::draw_unknown(draw);
            rig.offer(direction, packet)
        }
        430..700 if rig.boxes() == 2 => rig.stir_air(),
        700..850 => rig.stir_messages(),
        850..930 => rig.stir_ports(),
        930..970 => rig.report(),
        970..972 => rig.restart(),
        972..974 => {
            let Place { entry, max_memory, .. } = rig.place;
            rig.tell(&Place { max_memory, ..draw_place(draw, &entry, reach, is_long) })
        }
        _ => rig.tick(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::parameters::NoParameters;
    use airtcp_core::{Context, DropReason, Element, Event, Instant, Packet, Port};
    use airtcp_schemes::papers::gsnoop;
    use airtcp_schemes::{Placement, Reports, SchemeSettings, settings_for};

    /// An element that is made of one wrong answer.
    struct Wrong(fn(&mut Context<'_>, Port, Packet), Option<Instant>);

    impl Element for Wrong {
        fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
            (self.0)(cx, port, packet);
        }
        fn poll_timeout(&self) -> Option<Instant> {
            self.1
        }
    }

    const fn entry(settings: fn() -> Box<dyn SchemeSettings>) -> SchemeEntry {
        SchemeEntry {
            slug: "wrong",
            about: "",
            source: "",
            placement: Placement::NearEnd,
            keeps_end_to_end: true,
            reports: Reports::NONE,
            settings,
        }
    }

    fn failure(entry: SchemeEntry) -> String {
        (0..20).find_map(|seed| drive(seed, &entry).err()).expect("the wrong answer is noticed")
    }

    #[test]
    fn an_element_that_forwards_everything_passes() {
        let entry = entry(|| {
            settings_for(|_: &NoParameters, _| {
                Ok(Box::new(Wrong(|cx, port, packet| cx.send(port.opposite(), packet), None)))
            })
        });
        for seed in 0..20 {
            drive_twice(seed, &entry).unwrap();
        }
    }

    #[test]
    fn operations_reach_what_a_scheme_does_when_all_goes_well_and_when_it_does_not() {
        let rigs: Vec<Rig> = (0..40).map(|seed| run(seed, &gsnoop::ENTRY).unwrap()).collect();
        for event in [
            Event::PEER_UP,
            Event::PEER_DOWN,
            Event::PEER_RESTART,
            airtcp_schemes::papers::gsnoop::events::NACK,
            Event::REPAIR,
            Event::HELD,
            Event::RELEASED_IN_ORDER,
            Event::RELEASED_ACROSS_GAP,
            airtcp_schemes::papers::gsnoop::events::POLL,
            Event::FLOW_EVICTED,
            Event::CONTROL_MALFORMED,
            Event::CHECKSUM_BAD,
        ] {
            let reached = rigs.iter().filter(|rig| rig.count(event) > 0).count();
            assert!(reached > 0, "{event:?} in no run");
        }
        assert!(rigs.iter().any(|rig| rig.told > 0) && rigs.iter().any(|rig| rig.left > 0));
    }

    #[test]
    fn a_packet_that_vanishes_is_noticed() {
        let entry =
            entry(|| settings_for(|_: &NoParameters, _| Ok(Box::new(Wrong(|_, _, packet| drop(packet), None)))));
        assert!(failure(entry).contains("conservation"));
    }

    #[test]
    fn a_timer_that_never_moves_is_noticed() {
        let entry = entry(|| {
            settings_for(|_: &NoParameters, _| {
                Ok(Box::new(Wrong(|cx, _, packet| cx.discard(packet, DropReason::DEVICE), Some(Instant::ZERO))))
            })
        });
        assert!(failure(entry).contains("timeout did not move"));
    }

    #[test]
    fn a_changed_unknown_packet_is_noticed() {
        let entry = entry(|| {
            settings_for(|_: &NoParameters, _| {
                Ok(Box::new(Wrong(
                    |cx, port, mut packet| {
                        if packet.tcp().is_none() {
                            packet.set_ecn(airtcp_core::Ecn::Ce);
                        }
                        cx.send(port.opposite(), packet);
                    },
                    None,
                )))
            })
        });
        assert!(failure(entry).contains("an unknown packet was changed"));
    }

    #[test]
    fn a_segment_at_the_wrong_place_is_noticed() {
        let entry = entry(|| {
            settings_for(|_: &NoParameters, _| {
                Ok(Box::new(Wrong(
                    |cx, port, mut packet| {
                        if let Some(tcp) = packet.tcp().copied() {
                            packet.set_sequence(tcp.sequence + 1);
                        }
                        cx.send(port.opposite(), packet);
                    },
                    None,
                )))
            })
        });
        assert!(failure(entry).contains("bytes that were not sent there"));
    }
}
