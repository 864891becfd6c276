//! The least time between acknowledgments of data that arrive in order: TACK (Li et al., SIGCOMM 2020).
//!
//! TACK acknowledges with the frequency *f = min(bw / (L MSS), beta / RTTmin)*: an acknowledgment for L segments, but
//! no more than beta in the lowest round-trip time. Whatever RFC 5681 requires to acknowledge at once still is: only
//! acknowledgments that report nothing but progress are spaced.
//!
//! The receiver knows RTTmin from its handshake and from timestamps: the echo of a clock that it sent with its last
//! acknowledgments came with data that those may have released (RFC 7323). A sender that had nothing to send makes
//! such a sample too long, never too short, and only the lowest counts. A path that becomes longer leaves it too
//! low, which costs acknowledgments and nothing else.

use airtcp_core::{Duration, Instant};

/// An acknowledgment waits no longer, however long the path (RFC 9293 section 3.8.6.3: below 500 ms).
const LONGEST: Duration = Duration::from_millis(499);

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// Acknowledgments in the lowest round-trip time, 1 or more: TACK's beta.
    per_round_trip: u64,
    /// The lowest round-trip time; `None` before the first sample.
    shortest: Option<Duration>,
    /// The clock that was echoed last: the first segment that echoes another one is a sample.
    echo: Option<u32>,
    /// When an acknowledgment last left.
    sent_at: Instant,
}

impl Spacing {
    /// At most so many acknowledgments in a round-trip time; 0 counts as 1.
    pub fn new(per_round_trip: u32) -> Self {
        let per_round_trip = u64::from(per_round_trip.max(1));
        Spacing { per_round_trip, shortest: None, echo: None, sent_at: Instant::ZERO }
    }

    /// Takes a sample of the round-trip time.
    pub fn on_sample(&mut self, round_trip: Duration) {
        self.shortest = Some(self.shortest.map_or(round_trip, |shortest| shortest.min(round_trip)));
    }

    /// Data echo a clock of ours; `clock` is how it stands now, in ms.
    pub fn on_echo(&mut self, clock: u32, echo: u32) {
        let age = clock.wrapping_sub(echo);
        if self.echo.replace(echo) != Some(echo) && (age as i32) >= 0 {
            // What took less than a tick took up to one.
            self.on_sample(Duration::from_millis(u64::from(age.max(1))));
        }
    }

    /// An acknowledgment left.
    pub fn on_acknowledged(&mut self, now: Instant) {
        self.sent_at = now;
    }

    /// When the next acknowledgment may leave.
    pub fn allowed_at(&self) -> Instant {
        let gap = self.shortest.map_or(0, |shortest| shortest.as_nanos() / self.per_round_trip);
        self.sent_at.saturating_add(Duration::from_nanos(gap).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(spacing: &Spacing) -> Duration {
        spacing.allowed_at().saturating_since(spacing.sent_at)
    }

    #[test]
    fn the_gap_is_a_share_of_the_lowest_round_trip_time() {
        let mut spacing = Spacing::new(4);
        spacing.on_acknowledged(Instant::from_nanos(7));
        assert_eq!(gap(&spacing), Duration::ZERO);
        for (sample, expected) in [(100, 25), (40, 10), (60, 10)] {
            spacing.on_sample(Duration::from_millis(sample));
            assert_eq!(gap(&spacing), Duration::from_millis(expected));
        }
        let mut satellite = Spacing::new(0);
        satellite.on_sample(Duration::from_secs(3));
        assert_eq!(gap(&satellite), LONGEST);
    }

    #[test]
    fn the_first_echo_of_each_clock_is_a_sample_across_the_wrap() {
        let mut spacing = Spacing::new(1);
        spacing.on_echo(50, u32::MAX - 49);
        assert_eq!(gap(&spacing), Duration::from_millis(100));
        // A second segment with the same echo tells how long the sender sent, not how far away it is.
        spacing.on_echo(90, u32::MAX - 49);
        spacing.on_echo(90, 60);
        assert_eq!(gap(&spacing), Duration::from_millis(30));
        spacing.on_echo(91, 60);
        // An echo of a clock that we have not reached is nobody's.
        spacing.on_echo(91, 95);
        assert_eq!(gap(&spacing), Duration::from_millis(30));
        spacing.on_echo(91, 91);
        assert_eq!(gap(&spacing), Duration::from_millis(1));
    }
}
