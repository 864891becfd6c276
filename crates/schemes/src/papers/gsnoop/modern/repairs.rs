//! Answers to requests: the fewest copies that cover what is missing, and never more than repairs may take of the link.

use super::cache::{Copies, Copy};
use super::timing::Timing;
use crate::egress::Allowance;
use crate::egress::Egress;
use crate::papers::gsnoop::events;
use crate::position::Position;
use airtcp_core::{Context, CreateReason, DropReason, Duration, Event, Instant, Packet};
use alloc::vec::Vec;
use core::ops::Range;

/// Late timers and other packets ahead: how much later than a round trip a request that crossed a
/// repair may come.
const SLACK: Duration = Duration::from_millis(1);
/// Repairs take at most one part in so many of the link's time.
const PARTS: u64 = 2;

/// Sends repairs.
#[derive(Debug)]
pub(super) struct Repairs {
    allowance: Allowance,
}

/// A copy, and what it covers.
type Found<'a> = (Range<Position>, &'a mut Copy);

/// What came of a request.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// What no copy has.
    pub absent: Vec<Range<Position>>,
    /// A repair is on its way.
    pub is_repaired: bool,
}

impl Default for Repairs {
    fn default() -> Self {
        Repairs { allowance: Allowance::new(PARTS) }
    }
}

impl Repairs {
    /// Queues the copies of what is `asked` for.
    pub fn answer(
        &mut self,
        cx: &mut Context<'_>,
        egress: &mut Egress,
        copies: &mut Copies,
        asked: Range<Position>,
        timing: &Timing,
    ) -> Answer {
        let (chosen, absent) = cover(copies, asked);
        let mut answer = Answer { absent, is_repaired: false };
        for (range, copy) in chosen {
            if !copy.packet.checksum_holds() {
                // It was damaged before it came here; the other end would not take a repair either.
                answer.absent.push(range);
            } else if answered_at(copy, egress, timing) <= cx.now() {
                answer.is_repaired |= self.send(cx, egress, copy, timing);
            }
        }
        answer
    }

    fn send(&mut self, cx: &mut Context<'_>, egress: &mut Egress, copy: &mut Copy, timing: &Timing) -> bool {
        let now = cx.now();
        let time = egress.transmission(copy.packet.wire_len());
        let mut may_send = || self.allowance.take(now, time, timing.hold + timing.rtt);
        if !may_send() {
            cx.emit(events::REPAIR_REFUSED);
            return false;
        }
        if !queue_copy(cx, egress, &copy.packet, CreateReason::REPAIR, Event::REPAIR) {
            return false;
        }
        copy.sent_at = egress.repair_departure(now);
        // Asked for again, it has little time left: two copies make that try count.
        if copy.repairs > 0 && is_recognisable(&copy.packet) && may_send() {
            queue_copy(cx, egress, &copy.packet, events::REDUNDANT_COPY, events::REDUNDANT);
        }
        copy.repairs = copy.repairs.saturating_add(1);
        true
    }
}

/// From when on a request is about this transmission of a copy: one that left before the copy could arrive says nothing
/// about it. An original is asked for once something behind it arrived; a repair also by the requests for others, so there
/// the spread of the round trip counts on the other side.
fn answered_at(copy: &Copy, egress: &Egress, timing: &Timing) -> Instant {
    let transmission = egress.transmission(copy.packet.wire_len());
    let spread = timing.rtt / 16;
    let least = if copy.repairs > 0 { timing.rtt + spread + SLACK } else { timing.rtt.saturating_sub(spread) };
    copy.sent_at + transmission + least
}

/// The fewest copies that cover as much as can be of `asked`, and the ranges of it that none covers. A sender may cut the
/// same bytes in many ways; to send every copy that has one of them would multiply its traffic.
fn cover(copies: &mut Copies, asked: Range<Position>) -> (Vec<Found<'_>>, Vec<Range<Position>>) {
    let (mut chosen, mut absent) = (Vec::new(), Vec::new());
    let mut covered = asked.start;
    // Of the copies that begin where all is covered before, the one that reaches furthest.
    let mut best: Option<Found<'_>> = None;
    for (range, copy) in copies.overlapping_mut(asked.clone()) {
        if range.start > covered {
            if let Some(best) = best.take() {
                covered = best.0.end;
                chosen.push(best);
            }
            if range.start > covered {
                absent.push(covered..range.start);
                covered = range.start;
            }
        }
        if range.end > best.as_ref().map_or(covered, |(best, _)| best.end) {
            best = Some((range, copy));
        }
    }
    if let Some(best) = best {
        covered = best.0.end;
        chosen.push(best);
    }
    if covered < asked.end {
        absent.push(covered..asked.end);
    }
    (chosen, absent)
}

/// Puts a copy of `packet` at the head of the queue; false if it is full.
fn queue_copy(cx: &mut Context<'_>, egress: &mut Egress, packet: &Packet, reason: CreateReason, event: Event) -> bool {
    let copy = cx.duplicate(packet, reason);
    let result = egress.push_repair(cx.now(), copy);
    match result {
        Ok(()) => cx.emit(event),
        Err(copy) => {
            cx.discard(copy, DropReason::QUEUE_FULL);
            return false;
        }
    }
    true
}

/// Timestamps tell a second copy from a sender's retransmission, so B can drop the one only.
pub(super) fn is_recognisable(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.options.timestamps.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::cache::CacheOrder;
    use super::*;
    use crate::testing::data;
    use std::vec;

    /// Start and end of ranges.
    type Ends = Vec<[Position; 2]>;

    /// What is chosen of copies at `ranges`, and what is absent.
    fn covered(ranges: impl IntoIterator<Item = Range<Position>>, asked: Range<Position>) -> (Ends, Ends) {
        let (mut order, mut copies) = (CacheOrder::default(), Copies::default());
        for range in ranges {
            order.insert(0, &mut copies, range, data(0), Instant::ZERO);
        }
        let (chosen, absent) = cover(&mut copies, asked);
        let ends = |range: Range<Position>| [range.start, range.end];
        (chosen.into_iter().map(|(range, _)| ends(range)).collect(), absent.into_iter().map(ends).collect())
    }

    #[test]
    fn segments_of_a_stream_are_each_needed_and_holes_between_them_are_told() {
        let ranges = [0..10, 10..20, 30..40];
        assert_eq!(covered(ranges.clone(), 5..40), (vec![[0, 10], [10, 20], [30, 40]], vec![[20, 30]]));
        assert_eq!(covered(ranges.clone(), 12..15), (vec![[10, 20]], vec![]));
        assert_eq!(covered(ranges, 20..50), (vec![[30, 40]], vec![[20, 30], [40, 50]]));
        assert_eq!(covered([], 3..4), (vec![], vec![[3, 4]]));
    }

    #[test]
    fn a_byte_that_a_thousand_copies_have_is_repaired_by_one() {
        let overlapping = || (0..1000).map(|start| start..start + 1400);
        assert_eq!(covered(overlapping(), 1200..1201).0.len(), 1);
        assert_eq!(covered(overlapping(), 0..2399), (vec![[0, 1400], [999, 2399]], vec![]));
    }
}
