//! PS-Poll (IEEE 802.11-2020 9.3.1.5, 11.2.3.7): a station that heard in a beacon that something is kept for it asks for one packet after the
//! other.
//!
//! It contends for a PS-Poll of 20 bytes, at the rate of control frames. The access point answers with the first packet that it kept for
//! the station, SIFS later and without contention, and the station acknowledges that. The packet says whether more is kept
//! (MORE DATA); then the station asks again, also for what came since the beacon.
//!
//! What a model has to state:
//! - A PS-Poll goes before what waits at the station. It has `retry_limit` transmissions; a station that gave up waits for the
//!   next beacon.
//! - The answer is damaged as data frames are. The station asks again, and the access point gives a packet up after `retry_limit`
//!   transmissions.
//! - A PS-Poll counts as airtime of the station's data, the packet and its ACK as the access point's.

use super::airtime::FrameKind;
use super::bss::Bss;
use super::exchange::Timing;
use super::interface::{Fate, Frame, Load};
use super::plan::Plan;
use super::power_save::Kept;
use super::report::Report;
use super::settings::POLL_BYTES;
use crate::index::InterfaceId;
use airtcp_core::{DropReason, Duration, Instant, Outcome, TxStatus};

impl Timing {
    /// A PS-Poll whose answer is a packet of so many bytes.
    fn poll(&self, packet_bytes: u32) -> Frame {
        Frame::without_packet(
            Load::Poll,
            InterfaceId::AP,
            POLL_BYTES,
            [self.control(POLL_BYTES), self.polled(packet_bytes)],
        )
    }

    /// The answer to a PS-Poll: a packet, SIFS and the station's ACK.
    fn polled(&self, packet_bytes: u32) -> Duration {
        self.data(packet_bytes + self.overhead()) + self.sifs() + self.answer(0)
    }
}

impl Bss {
    /// The PS-Poll that a station sends next, if it asks for something.
    pub(super) fn next_poll(&mut self, station: InterfaceId) -> Option<Frame> {
        let power_save = self.power_save.as_mut().filter(|_| self.interfaces[station].asks)?;
        let bytes = power_save.kept_for(station).front()?.bytes;
        Some(self.timing.poll(bytes))
    }

    /// A beacon said that something is kept for these.
    pub(super) fn ask(&mut self, stations: &[InterfaceId]) {
        stations.iter().for_each(|station| self.interfaces[*station].asks = true);
    }

    /// The end of a PS-Poll that nobody disturbed, and of the answer if there was one.
    pub(super) fn conclude_poll(&mut self, station: InterfaceId, plan: Plan, reports: &mut Vec<Report>) {
        let interface = &mut self.interfaces[station];
        let drawn = interface.head.as_mut().and_then(|frame| frame.fate.take()).unwrap_or(Fate::Damaged);
        interface.usage.transmissions += 1;
        let time = self.timing.control(POLL_BYTES);
        let airtime = &mut interface.usage.airtime[FrameKind::Data as usize];
        *(if drawn == Fate::Damaged { &mut airtime.damaged } else { &mut airtime.delivered }) += time;
        if drawn == Fate::Damaged {
            return self.fail_poll(station, reports);
        }
        self.medium.polls += 1;
        self.interfaces[station].cw = self.interfaces[station].access.cw_min;
        self.answer_poll(station, drawn == Fate::Acked, plan, reports);
        self.end_poll(station, reports);
    }

    /// The access point sends the first packet that it kept for a station, whose ACK is heard or not.
    fn answer_poll(&mut self, station: InterfaceId, is_heard: bool, plan: Plan, reports: &mut Vec<Report>) {
        let limit = self.retry_limits[0];
        let Some(power_save) = &mut self.power_save else { return };
        let Some(kept) = power_save.kept_for(station).front_mut() else { return };
        let bytes = kept.bytes + self.timing.overhead();
        let access_point = &mut self.interfaces[InterfaceId::AP];
        let arrives = !access_point.data_loss.loses(plan.begin, bytes);
        let is_heard = arrives && is_heard;
        let kind = kept.packet.as_ref().map_or(FrameKind::Data, FrameKind::of) as usize;
        let airtime = &mut access_point.usage.airtime[kind];
        *(if is_heard { &mut airtime.delivered } else { &mut airtime.damaged }) += self.timing.polled(kept.bytes);
        access_point.usage.transmissions += 1;
        kept.tries += 1;
        if arrives && let Some(packet) = kept.packet.take() {
            access_point.usage.frames_delivered[kind] += 1;
            access_point.counters.packets_delivered += 1;
            access_point.counters.bytes_delivered += u64::from(packet.wire_len());
            access_point.asleep.packets -= 1;
            access_point.asleep.bytes -= u64::from(kept.bytes);
            reports.push(Report::Delivered { from: InterfaceId::AP, to: station, packet });
        }
        let is_given_up = !is_heard && kept.tries >= limit;
        if (is_heard || is_given_up)
            && let Some(kept) = power_save.kept_for(station).pop_front()
        {
            self.end_kept(
                station,
                kept,
                if is_heard { Outcome::Acked } else { Outcome::RetryLimit },
                plan.end,
                reports,
            );
        }
    }

