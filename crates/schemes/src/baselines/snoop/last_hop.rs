//! The smoothed round trip of the last hop: over the link, the receiver, and back. Estimated as
//! RFC 6298 does for the whole path.

use airtcp_core::Duration;

/// Timeout before anything is known: that of a sender (RFC 6298 section 2.1).
const UNKNOWN: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastHop {
    smoothed: Option<Duration>,
    variation: Duration,
}

impl LastHop {
    /// Begins with the link's own round trip, where it is known.
    pub fn new(round_trip: Option<Duration>) -> Self {
        LastHop { smoothed: round_trip, variation: round_trip.unwrap_or(Duration::ZERO) / 4 }
    }

    pub fn on_sample(&mut self, sample: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample / 2;
            }
            Some(smoothed) => {
                let deviation = if sample > smoothed { sample - smoothed } else { smoothed - sample };
                self.variation = (self.variation * 3 + deviation) / 4;
                self.smoothed = Some((smoothed * 7 + sample) / 8);
            }
        }
    }

    /// After so long without an acknowledgment the oldest packet is sent again.
    pub fn timeout(&self, least: Duration) -> Duration {
        self.smoothed.map_or(UNKNOWN, |smoothed| smoothed + self.variation * 4).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_the_last_hop_and_not_below_its_minimum() {
        let mut hop = LastHop::new(None);
        assert_eq!(hop.timeout(MS), UNKNOWN);
        for _ in 0..100 {
            hop.on_sample(MS * 200);
        }
        assert!(hop.timeout(MS * 100) >= MS * 200 && hop.timeout(MS * 100) < MS * 210);
        assert_eq!(hop.timeout(MS * 500), MS * 500);
    }

    #[test]
    fn jitter_lengthens_the_timeout() {
        let mut hop = LastHop::new(Some(MS * 20));
        for n in 0..100 {
            hop.on_sample(MS * if n % 2 == 0 { 10 } else { 30 });
        }
        assert!(hop.timeout(MS) > MS * 50 && hop.timeout(MS) < MS * 80);
    }
}
