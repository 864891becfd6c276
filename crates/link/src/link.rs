//! One direction of a link: see the crate's own words.
//!
//! With a queue that decides on arrival, everything that will happen to a packet is decided in [`Link::send`]: whether
//! the queue takes it, when its transmission begins and ends, its fate in the air and its arrival. A queue that decides
//! on departure is held, and [`Link::advance`] does the same for each packet when its turn has come.
//!
//! One FIFO holds what will arrive, sorted by time of arrival; with a constant delay that is the order of sending, and
//! a packet that was held back is inserted at its place from the back. Each impairment draws from a stream of its own,
//! once per transmission and whatever the others decide, so that changing one probability leaves the draws of the
//! others as they are.

use crate::air::Air;
use crate::corrupt::corrupt;
use crate::counters::LinkCounters;
use crate::queue::{self, Discipline, HeaderLevels, Signals};
use crate::settings::LinkSettings;
use crate::transmitter::{Transmitter, Turn};
use airtcp_core::{Backlog, CreateReason, DropReason, Duration, Instant, Packet, Rng, count_bytes, count_one};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;

/// One direction of a link.
///
/// In this order in memory, so that a packet as long as the one before that passes an idle link where nothing can go wrong touches
/// 64 bytes of it, and one that has to wait 152: a simulator has hundreds of links and is fast while it finds them in its caches.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// What came in and out at once, which nothing else counts. Its two counts are apart: side by side they would be counted in one
    /// vector, which has to be put together first.
    passed_packets: u64,
    /// Unless it varies: then the air knows it.
    delay: Duration,
    /// Bytes of what came in and out at once.
    passed_bytes: u64,
    transmitter: Transmitter,
    mtu: u32,
    header_dscp: u8,
    queue: Discipline,
    /// What goes wrong between transmitter and receiver, if anything can.
    air: Option<Box<Air>>,
    /// What a link needs that holds packets, or drops any.
    more: Option<Box<More>>,
}

#[derive(Debug, Default)]
struct More {
    /// What will arrive, in order of arrival.
    arrivals: VecDeque<Arrival>,
    /// Bytes in `arrivals`.
    held_bytes: u64,
    counters: LinkCounters,
    /// Most bytes that ever waited, but for those since the peak was last taken.
    queue_bytes_max: u64,
}

/// Made when it is first needed: in many links packets only pass.
#[inline]
fn needed(more: &mut Option<Box<More>>) -> &mut More {
    more.get_or_insert_default()
}

/// Why a packet does not come out of a link at once: see [`Link::send_through`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// The queue does not take it, or it is too long.
    Refused,
    /// It comes out at this time, which is too late.
    Late(Instant),
}

#[derive(Debug)]
struct Arrival {
    at: Instant,
    packet: Packet,
}

impl More {
    #[cold]
    fn insert_before(&mut self, arrival: Arrival) {
        let place = self.arrivals.partition_point(|earlier| earlier.at <= arrival.at);
        self.arrivals.insert(place, arrival);
    }
}

impl Link {
    /// The link called `name` in the run seeded with `seed`; `name` carries the direction ("links.air.reverse").
    pub fn new(settings: &LinkSettings, seed: u64, name: &str) -> Self {
        let air = Air::new(settings, seed, name);
        Link {
            delay: settings.delay.nominal(),
            air: (!air.is_clear()).then(|| Box::new(air)),
            mtu: settings.mtu,
            queue: settings.queue.start(&settings.queue_site(), Rng::derive(seed, &format!("{name}/queue"))),
            transmitter: Transmitter::new(&settings.rate, seed, name),
            passed_packets: 0,
            passed_bytes: 0,
            more: None,
            header_dscp: settings.queue.header_dscp(),
        }
    }

    /// Makes `origin` the start of the run, from which outages, healing and what varies count. On a wall clock it is not
    /// zero. It is set before the first packet.
    pub fn set_origin(&mut self, origin: Instant) {
        if let Some(air) = &mut self.air {
            air.set_origin(origin);
        }
        self.transmitter.set_origin(origin);
    }

