//! What a direction carries: how much while long flows are under way, and the most of all.

use airtcp_core::{Duration, Instant};

/// The most is of two of these one after the other: a second. What was late is counted beside what came in time, so the most is too high by as
/// much as something can be late, compared to this time. A busy machine is late by 30 ms, Wi-Fi's frames by some milliseconds. Over 0.2 s
/// that was more than the tenth that decides: a full link of 20 Mbit/s seemed to carry 23.
const BIN: Duration = Duration::from_millis(500);

/// Bytes over time.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    bytes: u64,
    bin: u64,
    in_bin: u64,
    in_last: u64,
    most: u64,
    busy: Duration,
    flows: Duration,
    busy_bytes: u64,
    /// When a long flow was last seen, and what had been carried then.
    long_seen: Option<(Instant, u64)>,
}

impl Carried {
    /// So much arrived.
    pub fn add(&mut self, now: Instant, bytes: u64) {
        self.bytes += bytes;
        let bin = now.as_nanos() / BIN.as_nanos();
        // What comes late belongs to the present bin.
        if bin > self.bin {
            self.in_last = if bin == self.bin + 1 { self.in_bin } else { 0 };
            (self.bin, self.in_bin) = (bin, 0);
        }
        self.in_bin += bytes;
        self.most = self.most.max(self.in_bin + self.in_last);
    }

    /// A long flow that was last seen `since` goes on; it was under way meanwhile, if that was no longer ago than `patience`.
    pub fn long_flow(&mut self, now: Instant, since: Instant, patience: Duration) {
        let of_flow = now.saturating_since(since);
        if of_flow <= patience {
            self.flows += of_flow;
        }
        if let Some((seen, bytes)) = self.long_seen {
            let gap = now.saturating_since(seen);
            if gap <= patience {
                self.busy += gap;
                self.busy_bytes += self.bytes - bytes;
            }
        }
        self.long_seen = Some((now, self.bytes));
    }

    /// Seconds in which long flows were under way; the same times their number; and bit/s then.
    pub fn busy(&self) -> (f64, f64, f64) {
        let [busy, flows] = [self.busy, self.flows].map(|time| time.as_nanos() as f64 / 1e9);
        let bps = if busy > 0.0 { self.busy_bytes as f64 * 8.0 / busy } else { 0.0 };
        (busy, flows, bps)
    }

    /// The most in a second, in bit/s.
    pub fn peak_bps(&self) -> f64 {
        self.most as f64 * 8.0 * 1e9 / (2 * BIN.as_nanos()) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_most_is_of_a_second_and_what_comes_late_adds_little_to_it() {
        let mut carried = Carried::default();
        for ms in 0..5000 {
            carried.add(at(ms), if ms < 1500 { 1000 } else { 100 });
        }
        assert!((carried.peak_bps() / 8e6 - 1.0).abs() < 0.01, "{}", carried.peak_bps());
        // Nothing comes for 30 ms, and all of it then.
        carried.add(at(5000), 30_000);
        (5000..7000).for_each(|ms| carried.add(at(ms), 1000));
        assert!(carried.peak_bps() < 1.04 * 8e6, "{}", carried.peak_bps());
    }

    #[test]
    fn only_what_passes_while_long_flows_run_counts_for_them() {
        let mut carried = Carried::default();
        let second = Duration::from_secs(1);
        for ms in 0..10_000 {
            carried.add(at(ms), 1000);
            // Two flows for two seconds, and again after five.
            if ms % 10 == 0 && !(2000..7000).contains(&ms) {
                carried.long_flow(at(ms), at(ms - 10.min(ms)), second);
                carried.long_flow(at(ms), at(ms - 10.min(ms)), second);
            }
        }
        let (busy, flows, bps) = carried.busy();
        assert!((busy - 4.98).abs() < 0.05 && (flows / busy - 2.0).abs() < 0.02, "{busy} {flows}");
        assert!((bps / 8e6 - 1.0).abs() < 0.01, "{bps}");
    }
}
