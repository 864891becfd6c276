//! Whether packets leave in frames. Frames cost 1 % of a link that loses nothing, so there are none on one that has lost
//! nothing for a while, until it does again: that loss is not repaired. A link that loses something each time that frames are
//! given up keeps them longer each time.

use super::ahead::LONG;
use airtcp_core::{Duration, Instant};

/// A link is taken for clean after so long without a loss, the first time.
const CLEAN_AFTER: Duration = Duration::from_secs(10);
/// After so long whatever it did before.
const AT_MOST: Duration = Duration::from_secs(3600);

/// See the module.
#[derive(Debug)]
pub(super) struct Framing {
    /// The latest loss, or the first packet.
    since: Option<Instant>,
    clean_after: Duration,
}

impl Default for Framing {
    fn default() -> Self {
        Framing { since: None, clean_after: CLEAN_AFTER }
    }
}

impl Framing {
    /// A packet is to leave.
    pub fn begin(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// True if a packet that leaves now needs a frame. On a long hop each does: a sender takes long to make good for one loss.
    pub fn is_needed(&self, now: Instant, rtt: Duration) -> bool {
        rtt >= LONG || self.since.is_none_or(|since| now < since + self.clean_after)
    }

    /// The link lost a packet.
    pub fn on_loss(&mut self, now: Instant) {
        if self.since.is_some_and(|since| now >= since + self.clean_after) {
            self.clean_after = (self.clean_after * 2).min(AT_MOST);
        }
        self.since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn a_link_needs_frames_until_it_has_lost_nothing_for_long_and_longer_each_time() {
        let short = Duration::from_millis(10);
        let mut framing = Framing::default();
        framing.begin(at(1));
        framing.begin(at(5));
        assert!(framing.is_needed(at(1), short) && framing.is_needed(at(10), short));
        assert!(!framing.is_needed(at(11), short));
        framing.on_loss(at(20));
        assert!(framing.is_needed(at(39), short) && !framing.is_needed(at(40), short));
        framing.on_loss(at(39));
        assert!(!framing.is_needed(at(59), short), "a loss in a frame changes nothing");
        for n in 1..20 {
            framing.on_loss(at(10_000 * n));
        }
        assert!(framing.is_needed(at(193_599), short) && !framing.is_needed(at(193_600), short), "an hour at most");
    }

    #[test]
    fn on_a_long_hop_every_packet_has_one() {
        let mut framing = Framing::default();
        framing.begin(at(0));
        assert!(framing.is_needed(at(1000), LONG) && !framing.is_needed(at(1000), LONG / 2));
    }
}
