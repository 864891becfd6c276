//! What a tap sees is what the run counts.

use crate::common::uploads::Cell;
use crate::common::{Demo, demo};
use airtcp_core::{CreateReason, DropReason, Duration, Event, Instant, Packet};
use airtcp_schemes::papers::as_tcp;
use airtcp_sim::{Direction, RunSettings, Tap};
use std::collections::BTreeMap;

#[derive(Default)]
struct Seen {
    sent: BTreeMap<Direction, u64>,
    lost: BTreeMap<(Direction, DropReason), u64>,
    arrived: BTreeMap<Direction, u64>,
    dropped: BTreeMap<(String, DropReason), u64>,
    /// Given to the air in the direction of the data, by what they were made for.
    made: BTreeMap<CreateReason, u64>,
    latest: Instant,
}

const AIR: Direction = Direction { link: 1, reverse: false };

impl Tap for Seen {
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        assert!(at >= self.latest, "time went back");
        self.latest = at;
        *self.sent.entry(direction).or_default() += 1;
        if direction == AIR {
            *self.made.entry(packet.origin().expect("somebody made it")).or_default() += 1;
        }
    }
    fn on_lost(&mut self, _at: Instant, direction: Direction, _packet: &Packet, reason: DropReason) {
        *self.lost.entry((direction, reason)).or_default() += 1;
    }
    fn on_arrived(&mut self, at: Instant, direction: Direction, _packet: &Packet) {
        self.latest = at;
        *self.arrived.entry(direction).or_default() += 1;
    }
    fn on_dropped(&mut self, _at: Instant, place: &str, _packet: &Packet, reason: DropReason) {
        *self.dropped.entry((place.to_owned(), reason)).or_default() += 1;
    }
}

fn settings() -> RunSettings {
    RunSettings { seed: 5, duration: Duration::from_secs(6), warmup: Duration::from_secs(1), ..RunSettings::default() }
}

fn network() -> Demo {
    demo(&[("loss", "3%"), ("corrupt", "1%")]).with_gsnoop().with_bulk("cubic")
}

#[test]
fn a_run_that_is_looked_at_is_the_same_run() {
    let (mut seen, network) = (Seen::default(), network());
    let tapped = network.topology.run_tapped(&settings(), &mut seen).unwrap();
    assert_eq!(tapped, network.run_with(&settings()));
}

#[test]
fn every_packet_is_seen_at_both_ends_of_a_link() {
    let mut seen = Seen::default();
    network().topology.run_tapped(&settings(), &mut seen).unwrap();
    assert_eq!(seen.sent.len(), 6, "three links, two directions each");
    for (direction, sent) in &seen.sent {
        let lost: u64 = seen.lost.iter().filter(|((at, _), _)| at == direction).map(|(_, count)| count).sum();
        let in_flight = sent - lost - seen.arrived[direction];
        assert!(in_flight < 100, "{direction:?}: {sent} sent, {lost} lost, {in_flight} missing");
    }
}

#[test]
fn every_drop_is_seen_with_place_and_reason() {
    let mut seen = Seen::default();
    let outcome = network().topology.run_tapped(&settings(), &mut seen).unwrap();
    let names = [("links.air.forward", false), ("links.air.reverse", true)];
    for drop in &outcome.drops {
        let of_link = names.iter().find(|(name, _)| *name == drop.place);
        let count = match of_link {
            Some((_, reverse)) => seen.lost[&(Direction { link: 1, reverse: *reverse }, drop.reason)],
            None if drop.place == "control" => continue,
            None => seen.dropped[&(drop.place.clone(), drop.reason)],
        };
        assert_eq!(count, drop.packets, "{} {}", drop.place, drop.reason.label());
    }
    assert!(outcome.drops.len() >= 2, "{:?}", outcome.drops);
}

// They are made, and end at once.
#[test]
fn acknowledgments_that_stay_at_an_access_point_are_seen_and_the_run_is_the_same() {
    let (mut topology, wlan, _) = Cell { seconds: 6, ..Cell::of(3, &[]) }.topology();
    topology.scheme("as-tcp", wlan, &as_tcp::ENTRY);
    let mut seen = Seen::default();
    let tapped = topology.run_tapped(&settings(), &mut seen).unwrap();
    assert_eq!(tapped, topology.run(&settings()).unwrap());
    let drops = tapped.drops.iter().filter(|drop| drop.reason == DropReason::SUPPRESSED);
    let counted: Vec<(String, u64)> = drops.map(|drop| (drop.place.clone(), drop.packets)).collect();
    let looked_at = seen.dropped.iter().filter(|((_, reason), _)| *reason == DropReason::SUPPRESSED);
    let looked_at: Vec<(String, u64)> = looked_at.map(|((place, _), count)| (place.clone(), *count)).collect();
    assert!(counted.len() == 4 && counted[0].1 > 300, "{counted:?}");
    assert_eq!(looked_at, counted);
}

#[test]
fn a_packet_says_what_it_was_made_for() {
    let mut seen = Seen::default();
    let outcome = network().topology.run_tapped(&settings(), &mut seen).unwrap();
    let events: BTreeMap<Event, u64> = outcome.schemes[0].elements[0].events.iter().copied().collect();
    assert_eq!(seen.made.get(&CreateReason::REPAIR), events.get(&Event::REPAIR));
    assert!(seen.made[&CreateReason::REPAIR] > 10, "{:?}", seen.made);
    assert!(seen.made[&CreateReason::TRANSMIT] > 1000, "{:?}", seen.made);
}
