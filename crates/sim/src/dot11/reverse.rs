//! DCF+ (Wu, Peng, Long, Cheng & Ma, *Performance of Reliable Transport Protocol over IEEE 802.11 Wireless LAN: Analysis and
//! Enhancement*, INFOCOM 2002; R-18): who received a frame sends one back, without contention.
//!
//! ```text
//! sender    data             CTS               ACK
//! receiver        SIFS  ACK       SIFS  data
//! ```
//!
//! The ACK says that a frame follows, as an RTS does, and keeps others away; its sender's turn comes SIFS after the CTS.
//! What a model has to state:
//! - A frame that comes while the ACK is on the air is taken for one that was there before.
//! - One frame goes back, and its ACK brings no other.
//! - It counts as a transmission of its sender, which retries it and doubles or resets its window as after any other; its
//!   backoff goes on where it was. A lost CTS counts as a lost CTS after RTS does.

use super::bss::Bss;
use super::exchange::draw_fate;
use super::plan::{Plan, Purpose};
use super::report::Report;
use super::settings::ReverseFrame;
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant};

impl Bss {
    /// Interface `from` has just acknowledged a frame of `to`: the rest of the exchange, if it has one for it.
    pub(super) fn begin_reverse(&mut self, from: InterfaceId, to: InterfaceId, now: Instant) -> Option<Plan> {
        if self.reverse_frame == ReverseFrame::None || self.interfaces[to].is_silent {
            return None;
        }
        let interface = &mut self.interfaces[from];
        if self.reverse_frame == ReverseFrame::Any
            && let Some(entry) = interface.bring_forward(to)
        {
            interface.head = Some(self.timing.frame(entry));
        }
        let frame = interface.head.as_mut().filter(|frame| frame.to == to)?;
        frame.is_reverse = true;
        // What was drawn for its turn in the contention is void.
        frame.fate = None;
        let fate = draw_fate(interface, now);
        let length = interface.head.as_ref().map_or(Duration::ZERO, |frame| self.timing.exchange(frame, fate));
        Some(Plan { begin: now, end: now + length, purpose: Purpose::Reverse { from } })
    }

