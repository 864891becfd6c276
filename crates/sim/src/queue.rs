//! The event queue: pending times in order, ties by insertion.
//!
//! It holds at most one event per link direction and per element, so it stays as small as the
//! topology however many packets are in flight. A calendar (Brown, CACM 31(10), 1988): time is cut
//! into spans of a power of two nanoseconds, each with an unsorted list; only the list whose turn it
//! is gets sorted. What lies beyond the calendar waits in a heap. The length of a span follows the
//! pending events, so that a list holds a few; it depends on nothing but them, so the order and the
//! cost are the same in every run.

use airtcp_core::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a popped event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The next packet of a pipe arrives, or has its turn in the queue there.
    Arrival(u32),
    /// An element's timeout.
    Timeout(u32),
    /// A full port of an element has room again.
    Ready(u32),
    /// Measure and check.
    Sample,
}

impl Kind {
    /// In 32 bits: there are fewer than 2^30 of each.
    fn pack(self) -> u32 {
        match self {
            Kind::Arrival(index) => index << 2,
            Kind::Timeout(index) => index << 2 | 1,
            Kind::Ready(index) => index << 2 | 2,
            Kind::Sample => 3,
        }
    }

    fn unpack(code: u32) -> Kind {
        match code & 3 {
            0 => Kind::Arrival(code >> 2),
            1 => Kind::Timeout(code >> 2),
            2 => Kind::Ready(code >> 2),
            _ => Kind::Sample,
        }
    }
}

/// An event, in a list of the calendar with the next of the list.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: u64,
    order: u64,
    kind: u32,
    next: u32,
}

impl Event {
    fn is_before(&self, other: &Event) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

/// No event.
const NONE: u32 = u32::MAX;
/// Fewest lists, and lists for each event: so many that few events lie beyond the calendar.
const LEAST_LISTS: usize = 64;
const LISTS_PER_EVENT: usize = 4;
/// Lists are judged after so many of them, or as many as there are events.
const JUDGED_LISTS: u32 = 128;
/// Sixteenths of events in a list that was not empty, on average: below and above, the spans change.
const MEAN: (u32, u32) = (21, 42);
/// So many sorted events are too many to insert into.
const MOST_NEAR: usize = 48;
/// A span has at least 2^so many nanoseconds (16), and at most (three quarters of a day).
const SPANS: (u32, u32) = (4, 46);

/// Pending events.
#[derive(Debug)]
pub struct EventQueue {
    /// Before the calendar begins, latest first.
    near: Vec<Event>,
    /// First event of each span; span `n` at `n` modulo their number, a power of two.
    lists: Vec<u32>,
    /// A bit for each list that is not empty.
    occupied: Vec<u64>,
    /// Events of all lists, and free places.
    events: Vec<Event>,
    free: u32,
    /// Events in lists.
    listed: usize,
    /// After the calendar ends: time, order, kind.
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Span of the first of those; the last there is without any.
    far_span: u64,
    /// First span of the calendar.
    first_span: u64,
    /// A span has 2^so many nanoseconds.
    shift: u32,
    inserted: u64,
    /// Lists sorted since they were judged last, and the events that went through them.
    sorted: (u32, u32),
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            near: Vec::with_capacity(MOST_NEAR + 2),
            lists: vec![NONE; LEAST_LISTS],
            occupied: vec![0; LEAST_LISTS / 64],
            events: Vec::new(),
            free: NONE,
            listed: 0,
            far: BinaryHeap::new(),
            far_span: u64::MAX,
            first_span: 0,
            shift: 16,
            inserted: 0,
            sorted: (0, 0),
        }
    }
}

impl EventQueue {
    /// Adds an event.
    pub fn push(&mut self, at: Instant, kind: Kind) {
        self.inserted += 1;
        self.place(at.as_nanos(), self.inserted, kind.pack());
    }

    /// The earliest event, if it is not after `end`.
    #[inline]
    pub fn pop_until(&mut self, end: Instant) -> Option<(Instant, Kind)> {
        if self.near.is_empty() && !self.sort_next_list() {
            return None;
        }
        let event = self.near.pop_if(|event| event.at <= end.as_nanos())?;
        Some((Instant::from_nanos(event.at), Kind::unpack(event.kind)))
    }

    #[inline(always)]
    fn place(&mut self, at: u64, order: u64, kind: u32) {
        let span = at >> self.shift;
        if span < self.first_span {
            self.place_near(at, order, kind);
        } else if span - self.first_span < self.lists.len() as u64 {
            self.link(span, at, order, kind);
        } else {
            self.far.push(Reverse((at, order, kind)));
            self.far_span = self.far_span.min(span);
        }
    }

