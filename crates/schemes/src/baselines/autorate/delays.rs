//! By how much answers are later than they could be: against a baseline that follows lower delays fast and higher ones
//! slowly, over the last answers.

use super::AutorateSettings;
use super::rule::part;
use airtcp_core::Probability;
use alloc::vec::Vec;

/// A clock that jumped, in ns: the baseline is what the answer says (cake-autorate.sh, tsping: 3000 s).
const JUMP: u64 = 3_000_000_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Delays {
    up: Probability,
    down: Probability,
    /// Late ones among the answers of the window that are bufferbloat.
    limit: usize,
    baseline: Option<i64>,
    /// The last answers: by how much each was beyond the baseline, and whether that was late.
    window: Vec<(i64, bool)>,
    next: usize,
}

impl Delays {
    pub fn new(settings: &AutorateSettings) -> Delays {
        Delays {
            up: settings.baseline_up,
            down: settings.baseline_down,
            limit: usize::from(settings.late_answers),
            baseline: None,
            window: alloc::vec![(0, false); usize::from(settings.window)],
            next: 0,
        }
    }

    /// An answer tells this delay in ns; more than `late` beyond the baseline is late.
    pub fn add(&mut self, delay: i64, late: u64) {
        let before = self.baseline.filter(|baseline| delay.saturating_sub(*baseline).unsigned_abs() <= JUMP);
        let before = before.unwrap_or(delay);
        let beyond = delay.saturating_sub(before);
        let follows = if beyond >= 0 { self.up } else { self.down };
        let step = part(beyond.unsigned_abs(), follows) as i64;
        let baseline = before.saturating_add(if beyond >= 0 { step } else { -step });
        self.baseline = Some(baseline);
        let beyond = delay.saturating_sub(baseline);
        self.window[self.next] = (beyond, beyond > 0 && beyond.unsigned_abs() > late);
        self.next = (self.next + 1) % self.window.len();
    }

    /// Enough of the last answers were late.
    pub fn is_bloat(&self) -> bool {
        self.window.iter().filter(|(_, is_late)| *is_late).count() >= self.limit
    }

    /// By how much the last answers were beyond the baseline on average, in ns; 0 if they were earlier.
    pub fn mean(&self) -> u64 {
        let sum: i64 = self.window.iter().map(|(beyond, _)| *beyond).sum();
        u64::try_from(sum).unwrap_or(0) / self.window.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const LATE: u64 = 30_000_000;

    fn delays(answers: &[i64]) -> Delays {
        let mut delays = Delays::new(&AutorateSettings::default());
        answers.iter().for_each(|delay| delays.add(delay * MS, LATE));
        delays
    }

    #[test]
    fn bufferbloat_is_three_late_answers_among_the_last_six() {
        assert!(!delays(&[10, 60, 60]).is_bloat());
        assert!(delays(&[10, 60, 60, 60]).is_bloat());
        assert!(delays(&[10, 60, 10, 60, 10, 60]).is_bloat());
        assert!(!delays(&[10, 60, 60, 60, 10, 10, 10, 10]).is_bloat(), "one of them is forgotten");
    }

    #[test]
    fn late_is_more_than_the_threshold_beyond_the_baseline() {
        let threshold = |delay| delays(&[10, delay, delay, delay]).is_bloat();
        assert!(!threshold(40));
        assert!(threshold(41));
    }

    #[test]
    fn the_mean_is_over_the_whole_window() {
        let mean = delays(&[10, 70]).mean() as i64;
        assert!((99 * MS / 10..=10 * MS).contains(&mean), "60 by 6, as the baseline rises a little: {mean}");
        assert_eq!(delays(&[100, 10, 10]).mean(), 0, "earlier than the baseline");
    }

    #[test]
    fn the_baseline_follows_lower_delays_at_once_and_higher_ones_slowly() {
        let low = delays(&[100, 20, 20, 20]).baseline.unwrap();
        assert!((20 * MS..21 * MS).contains(&low), "{low}");
        let high = delays(&[20, 120, 120]).baseline.unwrap();
        assert!((201 * MS / 10..203 * MS / 10).contains(&high), "{high}");
    }

    #[test]
    fn a_clock_that_jumped_is_no_delay() {
        for jump in [i64::MAX, i64::MIN, 4_000_000 * MS] {
            let mut delays = delays(&[10, 10]);
            (0..6).for_each(|_| delays.add(jump, LATE));
            assert_eq!((delays.is_bloat(), delays.mean()), (false, 0), "{jump}");
        }
    }
}
