//! The deadlines of a connection, with the earliest one cached.

use airtcp_core::Instant;

/// What can run out. A bare index, so that the table is an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Oldest segment not acknowledged in time (RFC 6298).
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    LossProbe,
    /// A hole may still be reordering (RFC 8985 section 6).
    Reorder,
    /// An acknowledgment is owed (RFC 9293 section 3.8.6.3).
    DelayedAck,
    /// The peer's window is closed (RFC 9293 section 3.8.6.1).
    Persist,
    /// The next paced segment may leave.
    Pacing,
    /// TIME-WAIT ends (RFC 9293 section 3.6.1).
    TimeWait,
}

const COUNT: usize = 7;

/// See the module.
#[derive(Clone, Debug)]
pub struct Timers {
    deadlines: [Instant; COUNT],
    next: Instant,
}

impl Default for Timers {
    fn default() -> Self {
        Timers { deadlines: [Instant::MAX; COUNT], next: Instant::MAX }
    }
}

impl Timers {
    /// Arms `timer`, replacing its deadline.
    #[inline]
    pub fn set(&mut self, timer: Timer, at: Instant) {
        let old = core::mem::replace(&mut self.deadlines[timer as usize], at);
        if at <= self.next {
            self.next = at;
        } else if old == self.next {
            self.next = self.deadlines.iter().copied().min().unwrap_or(Instant::MAX);
        }
    }

    /// Disarms `timer`.
    pub fn stop(&mut self, timer: Timer) {
        self.set(timer, Instant::MAX);
    }

    /// Arms one of the timers for what is in flight, of which only one runs at a time (Linux `icsk_pending`).
    pub fn set_only(&mut self, timer: Timer, at: Instant) {
        for other in [Timer::Retransmit, Timer::LossProbe, Timer::Reorder] {
            if other != timer && self.is_set(other) {
                self.stop(other);
            }
        }
        self.set(timer, at);
    }

    /// Disarms the timers for what is in flight.
    pub fn stop_in_flight(&mut self) {
        [Timer::Retransmit, Timer::LossProbe, Timer::Reorder].into_iter().for_each(|timer| self.stop(timer));
    }

    /// True if `timer` runs.
    pub fn is_set(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize] != Instant::MAX
    }

    /// Disarms all of them.
    pub fn stop_all(&mut self) {
        *self = Timers::default();
    }

    /// The deadline of `timer`.
    pub fn deadline(&self, timer: Timer) -> Option<Instant> {
        Some(self.deadlines[timer as usize]).filter(|at| *at != Instant::MAX)
    }

    /// Disarms `timer` if it has run out; says whether it had.
    pub fn take_expired(&mut self, timer: Timer, now: Instant) -> bool {
        let expired = self.deadlines[timer as usize] <= now && self.deadlines[timer as usize] != Instant::MAX;
        if expired {
            self.stop(timer);
        }
        expired
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        Some(self.next).filter(|at| *at != Instant::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn the_earliest_deadline_is_known_through_any_change() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), None);
        timers.set(Timer::Retransmit, at(20));
        timers.set(Timer::DelayedAck, at(10));
        assert_eq!(timers.next(), Some(at(10)));
        timers.set(Timer::DelayedAck, at(30));
        assert_eq!(timers.next(), Some(at(20)));
        timers.stop(Timer::Retransmit);
        assert_eq!(timers.next(), Some(at(30)));
        assert!(!timers.take_expired(Timer::DelayedAck, at(29)));
        assert!(timers.take_expired(Timer::DelayedAck, at(30)));
        assert_eq!(timers.next(), None);
    }
}
