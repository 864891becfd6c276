//! A status as metrics: base units, no addresses or ports as labels.

use super::control::PeerState;
use super::exposition::{Format, Page, seconds};
use super::status::Status;
use std::collections::{BTreeMap, BTreeSet};

impl Page {
    /// A value of each hop that has it.
    fn each(&mut self, name: &str, kind: &str, help: &str, hops: &[Hop<'_>], of: impl Fn(&Hop<'_>) -> Option<String>) {
        let values: Vec<_> = hops.iter().filter_map(|hop| Some((hop.labels(&[]), of(hop)?))).collect();
        if !values.is_empty() {
            self.head(name, kind, help);
            values.iter().for_each(|(labels, value)| self.sample(name, labels, value));
        }
    }
}

/// The page that a scraper reads.
pub fn render(status: &Status, format: Format) -> String {
    let mut page = Page::new("gateway", &status.name, format);
    page.head("airtcp_gateway_info", "gauge", "What runs here.");
    let info = [("scheme", status.scheme.as_str()), ("link", status.link.as_str())];
    page.sample("airtcp_gateway_info", &info, 1);
    let uptime = seconds(status.uptime_ns);
    page.single("airtcp_uptime_seconds", "gauge", "Since the worker started.", uptime);
    page.single("airtcp_restarts_total", "counter", "Workers before this one.", status.restarts);
    page.single("airtcp_reloads_total", "counter", "Reloads that were asked for.", status.reloads.asked);
    page.single("airtcp_reloads_refused_total", "counter", "Reloads after which all stayed.", status.reloads.refused);
    let refused = u8::from(status.reloads.last_refused);
    page.single("airtcp_last_reload_refused", "gauge", "1: the file is not what runs.", refused);
    let conserved = u8::from(status.conserved);
    let diverting = u8::from(status.diverting);
    page.single("airtcp_diverting", "gauge", "1: packets are taken from the link.", diverting);
    page.single("airtcp_conserved", "gauge", "1: no packet is unaccounted for.", conserved);
    let counters = [
        ("airtcp_link_packets_total", "kind", "Packets at the link.", &status.link_packets),
        ("airtcp_status_clients_total", "kind", "Clients of the status socket.", &status.clients),
    ];
    for (name, label, help, values) in counters {
        page.counters(name, label, help, values);
    }
    of_hops(&mut page, status);
    page.finish()
}

/// What is measured of each hop; with several peers, each has a label of its own. There are as many as the configuration names.
fn of_hops(page: &mut Page, status: &Status) {
    let hops = hops(status);
    page.each("airtcp_peer_up", "gauge", "1: the other gateway answers.", &hops, |hop| {
        hop.peer_state.as_ref().map(|state| u8::from(state.up).to_string())
    });
    type Table = for<'a> fn(&'a Hop<'_>) -> &'a BTreeMap<String, u64>;
    let counters: [(&str, &str, &str, Table); 6] = [
        ("airtcp_packets_total", "kind", "Packets through the scheme.", |hop| hop.packets),
        ("airtcp_events_total", "event", "What the scheme did.", |hop| hop.events),
        ("airtcp_created_packets_total", "reason", "Packets made.", |hop| hop.created),
        ("airtcp_discarded_packets_total", "reason", "Packets ended.", |hop| hop.discarded),
        ("airtcp_control_messages_total", "kind", "Control messages.", |hop| hop.control),
        ("airtcp_control_ignored_total", "reason", "Control messages ignored.", |hop| hop.control_ignored),
    ];
    for (name, label, help, table) in counters {
        page.head(name, "counter", help);
        for hop in &hops {
            table(hop).iter().for_each(|(key, value)| page.sample(name, &hop.labels(&[(label, key)]), value));
        }
    }
    if !status.peers.is_empty() {
        // Those that were no peer's.
        for (reason, all) in &status.control_ignored {
            let of_peers: u64 = status.peers.iter().filter_map(|peer| peer.control_ignored.get(reason)).sum();
            page.sample("airtcp_control_ignored_total", &[("reason", reason)], all.saturating_sub(of_peers));
        }
    }
    page.head("airtcp_device_total", "counter", "What the kernel gave, took and refused.");
    for hop in &hops {
        for (device, values) in hop.devices {
            for (kind, value) in values {
                page.sample("airtcp_device_total", &hop.labels(&[("device", device), ("kind", kind)]), value);
            }
        }
    }
    let gauges: BTreeSet<&String> = hops.iter().flat_map(|hop| hop.gauges.keys()).collect();
    for gauge in gauges {
        let (name, is_time) = match (gauge.strip_suffix("_ns"), gauge.strip_suffix("_ns_max")) {
            (Some(base), _) => (format!("airtcp_{base}_seconds"), true),
            (None, Some(base)) => (format!("airtcp_{base}_max_seconds"), true),
            (None, None) => (format!("airtcp_{gauge}"), false),
        };
        page.each(&name, "gauge", "A level of the scheme.", &hops, |hop| {
            hop.gauges.get(gauge).map(|value| if is_time { seconds(*value) } else { value.to_string() })
        });
    }
}

