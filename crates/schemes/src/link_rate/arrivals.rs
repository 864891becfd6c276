//! The receiving end: counts what comes off the link, and says so now and then.

use super::{Name, Report};
use airtcp_core::{Duration, Instant};

/// A report tells of so many packets and of so much time, or of fewer in a long time: a message for each burst of a radio
/// would see nothing but the burst.
const PACKETS: (u32, u32) = (32, 4);
const TIME: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));
/// So many packets between two reports are many.
const MANY: u32 = 256;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    received: u64,
    /// Since the last report.
    packets: u32,
    reported_at: Instant,
}

impl Arrivals {
    /// A packet came; a report if one is due.
    pub fn add(&mut self, now: Instant, name: Name) -> Option<Report> {
        self.received += u64::from(name.bytes);
        self.packets += 1;
        let time = now.saturating_since(self.reported_at);
        let is_due = self.packets >= PACKETS.0 && time >= TIME.0 || self.packets >= PACKETS.1 && time >= TIME.1;
        // The other end remembers each packet where there are few, and fewer the more there are.
        let one_in = (self.packets / MANY).next_power_of_two();
        if !is_due || !name.is_one_in(one_in) {
            return None;
        }
        (self.packets, self.reported_at) = (0, now);
        Some(Report { name: name.number, received: self.received, stamp: now.as_nanos() })
    }
}
