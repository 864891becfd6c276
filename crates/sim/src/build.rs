//! Building a run: links, cells, elements and routes from the description of a topology.

use crate::address::{self, Family};
use crate::air::{AirHop, Wlan};
use crate::check::Checker;
use crate::dot11::Bss;
use crate::element::{ElementKind, Exit, Place, PlacedElement, SchemePlace, host_name};
use crate::engine::Engine;
use crate::error::SimError;
use crate::events::Sources;
use crate::express;
use crate::guard::Guard;
use crate::host::{Host, ProbeSpec, Requests, Side};
use crate::index::{AirHopId, ElementId, Hop, InterfaceId, LinkId, NodeId, PipeId, WlanId};
use crate::look_ahead;
use crate::network::{Departures, Network, Residents};
use crate::pipe::{self, Pipe};
use crate::queue::{EventQueue, Since};
use crate::routes::Routes;
use crate::settings::RunSettings;
use crate::spares::Spares;
use crate::tap::{Direction, Tap, Tapped};
use crate::topology::{self, On, SchemeSpec, Topology, Workload};
use airtcp_core::{ByteSize, Duration, Instant, Ledger, Rng};
use airtcp_link::varying::Forecast;
use airtcp_link::{Link, Queue};
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, Placement, Site as SchemeSite};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use typed_index_collections::{TiVec, ti_vec};

/// The ends that a scheme has elements at.
fn ends(spec: &SchemeSpec) -> &'static [End] {
    match spec.choice.entry.placement {
        Placement::BothEnds | Placement::Path => &[End::Near, End::Far],
        Placement::NearEnd => &[End::Near],
    }
}

/// A hop, and the nodes it leads from and to.
type Lead = (Hop, NodeId, NodeId);

/// Both directions of every link, which are added to `hops`.
fn lay_links(topology: &Topology, seed: u64, hops: &mut Vec<Lead>) -> TiVec<PipeId, Pipe> {
    let mut pipes: TiVec<PipeId, Pipe> = TiVec::with_capacity(2 * topology.links.len());
    for (id, spec) in topology.links.iter_enumerated() {
        for side in 0..2 {
            let link = Link::new(&spec.settings[side], seed, &pipe::name_of(&spec.name, side == 1));
            let (from, to) = (spec.ends[side], spec.ends[1 - side]);
            hops.push((Hop::Wire(pipes.next_key()), from, to));
            pipes.push(Pipe::new(id, side == 1, link, to));
        }
    }
    pipes
}

type Cells = (TiVec<WlanId, Wlan>, TiVec<AirHopId, AirHop>);

/// Every cell, and both directions of its stations, which are added to `hops`.
fn place_wlans(topology: &Topology, seed: u64, hops: &mut Vec<Lead>) -> Result<Cells, SimError> {
    let (mut wlans, mut air_hops): Cells = (TiVec::new(), TiVec::new());
    for (cell, spec) in topology.wlans.iter_enumerated() {
        let refused = |reason| SimError::Wlan { wlan: spec.name.clone(), reason };
        spec.settings.check().map_err(refused)?;
        let name = format!("wlans.{}", spec.name);
        let nodes: TiVec<InterfaceId, NodeId> = std::iter::once(spec.ap).chain(spec.stations.iter().copied()).collect();
        let mut bss = Bss::new(&spec.settings, spec.stations.len(), seed, &name);
        for (node, edca) in &spec.edca {
            spec.settings.check_edca(edca).map_err(refused)?;
            let station = spec.stations.iter().position(|station| station == node);
            let station = station.ok_or_else(|| refused("only its stations contend in it".into()))?;
            bss.contend((station + 1).into(), edca);
        }
        let first_air_hop = air_hops.next_key();
        for station in nodes.keys().skip(1) {
            // Behind the links, for taps.
            let link = topology.links.len() + air_hops.len() / 2;
            for (from, to) in [(station, InterfaceId::AP), (InterfaceId::AP, station)] {
                let direction = Direction { link, reverse: from == InterfaceId::AP };
                let (before, after) = (None, None);
                hops.push((Hop::Air(air_hops.next_key()), nodes[from], nodes[to]));
                air_hops.push(AirHop { direction, cell, from, to, node: nodes[to], before, after });
            }
        }
        let mut is_station: TiVec<NodeId, bool> = vec![false; topology.nodes.len()].into();
        spec.stations.iter().for_each(|station| is_station[*station] = true);
        wlans.push(Wlan { name, bss, nodes, is_station, first_air_hop, due: Instant::MAX, is_ending: false });
    }
    Ok((wlans, air_hops))
}

