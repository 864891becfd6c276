//! A basic service set (BSS): an access point, its stations and the medium that they share.
//!
//! This file has the state, and what the network asks of it. Who sends next is the business of `contention`, what becomes
//! of a frame that of `transmission`.

use super::agreement::Aggregate;
use super::airtime::{MediumUse, Usage};
use super::contenders::Contenders;
use super::entry::Entry;
use super::exchange::Timing;
use super::idle_sense::IdleSense;
use super::interface::{Access, Interface};
use super::plan::{Plan, Purpose};
use super::power_save::PowerSave;
use super::report::Report;
use super::riders::Riders;
use super::settings::{CellSettings, Contention, Edca, HandUp, ReverseFrame};
use crate::index::InterfaceId;
use airtcp_core::{Backlog, DropReason, Duration, Instant, Rng, count_one};
use airtcp_link::LinkCounters;
use airtcp_link::loss::LossProcess;
use typed_index_collections::TiVec;

/// A medium and the interfaces of its stations. The first is the access point's.
#[derive(Debug)]
pub struct Bss {
    pub(super) timing: Timing,
    pub(super) mtu: u32,
    pub(super) has_eifs: bool,
    pub(super) retry_limits: [u32; 2],
    pub(super) reverse_frame: ReverseFrame,
    /// TCP acknowledgments may ride in answers (HACK): every interface has [`Interface::riders`].
    pub(super) has_riders: bool,
    pub(super) hand_up: HandUp,
    /// What has come of the aggregate on the air.
    pub(super) come: Aggregate,
    pub(super) interfaces: TiVec<InterfaceId, Interface>,
    /// How far each is from its turn.
    pub(super) contenders: Contenders,
    pub(super) plan: Option<Plan>,
    /// A beacon is due.
    pub(super) beacon_waits: bool,
    pub(super) power_save: Option<PowerSave>,
    pub(super) idle_sense: Option<IdleSense>,
    /// Those who send at the planned time.
    pub(super) winners: Vec<InterfaceId>,
    /// From when the medium is idle.
    pub(super) idle_since: Instant,
    /// What everybody waits in addition to AIFS.
    pub(super) eifs_extra: Duration,
    pub(super) medium: MediumUse,
    /// Interfaces that got something to send at the end of an exchange; they look at it when the next one is planned.
    pub(super) offered_late: Vec<InterfaceId>,
}

impl Bss {
    /// The cell called `name` with an access point and so many stations, in the run seeded with `seed`.
    pub fn new(settings: &CellSettings, stations: usize, seed: u64, name: &str) -> Self {
        let timing = Timing::new(settings);
        let cw_min = settings.cw_min.unwrap_or(settings.phy.cw_min());
        let aifs = |index| if index == 0 { settings.ap_aifs } else { None }.unwrap_or(settings.aifs());
        let of_station = Access { cw_min, cw_max: settings.cw_max, txop: settings.txop };
        let of_ap = Access {
            cw_min: settings.ap_cw_min.unwrap_or(cw_min),
            cw_max: settings.ap_cw_max.unwrap_or(settings.cw_max),
            txop: settings.ap_txop.unwrap_or(settings.txop),
        };
        let window = settings.phy.aggregates().then(|| settings.block_ack_window());
        let interface = |index: usize| {
            let stream = |part: &str| Rng::derive(seed, &format!("{name}/{index}/{part}"));
            let (access, queue) = if index == 0 { (of_ap, &settings.ap_queue) } else { (of_station, &settings.queue) };
            let losses = [
                LossProcess::new(&settings.data_loss, stream("loss")),
                LossProcess::new(&settings.control_loss, stream("control")),
            ];
            let mut interface = Interface::new(access, queue, stream("backoff"), losses, window);
            interface.riders = settings.hack.then(Riders::default);
            interface
        };
        Bss {
            mtu: settings.mtu,
            has_eifs: settings.eifs,
            retry_limits: [settings.retry_limit, settings.long_retry_limit],
            reverse_frame: settings.reverse_frame,
            has_riders: settings.hack,
            hand_up: settings.hand_up,
            come: Aggregate::default(),
            interfaces: (0..=stations).map(interface).collect(),
            contenders: Contenders::new(timing.slot, (0..=stations).map(|index| timing.aifs(aifs(index)))),
            plan: None,
            beacon_waits: false,
            power_save: settings
                .beacon_interval
                .map(|interval| PowerSave::new(interval, settings.power_save, settings.polls(), stations + 1)),
            idle_sense: (settings.contention == Contention::IdleSense)
                .then(|| IdleSense::new(timing.slot, timing.longest_opening(), cw_min)),
            winners: Vec::new(),
            idle_since: Instant::ZERO,
            eifs_extra: Duration::ZERO,
            medium: MediumUse::default(),
            offered_late: Vec::new(),
            timing,
        }
    }

