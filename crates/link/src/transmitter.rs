//! The transmitter: one packet at a time at a rate, and the queue before it.
//!
//! A packet's turn is known when it is accepted, so the queue is a list of turns to come; a turn that has begun no
//! longer waits.

use crate::turns::Turns;
use crate::varying::{LinkRate, RateCourse};
use airtcp_core::{Backlog, Duration, Instant, Rate};
use alloc::boxed::Box;

/// When a packet is on the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

/// What a packet takes of a transmitter with a constant rate.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Length of the packet.
    bytes: u32,
    /// Whole nanoseconds.
    whole: Duration,
    /// What is left of a nanosecond, in units of 1 / rate.
    rest: u64,
}

impl Span {
    /// Before the first packet, and always where the rate is not constant: no packet is so long.
    const NONE: Span = Span { bytes: u32::MAX, whole: Duration::ZERO, rest: 0 };
}

/// In this order in memory: first what a packet needs that is as long as the one before and finds it idle.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    free_at: Instant,
    /// Part of a nanosecond by which `free_at` is too early, in units of 1 / rate.
    carry: u64,
    /// Of the last packet: most are as long as the one before, and a division less.
    last: Span,
    waiting: Turns,
    /// The rate if it is always the same.
    rate: Option<Rate>,
    /// Most bytes that waited since it was last asked for.
    peak: u64,
    /// The rate if it varies; without either it is infinitely fast.
    course: Option<Box<RateCourse>>,
}

impl Transmitter {
    /// That of the link called `name` in the run seeded with `seed`.
    pub(crate) fn new(rate: &LinkRate, seed: u64, name: &str) -> Self {
        let course = match rate {
            LinkRate::Constant(_) => None,
            LinkRate::Varying(varying) => Some(Box::new(varying.course(seed, name))),
        };
        Transmitter {
            rate: rate.constant(),
            course,
            free_at: Instant::ZERO,
            carry: 0,
            last: Span::NONE,
            waiting: Turns::default(),
            peak: 0,
        }
    }

    /// Makes `origin` the start of the run, from which a rate that varies counts.
    pub(crate) fn set_origin(&mut self, origin: Instant) {
        if let Some(course) = &mut self.course {
            course.origin = origin;
        }
    }

    /// So many bytes wait in a queue that gives its packets here one by one.
    pub(crate) fn note_waiting(&mut self, bytes: u64) {
        self.peak = self.peak.max(bytes);
    }

    /// Most bytes that waited since [`Transmitter::take_peak`].
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// Most bytes that waited since the last call.
    pub(crate) fn take_peak(&mut self, now: Instant) -> u64 {
        let waiting = self.waiting(now).bytes;
        core::mem::replace(&mut self.peak, waiting).max(waiting)
    }

    /// Packets whose turn has not begun at `now`.
    #[inline]
    pub(crate) fn waiting(&mut self, now: Instant) -> Backlog {
        self.waiting.begin(now);
        self.waiting.backlog()
    }