    /// The end of an exchange that went on with a frame from `from`.
    pub(super) fn end_reverse(&mut self, from: InterfaceId, plan: Plan, reports: &mut Vec<Report>) {
        self.medium.reverse_frames += 1;
        self.medium.busy += plan.end.saturating_since(plan.begin);
        self.idle_since = plan.end;
        self.eifs_extra = Duration::ZERO;
        self.contenders.resume(plan.end);
        self.conclude(from, plan, reports);
        // If it failed it contends.
        if let Some(frame) = &mut self.interfaces[from].head {
            frame.is_reverse = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{AP, ONE, TWO, at, packet, run, send, settings};
    use super::super::{Bss, Entry, Report};
    use super::*;
    use airtcp_core::Outcome;

    /// Data of 1028 bytes: 192 + 774 us and, SIFS later, the ACK of 304.
    const FORWARD: u64 = 192 + 774 + 10 + 304;
    /// 64 bytes with their header back: CTS and frame SIFS after what is before them, and the ACK.
    const BACK: u64 = 10 + 304 + 10 + (192 + 73) + 10 + 304;

    fn cell(stations: usize, values: &[(&str, &str)]) -> Bss {
        Bss::new(&settings(values), stations, 1, "cell")
    }

    fn queue_at_ap(cell: &mut Bss, when: u64, to: InterfaceId) {
        assert!(cell.send(at(when), AP, Entry::new(to, packet(64), None)).is_ok());
    }

    /// When packets arrived, and where.
    fn delivered(cell: &mut Bss) -> Vec<(u64, InterfaceId)> {
        let reports = run(cell).into_iter();
        let arrivals = reports.filter_map(|(when, report)| match report {
            Report::Delivered { to, .. } => Some((when.as_nanos() / 1000, to)),
            _ => None,
        });
        arrivals.collect()
    }

    #[test]
    fn a_frame_back_takes_cts_frame_and_ack_a_sifs_apart() {
        let mut cell = cell(2, &[("reverse_frame", "head")]);
        send(&mut cell, at(1000), ONE, AP);
        queue_at_ap(&mut cell, 1500, ONE);
        send(&mut cell, at(1500), TWO, AP);
        let arrived = delivered(&mut cell);
        let end = 1000 + FORWARD + BACK;
        assert_eq!(arrived[..2], [(1000 + FORWARD, AP), (end, ONE)]);
        // Others count down only then.
        let waited = arrived[2].0 - end - FORWARD - 50;
        assert!(waited.is_multiple_of(20) && waited / 20 <= 31, "{waited}");
        assert_eq!((cell.medium().reverse_frames, cell.medium().exchanges), (1, 2));
        assert_eq!(cell.medium().busy, Duration::from_micros(2 * FORWARD + BACK));
        let usage = cell.usage(AP);
        assert_eq!((usage.transmissions, usage.airtime[0].delivered), (1, Duration::from_micros(304 + 265 + 304)));
    }

    #[test]
    fn plain_dcf_sends_nothing_back() {
        let mut cell = cell(1, &[]);
        send(&mut cell, at(1000), ONE, AP);
        queue_at_ap(&mut cell, 1500, ONE);
        let arrived = delivered(&mut cell);
        assert!(arrived[1].0 >= 1000 + FORWARD + 50 + 192 + 73 + 314, "{arrived:?}");
        assert_eq!(cell.medium().reverse_frames, 0);
    }

    #[test]
    fn the_frame_at_the_head_or_the_first_for_the_sender() {
        for (which, first) in [("head", None), ("any", Some((1000 + FORWARD + BACK, ONE)))] {
            let mut cell = cell(2, &[("reverse_frame", which)]);
            send(&mut cell, at(1000), ONE, AP);
            for to in [TWO, ONE, TWO] {
                queue_at_ap(&mut cell, 1500, to);
            }
            let backlog = cell.backlog(AP);
            let arrived = delivered(&mut cell);
            assert_eq!(Some(arrived[1]).filter(|(_, to)| *to == ONE), first, "{which}");
            assert_eq!(cell.medium().reverse_frames, u64::from(first.is_some()));
            assert_eq!((arrived.len(), backlog.packets, backlog.bytes), (4, 2, 128));
            assert_eq!((cell.backlog(AP).packets, cell.backlog(AP).bytes, cell.held(AP)), (0, 0, 0));
        }
    }

    #[test]
    fn a_station_answers_the_access_point_too_and_one_frame_goes_back_at_a_time() {
        let mut cell = cell(1, &[("reverse_frame", "any")]);
        queue_at_ap(&mut cell, 1000, ONE);
        queue_at_ap(&mut cell, 1000, ONE);
        send(&mut cell, at(1100), ONE, AP);
        let first = 1000 + (192 + 73) + 10 + 304;
        let back = 10 + 304 + 10 + FORWARD;
        let arrived = delivered(&mut cell);
        assert_eq!(arrived[..2], [(first, ONE), (first + back, AP)]);
        assert!(arrived[2].0 >= first + back + 50, "the next frame contends: {arrived:?}");
        assert_eq!(cell.medium().reverse_frames, 1);
    }

    #[test]
    fn a_sender_that_leaves_frames_unacknowledged_gets_none_back() {
        let mut cell = cell(1, &[("reverse_frame", "any")]);
        cell.set_silent(ONE, true);
        send(&mut cell, at(1000), ONE, AP);
        queue_at_ap(&mut cell, 1500, ONE);
        delivered(&mut cell);
        assert_eq!(cell.medium().reverse_frames, 0);
    }

    #[test]
    fn what_fails_on_the_way_back_contends_and_is_given_up_after_its_tries() {
        // Half of all CTS, ACK and frames are lost; each packet arrives once or is given up.
        let lossy = [("data_loss", "50%"), ("control_loss", "50%"), ("retry_limit", "3"), ("reverse_frame", "any")];
        let mut cell = cell(1, &lossy);
        let (mut reports, mut ends) = (Vec::new(), Vec::new());
        for round in 0..200 {
            send(&mut cell, at(round * 100_000), ONE, AP);
            queue_at_ap(&mut cell, round * 100_000 + 500, ONE);
            while let Some(now) = cell.next_event() {
                cell.advance(now, &mut reports);
            }
            assert_eq!((cell.held(AP), cell.held(ONE)), (0, 0));
            ends.append(&mut reports);
        }
        let arrived = ends.iter().filter(|end| matches!(end, Report::Delivered { .. })).count();
        let dropped = ends.iter().filter(|end| matches!(end, Report::Dropped { .. })).count();
        assert_eq!(arrived + dropped, 400);
        let told = |outcome| {
            ends.iter().filter(|end| matches!(end, Report::Status { status, .. } if status.outcome == outcome)).count()
        };
        assert_eq!(told(Outcome::Acked) + told(Outcome::RetryLimit), 200);
        assert!(cell.medium().reverse_frames > 50 && dropped > 20 && cell.usage(AP).given_up > 10);
    }
}
