//! Do a trunk's header packets meet what its data meet (DEC-20, DEC-22)? As far as this machine can tell.

use super::command;
use super::config::Config;
use super::path_test;
use crate::finding::Finding;
use airtcp_schemes::{Placement, SCHEMES, find};
use std::net::IpAddr;

/// Disciplines that give each flow a queue of its own.
const FLOW_QUEUES: [&str; 6] = ["fq", "fq_codel", "fq_pie", "cake", "sfq", "dualpi2"];

/// What is known of the way to the peer of a gateway with a trunk; nothing for other schemes.
pub fn findings(config: &Config) -> Vec<Finding> {
    let is_trunk = find(SCHEMES, &config.scheme).is_some_and(|entry| entry.placement == Placement::Path);
    if !is_trunk || path_test::is_tunnel(config) {
        return Vec::new();
    }
    let disciplines = command::output(&["tc", "qdisc", "show", "dev", &config.link]).unwrap_or_default();
    let peers = config.each_peer();
    let addresses = peers.iter().filter_map(|peer| peer.peer).map(|peer| peer.ip());
    let routes = addresses.filter_map(|peer| several_next_hops(peer, &routes_to(peer)));
    flow_queue(&config.link, &disciplines).into_iter().chain(routes).collect()
}

fn routes_to(peer: IpAddr) -> String {
    let family = if peer.is_ipv4() { "-4" } else { "-6" };
    command::output(&["ip", family, "route", "show", "match", &peer.to_string()]).unwrap_or_default()
}

/// `tc qdisc show`: a line `qdisc fq_codel 0: root ...` for each.
fn flow_queue(link: &str, disciplines: &str) -> Option<Finding> {
    let mut lines = disciplines.lines().filter(|line| !has_one_queue(line));
    let kind = lines.find_map(|line| {
        let kind = line.strip_prefix("qdisc ")?.split_whitespace().next()?;
        FLOW_QUEUES.contains(&kind).then(|| kind.to_owned())
    })?;
    Some(Finding::warning(
        format!(
            "the queue before {link} is {kind}: header packets have a queue of their own there and see no congestion"
        ),
        format!("tc qdisc replace dev {link} root fq_codel flows 1 (or pfifo), unless the bottleneck is elsewhere"),
    ))
}

/// FQ-CoDel with one queue for all.
fn has_one_queue(line: &str) -> bool {
    line.split_whitespace().zip(line.split_whitespace().skip(1)).any(|pair| pair == ("flows", "1"))
}

/// `ip route show match`: of several routes the longest decides, and a route of several next hops has a line for each.
fn several_next_hops(peer: IpAddr, routes: &str) -> Option<Finding> {
    let hops = routes.lines().filter(|line| line.trim_start().starts_with("nexthop")).count();
    (hops > 1).then(|| {
        Finding::warning(
            format!("{hops} next hops lead to {peer}: header packets may take another way than the data"),
            "give the peer and the networks behind it one route with one next hop",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_for_each_flow_is_warned_of_and_one_queue_for_all_is_not() {
        let of = |text: &str| flow_queue("wan", text).map(|finding| finding.what);
        let default = "qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms";
        assert!(of(default).unwrap().contains("fq_codel"));
        assert!(of("qdisc mq 0: root\nqdisc fq 0: parent :1 limit 10000p flow_limit 100p").unwrap().contains("fq"));
        assert_eq!(of(&default.replace("1024", "1")), None);
        assert_eq!(of("qdisc pfifo_fast 0: root refcnt 2 bands 3\nqdisc noqueue 0: root"), None);
    }

    #[test]
    fn several_next_hops_are_warned_of() {
        let peer = "10.9.0.2".parse().unwrap();
        let one = "default via 10.0.0.1 dev wan\n10.9.0.0/24 via 10.0.0.2 dev wan\n";
        let two = "default \n\tnexthop via 10.0.0.1 dev wan weight 1 \n\tnexthop via 10.0.0.2 dev lte weight 1 \n";
        assert_eq!(several_next_hops(peer, one), None);
        assert!(several_next_hops(peer, two).unwrap().what.starts_with("2 next hops"));
    }

    #[test]
    fn other_schemes_have_no_header_packets() {
        assert_eq!(findings(&Config::new("gsnoop", "lo")), Vec::new());
    }
}
