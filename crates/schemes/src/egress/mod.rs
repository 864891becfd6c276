//! The queue before a link, emptied at the link's rate. Every scheme that owns its queue has one of these.
//!
//! A box that repairs at high priority must own the queue, and one that blames the link for losses must know which were
//! its own. So packets wait here and not in the link, and leave when the link has time for them.
//!
//! Three lanes are served in this order: repairs; the queue of what comes by, under a discipline of
//! [`airtcp_link::Queue`]; spare copies, when there is nothing else to send.
//!
//! The rate has one home, here, and may change at any time ([`Egress::set_rate`]). What depends on it is asked for when
//! it is needed, and so follows: the limit of the queue, the time of a transmission, the bytes that leave in a time.
//!
//! What the queue drops is kept until the scheme takes it ([`Egress::take_dropped`]): most schemes have to know.

mod allowance;
mod lossy;
mod pacer;
mod settings;

pub(crate) use allowance::Allowance;
pub(crate) use lossy::{LOSSY_FOR, Lossy};
pub(crate) use pacer::{Pacer, time_on_link};
pub use settings::{EgressSettings, QueueSize};
pub(crate) use settings::{FLOW_TARGET, check_rate, flow_queue, link_queue};

use crate::redundant_ack;
use airtcp_core::{
    Backlog, Context, DropReason, Duration, Ecn, Event, FlowKey, Instant, Packet, Port, Rate, Rng, SeqNum,
};
use airtcp_link::{Buffer, QueueLimit, QueueSite};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Longest packet, for disciplines that ask.
const MTU: u32 = 1500;
/// Extra room is at most so many times the limit.
const MAX_EXTRA: u64 = 2;
/// Spare copies of repairs that wait; the latest are the most useful.
const MAX_SPARE_REPAIRS: usize = 16;

/// Lanes in the order they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Repairs, ahead of everything else.
    Repair,
    /// What came by.
    Queue,
    /// Spare copies.
    Spare,
}

/// What leaves the queue.
#[derive(Debug)]
pub struct Departure {
    /// The packet; of a spare copy the original, which the caller duplicates.
    pub packet: Packet,
    /// Where it waited.
    pub lane: Lane,
}

/// A queue with a rate.
#[derive(Debug)]
pub struct Egress {
    pacer: Pacer,
    size: QueueSize,
    max_bytes: u64,
    ecn_threshold: Option<u64>,
    thins_acks: bool,
    repairs: VecDeque<Packet>,
    repair_bytes: u64,
    queue: Buffer,
    queue_bytes_max: u64,
    /// Marks of the discipline that were reported.
    marked: u64,
    spare_repairs: VecDeque<Packet>,
    spare: Option<Packet>,
    dropped: VecDeque<(Packet, DropReason)>,
    /// The limit at the present rate.
    limit: QueueLimit,
    /// The highest that the limit ever was, with extra room.
    highest: QueueLimit,
    /// Packets may wait so long at least, if the discipline measures waits.
    least_wait: Duration,
    /// Until then the limit is higher by so many bytes, and packets may wait so much longer.
    extra: (Instant, u64, Duration),
    /// The port refused a packet; wait for it instead of the clock.
    is_blocked: bool,
}

fn site(rate: Option<Rate>) -> QueueSite {
    QueueSite { rate, delay: Duration::ZERO, mtu: MTU }
}

impl Egress {
    /// An empty queue. `rng` is left as it is; a discipline that needs chance gets a stream of its own.
    pub fn new(settings: EgressSettings, rng: &Rng) -> Self {
        let EgressSettings { rate, queue: size, max_bytes, ecn_threshold } = settings;
        let own = Rng::derive(rng.clone().next_u64(), "egress");
        Egress {
            pacer: Pacer::new(rate),
            max_bytes,
            ecn_threshold,
            thins_acks: false,
            repairs: VecDeque::new(),
            repair_bytes: 0,
            queue: Buffer::new(&size.queue(rate), &site(rate), own),
            queue_bytes_max: 0,
            marked: 0,
            spare_repairs: VecDeque::new(),
            spare: None,
            dropped: VecDeque::new(),
            limit: size.limit(rate),
            highest: size.limit(rate),
            least_wait: Duration::ZERO,
            extra: (Instant::ZERO, 0, Duration::ZERO),
            is_blocked: false,
            size,
        }
    }

