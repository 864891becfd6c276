//! Incipient congestion notification of one connection (GSN-6): gateway A (GSN-X1) tells the sender of
//! a loss before the link by three copies of the next ACK.
//!
//! The copies name the next byte the receiver waits for, not the lost packet, since a forged ACK for
//! that one would acknowledge everything before it (GSN-7). So the segment that the sender sends again
//! was not lost: it costs a transmission, and the receiver answers it with a duplicate ACK or D-SACK.
//! Both are counted (GSN-X7).

use crate::position::Position;
use airtcp_core::{Duration, Instant};
use core::ops::Range;

/// Copies behind the original, which itself goes first (GSN-X6).
pub(super) const COPIES: u32 = 3;

/// Distance of two notifications while the connection's round trip is not known.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// What A knows for the notifications of one connection.
#[derive(Debug, Default)]
pub(super) struct Icn {
    is_due: bool,
    sent_at: Option<Instant>,
    /// The number that the last notification named: the sender sends again from there.
    named: Option<Position>,
    /// What the sender sent again because of it, until the receiver has answered.
    unanswered: Option<Range<Position>>,
    handshake: Handshake,
}

/// The end-to-end round trip, seen from the path: from the SYN to the ACK that answers the SYN-ACK
/// (Jiang & Dovrolis, Passive Estimation of TCP Round-Trip Times, 2002).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Handshake {
    #[default]
    Unseen,
    Syn(Instant),
    /// The SYN was sent twice; which one is answered cannot be told.
    Ambiguous,
    Done(Duration),
}

impl Icn {
    /// The sender opens the connection.
    pub fn on_syn(&mut self, now: Instant) {
        self.handshake = match self.handshake {
            Handshake::Unseen => Handshake::Syn(now),
            _ => Handshake::Ambiguous,
        };
    }

    /// Any other segment of the sender.
    pub fn on_segment(&mut self, now: Instant) {
        if let Handshake::Syn(at) = self.handshake {
            self.handshake = Handshake::Done(now.saturating_since(at));
        }
    }

    /// B misses what is in a hole. `is_new` says that this hole was not asked for before; `interval` is the
    /// configured distance of two notifications, if any.
    ///
    /// GSN-U13: at most one notification per hole and per round trip.
    pub fn on_hole_hit(&mut self, now: Instant, is_new: bool, interval: Option<Duration>) {
        let rtt = match self.handshake {
            Handshake::Done(rtt) => rtt,
            _ => UNKNOWN_RTT,
        };
        let interval = interval.unwrap_or(rtt);
        let is_recent = self.sent_at.is_some_and(|at| now.saturating_since(at) < interval);
        self.is_due |= is_new && !is_recent;
    }

    /// Whether the ACK that is at hand is to be copied.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Copies of the ACK that names `number` go out.
    pub fn on_sent(&mut self, now: Instant, number: Position) {
        self.is_due = false;
        self.sent_at = Some(now);
        self.named = Some(number);
    }

    /// The sender sent `range`, all of it not for the first time; true if that is what the last notification
    /// made it do (GSN-X7).
    pub fn on_retransmission(&mut self, range: &Range<Position>) -> bool {
        let is_caused = self.named == Some(range.start);
        if is_caused {
            self.named = None;
            self.unanswered = Some(range.clone());
        }
        is_caused
    }

    /// The receiver sent a duplicate ACK or a D-SACK, with `number`; true if it answers what a notification made the
    /// sender send again (GSN-X7).
    pub fn on_duplicate(&mut self, number: Position) -> bool {
        self.unanswered.take_if(|range| range.end <= number).is_some()
    }
}
