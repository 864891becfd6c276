//! Trunks whose control TCPs travel in messages.

use super::message::{self, FAR, Message, NEAR, Way};
use super::{Station, TrunkSettings};
use crate::papers::decoupling::events;
use crate::peer::Hello;
use crate::{End, LinkFacts, MAX_MEMORY, Site};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{DropReason, Duration, Element, Event, Gauge, Instant, Packet, Port, Rng, Traffic};
use core::net::{IpAddr, Ipv4Addr};
use std::boxed::Box;
use std::collections::{BTreeSet, VecDeque};
use std::vec::Vec;

mod segments;
mod tunnel;

const DELAY: Duration = Duration::from_millis(10);
const MS: Duration = Duration::from_millis(1);

/// The two gateways, where header packets are segments between them.
const GATEWAYS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2))];
const SEGMENTS: (&str, &str) = ("headers", "tcp");

fn station(settings: &[(&str, &str)], end: End, index: usize, name: &str) -> Harness<Station> {
    let addresses = settings.contains(&SEGMENTS).then_some([GATEWAYS[index], GATEWAYS[1 - index]]);
    let settings = TrunkSettings::with(settings.iter().copied()).unwrap();
    settings.check().unwrap();
    let mut rng = Rng::derive(1, name);
    let mut site = Site { end, link: LinkFacts::default(), rng: &mut rng, max_memory: MAX_MEMORY, forecast: None };
    Harness::new(Station::new(&settings, &mut site, addresses), name)
}

/// True for a message to an end that is lost.
type Loses = Box<dyn FnMut(usize, &[u8]) -> bool>;

/// Two stations; messages take [`DELAY`], and data of 1000 bytes come every millisecond where they are wanted.
struct Pair {
    ends: [Harness<Station>; 2],
    settings: Vec<(&'static str, &'static str)>,
    messages: [VecDeque<(Instant, Vec<u8>)>; 2],
    /// On their way to an end, of control TCPs; they come before its messages.
    segments: [VecDeque<(Instant, Packet)>; 2],
    /// How many left an end.
    segments_left: [usize; 2],
    /// All of them are lost.
    loses_segments: bool,
    now: Instant,
    loses: Loses,
    /// Each message arrives so often.
    copies: usize,
    supplies: [bool; 2],
    offered: [u32; 2],
    /// Numbers of the data that left each end through the link.
    left: [Vec<u32>; 2],
    /// Their lengths on the link.
    lengths: BTreeSet<u32>,
    /// What each end passed on to its own side.
    arrived: [Vec<Packet>; 2],
    /// How far the clock of an end is ahead.
    ahead: [Duration; 2],
}

impl Pair {
    fn new(settings: &[(&'static str, &'static str)], ends: [End; 2]) -> Pair {
        Pair {
            ends: [station(settings, ends[0], 0, "a"), station(settings, ends[1], 1, "b")],
            settings: settings.to_vec(),
            messages: Default::default(),
            segments: Default::default(),
            segments_left: [0; 2],
            loses_segments: false,
            now: Instant::from_nanos(1 << 50),
            loses: Box::new(|_, _| false),
            copies: 1,
            supplies: [ends[0] != End::Far, ends[1] != End::Far],
            offered: [0; 2],
            left: Default::default(),
            lengths: BTreeSet::new(),
            arrived: Default::default(),
            ahead: Default::default(),
        }
    }

    fn one_way(settings: &[(&'static str, &'static str)]) -> Pair {
        Pair::new(settings, [End::Near, End::Far])
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += MS;
            for end in 0..2 {
                let now = self.now + self.ahead[end];
                while self.segments[end].front().is_some_and(|(at, _)| *at <= self.now) {
                    let (_, segment) = self.segments[end].pop_front().unwrap();
                    self.ends[end].packet(now, Port::LINK, segment);
                }
                while self.messages[end].front().is_some_and(|(at, _)| *at <= self.now) {
                    let (_, message) = self.messages[end].pop_front().unwrap();
                    self.ends[end].control(now, &message);
                }
                if self.supplies[end] {
                    let packet = data(self.offered[end]);
                    self.offered[end] += 1;
                    self.ends[end].packet(now, Port::INNER, packet);
                }
                self.ends[end].tick(now);
            }
            (0..2).for_each(|end| self.collect(end));
        }
    }

    fn collect(&mut self, end: usize) {
        let io = &mut self.ends[end].io;
        for message in std::mem::take(&mut io.control) {
            for _ in 0..self.copies {
                if !(self.loses)(1 - end, &message) {
                    self.messages[1 - end].push_back((self.now + DELAY, message.clone()));
                }
            }
        }
        self.arrived[end].append(&mut io.inner);
        self.lengths.extend(io.link.iter().map(Packet::wire_len));
        for packet in std::mem::take(&mut io.link) {
            if packet.tcp().is_none() {
                self.left[end].push(number(&packet));
                continue;
            }
            self.segments_left[end] += 1;
            if !self.loses_segments {
                self.segments[1 - end].push_back((self.now + DELAY, packet));
            }
        }
    }

    /// Another process takes the place of an end.
    fn restart(&mut self, end: usize, role: End) {
        self.ends[end] = station(&self.settings, role, end, "another");
    }

    fn is_open(&self, end: usize) -> bool {
        self.ends[end].gauge(events::TRUNK_OPEN) == Some(1)
    }
}