/// What is measured of the way to one peer.
struct Hop<'a> {
    /// The name of one of several peers.
    peer: Option<&'a str>,
    peer_state: &'a Option<PeerState>,
    packets: &'a BTreeMap<String, u64>,
    events: &'a BTreeMap<String, u64>,
    created: &'a BTreeMap<String, u64>,
    discarded: &'a BTreeMap<String, u64>,
    control: &'a BTreeMap<String, u64>,
    control_ignored: &'a BTreeMap<String, u64>,
    devices: &'a BTreeMap<String, BTreeMap<String, u64>>,
    gauges: &'a BTreeMap<String, u64>,
}

/// The gateway's own, or those of its peers.
fn hops(status: &Status) -> Vec<Hop<'_>> {
    macro_rules! hop {
        ($of:ident, $peer:expr) => {
            Hop {
                peer: $peer,
                peer_state: &$of.peer_state,
                packets: &$of.packets,
                events: &$of.events,
                created: &$of.created,
                discarded: &$of.discarded,
                control: &$of.control,
                control_ignored: &$of.control_ignored,
                devices: &$of.devices,
                gauges: &$of.gauges,
            }
        };
    }
    if status.peers.is_empty() {
        return vec![hop!(status, None)];
    }
    status.peers.iter().map(|peer| hop!(peer, Some(&peer.name))).collect()
}

impl<'a> Hop<'a> {
    fn labels(&self, labels: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        self.peer.map(|peer| ("peer", peer)).into_iter().chain(labels.iter().copied()).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::status::PeerStatus;
    use super::*;

    pub fn status() -> Status {
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
            reloads: crate::gateway::reload::Reloads { asked: 3, refused: 1, last: "no".into(), last_refused: true },
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
            peers: Vec::new(),
        }
    }

    #[test]
    fn times_are_in_seconds_and_counters_end_in_total() {
        let text = render(&status(), Format::Prometheus);
        assert!(text.contains("airtcp_link_rtt_seconds{gateway=\"air\"} 0.010000000\n"), "{text}");
        assert!(text.contains("airtcp_uptime_seconds{gateway=\"air\"} 1.500000000\n"), "{text}");
        assert!(text.contains("airtcp_events_total{gateway=\"air\",event=\"repairs\"} 4\n"));
    }

    #[test]
    fn with_several_peers_each_has_a_label_and_every_metric_is_declared_once() {
        let peer = |name: &str, repairs| PeerStatus {
            name: name.into(),
            peer: Some("10.9.0.3:4791".into()),
            events: BTreeMap::from([("repairs".to_owned(), repairs)]),
            gauges: BTreeMap::from([("link_rtt_ns".to_owned(), 5_000_000)]),
            ..PeerStatus::default()
        };
        let mut east = peer("east", 1);
        east.control_ignored = BTreeMap::from([("stranger".to_owned(), 2)]);
        let control_ignored = BTreeMap::from([("stranger".to_owned(), 9)]);
        let both = Status { peers: vec![east, peer("west", 2)], control_ignored, ..status() };
        let text = render(&both, Format::Prometheus);
        for line in [
            "airtcp_events_total{gateway=\"air\",peer=\"east\",event=\"repairs\"} 1\n",
            "airtcp_events_total{gateway=\"air\",peer=\"west\",event=\"repairs\"} 2\n",
            "airtcp_control_ignored_total{gateway=\"air\",peer=\"east\",reason=\"stranger\"} 2\n",
            "airtcp_control_ignored_total{gateway=\"air\",reason=\"stranger\"} 7\n",
            "airtcp_link_rtt_seconds{gateway=\"air\",peer=\"west\"} 0.005000000\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(text.matches("# TYPE airtcp_link_rtt_seconds").count(), 1);
        assert!(!text.contains("event=\"repairs\"} 4") && !text.contains("10.9.0.3"));
    }

    #[test]
    fn no_address_becomes_a_label() {
        assert!(!render(&status(), Format::Prometheus).contains("10.9.0.2"));
    }

    #[test]
    fn every_sample_belongs_to_a_declared_metric() {
        let text = render(&status(), Format::Prometheus);
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
