//! The other end is silent: is it gone, or does the link stand still? If packets come off the link and no message does, it is
//! gone, and what is known of it is forgotten. If nothing comes at all, everything is kept for a while, and what was on its way
//! is repaired when the link goes on. So it is as long as frames of the other end come, which left it before the link stood still: the
//! messages are behind them.

use airtcp_core::{Duration, Instant};

/// So long after the first packet that comes in a silence a message comes, too, unless the other end is gone.
const GRACE: Duration = Duration::from_millis(500);
/// A longer silence is no outage.
const LONGEST: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Silence {
    since: Option<Instant>,
    /// When the first packet came that was in no frame of the other end, since the last that was.
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

    /// A packet came off the link, in a frame of the other end or not.
    pub fn on_packet(&mut self, now: Instant, is_framed: bool) {
        let first = self.packet_at.unwrap_or(now);
        self.packet_at = (self.since.is_some() && !is_framed).then_some(first);
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
        silence.on_packet(at(900), false);
        silence.begin(at(1000));
        assert!(!silence.is_over(at(9000)));
        silence.on_packet(at(9100), false);
        silence.on_packet(at(9300), false);
        assert!(!silence.is_over(at(9599)) && silence.is_over(at(9600)) && !silence.is_over(at(99_000)), "once");
    }

    #[test]
    fn frames_of_the_other_end_show_that_it_was_there() {
        let mut silence = Silence::default();
        silence.begin(at(1000));
        silence.on_packet(at(2000), false);
        silence.on_packet(at(2400), true);
        assert!(!silence.is_over(at(9000)));
        silence.on_packet(at(9100), false);
        assert!(!silence.is_over(at(9599)) && silence.is_over(at(9600)));
    }

    #[test]
    fn a_link_that_goes_on_has_lost_nothing_and_one_that_does_not_has() {
        let mut silence = Silence::default();
        silence.begin(at(1000));
        silence.on_packet(at(6000), false);
        silence.end();
        assert!(!silence.is_over(at(60_000)));
        silence.begin(at(70_000));
        assert!(!silence.is_over(at(79_999)) && silence.is_over(at(80_000)));
    }
}