/// A datagram of 1000 IP bytes with its number behind the UDP header; all are of one flow.
fn data(number: u32) -> Packet {
    let ip = |last| IpAddr::V4(Ipv4Addr::new(10, 2, 0, last));
    let mut payload = std::vec![0; 980];
    payload[8..12].copy_from_slice(&number.to_be_bytes());
    Packet::opaque(ip(1), ip(2), 17, payload.into())
}

fn number(packet: &Packet) -> u32 {
    u32::from_be_bytes(packet.payload_bytes().unwrap()[8..12].try_into().unwrap())
}

/// Data leave once each and in order; those in between that are missing were dropped at the tunnel queue.
fn assert_in_order(numbers: &[u32]) {
    assert!(numbers.is_sorted_by(|one, other| one < other), "out of order, or twice");
}

fn is_header(message: &[u8]) -> bool {
    matches!(message::decode(message), Some(Message::Segment(Way::Out, _)))
}

#[test]
fn a_segment_and_a_hello_are_read_back_and_no_part_or_extension_of_them_is() {
    let segment = crate::testing::edited(&crate::testing::ack(77), |_| ());
    let ip = Packet::opaque(NEAR, FAR, 6, segment.to_wire().slice(20..)).to_wire();
    // Its checksum is of other addresses.
    assert!(message::decode(&message::encode_segment(Way::Out, &Packet::parse(ip).unwrap())).is_none());

    let hello = Hello { epoch: 1, stamp: 2, echo: 3, held: 4 };
    let mut pair = Pair::one_way(&[]);
    let mut seen = Vec::new();
    pair.loses = Box::new(|_, _| false);
    pair.run(MS * 100);
    seen.extend(pair.messages.iter().flatten().map(|(_, message)| message.clone()));
    seen.push(message::encode_hello(&hello));
    assert!(seen.iter().any(|message| message.len() == 33));
    for bytes in seen {
        assert!(message::decode(&bytes).is_some());
        for length in 0..bytes.len() {
            assert!(message::decode(&bytes[..length]).is_none(), "{length} of {}", bytes.len());
        }
        assert!(message::decode(&[&bytes[..], &[0; 64]].concat()).is_none());
    }
}

#[test]
fn data_cross_in_order_with_a_header_packet_for_each_virtual_segment_and_no_segment_on_the_link() {
    let mut pair = Pair::one_way(&[("vmss", "1000")]);
    let mut headers = 0;
    pair.run(Duration::from_secs(2));
    for (_, message) in &pair.messages[1] {
        headers += usize::from(is_header(message));
    }
    assert!(headers > 0, "some are on their way");
    assert!(pair.is_open(0) && pair.is_open(1));
    assert_in_order(&pair.left[0]);
    let tunnelled = pair.ends[0].count(events::TUNNELLED);
    let sent = pair.ends[0].count(events::HEADER_PACKET);
    assert!(tunnelled > 1900 && sent.abs_diff(tunnelled) <= 2, "{tunnelled} packets, {sent} header packets");
    assert!(pair.left[0].len() as u32 + 2 >= pair.offered[0], "before the trunk was open they passed beside it");
}

#[test]
fn a_trunk_each_way_keeps_both_ways_apart() {
    let mut pair = Pair::new(&[], [End::Both, End::Both]);
    pair.run(Duration::from_secs(2));
    for end in 0..2 {
        assert_in_order(&pair.left[end]);
        assert!(pair.ends[end].count(events::TUNNELLED) > 1900, "{end}");
        assert_eq!(pair.ends[end].element.traffic(), Traffic::Leaving);
    }
}

#[test]
fn while_the_far_end_is_silent_packets_pass_or_wait_as_the_file_says() {
    for (fail, passes) in [("open", true), ("closed", false)] {
        let mut pair = Pair::one_way(&[("fail", fail), ("queue", "{ kind = \"droptail\", limit = \"50packets\" }")]);
        pair.run(Duration::from_secs(1));
        let before = pair.left[0].len();
        pair.loses = Box::new(|_, _| true);
        pair.run(Duration::from_secs(5));
        let meanwhile = pair.left[0].len() - before;
        assert!(!pair.is_open(0), "{fail}");
        // The window of a second's supply, which is what leaves before the silence is noticed.
        assert_eq!(meanwhile > 3900, passes, "{fail}: {meanwhile} packets left");
        let dropped = pair.ends[0].ledger.discarded.get(DropReason::QUEUE_FULL);
        assert_eq!(dropped > 3900, !passes, "{fail}: {dropped} dropped");
        assert_eq!(pair.ends[0].gauge(Gauge::PEER_IN_REACH), passes.then_some(0), "{fail}");
        assert_eq!(pair.ends[0].element.held().packets, if passes { 0 } else { 50 }, "{fail}");

        pair.loses = Box::new(|_, _| false);
        pair.run(Duration::from_secs(1));
        let last = *pair.left[0].last().unwrap();
        assert!(pair.is_open(0) && last + 100 > pair.offered[0], "{fail}: the last was {last} of {}", pair.offered[0]);
        assert_in_order(&pair.left[0]);
    }
}

