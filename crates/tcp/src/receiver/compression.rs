//! Compression of acknowledgments for segments above a hole (Linux `__tcp_ack_snd_check()`, since 4.18).
//!
//! The first three after each advance leave at once: the sender needs three duplicates to repair. Those that follow say
//! little that the next does not say, too: they wait for 5 % of the round trip, 1 ms at most, and leave as one.
//! Whatever else is acknowledged at once takes them along.

use crate::config::Config;
use airtcp_core::{Duration, Instant};

/// So many after each advance leave at once (Linux `TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// So many ranges reach the sender for certain; news of others does not wait (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const RANGES: usize = 2;
/// The wait is a round trip divided by this.
const SHARE: u64 = 20;

/// When the segment that arrived is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// At once.
    Now,
    /// By then.
    By(Instant),
    /// With those that wait.
    WithOthers,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SackCompression {
    longest: Duration,
    most: u32,
    slack: Duration,
    /// Where the hole begins for which `sent` counts.
    nxt: u64,
    sent: u32,
    waiting: u32,
}

impl SackCompression {
    /// Nothing waits. `None` if the configuration compresses nothing.
    pub fn new(config: &Config) -> Option<Self> {
        config.sack_compression.then_some(SackCompression {
            longest: config.sack_compression_delay,
            most: config.sack_compression_acks,
            slack: config.sack_compression_slack,
            nxt: 0,
            sent: 0,
            waiting: 0,
        })
    }

    /// A segment arrived above the hole at `nxt`; there are `ranges` of them now. `round_trip` is the least that is known; an
    /// unknown one is none.
    pub fn on_out_of_order(&mut self, now: Instant, nxt: u64, ranges: usize, round_trip: Duration) -> Report {
        if self.waiting >= self.most || self.waiting > 0 && ranges > RANGES {
            return Report::Now;
        }
        if self.nxt != nxt {
            (self.nxt, self.sent) = (nxt, 0);
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return Report::Now;
        }
        self.waiting += 1;
        if self.waiting > 1 {
            return Report::WithOthers;
        }
        let wait = self.longest.min(Duration::from_nanos(round_trip.as_nanos() / SHARE));
        Report::By(now.saturating_add(wait).saturating_add(self.slack))
    }

    /// True if acknowledgments wait.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// An acknowledgment left.
    pub fn on_acknowledged(&mut self) {
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn compression() -> SackCompression {
        SackCompression::new(&Config { sack_compression: true, ..Config::default() }).unwrap()
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn three_leave_at_once_after_each_advance_and_the_others_wait_for_a_twentieth_of_the_round_trip() {
        let mut compression = compression();
        let round_trip = Duration::from_millis(10);
        for nxt in [1, 1001] {
            for _ in 0..3 {
                assert_eq!(compression.on_out_of_order(at(0), nxt, 1, round_trip), Report::Now);
            }
            assert_eq!(compression.on_out_of_order(at(0), nxt, 1, round_trip), Report::By(at(600)));
            assert_eq!(compression.on_out_of_order(at(9), nxt, 1, round_trip), Report::WithOthers);
            compression.on_acknowledged();
        }
        let far = compression.on_out_of_order(at(0), 1001, 1, Duration::from_millis(100));
        assert_eq!(far, Report::By(at(1100)));
    }

    #[test]
    fn no_more_than_44_wait_and_none_waits_with_news_of_a_third_range() {
        let mut compression = compression();
        let round_trip = Duration::from_millis(10);
        let reports: Vec<Report> = (0..60).map(|_| compression.on_out_of_order(at(0), 1, 1, round_trip)).collect();
        assert_eq!(reports.iter().filter(|report| **report != Report::Now).count(), 44);
        compression.on_acknowledged();
        let mut arrive = |ranges| compression.on_out_of_order(at(0), 1, ranges, round_trip);
        assert_eq!([arrive(3), arrive(3), arrive(2)], [Report::By(at(600)), Report::Now, Report::WithOthers]);
    }

    #[test]
    fn without_the_option_nothing_is_compressed() {
        assert!(SackCompression::new(&Config { sack_compression: false, ..Config::default() }).is_none());
    }
}
