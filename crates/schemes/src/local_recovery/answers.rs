//! How long the other end takes to acknowledge. What it has not acknowledged for longer is lost, or its acknowledgment is.

use airtcp_core::Duration;

/// Answers that are remembered.
const SAMPLES: usize = 32;

/// See the module.
#[derive(Debug)]
pub(super) struct Answers {
    samples: [Duration; SAMPLES],
    /// Where the next one goes.
    next: usize,
    is_full: bool,
}

impl Default for Answers {
    fn default() -> Self {
        Answers { samples: [Duration::ZERO; SAMPLES], next: 0, is_full: false }
    }
}

impl Answers {
    /// An acknowledgment took so long.
    pub fn add(&mut self, sample: Duration) {
        self.samples[self.next] = sample;
        self.next = (self.next + 1) % SAMPLES;
        self.is_full |= self.next == 0;
    }

    /// The longest of late; `expected` until there are some, and never less than half of that.
    pub fn longest(&self, expected: Duration) -> Duration {
        let longest = self.samples.into_iter().max().unwrap_or_default();
        longest.max(if self.is_full { expected / 2 } else { expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_counts_until_enough_is_known() {
        let ms = Duration::from_millis;
        let mut answers = Answers::default();
        answers.add(ms(7));
        assert_eq!(answers.longest(ms(10)), ms(10));
        (0..32).for_each(|_| answers.add(ms(7)));
        assert_eq!((answers.longest(ms(10)), answers.longest(ms(20))), (ms(7), ms(10)));
        answers.add(ms(50));
        assert_eq!(answers.longest(ms(10)), ms(50), "also what is rare");
        (0..32).for_each(|_| answers.add(ms(7)));
        assert_eq!(answers.longest(ms(10)), ms(7), "for a while");
    }
}
