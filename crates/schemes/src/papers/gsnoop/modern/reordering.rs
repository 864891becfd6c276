//! How much later than its successors a packet may come on this link without being lost: learned from packets that
//! filled their gap sooner than a repair could have come.

use crate::position::Position;
use crate::seq_map::SeqMap;
use airtcp_core::{Duration, Instant};
use core::ops::Range;

/// Packets in order after which the patience learned from reordering is halved.
const CALM_PACKETS: u32 = 2048;

/// What one flow taught about reordering.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    patience: Duration,
    calm: u32,
    /// Ranges asked for in vain, since they were only late: their repair is a duplicate.
    vain: SeqMap<Instant>,
}

impl Reordering {
    /// How long a gap is left alone before it is asked for.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// A packet came `lateness` after its successor.
    pub fn on_late(&mut self, lateness: Duration, hold: Duration) {
        self.calm = 0;
        self.patience = self.patience.max(lateness + lateness / 4).min(hold / 2);
    }

    pub fn on_in_order(&mut self) {
        self.calm += 1;
        if self.calm >= CALM_PACKETS {
            self.calm = 0;
            self.patience = self.patience / 2;
        }
    }

    /// `range` was only late, but had been asked for: its repair is expected until then.
    pub fn expect_vain_repair(&mut self, range: Range<Position>, until: Instant) {
        self.vain.insert(range, until);
    }

    /// Whether `range` is such a repair; the next one like it is not.
    pub fn take_vain_repair(&mut self, now: Instant, range: &Range<Position>) -> bool {
        self.vain.retain(|_, until| *until > now);
        let is_vain = self.vain.iter().any(|(asked, _)| asked.start <= range.start && range.end <= asked.end);
        if is_vain {
            self.vain.take_out(range.clone());
        }
        is_vain
    }
}
