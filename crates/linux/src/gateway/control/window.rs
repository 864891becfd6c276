//! Which sequence numbers of one life of the peer were seen.

use super::seen::Seen;

/// Messages that may be lost in a row. One number out of all order does not move the window.
const JUMP_MAX: u64 = 1 << 20;

/// The newest sequence numbers.
#[derive(Clone, Debug)]
pub struct Window(Seen);

impl Window {
    /// The first number that was heard. Those before it count as seen: a former life of ours may have taken them.
    pub fn new(sequence: u64) -> Window {
        Window(Seen::up_to(sequence))
    }

    /// True if the message is new; it is old from now on.
    pub fn accept(&mut self, sequence: u64) -> bool {
        let is_too_far = sequence.saturating_sub(self.0.highest()) > JUMP_MAX;
        let is_new = !is_too_far && !self.0.contains(sequence);
        if is_new {
            self.0.note(sequence);
        }
        is_new
    }

    /// A message that is new for another reason: the window moves to it, however far it is ahead.
    pub fn resume(&mut self, sequence: u64) {
        if !self.accept(sequence) && sequence > self.0.highest() {
            *self = Window::new(sequence);
        }
    }

    /// True if the window is ahead of a message that is new for another reason.
    pub fn is_past(&self, sequence: u64) -> bool {
        self.0.highest().saturating_sub(sequence) >= Seen::WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const WINDOW: u64 = Seen::WINDOW;

    #[test]
    fn overtaken_messages_are_taken_once_within_the_window() {
        let mut window = Window::new(WINDOW);
        assert!(!window.accept(WINDOW) && !window.accept(WINDOW - 1), "what came before the first is old");
        let newest = 3 * WINDOW;
        assert!(window.accept(newest));
        assert!(window.accept(newest - (WINDOW - 1)));
        assert!(!window.accept(newest - (WINDOW - 1)));
        assert!(!window.accept(newest - WINDOW));
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
        fn no_number_is_taken_twice(numbers in prop::collection::vec(0..3 * WINDOW, 1..200)) {
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
