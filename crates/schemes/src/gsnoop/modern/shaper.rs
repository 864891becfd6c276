//! The queue in front of the link, emptied at the link's rate, so that congestion is seen here
//! and radio loss after it (modern mode 1). Repairs go first; bytes that take the link past
//! this queue (control messages) are charged to it.

use crate::pacer::Pacer;
use airtcp_core::{Backlog, Context, Duration, Ecn, Event, Instant, Packet, Port, Rate};
use alloc::collections::VecDeque;

/// The limit is raised by at most so many times itself.
const MAX_EXTRA: u64 = 2;

/// Copies of repairs that wait for idle time; the latest are the most useful.
const MAX_SPARE_REPAIRS: usize = 16;

/// A drop-tail queue with a rate and a lane for repairs.
#[derive(Debug)]
pub(super) struct Shaper {
    pacer: Pacer,
    limit: u64,
    ecn_threshold: Option<u64>,
    repairs: VecDeque<Packet>,
    repair_bytes: u64,
    fifo: VecDeque<Packet>,
    fifo_bytes: u64,
    fifo_bytes_max: u64,
    /// Go when there is nothing else to send: copies of repairs, then that of the last packet.
    /// Not accounted for until they are sent.
    spare_repairs: VecDeque<Packet>,
    spare: Option<Packet>,
    /// The limit is higher until then, by so much.
    extra: (Instant, u64),
    /// The port refused a packet; wait for it instead of the clock.
    blocked: bool,
}

/// What leaves the queue.
pub(super) struct Departure {
    pub packet: Packet,
    pub lane: Lane,
}

/// Lanes in the order they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Repair,
    Fifo,
    Spare,
}

impl Shaper {
    pub fn new(rate: Option<Rate>, limit: u64, ecn_threshold: Option<u64>) -> Self {
        Shaper {
            pacer: Pacer::new(rate),
            limit,
            ecn_threshold,
            repairs: VecDeque::new(),
            repair_bytes: 0,
            fifo: VecDeque::new(),
            fifo_bytes: 0,
            fifo_bytes_max: 0,
            spare_repairs: VecDeque::new(),
            spare: None,
            extra: (Instant::ZERO, 0),
            blocked: false,
        }
    }

    /// Takes a packet to the tail; gives it back when the queue is full.
    pub fn push(&mut self, cx: &mut Context<'_>, mut packet: Packet) -> Result<(), Packet> {
        let len = u64::from(packet.wire_len());
        // A packet longer than the whole queue may still pass an empty one.
        if !self.fifo.is_empty() && self.fifo_bytes + len > self.limit_at(cx.now()) {
            return Err(packet);
        }
        let marks = self.ecn_threshold.is_some_and(|threshold| self.fifo_bytes >= threshold);
        if marks && packet.ip().ecn().is_capable() {
            packet.set_ecn(Ecn::Ce);
            cx.emit(Event::CONGESTION_MARK);
        }
        self.begin_if_idle(cx.now());
        self.fifo_bytes += len;
        self.fifo_bytes_max = self.fifo_bytes_max.max(self.fifo_bytes);
        self.fifo.push_back(packet);
        Ok(())
    }

    /// Takes a repair, ahead of everything but earlier repairs; gives it back beyond the limit.
    pub fn push_repair(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        let len = u64::from(packet.wire_len());
        if self.repair_bytes + len > self.limit_at(now) {
            return Err(packet);
        }
        self.begin_if_idle(now);
        self.repair_bytes += len;
        self.repairs.push_back(packet);
        Ok(())
    }

    fn limit_at(&self, now: Instant) -> u64 {
        let (until, extra) = self.extra;
        if now < until { self.limit + extra } else { self.limit }
    }

    /// What the other end holds back comes as a burst when it lets go, and cannot be told from
    /// congestion by its sender; until `until` there is room for it.
    pub fn make_room(&mut self, until: Instant, span: Duration) {
        self.extra = (until, self.pacer.rate().map_or(0, |rate| rate.bytes_in(span)).min(self.limit * MAX_EXTRA));
    }

    /// Sends `copy` of what just left through `lane` if there is nothing else to send when the link
    /// is free again.
    pub fn offer_spare(&mut self, copy: Packet, lane: Lane) {
        if self.pacer.rate().is_none() {
            return;
        }
        if lane == Lane::Repair {
            self.spare_repairs.truncate(MAX_SPARE_REPAIRS - 1);
            self.spare_repairs.push_front(copy);
        } else if self.is_empty() {
            self.spare = Some(copy);
        }
    }

