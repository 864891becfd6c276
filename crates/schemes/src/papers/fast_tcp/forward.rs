//! The forward path: the queue towards the link, and who watches how long it is (FTC-2).

use super::settings::{FastTcpSettings, Watch};
use super::thresholds::Thresholds;
use crate::Site;
use crate::egress::{Egress, EgressSettings};
use crate::papers::fast_tcp::events;
use airtcp_core::{Backlog, Context, Duration, Instant, Packet, Port, Rate};

/// A full-size packet, where a limit counts packets.
const PACKET_BYTES: u32 = 1500;
/// A threshold that is not set is this part of the queue's limit (FTC-E1: 400,000 of 2,000,000 bits).
const PART_OF_LIMIT: u64 = 5;

/// See the module.
#[derive(Debug)]
pub(super) struct Forward {
    /// Empty where the link's own queue is watched.
    queue: Egress,
    watch: Watch,
    /// A part of the queue's limit if none.
    thresholds: Option<Thresholds>,
    /// Thresholds reached when last looked.
    level: u64,
    /// When the first threshold was last seen reached.
    congested_at: Option<Instant>,
    bytes: u64,
    bytes_max: u64,
}

impl Forward {
    pub fn new(settings: &FastTcpSettings, site: &Site<'_>) -> Self {
        Forward {
            queue: Egress::new(EgressSettings::at(site, settings.rate, settings.queue.as_ref()), site.rng),
            watch: settings.watch,
            thresholds: settings.threshold.clone(),
            level: 0,
            congested_at: None,
            bytes: 0,
            bytes_max: 0,
        }
    }

    /// Rate of the link, as the queue has it now.
    pub fn rate(&self) -> Option<Rate> {
        self.queue.rate()
    }

    #[cfg(test)]
    pub fn set_rate(&mut self, rate: Rate) {
        self.queue.set_rate(Some(rate));
    }

    fn limit(&self) -> u64 {
        self.queue.limit().bytes(PACKET_BYTES)
    }

    /// A packet on its way to the link. It is never delayed more than the link does, and never dropped before the queue
    /// is full (FTC-1).
    pub fn push(&mut self, cx: &mut Context<'_>, packet: Packet) {
        match self.watch {
            Watch::Link => cx.send(Port::LINK, packet),
            Watch::Own => {
                self.queue.push(cx, packet);
                self.queue.discard_dropped(cx);
                self.drain(cx);
            }
        }
        self.look(cx);
    }

    /// Sends what may leave now.
    pub fn drain(&mut self, cx: &mut Context<'_>) {
        while self.queue.send_next(cx).is_some() {}
        self.queue.discard_dropped(cx);
    }

    /// The link has room again.
    pub fn on_ready(&mut self) {
        self.queue.on_ready();
    }

    /// FTC-2: how many thresholds the queue has reached now, own and behind the port. FTC-3: reaching one is notified.
    pub fn look(&mut self, cx: &mut Context<'_>) -> u64 {
        self.bytes = self.held().bytes + cx.backlog(Port::LINK).bytes;
        self.bytes_max = self.bytes_max.max(self.bytes);
        let level = match &self.thresholds {
            Some(thresholds) => thresholds.level(self.bytes),
            None => Thresholds::one((self.limit() / PART_OF_LIMIT).max(1)).level(self.bytes),
        };
        if level > 0 {
            self.congested_at = Some(cx.now());
        }
        if level > self.level {
            cx.emit(events::CONGESTED);
        }
        self.level = level;
        level
    }

    /// When the first threshold was last seen reached.
    pub fn congested_at(&self) -> Option<Instant> {
        self.congested_at
    }

    /// Time that the full queue takes on the link, where its rate is known.
    pub fn full_time(&self) -> Option<Duration> {
        let limit = u32::try_from(self.limit()).unwrap_or(u32::MAX);
        self.queue.rate().map(|rate| rate.serialisation(limit, &mut 0))
    }

    /// True while the queue, as it was when last looked at, is about to overflow: three quarters are taken.
    pub fn is_nearly_full(&self) -> bool {
        self.bytes >= self.limit() / 4 * 3
    }

    /// When a packet may leave.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.queue.poll_timeout()
    }

    /// What waits in the own queue.
    pub fn held(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Length of the watched queue when last looked, and the most ever seen, in bytes.
    pub fn lengths(&self) -> (u64, u64) {
        (self.bytes, self.bytes_max)
    }

    pub fn check(&self) -> Result<(), &'static str> {
        self.queue.check()
    }
}