    /// Sends a packet into the link. What does not get through goes to `drops`, with the reason; a packet lost in the
    /// air also goes there, at once where the queue decides on arrival, although it occupies the transmitter when its
    /// turn comes. A queue may drop other packets too.
    ///
    /// False if this packet was dropped before it could be transmitted: the queue did not take it, or it is too long.
    ///
    /// `now` never goes back between calls.
    pub fn send(&mut self, now: Instant, packet: Packet, drops: &mut dyn FnMut(Packet, DropReason)) -> bool {
        let bytes = packet.wire_len();
        if !self.admits(now, bytes) {
            self.refuse(now, packet, bytes, drops);
            return false;
        }
        self.count_in(bytes);
        match self.queue {
            Discipline::DropTail(_) | Discipline::Ring(_) => {
                self.transmit(now, packet, bytes, drops);
                true
            }
            Discipline::Arrival(_) | Discipline::Departure(_) => self.send_managed(now, packet, drops),
        }
    }

    /// Whether a packet of so many bytes is neither too long nor one too many for the limit of a queue.
    #[inline(always)]
    fn admits(&mut self, now: Instant, bytes: u32) -> bool {
        bytes <= self.mtu && !self.is_full_for(now, bytes)
    }

    #[inline]
    fn counted(&mut self) -> &mut LinkCounters {
        &mut needed(&mut self.more).counters
    }

    #[inline]
    fn count_in(&mut self, bytes: u32) {
        let counters = self.counted();
        count_one(&mut counters.packets_in);
        counters.bytes_in += u64::from(bytes);
    }

    /// Whether the limit of a queue that has nothing but a limit keeps a packet of so many bytes out.
    #[inline]
    fn is_full_for(&mut self, now: Instant, bytes: u32) -> bool {
        let (Discipline::DropTail(limit) | Discipline::Ring(limit)) = &self.queue else { return false };
        !self.transmitter.is_idle(now) && !limit.admits(self.transmitter.waiting(now), bytes)
    }

    /// True if what becomes of a packet is known when it is sent, and packets arrive in the order of sending: then
    /// [`Link::send_through`] may take the place of [`Link::send`].
    pub fn is_express(&self) -> bool {
        self.air.is_none() && matches!(self.queue, Discipline::DropTail(_) | Discipline::Ring(_))
    }

    /// True if what becomes of a packet is known when it is sent.
    pub fn decides_on_arrival(&self) -> bool {
        !matches!(self.queue, Discipline::Departure(_))
    }

    /// True if no packet comes out at the time at which it was sent.
    pub fn takes_time(&self) -> bool {
        !self.least_delay().is_zero() || !self.transmitter.is_infinite()
    }

    /// No packet comes out sooner after it was sent.
    pub fn least_delay(&self) -> Duration {
        let varies = self.air.as_ref().is_some_and(|air| air.is_delay_varying());
        if varies { Duration::ZERO } else { self.delay }
    }

    /// When a packet of `bytes` on the medium comes out of the link that is sent now, which has to be before `limit`. Where
    /// [`Link::send`] takes the packet, here it stays with the caller. Only for links with [`Link::is_express`].
    ///
    /// # Errors
    /// Why it does not come out: then it belongs to [`Link::keep`].
    #[inline(always)]
    pub fn send_through(&mut self, now: Instant, limit: Instant, bytes: u32) -> Result<Instant, Stays> {
        debug_assert!(self.is_express(), "only the link itself knows when a packet comes out");
        // One that is as long as the one before is not too long, and no limit counts while nothing waits.
        let end = match self.transmitter.accept_alike(now, bytes) {
            Some(end) => {
                debug_assert!(bytes <= self.mtu, "one that is too long was accepted before");
                end
            }
            None if self.admits(now, bytes) => self.transmitter.accept(now, bytes).end,
            None => return Err(Stays::Refused),
        };
        let at = end.saturating_add(self.delay);
        if at >= limit {
            return Err(Stays::Late(at));
        }
        self.count_through(bytes);
        Ok(at)
    }

