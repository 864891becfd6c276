//! The records of the segments in flight as they are in memory: 16 bytes each, of which an acknowledgment reads a cache line
//! for four. Offsets and numbers of transmissions are kept in 32 bits, as differences from the newest.
//!
//! What only loss detection by the order of sending and controllers that measure delivery rates look at is apart, and kept for
//! those alone.

use crate::block_queue::BlockQueue;
use crate::sent::{Rate, SendOrder, Sent, mark};
use airtcp_core::{Instant, count_one};
use alloc::boxed::Box;

/// One segment.
#[derive(Clone, Copy, Debug)]
struct Record {
    sent_at: Instant,
    /// Offset of its first byte.
    start: u32,
    /// Of its payload.
    len: u16,
    flags: u8,
}

const _: () = assert!(size_of::<Record>() == 16);

/// Which transmission the latest of a segment was, and how much had been delivered then.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    order: u32,
    delivered: u32,
}

/// What is kept of segments besides if somebody asks for it, each by the index of its record.
#[derive(Clone, Debug, Default)]
struct More {
    latest: BlockQueue<Latest>,
    rates: Option<BlockQueue<Rate>>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Records {
    all: BlockQueue<Record>,
    more: Option<Box<More>>,
    /// One past the highest offset: all records begin less than 2^32 before it.
    end: u64,
    /// Transmissions so far: the latest of each record is less than 2^32 of them ago.
    transmissions: SendOrder,
}

/// The number whose last 32 bits are `low`, less than 2^32 before `newest`.
#[inline]
fn widened(low: u32, newest: u64) -> u64 {
    newest.wrapping_sub(u64::from((newest as u32).wrapping_sub(low)))
}

impl Records {
    /// From now on it is kept in which order segments were sent; without a record only.
    pub fn keep_order(&mut self) {
        self.keep_more();
    }

    /// The same, and rates.
    pub fn keep_rates(&mut self) {
        self.keep_more().rates.get_or_insert_default();
    }

    fn keep_more(&mut self) -> &mut More {
        debug_assert!(self.is_empty(), "what is kept besides is found by the index of a record");
        self.more.get_or_insert_default()
    }

    /// True if it is kept in which order segments were sent.
    pub fn have_order(&self) -> bool {
        self.more.is_some()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True without any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One past the highest offset that was ever sent.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The offset whose last 32 bits are these, of what is or was in flight lately.
    #[inline]
    pub fn offset(&self, low: u32) -> u64 {
        widened(low, self.end)
    }

    /// The place in the order of sending whose last 32 bits are these.
    #[inline]
    pub fn order(&self, low: u32) -> SendOrder {
        widened(low, self.transmissions)
    }

    /// The record at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Sent> {
        self.all.get(index).map(|record| self.sent(index, record))
    }

    /// The oldest.
    #[inline]
    pub fn first(&self) -> Option<Sent> {
        self.get(0)
    }

    /// The newest.
    pub fn last(&self) -> Option<Sent> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The marks of the record at `index`; none if there is no such record.
    #[inline]
    pub fn flags(&self, index: usize) -> u8 {
        self.all.get(index).map_or(0, |record| record.flags)
    }

    #[inline]
    fn sent(&self, index: usize, record: &Record) -> Sent {
        let start = self.offset(record.start);
        let (order, delivered) = self.latest(index);
        let Record { sent_at, flags, .. } = *record;
        Sent { start, end: self.offset(record.past()), sent_at, order, delivered, flags }
    }

    /// The latest transmission of the record at `index`, and how much had been delivered then; zeros if that is not kept.
    #[inline]
    fn latest(&self, index: usize) -> (SendOrder, u32) {
        let latest = self.more.as_ref().and_then(|more| more.latest.get(index));
        latest.map_or((0, 0), |latest| (self.order(latest.order), latest.delivered))
    }

    /// What a record says of rates; nothing if that is not kept.
    pub fn rate(&self, index: usize) -> Rate {
        let rates = self.more.as_ref().and_then(|more| more.rates.as_ref());
        rates.and_then(|rates| rates.get(index)).copied().unwrap_or_default()
    }

    /// Index of the first record that begins at or after `offset`.
    pub fn first_from(&self, offset: u64) -> usize {
        let Some(first) = self.all.first() else { return 0 };
        let start = widened(first.start, self.end);
        if start >= offset {
            return 0;
        }
        if offset >= self.end {
            return self.len();
        }
        // Nearly all are as long as the first, and none is empty: then its place is known.
        let guess = ((offset - start) as u32 / u32::from(first.len).max(1)) as usize;
        if self.all.get(guess).is_some_and(|record| record.start == offset as u32) {
            return guess;
        }
        self.all.partition_point(|record| widened(record.start, self.end) < offset)
    }

