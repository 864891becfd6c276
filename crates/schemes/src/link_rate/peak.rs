//! The most that a link carried of late: a window that was cut to less leaves it idle when it is as fast again.

use airtcp_core::Rate;

/// Of late is once or twice this time, in ns.
const SPAN: u64 = 5_000_000_000;

/// See the module. The clock may be anybody's.
#[derive(Debug, Default)]
pub(super) struct Peak {
    /// The most in this span and in the one before, in bit/s, and when this one began, in ns.
    spans: [u64; 2],
    began: u64,
}

impl Peak {
    /// The link carried so many bit/s at `at`.
    pub fn note(&mut self, at: u64, bps: u64) {
        if at.saturating_sub(self.began) >= SPAN {
            self.spans = [0, self.spans[0]];
            self.began = at;
        }
        self.spans[0] = self.spans[0].max(bps);
    }

    /// What is noted from now on is by another clock.
    pub fn change_clock(&mut self) {
        self.began = 0;
    }

    /// `None` if nothing was carried.
    pub fn rate(&self) -> Option<Rate> {
        self.spans.into_iter().max().filter(|most| *most > 0).map(Rate::from_bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_forgotten_after_one_span_and_before_a_third() {
        let mut peak = Peak::default();
        assert_eq!(peak.rate(), None);
        for (at, bps, most) in [(1, 20, 20), (3, 50, 50), (6, 10, 50), (10, 10, 50), (11, 12, 12), (14, 9, 12)] {
            peak.note(at * 1_000_000_000, bps);
            assert_eq!(peak.rate().map(Rate::bps), Some(most), "after {at} s");
        }
    }
}
