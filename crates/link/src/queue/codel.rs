//! Controlled delay, CoDel (RFC 8289).
//!
//! A queue is good while the time that packets wait in it falls below a `target` at least once in an `interval`, a
//! round-trip time of the slowest flows. When it did not for a whole interval the packet at the head is dropped, and
//! the next ones at times that follow the control law, `interval ÷ √count` apart, until the wait is below the target
//! again. Burst and bottleneck rate do not matter, since time is measured, not length.
//!
//! Difference: the square root is exact to a nanosecond, where Linux (`include/net/codel_impl.h`) takes one Newton step
//! per drop, which makes the second gap half an interval instead of 0.71.

use super::discipline::{Discipline, QueueSettings, QueueSite};
use super::fifo::{Fifo, Waiting};
use super::held::DepartureQueue;
use super::limit::QueueLimit;
use super::signals::Signals;
use airtcp_core::{Backlog, DropReason, Duration, Instant, Packet, Rng, parameters};
use alloc::string::String;
use core::any::Any;

parameters! {
    /// Controlled delay.
    pub struct Codel {
        /// How much may wait, not counting the packet in transmission; what does not fit is dropped.
        pub limit: QueueLimit = QueueLimit::Packets(1000), "Linux, sch_codel";
        /// Wait that is acceptable for good.
        pub target: Duration = Duration::from_millis(5), "RFC 8289, section 4.4";
        /// Time for which the wait may be longer before the first drop: a round-trip time that most flows have.
        pub interval: Duration = Duration::from_millis(100), "RFC 8289, section 4.3";
        /// Whether packets of ECN-capable transports are marked instead of dropped.
        pub ecn: bool = false, "RFC 3168; Linux, sch_codel";
    }
}

impl QueueSettings for Codel {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self) -> Result<(), String> {
        check_times(self.target, self.interval)
    }

    fn start(&self, site: &QueueSite, _: Rng) -> Discipline {
        Discipline::departure(CodelQueue::new(self, site.mtu))
    }
}

/// Whether a target and an interval make sense together.
pub(super) fn check_times(target: Duration, interval: Duration) -> Result<(), String> {
    if target.is_zero() || target >= interval {
        return Err("'target' has to be above zero and below 'interval', best at 5 to 10 % of it".into());
    }
    Ok(())
}

/// What the control law goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// As configured.
    configured: [Duration; 2],
    /// The wait that is acceptable for good, and what is allowed beyond it for a while.
    allowed: [Duration; 2],
    /// Both together.
    target: Duration,
    interval: Duration,
    /// The interval of the wait that is acceptable for good.
    patience: Duration,
    /// A queue of at most one longest packet is never too long.
    mtu: u32,
    ecn: bool,
}

impl Law {
    pub(super) fn new(target: Duration, interval: Duration, mtu: u32, ecn: bool) -> Law {
        Law {
            configured: [target, interval],
            allowed: [target, Duration::ZERO],
            target,
            interval,
            patience: interval,
            mtu,
            ecn,
        }
    }

    /// From now on waits of `least` are acceptable for good, or the configured target if that is longer, and `extra` more.
    /// The interval keeps its proportion to that.
    pub(super) fn allow(&mut self, least: Duration, extra: Duration) {
        let [target, interval] = self.configured;
        let for_good = target.max(least);
        if self.allowed != [for_good, extra] {
            let in_proportion = |wait: Duration| {
                let nanos =
                    u128::from(interval.as_nanos()) * u128::from(wait.as_nanos()) / u128::from(target.as_nanos());
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            };
            self.allowed = [for_good, extra];
            self.target = for_good + extra;
            self.interval = in_proportion(self.target);
            self.patience = in_proportion(for_good);
        }
    }

    /// The target and so many intervals more.
    pub(super) fn longest(&self, intervals: u32) -> Duration {
        self.target.saturating_add(self.patience.saturating_mul(intervals.into()))
    }

    /// When the next packet is to be dropped, if the last but one was due at `after` and `count` were dropped since the
    /// queue became too long.
    fn next_drop(&self, after: Instant, count: u32) -> Instant {
        let interval = u128::from(self.interval.as_nanos());
        let gap = (interval * interval / u128::from(count.max(1))).isqrt();
        after.saturating_add(Duration::from_nanos(gap as u64))
    }
}

impl Waiting {
    /// Whether a drop that is due is the next packet's.
    fn is_spared(&self, law: &Law) -> bool {
        self.is_repeat && !(law.ecn && self.packet.ip().ecn().is_capable())
    }
}

