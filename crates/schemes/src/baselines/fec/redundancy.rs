//! How many code packets a block gets: fixed, or so many that a block loses more only about once
//! in a thousand, by the loss that the other end reports.

use super::frame::Report;
use crate::position::{self, Position};

const MILLION: u64 = 1_000_000;
/// Packets over which the loss is averaged: both counts are halved beyond.
const MEMORY: u64 = 2048;
/// What is assumed before the first report: 2 %, worth as much as this many packets.
const PRIOR: u64 = 100;
/// Packets of a block and its code packets together, the bound of the code.
const MAX_SYMBOLS: u64 = 255;

/// See the module.
#[derive(Debug)]
pub(super) struct Redundancy {
    fixed: Option<u8>,
    sent: u64,
    lost: u64,
    reported: Option<(Position, u32)>,
}

impl Redundancy {
    pub fn new(fixed: Option<u8>) -> Redundancy {
        Redundancy { fixed, sent: PRIOR, lost: PRIOR / 50, reported: None }
    }

    /// What came since the last report.
    pub fn on_report(&mut self, report: &Report, next: Position) {
        let highest = position::near(next, report.highest);
        if highest >= next {
            return;
        }
        let (last_highest, last_arrived) = self.reported.unwrap_or((highest, report.arrived));
        if highest < last_highest {
            return;
        }
        self.reported = Some((highest, report.arrived));
        let sent = highest - last_highest;
        let arrived = u64::from(report.arrived.wrapping_sub(last_arrived));
        self.sent += sent;
        self.lost += sent.saturating_sub(arrived);
        while self.sent > MEMORY {
            (self.sent, self.lost) = (self.sent / 2, self.lost.div_ceil(2));
        }
    }

    /// Measured loss in millionths.
    pub fn loss(&self) -> u64 {
        (self.lost * MILLION / self.sent).min(MILLION / 2)
    }

    /// Code packets for a block of `k`: the least r with r >= n p + 3 sqrt(n p (1 - p)), n = k + r.
    pub fn for_block(&self, k: u8) -> u8 {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let (p, q) = (self.loss(), MILLION - self.loss());
        let suffices = |r: &u64| {
            let n = u64::from(k) + r;
            let beyond = (r * MILLION).saturating_sub(n * p);
            beyond * beyond >= 9 * n * p * q
        };
        let most = MAX_SYMBOLS - u64::from(k);
        (1..most).find(suffices).unwrap_or(most) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::SeqNum;

    fn measured(lost_of_a_thousand: u32) -> Redundancy {
        let mut redundancy = Redundancy::new(None);
        let start = position::first(SeqNum(u32::MAX - 5000));
        for round in 0..20 {
            let (highest, arrived) = (round * 1000, round * (1000 - lost_of_a_thousand));
            let report = Report { incarnation: 0, highest: position::sequence(start) + highest, arrived };
            redundancy.on_report(&report, start + 20_000);
        }
        redundancy
    }

    #[test]
    fn redundancy_follows_the_measured_loss() {
        let codes = |lost| measured(lost).for_block(32);
        assert_eq!([0, 10, 50, 100].map(codes), [1, 3, 6, 11]);
    }

    #[test]
    fn a_short_block_gets_its_own_share() {
        assert_eq!([1, 4, 128].map(|k| measured(50).for_block(k)), [2, 2, 16]);
    }

    #[test]
    fn a_fixed_number_stays() {
        assert_eq!(Redundancy::new(Some(2)).for_block(32), 2);
    }

    #[test]
    fn reports_from_the_future_and_the_past_change_nothing() {
        let mut redundancy = measured(50);
        let (before, next) = (redundancy.loss(), position::first(SeqNum(100_000)));
        redundancy.on_report(&Report { incarnation: 0, highest: SeqNum(100_001), arrived: 0 }, next);
        assert_eq!(redundancy.loss(), before);
    }
}
