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
        let counted_from = self.idle_since + self.eifs_extra + self.contenders.least_aifs();
        let idle = begin.saturating_since(counted_from).as_nanos() / self.timing.slot.as_nanos();
        let Some(window) = sense.hear(idle) else { return };
        for interface in &mut self.interfaces {
            (interface.access.cw_min, interface.access.cw_max, interface.cw) = (window, window, window);
        }
    }

    /// An interface has sent: it counts down once more, from AIFS or `delay` after the medium became idle.
    pub(super) fn begin_backoff(&mut self, index: InterfaceId, delay: Duration) {
        let from = self.idle_since + self.contenders.aifs(index).max(delay);
        self.contenders.set_backoff(index, self.interfaces[index].draw_backoff(), from);
    }

    /// An interface that had nothing to send has a frame.
    pub(super) fn begin_access(&mut self, now: Instant, index: InterfaceId) {
        let is_in_use = self.plan.is_some_and(|plan| plan.begin < now);
        let (idle_since, slot) = (self.idle_since + self.eifs_extra, self.timing.slot);
        // What answers a frame that just ended was there before its ACK.
        let is_busy = is_in_use || now <= self.idle_since;
        let counts = self.contenders.is_member(index)
            && match self.plan.filter(|_| is_in_use) {
                Some(plan) if self.timing.is_edca() => {
                    let (from, slots) = self.contenders.backoff(index);
                    u64::from(slots) > self.timing.counted(from, plan.begin)
                }
                Some(_) => true,
                None => self.contenders.due(index) > now,
            };
        if !counts {
            let slots = if is_busy { self.interfaces[index].draw_backoff() } else { 0 };
            let first = idle_since + self.contenders.aifs(index);
            let from = match is_in_use {
                true => Instant::MAX,
                false if self.timing.is_edca() => next_boundary(now, first, slot),
                false => now.max(first),
            };
            self.contenders.set_backoff(index, slots, from);
        }
        self.contenders.join(index);
        if !is_in_use {
            self.consider(index);
        }
    }

    /// An interface may be the next to send.
    pub(super) fn consider(&mut self, index: InterfaceId) {
        let due = self.contenders.due(index);
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
        let begin = self.contenders.find_first(&mut self.winners);
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

    /// The medium becomes busy at `begin`, when the winners send or a beacon is sent, and everybody counts on from AIFS after
    /// `again`. Returns how many have a frame to send.
    pub(super) fn freeze(&mut self, begin: Instant, again: Instant) -> u64 {
        self.contenders.freeze([begin, again], &self.winners, &self.timing, &mut self.interfaces)
    }
}

/// The first of the slot boundaries from `first` on at which a packet can be sent that came `now`.
fn next_boundary(now: Instant, first: Instant, slot: Duration) -> Instant {
    let since = now.saturating_since(first).as_nanos();
    let slots = if since == 0 { 0 } else { since / slot.as_nanos() + 1 };
    first + slot.saturating_mul(slots)
}
