//! B's suppression of duplicate ACKs of one flow (GSN-11): as many as the O3_counter of a repaired hole
//! says, and not one more (GSN-13).
//!
//! Where the receiver is near, its duplicate ACKs come before the repair. They are held while the NACK is
//! pending, dropped when the repair passes, and let go when it does not come in time (GSN-U11). Those that
//! passed before the NACK are among the O3_counter's; as many fewer are suppressed.

use crate::papers::gsnoop::duplicate_ack::{AckKind, AckWatch};
use crate::position::Position;
use crate::tally::Tally;
use airtcp_core::Packet;
use alloc::collections::VecDeque;

/// Repaired holes whose duplicate ACKs are still expected.
const MAX_BUDGETS: usize = 256;
/// Memory of an entry beside its packet.
const ENTRY: u64 = size_of::<Packet>() as u64;

/// What the receiver's ACKs of one flow are compared with.
#[derive(Debug, Default)]
pub(super) struct Suppressor {
    watch: AckWatch,
    /// Duplicates of the latest number that were passed on.
    passed: u32,
    budgets: VecDeque<Budget>,
    /// Duplicates of the latest number, which names a hole whose repair is awaited.
    held: VecDeque<Packet>,
    pub tally: Tally,
}

/// Duplicate ACKs to drop for a repaired hole.
#[derive(Debug)]
struct Budget {
    number: Position,
    left: u32,
}

/// What is to be done with an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Forward it. It acknowledges more than before: whatever is held is out of date.
    Progress,
    /// Forward it.
    Pass,
    /// Drop it.
    Suppress,
    /// Keep it until the repair has come or is given up.
    Hold,
}

/// Where a flow stands when an ACK of its receiver comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// One past the last position that was sent to the receiver.
    pub high: Position,
    /// The lowest missing position, if its repair is awaited.
    pub awaited: Option<Position>,
    /// How many ACKs may be held.
    pub room: usize,
}

impl Suppressor {
    /// Judges an ACK for everything before `number`.
    pub fn judge(&mut self, ack: &Packet, number: Position, standing: &Standing) -> Verdict {
        match self.watch.note(ack, number, standing.high) {
            AckKind::Other => return Verdict::Pass,
            AckKind::Progress => {
                self.passed = 0;
                self.budgets.retain(|budget| budget.number >= number);
                return Verdict::Progress;
            }
            AckKind::Duplicate => {}
        }
        if let Some(budget) = self.budgets.iter_mut().find(|budget| budget.number == number && budget.left > 0) {
            budget.left -= 1; // GSN-11
            return Verdict::Suppress;
        }
        if standing.awaited == Some(number) && self.held.len() < standing.room {
            return Verdict::Hold; // GSN-U11
        }
        self.passed = self.passed.saturating_add(1); // GSN-13, GSN-15
        Verdict::Pass
    }

    /// Keeps an ACK that was judged so.
    pub fn hold(&mut self, ack: Packet) {
        self.tally.add(&ack, ENTRY);
        self.held.push_back(ack);
    }

    /// The hole at `number` is repaired: how many of those held are to be dropped, the first of them. The rest of
    /// the `duplicates` is suppressed when it comes.
    pub fn on_repaired(&mut self, number: Position, duplicates: u32) -> usize {
        let is_current = self.watch.number() == Some(number);
        let left = if is_current { duplicates.saturating_sub(self.passed) } else { duplicates };
        let held = if is_current { self.held.len() } else { 0 };
        let dropped = held.min(left as usize);
        let left = left - dropped as u32;
        if left > 0 {
            self.budgets.push_back(Budget { number, left });
            if self.budgets.len() > MAX_BUDGETS {
                self.budgets.pop_front();
            }
        }
        dropped
    }

    /// Whether what is held waits for the hole at `number`.
    pub fn holds_for(&self, number: Position) -> bool {
        !self.held.is_empty() && self.watch.number() == Some(number)
    }

    /// The oldest ACK that is held, which then is not any more.
    pub fn pop_held(&mut self) -> Option<Packet> {
        let ack = self.held.pop_front()?;
        self.tally.remove(&ack, ENTRY);
        Some(ack)
    }
}
