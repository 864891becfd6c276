//! Numbered UDP datagrams: what is in one, when the next is due, and what the receiver makes of the numbers.
//!
//! Each carries its number and when it was made; the rest of its content is a function of the number. So the receiver
//! counts what is missing, late or repeated, knows how long each was on its way, and sees a wrong byte. The simulator and
//! live traffic share this file.

use airtcp_core::packet::fill_virtual;
use airtcp_core::{Duration, Instant, Rate};
use bytes::BufMut;

/// Number and time.
pub const LEAST_CONTENT: usize = 16;

/// Writes the content of the `number`-th datagram, made at `now`, which fills `out`.
///
/// # Panics
/// `out` is shorter than [`LEAST_CONTENT`].
pub fn fill(number: u64, now: Instant, mut out: &mut [u8]) {
    out.put_u64(number);
    out.put_u64(now.as_nanos());
    fill_virtual(number, 0, out);
}

/// What the content of a datagram says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its number.
    pub number: u64,
    /// When it was made.
    pub made: Instant,
    /// The rest is what that number has there.
    pub is_intact: bool,
}

impl Content {
    /// Reads it; none if there is not enough for number and time.
    pub fn read(content: &[u8]) -> Option<Content> {
        let (number, rest) = content.split_first_chunk()?;
        let (made, mut rest) = rest.split_first_chunk()?;
        let (number, made) = (u64::from_be_bytes(*number), Instant::from_nanos(u64::from_be_bytes(*made)));
        let (mut expected, mut offset, mut is_intact) = ([0; 256], 0, true);
        while is_intact && !rest.is_empty() {
            let (part, behind) = rest.split_at(rest.len().min(expected.len()));
            fill_virtual(number, offset, &mut expected[..part.len()]);
            is_intact = *part == expected[..part.len()];
            (offset, rest) = (offset + part.len() as u64, behind);
        }
        Some(Content { number, made, is_intact })
    }
}

/// Time between datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Always the same.
    Every(Duration),
    /// What their bytes take at a rate; the second is what rounding has left.
    Rate(Rate, u64),
}

impl Pace {
    /// From one datagram, of so many IP bytes, to the next.
    pub fn gap(&mut self, bytes: u32) -> Duration {
        match self {
            Pace::Every(gap) => *gap,
            Pace::Rate(rate, carry) => rate.serialisation(bytes, carry),
        }
    }
}

/// Numbers below the highest of which it is known whether they have come.
const WINDOW: u64 = 4096;
const WORDS: usize = (WINDOW / 64) as usize;

/// What a receiver makes of the numbers that come.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// The number after the highest.
    next: u64,
    /// A bit for each of the [`WINDOW`] numbers below `next`, at number mod [`WINDOW`]: it has come.
    seen: [u64; WORDS],
    /// Different numbers that have come.
    arrived: u64,
    misordered: u64,
    repeated: u64,
}

/// What has come so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalCounts {
    /// Numbers that did not come although higher ones have.
    pub lost: u64,
    /// Those that came after a higher one.
    pub misordered: u64,
    /// Those that came again, or so late that nobody knows.
    pub repeated: u64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals { next: 0, seen: [0; WORDS], arrived: 0, misordered: 0, repeated: 0 }
    }
}

impl Arrivals {
    /// Takes the next number; false if it had come before, or may have.
    pub fn take(&mut self, number: u64) -> bool {
        let is_late = number < self.next;
        if is_late && (number < self.next.saturating_sub(WINDOW) || self.has(number)) {
            self.repeated += 1;
            return false;
        }
        self.misordered += u64::from(is_late);
        if !is_late {
            // What the window leaves behind makes room for numbers that have not come.
            let gap = number - self.next;
            for skipped in number.saturating_sub(gap.min(WINDOW))..number {
                self.set(skipped, false);
            }
            self.next = number.saturating_add(1);
        }
        self.set(number, true);
        self.arrived += 1;
        true
    }

    /// What has come so far.
    pub fn counts(&self) -> ArrivalCounts {
        let lost = self.next - self.arrived;
        ArrivalCounts { lost, misordered: self.misordered, repeated: self.repeated }
    }

    fn has(&self, number: u64) -> bool {
        self.seen[(number % WINDOW / 64) as usize] >> (number % 64) & 1 == 1
    }

    fn set(&mut self, number: u64, has_come: bool) {
        let (word, bit) = (&mut self.seen[(number % WINDOW / 64) as usize], 1 << (number % 64));
        if has_come { *word |= bit } else { *word &= !bit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn counts(numbers: impl IntoIterator<Item = u64>) -> [u64; 3] {
        let mut arrivals = Arrivals::default();
        for number in numbers {
            arrivals.take(number);
        }
        let ArrivalCounts { lost, misordered, repeated } = arrivals.counts();
        [lost, misordered, repeated]
    }

    #[test]
    fn numbers_that_are_left_out_are_lost_until_they_come() {
        assert_eq!(counts([0, 1, 2]), [0, 0, 0]);
        assert_eq!(counts([1, 4]), [3, 0, 0]);
        assert_eq!(counts([1, 4, 2]), [2, 1, 0]);
        assert_eq!(counts([1, 4, 2, 0, 3]), [0, 3, 0]);
    }

    #[test]
    fn a_number_that_comes_again_is_repeated_and_repairs_nothing() {
        assert_eq!(counts([0, 0, 0]), [0, 0, 2]);
        assert_eq!(counts([0, 3, 1, 1]), [1, 1, 1]);
    }

    #[test]
    fn what_the_window_has_left_behind_stays_lost_and_its_bits_are_free_again() {
        assert_eq!(counts([0, WINDOW + 5, 2]), [WINDOW + 4, 0, 1]);
        // The bits of the first turn are those of the second.
        assert_eq!(counts((0..WINDOW).chain([2 * WINDOW, WINDOW + 1])), [WINDOW - 1, 1, 0]);
        assert_eq!(counts((0..3 * WINDOW).chain([5 * WINDOW])), [2 * WINDOW, 0, 0]);
    }

    #[test]
    fn content_says_number_and_time_and_one_wrong_byte_shows() {
        let mut content = vec![0; 700];
        fill(7, Instant::from_nanos(99), &mut content);
        let read = Content { number: 7, made: Instant::from_nanos(99), is_intact: true };
        assert_eq!(Content::read(&content), Some(read));
        for at in [16, 271, 272, 699] {
            content[at] ^= 1;
            assert_eq!(Content::read(&content), Some(Content { is_intact: false, ..read }), "{at}");
            content[at] ^= 1;
        }
        assert_eq!(Content::read(&content[..LEAST_CONTENT]), Some(read));
        assert_eq!(Content::read(&content[..LEAST_CONTENT - 1]), None);
    }

    #[test]
    fn a_rate_gives_gaps_without_drift() {
        let mut pace = Pace::Rate(Rate::from_bps(3_000_000), 0);
        let sum: u64 = (0..3000).map(|_| pace.gap(1000).as_nanos()).sum();
        assert_eq!(sum, 8_000_000_000);
        assert_eq!(Pace::Every(Duration::from_millis(20)).gap(1000), Duration::from_millis(20));
    }
}
