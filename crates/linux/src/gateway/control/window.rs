//! Which sequence numbers of one life of the peer were seen: the sliding window of RFC 4303 (section 3.4.3).

/// Messages that may overtake each other.
const WINDOW: u64 = 64;
/// Messages that may be lost in a row. One number out of all order does not move the window.
const JUMP_MAX: u64 = 1 << 20;

/// The newest [`WINDOW`] sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    highest: u64,
    /// Bit i: `highest - i` was seen.
    seen: u64,
}

impl Window {
    /// The first number that was heard. Those before it count as seen: a former life of ours may have taken them.
    pub fn new(sequence: u64) -> Window {
        Window { highest: sequence, seen: u64::MAX }
    }

    /// True if the message is new; it is old from now on.
    pub fn accept(&mut self, sequence: u64) -> bool {
        let Some(age) = self.highest.checked_sub(sequence) else {
            let shift = sequence - self.highest;
            if shift > JUMP_MAX {
                return false;
            }
            self.seen = if shift < WINDOW { self.seen << shift | 1 } else { 1 };
            self.highest = sequence;
            return true;
        };
        if age >= WINDOW || self.seen >> age & 1 == 1 {
            return false;
        }
        self.seen |= 1 << age;
        true
    }

    /// A message that is new for another reason: the window moves to it, however far it is ahead.
    pub fn resume(&mut self, sequence: u64) {
        if !self.accept(sequence) && sequence > self.highest {
            *self = Window::new(sequence);
        }
    }

    /// True if the window is ahead of a message that is new for another reason.
    pub fn is_past(&self, sequence: u64) -> bool {
        self.highest.saturating_sub(sequence) >= WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn overtaken_messages_are_taken_once_within_the_window() {
        let mut window = Window::new(100);
        assert!(!window.accept(100) && !window.accept(99), "what came before the first is old");
        assert!(window.accept(200));
        assert!(window.accept(200 - (WINDOW - 1)));
        assert!(!window.accept(200 - (WINDOW - 1)));
        assert!(!window.accept(200 - WINDOW));
    }

    #[test]
    fn a_jump_forward_forgets_exactly_what_leaves_the_window() {
        let mut window = Window::new(1);
        assert!(window.accept(WINDOW));
        assert!(!window.accept(1));
        assert!(window.accept(3 * WINDOW));
        assert!(!window.accept(WINDOW));
        assert!(window.accept(3 * WINDOW - 1));
    }

    #[test]
    fn a_number_far_ahead_of_all_others_moves_nothing() {
        let mut window = Window::new(1);
        for far in [u64::MAX, JUMP_MAX + 2] {
            assert!(!window.accept(far));
        }
        assert!(window.accept(2) && window.accept(JUMP_MAX + 2));
    }

    #[test]
    fn after_a_long_loss_the_window_goes_on_where_the_peer_is_and_never_back() {
        let mut window = Window::new(1);
        window.resume(u64::MAX - 1);
        assert!(!window.accept(2) && window.accept(u64::MAX));
        window.resume(2);
        assert!(!window.accept(u64::MAX - 1), "what was seen stays seen");
    }

    proptest! {
        #[test]
        fn no_number_is_taken_twice(numbers in prop::collection::vec(0u64..400, 1..200)) {
            let mut window = Window::new(numbers[0]);
            let mut taken = BTreeSet::from([numbers[0]]);
            for number in &numbers[1..] {
                if window.accept(*number) {
                    prop_assert!(taken.insert(*number), "{number} twice");
                } else {
                    let is_old = *number < numbers[0] || taken.last().unwrap() - number >= WINDOW;
                    prop_assert!(taken.contains(number) || is_old, "{number} lost");
                }
            }
        }
    }
}
