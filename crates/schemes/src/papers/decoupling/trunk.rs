//! A trunk: one circuit for everything that a router forwards along a path (DEC-28).
//!
//! [`Near`] sits where the path leaves its first node: what the node forwards there goes through the tunnel queue instead
//! ("one routing entry", DEC-2). [`Far`] sits at the last node and sees only what is for that node itself; data pass there
//! as in any router (DEC-19), and so does whatever goes the other way, at both. A full tunnel queue of a router drops.
//! What the packets carry does not matter: a stream of datagrams is sent as TCP would, and not repeated (DEC-29).

use super::{Circuit, CircuitEnd, CircuitSettings, Departure, Stats};
use crate::papers::decoupling::events;
use crate::{End, Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, CreateReason, DropReason, Element, Gauge, Instant, Packet, Port};
use alloc::boxed::Box;

/// TCP Decoupling's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "decoupling",
    about: "A trunk whose rate is set by control TCPs with header packets; its data is not changed, acknowledged or retransmitted",
    source: "Wang & Kung, Use of TCP Decoupling in Improving TCP Performance over Wireless Networks",
    placement: Placement::Path,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: events::GAUGES },
    settings: || settings_for(make),
};

fn make(settings: &CircuitSettings, site: &mut Site<'_>) -> Made {
    settings.check()?;
    let Some([local, remote]) = site.link.addresses else {
        return Err(ParameterError::bad(
            "from",
            "the control TCPs need the addresses of both ends; place the scheme with from and to",
        ));
    };
    Ok(match site.end {
        End::Near => {
            let circuit = Circuit::new(settings, local, remote, site.rng, Instant::ZERO);
            Box::new(Near::new(circuit, site.max_memory.0))
        }
        End::Far => Box::new(Far::new(CircuitEnd::new(settings, local, remote, site.rng))),
    })
}

/// The sending end.
#[derive(Debug)]
pub struct Near {
    circuit: Circuit,
    /// Left the circuit, and the port had no room.
    refused: Option<Packet>,
    max_queue_memory: u64,
    counted: Stats,
}

impl Near {
    /// The element before the path; no more than a quarter of `max_memory` bytes wait in the tunnel queue.
    pub fn new(circuit: Circuit, max_memory: u64) -> Near {
        let max_queue_memory = circuit.memory() + max_memory / 4;
        Near { circuit, refused: None, max_queue_memory, counted: Stats::default() }
    }

    fn tunnel(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let memory = self.circuit.memory() + packet.memory() as u64;
        if self.circuit.held().packets > 0 && memory > self.max_queue_memory {
            return cx.discard(packet, DropReason::MEMORY_LIMIT);
        }
        if let Err(packet) = self.circuit.offer(cx.now(), packet) {
            cx.discard(packet, DropReason::QUEUE_FULL);
        }
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.refused.take().or_else(|| self.next(cx)) {
            if let Err(packet) = cx.try_send(Port::LINK, packet) {
                self.refused = Some(packet);
                break;
            }
        }
        let (now, before) = (*self.circuit.stats(), core::mem::replace(&mut self.counted, *self.circuit.stats()));
        cx.emit_many(events::TUNNELLED, now.data_packets - before.data_packets);
        cx.emit_many(events::GUARANTEED, now.guaranteed_packets - before.guaranteed_packets);
        cx.emit_many(events::HEADER_PACKET, now.header_packets - before.header_packets);
        cx.emit_many(events::HEADER_RETRANSMISSION, now.header_retransmissions - before.header_retransmissions);
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        Some(match self.circuit.poll_transmit(cx.now())? {
            Departure::Data(packet) => packet,
            Departure::Control(packet) => cx.create(packet, CreateReason::CONTROL),
        })
    }
}

impl Element for Near {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER {
            self.tunnel(cx, packet);
        } else if self.circuit.owns(&packet) {
            self.circuit.handle_control(cx.now(), &packet);
            end(cx, packet);
        } else {
            return cx.send(Port::INNER, packet);
        }
        self.drive(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, _port: Port) {
        self.drive(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.circuit.handle_timeout(cx.now());
        self.drive(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.circuit.poll_timeout()
    }

    fn held(&self) -> Backlog {
        let waiting = self.circuit.held();
        let refused = self.refused.as_ref().map_or(0, |packet| u64::from(packet.wire_len()));
        Backlog { packets: waiting.packets + usize::from(self.refused.is_some()), bytes: waiting.bytes + refused }
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let refused = self.refused.as_ref().map_or(0, |packet| packet.memory() as u64);
        gauge(Gauge::QUEUE_BYTES, self.circuit.held().bytes);
        gauge(Gauge::QUEUE_BYTES_MAX, self.circuit.held_bytes_max());
        gauge(events::CIRCUIT_WINDOW_BYTES, self.circuit.window_bytes());
        gauge(Gauge::MEMORY_BYTES, self.circuit.memory() + refused);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuit.check()
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct Far {
    end: CircuitEnd,
}

impl Far {
    /// The element at the end of the path.
    pub fn new(end: CircuitEnd) -> Far {
        Far { end }
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.end.poll_transmit(cx.now()) {
            let packet = cx.create(packet, CreateReason::CONTROL);
            cx.send(Port::LINK, packet);
        }
    }
}

impl Element for Far {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port != Port::LINK || !self.end.owns(&packet) {
            return cx.send(port.opposite(), packet);
        }
        self.end.handle_control(cx.now(), &packet);
        end(cx, packet);
        self.drive(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.end.handle_timeout(cx.now());
        self.drive(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.end.poll_timeout()
    }

    fn check(&self) -> Result<(), &'static str> {
        self.end.check()
    }
}

/// A control packet ends here.
fn end(cx: &mut Context<'_>, packet: Packet) {
    if packet.checksum_holds() {
        cx.consume(packet);
    } else {
        cx.discard(packet, DropReason::CORRUPTED);
    }
}
