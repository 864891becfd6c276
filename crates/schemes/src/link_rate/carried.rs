//! What the link carries, from measurements that are short and therefore rough.
//!
//! A measurement is true if the link was busy all the time. If nothing waited in the link it carried what it was given, and
//! may carry more: such a measurement only raises. Delays that vary by themselves make a measurement too high or too low;
//! too high a rate shows in the next report, as packets begin to wait, too low a rate shows nothing. So the most of late
//! counts (as in BBR).

use super::peak::Peak;
use super::{millionths, part};
use airtcp_core::{Duration, Rate};
use alloc::collections::VecDeque;

/// A measurement counts for so long, of the other end's clock, in ns: some reports of a slow link (8 packets at 2 Mbit/s take
/// 48 ms) are in it.
pub(super) const COUNTS_FOR: u64 = 100_000_000;
/// How much the rate varies is averaged over so much time, in ns: longer than a fade, shorter than a walk from one cell to
/// the next.
const VARIATION_TIME: u64 = 4_000_000_000;
/// One measurement has no more than this part in the average.
const VARIATION_PART: u64 = 8;
/// A fall tells of others if it is so many times what the rate changes by anyway, as a radio's does. Argued, not swept.
const CLEAR_FALL: u64 = 3;
/// One measurement lowers the rate to no less than one part in so many.
const MOST_DOWN: u64 = 2;
/// Nothing less is a link, in bit/s.
pub(super) const LEAST: u64 = 32_000;

/// A rate between two reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// The other end's clock at its end, in ns.
    pub at: u64,
    /// In bit/s.
    pub bps: u64,
    /// The link was busy all the time.
    pub is_busy: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Carried {
    known: Option<u64>,
    /// The measurements that count, the latest last.
    late: VecDeque<Measured>,
    /// Rates of a busy link, the latest last, as far back as a change takes to be followed.
    busy: VecDeque<Measured>,
    /// By how much the rate differs from that when the last thing was done about it, in millionths, on average.
    variation: u64,
    /// How much of that average is of measurements, in millionths: it begins with none.
    weight: u64,
    /// The most that it ever carried, since the shortest delay was that of this link.
    highest: u64,
    /// The most that was known of late.
    peak: Peak,
}

impl Carried {
    /// What the link carries; `None` before anything waited in it.
    pub fn rate(&self) -> Option<Rate> {
        self.known.map(Rate::from_bps)
    }

    /// The most that it ever carried.
    pub fn highest(&self) -> Rate {
        Rate::from_bps(self.highest)
    }

    /// What overflows in less time than a measurement takes was never seen to be busy. It carries the most that it carried so far,
    /// unless more is known; and if that is too little, nothing waits, and it rises.
    pub fn suppose_highest(&mut self) {
        self.known.get_or_insert(self.highest);
    }

    /// The most that was known of late.
    pub fn peak(&self) -> Option<Rate> {
        self.peak.rate()
    }

    /// How much the rate changes within the time that it takes to follow it, in millionths of it.
    pub fn variation(&self) -> u64 {
        self.variation
    }

    /// The same of the time in which the rate was watched: the average begins at zero, and is too small until that was some seconds.
    pub fn usual_change(&self) -> u64 {
        millionths(self.variation, self.weight)
    }

    /// True if it carries less than `before` by no less than `least`, in millionths, and by no less than [`CLEAR_FALL`] times what it
    /// changes by anyway.
    pub fn has_fallen(&self, before: Rate, least: u64) -> bool {
        let fall = least.max(self.usual_change().saturating_mul(CLEAR_FALL));
        self.known.is_some_and(|known| known <= part(before.bps(), 1_000_000u64.saturating_sub(fall)))
    }

    /// A link that carries `bps` and is known to change by `variation` millionths.
    #[cfg(test)]
    pub fn of(bps: u64, variation: u64) -> Carried {
        Carried { known: Some(bps), variation, weight: 1_000_000, ..Carried::default() }
    }

