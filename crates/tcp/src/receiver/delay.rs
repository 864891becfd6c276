//! How long an acknowledgment may wait (RFC 9293 section 3.8.6.3): a constant, or a time that follows the spacing of
//! the segments, as Linux's `ato` does (`tcp_event_data_recv()`, `tcp_send_delayed_ack()`).

use crate::config::Config;
use airtcp_core::Duration;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct AckDelay {
    /// The constant, and the least that follows.
    least: Duration,
    /// The most; `None` if the delay is constant.
    longest: Option<Duration>,
    /// The spacing as it is estimated.
    spacing: Duration,
}

/// What the sending half knows of the path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Its retransmission timeout.
    pub rto: Duration,
    /// Its smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
}

impl Path {
    /// Nothing is known of it.
    pub const UNKNOWN: Path = Path { rto: Duration::ZERO, srtt: None };
}

impl AckDelay {
    /// Begins with the least.
    pub fn new(config: &Config) -> Self {
        let least = config.delayed_ack_timeout;
        AckDelay { least, longest: config.delayed_ack_longest, spacing: least }
    }

    /// The spacing as it is estimated.
    pub fn spacing(&self) -> Duration {
        self.spacing
    }

    /// A segment arrived in order `pause` after the one before.
    pub fn on_in_order(&mut self, pause: Duration, rto: Duration) {
        if self.longest.is_none() {
            return;
        }
        if pause <= self.least / 2 {
            self.spacing = self.spacing / 2 + self.least / 2;
        } else if pause < self.spacing {
            self.spacing = (self.spacing / 2 + pause).min(rto);
        }
    }

    /// The delay ran out before there was anything to send: the segments come further apart than was thought. If both
    /// ends talk in turn, that was chance.
    pub fn on_missed(&mut self, talks_in_turn: bool, rto: Duration) {
        if self.longest.is_some() {
            self.spacing = if talks_in_turn { self.least } else { self.spacing.saturating_add(self.spacing).min(rto) };
        }
    }

    /// Quick acknowledgments are over.
    pub fn reset(&mut self) {
        self.spacing = self.least;
    }

    /// How long the next acknowledgment waits: the spacing, but no longer than a round trip and than is allowed.
    pub fn wait(&self, srtt: Option<Duration>) -> Duration {
        let Some(longest) = self.longest.filter(|_| self.spacing > self.least) else { return self.spacing };
        let round_trip = srtt.map_or(longest, |srtt| srtt.max(self.least));
        self.spacing.min(round_trip).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(300);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_delay_follows_the_spacing_down_to_the_least_and_up_to_the_rto() {
        let mut delay = AckDelay::new(&Config { delayed_ack_longest: Some(ms(200)), ..Config::default() });
        delay.on_missed(false, RTO);
        assert_eq!(delay.spacing(), ms(80));
        delay.on_in_order(ms(60), RTO);
        assert_eq!(delay.spacing(), ms(100));
        // More than the spacing says nothing.
        delay.on_in_order(ms(100), RTO);
        assert_eq!(delay.spacing(), ms(100));
        for expected in [70, 55] {
            delay.on_in_order(ms(20), RTO);
            assert_eq!(delay.spacing(), ms(expected));
        }
        (0..9).for_each(|_| delay.on_missed(false, RTO));
        assert_eq!(delay.spacing(), RTO);
        delay.on_missed(true, RTO);
        assert_eq!(delay.spacing(), ms(40));
    }

    #[test]
    fn an_acknowledgment_waits_a_round_trip_at_most_but_never_less_than_the_least() {
        let mut delay = AckDelay::new(&Config { delayed_ack_longest: Some(ms(200)), ..Config::default() });
        (0..9).for_each(|_| delay.on_missed(false, RTO));
        let waits = [None, Some(ms(120)), Some(ms(10)), Some(ms(900))].map(|srtt| delay.wait(srtt));
        assert_eq!(waits, [ms(200), ms(120), ms(40), ms(200)]);
    }

    #[test]
    fn a_constant_delay_stays() {
        let mut delay = AckDelay::new(&Config { delayed_ack_longest: None, ..Config::default() });
        delay.on_missed(false, RTO);
        delay.on_in_order(ms(1), RTO);
        assert_eq!(delay.wait(Some(ms(10))), ms(40));
    }
}