impl<'t> Engine<'t> {
    /// Builds the network of a topology, watched by `tap`.
    pub fn new(topology: &Topology, settings: &RunSettings, tap: Option<&'t mut dyn Tap>) -> Result<Self, SimError> {
        if topology.nodes.len() > address::MAX_NODES {
            return Err(SimError::TooManyNodes);
        }
        let (nodes, mut hops) = (topology.nodes.len(), Vec::new());
        let pipes = lay_links(topology, settings.seed, &mut hops);
        let (wlans, air_hops) = place_wlans(topology, settings.seed, &mut hops)?;
        let mut engine = Engine {
            now: Instant::ZERO,
            network: Network {
                queue: EventQueue::new(0, 0, 0),
                sources: Sources::default(),
                routes: Routes::new(nodes, &hops),
                pipes,
                air_hops,
                wlans,
                joints: TiVec::new(),
                fans: TiVec::new(),
                since: Since::default(),
                node_names: topology.nodes.clone(),
                links: topology.links.clone(),
                residents: ti_vec![Residents::default(); nodes],
                tap: Tapped::new(tap),
                trace_hash: 0,
                spares: Spares::default(),
                unroutable: 0,
                hop_limit_drops: 0,
                bound: BTreeMap::new(),
                looks_ahead: false,
            },
            work: VecDeque::new(),
            reports: Vec::new(),
            elements: TiVec::new(),
            schemes: Vec::new(),
            control_damaged: 0,
            checker: Checker::new(settings.checks),
            sample_every: settings.sample_every,
            warmup_end: Instant::ZERO + settings.warmup,
            events: 0,
            guard: Guard::new(settings.stop.clone()),
            settings: settings.clone(),
            flow_ends: TiVec::new(),
            probe_ends: TiVec::new(),
            workload_ends: TiVec::new(),
            levels: Vec::new(),
        };
        for spec in &topology.schemes {
            engine.place_scheme(topology, spec)?;
        }
        engine.elements.reserve_exact(nodes);
        engine.place_flows(topology)?;
        engine.place_workloads(topology)?;
        engine.place_probes(topology);
        if settings.express {
            engine.mark_express();
        }
        engine.network.looks_ahead = engine.elements.len() >= look_ahead::LEAST_ELEMENTS;
        Ok(engine)
    }

    /// Hosts talk to the other end of their flows, schemes with each other and with every host.
    fn mark_express(&mut self) {
        let Network { pipes, air_hops, routes, tap, joints, fans, .. } = &mut self.network;
        let node = |element: &ElementId| self.elements[*element].place.node;
        let talkers = self.flow_ends.iter().chain(&self.workload_ends).chain(&self.probe_ends);
        let flows = talkers.map(|(from, to)| (node(from), node(to)));
        let schemes: Vec<NodeId> = self.schemes.iter().flat_map(|(.., placed)| placed.iter().map(node)).collect();
        let places: BTreeSet<NodeId> = self.elements.iter().map(|slot| slot.place.node).collect();
        let of_schemes = schemes.iter().flat_map(|scheme| places.iter().map(|place| (*scheme, *place)));
        let ends = flows.chain(of_schemes).flat_map(|(from, to)| [(from, to), (to, from)]);
        let exit = |slot: &PlacedElement| match slot.place.exit {
            Exit::Hop(Hop::Wire(pipe)) => Some(pipe),
            _ => None,
        };
        let entered: BTreeSet<PipeId> = self.elements.iter().filter_map(exit).collect();
        let (has_element, is_entered) = (|node| places.contains(&node), |pipe| entered.contains(&pipe));
        (*joints, *fans) = express::mark(pipes, air_hops, routes, ends, has_element, is_entered);
        tap.set_lag(joints.iter().map(|joint| joint.unseen).max().unwrap_or_default());
        for pipe in self.network.pipes.keys() {
            let Residents { host, locals } = &self.network.residents[self.network.pipes[pipe].to];
            self.network.pipes[pipe].home = host.filter(|_| locals.is_empty()).unwrap_or(ElementId::NONE);
        }
    }

    fn add_element(&mut self, name: String, node: NodeId, exit: Exit, body: ElementKind) -> ElementId {
        let index = self.elements.next_key();
        let rng = Rng::derive(self.settings.seed, &name);
        let departures = Departures::default();
        let scheme_name = if exit == Exit::Node { Box::default() } else { name.into() };
        let place = Place { scheme_name, index, node, exit, peer: None, refused: None, departures };
        let clock = if matches!(body, ElementKind::Scheme(_)) { self.settings.uptime } else { Duration::ZERO };
        self.elements.push_and_get_key(PlacedElement {
            body,
            clock,
            rng,
            place,
            ledger: Ledger::default(),
            beliefs: Vec::new(),
            armed: Instant::MAX,
            busy: (Instant::ZERO, 0),
        })
    }