    /// The link was known to carry `rate` by whoever looked before. How fast it is at its best is not known: if it were no faster,
    /// the one packet that is sent would be all that may wait, and nothing would ever show that it carries more.
    pub fn resume(&mut self, rate: Rate) {
        self.late.clear();
        (self.known, self.highest) = (Some(rate.bps().max(LEAST)), rate.bps().saturating_mul(2));
    }

    /// It carries no more than `rate`, whatever was measured; but one step halves at most.
    pub fn lower(&mut self, rate: Rate) {
        self.late.clear();
        self.known = self.known.map(|known| known.min(rate.bps().max(known / MOST_DOWN).max(LEAST)));
    }

    /// Nothing is known of the link any more.
    pub fn forget(&mut self) {
        *self = Carried { variation: self.variation, weight: self.weight, ..Carried::default() };
    }

    /// What was taken for a busy link was none: it carried `rate` before.
    pub fn restore(&mut self, rate: Rate) {
        self.forget_measurements();
        self.known = self.known.map(|known| known.max(rate.bps()));
        self.highest = rate.bps();
    }

    /// What counted is of another link, or of another clock.
    pub fn forget_measurements(&mut self) {
        self.late.clear();
        self.busy.clear();
        self.peak.change_clock();
    }

    /// True if it is higher than what was known. It takes `reaction` until something that is done about a change shows.
    pub fn add(&mut self, mut measured: Measured, reaction: Duration) -> bool {
        self.highest = self.highest.max(measured.bps);
        // After an outage the first measurement tells of nothing else, and at the rate that it tells the next one would take long.
        measured.bps = measured.bps.max(self.known.unwrap_or_default() / MOST_DOWN);
        if measured.is_busy {
            self.note_variation(measured, reaction);
        }
        if !measured.is_busy && self.known.is_none_or(|known| measured.bps <= known) {
            return false;
        }
        let before = self.known;
        self.late.retain(|late| late.at + COUNTS_FOR >= measured.at && late.bps > measured.bps);
        self.late.push_back(measured);
        self.known = self.late.front().map(|most| most.bps.max(LEAST));
        self.peak.note(measured.at, self.known.unwrap_or_default());
        self.known > before
    }

    fn note_variation(&mut self, measured: Measured, reaction: Duration) {
        let is_old = |busy: &Measured| busy.at + reaction.as_nanos() <= measured.at;
        while self.busy.get(1).is_some_and(is_old) {
            self.busy.pop_front();
        }
        if let (Some(before), Some(last)) = (self.busy.front().filter(|before| is_old(before)), self.busy.back()) {
            let most = before.bps.max(measured.bps).max(1);
            let change = before.bps.abs_diff(measured.bps).saturating_mul(1_000_000) / most;
            let part = VARIATION_TIME / measured.at.saturating_sub(last.at).max(1);
            let part = i64::try_from(part.max(VARIATION_PART)).unwrap_or(i64::MAX);
            let towards =
                |average: u64, value: u64| average.saturating_add_signed((value as i64 - average as i64) / part);
            self.variation = towards(self.variation, change);
            self.weight = towards(self.weight, 1_000_000);
        }
        self.busy.push_back(measured);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measurements of a busy link, 20 ms apart.
    fn measured(rates: &[u64]) -> Carried {
        let mut carried = Carried::default();
        for (index, &bps) in rates.iter().enumerate() {
            let at = (index as u64 + 1) * 20_000_000;
            carried.add(Measured { at, bps, is_busy: true }, Duration::from_millis(20));
        }
        carried
    }

    #[test]
    fn what_a_link_changes_by_is_known_from_little_too() {
        let before = Rate::from_bps(8_000_000);
        let steady = [&[8_000_000; 20][..], &[3_000_000; 7]].concat();
        assert!(measured(&steady).has_fallen(before, 500_000), "one change in half a second");
        // A radio in its first half second: the average is of a tenth of the time that it is to be of.
        let radio = [[8_000_000, 5_000_000, 8_000_000, 4_500_000]; 5].concat();
        let radio = [&radio[..], &[3_000_000; 7]].concat();
        assert!(!measured(&radio).has_fallen(before, 500_000));
        assert!(measured(&radio).variation() < 100_000, "which the average itself does not tell yet");
    }
}
