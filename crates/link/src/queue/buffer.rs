//! A queue without a transmitter, for whoever times its packets itself, such as a scheme's egress: the packets wait
//! here under any discipline until their owner takes them.

use super::discipline::{Arrival, Discipline, QueueSite};
use super::kinds::Queue;
use super::limit::QueueLimit;
use super::signals::Signals;
use crate::counters::LinkCounters;
use airtcp_core::{Backlog, DropReason, Duration, Instant, Packet, Rng};
use alloc::collections::VecDeque;

/// Packets that wait under a queue discipline.
///
/// A packet that finds nothing waiting is taken whatever the limit. Time never goes back between calls.
#[derive(Debug)]
pub struct Buffer {
    discipline: Discipline,
    header_dscp: u8,
    /// What waits; a discipline that decides on departure holds its packets itself, but for those that were put back.
    packets: VecDeque<Packet>,
    bytes: u64,
    counters: LinkCounters,
}

impl Buffer {
    /// An empty buffer; `rng` is for the discipline's own use.
    pub fn new(queue: &Queue, site: &QueueSite, rng: Rng) -> Self {
        Buffer {
            discipline: queue.start(site, rng),
            header_dscp: queue.header_dscp(),
            packets: VecDeque::new(),
            bytes: 0,
            counters: LinkCounters::default(),
        }
    }

    /// Takes a packet to its place. `free_at` is when the transmitter will have sent all that came before. What the
    /// discipline drops, this packet or others, goes to `drops` with the reason. A ring drops, too: nobody is there to
    /// take a packet back.
    pub fn push(&mut self, now: Instant, free_at: Instant, packet: Packet, drops: &mut dyn FnMut(Packet, DropReason)) {
        let waiting = self.backlog();
        let is_empty = waiting.packets == 0;
        let mut signals = Signals { counters: &mut self.counters, drops, header_dscp: self.header_dscp };
        let admitted = match &mut self.discipline {
            Discipline::DropTail(limit) | Discipline::Ring(limit) => {
                if is_empty || limit.admits(waiting, packet.wire_len()) {
                    Some(packet)
                } else {
                    signals.drop(packet, DropReason::QUEUE_FULL);
                    None
                }
            }
            Discipline::Arrival(queue) => queue.admit(&Arrival { now, free_at, waiting }, packet, &mut signals),
            Discipline::Departure(queue) => {
                let free_at = if is_empty { now } else { free_at };
                queue.enqueue(now, free_at, packet, &mut signals);
                None
            }
        };
        if let Some(packet) = admitted {
            self.bytes += u64::from(packet.wire_len());
            self.packets.push_back(packet);
        }
    }

    /// The packet whose turn it is; what the discipline drops on the way goes to `drops`. None when nothing waits, or
    /// all that waited was dropped.
    pub fn pop(&mut self, now: Instant, drops: &mut dyn FnMut(Packet, DropReason)) -> Option<Packet> {
        if let Some(packet) = self.packets.pop_front() {
            self.bytes -= u64::from(packet.wire_len());
            return Some(packet);
        }
        let Discipline::Departure(queue) = &mut self.discipline else { return None };
        queue.dequeue(now, &mut Signals { counters: &mut self.counters, drops, header_dscp: self.header_dscp })
    }