    fn place_scheme(&mut self, topology: &Topology, spec: &SchemeSpec) -> Result<(), SimError> {
        let wanted = match (spec.choice.entry.placement, spec.on) {
            (Placement::Path, On::Link(_) | On::Wlan(_)) => Some("from a node to another one"),
            (Placement::NearEnd, On::Path(..)) => Some("on a link or a cell"),
            _ => None,
        };
        if let Some(wanted) = wanted {
            return Err(SimError::Misplaced { scheme: spec.name.clone(), slug: spec.choice.entry.slug, wanted });
        }
        let placed = match spec.on {
            On::Link(link) => self.place_on_link(topology, spec, link)?,
            On::Wlan(wlan) => self.place_on_wlan(topology, spec, wlan)?,
            On::Path(from, to) => self.place_on_path(topology, spec, from, to)?,
        };
        if let [near, far] = placed[..] {
            for (one, other) in [(near, far), (far, near)] {
                self.elements[one].place.peer = Some((other, self.elements[other].place.node));
            }
        }
        self.schemes.push((spec.name.clone(), spec.choice.entry.slug, placed));
        Ok(())
    }

    fn place_on_link(
        &mut self,
        topology: &Topology,
        spec: &SchemeSpec,
        id: LinkId,
    ) -> Result<Vec<ElementId>, SimError> {
        let link = &topology.links[id];
        let mut placed = Vec::new();
        for end in ends(spec) {
            let is_far = *end == End::Far;
            let (side, outgoing, incoming) = (usize::from(is_far), PipeId::of(id, is_far), PipeId::of(id, !is_far));
            if self.network.pipes[outgoing].before.is_some() || self.network.pipes[incoming].after.is_some() {
                return Err(SimError::Occupied { scheme: spec.name.clone() });
            }
            let (out, back) = (&link.settings[side], &link.settings[1 - side]);
            let facts = LinkFacts {
                rate: out.rate.constant(),
                round_trip: Some(out.delay.nominal() + back.delay.nominal()),
                queue: Some(ByteSize(out.queue.limit().bytes(out.mtu))),
                queue_packets: out.queue.limit().packets(),
                mtu: Some(out.mtu),
                ends: None,
            };
            let name = pipe::name_of(&link.name, is_far);
            let forecast = Forecast::of(&out.rate, self.settings.seed, &name, Instant::ZERO);
            let exit = Exit::Hop(Hop::Wire(outgoing));
            let element =
                self.make_scheme(spec, SchemePlace { node: link.ends[side], end: *end, link: facts, forecast, exit })?;
            self.network.pipes[outgoing].before = Some(element);
            self.network.pipes[incoming].after = Some(element);
            placed.push(element);
        }
        Ok(placed)
    }

    fn place_on_wlan(
        &mut self,
        topology: &Topology,
        spec: &SchemeSpec,
        cell: WlanId,
    ) -> Result<Vec<ElementId>, SimError> {
        let (of_wlan, wlan) = (&topology.wlans[cell], &self.network.wlans[cell]);
        let both = |station| [wlan.air_hop(station, InterfaceId::AP), wlan.air_hop(InterfaceId::AP, station)];
        let hops: Vec<[AirHopId; 2]> = wlan.nodes.keys().skip(1).map(both).collect();
        let is_taken = |hop: &AirHopId| {
            let air_hop = &self.network.air_hops[*hop];
            air_hop.before.is_some() || air_hop.after.is_some()
        };
        if hops.iter().flatten().any(is_taken) {
            return Err(SimError::Occupied { scheme: spec.name.clone() });
        }
        let mut placed = Vec::new();
        let facts = |queue: &Queue| LinkFacts {
            rate: Some(of_wlan.settings.data_rate()),
            round_trip: None,
            queue: Some(ByteSize(queue.limit().bytes(of_wlan.settings.mtu))),
            queue_packets: queue.limit().packets(),
            mtu: Some(of_wlan.settings.mtu),
            ends: None,
        };
        for end in ends(spec) {
            if *end == End::Near {
                let exit = Exit::Stations(cell);
                let element = self.make_scheme(
                    spec,
                    SchemePlace {
                        node: of_wlan.ap,
                        end: *end,
                        link: facts(&of_wlan.settings.ap_queue),
                        forecast: None,
                        exit,
                    },
                )?;
                for [up, down] in &hops {
                    self.network.air_hops[*up].after = Some(element);
                    self.network.air_hops[*down].before = Some(element);
                }
                placed.push(element);
                continue;
            }
            for ([up, down], node) in hops.iter().zip(&of_wlan.stations) {
                let exit = Exit::Hop(Hop::Air(*up));
                let element = self.make_scheme(
                    spec,
                    SchemePlace { node: *node, end: *end, link: facts(&of_wlan.settings.queue), forecast: None, exit },
                )?;
                self.network.air_hops[*up].before = Some(element);
                self.network.air_hops[*down].after = Some(element);
                placed.push(element);
            }
        }
        Ok(placed)
    }