    fn begin_if_idle(&mut self, now: Instant) {
        if self.is_empty() {
            self.pacer.begin(now);
        }
    }

    /// Time the link takes for `bytes`.
    pub fn transmission(&self, bytes: u32) -> Duration {
        self.pacer.transmission(bytes)
    }

    /// When a repair queued now will have left.
    pub fn repair_departure(&self, now: Instant) -> Instant {
        let ahead = u32::try_from(self.repair_bytes).unwrap_or(u32::MAX);
        self.pacer.free_at().max(now).saturating_add(self.transmission(ahead))
    }

    /// Charges bytes that take the link beside this queue.
    pub fn charge(&mut self, now: Instant, bytes: u32) {
        self.pacer.charge(now, bytes);
    }

    /// The next packet that may leave now. The caller sends it with [`Shaper::transmit`].
    pub fn pop(&mut self, now: Instant) -> Option<Departure> {
        if self.blocked || self.pacer.free_at() > now {
            return None;
        }
        if let Some(packet) = self.repairs.pop_front() {
            self.repair_bytes -= u64::from(packet.wire_len());
            return Some(Departure { packet, lane: Lane::Repair });
        }
        if let Some(packet) = self.fifo.pop_front() {
            self.fifo_bytes -= u64::from(packet.wire_len());
            // Whatever the link had no time for right then is stale.
            self.spare = None;
            self.spare_repairs.clear();
            return Some(Departure { packet, lane: Lane::Fifo });
        }
        let spare = self.spare_repairs.pop_front().or_else(|| self.spare.take());
        spare.map(|packet| Departure { packet, lane: Lane::Spare })
    }

    /// Sends what [`Shaper::pop`] gave; false if the port refused it and it is queued again.
    pub fn transmit(&mut self, cx: &mut Context<'_>, departure: Departure) -> bool {
        let len = departure.packet.wire_len();
        match cx.try_send(Port::LINK, departure.packet) {
            Ok(()) => {
                self.charge(cx.now(), len);
                true
            }
            Err(packet) => {
                self.blocked = true;
                let (queue, bytes) = match departure.lane {
                    Lane::Repair => (&mut self.repairs, &mut self.repair_bytes),
                    Lane::Fifo | Lane::Spare => (&mut self.fifo, &mut self.fifo_bytes),
                };
                *bytes += u64::from(len);
                queue.push_front(packet);
                false
            }
        }
    }

    /// The port has room again.
    pub fn on_ready(&mut self) {
        self.blocked = false;
    }

    /// When the next packet may leave.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = !self.blocked && (!self.is_empty() || self.spare.is_some() || !self.spare_repairs.is_empty());
        waits.then_some(self.pacer.free_at())
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty() && self.repairs.is_empty()
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len() + self.repairs.len(), bytes: self.fifo_bytes + self.repair_bytes }
    }

    /// Most bytes that ever waited for their turn.
    pub fn bytes_max(&self) -> u64 {
        self.fifo_bytes_max
    }

    /// The bound on each of the two lanes, plus one packet. What came in under an earlier, higher limit may
    /// still be there.
    pub fn check(&self) -> Result<(), &'static str> {
        let limit = self.limit * (1 + MAX_EXTRA);
        if self.fifo.len() > 1 && self.fifo_bytes > limit || self.repair_bytes > limit {
            return Err("the queue before the link is longer than its limit");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::testing::Recorder;
    use airtcp_core::{Ledger, Rng};
    use core::net::Ipv4Addr;

    #[test]
    fn what_came_in_under_a_raised_limit_may_stay_when_the_limit_falls() {
        let mut shaper = Shaper::new(Some(Rate::from_bps(8_000_000)), 3000, None);
        let (mut rng, mut io) = (Rng::derive(1, "shaper"), Recorder::default());
        let mut ledger = Ledger::default();
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut ledger, &mut io);
        let later = Instant::ZERO + Duration::from_millis(100);
        let address = Ipv4Addr::LOCALHOST.into();
        let packet = || Packet::opaque(address, address, 17, alloc::vec![0; 980].into());
        shaper.make_room(later, Duration::from_millis(3));
        for _ in 0..6 {
            assert!(shaper.push(&mut cx, packet()).is_ok());
        }
        assert!(shaper.push(&mut cx, packet()).is_err(), "twice 3000 bytes are the limit for now");
        shaper.make_room(later, Duration::ZERO);
        assert_eq!(shaper.check(), Ok(()));
        assert!(shaper.push(&mut cx, packet()).is_err(), "3000 bytes are the limit again");
    }
}