    /// A packet that was too late for [`Link::send_through`] stays with the caller, who goes on with it all the same.
    #[inline(always)]
    pub fn count_through(&mut self, bytes: u32) {
        count_one(&mut self.passed_packets);
        count_bytes(&mut self.passed_bytes, bytes);
    }

    /// Takes a packet that did not come out of [`Link::send_through`]: it is dropped, or stays in the link.
    #[cold]
    #[inline(never)]
    pub fn keep(&mut self, now: Instant, stays: Stays, packet: Packet, drops: &mut dyn FnMut(Packet, DropReason)) {
        let bytes = packet.wire_len();
        match stays {
            Stays::Refused => self.refuse(now, packet, bytes, drops),
            Stays::Late(at) => {
                self.count_in(bytes);
                self.insert(at, bytes, packet);
            }
        }
    }

    /// Like [`Link::send`], but a full `ring` gives the packet back. Drop-tail never does: it drops.
    ///
    /// # Errors
    /// The packet itself: there is room again at [`Link::next_departure`]. What `Ok` holds is as for [`Link::send`].
    pub fn try_send(
        &mut self,
        now: Instant,
        packet: Packet,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) -> Result<bool, Packet> {
        if matches!(self.queue, Discipline::Ring(_)) && self.is_full_for(now, packet.wire_len()) {
            return Err(packet);
        }
        Ok(self.send(now, packet, drops))
    }

    /// Sends a packet into a queue that may drop or mark it although there is room.
    #[inline(never)]
    fn send_managed(&mut self, now: Instant, packet: Packet, drops: &mut dyn FnMut(Packet, DropReason)) -> bool {
        self.advance(now, drops);
        let free_at = self.transmitter.free_at();
        let mut signals =
            Signals { counters: &mut needed(&mut self.more).counters, drops, header_dscp: self.header_dscp };
        let waiting = self.transmitter.waiting(now);
        let is_taken = match &mut self.queue {
            Discipline::Departure(queue) => queue.enqueue(now, free_at, packet, &mut signals),
            Discipline::Arrival(queue) => {
                let admitted = queue.admit(&queue::Arrival { now, free_at, waiting }, packet, &mut signals);
                self.transmit_admitted(now, admitted, drops)
            }
            // Their limit is kept already.
            Discipline::DropTail(_) | Discipline::Ring(_) => self.transmit_admitted(now, Some(packet), drops),
        };
        if let Discipline::Departure(queue) = &self.queue {
            self.transmitter.note_waiting(queue.backlog().bytes);
        }
        self.note_first_drop(now);
        self.advance(now, drops);
        is_taken
    }

    fn note_first_drop(&mut self, now: Instant) {
        let counters = self.counted();
        if counters.first_queue_drop.is_none() && counters.dropped_by_queue() > 0 {
            counters.first_queue_drop = Some(now);
        }
    }

    /// Moves packets from the queue to the transmitter up to `now`, each when its turn had come; what the queue or the
    /// air drops goes to `drops`. Does nothing if the queue decides on arrival: then a packet's turn was fixed when it was sent.
    #[inline]
    pub fn advance(&mut self, now: Instant, drops: &mut dyn FnMut(Packet, DropReason)) {
        if matches!(self.queue, Discipline::Departure(_)) {
            self.serve(now, drops);
        }
    }

    #[inline(never)]
    fn serve(&mut self, now: Instant, drops: &mut dyn FnMut(Packet, DropReason)) {
        while let Discipline::Departure(queue) = &mut self.queue
            && let Some(at) = queue.next_turn(self.transmitter.free_at()).filter(|at| *at <= now)
        {
            let mut signals =
                Signals { counters: &mut needed(&mut self.more).counters, drops, header_dscp: self.header_dscp };
            if let Some(packet) = queue.dequeue(at, &mut signals) {
                self.transmit_managed(at, packet, drops);
            }
        }
        self.note_first_drop(now);
    }

