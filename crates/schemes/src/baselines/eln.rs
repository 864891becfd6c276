//! Explicit loss notification (Balakrishnan & Katz, *Explicit Loss Notification and Wireless Web
//! Performance*, GLOBECOM 1998; R-10): an agent before the lossy link remembers what was missing
//! when it came by, and marks duplicate acknowledgments that ask for anything else: the link lost
//! that, not congestion. Progress that reports blocks above its number asks, too. A sender that
//! heeds the mark (`eln = true` of a flow) sends again and keeps its window.
//!
//! The paper's agent stands behind a first hop that is wireless; this one stands before a lossy
//! link anywhere on the path, and owns the queue there, so that its own drops count as congestion.
//! It takes any loss behind it for the link's. A hole that a retransmission filled still counts as
//! congestion until it is acknowledged: better a halving too many than one too few.
//!
//! No sender in use knows the mark. This is an upper line for what notification could reach, not
//! something to switch on.

use crate::acks::{AckTrack, Kind, reports_hole};
use crate::egress::{Egress, EgressSettings};
use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Backlog, Context, Duration, Element, Event, FlowKey, Gauge, Instant, Packet};
use airtcp_core::{Port, Rate, TcpFlags, TcpHeader, parameters};
use airtcp_link::Queue;
use alloc::boxed::Box;
use core::ops::Range;

airtcp_core::declare! { Event, EVENTS:
    /// An acknowledgment was marked: the link, not congestion, lost what it asks for (ELN).
    LOSS_NOTIFIED = "losses_notified",
}

