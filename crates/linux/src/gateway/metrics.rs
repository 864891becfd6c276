//! A status in Prometheus' text format: base units, no addresses or ports as labels.
//!
//! Written by hand: the format is a line per number, and the numbers are collected already.

use super::status::Status;
use std::collections::BTreeMap;
use std::fmt::Write;

struct Page {
    text: String,
    gateway: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let _ = write!(self.text, "{name}{{gateway=\"{}\"", self.gateway);
        for (key, value) in labels {
            let _ = write!(self.text, ",{key}=\"{value}\"");
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    fn counters(&mut self, name: &str, label: &str, help: &str, values: &BTreeMap<String, u64>) {
        self.head(name, "counter", help);
        for (key, value) in values {
            self.sample(name, &[(label, key)], value);
        }
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.sample(name, &[], value);
    }
}

/// Seconds with nine decimals, exactly.
fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// The page that a scraper reads.
pub fn render(status: &Status) -> String {
    let mut page = Page { text: String::new(), gateway: status.name.clone() };
    page.head("airtcp_gateway_info", "gauge", "What runs here.");
    let info = [("scheme", status.scheme.as_str()), ("link", status.link.as_str())];
    page.sample("airtcp_gateway_info", &info, 1);
    let uptime = seconds(status.uptime_ns);
    page.single("airtcp_uptime_seconds", "gauge", "Since the worker started.", uptime);
    page.single("airtcp_restarts_total", "counter", "Workers before this one.", status.restarts);
    let conserved = u8::from(status.conserved);
    let diverting = u8::from(status.diverting);
    page.single("airtcp_diverting", "gauge", "1: packets are taken from the link.", diverting);
    if let Some(peer) = &status.peer_state {
        page.single("airtcp_peer_up", "gauge", "1: the other gateway answers.", u8::from(peer.up));
    }
    page.single("airtcp_conserved", "gauge", "1: no packet is unaccounted for.", conserved);

    let counters = [
        ("airtcp_packets_total", "kind", "Packets through the scheme.", &status.packets),
        ("airtcp_events_total", "event", "What the scheme did.", &status.events),
        ("airtcp_created_packets_total", "reason", "Packets made.", &status.created),
        ("airtcp_discarded_packets_total", "reason", "Packets ended.", &status.discarded),
        ("airtcp_link_packets_total", "kind", "Packets at the link.", &status.link_packets),
        ("airtcp_control_messages_total", "kind", "Control messages.", &status.control),
        ("airtcp_status_clients_total", "kind", "Clients of the status socket.", &status.clients),
        ("airtcp_control_ignored_total", "reason", "Control messages ignored.", &status.control_ignored),
    ];
    for (name, label, help, values) in counters {
        page.counters(name, label, help, values);
    }
    page.head("airtcp_device_total", "counter", "What the kernel gave, took and refused.");
    for (device, values) in &status.devices {
        for (kind, value) in values {
            page.sample("airtcp_device_total", &[("device", device), ("kind", kind)], value);
        }
    }
    for (gauge, value) in &status.gauges {
        let (name, value) = match gauge.strip_suffix("_ns") {
            Some(base) => (format!("airtcp_{base}_seconds"), seconds(*value)),
            None => (format!("airtcp_{gauge}"), value.to_string()),
        };
        page.single(&name, "gauge", "A level of the scheme.", value);
    }
    page.text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let one = |key: &str, value| BTreeMap::from([(key.to_owned(), value)]);
        Status {
            schema: "airtcp.status/1".into(),
            name: "air".into(),
            scheme: "gsnoop".into(),
            link: "wlan0".into(),
            peer: Some("10.9.0.2:4791".into()),
            peer_state: None,
            pid: 1,
            diverting: true,
            takes: crate::gateway::divert::Wanted::All,
            method: crate::gateway::divert::Method::Tcx,
            uptime_ns: 1_500_000_000,
            restarts: 2,
            packets: one("received_inner", 3),
            events: one("repairs", 4),
            created: BTreeMap::new(),
            discarded: BTreeMap::new(),
            gauges: one("link_rtt_ns", 10_000_000),
            conservation: BTreeMap::new(),
            conserved: true,
            control: BTreeMap::new(),
            control_ignored: BTreeMap::new(),
            link_packets: BTreeMap::new(),
            clients: BTreeMap::new(),
            devices: BTreeMap::new(),
            confinement: crate::gateway::confine::Confinement::default(),
            advice: None,
            broken: None,
        }
    }

    #[test]
    fn times_are_in_seconds_and_counters_end_in_total() {
        let text = render(&status());
        assert!(text.contains("airtcp_link_rtt_seconds{gateway=\"air\"} 0.010000000\n"), "{text}");
        assert!(text.contains("airtcp_uptime_seconds{gateway=\"air\"} 1.500000000\n"), "{text}");
        assert!(text.contains("airtcp_events_total{gateway=\"air\",event=\"repairs\"} 4\n"));
    }

    #[test]
    fn no_address_becomes_a_label() {
        assert!(!render(&status()).contains("10.9.0.2"));
    }

    #[test]
    fn every_sample_belongs_to_a_declared_metric() {
        let text = render(&status());
        let mut declared = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                declared = rest.split(' ').next().unwrap();
            } else if !line.starts_with('#') {
                assert_eq!(line.split('{').next(), Some(declared), "{line}");
            }
        }
    }
}
