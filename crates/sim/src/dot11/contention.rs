//! Who sends next: backoff, contention windows, beacons first.
//!
//! Each interface that has a frame, or slots left to count, is a member. It counts while the medium is idle, from AIFS after
//! it became idle, and sends when nothing is left. The earliest of them are the winners of the plan.
//!
//! What counts is, in b and g, whole idle slots (DCF, IEEE 802.11-2020 10.3.4.3). In n, ac and ax it is slot boundaries, the one
//! at the end of AIFS and the one at which somebody else begins included (EDCA, 10.23.2.4; Bianchi, Tinnirello and Scalia, IEEE
//! Network 19(4), 2005): who is left with none sends AIFS after the medium is idle again, as does who draws none. A packet for
//! an idle medium is sent at the next boundary.

use super::bss::Bss;
use super::exchange::draw_fate;
use super::plan::{Plan, Purpose};
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant};

impl Bss {
    /// The medium is used from `begin` on: contention windows that follow that are set anew.
    pub(super) fn fit_windows(&mut self, begin: Instant) {
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
            let interface = &mut self.interfaces[*member];
            interface.count_from = self.idle_since + self.eifs_extra + interface.access.aifs;
        }
    }

    /// An interface that had nothing to send has a frame.
    pub(super) fn begin_access(&mut self, now: Instant, index: InterfaceId) {
        let is_in_use = self.plan.is_some_and(|plan| plan.begin < now);
        let (idle_since, slot) = (self.idle_since + self.eifs_extra, self.timing.slot);
        // What answers a frame that just ended was there before its ACK.
        let is_busy = is_in_use || now <= self.idle_since;
        let interface = &mut self.interfaces[index];
        let counts = interface.is_member
            && match self.plan.filter(|_| is_in_use) {
                Some(plan) if self.timing.is_edca() => {
                    u64::from(interface.slots) > self.timing.counted(interface.count_from, plan.begin)
                }
                Some(_) => true,
                None => interface.due(slot) > now,
            };
        if !counts {
            interface.slots = 0;
            if is_busy {
                interface.draw_backoff();
            }
            let first = idle_since + interface.access.aifs;
            interface.count_from = match is_in_use {
                true => Instant::MAX,
                false if self.timing.is_edca() => next_boundary(now, first, slot),
                false => now.max(first),
            };
        }
        if !interface.is_member {
            interface.is_member = true;
            self.members.push(index);
        }
        if !is_in_use {
            self.consider(index);
        }
    }

    /// An interface may be the next to send.
    pub(super) fn consider(&mut self, index: InterfaceId) {
        let due = self.interfaces[index].due(self.timing.slot);
        match self.plan {
            Some(plan) if due > plan.begin || plan.purpose == Purpose::Beacon => return,
            Some(plan) if due == plan.begin => self.winners.push(index),
            _ => {
                self.winners.clear();
                self.winners.push(index);
            }
        }
        self.set_plan(due);
    }

    /// Finds those who send next; a beacon that is due goes first.
    pub(super) fn make_plan(&mut self, now: Instant) {
        self.winners.clear();
        if self.beacon_waits {
            let (pifs, air) = self.timing.beacon();
            let begin = now.max(self.idle_since + self.eifs_extra + pifs);
            self.plan = Some(Plan { begin, end: begin + air, purpose: Purpose::Beacon });
            return;
        }
        let mut begin = Instant::MAX;
        for member in &self.members {
            let interface = &self.interfaces[*member];
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

    pub(super) fn set_plan(&mut self, begin: Instant) {
        self.fill_winners();
        self.board_winners();
        let length = match self.winners[..] {
            [only] => {
                let interface = &mut self.interfaces[only];
                let fate = draw_fate(interface, begin);
                interface.head.as_ref().map_or(Duration::ZERO, |frame| self.timing.exchange(frame, fate))
            }
            _ => self.openings().max().unwrap_or(Duration::ZERO),
        };
        self.plan = Some(Plan { begin, end: begin + length, purpose: Purpose::Exchange });
    }

    /// How long each of the winners sends before it listens.
    pub(super) fn openings(&self) -> impl Iterator<Item = Duration> {
        let frames = self.winners.iter().filter_map(|winner| self.interfaces[*winner].head.as_ref());
        frames.map(|frame| self.timing.opening(frame))
    }

    /// The medium becomes busy at `begin`: slots that were idle until then are counted. Who has nothing to send and
    /// nothing left to count stops. Returns how many have a frame to send.
    pub(super) fn freeze(&mut self, begin: Instant) -> u64 {
        // Nearly all count from the same time.
        let (mut last, mut contenders) = ((Instant::MAX, 0), 0);
        let (interfaces, winners, timing) = (&mut self.interfaces, &self.winners, &self.timing);
        self.members.retain(|member| {
            let interface = &mut interfaces[*member];
            if interface.count_from != last.0 {
                last = (interface.count_from, timing.counted(interface.count_from, begin));
            }
            let is_waiting = interface.head.is_some();
            contenders += u64::from(is_waiting);
            if is_waiting && (winners.contains(member) || interface.count_from == Instant::MAX) {
                return true;
            }
            let counted = u32::try_from(last.1).unwrap_or(u32::MAX);
            let is_first = interface.slots == 0;
            interface.slots = interface.slots.saturating_sub(counted);
            if is_waiting && is_first && !timing.is_edca() {
                // It would have been sent without a backoff, and somebody was faster.
                interface.draw_backoff();
            }
            interface.is_member = is_waiting || interface.slots > 0;
            interface.is_member
        });
        contenders
    }
}

/// The first of the slot boundaries from `first` on at which a packet can be sent that came `now`.
fn next_boundary(now: Instant, first: Instant, slot: Duration) -> Instant {
    let since = now.saturating_since(first).as_nanos();
    let slots = if since == 0 { 0 } else { since / slot.as_nanos() + 1 };
    first + slot.saturating_mul(slots)
}
