//! The round-trip time as a receiver sees it (Linux `tcp_rcv_rtt_measure_ts()`, `tcp_rcv_rtt_measure()`): what echoes
//! a clock of ours came by what we sent then. Without timestamps it is the time that a window of data takes.

use airtcp_core::{Duration, Instant};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    /// Eighths of a microsecond, as Linux; 0 before the first sample.
    estimate: u64,
    /// The clock that was echoed last: only the first segment that echoes it is a sample.
    echo: Option<u32>,
    /// The window that is timed: its end and when it began.
    timed: Option<(u64, Instant)>,
}

impl RoundTrip {
    /// The estimate; zero before the first sample.
    pub fn get(&self) -> Duration {
        Duration::from_micros(self.estimate >> 3)
    }

    /// A full segment echoes a clock of ours, `clock` is how it stands now, in ms. Nothing waits to be read if `is_read`.
    pub fn on_echo(&mut self, clock: u32, echo: u32, is_read: bool) {
        let age = clock.wrapping_sub(echo);
        if self.echo.replace(echo) != Some(echo) && (age as i32) > 0 {
            self.take(u64::from(age) * 1000, is_read);
        }
    }

    /// Data arrived in order up to `nxt`, and a window more would reach to `edge`.
    pub fn on_data(&mut self, now: Instant, nxt: u64, edge: u64) {
        if let Some((end, began_at)) = self.timed {
            if nxt < end {
                return;
            }
            let micros = now.saturating_since(began_at).as_micros().max(1);
            // Only the least counts: an idle sender makes such a sample too long.
            self.take(micros, false);
        }
        self.timed = Some((edge, now));
    }

    fn take(&mut self, micros: u64, smooths: bool) {
        let sample = micros << 3;
        if self.estimate == 0 || sample < self.estimate {
            self.estimate = sample;
        } else if smooths {
            self.estimate = self.estimate - (self.estimate >> 3) + micros;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_echo_of_each_clock_is_a_sample_and_longer_ones_count_an_eighth_if_all_was_read() {
        let mut round_trip = RoundTrip::default();
        round_trip.on_echo(140, 100, true);
        assert_eq!(round_trip.get(), Duration::from_millis(40));
        round_trip.on_echo(190, 100, true);
        round_trip.on_echo(221, 101, false);
        assert_eq!(round_trip.get(), Duration::from_millis(40));
        round_trip.on_echo(222, 102, true);
        assert_eq!(round_trip.get(), Duration::from_millis(50));
        round_trip.on_echo(223, 203, true);
        assert_eq!(round_trip.get(), Duration::from_millis(20));
    }

    #[test]
    fn a_window_of_data_takes_a_round_trip_at_least() {
        let mut round_trip = RoundTrip::default();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        round_trip.on_data(at(0), 1001, 10_001);
        round_trip.on_data(at(10), 9001, 19_001);
        assert_eq!(round_trip.get(), Duration::ZERO);
        round_trip.on_data(at(30), 10_001, 20_001);
        assert_eq!(round_trip.get(), Duration::from_millis(30));
        round_trip.on_data(at(90), 20_001, 30_001);
        assert_eq!(round_trip.get(), Duration::from_millis(30));
    }
}
