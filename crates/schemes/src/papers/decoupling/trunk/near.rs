//! The sending end of a trunk.

use super::message::{self, Way};
use super::tunnel::{self, Admitted, Tunnel};
use crate::papers::decoupling::events;
use crate::papers::decoupling::{Circuit, Departure, Stats};
use airtcp_core::{Backlog, Context, CreateReason, DropReason, Element, Gauge, Instant, Packet, Port};

/// The tunnel queue and the control TCPs.
#[derive(Debug)]
pub struct Near {
    circuit: Circuit,
    /// Control TCPs travel in messages, and not as segments.
    by_message: bool,
    /// Data travel in messages, too.
    tunnel: Option<Tunnel>,
    /// Left the circuit, and the port had no room.
    refused: Option<Packet>,
    max_queue_memory: u64,
    counted: Stats,
}

impl Near {
    /// The element before the path; no more than a quarter of `max_memory` bytes wait in the tunnel queue.
    pub fn new(circuit: Circuit, max_memory: u64) -> Near {
        let max_queue_memory = circuit.memory() + max_memory / 4;
        Near { circuit, by_message: false, tunnel: None, refused: None, max_queue_memory, counted: Stats::default() }
    }

    /// The same, whose control TCPs travel in messages, and its data if there is a tunnel.
    pub(super) fn by_message(circuit: Circuit, max_memory: u64, tunnel: Option<Tunnel>) -> Near {
        Near { by_message: true, tunnel, ..Near::new(circuit, max_memory) }
    }

    /// The circuit, for a look.
    pub(super) fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The far end is another process, or has come back.
    pub(super) fn reopen(&mut self, now: Instant) {
        self.circuit.reopen(now);
    }

    /// An answer to a control TCP that came in a message.
    pub(super) fn handle_answer(&mut self, cx: &mut Context<'_>, segment: &Packet) {
        self.circuit.handle_control(cx.now(), segment);
        self.drive(cx);
    }

    /// A packet for the trunk.
    pub(super) fn take(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let Some(tunnel) = &mut self.tunnel else { return self.enter(cx, packet) };
        match tunnel.admit(cx, packet) {
            Admitted::Whole(packet) => self.enter(cx, packet),
            Admitted::Fragments(fragments) => fragments.into_iter().for_each(|packet| self.enter(cx, packet)),
            Admitted::Nothing => {}
        }
    }

    fn enter(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let memory = self.circuit.memory() + packet.memory() as u64;
        if self.circuit.held().packets > 0 && memory > self.max_queue_memory {
            return cx.discard(packet, DropReason::MEMORY_LIMIT);
        }
        if let Err(packet) = self.circuit.offer(cx.now(), packet) {
            cx.discard(packet, DropReason::QUEUE_FULL);
        }
        self.discard_dropped(cx);
    }

    /// Learns what the path takes before there is a packet for it.
    pub(super) fn look(&mut self, cx: &Context<'_>) {
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.look(cx);
        }
    }

    /// What waits leaves without credit and header packets.
    pub(super) fn release(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.refused.take().or_else(|| self.circuit.take_unasked(cx.now())) {
            cx.send(Port::LINK, if self.tunnel.is_some() { tunnel::without(packet) } else { packet });
        }
        self.discard_dropped(cx);
    }

    /// Sends what may leave.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.refused.take().or_else(|| self.next(cx)) {
            if let Err(packet) = cx.try_send(Port::LINK, packet) {
                self.refused = Some(packet);
                break;
            }
        }
        self.discard_dropped(cx);
        let (now, before) = (*self.circuit.stats(), core::mem::replace(&mut self.counted, *self.circuit.stats()));
        cx.emit_many(events::TUNNELLED, now.data_packets - before.data_packets);
        cx.emit_many(events::GUARANTEED, now.guaranteed_packets - before.guaranteed_packets);
        cx.emit_many(events::HEADER_PACKET, now.header_packets - before.header_packets);
        cx.emit_many(events::HEADER_RETRANSMISSION, now.header_retransmissions - before.header_retransmissions);
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        loop {
            match self.circuit.poll_transmit(cx.now())? {
                Departure::Data(packet) if self.tunnel.is_some() => message::send_data(cx, packet),
                Departure::Data(packet) => return Some(packet),
                Departure::Control(packet) if self.by_message => message::send(cx, Way::Out, &packet),
                Departure::Control(packet) => return Some(cx.create(packet, CreateReason::CONTROL)),
            }
        }
    }

    fn discard_dropped(&mut self, cx: &mut Context<'_>) {
        while let Some((packet, reason)) = self.circuit.take_dropped() {
            cx.discard(packet, reason);
        }
    }
}

impl Element for Near {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER {
            self.take(cx, packet);
        } else if self.circuit.owns(&packet) {
            self.circuit.handle_control(cx.now(), &packet);
            message::end(cx, packet);
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
        if let Some(tunnel) = &self.tunnel {
            gauge(events::TUNNEL_MTU, u64::from(tunnel.mtu()));
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuit.check()
    }
}
