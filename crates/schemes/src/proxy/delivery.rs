//! A link that tells what it delivered: the half that crosses it needs no acknowledgments over it (`downloads` of AS-TCP).
//!
//! What the link delivered becomes an acknowledgment for our own TCP of that half. It is made of the same numbers as a station's
//! (`emulation`) and given to the connection at once; no packet comes into being. What the other end acknowledges itself goes the
//! same way, so that the connection hears everything once and in order.

use crate::emulation::Emulation;
use crate::position::Position;
use airtcp_core::{FlowKey, Packet, TcpFlags};

/// What the other end must allow beyond what was told before our TCP is told of it: two segments.
const WINDOW_STEP: u64 = 2 * 1460;

/// A segment on its way over the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// By the direction of the SYN.
    pub flow: FlowKey,
    start: Position,
    end: Position,
    clock: Option<u32>,
}

/// Of the half of one flow that crosses the link.
#[derive(Debug)]
pub(super) struct Deliveries {
    emulation: Emulation,
    /// The flow of our segments.
    ours: FlowKey,
}

impl Deliveries {
    /// A connection whose SYN, from the host that opens it, is `syn`. With `from_link` that host is over the link.
    pub fn new(syn: &Packet, from_link: bool) -> Option<Deliveries> {
        let (flow, tcp) = (syn.flow()?, syn.tcp()?);
        if !from_link {
            return Some(Deliveries { emulation: Emulation::open(tcp), ours: flow });
        }
        let mut emulation = Emulation::offered();
        emulation.note_received(tcp);
        Some(Deliveries { emulation, ours: flow.reversed() })
    }

    /// Looks at a segment of ours that leaves, of `flow`; what to remember of it. With `tells` it says so to the other end.
    pub fn note_leaving(&mut self, flow: FlowKey, packet: &mut Packet, tells: bool) -> Option<Sent> {
        let tcp = *packet.tcp()?;
        let clock = tcp.options.timestamps.map(|stamps| stamps.value);
        if tcp.flags.syn() {
            match tcp.flags.ack() {
                true => self.emulation.answer(&tcp),
                false => self.emulation = Emulation::open(&tcp),
            }
            return Some(Sent { flow, start: 0, end: 0, clock });
        }
        let (start, end) = self.emulation.note_sent(&tcp, packet.payload_len());
        if start == end {
            return None;
        }
        if tells && self.emulation.is_open() {
            packet.set_flags(tcp.flags.with(TcpFlags::EMULATED));
        }
        Some(Sent { flow, start, end, clock })
    }

    /// Looks at a segment from over the link. `Some` if it only acknowledges, and our TCP gets what it says from here:
    /// whether there is anything to say.
    pub fn takes(&mut self, packet: &Packet) -> Option<bool> {
        let tcp = packet.tcp()?;
        let is_news = self.emulation.note_received(tcp);
        let is_plain = packet.payload_len() == 0
            && tcp.flags.without(TcpFlags::EMULATED) == TcpFlags::ACK
            && tcp.options.sack.is_empty();
        let is_taken =
            is_plain && self.emulation.is_open() && !self.emulation.is_closing() && !self.emulation.take_question();
        is_taken.then(|| is_news || self.emulation.allows_more(WINDOW_STEP))
    }

    /// The link delivered a segment; true if that moves the acknowledgment.
    pub fn deliver(&mut self, sent: &Sent) -> bool {
        if let Some(clock) = sent.clock {
            self.emulation.echo(clock);
        }
        sent.end > sent.start && self.emulation.is_open() && self.emulation.deliver(sent.start, sent.end)
    }

    /// For our TCP: everything delivered in order, and no more room than the other end has.
    pub fn acknowledgment(&mut self) -> Packet {
        self.emulation.acknowledgment(None, &self.ours, true, false, u64::MAX)
    }

    /// Bytes delivered of which the other end has said nothing.
    pub fn unconfirmed(&self) -> u64 {
        self.emulation.unconfirmed()
    }
}
