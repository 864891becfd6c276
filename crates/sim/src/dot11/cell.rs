//! The medium and the stations that contend for it.

use super::airtime::{MediumUse, Usage};
use super::exchange::{Timing, draw_fate};
use super::idle_sense::IdleSense;
use super::interface::{Access, Entry, Fate, Frame, Interface, Tracked};
use super::power_save::PowerSave;
use super::settings::{CellSettings, Contention, Edca, ReverseFrame};
use airtcp_core::{Backlog, DropReason, Duration, Instant, Outcome, Packet, Rng, TxStatus};
use airtcp_link::LinkCounters;
use airtcp_link::loss::LossProcess;

/// What came of an exchange.
#[derive(Debug)]
pub enum Report {
    /// A packet arrived.
    Delivered {
        /// The interface that sent it.
        from: usize,
        /// The interface that received it.
        to: usize,
        /// The packet.
        packet: Packet,
    },
    /// A packet was given up.
    Dropped {
        /// The interface that sent it.
        from: usize,
        /// The interface it was for.
        to: usize,
        /// The packet.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// What became of a tracked packet.
    Status {
        /// Who is told.
        element: usize,
        /// What.
        status: TxStatus,
    },
    /// A ring that was full has room again.
    Room {
        /// The interface it belongs to.
        from: usize,
    },
}

/// The next use of the medium, unless somebody begins earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub begin: Instant,
    pub end: Instant,
    pub purpose: Purpose,
}

/// What the medium is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The winners of the contention send.
    Exchange,
    /// The access point sends a beacon.
    Beacon,
    /// The receiver of a frame sends one back (DCF+).
    Reverse {
        /// Its interface.
        from: usize,
    },
}

/// A medium and the interfaces of its stations. Interface 0 is the access point's.
#[derive(Debug)]
pub struct Cell {
    pub(super) timing: Timing,
    mtu: u32,
    has_eifs: bool,
    retry_limits: [u32; 2],
    pub(super) reverse_frame: ReverseFrame,
    pub(super) interfaces: Vec<Interface>,
    /// Interfaces that count down, in the order in which they began.
    members: Vec<u32>,
    pub(super) plan: Option<Plan>,
    /// A beacon is due.
    beacon_waits: bool,
    power_save: Option<PowerSave>,
    idle_sense: Option<IdleSense>,
    /// Those who send at the planned time.
    winners: Vec<u32>,
    /// From when the medium is idle.
    pub(super) idle_since: Instant,
    /// What everybody waits in addition to AIFS.
    pub(super) eifs_extra: Duration,
    pub(super) medium: MediumUse,
}

impl Cell {
    /// The cell called `name` with an access point and so many stations, in the run seeded with `seed`.
    pub fn new(settings: &CellSettings, stations: usize, seed: u64, name: &str) -> Self {
        let timing = Timing::new(settings);
        let cw_min = settings.cw_min.unwrap_or(settings.phy.cw_min());
        let of_station = Access { aifs: timing.aifs(settings.aifs), cw_min, cw_max: settings.cw_max };
        let of_ap = Access {
            aifs: timing.aifs(settings.ap_aifs.unwrap_or(settings.aifs)),
            cw_min: settings.ap_cw_min.unwrap_or(cw_min),
            cw_max: settings.ap_cw_max.unwrap_or(settings.cw_max),
        };
        let interface = |index: usize| {
            let stream = |part: &str| Rng::derive(seed, &format!("{name}/{index}/{part}"));
            let (access, queue) = if index == 0 { (of_ap, &settings.ap_queue) } else { (of_station, &settings.queue) };
            let losses = [
                LossProcess::new(&settings.data_loss, stream("loss")),
                LossProcess::new(&settings.control_loss, stream("control")),
            ];
            Interface::new(access, queue, stream("backoff"), losses)
        };
        Cell {
            mtu: settings.mtu,
            has_eifs: settings.eifs,
            retry_limits: [settings.retry_limit, settings.long_retry_limit],
            reverse_frame: settings.reverse_frame,
            interfaces: (0..=stations).map(interface).collect(),
            members: Vec::new(),
            plan: None,
            beacon_waits: false,
            power_save: settings
                .beacon_interval
                .map(|interval| PowerSave::new(interval, settings.power_save, stations + 1)),
            idle_sense: (settings.contention == Contention::IdleSense)
                .then(|| IdleSense::new(timing.slot, timing.longest_opening(), cw_min)),
            winners: Vec::new(),
            idle_since: Instant::ZERO,
            eifs_extra: Duration::ZERO,
            medium: MediumUse::default(),
            timing,
        }
    }

