//! Where a scheme's gateways stand in the testbed, what is known of their link there, and which packets are theirs.

use airtcp_core::{ByteSize, Duration};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::{Hop, On, Paths, ResolvedScenario, SchemeSpec, Step};
use airtcp_link::LinkSettings;
use airtcp_linux::testbed::{Family, Testbed};
use airtcp_schemes::{LinkFacts, Placement};
use std::net::IpAddr;

/// The place of one gateway.
pub(super) struct Site<'a> {
    pub(super) node: &'a str,
    /// The interface, which is called as the link.
    pub(super) link: &'a str,
    /// Address of the other gateway, where there is one.
    pub(super) peer: Option<IpAddr>,
    /// Hops to it.
    pub(super) hops: usize,
    /// What is behind it; empty where all that passes the link is for it.
    pub(super) networks: Vec<String>,
    /// Which way a trunk leads.
    pub(super) direction: Option<&'static str>,
    pub(super) facts: LinkFacts,
}

/// The places of all gateways of a scheme, the near end first.
pub(super) fn of<'a>(
    testbed: &Testbed,
    cell: &'a ResolvedScenario,
    scheme: &SchemeSpec,
) -> Result<Vec<Site<'a>>, NotRun> {
    let placement = scheme.choice.entry.placement;
    match scheme.on {
        // Scenarios with cells are not run live.
        On::Wlan(_) => Ok(Vec::new()),
        On::Link(link) => {
            let ends: &[usize] = if placement == Placement::BothEnds { &[0, 1] } else { &[0] };
            ends.iter().map(|end| on_link(testbed, cell, scheme, link, *end)).collect()
        }
        On::Path(from, to) => {
            let direction = |direction| Some(direction).filter(|_| placement == Placement::Path);
            let near = Site { direction: direction("out"), ..on_path(testbed, cell, scheme, [from, to])? };
            let far = Site { direction: direction("in"), ..on_path(testbed, cell, scheme, [to, from])? };
            Ok(vec![near, far])
        }
    }
}

fn on_link<'a>(
    testbed: &Testbed,
    cell: &'a ResolvedScenario,
    scheme: &SchemeSpec,
    index: usize,
    end: usize,
) -> Result<Site<'a>, NotRun> {
    let link = &cell.links[index];
    let [node, other] = [end, 1 - end].map(|end| link.between[end]);
    refuse_host(cell, scheme, node, &format!("is on link '{}'", link.name))?;
    let has_peer = scheme.choice.entry.placement == Placement::BothEnds;
    let peer = testbed.link_address(&link.name, &cell.nodes[other], Family::V4).filter(|_| has_peer);
    let out = Hop { link: index, forward: end == 0 };
    let facts = facts(cell, &[out], &[out.back()]);
    let (node, networks, direction) = (&cell.nodes[node], Vec::new(), None);
    Ok(Site { node, link: &link.name, peer, hops: 1, networks, direction, facts })
}

/// One end of a path; the packets there that pass the whole of it are known by the nodes behind the other end.
fn on_path<'a>(
    testbed: &Testbed,
    cell: &'a ResolvedScenario,
    scheme: &SchemeSpec,
    [node, other]: [usize; 2],
) -> Result<Site<'a>, NotRun> {
    refuse_host(cell, scheme, node, "begins or ends")?;
    let paths = Paths::new(cell.nodes.len(), &cell.links, &cell.wlans);
    let steps = |from, to| paths.between(from, to).unwrap_or_default();
    let links = |steps: Vec<Step>| steps.into_iter().filter_map(Step::link).collect::<Vec<Hop>>();
    let (path, out, back) = (steps(node, other), links(steps(node, other)), links(steps(other, node)));
    let behind = (0..cell.nodes.len()).filter(|goal| *goal != node && steps(node, *goal).starts_with(&path));
    let addresses = behind.flat_map(|goal| {
        let address = |family, bits| Some(format!("{}/{bits}", testbed.address(&cell.nodes[goal], family)?));
        [address(Family::V4, 32), address(Family::V6, 128)].into_iter().flatten()
    });
    let first = out.first().ok_or_else(|| NotRun::Failed("a path without links".into()))?;
    Ok(Site {
        node: &cell.nodes[node],
        link: &cell.links[first.link].name,
        peer: testbed.address(&cell.nodes[other], Family::V4),
        hops: out.len(),
        networks: addresses.collect(),
        direction: None,
        facts: facts(cell, &out, &back),
    })
}

fn refuse_host(cell: &ResolvedScenario, scheme: &SchemeSpec, node: usize, place: &str) -> Result<(), NotRun> {
    if !cell.is_host(node) {
        return Ok(());
    }
    let (name, node) = (&scheme.name, &cell.nodes[node]);
    Err(NotRun::Skipped(format!(
        "scheme '{name}' {place} at host '{node}'; a live gateway runs on a router; put a node between the host and the link"
    )))
}

/// The facts about its link, or path, that the simulator gives an element.
fn facts(cell: &ResolvedScenario, out: &[Hop], back: &[Hop]) -> LinkFacts {
    let out: Vec<&LinkSettings> = out.iter().map(|hop| hop.settings(cell)).collect();
    let back = back.iter().map(|hop| hop.settings(cell));
    let queue = out[0].queue.limit();
    let delays = out.iter().copied().chain(back).map(|way| way.delay.nominal());
    LinkFacts {
        rate: out.iter().filter_map(|way| way.rate.constant()).min(),
        round_trip: Some(delays.fold(Duration::ZERO, |sum, delay| sum + delay)),
        queue: Some(ByteSize(queue.bytes(out[0].mtu))),
        queue_packets: queue.packets(),
        mtu: out.iter().map(|way| way.mtu).min(),
        ends: None,
    }
}