    /// Gives the transmitter's next turn to a packet; what becomes of it in the air is decided with that.
    ///
    /// It is inlined twice: into [`Link::send`], whose speed is the simulator's, and for the managed queues into
    /// [`Link::transmit_managed`].
    #[inline(always)]
    fn transmit(&mut self, now: Instant, packet: Packet, bytes: u32, drops: &mut dyn FnMut(Packet, DropReason)) {
        let turn = self.transmitter.accept(now, bytes);
        match self.air {
            None => self.insert(turn.end.saturating_add(self.delay), bytes, packet),
            Some(_) => self.send_through_air(turn, packet, bytes, drops),
        }
    }

    /// A packet whose transmission has its turn passes where things go wrong, and is put where its arrival belongs if it gets
    /// through.
    #[inline(never)]
    fn send_through_air(
        &mut self,
        turn: Turn,
        mut packet: Packet,
        bytes: u32,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) {
        let Some(air) = &mut self.air else { return };
        let fate = air.fate(turn, bytes);
        if let Some(reason) = fate.drop {
            return Signals { counters: &mut needed(&mut self.more).counters, drops, header_dscp: self.header_dscp }
                .drop(packet, reason);
        }
        let at = air.arrival(turn.end, self.delay, &fate);
        let counters = &mut needed(&mut self.more).counters;
        counters.reordered += u64::from(fate.reordered);
        if fate.corrupted {
            counters.corrupted += 1;
            packet = corrupt(packet, &mut air.damage);
        }
        if fate.duplicated {
            counters.duplicated += 1;
            counters.bytes_duplicated += u64::from(bytes);
            let mut copy = packet.clone();
            copy.set_origin(CreateReason::DUPLICATE);
            self.insert(at, bytes, copy);
        }
        self.insert(at, bytes, packet);
    }

    #[inline(never)]
    fn transmit_managed(&mut self, now: Instant, packet: Packet, drops: &mut dyn FnMut(Packet, DropReason)) {
        let bytes = packet.wire_len();
        self.transmit(now, packet, bytes, drops);
    }

    /// What a queue that decides on arrival let through, if it did; says whether.
    fn transmit_admitted(
        &mut self,
        now: Instant,
        packet: Option<Packet>,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) -> bool {
        let Some(packet) = packet else { return false };
        self.transmit_managed(now, packet, drops);
        true
    }