    /// An acknowledgment that comes to an earlier one of its flow, which waits behind others and says no more, takes its place;
    /// where each flow has a queue.
    pub fn thin_acks(&mut self) {
        self.thins_acks = true;
    }

    /// Becomes the queue that `next` is, a fresh one, but for the rate. What waits goes on waiting, in the order in which it would
    /// have left.
    pub fn adopt(&mut self, now: Instant, next: &mut Egress) {
        self.max_bytes = next.max_bytes;
        (self.ecn_threshold, self.thins_acks) = (next.ecn_threshold, next.thins_acks);
        if next.size == self.size {
            return;
        }
        (self.size, self.least_wait) = (next.size.clone(), Duration::ZERO);
        self.set_rate(self.rate());
        // Repairs stay in their lane, and may be more than the new limit.
        self.highest = higher(
            self.highest,
            match self.limit {
                QueueLimit::Bytes(_) => QueueLimit::Bytes(self.repair_bytes),
                QueueLimit::Packets(_) => QueueLimit::Packets(self.repairs.len() as u64),
            },
        );
        if !self.queue.adopt(&next.queue) {
            self.move_to(now, &mut next.queue);
        }
    }

    /// Another discipline begins, with what waits under the present one, which is `next` afterwards.
    fn move_to(&mut self, now: Instant, next: &mut Buffer) {
        core::mem::swap(&mut self.queue, next);
        self.marked = 0;
        self.queue.set_limit(self.limit);
        self.queue.set_site(&site(self.rate()));
        let dropped = &mut self.dropped;
        let mut drop = |packet, reason| dropped.push_back((packet, reason));
        let free_at = self.pacer.free_at().max(now + Duration::from_nanos(1));
        while let Some(packet) = next.pop(now, &mut drop) {
            self.queue.push(now, free_at, packet, &mut drop);
        }
    }

    /// All that waits, in the order in which it would have left.
    pub fn take_all(&mut self, now: Instant) -> Vec<Packet> {
        let mut waiting: Vec<Packet> = self.repairs.drain(..).collect();
        self.repair_bytes = 0;
        self.spare_repairs.clear();
        self.spare = None;
        while let Some(packet) = self.queue.pop(now, &mut |packet, reason| self.dropped.push_back((packet, reason))) {
            waiting.push(packet);
        }
        waiting
    }

    /// The rate at which the queue is emptied.
    pub fn rate(&self) -> Option<Rate> {
        self.pacer.rate()
    }