    /// Gives a station contention parameters of its own; before the first packet.
    pub fn contend(&mut self, station: usize, edca: &Edca) {
        let aifs = edca.aifs.map(|slots| self.timing.aifs(slots));
        let Interface { access, cw, .. } = &mut self.interfaces[station];
        access.aifs = aifs.unwrap_or(access.aifs);
        access.cw_min = edca.cw_min.unwrap_or(access.cw_min);
        access.cw_max = edca.cw_max.unwrap_or(access.cw_max);
        *cw = access.cw_min;
    }

    /// True if the interface has a ring that is full: the packet should be kept, and [`Report::Room`] follows.
    pub fn refuses(&mut self, from: usize, bytes: u32) -> bool {
        let all_wait = self.all_wait(from);
        let interface = &mut self.interfaces[from];
        let is_refused = interface.is_ring && !interface.admits(bytes, all_wait);
        interface.wants_room |= is_refused;
        is_refused
    }

    /// Gives a packet to interface `from`, for interface `to`. False if it was dropped before it could be sent.
    pub fn send(
        &mut self,
        now: Instant,
        from: usize,
        to: usize,
        packet: Packet,
        tracked: Option<Tracked>,
        reports: &mut Vec<Report>,
    ) -> bool {
        let bytes = packet.wire_len();
        let all_wait = self.all_wait(from);
        let interface = &mut self.interfaces[from];
        interface.counters.packets_in += 1;
        interface.counters.bytes_in += u64::from(bytes);
        let reason = if bytes > self.mtu {
            Some(DropReason::TOO_BIG)
        } else {
            (!interface.admits(bytes, all_wait)).then_some(DropReason::QUEUE_FULL)
        };
        if let Some(reason) = reason {
            self.drop(from, to, packet, reason, reports);
            return false;
        }
        let entry = Entry { packet, to: to as u32, tracked };
        match self.power_save.as_mut().filter(|_| all_wait) {
            Some(power_save) => {
                interface.asleep.packets += 1;
                interface.asleep.bytes += u64::from(bytes);
                power_save.keep(entry);
            }
            None => {
                interface.push(entry);
                self.offer(now, from);
            }
        }
        true
    }

    /// Whether everything at an interface waits for the next beacon: what the access point has for stations that sleep.
    fn all_wait(&self, interface: usize) -> bool {
        interface == 0 && self.power_save.as_ref().is_some_and(PowerSave::sleeps)
    }

    /// An interface that is sending nothing takes what waits there.
    fn offer(&mut self, now: Instant, index: usize) {
        if self.interfaces[index].head.is_none() && self.take_next(index) {
            self.begin_access(now, index);
        }
    }

    /// When to call [`Cell::advance`]; `None` while nobody has anything to send.
    pub fn next_event(&self) -> Option<Instant> {
        let beacon = self.power_save.as_ref().filter(|_| !self.beacon_waits).map(PowerSave::due);
        match (self.plan, beacon) {
            (Some(plan), Some(due)) if plan.begin > due => Some(due),
            (Some(plan), _) => Some(plan.end),
            (None, due) => due,
        }
    }

    /// Ends the exchange that ends `now`, if one does; if a beacon is due, it is next.
    pub fn advance(&mut self, now: Instant, reports: &mut Vec<Report>) {
        let is_due = self.power_save.as_ref().is_some_and(|power_save| power_save.due() <= now);
        let mut next = None;
        match self.plan {
            Some(plan) if plan.end <= now => match plan.purpose {
                Purpose::Beacon => return self.end_beacon(plan),
                Purpose::Exchange => next = self.end_exchange(plan, now, reports),
                Purpose::Reverse { from } => self.end_reverse(from, plan, reports),
            },
            Some(plan) if plan.begin < now => return,
            _ => {}
        }
        self.beacon_waits |= is_due;
        match next {
            Some(_) => self.plan = next,
            None => self.make_plan(now),
        }
    }

