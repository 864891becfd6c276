//! The segments that were sent and are not cumulatively acknowledged: one small record per segment, with Linux's marks,
//! and the ranges that the peer reported as received (RFC 2018, RFC 6675 "scoreboard").
//!
//! Nothing here scans the window on an acknowledgment: records are found by binary search, ranges
//! already reported are skipped, and the searches for losses keep cursors that only move forward.
//! Every change of a mark goes through [`Scoreboard::reflag`], which keeps the counts of
//! [`TcpSock`] in step.

use crate::congestion::{LostSegment, TcpSock};
use crate::range_set::RangeSet;
use crate::records::Records;
use crate::sent::{Rate, SendOrder, Sent, mark};
use airtcp_core::Instant;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A retransmission in the order of time.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    /// The last 32 bits of its offset.
    start: u32,
    /// The last 32 bits of its place in the order of sending.
    order: u32,
}

/// See the module.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    records: Records,
    /// The ranges that the peer holds, on record boundaries.
    sacked: RangeSet,
    /// Retransmissions in flight, oldest first; entries may be stale.
    retransmissions: VecDeque<Retransmission>,
    /// Records that are lost and not retransmitted since.
    waiting: u32,
    /// No record below this offset is among them.
    waiting_from: u64,
    /// No first transmission below this offset can become lost by [`Scoreboard::mark_sent_before`].
    undecided_from: u64,
    /// Segments found lost that the controller was not told of, if it wants to be told.
    losses: Option<Vec<LostSegment>>,
}

/// Segments that were acknowledged and of which nothing else is to be said.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// How many.
    pub count: u32,
    /// When the first of them was sent.
    pub first_sent_at: Instant,
    /// When the last of them was sent.
    pub last_sent_at: Instant,
    /// Which transmission the last of them was, if that is kept.
    pub order: SendOrder,
    /// `delivered` when the last of them was sent, alike.
    pub delivered: u32,
}

/// Memory for more retransmissions is given back once there are none.
const LEAST_CAPACITY: usize = 8;

impl Scoreboard {
    /// The oldest record.
    #[inline]
    pub fn head(&self) -> Option<Sent> {
        self.records.first()
    }

    /// The newest record.
    pub fn tail(&self) -> Option<Sent> {
        self.records.last()
    }

    /// True with nothing in flight.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The ranges that the peer reported as received.
    pub fn sacked(&self) -> &RangeSet {
        &self.sacked
    }

    /// One past the highest offset reported held; 0 without.
    pub fn highest_sacked(&self) -> u64 {
        self.sacked.last().map_or(0, |range| range.end)
    }

    /// True if a lost segment waits to be sent again.
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Adds a segment just sent for the first time.
    #[inline]
    pub fn push(&mut self, sent: &Sent, sk: &mut TcpSock) {
        sk.packets_out += 1;
        self.records.push(sent, || Rate::now(sk));
    }

    /// From now on the order of sending is kept; without a segment in flight only.
    pub fn keep_order(&mut self) {
        self.records.keep_order();
    }

    /// The same, and [`Rate`] of each segment.
    pub fn keep_rates(&mut self) {
        self.records.keep_rates();
    }

    /// From now on segments found lost are kept for [`take_losses`](Self::take_losses).
    pub fn keep_losses(&mut self) {
        self.losses = Some(Vec::new());
    }