    /// Adds a segment that was sent for the first time, as the next transmission whatever `order` says; `rate` is asked for what
    /// is kept of rates.
    #[inline]
    pub fn push(&mut self, sent: &Sent, rate: impl FnOnce() -> Rate) {
        let (start, order) = (sent.start as u32, self.next_order());
        let len = (sent.end as u32).wrapping_sub(start).wrapping_sub(u32::from(sent.has(mark::FIN))) as u16;
        debug_assert_eq!(
            u64::from(len) + u64::from(sent.has(mark::FIN)),
            sent.end - sent.start,
            "a segment is no longer"
        );
        self.end = sent.end;
        self.all.push(Record { sent_at: sent.sent_at, start, len, flags: sent.flags });
        if let Some(more) = &mut self.more {
            more.latest.push(Latest { order, delivered: sent.delivered });
            if let Some(rates) = &mut more.rates {
                push_rate(rates, rate());
            }
        }
    }

    #[inline]
    fn next_order(&mut self) -> u32 {
        count_one(&mut self.transmissions);
        self.transmissions as u32
    }

    /// Takes the first `count` out.
    #[inline]
    pub fn pop(&mut self, count: usize) {
        self.all.pop(count);
        if let Some(more) = &mut self.more {
            more.latest.pop(count);
            more.rates.iter_mut().for_each(|rates| rates.pop(count));
        }
    }

    /// What of the first record is below `ack` is acknowledged.
    pub fn cut_first(&mut self, ack: u64) {
        let end = self.end;
        if let Some(first) = self.all.get_mut(0) {
            first.len -= (ack - widened(first.start, end)) as u16;
            first.start = ack as u32;
        }
    }

    /// Sets the marks of the record at `index`; says what they were.
    #[inline]
    pub fn set_flags(&mut self, index: usize, flags: u8) -> u8 {
        debug_assert!(index < self.len(), "there is such a record");
        self.all.get_mut(index).map_or(flags, |record| core::mem::replace(&mut record.flags, flags))
    }

    /// The record at `index` was sent again, as the next transmission, when so many segments had been delivered. Returns where it
    /// begins, and the number of the transmission.
    pub fn resend(&mut self, index: usize, now: Instant, delivered: u32, rate: Rate) -> Option<(u64, SendOrder)> {
        debug_assert!(index < self.len(), "there is such a record");
        let order = self.next_order();
        if let Some(more) = &mut self.more {
            more.resend(index, Latest { order, delivered }, rate);
        }
        let (end, record) = (self.end, self.all.get_mut(index)?);
        record.sent_at = now;
        Some((widened(record.start, end), self.transmissions))
    }