/// ELN's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "eln",
    about: "Marks duplicate acknowledgments for packets that the link lost; senders with eln = true keep their window",
    source: "Balakrishnan & Katz, Explicit Loss Notification and Wireless Web Performance, GLOBECOM 1998",
    placement: Placement::NearEnd,
    keeps_end_to_end: true,
    reports: Reports { events: EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

parameters! {
    /// Parameters of ELN.
    pub struct ElnSettings {
        /// Rate at which the egress queue is emptied, in IP bits; the link's own rate if auto. Without a rate, drops in the link's queue look like losses of the link.
        pub rate: Option<Rate> = None, "R-10: congestion is seen before the link";
        /// Egress queue, a limit or a discipline, as the queue of a link; the link's own queue limit if auto, else rate x 100 ms.
        pub queue: Option<Queue> = None, "ours";
        /// Silence after which a connection is forgotten.
        pub idle: Duration = Duration::from_secs(60), "GSN-U15";
    }
}

fn make(settings: &ElnSettings, site: &mut Site<'_>) -> Made {
    Ok(Box::new(Agent::new(settings, site)))
}

/// Holes remembered per connection; beyond, the newest grows over what lies between.
const MAX_HOLES: usize = 64;
/// Heap of a connection's state beside its table entry, with all of its holes.
const FLOW_HEAP: usize = 2 * MAX_HOLES * 24;

/// One connection's data as it came by.
#[derive(Debug)]
struct Flow {
    /// One past the highest position seen.
    seen: Position,
    /// What was not there when something above it came, or was dropped by our own queue.
    holes: SeqMap<()>,
    acks: AckTrack,
    last_used: Instant,
}

impl Flow {
    fn new(tcp: &TcpHeader, now: Instant) -> Self {
        let seen = position::first(tcp.sequence);
        Flow { seen, holes: SeqMap::default(), acks: AckTrack::default(), last_used: now }
    }

    fn range_of(&self, packet: &Packet, tcp: &TcpHeader) -> Range<Position> {
        let start = position::near(self.seen, tcp.sequence);
        start..start + Position::from(packet.sequence_len())
    }

    fn on_data(&mut self, range: Range<Position>) {
        if range.start > self.seen {
            self.add_hole(self.seen..range.start);
        }
        self.seen = self.seen.max(range.end);
    }

    fn add_hole(&mut self, range: Range<Position>) {
        let newest = self.holes.iter().last().map(|(range, ())| range);
        match newest.filter(|_| self.holes.len() >= MAX_HOLES) {
            Some(newest) => self.holes.add(newest.start.min(range.start)..range.end.max(newest.end)),
            None => self.holes.add(range),
        }
    }

    /// True if the acknowledgment asks for something that came by here.
    fn is_link_loss(&mut self, packet: &Packet, tcp: &TcpHeader) -> bool {
        let (kind, number) = self.acks.classify(packet, tcp, self.seen);
        if kind == Kind::New {
            self.holes.take_out(0..number);
            self.holes.shrink();
        }
        let lies_in_hole = self.holes.first().is_some_and(|(hole, ())| hole.start <= number);
        // With blocks above its number, progress tells of the next hole, too.
        let tells_of_hole = kind == Kind::Duplicate || kind == Kind::New && reports_hole(tcp);
        tells_of_hole && number < self.seen && !lies_in_hole
    }
}

/// The agent of one link.
#[derive(Debug)]
pub struct Agent {
    queue: Egress,
    flows: FlowTable<Flow>,
    idle: Duration,
}

impl Agent {
    /// The agent at the near end of a link.
    pub fn new(settings: &ElnSettings, site: &mut Site<'_>) -> Self {
        let capacity = (site.max_memory.0 / 2) as usize / (FlowTable::<Flow>::entry_memory() + FLOW_HEAP);
        Agent {
            queue: Egress::new(EgressSettings::at(site, settings.rate, settings.queue.as_ref()), site.rng),
            flows: FlowTable::new(capacity, site.rng),
            idle: settings.idle,
        }
    }

    fn handle_outgoing(&mut self, cx: &mut Context<'_>, packet: Packet) {
        self.note_data(cx, &packet);
        self.queue.push(cx, packet);
        self.settle_drops(cx);
        self.send_due(cx);
    }

    fn note_data(&mut self, cx: &mut Context<'_>, packet: &Packet) {
        let segment = packet.flow().zip(packet.tcp()).filter(|_| packet.checksum_holds());
        let Some((key, tcp)) = segment else { return };
        if tcp.flags.rst() {
            self.flows.slot(&key).map(|slot| self.flows.remove_slot(slot));
            return;
        }
        if packet.sequence_len() == 0 {
            return;
        }
        let slot = self.find_or_insert(cx, key, tcp);
        if let Some((_, flow)) = self.flows.at_mut(slot) {
            flow.last_used = cx.now();
            flow.on_data(flow.range_of(packet, tcp));
        }
    }

    fn settle_drops(&mut self, cx: &mut Context<'_>) {
        while let Some((packet, reason)) = self.queue.take_dropped() {
            self.note_queue_drop(&packet);
            cx.discard(packet, reason);
        }
    }

    /// What our own queue dropped counts as congestion.
    fn note_queue_drop(&mut self, packet: &Packet) {
        let segment = packet.flow().zip(packet.tcp()).filter(|_| packet.checksum_holds() && packet.sequence_len() > 0);
        if let Some((key, tcp)) = segment
            && let Some(flow) = self.flows.get_mut(&key)
        {
            flow.add_hole(flow.range_of(packet, tcp));
        }
    }

    fn find_or_insert(&mut self, cx: &mut Context<'_>, key: FlowKey, tcp: &TcpHeader) -> u32 {
        self.forget_idle(cx.now());
        if let Some(slot) = self.flows.slot(&key) {
            if !tcp.flags.syn() {
                self.flows.touch(slot);
                return slot;
            }
            self.flows.remove_slot(slot);
        } else {
            cx.emit(Event::FLOW_NEW);
        }
        let (slot, evicted) = self.flows.insert(key, Flow::new(tcp, cx.now()));
        if evicted.is_some() {
            cx.emit(Event::FLOW_EVICTED);
        }
        slot
    }

    fn forget_idle(&mut self, now: Instant) {
        let idle = self.idle;
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.flows.remove_slot(slot);
        }
    }

    fn handle_incoming(&mut self, cx: &mut Context<'_>, mut packet: Packet) {
        if let (Some(key), Some(tcp)) = (packet.flow().map(FlowKey::reversed), packet.tcp().copied())
            && packet.checksum_holds()
            && let Some(flow) = self.flows.get_mut(&key)
            && flow.is_link_loss(&packet, &tcp)
        {
            packet.set_flags(tcp.flags.with(TcpFlags::ELN));
            cx.emit(LOSS_NOTIFIED);
        }
        cx.send(Port::INNER, packet);
    }

    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.queue.send_next(cx).is_some() {}
        self.settle_drops(cx);
    }
}