    /// Everybody has heard a beacon: what was kept for them is sent.
    fn end_beacon(&mut self, plan: Plan) {
        self.medium.beacons += 1;
        self.medium.busy += plan.end.saturating_since(plan.begin);
        self.freeze(plan.begin);
        self.idle_since = plan.end;
        self.eifs_extra = Duration::ZERO;
        self.resume();
        self.beacon_waits = false;
        let fetched = self.power_save.as_mut().map_or_else(Vec::new, PowerSave::wake);
        let access_point = &mut self.interfaces[0];
        access_point.asleep = Backlog::default();
        fetched.into_iter().for_each(|entry| access_point.push(entry));
        self.make_plan(plan.end);
        self.offer(plan.end, 0);
    }

    /// Ends an exchange or a collision; what the medium is reserved for then, if the exchange goes on.
    fn end_exchange(&mut self, plan: Plan, now: Instant, reports: &mut Vec<Report>) -> Option<Plan> {
        self.medium.exchanges += 1;
        self.medium.collisions += u64::from(self.winners.len() > 1);
        self.medium.busy += plan.end.saturating_since(plan.begin);
        self.medium.contenders += self.freeze(plan.begin);
        self.fit_windows(plan.begin);
        self.idle_since = plan.end;
        let winners = std::mem::take(&mut self.winners);
        let is_collision = winners.len() > 1;
        self.eifs_extra = if is_collision && self.has_eifs { self.timing.eifs_extra } else { Duration::ZERO };
        self.resume();
        let mut next = None;
        for winner in &winners {
            let index = *winner as usize;
            let delay = if is_collision {
                self.collide(index, plan, reports)
            } else {
                let receiver = self.conclude(index, now, reports);
                next = receiver.and_then(|receiver| self.begin_reverse(receiver, index, now));
                Duration::ZERO
            };
            let interface = &mut self.interfaces[index];
            interface.draw_backoff();
            interface.count_from = self.idle_since + interface.access.aifs.max(delay);
        }
        self.winners = winners;
        next
    }

    /// The medium is used from `begin` on: contention windows that follow that are set anew.
    fn fit_windows(&mut self, begin: Instant) {
        let Some(sense) = &mut self.idle_sense else { return };
        let aifs = self.interfaces.iter().map(|interface| interface.access.aifs).min().unwrap_or_default();
        let counted_from = self.idle_since + self.eifs_extra + aifs;
        let idle = begin.saturating_since(counted_from).as_nanos() / self.timing.slot.as_nanos();
        let Some(window) = sense.hear(idle) else { return };
        for interface in &mut self.interfaces {
            (interface.access.cw_min, interface.access.cw_max, interface.cw) = (window, window, window);
        }
    }

    /// Everybody counts from when the medium is idle again.
    pub(super) fn resume(&mut self) {
        for member in &self.members {
            let interface = &mut self.interfaces[*member as usize];
            interface.count_from = self.idle_since + self.eifs_extra + interface.access.aifs;
        }
    }

    /// Lets an interface receive frames without acknowledging them, so that their senders slow down (AST-11).
    pub fn set_silent(&mut self, interface: usize, is_silent: bool) {
        self.interfaces[interface].is_silent = is_silent;
    }

    /// What waits at an interface, the frame that is being sent not among it.
    pub fn backlog(&self, interface: usize) -> Backlog {
        self.interfaces[interface].backlog()
    }

    /// Packets that an interface is sure to take; `usize::MAX` where it drops instead of refusing.
    pub fn room(&self, interface: usize) -> usize {
        let all_wait = self.all_wait(interface);
        let interface = &self.interfaces[interface];
        if interface.is_ring { interface.room(self.mtu, all_wait) } else { usize::MAX }
    }

    /// Packets at an interface, waiting or being sent.
    pub fn held(&self, interface: usize) -> usize {
        let interface = &self.interfaces[interface];
        let is_sending = interface.head.as_ref().is_some_and(|frame| frame.packet.is_some());
        interface.backlog().packets + usize::from(is_sending)
    }

    /// What an interface did.
    pub fn usage(&self, interface: usize) -> &Usage {
        &self.interfaces[interface].usage
    }

    /// Packets through an interface: in, out, dropped.
    pub fn counters(&self, interface: usize) -> &LinkCounters {
        &self.interfaces[interface].counters
    }

    /// What the medium was used for.
    pub fn medium(&self) -> &MediumUse {
        &self.medium
    }

    /// Interfaces, the access point's included.
    pub fn interfaces(&self) -> usize {
        self.interfaces.len()
    }

