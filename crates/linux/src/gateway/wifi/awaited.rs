//! Frames whose reports are awaited: which one a report is about, and what is said of those that no report comes for.

use airtcp_core::{Duration, Instant, Outcome, Token, TxStatus};
use std::collections::VecDeque;

/// As much of a frame as tells it from others: Ethernet, IPv6 and TCP headers with all options, whose checksum stands for
/// what follows. Frames that are alike in all this are reported on in the order in which they were sent.
pub const PREFIX: usize = 192;
/// A driver that has never reported on anything is taken to report nothing after so long.
const SILENT: Duration = Duration::from_millis(100);
/// A report that has not come after so long will not: the driver lost it.
const LOST: Duration = Duration::from_secs(2);
/// Frames that are awaited at a time; what is more is reported on as sent at once.
const MOST: usize = 1 << 14;

#[derive(Debug)]
struct Frame {
    prefix: Box<[u8]>,
    token: Token,
    sent: Instant,
}

/// Frames on their way, in the order in which they were sent.
#[derive(Debug, Default)]
pub struct Awaited {
    frames: VecDeque<Frame>,
    /// The driver reports.
    is_told: bool,
}

/// The part of a frame that it is recognised by.
pub fn prefix(frame: &[u8]) -> &[u8] {
    &frame[..frame.len().min(PREFIX)]
}

impl Awaited {
    /// A frame was sent, of which `token` wants to hear. What is known of it at once, if nothing more will be.
    pub fn sent(&mut self, now: Instant, frame: &[u8], token: Token) -> Option<TxStatus> {
        if self.frames.len() >= MOST {
            return Some(status(token, Outcome::Sent, now));
        }
        self.frames.push_back(Frame { prefix: prefix(frame).into(), token, sent: now });
        None
    }

    /// A report on the frame that begins like this; `None` for a frame that nobody awaits.
    pub fn report(&mut self, now: Instant, beginning: &[u8], is_acknowledged: bool) -> Option<TxStatus> {
        self.is_told = true;
        let at = self.frames.iter().position(|frame| *frame.prefix == *prefix(beginning))?;
        let frame = self.frames.remove(at)?;
        let outcome = if is_acknowledged { Outcome::Acked } else { Outcome::RetryLimit };
        Some(status(frame.token, outcome, now))
    }

    /// A frame that no report will come for.
    pub fn overdue(&mut self, now: Instant) -> Option<TxStatus> {
        self.deadline().filter(|due| *due <= now)?;
        let frame = self.frames.pop_front()?;
        Some(status(frame.token, Outcome::Sent, now))
    }

    /// When the oldest is overdue.
    pub fn deadline(&self) -> Option<Instant> {
        let patience = if self.is_told { LOST } else { SILENT };
        self.frames.front().map(|frame| frame.sent + patience)
    }
}

/// How often a frame was tried, the kernel does not tell.
fn status(token: Token, outcome: Outcome, at: Instant) -> TxStatus {
    TxStatus { token, outcome, tries: 1, at }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn frame(first: u8) -> Vec<u8> {
        let mut frame = vec![7; 1514];
        frame[40] = first;
        frame
    }

    fn of(status: Option<TxStatus>) -> Option<(u64, Outcome)> {
        status.map(|status| (status.token.0, status.outcome))
    }

    #[test]
    fn a_report_is_about_the_frame_that_it_carries_in_whatever_order_reports_come() {
        let mut awaited = Awaited::default();
        (0..3).for_each(|n| assert!(awaited.sent(at(0), &frame(n), Token(n.into())).is_none()));
        let reports = [(2, true), (0, false), (1, true)];
        let told = reports.map(|(n, is_acknowledged)| of(awaited.report(at(1), &frame(n)[..PREFIX], is_acknowledged)));
        assert_eq!(told, [Some((2, Outcome::Acked)), Some((0, Outcome::RetryLimit)), Some((1, Outcome::Acked))]);
        assert_eq!(awaited.deadline(), None);
    }

    #[test]
    fn frames_that_are_alike_are_reported_on_in_the_order_in_which_they_were_sent() {
        let mut awaited = Awaited::default();
        (0..2).for_each(|n| assert!(awaited.sent(at(n), &frame(5), Token(n)).is_none()));
        assert_eq!(of(awaited.report(at(3), &frame(5), false)), Some((0, Outcome::RetryLimit)));
        assert_eq!(of(awaited.report(at(3), &frame(5), true)), Some((1, Outcome::Acked)));
        assert_eq!(of(awaited.report(at(3), &frame(5), true)), None, "each is reported on once");
    }

    #[test]
    fn a_driver_that_reports_nothing_is_not_waited_for_and_one_that_lost_a_report_is_for_two_seconds() {
        let mut awaited = Awaited::default();
        (0..3).for_each(|n| assert!(awaited.sent(at(0), &frame(n), Token(n.into())).is_none()));
        assert_eq!((awaited.deadline(), of(awaited.overdue(at(99)))), (Some(at(100)), None));
        assert_eq!(of(awaited.overdue(at(100))), Some((0, Outcome::Sent)));
        assert_eq!(of(awaited.report(at(101), &frame(2), true)), Some((2, Outcome::Acked)));
        assert_eq!((awaited.deadline(), of(awaited.overdue(at(1999)))), (Some(at(2000)), None));
        assert_eq!(of(awaited.overdue(at(2000))), Some((1, Outcome::Sent)));
    }

    #[test]
    fn a_report_on_a_frame_that_somebody_else_sent_is_about_nothing() {
        let mut awaited = Awaited::default();
        assert!(awaited.sent(at(0), &frame(1), Token(1)).is_none());
        assert_eq!(of(awaited.report(at(1), &frame(9), true)), None);
        assert_eq!(of(awaited.report(at(1), &[], true)), None);
        assert_eq!(of(awaited.report(at(2), &frame(1), true)), Some((1, Outcome::Acked)));
    }
}