    /// How many records end at or before `ack`, when the first of them was sent, and the last of them; none unless it ends at
    /// `ack` and all were sent once and nothing is marked.
    #[inline]
    pub fn plain_below(&self, ack: u64) -> Option<(usize, Instant, Sent)> {
        // Less than 2^31 bytes are in flight, by far: differences in 32 bits tell all.
        let missing = |record: &Record| (ack as u32).wrapping_sub(record.past()) as i32;
        let first = self.all.first()?;
        let (mut count, mut last, mut flags) = (1, first, first.flags);
        while missing(last) > 0 {
            last = self.all.get(count)?;
            flags |= last.flags;
            count += 1;
        }
        let is_plain = missing(last) == 0 && flags & !(mark::FIN | mark::APP_LIMITED) == 0;
        is_plain.then(|| (count, first.sent_at, self.sent(count - 1, last)))
    }
}

#[inline(never)]
fn push_rate(rates: &mut BlockQueue<Rate>, rate: Rate) {
    rates.push(rate);
}

impl More {
    /// The segment at `index` was sent again.
    fn resend(&mut self, index: usize, latest: Latest, rate: Rate) {
        if let Some(kept) = self.latest.get_mut(index) {
            *kept = latest;
        }
        if let Some(kept) = self.rates.as_mut().and_then(|rates| rates.get_mut(index)) {
            *kept = rate;
        }
    }
}

impl Record {
    /// One past its last offset, FIN included.
    #[inline]
    fn past(&self) -> u32 {
        self.start.wrapping_add(u32::from(self.len)).wrapping_add(u32::from(self.flags & mark::FIN != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;
    use std::collections::VecDeque;

    #[test]
    fn what_was_put_down_is_read_again_however_far_offsets_and_transmissions_are() {
        let mut rng = Rng::derive(1, "records");
        for far in [1, (1 << 32) - 5_000, (1 << 40) - 7_000] {
            let (mut records, mut model) = (Records::default(), VecDeque::<Sent>::new());
            (records.end, records.transmissions) = (far, far);
            records.keep_rates();
            for n in 0..5_000 {
                let now = Instant::from_nanos(n << 40);
                match rng.below(4) {
                    0 => {
                        let count = rng.below(3) as usize;
                        records.pop(count);
                        model.drain(..count.min(model.len()));
                    }
                    1 if !model.is_empty() => {
                        let index = rng.below(model.len() as u64) as usize;
                        let marks = rng.below(256) as u8 & rng.below(256) as u8 & rng.below(256) as u8;
                        let flags = marks & !mark::FIN | model[index].flags & mark::FIN;
                        assert_eq!(records.set_flags(index, flags), model[index].flags);
                        let resent = records.resend(index, now, n as u32, of(now));
                        let order = records.transmissions;
                        assert_eq!(resent, Some((model[index].start, order)));
                        model[index] = Sent { sent_at: now, order, delivered: n as u32, flags, ..model[index] };
                    }
                    _ => {
                        let (start, fin) = (records.end(), rng.below(2) as u8);
                        let end = start + (rng.below(1 << 16) + u64::from(fin)).max(1);
                        let order = records.transmissions + 1;
                        let sent = Sent { start, end, sent_at: now, order, delivered: 7, flags: fin * mark::FIN };
                        records.push(&sent, || of(now));
                        model.push_back(sent);
                    }
                }
                assert!((0..=model.len()).all(|index| records.get(index) == model.get(index).copied()));
                assert!(model.iter().enumerate().all(|(index, sent)| records.rate(index) == of(sent.sent_at)));
                assert_eq!((records.len(), records.last()), (model.len(), model.back().copied()));
                let at = model.get(rng.below(30) as usize).map_or(records.end(), |sent| sent.end - rng.below(2));
                assert_eq!(records.plain_below(at), plain_below(&model, at));
                assert_eq!(records.first_from(at), model.partition_point(|sent| sent.start < at));
            }
        }
    }

    /// A rate that tells when its segment was sent.
    fn of(sent_at: Instant) -> Rate {
        Rate { first_tx_at: sent_at, ..Rate::default() }
    }

    fn plain_below(model: &VecDeque<Sent>, ack: u64) -> Option<(usize, Instant, Sent)> {
        let last = model.iter().position(|sent| sent.end >= ack).filter(|last| model[*last].end == ack)?;
        let flags = model.iter().take(last + 1).fold(0, |flags, sent| flags | sent.flags);
        (flags & !(mark::FIN | mark::APP_LIMITED) == 0).then(|| (last + 1, model[0].sent_at, model[last]))
    }

    #[test]
    fn of_a_record_that_is_acknowledged_in_part_the_rest_stays() {
        for start in [1, (1 << 32) - 60] {
            let mut records = Records::default();
            let (end, flags) = (start + 101, mark::FIN);
            let sent = Sent { start, end, sent_at: Instant::ZERO, order: 1, delivered: 0, flags };
            records.push(&sent, Rate::default);
            records.cut_first(start + 50);
            assert_eq!(records.get(0), Some(Sent { start: start + 50, order: 0, ..sent }), "its order is not kept");
            let from = [50, 51].map(|at| records.first_from(start + at));
            assert_eq!((from, records.end()), ([0, 1], end));
        }
    }

    #[test]
    fn among_segments_of_one_length_each_is_found_whatever_was_taken_out_or_cut() {
        let (mut records, start) = (Records::default(), u64::from(u32::MAX) - 20_000);
        for n in 0..40 {
            let (start, end) = (start + n * 1448, start + (n + 1) * 1448);
            records.push(&Sent { start, end, sent_at: Instant::ZERO, order: 1, delivered: 0, flags: 0 }, Rate::default);
        }
        for taken in 0..3 {
            for n in taken..41 {
                let found = [0, 1].map(|back| records.first_from(start + n * 1448 - back));
                assert_eq!(found, [(n - taken) as usize; 2]);
            }
            records.pop(1);
        }
        records.cut_first(start + 3 * 1448 + 100);
        assert_eq!([3, 4, 5, 99].map(|n| records.first_from(start + n * 1448)), [0, 1, 2, 37]);
    }

    #[test]
    fn rates_are_kept_if_they_are_asked_for() {
        let rate = Rate { in_flight: 3, ..Rate::default() };
        for keeps in [false, true] {
            let mut records = Records::default();
            if keeps {
                records.keep_rates();
            }
            let sent = Sent { start: 1, end: 2, sent_at: Instant::ZERO, order: 1, delivered: 0, flags: 0 };
            records.push(&sent, || rate);
            assert_eq!(records.rate(0), if keeps { rate } else { Rate::default() });
            let again = Rate { lost: 2, ..rate };
            records.resend(0, Instant::ZERO, 0, again);
            assert_eq!(records.rate(0), if keeps { again } else { Rate::default() });
        }
    }
}
