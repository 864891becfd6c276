//! Explicit loss notification (Balakrishnan & Katz 1998; R-10): duplicate acknowledgments marked
//! ELN say that a link lost the segment they ask for, so fast retransmit leaves the window alone.
//!
//! A mark speaks for the oldest hole only. If recovery continues with a hole whose duplicates have no marks, that loss
//! is congestion, and the window shrinks then. Timeouts are not touched.

use super::ack::AckFacts;
use super::{Sender, Step};
use crate::recovery::DUP_THRESH;

/// What the marks have reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossNotice {
    enabled: bool,
    /// Offset of the hole that marked duplicates named.
    hole: Option<u64>,
    /// Duplicates without a mark since the hole at `una` became the oldest.
    unmarked: u32,
    /// The present recovery takes nothing from the window.
    pub spares_window: bool,
}

impl LossNotice {
    pub(super) fn new(enabled: bool) -> Self {
        LossNotice { enabled, hole: None, unmarked: 0, spares_window: false }
    }

    /// A duplicate for the hole at `una`, or progress.
    pub(super) fn on_ack(&mut self, una: u64, facts: &AckFacts, is_marked: bool) {
        if facts.una_advanced {
            self.unmarked = 0;
        }
        if is_marked && self.enabled {
            self.hole = Some(una);
        } else if !facts.una_advanced && (facts.duplicates > 0 || facts.data_sacked) {
            self.unmarked = self.unmarked.saturating_add(1);
        }
    }

    /// Progress, with nothing else to say.
    pub(super) fn on_progress(&mut self) {
        self.unmarked = 0;
    }

    fn names(&self, una: u64) -> bool {
        self.hole == Some(una) && self.unmarked < DUP_THRESH
    }
}

impl Sender {
    /// Whether the recovery that begins is for a loss that was notified.
    pub(super) fn is_loss_notified(&self) -> bool {
        self.notice.names(self.una)
    }

    /// True in a recovery that kept the window, if its current hole was not notified.
    pub(super) fn reduce_for_unmarked_hole(&mut self, step: &mut Step) {
        if self.notice.spares_window && self.notice.unmarked >= DUP_THRESH {
            self.begin_reduction();
            step.stats.spared_recoveries -= 1;
        }
    }
}
