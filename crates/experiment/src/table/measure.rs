//! How each metric of a summary is named and written for people.

use crate::metric::{self, Unit};
use crate::results::summary::{CellSummary, Reading};

/// One measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Dotted path in a cell of a summary.
    pub name: String,
    /// Heading.
    pub title: String,
    /// How its numbers are written.
    pub unit: Unit,
}

impl Measure {
    /// The metric, or level over time, called `name` in files.
    pub fn named(name: &str) -> Measure {
        let (title, unit) = metric::title_and_unit(name);
        Measure { name: name.to_owned(), title, unit }
    }

    /// The same kind of number, found under another name.
    #[must_use]
    pub fn renamed(self, name: &str, title: &str) -> Measure {
        Measure { name: name.to_owned(), title: title.to_owned(), ..self }
    }

    /// The measure in `cell`, if its runs tell it.
    pub fn reading(&self, cell: &CellSummary) -> Option<Reading> {
        cell.readings.get(&self.name)
    }

    /// The measure of `cell` as text, without its unit; `–` if it has none.
    pub fn text(&self, cell: &CellSummary) -> String {
        self.reading(cell).map_or_else(|| "–".to_owned(), |reading| self.write(reading.median))
    }

    /// A number of this measure as text, without its unit.
    pub fn write(&self, value: f64) -> String {
        self.unit.write(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn levels_over_time_are_called_by_what_they_belong_to() {
        let queue = Measure::named("links.air.forward.queue_bytes");
        assert_eq!((queue.title.as_str(), queue.unit.label()), ("queue of air forward", "kB"));
        assert_eq!(queue.write(57_960.0), "58.0");
        let rate = Measure::named("links.air.forward.rate_bps");
        assert_eq!((rate.title.as_str(), rate.unit.label()), ("rate of air forward", "Mbit/s"));
        assert_eq!(Measure::named("schemes.repair.link_wait_ns").title, "link wait of repair");
        assert_eq!(Measure::named("schemes.router.flows").title, "flows of router");
        assert_eq!(Measure::named("sender.acked_bytes").unit.label(), "MB");
    }

    #[test]
    fn medians_counters_and_missing_values_are_read() {
        let cell: CellSummary = serde_json::from_value(json!({"of_ceiling": {"median": 0.964, "ci95": [0.958, 0.969]}, "sender": {"rtos": 2}, "times_baseline": null}))
        .expect("a cell");
        assert_eq!(Measure::named("of_ceiling").text(&cell), "96.4");
        assert_eq!(Measure::named("of_ceiling").reading(&cell).unwrap().ci95, Some([0.958, 0.969]));
        assert_eq!(Measure::named("sender.rtos").text(&cell), "2");
        assert_eq!(Measure::named("times_baseline").text(&cell), "–");
        assert_eq!(Measure::named("scheme.repairs").text(&cell), "–");
    }
}