    /// The access point is done with a packet that it kept.
    fn end_kept(&mut self, station: InterfaceId, kept: Kept, outcome: Outcome, at: Instant, reports: &mut Vec<Report>) {
        let access_point = &mut self.interfaces[InterfaceId::AP];
        access_point.usage.given_up += u64::from(outcome == Outcome::RetryLimit);
        if let Some(packet) = kept.packet {
            access_point.asleep.packets -= 1;
            access_point.asleep.bytes -= u64::from(kept.bytes);
            reports.push(self.drop(InterfaceId::AP, station, packet, DropReason::RETRY_LIMIT));
        }
        if let Some(tracked) = kept.tracked {
            let tries = u8::try_from(kept.tries).unwrap_or(u8::MAX);
            let status = TxStatus { token: tracked.token, outcome, tries, at };
            reports.push(Report::Status { element: tracked.element, status });
        }
        if std::mem::take(&mut self.interfaces[InterfaceId::AP].wants_room) {
            reports.push(Report::Room { from: InterfaceId::AP });
        }
    }

    /// A PS-Poll failed: it is sent again, or the station waits for the next beacon.
    pub(super) fn fail_poll(&mut self, station: InterfaceId, reports: &mut Vec<Report>) {
        let limit = self.retry_limits[0];
        let interface = &mut self.interfaces[station];
        let Some(frame) = &mut interface.head else { return };
        frame.short_tries += 1;
        if frame.short_tries < limit {
            interface.widen();
            return;
        }
        interface.cw = interface.access.cw_min;
        interface.usage.given_up += 1;
        interface.asks = false;
        self.end_poll(station, reports);
    }