    /// Empties the queue at another rate from now on; none is as fast as the link takes packets. Whatever waits stays,
    /// and what depends on the rate follows.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        self.pacer.set_rate(rate);
        self.limit = self.size.limit(rate);
        self.queue.set_site(&site(rate));
        self.highest = higher(self.highest, self.limit);
    }

    /// The same, and what left last takes the time that it takes at the new rate: for a rate that was too high or too low.
    pub fn change_rate(&mut self, now: Instant, rate: Option<Rate>) {
        self.pacer.rescale(now, rate);
        self.set_rate(rate);
    }

    /// Time that the link takes for `bytes`; zero without a rate.
    pub fn transmission(&self, bytes: u32) -> Duration {
        self.pacer.transmission(bytes)
    }

    /// Twice the bytes that leave in the time `span`: room for copies of what was sent, which take more than its bytes.
    pub fn twice_in(&self, span: Duration) -> u64 {
        self.rate().map_or(u64::MAX, |rate| rate.bytes_in(span).saturating_mul(2))
    }

    /// How much may wait in the queue, and as much again in the lane of repairs.
    pub fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// The queue may hold what arrives in the time `span` more than its limit, until `until`, at most three times its
    /// limit; or its packets may wait so much longer, if it drops what waits too long. For bursts that a scheme causes
    /// itself, and for what waited while the link stood still. More for longer is not taken back.
    pub fn make_room(&mut self, until: Instant, span: Duration) {
        if self.extra.0 > until && self.extra.2 > span {
            return;
        }
        self.extra = (until, 0, span);
        if let QueueLimit::Bytes(limit) = self.limit {
            let burst = self.rate().map_or(0, |rate| rate.bytes_in(span));
            self.extra.1 = burst.min(limit * MAX_EXTRA);
            self.highest = higher(self.highest, QueueLimit::Bytes(limit + self.extra.1));
        }
    }

    /// A discipline that measures waits lets packets wait for `wait` from now on, or as long as configured if that is longer.
    pub fn set_least_wait(&mut self, wait: Duration) {
        self.least_wait = wait;
    }

    fn limit_at(&self, now: Instant) -> QueueLimit {
        match (self.limit, self.extra) {
            (QueueLimit::Bytes(limit), (until, extra, _)) if now < until => QueueLimit::Bytes(limit + extra),
            (limit, _) => limit,
        }
    }

    /// Takes a packet to the tail of the queue.
    pub fn push(&mut self, cx: &mut Context<'_>, packet: Packet) {
        if self.is_empty() {
            self.begin(cx.now());
        }
        self.enqueue(cx, packet);
    }

    /// Like [`Egress::push`], for a caller that has more to send than waits here, and itself says when that begins
    /// ([`Egress::begin`]).
    pub fn enqueue(&mut self, cx: &mut Context<'_>, mut packet: Packet) {
        if self.thins_acks {
            match self.queue.replace_newest(packet, &redundant_ack::makes_redundant) {
                Ok(redundant) => {
                    cx.emit(Event::ACK_SUPPRESSED);
                    return cx.discard(redundant, DropReason::SUPPRESSED);
                }
                Err(it) => packet = it,
            }
        }
        let (now, waiting) = (cx.now(), self.queue.backlog());
        let is_alone = waiting.packets == 0;
        if !is_alone && self.backlog().bytes + u64::from(packet.wire_len()) > self.max_bytes {
            return self.dropped.push_back((packet, DropReason::QUEUE_FULL));
        }
        let marks = self.ecn_threshold.is_some_and(|threshold| waiting.bytes >= threshold);
        let is_marked = marks && packet.ip().ecn().is_capable();
        if is_marked {
            packet.set_ecn(Ecn::Ce);
        }
        self.queue.set_limit(self.limit_at(now));
        self.allow_waits(now);
        let dropped = self.dropped.len();
        let free_at = self.free_at_tail(now);
        self.queue.push(now, free_at, packet, &mut |packet, reason| self.dropped.push_back((packet, reason)));
        if is_marked && self.dropped.len() == dropped {
            cx.emit(Event::CONGESTION_MARK);
        }
        self.queue_bytes_max = self.queue_bytes_max.max(self.queue.backlog().bytes);
        self.report_marks(cx);
    }

    fn allow_waits(&mut self, now: Instant) {
        self.queue.allow(self.least_wait, if now < self.extra.0 { self.extra.2 } else { Duration::ZERO });
    }

    /// When the link has sent all that waits; later than now if anything does.
    fn free_at_tail(&self, now: Instant) -> Instant {
        let waiting = self.backlog();
        if waiting.packets == 0 {
            return self.pacer.free_at();
        }
        let bytes = u32::try_from(waiting.bytes).unwrap_or(u32::MAX);
        let due = self.pacer.free_at().max(now).saturating_add(self.transmission(bytes));
        due.max(now + Duration::from_nanos(1))
    }

    fn report_marks(&mut self, cx: &mut Context<'_>) {
        let marked = self.queue.marked();
        if marked > self.marked {
            cx.emit_many(Event::CONGESTION_MARK, marked - self.marked);
            self.marked = marked;
        }
    }

    /// Takes a repair, ahead of everything but earlier repairs.
    ///
    /// # Errors
    /// The repair itself, where as many wait already as the limit allows.
    pub fn push_repair(&mut self, now: Instant, repair: Packet) -> Result<(), Packet> {
        let len = repair.wire_len();
        let waiting = Backlog { packets: self.repairs.len(), bytes: self.repair_bytes };
        let fits = self.limit_at(now).admits(waiting, len) && self.backlog().bytes + u64::from(len) <= self.max_bytes;
        if !fits && waiting.packets > 0 {
            return Err(repair);
        }
        if self.is_empty() {
            self.begin(now);
        }
        self.repair_bytes += u64::from(len);
        self.repairs.push_back(repair);
        Ok(())
    }

    /// Sends a copy of what just left through `lane` if there is nothing else to send when the link is free again.
    pub fn offer_spare(&mut self, copy: Packet, lane: Lane) {
        if self.rate().is_none() {
            return;
        }
        if lane == Lane::Repair {
            self.spare_repairs.truncate(MAX_SPARE_REPAIRS - 1);
            self.spare_repairs.push_front(copy);
        } else if self.is_empty() {
            self.spare = Some(copy);
        }
    }

    /// The next of the packets that the queue dropped. The caller discards it, with the reason, before its call ends.
    pub fn take_dropped(&mut self) -> Option<(Packet, DropReason)> {
        self.dropped.pop_front()
    }

    /// Discards what the queue dropped, for schemes that need not know.
    pub fn discard_dropped(&mut self, cx: &mut Context<'_>) {
        while let Some((packet, reason)) = self.take_dropped() {
            cx.discard(packet, reason);
        }
    }

    /// There was nothing to send until now: what the link could have sent is not made up for.
    pub fn begin(&mut self, now: Instant) {
        self.pacer.begin(now);
    }

    /// Charges bytes that take the link beside this queue.
    pub fn charge(&mut self, now: Instant, bytes: u32) {
        self.pacer.charge(now, bytes);
    }

    /// True if the link would begin with a packet given to it now.
    pub fn is_free(&self, now: Instant) -> bool {
        !self.is_blocked && self.pacer.free_at() <= now
    }

    /// The next packet that may leave now. The caller sends it, or something made of it, with [`Egress::transmit`] or
    /// [`Egress::send`].
    pub fn pop(&mut self, cx: &mut Context<'_>) -> Option<Departure> {
        if !self.is_free(cx.now()) {
            return None;
        }
        if let Some(packet) = self.repairs.pop_front() {
            self.repair_bytes -= u64::from(packet.wire_len());
            return Some(Departure { packet, lane: Lane::Repair });
        }
        self.allow_waits(cx.now());
        let next = self.queue.pop(cx.now(), &mut |packet, reason| self.dropped.push_back((packet, reason)));
        self.report_marks(cx);
        if let Some(packet) = next {
            // Whatever the link had no time for right then is stale.
            self.spare = None;
            self.spare_repairs.clear();
            return Some(Departure { packet, lane: Lane::Queue });
        }
        let spare = self.spare_repairs.pop_front().or_else(|| self.spare.take());
        spare.map(|packet| Departure { packet, lane: Lane::Spare })
    }

    /// Gives a packet to the link.
    ///
    /// # Errors
    /// The packet itself: the link has no room, and says when it has ([`Egress::on_ready`]).
    pub fn send(&mut self, cx: &mut Context<'_>, packet: Packet) -> Result<(), Packet> {
        let len = packet.wire_len();
        match cx.try_send(Port::LINK, packet) {
            Ok(()) => {
                self.charge(cx.now(), len);
                Ok(())
            }
            Err(packet) => {
                self.is_blocked = true;
                Err(packet)
            }
        }
    }

    /// Puts a packet that the link refused back to the head of its lane; a spare copy waits as any packet.
    pub fn put_back(&mut self, departure: Departure) {
        match departure.lane {
            Lane::Repair => {
                self.repair_bytes += u64::from(departure.packet.wire_len());
                self.repairs.push_front(departure.packet);
            }
            Lane::Queue | Lane::Spare => self.queue.put_back(departure.packet),
        }
    }

    /// Sends what [`Egress::pop`] gave; false if the link refused it and it waits again.
    pub fn transmit(&mut self, cx: &mut Context<'_>, departure: Departure) -> bool {
        let lane = departure.lane;
        match self.send(cx, departure.packet) {
            Ok(()) => true,
            Err(packet) => {
                self.put_back(Departure { packet, lane });
                false
            }
        }
    }

    /// Sends the next packet if it may leave now. Flow and first sequence number of what left, if it is TCP and occupies
    /// sequence space.
    pub fn send_next(&mut self, cx: &mut Context<'_>) -> Option<Option<(FlowKey, SeqNum)>> {
        let departure = self.pop(cx)?;
        let packet = &departure.packet;
        let segment = packet.flow().zip(packet.tcp().map(|tcp| tcp.sequence)).filter(|_| packet.sequence_len() > 0);
        self.transmit(cx, departure).then_some(segment)
    }

    /// The link has room again.
    pub fn on_ready(&mut self) {
        self.is_blocked = false;
    }

    /// When the link is free; `None` if that is not for the clock to say.
    pub fn next_free(&self) -> Option<Instant> {
        (!self.is_blocked).then_some(self.pacer.free_at())
    }

    /// When the next packet may leave.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = !self.is_empty() || self.spare.is_some() || !self.spare_repairs.is_empty();
        self.next_free().filter(|_| waits)
    }

    /// When a repair queued now will have left.
    pub fn repair_departure(&self, now: Instant) -> Instant {
        let ahead = u32::try_from(self.repair_bytes).unwrap_or(u32::MAX);
        self.pacer.free_at().max(now).saturating_add(self.transmission(ahead))
    }

    /// True when nothing waits but spare copies.
    pub fn is_empty(&self) -> bool {
        self.backlog().packets == 0
    }

    /// What waits, without spare copies, which are not packets until they are sent.
    pub fn backlog(&self) -> Backlog {
        let queue = self.queue.backlog();
        Backlog { packets: queue.packets + self.repairs.len(), bytes: queue.bytes + self.repair_bytes }
    }

    /// Flows of which more than one packet waits; `None` where flows share a queue.
    pub fn waiting_flows(&self) -> Option<usize> {
        self.queue.waiting_flows()
    }

    /// Most bytes that ever waited in the queue.
    pub fn bytes_max(&self) -> u64 {
        self.queue_bytes_max
    }

    /// The bound on each of the lanes; one packet may always wait. What came in under an earlier, higher limit may still
    /// be there.
    ///
    /// # Errors
    /// Which bound does not hold.
    pub fn check(&self) -> Result<(), &'static str> {
        if !self.dropped.is_empty() {
            return Err("the queue before the link dropped a packet that nobody discarded");
        }
        let repairs = Backlog { packets: self.repairs.len(), bytes: self.repair_bytes };
        let is_over = |lane: Backlog| lane.packets > 1 && !self.highest.holds(lane);
        if is_over(self.queue.backlog()) || is_over(repairs) {
            return Err("the queue before the link is longer than its limit");
        }
        Ok(())
    }
}

fn higher(one: QueueLimit, other: QueueLimit) -> QueueLimit {
    match (one, other) {
        (QueueLimit::Bytes(one), QueueLimit::Bytes(other)) => QueueLimit::Bytes(one.max(other)),
        (QueueLimit::Packets(one), QueueLimit::Packets(other)) => QueueLimit::Packets(one.max(other)),
        _ => other,
    }
}

#[cfg(test)]
mod tests;