    /// Drops a packet that is not admitted.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, now: Instant, packet: Packet, bytes: u32, drops: &mut dyn FnMut(Packet, DropReason)) {
        self.count_in(bytes);
        let reason = if bytes > self.mtu { DropReason::TOO_BIG } else { DropReason::QUEUE_FULL };
        Signals { counters: &mut needed(&mut self.more).counters, drops, header_dscp: self.header_dscp }
            .drop(packet, reason);
        self.note_first_drop(now);
    }

    #[inline]
    fn insert(&mut self, at: Instant, bytes: u32, packet: Packet) {
        let more = needed(&mut self.more);
        more.held_bytes += u64::from(bytes);
        let arrival = Arrival { at, packet };
        if more.arrivals.back().is_none_or(|last| last.at <= at) {
            return more.arrivals.push_back(arrival);
        }
        more.insert_before(arrival);
    }

    /// When to call [`Link::advance`] and then [`Link::receive`]: the next packet arrives, or has its turn in a queue
    /// that decides on departure. The only event of a link that nobody pulls from.
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        let arrival = self.next_arrival();
        let Discipline::Departure(queue) = &self.queue else { return arrival };
        let turn = queue.next_turn(self.transmitter.free_at()).filter(|at| *at < Instant::MAX);
        arrival.into_iter().chain(turn).min()
    }

    /// When the next of the packets that have left the queue arrives. With a queue that decides on arrival these are
    /// all.
    pub fn next_arrival(&self) -> Option<Instant> {
        self.more.as_ref()?.arrivals.front().map(|arrival| arrival.at).filter(|at| *at < Instant::MAX)
    }

    /// The next packet that has arrived by `now`; call until there is none. Does not serve the queue: see
    /// [`Link::advance`].
    pub fn receive(&mut self, now: Instant) -> Option<Packet> {
        let More { arrivals, held_bytes, counters, .. } = &mut **self.more.as_mut()?;
        if arrivals.front()?.at > now {
            return None;
        }
        let packet = arrivals.pop_front()?.packet;
        let bytes = u64::from(packet.wire_len());
        *held_bytes -= bytes;
        count_one(&mut counters.packets_delivered);
        counters.bytes_delivered += bytes;
        Some(packet)
    }

    /// What waits for the transmitter: the packet in transmission and those in the air are not among it.
    pub fn backlog(&mut self, now: Instant) -> Backlog {
        match &self.queue {
            Discipline::Departure(queue) => queue.backlog(),
            _ => self.transmitter.waiting(now),
        }
    }

    /// Most bytes that waited for the transmitter since the last call.
    pub fn take_queue_peak(&mut self, now: Instant) -> u64 {
        let waiting = match &self.queue {
            Discipline::Departure(queue) => queue.backlog().bytes,
            _ => 0,
        };
        let peak = self.transmitter.take_peak(now).max(waiting);
        self.transmitter.note_waiting(waiting);
        if peak > 0 {
            let most = &mut needed(&mut self.more).queue_bytes_max;
            *most = peak.max(*most);
        }
        peak
    }

    /// Most bytes that ever waited for the transmitter.
    pub fn queue_bytes_max(&self) -> u64 {
        self.more.as_ref().map_or(0, |more| more.queue_bytes_max).max(self.transmitter.peak())
    }

    /// The header packets that waited until `now` in a header-first queue; none for another kind. (DEC-C28)
    pub fn header_levels(&self, now: Instant) -> Option<HeaderLevels> {
        match &self.queue {
            Discipline::Arrival(queue) => queue.header_levels(now),
            Discipline::DropTail(_) | Discipline::Ring(_) | Discipline::Departure(_) => None,
        }
    }

    /// Packets that [`Link::try_send`] is sure to take now; `usize::MAX` for all but a ring, which drop instead.
    pub fn room(&mut self, now: Instant) -> usize {
        let Discipline::Ring(limit) = self.queue else {
            return usize::MAX;
        };
        if self.transmitter.is_infinite() {
            return usize::MAX;
        }
        let waiting = self.transmitter.waiting(now);
        limit.room(waiting, self.mtu).saturating_add(usize::from(self.transmitter.is_idle(now)))
    }

    /// When the next packet moves on from the queue to the transmitter, or from the transmitter into the air if none
    /// waits: when [`Link::room`] grows. `None` when the transmitter is idle.
    pub fn next_departure(&mut self, now: Instant) -> Option<Instant> {
        self.transmitter.next_turn(now)
    }

    /// When the transmitter has sent everything it was given; what waits in a held queue it was not given yet.
    pub fn busy_until(&self) -> Instant {
        self.transmitter.free_at()
    }

    /// Packets in the link: waiting, in transmission and in the air. All will arrive but those that a held queue or the
    /// air then drops.
    pub fn held(&self) -> Backlog {
        let sent = self
            .more
            .as_ref()
            .map_or(Backlog::default(), |more| Backlog { packets: more.arrivals.len(), bytes: more.held_bytes });
        match &self.queue {
            Discipline::Departure(queue) => queue.backlog() + sent,
            _ => sent,
        }
    }

    /// What the link has done so far.
    pub fn counters(&self) -> LinkCounters {
        let mut counters = self.more.as_ref().map(|more| more.counters.clone()).unwrap_or_default();
        counters.packets_in += self.passed_packets;
        counters.bytes_in += self.passed_bytes;
        counters.packets_delivered += self.passed_packets;
        counters.bytes_delivered += self.passed_bytes;
        counters
    }
}
