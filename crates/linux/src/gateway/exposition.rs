//! Metrics as text: Prometheus' own format (0.0.4), or OpenMetrics 1.0 for who asks for it. The two differ in how counters
//! are declared and in how a page ends.
//!
//! Written by hand: the formats are a line per number, and the numbers are collected already.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format.
    Prometheus,
    /// OpenMetrics.
    OpenMetrics,
}

impl Format {
    /// What an HTTP client takes that sends this header `Accept`.
    pub fn of_accept(header: &str) -> Format {
        if header.contains("application/openmetrics-text") { Format::OpenMetrics } else { Format::Prometheus }
    }

    /// The type of the content, as HTTP has it.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A page of metrics of one daemon, whose name each sample has as a label.
pub struct Page {
    text: String,
    owner: (&'static str, String),
    format: Format,
}

impl Page {
    /// An empty page.
    pub fn new(label: &'static str, name: &str, format: Format) -> Page {
        Page { text: String::new(), owner: (label, name.to_owned()), format }
    }

    /// Declares a metric; its samples follow.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let family = match self.format {
            Format::OpenMetrics if kind == "counter" => name.strip_suffix("_total").unwrap_or(name),
            _ => name,
        };
        let _ = write!(self.text, "# HELP {family} {help}\n# TYPE {family} {kind}\n");
    }

    /// One number.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let (label, owner) = &self.owner;
        let _ = write!(self.text, "{name}{{{label}=\"{owner}\"");
        for (key, value) in labels {
            let _ = write!(self.text, ",{key}=\"{value}\"");
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    /// A metric with a number for each value of a label.
    pub fn counters(&mut self, name: &str, label: &str, help: &str, values: &BTreeMap<String, u64>) {
        self.head(name, "counter", help);
        for (key, value) in values {
            self.sample(name, &[(label, key)], value);
        }
    }

    /// A metric with one number.
    pub fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.sample(name, &[], value);
    }

    /// All of it.
    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// Seconds with nine decimals, exactly.
pub fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formats_differ_in_the_names_of_counters_and_in_the_end() {
        let page = |format| {
            let mut page = Page::new("gateway", "air", format);
            page.single("airtcp_restarts_total", "counter", "Workers.", 1);
            page.single("airtcp_peer_up", "gauge", "Peers.", 0);
            page.finish()
        };
        let (text, open) = (page(Format::Prometheus), page(Format::OpenMetrics));
        assert!(text.contains("# TYPE airtcp_restarts_total counter\n") && !text.contains("EOF"), "{text}");
        assert!(open.contains("# TYPE airtcp_restarts counter\nairtcp_restarts_total{gateway=\"air\"} 1\n"), "{open}");
        assert!(open.ends_with("airtcp_peer_up{gateway=\"air\"} 0\n# EOF\n"), "{open}");
    }

    #[test]
    fn who_takes_openmetrics_gets_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Format::of_accept(prometheus), Format::OpenMetrics);
        assert_eq!(Format::of_accept("*/*"), Format::Prometheus);
    }
}