impl Element for Agent {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER { self.handle_outgoing(cx, packet) } else { self.handle_incoming(cx, packet) }
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.queue.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.queue.poll_timeout()
    }

    fn held(&self) -> Backlog {
        self.queue.backlog()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let entries = self.flows.len() * (FlowTable::<Flow>::entry_memory() + FLOW_HEAP);
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::QUEUE_BYTES, self.queue.backlog().bytes);
        gauge(Gauge::QUEUE_BYTES_MAX, self.queue.bytes_max());
        gauge(Gauge::MEMORY_BYTES, entries as u64 + self.queue.backlog().bytes);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.queue.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use airtcp_core::ValueType;
    use airtcp_core::testing::Harness;
    use airtcp_core::{DropReason, SeqNum};
    use std::vec::Vec;

    fn agent(settings: &ElnSettings) -> Harness<Agent> {
        Harness::new(with_site(|site| Agent::new(settings, site)), "eln")
    }

    fn send(agent: &mut Harness<Agent>, millis: u64, numbers: impl IntoIterator<Item = u32>) {
        for (n, sequence) in numbers.into_iter().enumerate() {
            agent.packet(at(millis + n as u64), Port::INNER, data(sequence));
        }
    }

    /// Hands acknowledgments over and tells which of them came out marked.
    fn marks(agent: &mut Harness<Agent>, numbers: &[u32]) -> Vec<bool> {
        agent.io.inner.clear();
        for number in numbers {
            agent.packet(at(50), Port::LINK, ack(*number));
        }
        agent.io.inner.iter().map(|packet| packet.tcp().unwrap().flags.eln()).collect()
    }

    #[test]
    fn duplicates_for_what_came_by_are_marked() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 1000, 2000, 3000, 4000]);
        assert_eq!(marks(&mut agent, &[1000, 2000, 2000, 2000]), [false, false, true, true]);
        assert_eq!(agent.count(LOSS_NOTIFIED), 2);
    }

    #[test]
    fn duplicates_for_a_hole_are_congestion() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 1000, 3000, 4000, 5000]);
        assert_eq!(marks(&mut agent, &[2000, 2000, 2000]), [false; 3]);
        // A retransmission fills the hole: still congestion, until it is acknowledged.
        send(&mut agent, 60, [2000]);
        assert_eq!(marks(&mut agent, &[2000]), [false]);
        assert_eq!(marks(&mut agent, &[3000, 3000]), [false, true]);
    }

    #[test]
    fn what_the_own_queue_drops_is_congestion() {
        let mut agent =
            agent(&ElnSettings { queue: Some(Queue::read(&"4kB".into()).unwrap()), ..ElnSettings::default() });
        for n in 0..8 {
            agent.packet(at(0), Port::INNER, data(n * 1000));
        }
        assert_eq!(agent.ledger.discarded.get(DropReason::QUEUE_FULL), 4);
        send(&mut agent, 20, [8000]);
        assert_eq!(marks(&mut agent, &[4000, 4000]), [false, false]);
    }

    #[test]
    fn marks_are_right_across_the_wrap_of_the_sequence_space() {
        let first = u32::MAX - 2500;
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 1, 3, 4, 5].map(|n| first.wrapping_add(n * 1000)));
        let named = |n: u32| first.wrapping_add(n * 1000);
        assert_eq!(marks(&mut agent, &[named(2), named(2)]), [false, false]);
        assert_eq!(marks(&mut agent, &[named(4), named(4)]), [false, true]);
    }

    #[test]
    fn acknowledgments_of_everything_and_of_other_connections_are_left_alone() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 1000]);
        assert_eq!(marks(&mut agent, &[2000, 2000, 2000]), [false; 3]);
        agent.packet(at(51), Port::LINK, edited(&ack(1000), |tcp| tcp.source_port = 99));
        assert_eq!(agent.count(LOSS_NOTIFIED), 0);
    }

    #[test]
    fn progress_that_reports_blocks_above_the_next_hole_is_marked() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 1000, 2000, 4000, 5000]);
        for (number, is_marked) in [(1000, true), (3000, false)] {
            let report = edited(&ack(number), |tcp| {
                tcp.options.sack.push(SeqNum(number + 1000), SeqNum(number + 2000));
            });
            agent.packet(at(50), Port::LINK, report);
            assert_eq!(agent.io.inner.last().unwrap().tcp().unwrap().flags.eln(), is_marked, "{number}");
        }
    }

    #[test]
    fn damaged_packets_say_nothing() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 1000, 2000]);
        let mut damaged = ack(1000);
        damaged.mark_corrupted();
        agent.packet(at(50), Port::LINK, damaged);
        assert_eq!(marks(&mut agent, &[1000, 1000]), [false, true], "the first that is whole is new");
        let mut damaged = data(3000);
        damaged.mark_corrupted();
        agent.packet(at(51), Port::INNER, damaged);
        send(&mut agent, 52, [4000]);
        assert_eq!(marks(&mut agent, &[3000, 3000]), [false, false], "it is lost before the link");
    }

    #[test]
    fn a_new_connection_begins_without_holes() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, [0, 5000]);
        agent.packet(at(5), Port::INNER, segment(99_999, 0, TcpFlags::SYN));
        send(&mut agent, 6, [100_000, 101_000]);
        assert_eq!(marks(&mut agent, &[100_000, 100_000]), [false, true]);
    }

    #[test]
    fn holes_beyond_the_bound_are_taken_for_larger_not_forgotten() {
        let mut agent = agent(&ElnSettings::default());
        send(&mut agent, 0, (0..200).map(|n| n * 2000));
        let flow = agent.element.flows.get_mut(&flow()).unwrap();
        assert_eq!(flow.holes.len(), MAX_HOLES);
        assert_eq!(marks(&mut agent, &[391_000, 391_000]), [false, false]);
    }
}