    /// The station's next frame has its turn: another PS-Poll while more is kept.
    fn end_poll(&mut self, station: InterfaceId, reports: &mut Vec<Report>) {
        let is_more = self.power_save.as_mut().is_some_and(|power_save| !power_save.kept_for(station).is_empty());
        self.interfaces[station].asks &= is_more;
        self.take_next(station);
        if std::mem::take(&mut self.interfaces[station].wants_room) {
            reports.push(Report::Room { from: station });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::super::tests::{AP, ONE, TWO, at, packet, send, settings};
    use super::*;

    /// A cell whose stations sleep between beacons, 100 ms apart, and ask for each packet.
    fn cell(values: &[(&str, &str)]) -> Bss {
        let asking = [("beacon_interval", "100ms"), ("power_save", "true"), ("power_save_fetch", "ps-poll")];
        Bss::new(&settings(&[&asking, values].concat()), 2, 1, "cell")
    }

    fn keep(cell: &mut Bss, when: u64, to: InterfaceId, bytes: usize) {
        assert!(cell.send(at(when), AP, Entry::new(to, packet(bytes), None)).is_ok());
    }

    /// What arrives at stations until then, and when, in us.
    fn arrivals(cell: &mut Bss, until: u64) -> Vec<(u64, InterfaceId)> {
        let (mut all, mut reports) = (Vec::new(), Vec::new());
        while let Some(now) = cell.next_event().filter(|now| *now <= at(until)) {
            cell.advance(now, &mut reports);
            for report in reports.drain(..) {
                if let Report::Delivered { to, .. } = report {
                    all.push((now.as_nanos() / 1000, to));
                }
            }
        }
        all
    }

    /// Frames of 802.11b: a beacon, a PS-Poll, an ACK, and a packet of 1028 bytes.
    const BEACON: u64 = 192 + 800;
    const POLL: u64 = 192 + 160;
    const ACK: u64 = 304;
    const DATA: u64 = 192 + 774;

    #[test]
    fn a_poll_is_answered_sifs_later_and_the_answer_is_acknowledged() {
        let mut cell = cell(&[]);
        keep(&mut cell, 1000, ONE, 1028);
        let arrived = arrivals(&mut cell, 199_000);
        let waited = arrived[0].0 - (100_000 + BEACON) - (POLL + 10 + DATA + 10 + ACK);
        // PIFS before the beacon (SIFS and a slot after a medium that was idle: none), DIFS and a backoff after it.
        assert!(waited >= 50 && (waited - 50).is_multiple_of(20) && waited <= 50 + 31 * 20, "{waited}");
        assert_eq!((arrived.len(), arrived[0].1, cell.medium().polls), (1, ONE, 1));
        assert_eq!(cell.usage(AP).airtime[0].delivered.as_micros(), DATA + 10 + ACK);
        assert_eq!(cell.usage(ONE).airtime[0].delivered.as_micros(), POLL);
        assert_eq!((cell.held(AP), cell.backlog(AP).packets), (0, 0));
    }

    #[test]
    fn each_packet_is_asked_for_and_what_comes_meanwhile_is_fetched_too() {
        let mut cell = cell(&[]);
        [ONE, TWO, ONE, ONE].into_iter().for_each(|to| keep(&mut cell, 1000, to, 1028));
        assert_eq!((cell.held(AP), cell.backlog(AP).packets), (4, 4));
        let first = arrivals(&mut cell, 103_000);
        keep(&mut cell, 103_000, ONE, 1028);
        let arrived = [first, arrivals(&mut cell, 199_000)].concat();
        let of = |station| arrived.iter().filter(|(_, to)| *to == station).count();
        assert_eq!((of(ONE), of(TWO), cell.medium().polls, cell.medium().beacons), (4, 1, 5, 1));
        assert!(arrived.windows(2).all(|pair| pair[1].0 >= pair[0].0 + POLL + 10 + DATA + 10 + ACK));
        // What comes when all was fetched waits for the next beacon.
        keep(&mut cell, 199_000, ONE, 1028);
        assert!(arrivals(&mut cell, 200_500).is_empty());
        assert_eq!(arrivals(&mut cell, 299_000).len(), 1);
    }

    #[test]
    fn without_polls_the_access_point_sends_all_that_it_kept() {
        let mut cell = cell(&[("power_save_fetch", "all")]);
        [ONE, TWO, ONE].into_iter().for_each(|to| keep(&mut cell, 1000, to, 1028));
        assert_eq!(arrivals(&mut cell, 199_000).len(), 3);
        assert_eq!((cell.medium().polls, cell.usage(ONE).transmissions), (0, 0));
    }

    #[test]
    fn a_station_may_send_meanwhile_and_asks_first() {
        let mut cell = cell(&[]);
        keep(&mut cell, 1000, ONE, 1028);
        send(&mut cell, at(2000), ONE, AP);
        let before = arrivals(&mut cell, 100_400);
        // Two come during the beacon: the first contends before the station knows what that says.
        (0..2).for_each(|_| send(&mut cell, at(100_500), ONE, AP));
        let arrived = [before, arrivals(&mut cell, 199_000)].concat();
        assert_eq!(arrived.iter().map(|(_, to)| *to).collect::<Vec<_>>(), [AP, AP, ONE, AP]);
    }

    #[test]
    fn each_packet_arrives_once_or_is_given_up_when_polls_answers_and_acks_are_damaged() {
        let mut cell =
            cell(&[("data_loss", "40%"), ("control_loss", "40%"), ("retry_limit", "3"), ("ap_queue", "1000packets")]);
        (0..200).for_each(|_| keep(&mut cell, 1000, ONE, 1028));
        (0..200).for_each(|_| keep(&mut cell, 1000, TWO, 1028));
        let arrived = arrivals(&mut cell, 60_000_000).len() as u64;
        let dropped = cell.counters(AP).dropped.get(DropReason::RETRY_LIMIT);
        assert_eq!((arrived + dropped, cell.held(AP), cell.backlog(AP).packets), (400, 0, 0));
        assert!(dropped > 20 && arrived > 200, "{arrived} {dropped}");
    }
}
