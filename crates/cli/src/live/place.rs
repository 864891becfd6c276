//! Where the gateways of a live run's schemes are: at the ends of a link, or of a path.

use airtcp_core::ByteSize;
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::{LinkSpec, On, ResolvedScenario, SchemeSpec};
use airtcp_link::LinkSettings;
use airtcp_linux::testbed::{Family, Testbed};
use airtcp_schemes::{LinkFacts, Placement};
use std::fmt::Write;
use std::net::IpAddr;

/// Port of control messages.
const PORT: u16 = 4791;

/// The place of one gateway.
pub(super) struct Place {
    pub(super) node: String,
    /// Name of the link that it works on.
    pub(super) link: String,
    pub(super) facts: LinkFacts,
    pub(super) peer: Option<Peer>,
}

/// Its peer.
pub(super) struct Peer {
    address: IpAddr,
    /// What else a path needs to be known.
    path: Option<Path>,
}

/// A path to the peer.
struct Path {
    hops: usize,
    /// The own address, which the peer hears messages from.
    own: IpAddr,
    /// Nodes to which the way begins with this path.
    networks: Vec<IpAddr>,
    direction: &'static str,
}

impl Place {
    /// The lines of a gateway file that say where it is.
    pub(super) fn write(&self, text: &mut String) {
        let mut line = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("writing to a string");
        let Some(Peer { address, path }) = &self.peer else { return };
        let Some(Path { hops, own, networks, direction }) = path else {
            return line(format_args!("peer = \"{address}:{PORT}\""));
        };
        line(format_args!("direction = \"{direction}\"\nlisten = \"{own}:{PORT}\""));
        let networks: Vec<String> = networks.iter().map(|network| format!("\"{network}/{}\"", bits(network))).collect();
        let networks = networks.join(", ");
        line(format_args!("peer = \"{address}:{PORT}\"\nhops = {hops}\nnetworks = [{networks}]"));
    }
}

fn bits(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The places of a scheme's gateways.
pub(super) fn places(testbed: &Testbed, cell: &ResolvedScenario, scheme: &SchemeSpec) -> Result<Vec<Place>, NotRun> {
    match scheme.on {
        On::Link(link) => on_link(testbed, cell, scheme, &cell.links[link]),
        // Scenarios with cells are not run live.
        On::Wlan(_) => Ok(Vec::new()),
        On::Path(from, to) => [(from, to, "out"), (to, from, "in")]
            .map(|end| along_path(testbed, cell, scheme, end))
            .into_iter()
            .collect(),
    }
}

fn on_link(
    testbed: &Testbed,
    cell: &ResolvedScenario,
    scheme: &SchemeSpec,
    link: &LinkSpec,
) -> Result<Vec<Place>, NotRun> {
    let has_peer = scheme.choice.entry.placement == Placement::BothEnds;
    let ends: &[usize] = if has_peer { &[0, 1] } else { &[0] };
    let place = |&end: &usize| {
        let node = link.between[end];
        if cell.is_host(node) {
            return Err(at_host(scheme, &format!("is on link '{}' at", link.name), &cell.nodes[node]));
        }
        let other = cell.nodes[link.between[1 - end]].as_str();
        let address = testbed.link_address(&link.name, other, Family::V4).filter(|_| has_peer);
        let (out, back) = if end == 0 { (&link.forward, &link.reverse) } else { (&link.reverse, &link.forward) };
        let peer = address.map(|address| Peer { address, path: None });
        Ok(Place { node: cell.nodes[node].clone(), link: link.name.clone(), facts: facts(out, back), peer })
    };
    ends.iter().map(place).collect()
}

fn at_host(scheme: &SchemeSpec, place: &str, host: &str) -> NotRun {
    NotRun::Skipped(format!(
        "scheme '{}' {place} host '{host}'; a live gateway runs on a router; put a node between the host and the link",
        scheme.name
    ))
}

fn along_path(
    testbed: &Testbed,
    cell: &ResolvedScenario,
    scheme: &SchemeSpec,
    (node, other, direction): (usize, usize, &'static str),
) -> Result<Place, NotRun> {
    if cell.is_host(node) {
        return Err(at_host(scheme, "begins or ends at", &cell.nodes[node]));
    }
    let [node, other] = [node, other].map(|node| cell.nodes[node].as_str());
    let nowhere = || NotRun::Failed(format!("scheme '{}': no way leads from '{node}' to '{other}'", scheme.name));
    let way = testbed.way(node, other).filter(|way| !way.is_empty()).ok_or_else(nowhere)?;
    let address = |node: &str, family| testbed.address(node, family).ok_or_else(nowhere);
    let leads_along = |goal: &&String| testbed.way(node, goal).is_some_and(|to_goal| to_goal.starts_with(&way));
    let mut networks = Vec::new();
    for goal in cell.nodes.iter().filter(leads_along) {
        networks.extend([address(goal, Family::V4)?, address(goal, Family::V6)?]);
    }
    let peer = Peer {
        address: address(other, Family::V4)?,
        path: Some(Path { hops: way.len(), own: address(node, Family::V4)?, networks, direction }),
    };
    // Of the whole path only what an operator would write: its link may be faster than what follows.
    let link = way[0].0.to_owned();
    Ok(Place { node: node.to_owned(), link, facts: LinkFacts::default(), peer: Some(peer) })
}

/// The facts about its link that the simulator gives an element.
fn facts(out: &LinkSettings, back: &LinkSettings) -> LinkFacts {
    let queue = out.queue.limit();
    LinkFacts {
        rate: out.rate.constant(),
        round_trip: Some(out.delay.nominal() + back.delay.nominal()),
        queue: Some(ByteSize(queue.bytes(out.mtu))),
        queue_packets: queue.packets(),
        mtu: Some(out.mtu),
        addresses: None,
    }
}