    fn drop(&mut self, from: usize, to: usize, packet: Packet, reason: DropReason, reports: &mut Vec<Report>) {
        let counters = &mut self.interfaces[from].counters;
        counters.dropped.add(reason, 1);
        counters.bytes_dropped += u64::from(packet.wire_len());
        reports.push(Report::Dropped { from, to, packet, reason });
    }

    /// Makes the next packet of an interface the frame that it sends; false if there is none.
    fn take_next(&mut self, index: usize) -> bool {
        let interface = &mut self.interfaces[index];
        interface.head = interface.pop().map(|entry| self.timing.frame(entry));
        interface.head.is_some()
    }

    /// An interface that had nothing to send has a frame.
    fn begin_access(&mut self, now: Instant, index: usize) {
        let is_in_use = self.plan.is_some_and(|plan| plan.begin < now);
        let (idle_since, slot) = (self.idle_since + self.eifs_extra, self.timing.slot);
        // What answers a frame that just ended was there before its ACK.
        let is_busy = is_in_use || now <= self.idle_since;
        let interface = &mut self.interfaces[index];
        let counts = interface.is_member && (is_in_use || interface.due(slot) > now);
        if !counts {
            interface.slots = 0;
            if is_busy {
                interface.draw_backoff();
            }
            interface.count_from = if is_in_use { Instant::MAX } else { now.max(idle_since + interface.access.aifs) };
        }
        if !interface.is_member {
            interface.is_member = true;
            self.members.push(index as u32);
        }
        if !is_in_use {
            self.consider(index);
        }
    }

    /// An interface may be the next to send.
    fn consider(&mut self, index: usize) {
        let due = self.interfaces[index].due(self.timing.slot);
        match self.plan {
            Some(plan) if due > plan.begin || plan.purpose == Purpose::Beacon => return,
            Some(plan) if due == plan.begin => self.winners.push(index as u32),
            _ => {
                self.winners.clear();
                self.winners.push(index as u32);
            }
        }
        self.set_plan(due);
    }

    /// Finds those who send next; a beacon that is due goes first.
    fn make_plan(&mut self, now: Instant) {
        self.winners.clear();
        if self.beacon_waits {
            let (pifs, air) = self.timing.beacon();
            let begin = now.max(self.idle_since + self.eifs_extra + pifs);
            self.plan = Some(Plan { begin, end: begin + air, purpose: Purpose::Beacon });
            return;
        }
        let mut begin = Instant::MAX;
        for member in &self.members {
            let interface = &self.interfaces[*member as usize];
            if interface.head.is_none() {
                continue;
            }
            let due = interface.due(self.timing.slot);
            if due < begin {
                begin = due;
                self.winners.clear();
            }
            if due == begin {
                self.winners.push(*member);
            }
        }
        self.plan = None;
        if !self.winners.is_empty() {
            self.set_plan(begin);
        }
    }

    fn set_plan(&mut self, begin: Instant) {
        let length = match self.winners[..] {
            [only] => {
                let interface = &mut self.interfaces[only as usize];
                let fate = draw_fate(interface);
                interface.head.as_ref().map_or(Duration::ZERO, |frame| self.timing.exchange(frame, fate))
            }
            _ => self.openings().max().unwrap_or(Duration::ZERO),
        };
        self.plan = Some(Plan { begin, end: begin + length, purpose: Purpose::Exchange });
    }

    /// How long each of the winners sends before it listens.
    fn openings(&self) -> impl Iterator<Item = Duration> {
        let frames = self.winners.iter().filter_map(|winner| self.interfaces[*winner as usize].head.as_ref());
        frames.map(|frame| self.timing.opening(frame))
    }

    /// The medium becomes busy at `begin`: slots that were idle until then are counted. Who has nothing to send and
    /// nothing left to count stops. Returns how many have a frame to send.
    fn freeze(&mut self, begin: Instant) -> u64 {
        let slot = self.timing.slot.as_nanos();
        // Nearly all count from the same time.
        let (mut last, mut contenders) = ((Instant::MAX, 0), 0);
        let (interfaces, winners) = (&mut self.interfaces, &self.winners);
        self.members.retain(|member| {
            let interface = &mut interfaces[*member as usize];
            if interface.count_from != last.0 {
                last = (interface.count_from, begin.saturating_since(interface.count_from).as_nanos() / slot);
            }
            let is_waiting = interface.head.is_some();
            contenders += u64::from(is_waiting);
            if is_waiting && (winners.contains(member) || interface.count_from == Instant::MAX) {
                return true;
            }
            let counted = u32::try_from(last.1).unwrap_or(u32::MAX);
            let is_first = interface.slots == 0;
            interface.slots = interface.slots.saturating_sub(counted);
            if is_waiting && is_first {
                // It would have been sent without a backoff, and somebody was faster.
                interface.draw_backoff();
            }
            interface.is_member = is_waiting || interface.slots > 0;
            interface.is_member
        });
        contenders
    }

