//! How each measure of a summary is named and written for people.

use serde_json::Value;

/// One measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Dotted path in a cell of a summary.
    pub name: String,
    /// Heading.
    pub title: String,
    /// Unit under the heading; empty for a count.
    pub unit: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rate,
    Share,
    Times,
    Millis,
    Seconds,
    Index,
    Count,
}

impl Measure {
    /// The measure called `name` in files.
    pub fn named(name: &str) -> Measure {
        let (title, unit, kind) = match name {
            "goodput_bps" => ("goodput", "Mbit/s", Kind::Rate),
            "throughput_bps" => ("throughput", "Mbit/s", Kind::Rate),
            "of_ceiling" => ("of ceiling", "%", Kind::Share),
            "times_baseline" => ("× plain", "", Kind::Times),
            "jain" => ("Jain", "", Kind::Index),
            "rtt_ns.p50" => ("RTT p50", "ms", Kind::Millis),
            "rtt_ns.p95" => ("RTT p95", "ms", Kind::Millis),
            "rtt_ns.p99" => ("RTT p99", "ms", Kind::Millis),
            "completion_ns" => ("complete", "s", Kind::Seconds),
            "sender.retransmitted_segments" => ("resent", "segments", Kind::Count),
            "sender.rtos" => ("RTOs", "", Kind::Count),
            other if other.starts_with("flows.") => (other.trim_end_matches("_bps"), "Mbit/s", Kind::Rate),
            other if other.starts_with("controller.") => {
                let (title, is_share) = (other.trim_start_matches("controller."), other.ends_with("_share"));
                (title, if is_share { "%" } else { "" }, if is_share { Kind::Share } else { Kind::Count })
            }
            other if other.starts_with("wlan.") && other.ends_with("_ns") => (other, "s", Kind::Seconds),
            other => (other.strip_prefix("scheme.").unwrap_or(other), "", Kind::Count),
        };
        Measure { name: name.to_owned(), title: title.replace('_', " "), unit, kind }
    }

    /// The same kind of number, found under another name.
    #[must_use]
    pub fn renamed(self, name: &str, title: &str) -> Measure {
        Measure { name: name.to_owned(), title: title.to_owned(), ..self }
    }

    /// The number in `cell`: a median, or a plain value.
    pub fn value(&self, cell: &Value) -> Option<f64> {
        let node = self.node(cell)?;
        node.get("median").unwrap_or(node).as_f64()
    }

    /// The interval in `cell`, if the measure has one.
    pub fn interval(&self, cell: &Value) -> Option<[f64; 2]> {
        let ends = self.node(cell)?.get("ci95")?;
        Some([ends.get(0)?.as_f64()?, ends.get(1)?.as_f64()?])
    }

    /// Where the measure stands in `cell`: its name is a path, through a list by the names of its items.
    fn node<'a>(&self, cell: &'a Value) -> Option<&'a Value> {
        self.name.split('.').try_fold(cell, |node, part| match node {
            Value::Array(items) => items.iter().find(|item| item["name"] == part),
            _ => node.get(part),
        })
    }

    /// The measure of `cell` as text, without its unit; `–` if it has none.
    pub fn text(&self, cell: &Value) -> String {
        self.value(cell).map_or_else(|| "–".to_owned(), |value| self.write(value))
    }

    /// A number of this measure in its [`Measure::unit`].
    pub fn in_unit(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Rate | Kind::Millis => value / 1e6,
            Kind::Share => value * 100.0,
            Kind::Seconds => value / 1e9,
            Kind::Times | Kind::Index | Kind::Count => value,
        }
    }

    /// A number of this measure as text.
    pub fn write(&self, value: f64) -> String {
        let value = self.in_unit(value);
        match self.kind {
            Kind::Share => format!("{value:.1}"),
            Kind::Rate | Kind::Times | Kind::Millis | Kind::Seconds => three_digits(value),
            Kind::Index => format!("{value:.3}"),
            Kind::Count => format!("{value:.0}"),
        }
    }
}

/// Three significant digits, never an exponent: 0.123, 1.23, 12.3, 123, 1234.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 0.0005 => 0,
        size if size < 0.9995 => 3,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_show_what_matters_and_no_noise() {
        let goodput = Measure::named("goodput_bps");
        assert_eq!(goodput.write(8_840_000.0), "8.84");
        assert_eq!(goodput.write(9_996_000.0), "10.0");
        assert_eq!(goodput.write(951_234_567.0), "951");
        assert_eq!(goodput.write(12_345.0), "0.012");
        assert_eq!(goodput.write(0.0), "0");
        assert_eq!(Measure::named("of_ceiling").write(0.1 + 0.2), "30.0");
    }

    #[test]
    fn medians_counters_and_missing_values_are_read() {
        let cell = json!({"of_ceiling": {"median": 0.964, "ci95": [0.958, 0.969]}, "sender": {"rtos": 2}, "times_baseline": null});
        assert_eq!(Measure::named("of_ceiling").text(&cell), "96.4");
        assert_eq!(Measure::named("of_ceiling").interval(&cell), Some([0.958, 0.969]));
        assert_eq!(Measure::named("sender.rtos").text(&cell), "2");
        assert_eq!(Measure::named("times_baseline").text(&cell), "–");
        assert_eq!(Measure::named("scheme.repairs").text(&cell), "–");
    }
}
