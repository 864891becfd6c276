//! Pieces that are listed.

use super::course::{Piece, Pieces};
use airtcp_core::Duration;
use alloc::sync::Arc;
use core::fmt::Debug;

/// When each value begins, in order, the first at zero.
pub(super) type Rows<V> = Arc<[(Duration, V)]>;

/// Rows at work.
#[derive(Debug)]
pub(super) struct Listed<V, T> {
    rows: Rows<V>,
    /// After which the list begins again; the last row lasts for ever without.
    period: Option<Duration>,
    /// Where in the list the run begins.
    start: Duration,
    /// What a row's value means.
    meaning: fn(&V) -> T,
    /// The row of the next piece, and how often the list has begun again before it.
    next: usize,
    laps: u64,
}

impl<V, T> Listed<V, T> {
    pub(super) fn new(rows: Rows<V>, period: Option<Duration>, start: Duration, meaning: fn(&V) -> T) -> Self {
        let start = period.map_or(start, |period| Duration::from_nanos(start.as_nanos() % period.as_nanos().max(1)));
        let next = rows.partition_point(|(begin, _)| *begin <= start).saturating_sub(1);
        Listed { rows, period, start, meaning, next, laps: 0 }
    }
}

impl<V: Debug + Send + Sync, T: Debug> Pieces<T> for Listed<V, T> {
    fn next(&mut self) -> Piece<T> {
        let value = (self.meaning)(&self.rows[self.next].1);
        let following = self.rows.get(self.next + 1).map(|(begin, _)| *begin);
        let Some(end) = following.or(self.period) else { return Piece { value, until: Duration::MAX } };
        let lap = self.period.unwrap_or_default().saturating_mul(self.laps);
        let until = lap.saturating_add(end).saturating_sub(self.start);
        self.next += 1;
        if self.next == self.rows.len() {
            (self.next, self.laps) = (0, self.laps + 1);
        }
        Piece { value, until }
    }
}

/// The mean of what `weigh` makes of the values, over one period, or of the last value without one.
pub(super) fn mean<V>(rows: &[(Duration, V)], period: Option<Duration>, weigh: impl Fn(&V) -> u64) -> u64 {
    let Some(period) = period.filter(|period| !period.is_zero()) else {
        return rows.last().map_or(0, |(_, value)| weigh(value));
    };
    let ends = rows.iter().skip(1).map(|(begin, _)| *begin).chain([period]);
    let areas = rows
        .iter()
        .zip(ends)
        .map(|((begin, value), end)| u128::from(weigh(value)) * u128::from(end.saturating_sub(*begin).as_nanos()));
    u64::try_from(areas.sum::<u128>() / u128::from(period.as_nanos())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn pieces(period: Option<u64>, start: u64, count: usize) -> Vec<(u32, u64)> {
        let ms = Duration::from_millis;
        let rows: Rows<u32> = Arc::from([(ms(0), 1), (ms(10), 2), (ms(30), 3)]);
        let mut listed = Listed::new(rows, period.map(ms), ms(start), |value| *value);
        (0..count).map(|_| listed.next()).map(|piece| (piece.value, piece.until.as_nanos() / 1_000_000)).collect()
    }

    #[test]
    fn rows_follow_each_other_and_the_last_one_stays() {
        assert_eq!(pieces(None, 0, 2), [(1, 10), (2, 30)]);
        assert_eq!(pieces(None, 29, 2)[0], (2, 1));
        assert_eq!(pieces(None, 31, 1), [(3, Duration::MAX.as_nanos() / 1_000_000)]);
    }

    #[test]
    fn a_list_with_a_period_begins_again() {
        assert_eq!(pieces(Some(40), 0, 5), [(1, 10), (2, 30), (3, 40), (1, 50), (2, 70)]);
        assert_eq!(pieces(Some(40), 35, 3), [(3, 5), (1, 15), (2, 35)]);
        assert_eq!(pieces(Some(40), 75, 3), pieces(Some(40), 35, 3));
    }

    #[test]
    fn a_mean_weighs_by_time() {
        let ms = Duration::from_millis;
        let rows = [(ms(0), 1), (ms(10), 2), (ms(30), 3)];
        assert_eq!(mean(&rows, Some(ms(50)), |value| value * 1000), (10 + 40 + 60) * 1000 / 50);
        assert_eq!(mean(&rows, None, |value| *value), 3);
    }
}
