//! Transmission opportunities (TXOP, IEEE 802.11-2020 10.23.2.8): who won the medium goes on, SIFS apart, until its time is over
//! or an answer is missing.
//!
//! What a model has to state:
//! - Further exchanges need no RTS. One begins only if its answer ends in time, and its aggregate is as long as that allows;
//!   the first frame of a TXOP goes however long it takes.
//! - They belong to the exchange that won the medium: it counts once, and contenders are counted once.
//! - The backoff after a TXOP is drawn at its end.

use super::bss::Bss;
use super::exchange::draw_fate;
use super::interface::Fate;
use super::plan::{Plan, Purpose};
use super::report::Report;
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant};

impl Bss {
    /// The answer to `from` was heard: its next exchange, if it is over `until` then.
    pub(super) fn begin_further(&mut self, from: InterfaceId, until: Instant, now: Instant) -> Option<Plan> {
        let begin = now + self.timing.sifs();
        if until <= begin || self.beacon_waits {
            return None;
        }
        self.fill(from, Some(until.saturating_since(begin)));
        let interface = &mut self.interfaces[from];
        let frame = interface.head.as_mut()?;
        frame.has_rts = false;
        let end = begin + self.timing.exchange(frame, Fate::Acked);
        if end > until {
            return None;
        }
        frame.fate = None;
        draw_fate(interface, begin);
        Some(Plan { begin: now, end, purpose: Purpose::Further { from, until } })
    }

    /// The end of a further exchange; the one after it.
    pub(super) fn end_further(
        &mut self,
        from: InterfaceId,
        until: Instant,
        plan: Plan,
        reports: &mut Vec<Report>,
    ) -> Option<Plan> {
        self.medium.busy += plan.end.saturating_since(plan.begin);
        self.idle_since = plan.end;
        self.eifs_extra = Duration::ZERO;
        self.contenders.resume(plan.end);
        let next = self.conclude(from, plan, reports).and_then(|_| self.begin_further(from, until, plan.end));
        self.begin_backoff(from, Duration::ZERO);
        next
    }
}
