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
    Kilobytes,
    Megabytes,
    Count,
    Real,
}

impl Measure {
    /// The measure called `name` in files.
    pub fn named(name: &str) -> Measure {
        if let Some((title, kind)) = level(name) {
            let unit = if kind == Kind::Kilobytes { "kB" } else { "" };
            return Measure { name: name.to_owned(), title, unit, kind };
        }
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
            "transfer_ns" => ("transfer", "s", Kind::Seconds),
            "sender.retransmitted_segments" => ("resent", "segments", Kind::Count),
            "sender.rtos" => ("RTOs", "", Kind::Count),
            "sender.acknowledged_missing_bytes" => ("acknowledged, missing", "bytes", Kind::Count),
            "sender.acked_bytes" => ("acknowledged", "MB", Kind::Megabytes),
            "queue.bytes_max" => ("longest queue", "kB", Kind::Kilobytes),
            "queue.drops" => ("dropped by queues", "packets", Kind::Count),
            "queue.first_drop_ns" => ("first drop", "s", Kind::Seconds),
            "queue.header_drops" => ("headers dropped", "packets", Kind::Count),
            "queue.data_drops" => ("data dropped", "packets", Kind::Count),
            "queue.headers_max" => ("most headers waiting", "", Kind::Count),
            "queue.headers_mean" => ("headers waiting", "", Kind::Real),
            "acked_bytes" | "delivered_bytes" => (name, "MB", Kind::Megabytes),
            "cwnd_bytes" => ("congestion window", "kB", Kind::Kilobytes),
            other if other.starts_with("path.") => (other.trim_start_matches("path."), "ms", Kind::Millis),
            other if other.starts_with("probes.") => (other.trim_start_matches("probes."), "ms", Kind::Millis),
            other if other.starts_with("flows.") => (other.trim_end_matches("_bps"), "Mbit/s", Kind::Rate),
            other if other.starts_with("controller.") => {
                let (title, is_share) = (other.trim_start_matches("controller."), other.ends_with("_share"));
                (title, if is_share { "%" } else { "" }, if is_share { Kind::Share } else { Kind::Count })
            }
            other if other.starts_with("wlan.") && other.ends_with("_ns") => (other, "s", Kind::Seconds),
            other => (other.strip_prefix("scheme.").unwrap_or(other), "", Kind::Count),
        };
        let title = title.replace("_ns.", " ").replace('_', " ");
        Measure { name: name.to_owned(), title, unit, kind }
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
            Kind::Kilobytes => value / 1e3,
            Kind::Megabytes => value / 1e6,
            Kind::Seconds => value / 1e9,
            Kind::Times | Kind::Index | Kind::Count | Kind::Real => value,
        }
    }

    /// A number of this measure as text.
    pub fn write(&self, value: f64) -> String {
        let value = self.in_unit(value);
        match self.kind {
            Kind::Share => format!("{value:.1}"),
            Kind::Rate
            | Kind::Times
            | Kind::Millis
            | Kind::Seconds
            | Kind::Kilobytes
            | Kind::Megabytes
            | Kind::Real => three_digits(value),
            Kind::Index => format!("{value:.3}"),
            Kind::Count => format!("{value:.0}"),
        }
    }
}

/// Title and kind of a level over time, `links.air.forward.queue_bytes` or `schemes.router.held_bytes`.
fn level(name: &str) -> Option<(String, Kind)> {
    let (owner, what) = name.rsplit_once('.')?;
    let owner = owner.strip_prefix("links.").or_else(|| owner.strip_prefix("schemes."))?;
    let (what, kind) = what.strip_suffix("_bytes").map_or((what, Kind::Count), |what| (what, Kind::Kilobytes));
    Some((format!("{} of {}", what.replace('_', " "), owner.replace('.', " ")), kind))
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
    fn levels_over_time_are_called_by_what_they_belong_to() {
        let queue = Measure::named("links.air.forward.queue_bytes");
        assert_eq!((queue.title.as_str(), queue.unit), ("queue of air forward", "kB"));
        assert_eq!(queue.write(57_960.0), "58.0");
        assert_eq!(Measure::named("schemes.router.flows").title, "flows of router");
        assert_eq!(Measure::named("sender.acked_bytes").unit, "MB");
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