    /// Gives a station contention parameters of its own; before the first packet.
    pub fn contend(&mut self, station: InterfaceId, edca: &Edca) {
        if let Some(slots) = edca.aifs {
            self.contenders.set_aifs(station, self.timing.aifs(slots));
        }
        let Interface { access, cw, .. } = &mut self.interfaces[station];
        access.cw_min = edca.cw_min.unwrap_or(access.cw_min);
        access.cw_max = edca.cw_max.unwrap_or(access.cw_max);
        access.txop = edca.txop.unwrap_or(access.txop);
        *cw = access.cw_min;
    }

    /// True if the interface has a ring that is full: the packet should be kept, and [`Report::Room`] follows.
    pub fn refuses(&mut self, from: InterfaceId, bytes: u32) -> bool {
        if !self.interfaces[from].is_ring {
            return false;
        }
        let all_wait = self.all_wait(from);
        let interface = &mut self.interfaces[from];
        let is_refused = !interface.admits(bytes, all_wait);
        interface.wants_room |= is_refused;
        is_refused
    }

    /// Gives a packet to interface `from`.
    ///
    /// # Errors
    /// The report on a packet that was dropped before it could be sent.
    pub fn send(&mut self, now: Instant, from: InterfaceId, entry: Entry) -> Result<(), Report> {
        let bytes = entry.bytes;
        let all_wait = self.all_wait(from);
        let interface = &mut self.interfaces[from];
        count_one(&mut interface.counters.packets_in);
        interface.counters.bytes_in += u64::from(bytes);
        let reason = if bytes > self.mtu {
            Some(DropReason::TOO_BIG)
        } else {
            (!interface.admits(bytes, all_wait)).then_some(DropReason::QUEUE_FULL)
        };
        if let Some(reason) = reason {
            return Err(self.drop(from, entry.to, entry.packet, reason));
        }
        match self.power_save.as_mut().filter(|_| all_wait) {
            Some(power_save) => {
                interface.asleep.packets += 1;
                interface.asleep.bytes += u64::from(bytes);
                power_save.keep(entry);
            }
            None => {
                let to = entry.to;
                let entry = if self.has_riders { self.keep_for_answer(now, from, entry) } else { Some(entry) };
                let Some(entry) = entry else { return Ok(()) };
                if self.interfaces[from].is_idle() {
                    self.interfaces[from].head = Some(self.timing.frame(entry));
                    self.contenders.set_waiting(from, true);
                    self.begin_access(now, from);
                } else {
                    self.interfaces[from].push(entry);
                    self.offer(now, from);
                }
                self.lengthen(now, from, to);
            }
        }
        Ok(())
    }

    /// Whether everything at an interface waits for the next beacon: what the access point has for stations that sleep.
    pub(super) fn all_wait(&self, interface: InterfaceId) -> bool {
        interface == InterfaceId::AP && self.power_save.as_ref().is_some_and(PowerSave::sleeps)
    }

    /// An interface that is sending nothing takes what waits there.
    pub(super) fn offer(&mut self, now: Instant, index: InterfaceId) {
        if self.interfaces[index].head.is_none() && self.take_next(index) {
            self.begin_access(now, index);
        }
    }

    /// When to call [`Bss::advance`]; `None` while nobody has anything to send.
    pub fn next_event(&self) -> Option<Instant> {
        let beacon = self.power_save.as_ref().filter(|_| !self.beacon_waits).map(PowerSave::due);
        match (self.plan, beacon) {
            (Some(plan), Some(due)) if plan.begin > due => Some(due),
            (Some(plan), _) => Some(self.next_hand_up().unwrap_or(plan.end)),
            (None, due) => due,
        }
    }

    /// Hands up what has come by `now`, and ends the exchange that ends now, if one does; if a beacon is due, it is next.
    pub fn advance(&mut self, now: Instant, reports: &mut Vec<Report>) {
        self.hand_up_due(now, reports);
        let is_due = self.power_save.as_ref().is_some_and(|power_save| power_save.due() <= now);
        let mut next = None;
        match self.plan {
            Some(plan) if plan.end <= now => match plan.purpose {
                Purpose::Beacon => return self.end_beacon(plan),
                Purpose::Exchange => next = self.end_exchange(plan, now, reports),
                Purpose::Reverse { from } => self.end_reverse(from, plan, reports),
                Purpose::Further { from, until } => next = self.end_further(from, until, plan, reports),
            },
            // An exchange that has begun is not cut short by a beacon that becomes due.
            Some(plan) if plan.begin < now => return,
            _ => {}
        }
        self.beacon_waits |= is_due;
        match next {
            Some(_) => self.plan = next,
            None => self.make_plan(now),
        }
        if !self.offered_late.is_empty() {
            self.offer_late(now);
        }
    }

