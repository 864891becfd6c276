//! Time as integer nanoseconds.
//!
//! An [`Instant`] counts from the start of a run in the simulator and from an arbitrary
//! origin (CLOCK_MONOTONIC) on Linux; nothing may depend on which. 2^64 ns are 584 years, so
//! plain arithmetic cannot overflow in practice and panics if a bug makes it.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time, in nanoseconds since the run's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The run's origin.
    pub const ZERO: Instant = Instant(0);
    /// Later than every event.
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `nanos` ns after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if `earlier` is not earlier.
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// This instant moved later, stopping at [`Instant::MAX`].
    pub const fn saturating_add(self, by: Duration) -> Instant {
        Instant(self.0.saturating_add(by.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The longest span.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Duration(n)
    }
    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Duration(n * 1_000)
    }
    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Duration(n * 1_000_000)
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Duration(n * 1_000_000_000)
    }
    /// Whole span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// True for the empty span.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Difference, stopping at zero.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// Sum, stopping at [`Duration::MAX`].
    pub const fn saturating_add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
    /// Product, stopping at [`Duration::MAX`].
    pub const fn saturating_mul(self, by: u64) -> Duration {
        Duration(self.0.saturating_mul(by))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, by: Duration) -> Instant {
        Instant(self.0 + by.0)
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, by: Duration) {
        self.0 += by.0;
    }
}
impl Sub<Duration> for Instant {
    type Output = Instant;
    /// Stops at the origin: "one second before the start" is the start.
    fn sub(self, by: Duration) -> Instant {
        Instant(self.0.saturating_sub(by.0))
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, by: u64) -> Duration {
        Duration(self.0 * by)
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, by: u64) -> Duration {
        Duration(self.0 / by)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_before_the_origin_is_the_origin() {
        assert_eq!(Instant::from_nanos(5) - Duration::from_secs(1), Instant::ZERO);
    }

    #[test]
    fn since_a_later_instant_is_zero() {
        let early = Instant::from_nanos(5);
        assert_eq!(early.saturating_since(early + Duration::from_nanos(1)), Duration::ZERO);
    }
}
