//! Which sequence numbers were seen: the sliding window of RFC 4303 (section 3.4.3), one per life
//! of the peer.
//!
//! A new life has a larger epoch (the peer's wall clock at its start), so what was recorded in
//! an older one stays invalid. A peer whose clock went back at a reboot would be locked out for
//! ever; it is taken after [`SILENCE`] without a message of the life known so far. Within that
//! exception an attacker who recorded a whole older life can replay it, once the peer is silent.

use airtcp_core::{Duration, Instant};

/// Messages that may overtake each other.
const WINDOW: u64 = 64;
/// How long a life must be silent before an older epoch is believed.
const SILENCE: Duration = Duration::from_secs(2);

/// The newest [`WINDOW`] sequence numbers of one epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayWindow {
    epoch: u64,
    highest: u64,
    /// Bit i: `highest - i` was seen.
    seen: u64,
    last_heard: Instant,
}

impl ReplayWindow {
    /// True if the message is new; it is old from now on.
    pub fn accept(&mut self, now: Instant, epoch: u64, sequence: u64) -> bool {
        let silent = now.saturating_since(self.last_heard) >= SILENCE;
        if epoch > self.epoch || (epoch < self.epoch && silent) {
            *self = ReplayWindow { epoch, highest: sequence, seen: 1, last_heard: now };
            return true;
        }
        if epoch < self.epoch {
            return false;
        }
        if sequence > self.highest {
            let shift = sequence - self.highest;
            self.seen = if shift < WINDOW { self.seen << shift | 1 } else { 1 };
            self.highest = sequence;
        } else {
            let age = self.highest - sequence;
            if age >= WINDOW || self.seen >> age & 1 == 1 {
                return false;
            }
            self.seen |= 1 << age;
        }
        self.last_heard = now;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_nanos(10_000_000_000);

    #[test]
    fn overtaken_messages_are_taken_once_within_the_window() {
        let mut window = ReplayWindow::default();
        assert!(window.accept(NOW, 1, 100));
        assert!(window.accept(NOW, 1, 100 - (WINDOW - 1)));
        assert!(!window.accept(NOW, 1, 100 - (WINDOW - 1)));
        assert!(!window.accept(NOW, 1, 100 - WINDOW));
    }

    #[test]
    fn a_jump_forward_forgets_exactly_what_leaves_the_window() {
        let mut window = ReplayWindow::default();
        assert!(window.accept(NOW, 1, 1));
        assert!(window.accept(NOW, 1, WINDOW));
        assert!(!window.accept(NOW, 1, 1));
        assert!(window.accept(NOW, 1, 3 * WINDOW));
        assert!(!window.accept(NOW, 1, WINDOW));
        assert!(window.accept(NOW, 1, 3 * WINDOW - 1));
    }

    #[test]
    fn an_older_life_is_believed_only_after_silence() {
        let mut window = ReplayWindow::default();
        assert!(window.accept(NOW, 9, 1));
        let almost = NOW + SILENCE - Duration::from_nanos(1);
        assert!(!window.accept(almost, 8, 1));
        assert!(window.accept(NOW + SILENCE, 8, 1));
    }

    #[test]
    fn the_largest_sequence_number_does_not_overflow() {
        let mut window = ReplayWindow::default();
        assert!(window.accept(NOW, 1, 0));
        assert!(window.accept(NOW, 1, u64::MAX));
        assert!(!window.accept(NOW, 1, u64::MAX));
    }
}
