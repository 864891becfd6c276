//! The clock of a queue that is emptied at the link's rate, so that the queue is here and not in the link, and a packet
//! counts as sent when the link has time for it.

use airtcp_core::{Duration, Instant, Rate};

/// Lateness that is made up for, so that a late timer does not cost rate. A normal task is late by 3
/// to 5 ms now and then, a virtual machine by more.
const CATCH_UP: Duration = Duration::from_millis(8);

/// Knows when the link has finished what was sent so far. Without a rate it is always free.
#[derive(Debug)]
pub(crate) struct Pacer {
    rate: Option<Rate>,
    free_at: Instant,
    /// Part of a nanosecond by which `free_at` is too early, in units of 1 / rate.
    carry: u64,
}

impl Pacer {
    pub fn new(rate: Option<Rate>) -> Self {
        Pacer { rate, free_at: Instant::ZERO, carry: 0 }
    }

    /// The link's rate, if it is known.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The link has another rate for what is sent from now on. What was sent takes the time that it was charged.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        self.rate = rate;
        self.carry = 0;
    }

    /// What is left of the time that was charged is what it is at `rate`.
    pub fn rescale(&mut self, now: Instant, rate: Option<Rate>) {
        let left = u128::from(self.free_at.saturating_since(now).as_nanos());
        let bits = left * u128::from(self.rate.map_or(0, Rate::bps));
        if let Some(rate) = rate.filter(|_| bits > 0) {
            let nanos = u64::try_from(bits / u128::from(rate.bps().max(1))).unwrap_or(u64::MAX);
            self.free_at = now.saturating_add(Duration::from_nanos(nanos));
        } else if rate.is_none() {
            self.free_at = self.free_at.min(now);
        }
    }

    /// When the link has finished what was sent so far.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Something is sent after there was nothing to send. Only a late timer is made up for, not idle time: a
    /// burst after a pause would stand in the link's own queue for as long as this one is busy.
    pub fn begin(&mut self, now: Instant) {
        self.free_at = self.free_at.max(now);
    }

    /// Time the link takes for `bytes`.
    pub fn transmission(&self, bytes: u32) -> Duration {
        time_on_link(self.rate, bytes)
    }

    /// Accounts for bytes that the link was given.
    pub fn charge(&mut self, now: Instant, bytes: u32) {
        if let Some(rate) = self.rate {
            let start = self.free_at.max(now - CATCH_UP);
            self.free_at = start.saturating_add(rate.serialisation(bytes, &mut self.carry));
        }
    }
}

/// Time that a link of this rate takes for `bytes`; zero without a rate.
pub(crate) fn time_on_link(rate: Option<Rate>, bytes: u32) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.serialisation(bytes, &mut 0))
}
