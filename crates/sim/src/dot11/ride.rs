//! When TCP acknowledgments ride in answers (HACK; the rules are in `riders`).

use super::airtime::FrameKind;
use super::bss::Bss;
use super::entry::Entry;
use super::interface::{Interface, Load};
use super::report::Report;
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant, Outcome, TxStatus};

/// What became of the answer to a frame or an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing arrived that could be answered.
    None,
    /// It was sent and damaged.
    Lost,
    /// It was heard.
    Heard,
}

impl Answer {
    /// Of something that arrived or not, whose answer was heard or not.
    pub fn of(has_arrived: bool, is_heard: bool) -> Self {
        match (has_arrived, is_heard) {
            (false, _) => Answer::None,
            (true, false) => Answer::Lost,
            (true, true) => Answer::Heard,
        }
    }
}

impl Bss {
    /// Keeps a packet for the next answer to its receiver, or gives it back: it contends, behind all that waited for one.
    pub(super) fn keep_for_answer(&mut self, now: Instant, from: InterfaceId, entry: Entry) -> Option<Entry> {
        let to = entry.to;
        let Some(riders) = &mut self.interfaces[from].riders else { return Some(entry) };
        let length = riders.take_in(&entry.packet);
        let waiting = riders.with.entry(to).or_default();
        match length.filter(|_| waiting.expects_more) {
            Some(length) => {
                riders.backlog.packets += 1;
                riders.backlog.bytes += u64::from(entry.bytes);
                waiting.entries.push_back((entry, length));
                self.lengthen(now, to, from);
                None
            }
            None => {
                // What rides in an answer whose exchange has not begun does not yet ride.
                if self.plan.is_some_and(|plan| plan.begin >= now) {
                    waiting.boarded = 0;
                }
                if self.let_contend(from, to) {
                    self.lengthen(now, to, from);
                }
                Some(entry)
            }
        }
    }

    /// What waited at an interface for an answer to `to` contends, but for what rides in one already. Whether anything did.
    fn let_contend(&mut self, index: InterfaceId, to: InterfaceId) -> bool {
        let Interface { riders: Some(riders), .. } = &mut self.interfaces[index] else { return false };
        let boarded = riders.with.get(&to).map_or(0, |waiting| waiting.boarded);
        let mut left = Vec::new();
        while let Some(entry) = riders.pop(to, boarded) {
            left.push(entry);
        }
        let is_any = !left.is_empty();
        left.into_iter().for_each(|entry| self.interfaces[index].push(entry));
        is_any
    }

    /// All that waits for an answer of `receiver` to `sender`, which is about to send a frame, rides in it. Its bytes.
    pub(super) fn board(&mut self, receiver: InterfaceId, sender: InterfaceId) -> u32 {
        if self.interfaces[receiver].riders.is_none() {
            return 0;
        }
        let says_more = self.has_more(sender, receiver);
        let Interface { riders: Some(riders), .. } = &mut self.interfaces[receiver] else { return 0 };
        let waiting = riders.with.entry(sender).or_default();
        waiting.says_more = says_more;
        waiting.boarded = waiting.entries.len();
        waiting.entries.iter().map(|(_, length)| length).sum()
    }

    /// Whether a sender has more for `receiver` than what it sends next.
    fn has_more(&self, sender: InterfaceId, receiver: InterfaceId) -> bool {
        let interface = &self.interfaces[sender];
        match (&interface.agreements, interface.aggregate()) {
            (Some(agreements), aggregate) => {
                let sent = aggregate.filter(|(to, _)| *to == receiver).map_or(0, |(_, aggregate)| aggregate.frames);
                agreements.waiting_for(receiver) > sent
            }
            (None, _) => interface.waits_for(receiver),
        }
    }