    #[inline]
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.free_at <= now
    }

    pub(crate) fn is_infinite(&self) -> bool {
        self.rate.is_none() && self.course.is_none()
    }

    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When the first waiting packet leaves the queue, or the last packet the transmitter.
    pub(crate) fn next_turn(&mut self, now: Instant) -> Option<Instant> {
        self.waiting(now);
        self.waiting.first().or(Some(self.free_at)).filter(|at| *at > now)
    }

    /// Gives the turn to a packet that finds the transmitter idle and is as long as the one before, as most on a fast link;
    /// says when the turn ends. None, and nothing has happened, if it is busy, or the packet of another length: see
    /// [`Transmitter::accept`].
    #[inline(always)]
    pub(crate) fn accept_alike(&mut self, now: Instant, bytes: u32) -> Option<Instant> {
        if self.free_at >= now || self.last.bytes != bytes {
            return None;
        }
        self.begin_idle(now);
        Some(self.free_at)
    }

    /// Begins a turn as long as the last one. Nothing is carried over to a packet that finds the transmitter idle.
    #[inline(always)]
    fn begin_idle(&mut self, now: Instant) {
        self.carry = self.last.rest;
        self.free_at = now.saturating_add(self.last.whole);
    }

    /// Gives the next turn to a packet of `bytes`.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Instant, bytes: u32) -> Turn {
        let Some(rate) = self.rate else { return self.accept_at_no_constant_rate(now, bytes) };
        if self.last.bytes != bytes {
            self.measure(rate, bytes);
        }
        if self.free_at < now {
            self.begin_idle(now);
            return Turn { begin: now, end: self.free_at };
        }
        let (begin, Span { whole, rest, .. }) = (self.free_at, self.last);
        self.free_at = begin.saturating_add(whole);
        self.carry += rest;
        if self.carry >= rate.bps() {
            // Both parts are below the rate, so their sum holds one nanosecond more at most.
            self.carry -= rate.bps();
            self.free_at = self.free_at.saturating_add(Duration::from_nanos(1));
        }
        self.note_turn(now, begin, bytes)
    }

    /// [`Rate::serialisation`] of a packet of another length than the last.
    #[inline(never)]
    fn measure(&mut self, rate: Rate, bytes: u32) {
        let mut rest = 0;
        let whole = rate.serialisation(bytes, &mut rest);
        self.last = Span { bytes, whole, rest };
    }

    #[inline(always)]
    fn note_turn(&mut self, now: Instant, begin: Instant, bytes: u32) -> Turn {
        if begin > now {
            self.waiting.push(begin, bytes);
            self.peak = self.peak.max(self.waiting.bytes());
        }
        Turn { begin, end: self.free_at }
    }

    /// Where nothing passes for a while, the packet whose turn it is waits on the transmitter.
    fn accept_at_no_constant_rate(&mut self, now: Instant, bytes: u32) -> Turn {
        let Some(course) = &mut self.course else {
            self.free_at = now;
            return Turn { begin: now, end: now };
        };
        let begin = self.free_at.max(now);
        self.free_at = course.transmit(begin, bytes);
        self.note_turn(now, begin, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_any_lengths_leave_at_the_times_that_the_rate_gives() {
        for bps in [1, 3, 9_986_684, 1_000_000_000, 7_777_777_777] {
            let rate = Rate::from_bps(bps);
            let (mut transmitter, mut free_at, mut carry) = (Transmitter::new(&rate.into(), 1, "x"), Instant::ZERO, 0);
            for bytes in [1500, 1500, 40, 1500, 40, 40, 1, 9000, 0, 1500].repeat(20) {
                free_at = free_at.saturating_add(rate.serialisation(bytes, &mut carry));
                assert_eq!(transmitter.accept(Instant::ZERO, bytes).end, free_at, "{bps} {bytes}");
            }
        }
    }

    #[test]
    fn a_packet_like_the_one_before_finds_an_idle_transmitter_as_any_other_does() {
        let rate = Rate::from_bps(9_986_684);
        let [mut plain, mut quick] = [0, 1].map(|_| Transmitter::new(&rate.into(), 1, "x"));
        let (mut now, mut alike) = (Instant::ZERO, 0);
        for (bytes, wait) in [(1500, 1), (1500, 3_000_000), (40, 7), (40, 40_000), (40, 1), (1500, 9_000_000)].repeat(9)
        {
            now = now.saturating_add(Duration::from_nanos(wait));
            let end = quick.accept_alike(now, bytes);
            alike += u32::from(end.is_some());
            assert_eq!(end.unwrap_or_else(|| quick.accept(now, bytes).end), plain.accept(now, bytes).end);
            assert_eq!((quick.carry, quick.waiting(now)), (plain.carry, plain.waiting(now)));
        }
        assert!(alike >= 9, "{alike}");
    }
}