    /// Whether [`take_losses`](Self::take_losses) has any.
    #[inline]
    pub fn has_losses(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| !losses.is_empty())
    }

    /// Segments found lost since the last call, in the order of finding; a segment counts with each transmission.
    #[inline]
    pub fn take_losses(&mut self) -> impl Iterator<Item = LostSegment> + '_ {
        self.losses.iter_mut().flat_map(|losses| losses.drain(..))
    }

    /// The record at `index`.
    #[inline]
    pub fn record(&self, index: usize) -> Option<Sent> {
        self.records.get(index)
    }

    /// Index of the record that begins at `start`.
    pub fn index_of(&self, start: u64) -> Option<usize> {
        let index = self.first_from(start);
        self.records.get(index).filter(|record| record.start == start).map(|_| index)
    }

    /// Index of the first record that begins at or after `offset`.
    pub fn first_from(&self, offset: u64) -> usize {
        self.records.first_from(offset)
    }

    /// Removes the oldest record if it ends at or before `ack`; a record acknowledged in part is cut.
    pub fn pop_acknowledged(&mut self, ack: u64, sk: &mut TcpSock) -> Option<(Sent, Rate)> {
        let front = self.records.get(0)?;
        if front.end > ack {
            if front.start < ack {
                self.records.cut_first(ack);
            }
            return None;
        }
        let rate = self.records.rate(0);
        self.recount(front.flags, 0, sk);
        self.records.pop(1);
        sk.packets_out -= 1;
        Some((front, rate))
    }

    /// Removes the records below `ack` if that is all there is to do: nothing is reported above it, nothing was sent again,
    /// and the last of them ends at `ack`. Otherwise it leaves all as it is.
    pub fn pop_plain(&mut self, ack: u64, sk: &mut TcpSock) -> Option<Plain> {
        if !self.sacked.is_empty() || !self.retransmissions.is_empty() {
            return None;
        }
        let (count, first_sent_at, last) = self.records.plain_below(ack)?;
        let Sent { sent_at: last_sent_at, order, delivered, .. } = last;
        self.records.pop(count);
        sk.packets_out -= count as u32;
        Some(Plain { count: count as u32, first_sent_at, last_sent_at, order, delivered })
    }

    /// Everything below `ack` is gone from the network.
    pub fn forget_below(&mut self, ack: u64) {
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
        while let Some(entry) = self.retransmissions.front() {
            if self.records.offset(entry.start) >= ack {
                break;
            }
            self.retransmissions.pop_front();
        }
        if self.retransmissions.is_empty() && self.retransmissions.capacity() > LEAST_CAPACITY {
            self.retransmissions = VecDeque::new(); // Few recoveries send so much again.
        }
    }

    /// Marks every record within `[start, end)` that was not reported before; calls `on_new` for each.
    pub fn mark_sacked(&mut self, start: u64, end: u64, sk: &mut TcpSock, mut on_new: impl FnMut(&Sent, &Rate)) {
        let mut at = start;
        while at < end {
            let next = self.sacked.next_from(at);
            if let Some(range) = next.filter(|range| range.start <= at) {
                at = range.end;
                continue;
            }
            let gap_end = next.map_or(end, |range| range.start.min(end));
            let mut index = self.first_from(at);
            let mut covered = None;
            while let Some(record) = self.records.get(index) {
                if record.end > gap_end {
                    break;
                }
                self.reflag(index, after_sack(record.flags), sk);
                on_new(&record, &self.records.rate(index));
                covered = Some((covered.map_or(record.start, |(first, _)| first), record.end));
                index += 1;
            }
            if let Some((first, past)) = covered {
                self.sacked.insert(first, past);
            }
            at = gap_end;
        }
    }

    /// Marks a record lost unless it is SACKed. A retransmission of it that is in flight counts as lost, too. Returns
    /// whether anything changed.
    pub fn mark_lost(&mut self, index: usize, sk: &mut TcpSock) -> bool {
        let Some(record) = self.records.get(index) else { return false };
        if record.has(mark::SACKED) || record.flags & (mark::LOST | mark::RETRANS) == mark::LOST {
            return false;
        }
        sk.lost = sk.lost.wrapping_add(1);
        self.reflag(index, (record.flags | mark::LOST) & !mark::RETRANS, sk);
        self.waiting_from = self.waiting_from.min(record.start);
        if let Some(losses) = &mut self.losses {
            let Rate { in_flight, lost, .. } = self.records.rate(index);
            losses.push(LostSegment {
                start: record.start,
                end: record.end,
                tx_in_flight: in_flight,
                lost: sk.lost.wrapping_sub(lost),
                is_app_limited: record.has(mark::APP_LIMITED),
            });
        }
        true
    }

    /// Marks lost every first transmission that precedes `newest` in the order of sending and for
    /// which `overdue(sent_at)` is true. Returns when the last that precedes it and is not overdue was sent.
    pub fn mark_sent_before(
        &mut self,
        newest: SendOrder,
        sk: &mut TcpSock,
        overdue: impl Fn(Instant) -> bool,
    ) -> Option<Instant> {
        debug_assert!(self.records.have_order(), "the detector reads the order");
        let mut index = self.first_from(self.undecided_from);
        let (mut last, mut from) = (None, None);
        while let Some(record) = self.records.get(index) {
            if record.has(mark::SACKED) {
                let past = self.sacked.containing(record.start).map_or(record.end, |range| range.end);
                index = self.first_from(past.max(record.end));
                continue;
            }
            if !record.has(mark::LOST | mark::EVER_RETRANS | mark::JUDGED) {
                if record.order >= newest {
                    break;
                }
                if overdue(record.sent_at) {
                    self.mark_lost(index, sk);
                    self.judge(index);
                } else {
                    last = Some(record.sent_at);
                    from = from.or(Some(record.start));
                }
            }
            index += 1;
        }
        let end = self.start_of(index);
        self.undecided_from = from.unwrap_or(end);
        last
    }

    /// By its time the record at `index` was found lost.
    fn judge(&mut self, index: usize) {
        self.records.set_flags(index, self.records.flags(index) | mark::JUDGED);
    }

    /// Where the record at `index` begins, or where all end.
    fn start_of(&self, index: usize) -> u64 {
        self.records.get(index).map_or_else(|| self.end(), |record| record.start)
    }

    /// The same for retransmissions in flight. The number marked is added to `count`.
    pub fn mark_resent_before(
        &mut self,
        newest: SendOrder,
        sk: &mut TcpSock,
        count: &mut u64,
        overdue: impl Fn(Instant) -> bool,
    ) -> Option<Instant> {
        debug_assert!(self.records.have_order(), "the detector reads the order");
        let (mut at, mut last) = (0, None);
        while let Some(entry) =
            self.retransmissions.get(at).copied().filter(|entry| self.records.order(entry.order) < newest)
        {
            let current = self.current(entry);
            if let Some((_, record)) = current.filter(|(_, record)| !overdue(record.sent_at)) {
                last = Some(record.sent_at);
                at += 1;
                continue;
            }
            if let Some((index, record)) = current {
                *count += u64::from(record.has(mark::RETRANS));
                self.mark_lost(index, sk);
                self.judge(index);
            }
            if at == 0 {
                self.retransmissions.pop_front();
            } else {
                at += 1;
            }
        }
        last
    }

    /// The peer reports that `[start, end)` arrived twice. Calls `on_resent` for each record of it that was sent again.
    pub fn mark_duplicate(&mut self, start: u64, end: u64, sk: &mut TcpSock, mut on_resent: impl FnMut(&Sent)) {
        let mut index = self.first_from(start);
        while let Some(record) = self.records.get(index).filter(|record| record.end <= end) {
            if record.has(mark::EVER_RETRANS) {
                on_resent(&record);
                self.reflag(index, record.flags & !mark::RETRANS, sk);
            }
            index += 1;
        }
    }

    /// Marks lost every retransmission since which `count` segments were delivered; returns how many it marked.
    pub fn mark_resent_overtaken(&mut self, count: u32, sk: &mut TcpSock) -> u64 {
        debug_assert!(self.records.have_order(), "the detector reads the order");
        let mut marked = 0;
        while let Some(entry) = self.retransmissions.front().copied() {
            if let Some((index, record)) = self.current(entry) {
                if sk.delivered.wrapping_sub(record.delivered) < count {
                    break;
                }
                self.mark_lost(index, sk);
                marked += 1;
            }
            self.retransmissions.pop_front();
        }
        marked
    }

    /// The record that `entry` sent again, and its index, if that is its latest transmission and still in flight.
    fn current(&self, entry: Retransmission) -> Option<(usize, Sent)> {
        let index = self.index_of(self.records.offset(entry.start))?;
        let record = self.records.get(index)?;
        let is_current =
            record.order as u32 == entry.order && !record.has(mark::SACKED | mark::JUDGED) && !waits(record.flags);
        is_current.then_some((index, record))
    }

    /// Marks lost every record below `offset` that is neither SACKed nor ever retransmitted.
    pub fn mark_lost_below(&mut self, offset: u64, sk: &mut TcpSock) {
        let mut index = self.first_from(self.undecided_from);
        while let Some(record) = self.records.get(index) {
            if record.end > offset {
                break;
            }
            if !record.has(mark::SACKED | mark::LOST | mark::EVER_RETRANS) {
                self.mark_lost(index, sk);
            }
            index += 1;
        }
        self.undecided_from = self.start_of(index);
    }

    /// After a timeout: marks every record lost that is not SACKed, except those for which `spare` is true.
    pub fn mark_all_lost(&mut self, sk: &mut TcpSock, spare: impl Fn(&Sent) -> bool) {
        for index in 0..self.records.len() {
            if self.records.flags(index) & (mark::SACKED | mark::LOST | mark::RETRANS) == mark::LOST {
                continue; // As most after a timeout that others came before.
            }
            if index == 0 || !self.records.get(index).is_some_and(|record| spare(&record)) {
                self.mark_lost(index, sk);
            }
        }
    }

    /// Takes every loss mark back: nothing had been lost.
    pub fn unmark_lost(&mut self, sk: &mut TcpSock) {
        for index in 0..self.records.len() {
            let flags = self.records.flags(index);
            self.reflag(index, flags & !mark::LOST, sk);
        }
        self.undecided_from = 0;
    }

    /// The receiver dropped what it had reported (RFC 2018 section 8): forgets every report.
    pub fn renege(&mut self, sk: &mut TcpSock) {
        for index in 0..self.records.len() {
            let flags = self.records.flags(index);
            self.reflag(index, flags & !mark::SACKED, sk);
        }
        self.sacked.clear();
        self.undecided_from = 0;
    }

    /// Index of the lowest lost segment that waits to be sent again.
    pub fn next_waiting(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.first_from(self.waiting_from);
        let found = (from..self.records.len())
            .find(|index| self.records.flags(*index) & (mark::LOST | mark::RETRANS | mark::SACKED) == mark::LOST);
        if let Some(record) = found.and_then(|index| self.records.get(index)) {
            self.waiting_from = record.start;
        }
        found
    }

    /// Notes that the record at `index` was sent again: as a repair, which counts as in flight, or as a probe.
    pub fn resent(&mut self, index: usize, is_repair: bool, now: Instant, sk: &mut TcpSock) {
        let marks = if is_repair { mark::RETRANS | mark::EVER_RETRANS } else { mark::EVER_RETRANS };
        let flags = self.records.flags(index);
        self.reflag(index, (flags | marks) & !mark::JUDGED, sk);
        if let Some((start, order)) = self.records.resend(index, now, sk.delivered, Rate::now(sk)) {
            self.retransmissions.push_back(Retransmission { start: start as u32, order: order as u32 });
        }
    }

    fn end(&self) -> u64 {
        if self.records.is_empty() { 0 } else { self.records.end() }
    }

    /// Sets the flags of a record and moves the counts with them.
    fn reflag(&mut self, index: usize, flags: u8, sk: &mut TcpSock) {
        let old = self.records.set_flags(index, flags);
        self.recount(old, flags, sk);
    }

    /// The marks of a record were `old` and are `flags`.
    #[inline]
    fn recount(&mut self, old: u8, flags: u8, sk: &mut TcpSock) {
        if (old ^ flags) & (mark::SACKED | mark::LOST | mark::RETRANS) == 0 {
            return;
        }
        adjust(&mut sk.sacked_out, old & mark::SACKED != 0, flags & mark::SACKED != 0);
        adjust(&mut sk.lost_out, old & mark::LOST != 0, flags & mark::LOST != 0);
        adjust(&mut sk.retrans_out, old & mark::RETRANS != 0, flags & mark::RETRANS != 0);
        adjust(&mut self.waiting, waits(old), waits(flags));
    }
}

