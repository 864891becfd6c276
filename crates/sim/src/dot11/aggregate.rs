//! Aggregates (A-MPDU) on the air: how they fill, which of their frames arrive, what the receiver answers.
//!
//! An interface sends the first frames without an acknowledgment that it has for one receiver, in one transmission. Whose turn
//! it is, the packet says that was given to the interface first. The aggregate fills with what is there when it begins.
//! What a model has to state:
//! - Each frame is damaged on its own (`data_loss`, by its bytes). Preamble and delimiters never are. If no frame arrives, there
//!   is no answer.
//! - An answer that comes counts as a success, whatever it acknowledges: the window begins anew. Without an answer the exchange
//!   failed and the window doubles; after `retry_limit` failures in a row it begins anew.
//! - Without an answer all frames are sent again, those that arrived as well: the sender does not ask for a block ACK first.
//! - A frame is given up after `retry_limit` transmissions of its own, failed RTS included. Then the receiver is told by a
//!   BAR, before anything else that the interface has. A BAR has `retry_limit` transmissions, too (see `agreement`).
//! - The time of an aggregate counts for its frames by their bytes.

use super::agreement::{Aggregate, Mpdu};
use super::airtime::Airtime;
use super::bss::Bss;
use super::interface::{Fate, Interface, Load};
use super::plan::{Plan, Purpose};
use super::report::Report;
use super::ride::Answer;
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant, Packet};

impl Bss {
    /// The aggregates of those who send next get what else waits.
    pub(super) fn fill_winners(&mut self) {
        if !self.timing.aggregates() {
            return;
        }
        for place in 0..self.winners.len() {
            let index = self.winners[place];
            let txop = self.interfaces[index].access.txop;
            self.fill(index, Some(txop).filter(|txop| !txop.is_zero()));
        }
    }

    /// The same for one, whose exchange may take so long.
    pub(super) fn fill(&mut self, index: InterfaceId, time: Option<Duration>) {
        let Interface { head: Some(frame), agreements: Some(agreements), .. } = &mut self.interfaces[index] else {
            return;
        };
        if let Load::Aggregate(mut aggregate) = frame.load {
            agreements.of(frame.to).extend(&mut aggregate, self.timing.limits(time), self.timing.overhead());
            self.timing.set_aggregate(frame, aggregate);
        }
        let (to, load) = (frame.to, frame.load);
        let riding = if load == Load::Request { 0 } else { self.board(to, index) };
        let answer = self.timing.control(self.answer_bytes(to, index, load) + riding);
        if let Some(frame) = &mut self.interfaces[index].head {
            frame.answer = answer;
        }
    }

    /// A packet for `to` came to an interface. If that sends next, and to the same, it sends it along, or says that it will. The
    /// same if what changed is what rides in the answer of `to`.
    pub(super) fn lengthen(&mut self, now: Instant, index: InterfaceId, to: InterfaceId) {
        // A frame alone gets no longer, but says that more will come (HACK).
        if !self.timing.aggregates() && !self.has_riders {
            return;
        }
        let Some(plan) = self.plan.filter(|plan| plan.begin >= now && plan.purpose == Purpose::Exchange) else {
            return;
        };
        let head = self.interfaces[index].head.as_ref();
        let is_for = head.is_some_and(|frame| frame.to == to && frame.load != Load::Request);
        if is_for && self.winners.contains(&index) {
            self.set_plan(plan.begin);
        }
    }

    /// An aggregate or a BAR met others.
    pub(super) fn collide_aggregate(
        &mut self,
        index: InterfaceId,
        opening: Duration,
        now: Instant,
        reports: &mut Vec<Report>,
    ) {
        match self.interfaces[index].aggregate() {
            Some((to, Aggregate { frames, .. })) => {
                self.count(frames);
                charge(&mut self.interfaces[index], to, frames, opening, |airtime, _| &mut airtime.collided);
                self.miss(index);
                self.hear_answer(to, index, false, now, reports);
                self.end_ride(to, index, Answer::None, now, reports);
                self.finish_aggregate(index, reports);
            }
            None => {
                self.medium.block_ack_requests += 1;
                self.interfaces[index].usage.airtime[0].collided += opening;
                self.fail_request(index, reports);
            }
        }
    }

    /// The end of an exchange that nobody disturbed; whose answer its sender heard.
    pub(super) fn conclude_aggregate(
        &mut self,
        index: InterfaceId,
        aggregate: Aggregate,
        plan: Plan,
        reports: &mut Vec<Report>,
    ) -> Option<InterfaceId> {
        let frames = aggregate.frames;
        let to = self.interfaces[index].head.as_ref().map(|frame| frame.to)?;
        let interface = &mut self.interfaces[index];
        let drawn = interface.head.as_mut().and_then(|frame| frame.fate.take()).unwrap_or(Fate::Damaged);
        let is_sent = drawn != Fate::NoCts;
        if is_sent {
            self.receive(index, to, aggregate, plan.begin, reports);
        }
        self.come = Aggregate::default();
        let interface = &mut self.interfaces[index];
        let is_answered = is_sent && has_any(interface, to, frames);
        let is_heard = is_answered && drawn == Fate::Acked;
        let fate = if is_sent && !is_answered { Fate::Damaged } else { drawn };
        let time = interface.head.as_ref().map_or(Duration::ZERO, |frame| self.timing.on_air(frame, fate));
        let time = if is_answered { time.saturating_sub(self.ride_time(to, index)) } else { time };
        let interface = &mut self.interfaces[index];
        interface.usage.transmissions += 1;
        charge(interface, to, frames, time, |airtime, mpdu| match is_heard && mpdu.arrives {
            true => &mut airtime.delivered,
            false => &mut airtime.damaged,
        });
        self.count(if is_sent { frames } else { 0 });
        if is_heard {
            self.succeed(index)
        } else {
            self.miss(index)
        }
        self.hear_answer(to, index, is_heard, plan.end, reports);
        self.end_ride(to, index, Answer::of(is_answered, is_heard), plan.end, reports);
        self.finish_aggregate(index, reports);
        is_heard.then_some(to)
    }

