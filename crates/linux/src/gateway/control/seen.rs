//! Which of the newest numbers were seen: the sliding window of RFC 4303 (section 3.4.3), kept as in RFC 6479.

const WORDS: usize = (Seen::WINDOW / 64) as usize;

/// The newest [`Seen::WINDOW`] numbers.
#[derive(Clone, Debug)]
pub struct Seen {
    highest: u64,
    /// A bit for each of the numbers up to `highest`, at number mod [`Seen::WINDOW`].
    seen: [u64; WORDS],
}

impl Seen {
    /// Numbers that may overtake each other. A train of datagrams (UDP GSO) has 64, and at 1 Gbit/s this is 25 ms of long
    /// packets.
    pub const WINDOW: u64 = 2048;

    /// None was seen.
    pub fn none() -> Seen {
        Seen { highest: 0, seen: [0; WORDS] }
    }

    /// All up to this one were seen.
    pub fn up_to(highest: u64) -> Seen {
        Seen { highest, seen: [u64::MAX; WORDS] }
    }

    /// The highest that was seen.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// True if it was seen, or is too old to tell.
    pub fn contains(&self, number: u64) -> bool {
        let Some(age) = self.highest.checked_sub(number) else { return false };
        age >= Self::WINDOW || self.seen[place(number)] & bit(number) != 0
    }

    /// It was seen; it must not be too old.
    pub fn note(&mut self, number: u64) {
        // Those that the window leaves behind make room.
        let ahead = number.saturating_sub(self.highest).min(Self::WINDOW);
        for skipped in number - ahead..number {
            self.seen[place(skipped + 1)] &= !bit(skipped + 1);
        }
        self.highest = self.highest.max(number);
        self.seen[place(number)] |= bit(number);
    }
}

fn place(number: u64) -> usize {
    (number % Seen::WINDOW / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}