    /// The exchange is over: something of `sender` came to `receiver` or not, whose answer was heard or not.
    pub(super) fn end_ride(
        &mut self,
        receiver: InterfaceId,
        sender: InterfaceId,
        answer: Answer,
        now: Instant,
        reports: &mut Vec<Report>,
    ) {
        if !self.has_riders {
            return;
        }
        let (has_arrived, is_heard) = (answer != Answer::None, answer == Answer::Heard);
        let Interface { riders: Some(riders), .. } = &mut self.interfaces[receiver] else { return };
        let waiting = riders.with.entry(sender).or_default();
        let boarded = std::mem::take(&mut waiting.boarded);
        if has_arrived {
            waiting.expects_more = waiting.says_more;
        }
        let bytes: u32 = waiting.entries.iter().take(boarded).map(|(_, length)| length).sum();
        let expects_more = waiting.expects_more;
        if has_arrived && boarded > 0 {
            self.count_ride(receiver, bytes, is_heard);
        }
        if is_heard {
            for _ in 0..boarded {
                self.arrive(receiver, sender, now, reports);
            }
        }
        if (!expects_more || !self.has_any(sender, receiver)) && self.let_contend(receiver, sender) {
            self.offered_late.push(receiver);
        }
        if boarded > 0 && is_heard && std::mem::take(&mut self.interfaces[receiver].wants_room) {
            reports.push(Report::Room { from: receiver });
        }
    }

    /// The airtime of a ride is that of acknowledgments.
    fn count_ride(&mut self, receiver: InterfaceId, bytes: u32, is_heard: bool) {
        let time = self.timing.ride(bytes);
        let airtime = &mut self.interfaces[receiver].usage.airtime[FrameKind::TcpAck as usize];
        *(if is_heard { &mut airtime.delivered } else { &mut airtime.damaged }) += time;
    }

    /// The first that waits at `receiver` has ridden to `sender`.
    fn arrive(&mut self, receiver: InterfaceId, sender: InterfaceId, now: Instant, reports: &mut Vec<Report>) {
        let interface = &mut self.interfaces[receiver];
        let Some(entry) = interface.riders.as_mut().and_then(|riders| riders.pop(sender, 0)) else { return };
        let Entry { packet, tracked, .. } = entry;
        interface.counters.packets_delivered += 1;
        interface.counters.bytes_delivered += u64::from(packet.wire_len());
        self.medium.riders += 1;
        reports.push(Report::Delivered { from: receiver, to: sender, packet });
        if let Some(tracked) = tracked {
            let status = TxStatus { token: tracked.token, outcome: Outcome::Acked, tries: 1, at: now };
            reports.push(Report::Status { element: tracked.element, status });
        }
    }

    fn has_any(&self, sender: InterfaceId, receiver: InterfaceId) -> bool {
        let interface = &self.interfaces[sender];
        let is_at_head = interface.head.as_ref().is_some_and(|frame| frame.to == receiver && frame.packet.is_some());
        match &interface.agreements {
            Some(agreements) => agreements.waiting_for(receiver) > 0,
            None => is_at_head || interface.waits_for(receiver),
        }
    }

    /// The answers to those who send next get what rides in them, in a cell that does not aggregate.
    pub(super) fn board_winners(&mut self) {
        if !self.has_riders || self.timing.aggregates() {
            return;
        }
        for place in 0..self.winners.len() {
            let index = self.winners[place];
            let Some((to, Load::Packet)) = self.interfaces[index].head.as_ref().map(|frame| (frame.to, frame.load))
            else {
                continue;
            };
            let bytes = self.board(to, index);
            let answer = self.timing.answer(bytes);
            if let Some(frame) = &mut self.interfaces[index].head {
                frame.answer = answer;
            }
        }
    }

    /// How much longer an answer is for its riders.
    pub(super) fn ride_time(&self, receiver: InterfaceId, sender: InterfaceId) -> Duration {
        if !self.has_riders {
            return Duration::ZERO;
        }
        let waiting = self.interfaces[receiver].riders.as_ref().and_then(|riders| riders.with.get(&sender));
        waiting.map_or(Duration::ZERO, |waiting| {
            self.timing.ride(waiting.entries.iter().take(waiting.boarded).map(|(_, length)| length).sum())
        })
    }
}