    #[cold]
    fn offer_late(&mut self, now: Instant) {
        for index in std::mem::take(&mut self.offered_late) {
            self.offer(now, index);
        }
    }

    /// Everybody has heard a beacon: what was kept for them is sent.
    fn end_beacon(&mut self, plan: Plan) {
        self.medium.beacons += 1;
        self.medium.busy += plan.end.saturating_since(plan.begin);
        self.freeze(plan.begin, plan.end);
        (self.idle_since, self.eifs_extra) = (plan.end, Duration::ZERO);
        self.beacon_waits = false;
        let Some(power_save) = &mut self.power_save else { return };
        let announced = power_save.announce();
        if power_save.polls {
            self.ask(&announced);
            self.make_plan(plan.end);
            announced.into_iter().for_each(|station| self.offer(plan.end, station));
            return;
        }
        let fetched = power_save.fetch_all();
        let access_point = &mut self.interfaces[InterfaceId::AP];
        access_point.asleep = Backlog::default();
        fetched.into_iter().for_each(|entry| access_point.push(entry));
        self.make_plan(plan.end);
        self.offer(plan.end, InterfaceId::AP);
    }

    /// Ends an exchange or a collision; what the medium is reserved for then, if the exchange goes on.
    fn end_exchange(&mut self, plan: Plan, now: Instant, reports: &mut Vec<Report>) -> Option<Plan> {
        count_one(&mut self.medium.exchanges);
        self.medium.busy += plan.end.saturating_since(plan.begin);
        let is_collision = self.winners.len() > 1;
        self.medium.collisions += u64::from(is_collision);
        // Who could not read a header does not know how long an ACK would take, and leaves room for the longest (EIFS).
        let eifs_extra = if is_collision && self.has_eifs { self.timing.eifs_extra } else { Duration::ZERO };
        self.medium.contenders += self.freeze(plan.begin, plan.end + eifs_extra);
        self.fit_windows(plan.begin);
        (self.idle_since, self.eifs_extra) = (plan.end, eifs_extra);
        let mut next = None;
        for place in 0..self.winners.len() {
            let index = self.winners[place];
            let delay = if is_collision {
                self.collide(index, plan, reports)
            } else {
                let receiver = self.conclude(index, plan, reports);
                next = receiver.and_then(|receiver| {
                    let until = plan.begin + self.interfaces[index].access.txop;
                    self.begin_reverse(receiver, index, now).or_else(|| self.begin_further(index, until, now))
                });
                Duration::ZERO
            };
            // Also after a success: a station counts down once more before its next frame, so that others get a turn.
            self.begin_backoff(index, delay);
        }
        next
    }

    /// Lets an interface receive frames without acknowledging them, so that their senders slow down (AST-11).
    pub fn set_silent(&mut self, interface: InterfaceId, is_silent: bool) {
        self.interfaces[interface].is_silent = is_silent;
    }

    /// What waits at an interface, the frame that is being sent not among it; in a cell that aggregates, also what is not
    /// acknowledged.
    pub fn backlog(&self, interface: InterfaceId) -> Backlog {
        self.interfaces[interface].backlog()
    }

    /// Packets that an interface is sure to take; `usize::MAX` where it drops instead of refusing.
    pub fn room(&self, interface: InterfaceId) -> usize {
        let all_wait = self.all_wait(interface);
        let interface = &self.interfaces[interface];
        if interface.is_ring { interface.room(self.mtu, all_wait) } else { usize::MAX }
    }

    /// Packets at an interface, waiting or being sent.
    pub fn held(&self, interface: InterfaceId) -> usize {
        self.interfaces[interface].held()
    }

    /// What an interface did.
    pub fn usage(&self, interface: InterfaceId) -> &Usage {
        &self.interfaces[interface].usage
    }

    /// Packets through an interface: in, out, dropped.
    pub fn counters(&self, interface: InterfaceId) -> &LinkCounters {
        &self.interfaces[interface].counters
    }

    /// What the medium was used for.
    pub fn medium(&self) -> &MediumUse {
        &self.medium
    }

    /// Interfaces, the access point's included.
    pub fn interfaces(&self) -> impl Iterator<Item = InterfaceId> + use<> {
        self.interfaces.keys()
    }
}
