//! The deadlines of a connection, with the earliest one cached.

use airtcp_core::{Duration, Instant};

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
    /// A batch of segments that are taken as one is over.
    Batch,
    /// The peer's window is closed (RFC 9293 section 3.8.6.1).
    Persist,
    /// The next paced segment may leave.
    Pacing,
    /// The connection has been silent for long, or waits for the peer to close: keepalive (RFC 1122 section 4.2.3.6),
    /// FIN-WAIT-2 of one that the application has left, TIME-WAIT (RFC 9293 section 3.6.1). One state has one of them.
    Silence,
}

const COUNT: usize = 8;
/// A timer that waits for fewer ticks runs out at a tick; longer ones in steps that are each eight times coarser for
/// eight times the wait (Linux `LVL_START()`).
const FINE_TICKS: u64 = 63;
const COARSER: u64 = 8;

/// See the module.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Timers {
    next: Instant,
    /// A bit for each that runs: mostly one does, and then it is the next.
    running: u8,
    /// Zero without ticks.
    jiffy: Duration,
    /// The end of time for those that do not run.
    deadlines: [Instant; COUNT],
}

impl Default for Timers {
    fn default() -> Self {
        Timers { deadlines: [Instant::MAX; COUNT], next: Instant::MAX, jiffy: Duration::ZERO, running: 0 }
    }
}

/// The bit of a timer.
const fn bit(timer: Timer) -> u8 {
    1 << timer as u8
}

/// The timers for what is in flight.
const IN_FLIGHT: [Timer; 3] = [Timer::Retransmit, Timer::LossProbe, Timer::Reorder];
const IN_FLIGHT_BITS: u8 = bit(Timer::Retransmit) | bit(Timer::LossProbe) | bit(Timer::Reorder);

impl Timers {
    /// All disarmed. They run out at ticks of `jiffy`, which is not zero, or exactly.
    pub fn new(jiffy: Option<Duration>) -> Self {
        Timers { jiffy: jiffy.unwrap_or(Duration::ZERO), ..Timers::default() }
    }

    /// Arms `timer`, replacing its deadline: it runs out when `wait` from `now` on is over, or soon after.
    #[inline]
    pub fn start(&mut self, timer: Timer, now: Instant, wait: Duration) {
        self.set(timer, self.end_of(now, wait));
    }

    /// When a timer runs out that is armed at `now` for `wait`: exactly, or as in Linux's wheel of timers, where the tick
    /// in which it is armed does not count.
    #[inline]
    fn end_of(&self, now: Instant, wait: Duration) -> Instant {
        if self.jiffy.is_zero() {
            return now.saturating_add(wait);
        }
        end_in_ticks(self.jiffy.as_nanos(), now, wait)
    }

    /// Arms `timer` for the instant `at`, replacing its deadline.
    #[inline]
    pub fn set(&mut self, timer: Timer, at: Instant) {
        let old = core::mem::replace(&mut self.deadlines[timer as usize], at);
        let others = self.running & !bit(timer);
        self.running = if at == Instant::MAX { others } else { others | bit(timer) };
        if at <= self.next || others == 0 {
            self.next = at;
        } else if old == self.next {
            self.next = self.earliest();
        }
    }

    #[inline(never)]
    fn earliest(&self) -> Instant {
        self.deadlines.iter().copied().min().unwrap_or(Instant::MAX)
    }

    /// Disarms `timer`, which mostly it is already.
    #[inline]
    pub fn stop(&mut self, timer: Timer) {
        if self.is_set(timer) {
            self.set(timer, Instant::MAX);
        }
    }

    /// Arms one of the timers for what is in flight, of which only one runs at a time (Linux `icsk_pending`).
    #[inline]
    pub fn start_only(&mut self, timer: Timer, now: Instant, wait: Duration) {
        if self.running & IN_FLIGHT_BITS & !bit(timer) != 0 {
            self.stop_in_flight(); // Another one runs, as seldom.
        }
        self.start(timer, now, wait);
    }

    /// Disarms the timers for what is in flight.
    #[inline(never)]
    pub fn stop_in_flight(&mut self) {
        IN_FLIGHT.into_iter().for_each(|timer| self.stop(timer));
    }

    /// True if `timer` runs.
    #[inline]
    pub fn is_set(&self, timer: Timer) -> bool {
        self.running & bit(timer) != 0
    }

    /// Disarms all of them.
    pub fn stop_all(&mut self) {
        *self = Timers { jiffy: self.jiffy, ..Timers::default() };
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

    /// The earliest deadline; the end of time for none.
    #[inline]
    pub fn next(&self) -> Instant {
        self.next
    }
}

/// The end of a wait in ticks of `jiffy` nanoseconds.
fn end_in_ticks(jiffy: u64, now: Instant, wait: Duration) -> Instant {
    let ticks = wait.as_nanos().div_ceil(jiffy);
    let mut step = 1;
    while ticks / step >= FINE_TICKS && step < u64::MAX / COARSER {
        step *= COARSER;
    }
    let tick = ((now.as_nanos() / jiffy).saturating_add(ticks) / step + 1).saturating_mul(step);
    Instant::from_nanos(tick.saturating_mul(jiffy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn with_a_clock_that_ticks_a_timer_never_runs_out_early_and_by_an_eighth_and_two_ticks_late_at_most() {
        let (jiffy, ms) = (Duration::from_millis(4), |n: u64| at(n * 1_000_000));
        let timers = Timers::new(Some(jiffy));
        assert_eq!(timers.end_of(ms(9), Duration::from_millis(1)), ms(16));
        assert_eq!(timers.end_of(ms(8), Duration::from_millis(62 * 4)), ms(8 + 63 * 4));
        assert_eq!(timers.end_of(ms(8), Duration::from_millis(63 * 4)), ms(288));
        for n in 1..2000 {
            let (now, wait) = (at(n * 1_234_567), Duration::from_micros(n * 777));
            let late = timers.end_of(now, wait).as_nanos() - now.as_nanos();
            let most = wait.as_nanos() + wait.as_nanos() / 7 + 2 * jiffy.as_nanos();
            assert!(late > wait.as_nanos() && late <= most, "{n}: {late}");
        }
        assert_eq!(Timers::default().end_of(ms(9), Duration::from_micros(10)), at(9_010_000));
    }

    #[test]
    fn the_earliest_deadline_is_known_through_any_change() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), Instant::MAX);
        timers.set(Timer::Retransmit, at(20));
        timers.set(Timer::DelayedAck, at(10));
        assert_eq!(timers.next(), at(10));
        timers.set(Timer::DelayedAck, at(30));
        assert_eq!(timers.next(), at(20));
        timers.stop(Timer::Retransmit);
        assert_eq!(timers.next(), at(30));
        assert!(!timers.take_expired(Timer::DelayedAck, at(29)));
        assert!(timers.take_expired(Timer::DelayedAck, at(30)));
        assert_eq!(timers.next(), Instant::MAX);
    }
}
