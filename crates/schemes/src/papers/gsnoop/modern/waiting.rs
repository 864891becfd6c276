//! Packets of one flow that wait at B: segments behind a gap, in the order of the stream, and retransmissions of
//! earlier bytes, which must not overtake what came before them.

use crate::position::Position;
use crate::seq_map::SeqMap;
use crate::tally::Tally;
use airtcp_core::{Context, DropReason, Event, Packet};
use alloc::collections::VecDeque;
use core::ops::Range;

/// Memory of an entry beside its packet.
const ENTRY: u64 = 64;

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    held: SeqMap<Packet>,
    /// Retransmissions of earlier bytes that came while packets were held.
    deferred: VecDeque<Deferred>,
    pub tally: Tally,
}

/// A packet of earlier bytes that must not overtake what came before it: a sender with RACK
/// would take everything it overtakes for lost.
#[derive(Debug)]
struct Deferred {
    packet: Packet,
    /// It may go when everything before this position went.
    behind: Position,
}

impl Waiting {
    /// Keeps a segment until everything before it went; the longer of two with the same beginning.
    pub fn hold(&mut self, cx: &mut Context<'_>, range: Range<Position>, packet: Packet) {
        let is_longer = self.held.get(range.start).is_none_or(|(end, _)| end < range.end);
        if !is_longer {
            cx.discard(packet, DropReason::DUPLICATE);
            return;
        }
        cx.emit(Event::HELD);
        self.tally.add(&packet, ENTRY);
        if let Some(shorter) = self.held.insert(range, packet) {
            self.tally.remove(&shorter, ENTRY);
            cx.discard(shorter, DropReason::DUPLICATE);
        }
    }

    /// Lets a packet of earlier bytes go when everything before `behind` went.
    pub fn defer(&mut self, cx: &mut Context<'_>, packet: Packet, behind: Position) {
        cx.emit(Event::HELD);
        self.tally.add(&packet, ENTRY);
        let place = self.deferred.partition_point(|other| other.behind <= behind);
        self.deferred.insert(place, Deferred { packet, behind });
    }

    /// The next packet that may go, when everything before `next` went or is given up.
    pub fn pop(&mut self, next: Position) -> Option<Packet> {
        let packet = self.pop_released(next)?;
        self.tally.remove(&packet, ENTRY);
        Some(packet)
    }

    fn pop_released(&mut self, next: Position) -> Option<Packet> {
        let held = self.held.first().map(|(range, _)| range.start).filter(|start| *start < next);
        let deferred = self.deferred.front().map(|deferred| deferred.behind).filter(|behind| *behind <= next);
        if let Some(behind) = deferred
            && held.is_none_or(|start| behind <= start)
        {
            return self.deferred.pop_front().map(|deferred| deferred.packet);
        }
        held.and_then(|_| self.held.pop_first()).map(|(_, packet)| packet)
    }

    /// Gives memory back when little of it is used.
    pub fn shrink(&mut self) {
        self.held.shrink();
    }

    pub fn is_empty(&self) -> bool {
        self.tally.waiting.packets == 0
    }
}
