//! How much the link loses, and in how long bursts: counted by the other end, of what was sent of late.

use crate::selective_repeat::Arrived;
use airtcp_core::SeqNum;
use alloc::collections::VecDeque;

/// Transmissions that are counted together, at least.
const EPOCH: u32 = 128;
/// Epochs that count.
const EPOCHS: usize = 16;

/// Of so many transmissions, how many were lost, and how many times some in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loss {
    pub sent: u64,
    pub lost: u64,
    pub gaps: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Where the present epoch began.
    mark: Option<(SeqNum, Arrived)>,
    epochs: VecDeque<Loss>,
    /// The present epoch so far.
    present: Loss,
}

impl Losses {
    /// Of all transmissions up to `newest` the other end has so many. True if that ended an epoch.
    pub fn add(&mut self, newest: SeqNum, arrived: Arrived) -> bool {
        let (from, before) = *self.mark.get_or_insert((newest, arrived));
        let Ok(sent) = u32::try_from(newest.distance_from(from)) else { return false };
        let came = arrived.frames.wrapping_sub(before.frames);
        let lost = u64::from(sent.saturating_sub(came));
        let gaps = u64::from(arrived.gaps.wrapping_sub(before.gaps)).clamp(lost.min(1), lost);
        self.present = Loss { sent: sent.into(), lost, gaps };
        if sent < EPOCH {
            return false;
        }
        if self.epochs.len() == EPOCHS {
            self.epochs.pop_front();
        }
        self.epochs.push_back(core::mem::take(&mut self.present));
        self.mark = Some((newest, arrived));
        true
    }

    /// What is sent from now on is not counted, until the next [`add`](Losses::add).
    pub fn pause(&mut self) {
        (self.mark, self.present) = (None, Loss::default());
    }

    /// True once as much was counted as ever is.
    pub fn is_settled(&self) -> bool {
        self.epochs.len() == EPOCHS
    }

    /// True if that much was counted, and all of it came.
    pub fn is_clean(&self) -> bool {
        self.is_settled() && self.epochs.iter().all(|epoch| epoch.lost == 0)
    }

    /// Of late, with what is not a whole epoch yet.
    pub fn so_far(&self) -> Loss {
        self.of_late().and(&self.present)
    }

    /// Of late.
    pub fn of_late(&self) -> Loss {
        self.epochs.iter().fold(Loss::default(), |sum, epoch| sum.and(epoch))
    }
}

impl Loss {
    fn and(self, other: &Loss) -> Loss {
        Loss { sent: self.sent + other.sent, lost: self.lost + other.lost, gaps: self.gaps + other.gaps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: SeqNum = SeqNum(u32::MAX - 100);

    fn arrived(frames: u32, gaps: u32) -> Arrived {
        Arrived { frames, gaps }
    }

    #[test]
    fn what_did_not_come_is_counted_in_whole_epochs_across_the_wrap() {
        let mut losses = Losses::default();
        losses.add(START, arrived(u32::MAX - 10, u32::MAX));
        losses.add(START + 127, arrived(116, 0));
        assert_eq!(losses.of_late(), Loss::default());
        losses.add(START + 200, arrived(181, 3));
        assert_eq!(losses.of_late(), Loss { sent: 200, lost: 8, gaps: 4 });
    }

    #[test]
    fn a_link_is_clean_once_all_of_sixteen_epochs_came() {
        let mut losses = Losses::default();
        for n in 0..16 {
            losses.add(START + n * 128, arrived(n * 128, 0));
        }
        assert!(!losses.is_clean(), "fifteen");
        losses.add(START + 16 * 128, arrived(16 * 128 - 1, 1));
        assert!(losses.is_settled() && !losses.is_clean(), "one was lost");
        for n in 17..33 {
            assert!(!losses.is_clean());
            losses.add(START + n * 128, arrived(n * 128 - 1, 1));
        }
        assert!(losses.is_clean());
    }

    #[test]
    fn only_late_epochs_count() {
        let mut losses = Losses::default();
        for n in 0..40 {
            losses.add(START + n * 128, arrived(if n < 20 { n * 64 } else { 20 * 64 + (n - 20) * 128 }, n.min(20)));
        }
        assert_eq!(losses.of_late(), Loss { sent: 16 * 128, lost: 0, gaps: 0 });
    }

    #[test]
    fn nonsense_is_no_loss_and_an_old_acknowledgment_nothing() {
        let mut losses = Losses::default();
        losses.add(START + 500, arrived(100, 0));
        losses.add(START, arrived(0, 0));
        losses.add(START + 700, arrived(90, 9000));
        assert_eq!(losses.of_late().lost, 0);
        losses.add(START + 900, arrived(90, 8000));
        assert_eq!(losses.of_late(), Loss { sent: 400, lost: 200, gaps: 200 });
    }
}