fn waits(flags: u8) -> bool {
    flags & (mark::LOST | mark::RETRANS) == mark::LOST
}

fn adjust(count: &mut u32, before: bool, after: bool) {
    if after && !before {
        *count += 1;
    } else if before && !after {
        // Without SACK the count of SACKed segments is an estimate that may be reset.
        *count = count.saturating_sub(1);
    }
}

/// Flags of a record that has just been selectively acknowledged. A retransmission that was never
/// needed is still in flight, so its mark stays.
fn after_sack(flags: u8) -> u8 {
    let cleared = if flags & mark::LOST != 0 { flags & !(mark::LOST | mark::RETRANS) } else { flags };
    cleared | mark::SACKED | mark::DELIVERED
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;
    use alloc::vec::Vec;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn board(segments: u64) -> (Scoreboard, TcpSock) {
        let (mut board, mut sk) = (Scoreboard::default(), TcpSock::new(Rng::derive(1, "board")));
        board.keep_order();
        send(&mut board, &mut sk, segments);
        (board, sk)
    }

    fn send(board: &mut Scoreboard, sk: &mut TcpSock, segments: u64) {
        for n in 0..segments {
            let sent =
                Sent { start: 1 + n * 100, end: 101 + n * 100, sent_at: at(n), order: 0, delivered: 0, flags: 0 };
            board.push(&sent, sk);
        }
    }

    fn counts(sk: &TcpSock) -> [u32; 4] {
        [sk.packets_out, sk.sacked_out, sk.lost_out, sk.retrans_out]
    }

    #[test]
    fn a_repeated_block_reports_nothing_new() {
        let (mut board, mut sk) = board(10);
        let mut new = Vec::new();
        board.mark_sacked(201, 401, &mut sk, |record, _| new.push(record.start));
        board.mark_sacked(201, 501, &mut sk, |record, _| new.push(record.start));
        board.mark_sacked(101, 501, &mut sk, |record, _| new.push(record.start));
        assert_eq!(new, [201, 301, 401, 101]);
        assert_eq!(counts(&sk), [10, 4, 0, 0]);
        assert_eq!(sk.tcp_packets_in_flight(), 6);
    }

    #[test]
    fn a_block_that_covers_half_a_segment_does_not_count_it() {
        let (mut board, mut sk) = board(4);
        board.mark_sacked(101, 250, &mut sk, |_, _| {});
        assert_eq!(counts(&sk), [4, 1, 0, 0]);
        board.mark_sacked(101, 301, &mut sk, |_, _| {});
        assert_eq!(counts(&sk), [4, 2, 0, 0]);
    }

    #[test]
    fn lost_segments_wait_in_order_until_resent_and_can_be_lost_again() {
        let (mut board, mut sk) = board(6);
        board.mark_sacked(401, 601, &mut sk, |_, _| {});
        board.mark_lost_below(301, &mut sk);
        assert_eq!(counts(&sk), [6, 2, 3, 0]);
        for _ in 0..3 {
            let index = board.next_waiting().unwrap();
            board.resent(index, true, at(50 + index as u64), &mut sk);
        }
        assert_eq!((board.next_waiting(), counts(&sk)), (None, [6, 2, 3, 3]));
        let mut again = 0;
        let undecided = board.mark_resent_before(100, &mut sk, &mut again, |sent| sent < at(52));
        assert_eq!((again, undecided), (2, Some(at(52))));
        assert_eq!(board.next_waiting(), Some(0));
        assert_eq!(counts(&sk), [6, 2, 3, 1]);
    }

    #[test]
    fn losses_are_kept_with_what_was_in_flight_and_what_was_lost_since() {
        let mut sk = TcpSock::new(Rng::derive(1, "board"));
        let mut board = Scoreboard::default();
        board.keep_losses();
        board.keep_rates();
        send(&mut board, &mut sk, 6);
        board.mark_sacked(401, 601, &mut sk, |_, _| {});
        board.mark_lost_below(201, &mut sk);
        let told: Vec<_> = board.take_losses().map(|lost| (lost.start, lost.tx_in_flight, lost.lost)).collect();
        assert_eq!(told, [(1, 1, 1), (101, 2, 2)]);
        assert_eq!(board.take_losses().count(), 0, "each is told once");
        // Sent again with three of six in flight, and lost again after another loss.
        let index = board.next_waiting().unwrap();
        board.resent(index, true, at(50), &mut sk);
        board.mark_lost_below(301, &mut sk);
        board.mark_resent_overtaken(0, &mut sk);
        let told: Vec<_> = board.take_losses().map(|lost| (lost.start, lost.tx_in_flight, lost.lost)).collect();
        assert_eq!(told, [(201, 3, 3), (1, 3, 2)]);
    }

    #[test]
    fn only_what_was_sent_before_the_newest_delivered_is_lost() {
        let (mut board, mut sk) = board(6);
        board.mark_sacked(301, 401, &mut sk, |_, _| {});
        let undecided = board.mark_sent_before(4, &mut sk, |sent| sent < at(2));
        assert_eq!((undecided, counts(&sk)), (Some(at(2)), [6, 1, 2, 0]));
        assert_eq!(board.mark_sent_before(4, &mut sk, |_| true), None);
        assert_eq!(counts(&sk), [6, 1, 3, 0]);
    }

    #[test]
    fn acknowledgment_empties_the_board_and_its_counts() {
        let (mut board, mut sk) = board(5);
        board.mark_sacked(201, 301, &mut sk, |_, _| {});
        board.mark_lost_below(201, &mut sk);
        let index = board.next_waiting().unwrap();
        board.resent(index, true, at(9), &mut sk);
        while board.pop_acknowledged(501, &mut sk).is_some() {}
        board.forget_below(501);
        assert!(board.is_empty() && board.sacked().is_empty() && !board.has_waiting());
        assert_eq!(counts(&sk), [0; 4]);
    }

    #[test]
    fn a_part_acknowledged_segment_is_cut() {
        let (mut board, mut sk) = board(2);
        assert!(board.pop_acknowledged(51, &mut sk).is_none());
        assert_eq!(board.head().unwrap().payload_len(), 50);
        assert_eq!(board.index_of(51), Some(0));
    }
}