    /// The end of a BAR that nobody disturbed; whose answer its sender heard.
    pub(super) fn conclude_request(&mut self, index: InterfaceId, reports: &mut Vec<Report>) -> Option<InterfaceId> {
        let to = self.interfaces[index].head.as_ref().map(|frame| frame.to)?;
        let is_silent = self.interfaces[to].is_silent;
        let interface = &mut self.interfaces[index];
        let drawn = interface.head.as_mut().and_then(|frame| frame.fate.take()).unwrap_or(Fate::Damaged);
        let fate = if is_silent && drawn != Fate::NoCts { Fate::Damaged } else { drawn };
        let time = interface.head.as_ref().map_or(Duration::ZERO, |frame| self.timing.on_air(frame, fate));
        let is_heard = fate == Fate::Acked;
        self.medium.block_ack_requests += 1;
        interface.usage.transmissions += 1;
        let airtime = &mut interface.usage.airtime[0];
        *(if is_heard { &mut airtime.delivered } else { &mut airtime.damaged }) += time;
        if matches!(fate, Fate::Acked | Fate::AckLost) {
            self.pass(index, to, reports);
        }
        if !is_heard {
            self.fail_request(index, reports);
            return None;
        }
        self.succeed(index);
        self.end_request(index, to);
        self.finish_aggregate(index, reports);
        Some(to)
    }

    /// A BAR failed. If it is given up the receiver's timer has its effect.
    fn fail_request(&mut self, index: InterfaceId, reports: &mut Vec<Report>) {
        self.miss(index);
        let limit = self.retry_limits[0];
        let Interface { head: Some(frame), agreements: Some(agreements), .. } = &mut self.interfaces[index] else {
            return;
        };
        let to = frame.to;
        agreements.of(to).request_tries += 1;
        if agreements.of(to).request_tries >= limit {
            self.pass(index, to, reports);
            self.end_request(index, to);
        }
        self.finish_aggregate(index, reports);
    }

    fn end_request(&mut self, index: InterfaceId, to: InterfaceId) {
        if let Some(agreements) = &mut self.interfaces[index].agreements {
            let agreement = agreements.of(to);
            (agreement.must_request, agreement.request_tries) = (false, 0);
        }
    }

    /// The receiver waits no longer for what its sender gave up.
    fn pass(&mut self, index: InterfaceId, to: InterfaceId, reports: &mut Vec<Report>) {
        let mut up = Vec::new();
        if let Some(agreements) = &mut self.interfaces[index].agreements {
            let agreement = agreements.of(to);
            let start = agreement.start();
            agreement.recipient.move_to(start, &mut up);
        }
        self.hand_up(index, to, up, reports);
    }

    pub(super) fn hand_up(&mut self, from: InterfaceId, to: InterfaceId, up: Vec<Packet>, reports: &mut Vec<Report>) {
        let counters = &mut self.interfaces[from].counters;
        for packet in up {
            counters.packets_delivered += 1;
            counters.bytes_delivered += u64::from(packet.wire_len());
            reports.push(Report::Delivered { from, to, packet });
        }
    }

    /// So many frames were sent together.
    fn count(&mut self, frames: usize) {
        self.medium.aggregates += u64::from(frames > 0);
        self.medium.aggregated_frames += frames as u64;
    }

    /// An answer was heard.
    fn succeed(&mut self, index: InterfaceId) {
        let interface = &mut self.interfaces[index];
        interface.failures = 0;
        interface.cw = interface.access.cw_min;
    }

    /// No answer was heard.
    fn miss(&mut self, index: InterfaceId) {
        let limit = self.retry_limits[0];
        let interface = &mut self.interfaces[index];
        interface.failures += 1;
        if interface.failures < limit {
            interface.widen();
        } else {
            self.succeed(index);
        }
    }

    /// The next frame's turn comes.
    fn finish_aggregate(&mut self, index: InterfaceId, reports: &mut Vec<Report>) {
        self.take_next(index);
        if std::mem::take(&mut self.interfaces[index].wants_room) {
            reports.push(Report::Room { from: index });
        }
    }
}

/// Whether any of the first frames for `to` arrives.
fn has_any(interface: &mut Interface, to: InterfaceId, frames: usize) -> bool {
    let Interface { agreements: Some(agreements), .. } = interface else { return false };
    agreements.of(to).outstanding.iter().take(frames).any(|mpdu| mpdu.arrives)
}

/// Counts `time` for the first frames for `to`, by their bytes.
fn charge(
    interface: &mut Interface,
    to: InterfaceId,
    frames: usize,
    time: Duration,
    account: impl for<'a> Fn(&'a mut Airtime, &Mpdu) -> &'a mut Duration,
) {
    let Interface { agreements: Some(agreements), usage, .. } = interface else { return };
    let agreement = agreements.of(to);
    let sent = || agreement.outstanding.iter().take(frames);
    let total: u64 = sent().map(|mpdu| u64::from(mpdu.bytes)).sum();
    let (mut bytes, mut before) = (0, 0);
    for mpdu in sent() {
        bytes += u64::from(mpdu.bytes);
        let until = time.as_nanos() * bytes / total;
        *account(&mut usage.airtime[mpdu.kind as usize], mpdu) += Duration::from_nanos(until - before);
        before = until;
    }
}
