//! What becomes of a frame that was sent: delivered, sent again, or given up.

use super::bss::Bss;
use super::entry::Tracked;
use super::interface::{Fate, Interface, Load};
use super::plan::Plan;
use super::report::Report;
use super::ride::Answer;
use crate::index::InterfaceId;
use airtcp_core::{DropReason, Duration, Instant, Outcome, Packet, TxStatus, count_one};

impl Bss {
    /// Drops a packet.
    pub(super) fn drop(&mut self, from: InterfaceId, to: InterfaceId, packet: Packet, reason: DropReason) -> Report {
        let counters = &mut self.interfaces[from].counters;
        counters.dropped.add_one(reason);
        counters.bytes_dropped += u64::from(packet.wire_len());
        Report::Dropped { from, to, packet, reason }
    }

    /// Makes the next packet of an interface the frame that it sends; false if there is none.
    pub(super) fn take_next(&mut self, index: InterfaceId) -> bool {
        let poll = if self.interfaces[index].asks { self.next_poll(index) } else { None };
        let interface = &mut self.interfaces[index];
        match (poll, &interface.agreements) {
            (Some(poll), _) => interface.head = Some(poll),
            // One by one, so that the frame is put together where it stays.
            (None, None) => match interface.pop() {
                Some(entry) => interface.head = Some(self.timing.frame(entry)),
                None => interface.head = None,
            },
            (None, Some(agreements)) => {
                let next = agreements.next();
                interface.head = next.map(|(to, is_request)| self.timing.aggregate(to, is_request));
            }
        }
        let is_waiting = interface.head.is_some();
        self.contenders.set_waiting(index, is_waiting);
        is_waiting
    }

    /// A transmission that met others; from the end of the collision, when its sender counts slots at the earliest.
    pub(super) fn collide(&mut self, index: InterfaceId, plan: Plan, reports: &mut Vec<Report>) -> Duration {
        let Interface { head: Some(frame), usage, .. } = &mut self.interfaces[index] else { return Duration::ZERO };
        let (opening, was_announcement) = (self.timing.opening(frame), frame.has_rts);
        count_one(&mut usage.transmissions);
        usage.collisions += 1;
        if frame.load == Load::Packet {
            usage.airtime[frame.kind as usize].collided += opening;
            let to = frame.to;
            self.fail(index, plan.end, was_announcement, reports);
            self.end_ride(to, index, Answer::None, plan.end, reports);
        } else if frame.load == Load::Poll {
            usage.airtime[frame.kind as usize].collided += opening;
            self.fail_poll(index, reports);
        } else {
            self.collide_aggregate(index, opening, plan.end, reports);
        }
        // It sent, so it did not hear the others; it waits for an ACK from the end of its own frame, and with EDCA for AIFS after that.
        let missed = plan.begin + opening + self.timing.ack_timeout;
        let aifs = if self.timing.is_edca() { self.contenders.aifs(index) } else { Duration::ZERO };
        (missed + aifs).saturating_since(plan.end)
    }

    /// The end of an exchange that nobody disturbed; whose ACK its sender heard.
    pub(super) fn conclude(
        &mut self,
        index: InterfaceId,
        plan: Plan,
        reports: &mut Vec<Report>,
    ) -> Option<InterfaceId> {
        let now = plan.end;
        let head = self.interfaces[index].head.as_ref()?;
        let to = head.to;
        match head.load {
            Load::Packet => {}
            Load::Aggregate(aggregate) => return self.conclude_aggregate(index, aggregate, plan, reports),
            Load::Request => return self.conclude_request(index, reports),
            Load::Poll => {
                self.conclude_poll(index, plan, reports);
                return None;
            }
        }
        let is_silent = self.interfaces[to].is_silent;
        let ride = self.ride_time(to, index);
        let interface = &mut self.interfaces[index];
        let Interface { head: Some(frame), usage, counters, .. } = interface else { return None };
        let kind = frame.kind as usize;
        let drawn = frame.fate.take().unwrap_or(Fate::Damaged);
        let fate = if is_silent && drawn != Fate::NoCts { Fate::Damaged } else { drawn };
        count_one(&mut usage.transmissions);
        let airtime = &mut usage.airtime[kind];
        let account = if fate == Fate::Acked { &mut airtime.delivered } else { &mut airtime.damaged };
        let has_arrived = matches!(fate, Fate::Acked | Fate::AckLost);
        let time = self.timing.on_air(frame, drawn);
        *account += if has_arrived { time.saturating_sub(ride) } else { time };
        if has_arrived && let Some(packet) = frame.packet.take() {
            count_one(&mut usage.frames_delivered[kind]);
            count_one(&mut counters.packets_delivered);
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
        self.end_ride(to, index, Answer::of(has_arrived, fate == Fate::Acked), now, reports);
        (fate == Fate::Acked).then_some(to)
    }

    /// A transmission failed: the frame is sent again, or given up. `is_rts`: its announcement failed.
    pub(super) fn fail(&mut self, index: InterfaceId, now: Instant, is_rts: bool, reports: &mut Vec<Report>) {
        let interface = &mut self.interfaces[index];
        let Some(frame) = &mut interface.head else { return };
        // The standard counts retries of frames behind an RTS apart from those of short frames and of the RTS itself.
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
    pub(super) fn finish(&mut self, index: InterfaceId, now: Instant, outcome: Outcome, reports: &mut Vec<Report>) {
        if let Some(frame) = &mut self.interfaces[index].head {
            // A frame that was acknowledged took one more than those that failed.
            let tries = frame.tries() + u32::from(outcome == Outcome::Acked);
            let (packet, to, tracked) = (frame.packet.take(), frame.to, frame.tracked);
            self.interfaces[index].head = None;
            if let Some(packet) = packet {
                reports.push(self.drop(index, to, packet, DropReason::RETRY_LIMIT));
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
