//! What the shaper sends, measured over and over.

use airtcp_core::{Duration, Instant};

/// See the module.
#[derive(Debug)]
pub(super) struct Load {
    bytes: u64,
    since: Instant,
    due: Instant,
    /// Bits per second of the last measurement.
    rate: u64,
    is_new: bool,
}

impl Load {
    pub fn new() -> Load {
        Load { bytes: 0, since: Instant::ZERO, due: Instant::ZERO, rate: 0, is_new: false }
    }

    /// So many bytes were sent.
    pub fn on_sent(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// Ends a measurement when its time is over; the next one takes `every`.
    pub fn handle_timeout(&mut self, now: Instant, every: Duration) {
        if now < self.due {
            return;
        }
        let nanos = u128::from(now.saturating_since(self.since).as_nanos().max(1));
        self.rate = u64::try_from(u128::from(self.bytes) * 8_000_000_000 / nanos).unwrap_or(u64::MAX);
        self.is_new = true;
        (self.bytes, self.since, self.due) = (0, now, now.saturating_add(every));
    }

    /// When a measurement ends.
    pub fn poll_timeout(&self) -> Instant {
        self.due
    }

    /// Bits per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Nobody used the last measurement up.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The last measurement is used up.
    pub fn use_up(&mut self) {
        self.is_new = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    #[test]
    fn the_load_is_what_was_sent_since_the_last_measurement() {
        let every = Duration::from_millis(200);
        let mut load = Load::new();
        load.handle_timeout(at(0), every);
        load.on_sent(25_000);
        load.handle_timeout(at(199), every);
        assert_eq!(load.rate(), 0, "not yet");
        load.handle_timeout(at(200), every);
        assert_eq!((load.rate(), load.poll_timeout()), (1_000_000, at(400)));
        load.use_up();
        assert!(!load.is_new());
        load.handle_timeout(at(400), every);
        assert_eq!((load.rate(), load.is_new()), (0, true));
    }
}
