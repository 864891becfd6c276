//! ACK filter: an acknowledgment that comes to a queue makes earlier ones of its flow redundant that still wait there
//! (RFC 3449 section 5.2.1), with the rules of CAKE (Linux `net/sched/sch_cake.c`) on which of them may be dropped.
//!
//! A box before the link can drop only what waits in the box. So it owns the queue: a link of known rate gets packets at
//! that rate, and a medium that tells what it delivered gets few at a time. Both hold everywhere: a medium takes longer
//! than its rate says, and a link tells at once that it has a packet.

mod queue;
#[cfg(test)]
mod tests;

use crate::egress::Pacer;
use crate::tracker::Tracker;
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{
    Backlog, ByteSize, Context, DropReason, Element, Event, Gauge, Instant, Packet, Port, Rate, TxStatus, choices,
    parameters,
};
use alloc::boxed::Box;
use queue::{FlowQueue, Keep, Limit};

/// The line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "ack-filter",
    about: "Acknowledgments that wait before the link are dropped when a later one says as much",
    source: "RFC 3449 section 5.2.1; Linux sch_cake",
    placement: Placement::NearEnd,
    keeps_end_to_end: true,
    reports: Reports::NONE,
    settings: || settings_for(make),
};

choices! {
    /// How many acknowledgments of a flow are left.
    pub enum Mode {
        /// Two: an acknowledgment is dropped when two later ones say as much.
        Conservative = "conservative",
        /// One: an acknowledgment is dropped when a later one says as much.
        Aggressive = "aggressive",
    }
}

parameters! {
    /// Parameters of the ACK filter.
    pub struct AckFilterSettings {
        /// How many acknowledgments of a flow may wait.
        pub mode: Mode = Mode::Conservative, "tc-cake(8): ack-filter, ack-filter-aggressive";
        /// Rate at which the egress queue is emptied, in IP bits; the link's own rate if auto. Without a rate, packets wait here only while the link refuses them.
        pub rate: Option<Rate> = None, "ours";
        /// Limit of the egress queue; if auto, the link's own queue limit, in packets where that counts packets, else 1 MiB.
        pub queue: Option<ByteSize> = None, "ours";
        /// Packets handed at a time to a medium that reports deliveries: the one on the air and the next. Set more where stations sleep; a packet that has left the queue cannot be dropped.
        pub interface: u32 = 2, "ours";
    }
}

/// Queue of a link whose limit is not known, in bytes.
const DEFAULT_QUEUE: u64 = 1 << 20;
/// Packets whose delivery is awaited at a time, whatever `interface` says.
const PENDING_MAX: usize = 1 << 14;

fn make(settings: &AckFilterSettings, site: &mut Site<'_>) -> Made {
    if settings.interface == 0 {
        return Err(ParameterError::bad("interface", "0 would send nothing; write 1 or more"));
    }
    Ok(Box::new(AckFilter::new(settings, site)))
}

/// The element before a link.
#[derive(Debug)]
pub struct AckFilter {
    keep: Keep,
    interface: usize,
    queue: FlowQueue,
    pacer: Pacer,
    /// What the medium has not told of.
    pending: Tracker<()>,
    /// The port refused a packet; wait for it instead of the clock.
    is_blocked: bool,
}

impl AckFilter {
    /// The element at the near end of a link.
    pub fn new(settings: &AckFilterSettings, site: &Site<'_>) -> Self {
        let (bytes, packets) = match settings.queue {
            Some(size) => (size.0, None),
            None => (site.link.queue.map_or(DEFAULT_QUEUE, |size| size.0), site.link.queue_packets),
        };
        let limit = Limit { packets: packets.unwrap_or(u64::MAX), bytes, memory: site.max_memory.0 / 2 };
        AckFilter {
            keep: if settings.mode == Mode::Aggressive { Keep::One } else { Keep::Two },
            interface: (settings.interface as usize).min(PENDING_MAX),
            queue: FlowQueue::new(limit),
            pacer: Pacer::new(settings.rate.or(site.link.rate)),
            pending: Tracker::new(),
            is_blocked: false,
        }
    }

    /// Takes a packet that is to leave; drops one that it makes redundant, or itself where there is no room.
    fn enqueue(&mut self, cx: &mut Context<'_>, packet: Packet) {
        if self.queue.tally.waiting.packets == 0 {
            self.pacer.begin(cx.now());
        }
        match self.queue.replace(packet, self.keep) {
            Ok(redundant) => {
                cx.emit(Event::ACK_SUPPRESSED);
                cx.discard(redundant, DropReason::SUPPRESSED);
            }
            Err(packet) => {
                // What is on the air does not wait.
                let at_interface = self.pending.len().saturating_sub(1);
                if let Err((packet, reason)) = self.queue.push(packet, at_interface) {
                    cx.discard(packet, reason);
                }
            }
        }
    }

    fn has_room(&self) -> bool {
        !self.is_blocked && self.pending.len() < self.interface
    }

    /// Sends what may leave now.
    fn drain(&mut self, cx: &mut Context<'_>) {
        while self.has_room()
            && self.pacer.free_at() <= cx.now()
            && let Some(packet) = self.queue.pop()
        {
            let bytes = packet.wire_len();
            match self.pending.send(cx, packet, ()) {
                Ok(()) => self.pacer.charge(cx.now(), bytes),
                Err(packet) => {
                    self.is_blocked = true;
                    self.queue.put_back(packet);
                }
            }
        }
    }
}

impl Element for AckFilter {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::LINK {
            return cx.send(Port::INNER, packet);
        }
        self.enqueue(cx, packet);
        self.drain(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.is_blocked = false;
            self.drain(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.pending.expire(cx.now());
        self.drain(cx);
    }

    fn handle_tx_status(&mut self, cx: &mut Context<'_>, status: TxStatus) {
        self.pending.take(cx.now(), status.token);
        self.drain(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let may_send = self.has_room() && self.queue.tally.waiting.packets > 0;
        self.pending.deadline().into_iter().chain(may_send.then(|| self.pacer.free_at())).min()
    }

    fn held(&self) -> Backlog {
        self.queue.tally.waiting
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::FLOWS, self.queue.flows() as u64);
        gauge(Gauge::QUEUE_BYTES, self.queue.tally.waiting.bytes);
        gauge(Gauge::QUEUE_BYTES_MAX, self.queue.tally.bytes_max);
        gauge(Gauge::MEMORY_BYTES, self.queue.tally.memory);
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.pending.len() > self.interface {
            return Err("more packets are at the interface than it is given");
        }
        self.queue.check()
    }
}