/// CoDel's state of one queue.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// When the wait will have been above the target for an interval; none while it is below.
    first_above: Option<Instant>,
    is_dropping: bool,
    drop_next: Instant,
    /// Packets dropped or marked since the queue became too long; a new spell may go on from the last one's.
    count: u32,
    last_count: u32,
}

impl Control {
    /// Takes the next packet from `fifo`, dropping or marking on the way.
    pub(super) fn dequeue(
        &mut self,
        law: &Law,
        now: Instant,
        fifo: &mut Fifo,
        signals: &mut Signals<'_>,
    ) -> Option<Packet> {
        let (waiting, is_late) = self.take(law, now, fifo);
        if !self.is_dropping {
            let waiting = waiting?;
            let begins = is_late && !waiting.is_spared(law);
            return if begins { self.begin(law, now, waiting.packet, fifo, signals) } else { Some(waiting.packet) };
        }
        self.is_dropping = is_late;
        let mut waiting = waiting?;
        while self.is_dropping && now >= self.drop_next {
            if waiting.is_spared(law) {
                // Behind it one drop is due, and not all that this time would have brought.
                self.drop_next = now;
                break;
            }
            self.count = self.count.saturating_add(1);
            self.drop_next = law.next_drop(self.drop_next, self.count);
            if let Some(marked) = signals.signal(waiting.packet, law.ecn) {
                return Some(marked);
            }
            let (next, is_late) = self.take(law, now, fifo);
            self.is_dropping = is_late;
            waiting = next?;
        }
        Some(waiting.packet)
    }

    /// The queue was too long for an interval: drops or marks `packet` and enters the dropping state.
    fn begin(
        &mut self,
        law: &Law,
        now: Instant,
        packet: Packet,
        fifo: &mut Fifo,
        signals: &mut Signals<'_>,
    ) -> Option<Packet> {
        self.is_dropping = true;
        // A queue that was controlled a short while ago goes on at the drop rate that controlled it.
        let since_last = self.count.saturating_sub(self.last_count);
        let is_recent = now.saturating_since(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if since_last > 1 && is_recent { since_last } else { 1 };
        self.drop_next = law.next_drop(now, self.count);
        self.last_count = self.count;
        signals.signal(packet, law.ecn).or_else(|| Some(self.take(law, now, fifo).0?.packet))
    }

    /// The packet at the head, and whether the wait has been above the target for an interval.
    fn take(&mut self, law: &Law, now: Instant, fifo: &mut Fifo) -> (Option<Waiting>, bool) {
        let Some(waiting) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let is_short = fifo.backlog().bytes <= u64::from(law.mtu);
        if now.saturating_since(waiting.since) < law.target || is_short {
            self.first_above = None;
            return (Some(waiting), false);
        }
        let deadline = *self.first_above.get_or_insert(now.saturating_add(law.interval));
        (Some(waiting), now >= deadline)
    }
}

/// One queue for all flows, under CoDel.
#[derive(Debug)]
pub(crate) struct CodelQueue {
    limit: QueueLimit,
    law: Law,
    fifo: Fifo,
    control: Control,
}

impl CodelQueue {
    /// On a link whose packets have at most `mtu` bytes.
    pub(crate) fn new(settings: &Codel, mtu: u32) -> Self {
        let Codel { limit, target, interval, ecn } = *settings;
        CodelQueue {
            limit,
            law: Law::new(target, interval, mtu, ecn),
            fifo: Fifo::default(),
            control: Control::default(),
        }
    }
}

impl DepartureQueue for CodelQueue {
    fn adopt(&mut self, next: &dyn Any) -> bool {
        let Some(next) = next.downcast_ref::<Self>() else { return false };
        (self.limit, self.law) = (next.limit, next.law);
        true
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, whatever_the_limit: bool, signals: &mut Signals<'_>) -> bool {
        let fits = whatever_the_limit || self.limit.admits(self.fifo.backlog(), packet.wire_len());
        if fits {
            self.fifo.push(now, packet, false);
        } else {
            signals.drop(packet, DropReason::QUEUE_FULL);
        }
        fits
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<'_>) -> Option<Packet> {
        self.control.dequeue(&self.law, now, &mut self.fifo, signals)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn allow(&mut self, least: Duration, extra: Duration) {
        self.law.allow(least, extra);
    }
}