    #[inline(never)]
    fn place_near(&mut self, at: u64, order: u64, kind: u32) {
        self.sorted.1 += 1;
        self.insert_near(Event { at, order, kind, next: NONE });
        if self.near.len() > MOST_NEAR && self.shift > SPANS.0 {
            self.rebuild(self.shift - 1);
        }
    }

    fn insert_near(&mut self, event: Event) {
        let mut index = self.near.len();
        self.near.push(event);
        while index > 0 && self.near[index - 1].is_before(&event) {
            self.near[index] = self.near[index - 1];
            index -= 1;
        }
        self.near[index] = event;
    }

    /// Puts an event into the list of its span; field by field, which a processor can read back at once as it needs.
    #[inline(always)]
    fn link(&mut self, span: u64, at: u64, order: u64, kind: u32) {
        let index = span as usize & (self.lists.len() - 1);
        let next = self.lists[index];
        let place = self.free;
        if let Some(event) = self.events.get_mut(place as usize) {
            self.free = event.next;
            (event.at, event.order, event.kind, event.next) = (at, order, kind, next);
            self.lists[index] = place;
        } else {
            self.lists[index] = self.events.len() as u32;
            self.events.push(Event { at, order, kind, next });
        }
        self.occupied[index / 64] |= 1 << (index % 64);
        self.listed += 1;
    }

    /// Sorts the first list that is not empty into `near`; false if there is no event at all.
    fn sort_next_list(&mut self) -> bool {
        if self.sorted.0 >= JUDGED_LISTS {
            self.adapt();
        }
        if self.first_span + self.lists.len() as u64 > self.far_span {
            self.take_from_far();
        }
        if self.listed == 0 {
            if self.far.is_empty() {
                return false;
            }
            self.first_span = self.far_span;
            self.take_from_far();
        }
        let span = self.next_span();
        let events = self.unlink(span);
        self.first_span = span + 1;
        self.sorted.0 += 1;
        self.sorted.1 += events;
        true
    }

    /// What the calendar has come to reach moves into it.
    fn take_from_far(&mut self) {
        let end = self.first_span + self.lists.len() as u64;
        while let Some(Reverse((at, order, kind))) = self.far.peek().copied()
            && at >> self.shift < end
        {
            self.far.pop();
            self.link(at >> self.shift, at, order, kind);
        }
        self.far_span = self.far.peek().map_or(u64::MAX, |Reverse((at, ..))| at >> self.shift);
    }

    /// The first span with events; there is one.
    fn next_span(&self) -> u64 {
        let mask = self.lists.len() - 1;
        let first = self.first_span as usize & mask;
        let mut word = first / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        while bits == 0 {
            word = (word + 1) & (mask / 64);
            bits = self.occupied[word];
        }
        let index = word * 64 + bits.trailing_zeros() as usize;
        self.first_span + (index.wrapping_sub(first) & mask) as u64
    }

    /// Moves the list of `span` to `near`; returns its length.
    fn unlink(&mut self, span: u64) -> u32 {
        let index = span as usize & (self.lists.len() - 1);
        let mut place = std::mem::replace(&mut self.lists[index], NONE);
        self.occupied[index / 64] &= !(1 << (index % 64));
        let mut count = 0;
        while let Some(listed) = self.events.get_mut(place as usize) {
            let event = *listed;
            listed.next = self.free;
            self.free = place;
            if count < MOST_NEAR as u32 {
                self.insert_near(event);
            } else {
                self.near.push(event);
            }
            count += 1;
            place = event.next;
        }
        if count > MOST_NEAR as u32 {
            self.near.sort_unstable_by_key(|event| Reverse((event.at, event.order)));
        }
        self.listed -= count as usize;
        count
    }

    /// Judges the lists sorted of late and changes the spans if they held too much or too little.
    fn adapt(&mut self) {
        let (lists, events) = self.sorted;
        let pending = self.listed + self.far.len();
        if (lists as usize) < pending / 2 {
            return;
        }
        self.sorted = (0, 0);
        let mean = events.saturating_mul(16) / lists;
        if mean < MEAN.0 && self.shift < SPANS.1 {
            self.rebuild(self.shift + 1);
        } else if mean > MEAN.1 && self.shift > SPANS.0 {
            let halvings = (mean / MEAN.1).ilog2() + 1;
            self.rebuild(self.shift.saturating_sub(halvings).max(SPANS.0));
        } else if LISTS_PER_EVENT / 2 * pending > self.lists.len() {
            self.rebuild(self.shift);
        }
    }