    /// Puts back what [`Buffer::pop`] gave and could not be sent: it is the next again.
    pub fn put_back(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.wire_len());
        self.packets.push_front(packet);
    }

    /// Works from now on as `next` would, a fresh one, and keeps what waits and what it knows of it; false if it cannot, as another
    /// discipline, and nothing changes.
    pub fn adopt(&mut self, next: &Buffer) -> bool {
        self.header_dscp == next.header_dscp && self.discipline.adopt(&next.discipline)
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        let own = Backlog { packets: self.packets.len(), bytes: self.bytes };
        match &self.discipline {
            Discipline::Departure(queue) => queue.backlog() + own,
            Discipline::DropTail(_) | Discipline::Ring(_) | Discipline::Arrival(_) => own,
        }
    }

    /// Flows of which more than one packet waits; `None` where flows share a queue.
    pub fn waiting_flows(&self) -> Option<usize> {
        match &self.discipline {
            Discipline::Departure(queue) => queue.waiting_flows(),
            Discipline::DropTail(_) | Discipline::Ring(_) | Discipline::Arrival(_) => None,
        }
    }

    /// Packets of ECN-capable transports that the discipline marked so far.
    pub fn marked(&self) -> u64 {
        self.counters.marked
    }

    /// Changes the limit of a queue that has nothing but a limit; others keep theirs, which their state depends on.
    /// What waits already stays.
    pub fn set_limit(&mut self, to: QueueLimit) {
        if let Discipline::DropTail(limit) | Discipline::Ring(limit) = &mut self.discipline {
            *limit = to;
        }
    }

    /// Puts `packet` in the place of the newest of its flow, which is not the only one, if it covers that. Only disciplines with
    /// a queue for each flow can.
    ///
    /// # Errors
    /// `packet` itself.
    pub fn replace_newest(
        &mut self,
        packet: Packet,
        covers: &dyn Fn(&Packet, &Packet) -> bool,
    ) -> Result<Packet, Packet> {
        match &mut self.discipline {
            Discipline::Departure(queue) => queue.replace_newest(packet, covers),
            Discipline::DropTail(_) | Discipline::Ring(_) | Discipline::Arrival(_) => Err(packet),
        }
    }

    /// For disciplines that measure waits: packets may wait for `least` from now on, or as long as configured if that is
    /// longer, and `extra` more. Others do not change.
    pub fn allow(&mut self, least: Duration, extra: Duration) {
        if let Discipline::Departure(queue) = &mut self.discipline {
            queue.allow(least, extra);
        }
    }

    /// The transmitter has another rate from now on: what the discipline derived from the old one follows.
    pub fn set_site(&mut self, site: &QueueSite) {
        if let Discipline::Arrival(queue) = &mut self.discipline {
            queue.set_site(site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;
    use airtcp_core::ValueType;
    use core::net::Ipv4Addr;
    use std::vec::Vec;

    const SITE: QueueSite = QueueSite { rate: None, delay: Duration::ZERO, mtu: 1500 };

    fn packet(bytes: usize) -> Packet {
        let address = Ipv4Addr::LOCALHOST.into();
        Packet::opaque(address, address, 253, std::vec![0; bytes - 20].into())
    }

    #[test]
    fn every_discipline_keeps_its_limit_and_loses_nothing_unsaid() {
        for kind in Queue::KINDS {
            let queue =
                Queue::read(&std::format!("{{ kind = \"{}\", limit = \"5packets\" }}", kind.name).into()).unwrap();
            let mut buffer = Buffer::new(&queue, &SITE, Rng::derive(1, "buffer"));
            let (mut dropped, now) = (Vec::new(), Instant::ZERO);
            for _ in 0..20 {
                let busy = now + Duration::from_millis(1);
                buffer.push(now, busy, packet(1000), &mut |_, reason| dropped.push(reason));
            }
            assert_eq!(buffer.backlog(), Backlog { packets: 5, bytes: 5000 }, "{}", kind.name);
            assert_eq!(dropped, [DropReason::QUEUE_FULL; 15], "{}", kind.name);
            let first = buffer.pop(now, &mut |_, _| panic!("dropped")).unwrap();
            buffer.put_back(first);
            assert_eq!(buffer.backlog().packets, 5);
            assert_eq!((0..9).filter_map(|_| buffer.pop(now, &mut |_, _| panic!("dropped"))).count(), 5);
            assert_eq!(buffer.backlog(), Backlog::default());
        }
    }

    #[test]
    fn codel_drops_what_waited_too_long_and_says_so() {
        let queue = Queue::read(&"{ kind = \"codel\" }".into()).unwrap();
        let mut buffer = Buffer::new(&queue, &SITE, Rng::derive(1, "buffer"));
        for _ in 0..200 {
            buffer.push(Instant::ZERO, Instant::MAX, packet(1000), &mut |_, _| panic!("dropped on arrival"));
        }
        let (mut sent, mut dropped) = (0, 0);
        for millis in (10..1000).step_by(10) {
            let now = Instant::ZERO + Duration::from_millis(millis);
            sent += usize::from(buffer.pop(now, &mut |_, _| dropped += 1).is_some());
        }
        assert!(dropped > 3, "{dropped}");
        assert_eq!(sent + dropped + buffer.backlog().packets, 200);
    }

    #[test]
    fn a_new_limit_holds_for_what_comes_and_leaves_what_waits() {
        let queue = Queue::read(&"4packets".into()).unwrap();
        let mut buffer = Buffer::new(&queue, &SITE, Rng::derive(1, "buffer"));
        let mut dropped = 0;
        for _ in 0..4 {
            buffer.push(Instant::ZERO, Instant::MAX, packet(1000), &mut |_, _| dropped += 1);
        }
        buffer.set_limit(QueueLimit::Packets(2));
        buffer.push(Instant::ZERO, Instant::MAX, packet(1000), &mut |_, _| dropped += 1);
        assert_eq!((buffer.backlog().packets, dropped), (4, 1));
    }

    #[test]
    fn what_is_dealt_to_other_queues_goes_on_waiting() {
        let read = |text: &str| Buffer::new(&Queue::read(&text.into()).unwrap(), &SITE, Rng::derive(2, "next"));
        let mut buffer = read("{ kind = \"fq-codel\", overdue = 1 }");
        for _ in 0..9 {
            buffer.push(Instant::ZERO, Instant::MAX, packet(1000), &mut |_, _| panic!("dropped"));
        }
        // 5 and 100 ms are the defaults.
        assert!(buffer.adopt(&read("{ kind = \"fq-codel\", flows = 8, ways = 4, overdue = 1 }")));
        let mut overdue = 0;
        let later = Instant::ZERO + Duration::from_millis(106);
        assert!(buffer.pop(later, &mut |_, _| overdue += 1).is_some());
        assert_eq!((overdue, buffer.backlog().packets), (5, 3));
    }

    #[test]
    fn a_queue_that_is_told_something_else_keeps_what_waits_and_goes_by_it() {
        let fresh = |text: &str| Buffer::new(&Queue::read(&text.into()).unwrap(), &SITE, Rng::derive(2, "next"));
        for (now, next, other) in [
            ("5packets", "2packets", "{ kind = \"fq-codel\" }"),
            ("{ kind = \"fq-codel\" }", "{ kind = \"fq-codel\", limit = \"2packets\" }", "{ kind = \"codel\" }"),
            ("{ kind = \"fq-codel\" }", "{ kind = \"fq-codel\", flows = 7, limit = \"2packets\" }", "5packets"),
            ("{ kind = \"codel\" }", "{ kind = \"codel\", limit = \"2packets\" }", "{ kind = \"fq-codel\" }"),
        ] {
            let (mut buffer, mut dropped) = (fresh(now), 0);
            let mut offer = |buffer: &mut Buffer| {
                buffer.push(Instant::ZERO, Instant::MAX, packet(1000), &mut |_, _| dropped += 1);
                dropped
            };
            assert_eq!((0..4).map(|_| offer(&mut buffer)).sum::<i32>(), 0);
            assert!(!buffer.adopt(&fresh(other)) && buffer.adopt(&fresh(next)), "{now}");
            assert_eq!(buffer.backlog().packets, 4);
            assert!(offer(&mut buffer) > 0, "{now}");
        }
    }
}
