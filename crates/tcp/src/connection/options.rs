//! What the handshake agreed on, and the timestamp clock (RFC 7323).

use airtcp_core::{Duration, Instant, Timestamps};

/// A stored timestamp is not compared after so long without a segment (RFC 7323 section 5.5).
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);

/// The clock of our timestamps: a tick a millisecond.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    offset: u32,
}

impl Clock {
    /// How it stands at `now`.
    #[inline]
    pub fn at(self, now: Instant) -> u32 {
        // It wraps after 49 days by design.
        self.offset.wrapping_add(((now.as_nanos() / 1_000_000) & 0xffff_ffff) as u32)
    }
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Both sides send timestamps.
    pub timestamps: bool,
    /// Both sides may send SACK.
    pub sack: bool,
    /// Both sides scale windows; ours by this.
    pub our_shift: Option<u8>,
    /// Both sides speak ECN.
    pub ecn: bool,
    /// Our timestamp clock.
    pub clock: Clock,
    recent: u32,
    recent_at: Instant,
    has_recent: bool,
    /// Acknowledgment sent last, as an offset of the peer's sequence (Last.ACK.sent).
    pub last_ack_sent: u64,
}

impl Options {
    /// Before the handshake; the timestamp clock starts at `offset`.
    pub fn new(offset: u32) -> Self {
        Options {
            timestamps: false,
            sack: false,
            our_shift: None,
            ecn: false,
            clock: Clock { offset },
            recent: 0,
            recent_at: Instant::ZERO,
            has_recent: false,
            last_ack_sent: 0,
        }
    }

    /// Our timestamp clock at `now`.
    #[inline]
    pub fn clock(&self, now: Instant) -> u32 {
        self.clock.at(now)
    }

    /// The option of a segment sent now.
    pub fn stamp(&self, now: Instant) -> Timestamps {
        Timestamps { value: self.clock(now), echo: if self.has_recent { self.recent } else { 0 } }
    }

    /// True if a segment with this stamp is older than what was seen (PAWS, RFC 7323 section 5.3).
    pub fn is_too_old(&self, stamp: Timestamps, now: Instant) -> bool {
        self.has_recent
            && (stamp.value.wrapping_sub(self.recent) as i32) < 0
            && now.saturating_since(self.recent_at) < PAWS_IDLE
    }

    /// Keeps the stamp, which is not too old, of a segment that begins at `sequence` (RFC 7323 section 4.3).
    pub fn note(&mut self, stamp: Timestamps, sequence: i64, now: Instant) {
        if sequence <= self.last_ack_sent as i64 {
            self.recent = stamp.value;
            self.recent_at = now;
            self.has_recent = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_and_the_age_test_survive_the_wrap() {
        let mut options = Options::new(u32::MAX - 1);
        let later = Instant::from_nanos(5_000_000);
        assert_eq!(options.clock(later), 3);
        options.note(Timestamps { value: u32::MAX, echo: 0 }, 0, Instant::ZERO);
        assert!(!options.is_too_old(Timestamps { value: 2, echo: 0 }, later));
        assert!(options.is_too_old(Timestamps { value: u32::MAX - 1, echo: 0 }, later));
    }
}
