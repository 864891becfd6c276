//! Rate, losses and waiting over time: at most sixty rows, whose spans double as the watch goes on.

use serde::Serialize;

const ROWS: usize = 60;

/// A span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// When it begins and how long it is, in seconds.
    pub from: f64,
    /// See `from`.
    pub seconds: f64,
    /// IP bytes that left and that arrived.
    pub bytes: [u64; 2],
    /// Segments of TCP lost on the far side, of what left and of what arrived.
    pub lost: [u64; 2],
    /// Round trips that were measured, the sum of what they were longer than the shortest, and the most, in ms.
    pub round_trips: u64,
    /// See `round_trips`.
    pub waits_ms: f64,
    /// See `round_trips`.
    pub longest_wait_ms: f64,
}

/// Rows, one after the other.
#[derive(Clone, Debug)]
pub struct Series {
    rows: Vec<Row>,
    span: u64,
}

impl Default for Series {
    fn default() -> Self {
        Series { rows: Vec::with_capacity(ROWS), span: 1 }
    }
}

impl Series {
    /// The row of the second `at` since the watch began.
    pub fn row(&mut self, at: u64) -> &mut Row {
        while at / self.span >= ROWS as u64 {
            self.rows = self.rows.chunks(2).map(join).collect();
            self.span *= 2;
        }
        let place = (at / self.span) as usize;
        while self.rows.len() <= place {
            let (from, seconds) = (self.rows.len() as u64 * self.span, self.span as f64);
            self.rows.push(Row { from: from as f64, seconds, ..Row::default() });
        }
        &mut self.rows[place]
    }

    /// All of them.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

fn join(rows: &[Row]) -> Row {
    let mut joined = rows[0];
    joined.seconds *= 2.0;
    for row in &rows[1..] {
        for way in 0..2 {
            joined.bytes[way] += row.bytes[way];
            joined.lost[way] += row.lost[way];
        }
        joined.round_trips += row.round_trips;
        joined.waits_ms += row.waits_ms;
        joined.longest_wait_ms = joined.longest_wait_ms.max(row.longest_wait_ms);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_sixty_rows_at_most_and_nothing_is_lost() {
        let mut series = Series::default();
        for second in 0..86_400 {
            series.row(second).bytes[1] += 1;
            assert!(series.rows().len() <= ROWS);
        }
        let all: u64 = series.rows().iter().map(|row| row.bytes[1]).sum();
        assert_eq!((all, series.rows()[1].from, series.rows()[0].seconds), (86_400, 2048.0, 2048.0));
        series.row(u64::MAX / 2);
        assert!(series.rows().len() <= ROWS);
    }
}
