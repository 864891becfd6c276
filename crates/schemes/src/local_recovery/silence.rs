//! The other end is silent: is it gone, or does the link stand still? If packets come off the link and no message does, it is
//! gone, and what is known of it is forgotten. If nothing comes at all, or only frames of the other end, which left it before the link
//! stood still, everything is kept for a while, and what was on its way is repaired when the link goes on.

use airtcp_core::{Duration, Instant};

/// So long after the first packet that comes in a silence a message comes, too, unless the other end is gone.
const GRACE: Duration = Duration::from_millis(500);
/// A longer silence is no outage.
const LONGEST: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Silence {
    since: Option<Instant>,
    /// When the first packet came in it.
    packet_at: Option<Instant>,
}

impl Silence {
    /// Nothing was heard for too long.
    pub fn begin(&mut self, now: Instant) {
        *self = Silence { since: Some(now), packet_at: None };
    }

    /// The other end was heard.
    pub fn end(&mut self) {
        *self = Silence::default();
    }

    /// A packet came off the link that is in no frame of the other end.
    pub fn on_packet(&mut self, now: Instant) {
        if self.since.is_some() {
            self.packet_at.get_or_insert(now);
        }
    }

    /// True once, if the other end is gone.
    pub fn is_over(&mut self, now: Instant) -> bool {
        let Some(since) = self.since else { return false };
        let is_over = now >= since + LONGEST || self.packet_at.is_some_and(|at| now >= at + GRACE);
        if is_over {
            self.end();
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn packets_without_messages_show_that_the_other_end_is_gone() {
        let mut silence = Silence::default();
        silence.on_packet(at(900));
        silence.begin(at(1000));
        assert!(!silence.is_over(at(9000)));
        silence.on_packet(at(9100));
        silence.on_packet(at(9300));
        assert!(!silence.is_over(at(9599)) && silence.is_over(at(9600)) && !silence.is_over(at(99_000)), "once");
    }

    #[test]
    fn a_link_that_goes_on_has_lost_nothing_and_one_that_does_not_has() {
        let mut silence = Silence::default();
        silence.begin(at(1000));
        silence.on_packet(at(6000));
        silence.end();
        assert!(!silence.is_over(at(60_000)));
        silence.begin(at(70_000));
        assert!(!silence.is_over(at(79_999)) && silence.is_over(at(80_000)));
    }
}
