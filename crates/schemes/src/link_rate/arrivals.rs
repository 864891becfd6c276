//! The receiving end: counts what comes off the link, and says so now and then.

use super::{Name, Report};
use airtcp_core::{Duration, Instant};

/// A report tells of so many packets and of so much time, or more: a message for each burst of a radio would see nothing but the
/// burst. Swept: docs/link-rate.md, "How often a report leaves".
const PACKETS: u32 = 2;
pub(super) const TIME: Duration = Duration::from_millis(10);
/// After so many packets one is expected at the latest: a few may be lost, and earlier versions told of eight in one.
pub(super) const EXPECTED: u32 = 16;
/// What makes fewer bytes, as acknowledgments do, seldom fills a link: so much time, then.
const BYTES: u64 = 2000;
const SPARSE: Duration = Duration::from_millis(80);
/// So much time is enough however long a report takes on the way back.
const ENOUGH: Duration = Duration::from_millis(200);
/// Reports take no more than one part in so many of the way back, unless that is enough time.
const SHARE: u64 = 32;
/// So many packets between two reports are many.
const MANY: u32 = 256;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    received: u64,
    /// Since the last report.
    packets: u32,
    bytes: u64,
    /// Bytes of the largest packet since the last report, and before that.
    largest: [u32; 2],
    reported_at: Instant,
}

impl Arrivals {
    /// So many bytes came before.
    pub fn after(received: u64) -> Arrivals {
        Arrivals { received, ..Arrivals::default() }
    }

    /// Bytes that came.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// A packet came; a report if one is due, which takes the way back `report_time`.
    pub fn add(&mut self, now: Instant, name: Name, report_time: Duration) -> Option<Report> {
        self.received += u64::from(name.bytes);
        // Who names no packet that could be told of, has none told of.
        self.packets = self.packets.saturating_add(1);
        self.bytes += u64::from(name.bytes);
        let time = now.saturating_since(self.reported_at);
        self.largest[0] = self.largest[0].max(name.bytes);
        let least = TIME.max(report_time * SHARE).min(ENOUGH);
        let is_enough = time >= if self.bytes >= BYTES { least } else { least.max(SPARSE) };
        let is_due = is_enough && self.packets >= PACKETS;
        // The other end remembers each packet where there are few, and fewer the more there are.
        let one_in = (self.packets / MANY).next_power_of_two();
        // A small packet takes less time, so small ones among large ones tell nothing.
        let is_large = name.bytes >= self.largest[0].max(self.largest[1]) / 2 || time >= ENOUGH;
        if !is_due || !is_large || !name.is_one_in(one_in) {
            return None;
        }
        (self.packets, self.bytes, self.reported_at) = (0, 0, now);
        self.largest = [0, self.largest[0]];
        Some(Report { name: name.number, received: self.received, stamp: now.as_nanos() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_names_no_packet_that_could_be_told_of_is_heard_for_ever() {
        let mut arrivals = Arrivals { packets: u32::MAX - 1, ..Arrivals::default() };
        let odd = Name { number: 1, bytes: 1500 };
        assert!((1..4).all(|second| arrivals.add(Instant::from_nanos(second << 30), odd, Duration::ZERO).is_none()));
    }
}