    /// One element of a scheme.
    pub(crate) fn make_scheme(&mut self, spec: &SchemeSpec, at: SchemePlace) -> Result<ElementId, SimError> {
        let SchemePlace { node, end, link, forecast, exit } = at;
        let name = format!("schemes.{}.{}", spec.name, self.network.node_names[node]);
        let mut rng = Rng::derive(self.settings.seed, &format!("{name}/make"));
        let mut site = SchemeSite { end, link, rng: &mut rng, max_memory: MAX_MEMORY, forecast };
        let element = spec
            .choice
            .settings
            .make(&mut site)
            .map_err(|error| SimError::Scheme { scheme: spec.name.clone(), error })?;
        Ok(self.add_element(name, node, exit, ElementKind::Scheme(element)))
    }

    fn place_flows(&mut self, topology: &Topology) -> Result<(), SimError> {
        for (id, flow) in topology.flows.iter_enumerated() {
            let (from, to) = (flow.from, flow.to);
            self.check_reach(topology, &flow.name, [from, to])?;
            if let Some(reason) = flow.socket.settings.live_only() {
                return Err(SimError::LiveOnly { flow: flow.name.to_string(), reason });
            }
            let (sender, receiver) = (self.host_of(from), self.host_of(to));
            let run = self.settings.clone();
            let ends = [from, to].map(|node| address::of_node(node, flow.family()));
            self.host(sender).add_sender(id, flow, ends, &run);
            self.host(receiver).add_receiver(id, flow, ends, &run);
            self.flow_ends.push((sender, receiver));
        }
        Ok(())
    }

    /// There is a way from one node to the other and back.
    fn check_reach(&self, topology: &Topology, flow: &str, [from, to]: [NodeId; 2]) -> Result<(), SimError> {
        let routes = &self.network.routes;
        if from != to && routes.towards(from, to).is_some() && routes.towards(to, from).is_some() {
            return Ok(());
        }
        let [from, to] = [from, to].map(|node| topology.nodes[node].to_string());
        Err(SimError::Unreachable { flow: flow.to_owned(), from, to })
    }

    fn place_workloads(&mut self, topology: &Topology) -> Result<(), SimError> {
        for (id, workload) in topology.workloads.iter_enumerated() {
            if usize::from(id) >= Workload::MOST || workload.arrivals.len() > Workload::MOST_REQUESTS {
                return Err(SimError::TooManyRequests { workload: workload.name.clone() });
            }
            let nodes = [workload.from, workload.to];
            self.check_reach(topology, &workload.name, nodes)?;
            let ends = nodes.map(|node| address::of_node(node, topology::family(workload.ipv6)));
            let (server, client) = (self.host_of(workload.from), self.host_of(workload.to));
            for (host, side) in [(server, Side::Server), (client, Side::Client)] {
                let requests = Requests::new(id, side, workload.clone(), ends, self.settings.seed);
                self.host(host).add_requests(requests);
            }
            self.workload_ends.push((server, client));
        }
        Ok(())
    }

    fn place_probes(&mut self, topology: &Topology) {
        for (id, probe) in topology.probes.iter_enumerated() {
            let spec = ProbeSpec {
                name: probe.name.clone(),
                every: probe.every.max(Duration::from_nanos(1)),
                size: probe.size,
                from: self.warmup_end,
                until: Instant::ZERO + self.settings.duration,
            };
            let ends = [probe.from, probe.to].map(|node| address::of_node(node, Family::V4));
            let (asks, answers) = (self.host_of(probe.from), self.host_of(probe.to));
            self.host(asks).add_probe(id, spec, ends);
            self.probe_ends.push((asks, answers));
        }
    }

    fn host_of(&mut self, node: NodeId) -> ElementId {
        if let Some(index) = self.network.residents[node].host {
            return index;
        }
        let name = host_name(&self.network.node_names[node]);
        let index = self.add_element(name, node, Exit::Node, ElementKind::Host(Host::default()));
        self.network.residents[node].host = Some(index);
        index
    }

    /// The host that the element with this number is.
    pub fn host(&mut self, index: ElementId) -> &mut Host {
        match &mut self.elements[index].body {
            ElementKind::Host(host) => host,
            ElementKind::Scheme(_) => unreachable!("host indices name hosts"),
        }
    }
}
