//! TCP sequence numbers: serial arithmetic modulo 2^32 (RFC 9293 section 3.4, RFC 1982).
//!
//! `a` is *before* `b` when the way from `a` forward to `b` is shorter than 2^31. The relation
//! is only meaningful within one window, so there is no `Ord`: sorting across a wrap is a bug.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A sequence or acknowledgment number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(pub u32);

impl SeqNum {
    /// Strictly before `other`.
    pub const fn before(self, other: SeqNum) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }
    /// Before or equal to `other`.
    pub const fn at_or_before(self, other: SeqNum) -> bool {
        !other.before(self)
    }
    /// Strictly after `other`.
    pub const fn after(self, other: SeqNum) -> bool {
        other.before(self)
    }
    /// After or equal to `other`.
    pub const fn at_or_after(self, other: SeqNum) -> bool {
        !self.before(other)
    }
    /// Bytes from `earlier` forward to here; negative when `earlier` is later.
    pub const fn distance_from(self, earlier: SeqNum) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }
    /// Bytes from `earlier` forward to here; zero when `earlier` is later.
    pub const fn since(self, earlier: SeqNum) -> u32 {
        let distance = self.distance_from(earlier);
        if distance < 0 { 0 } else { distance as u32 }
    }
    /// The later of two.
    pub const fn max(self, other: SeqNum) -> SeqNum {
        if self.before(other) { other } else { self }
    }
    /// The earlier of two.
    pub const fn min(self, other: SeqNum) -> SeqNum {
        if self.before(other) { self } else { other }
    }
}

impl Add<u32> for SeqNum {
    type Output = SeqNum;
    fn add(self, bytes: u32) -> SeqNum {
        SeqNum(self.0.wrapping_add(bytes))
    }
}
impl AddAssign<u32> for SeqNum {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}
impl Sub<u32> for SeqNum {
    type Output = SeqNum;
    fn sub(self, bytes: u32) -> SeqNum {
        SeqNum(self.0.wrapping_sub(bytes))
    }
}
impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let before = SeqNum(u32::MAX - 10);
        let after = before + 100;
        assert_eq!(after, SeqNum(89));
        assert!(before.before(after) && after.after(before));
        assert_eq!(after.since(before), 100);
        assert_eq!(before.since(after), 0);
        assert_eq!(before.max(after), after);
    }

    #[test]
    fn equal_numbers_are_neither_before_nor_after() {
        let n = SeqNum(7);
        assert!(!n.before(n) && !n.after(n) && n.at_or_before(n) && n.at_or_after(n));
    }
}