    /// A transmission that met others; how long its sender waits for an ACK beyond the end of the collision.
    fn collide(&mut self, index: usize, plan: Plan, reports: &mut Vec<Report>) -> Duration {
        let Interface { head: Some(frame), usage, .. } = &mut self.interfaces[index] else { return Duration::ZERO };
        let (opening, was_announcement) = (self.timing.opening(frame), frame.has_rts);
        usage.transmissions += 1;
        usage.collisions += 1;
        usage.airtime[frame.kind as usize].collided += opening;
        self.fail(index, plan.end, was_announcement, reports);
        let heard = plan.begin + opening + self.timing.ack_timeout;
        heard.saturating_since(plan.end)
    }

    /// The end of an exchange that nobody disturbed; whose ACK its sender heard.
    pub(super) fn conclude(&mut self, index: usize, now: Instant, reports: &mut Vec<Report>) -> Option<usize> {
        let to = self.interfaces[index].head.as_ref().map(|frame| frame.to as usize)?;
        let is_silent = self.interfaces[to].is_silent;
        let interface = &mut self.interfaces[index];
        let Interface { head: Some(frame), usage, counters, .. } = interface else { return None };
        let kind = frame.kind as usize;
        let drawn = frame.fate.take().unwrap_or(Fate::Damaged);
        let fate = if is_silent && drawn != Fate::NoCts { Fate::Damaged } else { drawn };
        usage.transmissions += 1;
        let airtime = &mut usage.airtime[kind];
        let account = if fate == Fate::Acked { &mut airtime.delivered } else { &mut airtime.damaged };
        *account += self.timing.on_air(frame, drawn);
        if matches!(fate, Fate::Acked | Fate::AckLost)
            && let Some(packet) = frame.packet.take()
        {
            usage.frames_delivered[kind] += 1;
            counters.packets_delivered += 1;
            counters.bytes_delivered += u64::from(packet.wire_len());
            reports.push(Report::Delivered { from: index, to, packet });
        }
        match fate {
            Fate::Acked => {
                interface.cw = interface.access.cw_min;
                self.finish(index, now, Outcome::Acked, reports);
            }
            Fate::NoCts => self.fail(index, now, true, reports),
            Fate::Damaged | Fate::AckLost => self.fail(index, now, false, reports),
        }
        (fate == Fate::Acked).then_some(to)
    }

    /// A transmission failed: the frame is sent again, or given up. `is_rts`: its announcement failed.
    fn fail(&mut self, index: usize, now: Instant, is_rts: bool, reports: &mut Vec<Report>) {
        let interface = &mut self.interfaces[index];
        let Some(frame) = &mut interface.head else { return };
        let is_long = frame.has_rts && !is_rts;
        let tries = if is_long { &mut frame.long_tries } else { &mut frame.short_tries };
        *tries += 1;
        if *tries < self.retry_limits[usize::from(is_long)] {
            interface.widen();
            return;
        }
        interface.cw = interface.access.cw_min;
        interface.usage.given_up += 1;
        self.finish(index, now, Outcome::RetryLimit, reports);
    }

    /// A frame is done with, and the next one's turn comes.
    fn finish(&mut self, index: usize, now: Instant, outcome: Outcome, reports: &mut Vec<Report>) {
        if let Some(frame) = self.interfaces[index].head.take() {
            // A frame that was acknowledged took one more than those that failed.
            let tries = frame.tries() + u32::from(outcome == Outcome::Acked);
            let Frame { packet, to, tracked, .. } = frame;
            if let Some(packet) = packet {
                self.drop(index, to as usize, packet, DropReason::RETRY_LIMIT, reports);
            }
            if let Some(Tracked { element, token }) = tracked {
                let status = TxStatus { token, outcome, tries: u8::try_from(tries).unwrap_or(u8::MAX), at: now };
                reports.push(Report::Status { element, status });
            }
        }
        self.take_next(index);
        if std::mem::take(&mut self.interfaces[index].wants_room) {
            reports.push(Report::Room { from: index });
        }
    }
}