    /// Places everything anew, in spans of 2^`shift` nanoseconds and in lists enough for it.
    fn rebuild(&mut self, shift: u32) {
        let far = std::mem::take(&mut self.far).into_iter();
        let mut all: Vec<(u64, u64, u32)> = far.map(|Reverse(event)| event).collect();
        all.extend(self.near.drain(..).map(|event| (event.at, event.order, event.kind)));
        for list in &self.lists {
            let mut place = *list;
            while place != NONE {
                let event = self.events[place as usize];
                all.push((event.at, event.order, event.kind));
                place = event.next;
            }
        }
        let lists = (LISTS_PER_EVENT * all.len()).next_power_of_two().max(LEAST_LISTS);
        self.lists.clear();
        self.lists.resize(lists, NONE);
        self.occupied.clear();
        self.occupied.resize(lists / 64, 0);
        self.events.clear();
        (self.free, self.listed) = (NONE, 0);
        (self.shift, self.far_span) = (shift, u64::MAX);
        self.first_span = all.iter().map(|(at, ..)| at >> shift).min().unwrap_or(0);
        all.into_iter().for_each(|(at, order, kind)| self.place(at, order, kind));
        self.sorted = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    fn drain(queue: &mut EventQueue, until: u64) -> Vec<Kind> {
        std::iter::from_fn(|| queue.pop_until(Instant::from_nanos(until)).map(|event| event.1)).collect()
    }

    #[test]
    fn ties_break_by_insertion() {
        let mut queue = EventQueue::default();
        let at = Instant::from_nanos(5);
        queue.push(at, Kind::Timeout(9));
        queue.push(Instant::from_nanos(7), Kind::Sample);
        queue.push(at, Kind::Arrival(1));
        queue.push(Instant::from_nanos(1), Kind::Arrival(2));
        assert_eq!(drain(&mut queue, 6), [Kind::Arrival(2), Kind::Timeout(9), Kind::Arrival(1)]);
        queue.push(Instant::from_nanos(7), Kind::Ready(3));
        assert_eq!(drain(&mut queue, 7), [Kind::Sample, Kind::Ready(3)]);
    }

    /// As many events pending as `pending` says, whose distances are drawn at magnitudes from `least` to `most` bits.
    fn hold_like_a_heap(pending: usize, least: u64, most: u64, steps: u32) {
        let mut rng = Rng::derive(pending as u64, "hold");
        let (mut queue, mut heap) = (EventQueue::default(), BinaryHeap::new());
        let mut now = 0;
        let mut order = 0;
        for step in 0..steps {
            let grows = heap.len() < pending || step % 977 < 300;
            for _ in 0..if grows { 2 } else { 1 } {
                let bits = least + rng.below(most - least + 1);
                // A tenth are ties with what is about to happen.
                let at = if rng.below(10) == 0 { now } else { now + rng.below(1 << bits) };
                queue.push(Instant::from_nanos(at), Kind::Arrival(order));
                order += 1;
                heap.push(Reverse((at, order)));
            }
            let end = if rng.below(50) == 0 { now } else { u64::MAX };
            let expected =
                heap.peek().filter(|Reverse((at, _))| *at <= end).map(|Reverse((at, order))| (*at, order - 1));
            let popped = queue.pop_until(Instant::from_nanos(end));
            let popped = popped.map(|(at, kind)| match kind {
                Kind::Arrival(order) => (at.as_nanos(), order),
                _ => unreachable!("only arrivals were pushed"),
            });
            assert_eq!(popped, expected, "step {step}");
            if let Some((at, _)) = popped {
                heap.pop();
                now = at;
            }
        }
    }

    #[test]
    fn events_come_in_the_order_of_a_heap() {
        for pending in [1, 3, 60, 2000] {
            hold_like_a_heap(pending, 3, 12, 20_000);
            hold_like_a_heap(pending, 10, 40, 20_000);
            hold_like_a_heap(pending, 30, 34, 20_000);
        }
    }

    #[test]
    fn events_at_the_end_of_time_are_kept() {
        let mut queue = EventQueue::default();
        queue.push(Instant::MAX, Kind::Sample);
        queue.push(Instant::ZERO, Kind::Ready(1));
        assert_eq!(drain(&mut queue, u64::MAX - 1), [Kind::Ready(1)]);
        assert_eq!(drain(&mut queue, u64::MAX), [Kind::Sample]);
    }
}
