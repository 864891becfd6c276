//! The GMB sender: a guaranteed minimum bandwidth out of a leaky bucket that a 1 ms timer fills (DEC-15). What it sends
//! needs neither credit nor header packets (DEC-16) and is no part of any control TCP's credit (DEC-U18).

use super::tunnel::TunnelQueue;
use airtcp_core::{Duration, Instant, Packet, Rate};

/// The paper's timer.
const TICK: Duration = Duration::from_millis(1);
/// The bucket holds this packet at least.
const ORDINARY_MTU: i64 = 1500;
/// The bucket counts thousandths of a bit: at a rate in bit/s one tick brings as many as the rate is.
const PER_BYTE: i64 = 8000;

/// See the module. The bucket is empty below zero: the last packet may overdraw it, and the debit stays (DEC-U12).
#[derive(Debug)]
pub(super) struct Guarantee {
    /// What a tick brings.
    share: i64,
    bucket: i64,
    last_tick: Instant,
    /// The timer has expired and not all that is due has been sent.
    is_open: bool,
}

impl Guarantee {
    /// Sends `rate` from `now` on.
    pub fn new(rate: Rate, now: Instant) -> Self {
        Guarantee { share: rate.bps().min(1 << 50) as i64, bucket: 0, last_tick: now, is_open: false }
    }

    /// The timer may have expired: fills the bucket for each tick that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.is_open |= self.fill(now);
    }

    /// Data begin to wait: what ticked meanwhile found nothing to send.
    pub fn begin(&mut self, now: Instant) {
        self.fill(now);
    }

    fn fill(&mut self, now: Instant) -> bool {
        let ticks = now.saturating_since(self.last_tick).as_nanos() / TICK.as_nanos();
        if ticks == 0 {
            return false;
        }
        self.last_tick += Duration::from_nanos(ticks * TICK.as_nanos());
        let full = (2 * self.share).max(ORDINARY_MTU * PER_BYTE);
        let brought = self.share.saturating_mul(i64::try_from(ticks).unwrap_or(i64::MAX));
        self.bucket = self.bucket.saturating_add(brought).min(full);
        true
    }

    /// The next packet that is due.
    pub fn take(&mut self, now: Instant, queue: &mut TunnelQueue) -> Option<Packet> {
        if !self.is_open || self.bucket <= 0 {
            self.is_open = false;
            return None;
        }
        let Some(packet) = queue.pop(now) else {
            self.is_open = false;
            return None;
        };
        self.bucket -= i64::from(packet.wire_len()) * PER_BYTE;
        Some(packet)
    }

    /// The next tick at which something is due.
    pub fn next_tick(&self) -> Instant {
        let ticks = (-self.bucket).max(0) / self.share + 1;
        self.last_tick.saturating_add(Duration::from_nanos(TICK.as_nanos().saturating_mul(ticks as u64)))
    }
}
