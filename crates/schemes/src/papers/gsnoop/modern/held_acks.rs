//! The *suppression* variant: B passes data on at once and keeps the acknowledgments that tell of a gap from the
//! sender, instead of the gap from the receiver. An ablation: what the paper's idea is worth for SACK senders.
//!
//! Counting as in the paper does not do: with ACK compression there are fewer acknowledgments than packets,
//! and one SACK block that gets through tells a RACK sender everything (SPEC 7.3). So bare repetitions of the
//! latest acknowledgment, with whatever SACK blocks, are held while the gap they name is asked for, and, since
//! more of them are under way when the repair passes, until the receiver has acknowledged the repair. That
//! drops them; a gap that is given up lets them go.
//!
//! Never held: what acknowledges more, carries data, SYN, FIN or RST, changes the window, the flags (ECN) or
//! the echoed timestamp, or reports a duplicate (D-SACK).

use crate::papers::gsnoop::events;
use crate::position::Position;
use crate::tally::Tally;
use airtcp_core::{Context, DropReason, Event, Instant, Packet, TcpHeader};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Repaired gaps whose acknowledgment is awaited.
const MAX_REPAIRED: usize = 256;
/// Memory of an entry beside its packet.
const ENTRY: u64 = size_of::<Packet>() as u64;

/// The acknowledgments of one flow.
#[derive(Debug, Default)]
pub(super) struct HeldAcks {
    latest: Option<Latest>,
    /// Repetitions of the latest acknowledgment.
    held: VecDeque<Packet>,
    pub tally: Tally,
    /// Beginnings of repaired gaps, and until when the receiver may still repeat that it misses them.
    repaired: VecDeque<(Position, Instant)>,
    /// Held before, to be sent now; the owner takes them after each call.
    pub released: Vec<Packet>,
}

/// What a repetition of the latest acknowledgment has in common with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latest {
    number: Position,
    window: u16,
    flags: u16,
    echo: Option<u32>,
}

impl Latest {
    fn new(tcp: &TcpHeader, number: Position) -> Self {
        let echo = tcp.options.timestamps.map(|timestamps| timestamps.echo);
        Latest { number, window: tcp.window, flags: tcp.flags.0, echo }
    }
}

/// Where a flow stands when an acknowledgment comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub now: Instant,
    /// The lowest missing position, if it was asked for.
    pub asked: Option<Position>,
    /// How many may be held.
    pub room: usize,
}

impl HeldAcks {
    /// An acknowledgment of everything before `number`, on its way to the sender: gives it back unless it is held.
    pub fn handle_packet(
        &mut self,
        cx: &mut Context<'_>,
        packet: Packet,
        number: Position,
        standing: &Standing,
    ) -> Option<Packet> {
        let Some(tcp) = packet.tcp() else { return Some(packet) };
        let this = Latest::new(tcp, number);
        let is_dsack = tcp.options.sack.as_slice().first().is_some_and(|(left, _)| left.before(tcp.acknowledgment));
        match self.latest {
            Some(latest) if number < latest.number => return Some(packet),
            Some(latest) if this == latest && packet.sequence_len() == 0 && !is_dsack => {}
            Some(latest) if number == latest.number => {
                self.latest = Some(this);
                return Some(packet);
            }
            _ => {
                self.on_progress(cx, this);
                return Some(packet);
            }
        }
        let is_repaired = self.repaired.iter().any(|(start, until)| *start == number && *until > standing.now);
        let tells_of_ours = standing.asked == Some(number) || is_repaired;
        if !tells_of_ours || self.held.len() >= standing.room {
            return Some(packet);
        }
        cx.emit(events::ACK_HELD);
        self.tally.add(&packet, ENTRY);
        self.held.push_back(packet);
        None
    }

    /// The receiver has more: what was held is out of date.
    fn on_progress(&mut self, cx: &mut Context<'_>, latest: Latest) {
        self.latest = Some(latest);
        self.repaired.retain(|(start, _)| *start >= latest.number);
        while let Some(stale) = self.pop() {
            cx.emit(Event::ACK_SUPPRESSED);
            cx.discard(stale, DropReason::DUPLICATE);
        }
    }

    fn pop(&mut self) -> Option<Packet> {
        let packet = self.held.pop_front()?;
        self.tally.remove(&packet, ENTRY);
        Some(packet)
    }

    /// A gap from `start` on that was asked for is repaired; its acknowledgment is awaited until then.
    pub fn on_repaired(&mut self, start: Position, until: Instant) {
        self.repaired.push_back((start, until));
        if self.repaired.len() > MAX_REPAIRED {
            self.repaired.pop_front();
        }
    }

    /// What is held because of a gap that is neither `asked` for nor repaired lately goes on.
    pub fn release_hopeless(&mut self, cx: &mut Context<'_>, now: Instant, asked: Option<Position>) {
        self.repaired.retain(|(_, until)| *until > now);
        let number = self.latest.map(|latest| latest.number);
        let has_hope = number == asked || self.repaired.iter().any(|(start, _)| Some(*start) == number);
        if !has_hope {
            self.release(cx);
        }
    }

    /// Everything goes on.
    pub fn release(&mut self, cx: &mut Context<'_>) {
        while let Some(packet) = self.pop() {
            cx.emit(events::ACK_RELEASED);
            self.released.push(packet);
        }
    }

    /// When [`HeldAcks::release_hopeless`] may have something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let until = self.repaired.iter().map(|(_, until)| *until).min();
        until.filter(|_| !self.held.is_empty())
    }
}
