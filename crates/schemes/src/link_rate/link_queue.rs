//! A model of the link's queue: when the link has sent all that left here, if it carries what it did.
//!
//! A report is old when it comes: what left since the packet that it names waits in the link or was carried meanwhile. So
//! the wait of that packet is where the model starts, and what left since goes into it again.

use super::arrivals;
use super::departures::Sample;
use crate::egress::time_on_link;
use airtcp_core::{Duration, Instant, Rate};

/// If reports are overdue for longer the link is silent. Then it is given no more than the packets after which one is expected, in all
/// that time, and what it carried before is for the next report to say.
pub(super) const SILENT: Duration = Duration::from_millis(40);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkQueue {
    /// The link has sent everything by then.
    free_at: Instant,
    /// Bytes that have left, with the last packet that is in the model.
    sent: u64,
    /// When the packet of the report had left the link, and packets since.
    restarted_at: Instant,
    packets: u32,
    /// When those have come after which a report is expected.
    expected_at: Option<Instant>,
}

impl LinkQueue {
    /// The packet of a report waited for `wait`. What left after it has to be added again.
    pub fn restart(&mut self, sample: &Sample, wait: Duration, rate: Option<Rate>) {
        let time = time_of(u64::from(sample.bytes), rate);
        self.free_at = sample.left.saturating_add(wait).saturating_add(time);
        self.sent = sample.sent;
        (self.restarted_at, self.packets, self.expected_at) = (self.free_at, 0, None);
    }

    /// A packet left at `at`, and with it so many bytes in all. Reports come no closer than `gap` as a rule.
    pub fn add(&mut self, at: Instant, sent: u64, rate: Option<Rate>, gap: Duration) {
        let time = time_of(sent.saturating_sub(self.sent), rate);
        self.free_at = self.free_at.max(at).saturating_add(time);
        self.sent = sent;
        self.packets = self.packets.saturating_add(1);
        if self.packets == arrivals::EXPECTED {
            self.expected_at = Some(self.free_at.max(self.restarted_at + gap.max(arrivals::TIME) * 2));
        }
    }

    /// True if nothing has left since the packet of the last report.
    pub fn is_reported(&self) -> bool {
        self.packets == 0
    }

    /// A report came that names a packet of which nothing is known, as a repair: the link is not silent.
    pub fn hear(&mut self, now: Instant) {
        (self.restarted_at, self.packets, self.expected_at) = (now, 0, None);
    }

    /// How long the next report is overdue, of a link on whose way out and back nothing takes longer than `rtt` but the
    /// queue: so long the link has stood still, or is slower than it was. One report may be lost.
    pub fn overdue(&self, now: Instant, rtt: Duration) -> Duration {
        self.expected_at.map_or(Duration::ZERO, |at| now.saturating_since(at + rtt))
    }

    /// How long a packet waits that leaves now.
    pub fn wait(&self, now: Instant) -> Duration {
        self.free_at.saturating_since(now)
    }
}

fn time_of(bytes: u64, rate: Option<Rate>) -> Duration {
    time_on_link(rate, u32::try_from(bytes).unwrap_or(u32::MAX))
}
