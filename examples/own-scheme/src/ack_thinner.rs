//! ACK thinner: fewer acknowledgments on the air.
//!
//! An acknowledgment that is about to cross the link waits a moment; a later one of the same flow that says the same
//! and more takes its place. What a sender needs to see one by one (data, duplicates, SACK, window updates, SYN, FIN)
//! passes at once and takes what waits with it, so the order stays. State exists only for flows with something
//! waiting, within a stated bound.

use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, DropReason, Duration, Element, FlowKey, Gauge, Instant, Packet};
use airtcp_core::{Port, TcpFlags, parameters};
use airtcp_schemes::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use std::collections::{BTreeMap, BTreeSet};

/// Its line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "ack-thinner",
    about: "Sends one acknowledgment where several would say the same",
    source: "docs/add-a-scheme.md",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

airtcp_core::declare! { Event, EVENTS:
    /// An acknowledgment left in the place of an earlier one that waited.
    MERGED = "acks_merged",
}

parameters! {
    /// What a file can set.
    pub struct Settings {
        /// One acknowledgment is sent for this many at most.
        pub every: u8 = 4, "ours, after ACK filtering in RFC 3449 section 5.2.1";
        /// Longest time an acknowledgment waits for a later one.
        pub delay: Duration = Duration::from_millis(2), "ours: short beside any round trip";
    }
}

fn make(settings: &Settings, site: &mut Site<'_>) -> Made {
    if settings.every == 0 {
        return Err(ParameterError::BadValue { key: "every", reason: "0 would send none; write 1 or more".into() });
    }
    Ok(Box::new(AckThinner::new(settings.clone(), site)))
}

/// Memory of one waiting acknowledgment, rounded up: headers, options and its place in both maps.
const ENTRY_MEMORY: u64 = 1024;

/// The element at one end of the link. Both ends are alike and need no messages.
pub struct AckThinner {
    settings: Settings,
    capacity: usize,
    waiting: BTreeMap<FlowKey, Waiting>,
    deadlines: BTreeSet<(Instant, FlowKey)>,
    waiting_bytes: u64,
}

struct Waiting {
    packet: Packet,
    /// How many acknowledgments it stands for.
    stands_for: u8,
    deadline: Instant,
}

impl AckThinner {
    fn new(settings: Settings, site: &Site<'_>) -> Self {
        AckThinner {
            settings,
            capacity: (site.max_memory.0 / ENTRY_MEMORY) as usize,
            waiting: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            waiting_bytes: 0,
        }
    }

    fn take(&mut self, flow: &FlowKey) -> Option<Waiting> {
        let waiting = self.waiting.remove(flow)?;
        self.deadlines.remove(&(waiting.deadline, *flow));
        self.waiting_bytes -= u64::from(waiting.packet.wire_len());
        Some(waiting)
    }

    fn keep(&mut self, flow: FlowKey, waiting: Waiting) {
        self.waiting_bytes += u64::from(waiting.packet.wire_len());
        self.deadlines.insert((waiting.deadline, flow));
        self.waiting.insert(flow, waiting);
    }

    /// An acknowledgment that a later one may replace.
    fn handle_plain_ack(&mut self, cx: &mut Context<'_>, flow: FlowKey, packet: Packet) {
        let (stands_for, deadline) = match self.take(&flow) {
            Some(earlier) if acknowledges_more(&packet, &earlier.packet) => {
                cx.emit(MERGED);
                cx.discard(earlier.packet, DropReason::DUPLICATE);
                (earlier.stands_for + 1, earlier.deadline)
            }
            // A duplicate, or an old one that was overtaken: the sender counts them.
            Some(earlier) => {
                cx.send(Port::LINK, earlier.packet);
                return cx.send(Port::LINK, packet);
            }
            None => (1, cx.now() + self.settings.delay),
        };
        if stands_for >= self.settings.every || self.waiting.len() >= self.capacity {
            return cx.send(Port::LINK, packet);
        }
        self.keep(flow, Waiting { packet, stands_for, deadline });
    }
}

/// Nothing but an acknowledgment: no payload, no flag beside ACK, no SACK block.
fn is_plain_ack(packet: &Packet) -> bool {
    let is_bare = |tcp: &airtcp_core::TcpHeader| tcp.flags == TcpFlags::ACK && tcp.options.sack.is_empty();
    packet.payload_len() == 0 && packet.tcp().is_some_and(is_bare)
}

/// Sequence numbers wrap, so they are compared by their own arithmetic.
fn acknowledges_more(packet: &Packet, earlier: &Packet) -> bool {
    match (packet.tcp(), earlier.tcp()) {
        (Some(new), Some(old)) => new.acknowledgment.after(old.acknowledgment),
        _ => false,
    }
}

impl Element for AckThinner {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::LINK {
            return cx.send(Port::INNER, packet);
        }
        let Some(flow) = packet.flow() else {
            return cx.send(Port::LINK, packet);
        };
        if is_plain_ack(&packet) {
            return self.handle_plain_ack(cx, flow, packet);
        }
        if let Some(earlier) = self.take(&flow) {
            cx.send(Port::LINK, earlier.packet);
        }
        cx.send(Port::LINK, packet);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some((deadline, flow)) = self.deadlines.first().copied() {
            if deadline > cx.now() {
                break;
            }
            if let Some(due) = self.take(&flow) {
                cx.send(Port::LINK, due.packet);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    fn held(&self) -> Backlog {
        Backlog { packets: self.waiting.len(), bytes: self.waiting_bytes }
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::FLOWS, self.waiting.len() as u64);
        gauge(Gauge::MEMORY_BYTES, self.waiting.len() as u64 * ENTRY_MEMORY);
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.waiting.len() != self.deadlines.len() {
            return Err("a waiting acknowledgment without a deadline, or the reverse");
        }
        if self.waiting.len() > self.capacity {
            return Err("more acknowledgments wait than the memory bound allows");
        }
        Ok(())
    }
}
