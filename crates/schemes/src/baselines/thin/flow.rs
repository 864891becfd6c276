//! What is remembered of the acknowledgments of one flow, and what becomes of the next one.

use crate::redundant_ack;
use airtcp_core::{Instant, Packet, SeqNum, TcpFlags};

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It waits, in place of the one that does.
    Waits,
    /// It leaves now; what waits is dropped if it `replaces` that, and leaves before it if not.
    Leaves { replaces: bool },
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The highest number that was acknowledged.
    highest: Option<SeqNum>,
    /// The acknowledgment that waits.
    waiting: Option<Packet>,
    /// For how many it stands.
    stands_for: u32,
    /// The end of data that came with PSH and have not been acknowledged.
    pushed: Option<SeqNum>,
    /// The deadline that is in the element's table.
    pub timer: Option<Instant>,
}

impl Flow {
    /// Looks at a segment from the other end: what it pushes is waited for.
    pub fn note_arrival(&mut self, packet: &Packet) {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.psh() && packet.payload_len() > 0) else { return };
        let end = tcp.sequence + packet.payload_len();
        self.pushed = Some(self.pushed.filter(|pushed| !pushed.before(end)).unwrap_or(end));
    }

    /// Judges a segment that is to leave, the `every`-th of those that may wait at the latest.
    pub fn judge(&mut self, packet: &Packet, every: u32, is_on: bool) -> Verdict {
        let Some(tcp) = packet.tcp() else { return Verdict::Leaves { replaces: false } };
        let number = tcp.acknowledgment;
        let is_progress = self.highest.is_some_and(|highest| number.after(highest));
        if tcp.flags.ack() && (self.highest.is_none() || is_progress) {
            self.highest = Some(number);
        }
        // Whoever pushed data waits for the answer.
        let is_pushed = self.pushed.is_some_and(|pushed| !number.before(pushed));
        if is_pushed {
            self.pushed = None;
        }
        let replaces = self.waiting.as_ref().is_some_and(|waiting| redundant_ack::makes_redundant(packet, waiting));
        let may_wait = is_on && is_progress && !is_pushed && is_plain(packet);
        if may_wait && self.stands_for + 1 < every && (replaces || self.waiting.is_none()) {
            return Verdict::Waits;
        }
        Verdict::Leaves { replaces }
    }

    pub fn has_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// An acknowledgment waits, for one more than the one before it did.
    pub fn wait(&mut self, packet: Packet) {
        self.waiting = Some(packet);
        self.stands_for += 1;
    }

    pub fn take_waiting(&mut self) -> Option<Packet> {
        self.waiting.take()
    }

    /// Counts from the next one on.
    pub fn begin_anew(&mut self) {
        self.stands_for = 0;
    }
}

/// A bare acknowledgment with no flag but ACK, no SACK blocks and a window that is open.
fn is_plain(packet: &Packet) -> bool {
    redundant_ack::is_replaceable(packet)
        && redundant_ack::ecn(packet) == TcpFlags::default()
        && packet.tcp().is_some_and(|tcp| tcp.options.sack.is_empty())
}