#[test]
fn header_packets_lost_for_a_minute_are_no_reason_to_wait_for_another() {
    let mut pair = Pair::one_way(&[]);
    pair.run(Duration::from_secs(1));
    // HELLOs pass: the far end is there, and no timer is started anew.
    pair.loses = Box::new(|_, message| is_header(message));
    pair.run(Duration::from_secs(60));
    assert!(pair.ends[0].element.advice().unwrap().contains("no header packet"));
    let memory = pair.ends[0].gauge(Gauge::MEMORY_BYTES).unwrap();
    assert!(memory < MAX_MEMORY.0 / 2, "{memory} bytes");
    pair.loses = Box::new(|_, _| false);
    let before = pair.ends[0].count(events::TUNNELLED);
    pair.run(Duration::from_secs(5));
    assert!(pair.is_open(0));
    assert!(pair.ends[0].count(events::TUNNELLED) > before + 1000, "it goes on within seconds");
    assert_eq!(pair.ends[0].element.advice(), None);
}

#[test]
fn a_clock_that_jumps_ahead_at_either_end_costs_less_than_two_seconds() {
    for (end, jump) in [(0, 5), (1, 5), (0, 3600), (1, 3600), (0, 1 << 27)] {
        let mut pair = Pair::one_way(&[]);
        pair.run(Duration::from_secs(2));
        // As for a process that was stopped, on a machine that was.
        pair.ahead[end] = Duration::from_secs(jump);
        pair.run(Duration::from_secs(2));
        assert!(pair.is_open(0), "end {end}, {jump} s");
        let before = pair.ends[0].count(events::TUNNELLED);
        pair.run(Duration::from_secs(1));
        assert!(pair.ends[0].count(events::TUNNELLED) > before + 900, "end {end}, {jump} s");
        assert_in_order(&pair.left[0]);
    }
}

#[test]
fn an_end_that_was_restarted_is_found_within_its_first_round_trips() {
    for (end, role) in [(0, End::Near), (1, End::Far)] {
        let mut pair = Pair::one_way(&[]);
        pair.run(Duration::from_secs(2));
        pair.restart(end, role);
        pair.run(MS * 300);
        assert!(pair.is_open(0), "end {end}");
        let before = pair.ends[0].count(events::TUNNELLED);
        pair.run(Duration::from_secs(1));
        assert!(pair.ends[0].count(events::TUNNELLED) > before + 900, "end {end}");
        assert_in_order(&pair.left[0]);
    }
}

#[test]
fn messages_that_come_twice_or_are_lost_by_chance_break_nothing() {
    let mut pair = Pair::one_way(&[("recovery", "newreno"), ("rto_tick", "auto")]);
    let mut rng = Rng::derive(7, "loss");
    pair.copies = 2;
    pair.loses = Box::new(move |_, _| rng.next_u64().is_multiple_of(8));
    pair.run(Duration::from_secs(10));
    assert_in_order(&pair.left[0]);
    assert!(pair.ends[0].count(events::HEADER_RETRANSMISSION) > 10);
    assert!(pair.ends[0].count(events::TUNNELLED) > 1000);
    assert_eq!(pair.ends[0].count(Event::CONTROL_MALFORMED), 0);
}

#[test]
fn an_operator_is_told_of_a_far_end_that_takes_no_trunk() {
    let mut pair = Pair::new(&[], [End::Near, End::Near]);
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.ends[0].element.advice(), None);
    pair.run(Duration::from_secs(8));
    assert!(pair.ends[0].element.advice().unwrap().contains("direction"));
    assert_eq!(pair.left[0].len() as u32, pair.offered[0], "all passes");
}

#[test]
fn each_flow_in_a_trunk_has_a_queue_and_what_the_discipline_drops_is_accounted_for() {
    let mut pair = Pair::one_way(&[("queue", "{ kind = \"fq-codel\", limit = \"20packets\" }")]);
    // A window of a segment or two: most of what comes is too much.
    pair.loses = Box::new({
        let mut turn = 0;
        move |_, message| {
            turn += 1;
            is_header(message) && turn % 3 == 0
        }
    });
    pair.run(Duration::from_secs(5));
    let dropped = pair.ends[0].ledger.discarded.get(DropReason::QUEUE_FULL);
    assert!(dropped > 100, "{dropped}");
    assert_in_order(&pair.left[0]);
    let arrived = pair.left[0].len() as u64 + pair.ends[0].element.held().packets as u64;
    assert_eq!(arrived + pair.ends[0].ledger.discarded.total(), u64::from(pair.offered[0]));
}
