//! The event loop: takes the earliest event, hands packets to elements, elements' packets to
//! links, and keeps at most one event pending per link direction and element.

use crate::address;
use crate::check::Checker;
use crate::element::{Accounts, Body, Place, Slot};
use crate::events::{Kind, Sources};
use crate::express;
use crate::host::Host;
use crate::io::{ElementIo, Work, is_control, read_control};
use crate::network::{Meeting, Network};
use crate::outcome::{Drop, ElementOutcome, Mark, Outcome, SchemeOutcome};
use crate::pipe::Pipe;
use crate::queue::EventQueue;
use crate::routes::Routes;
use crate::tap::{Direction, Tap, Tapped};
use crate::topology::{RunSettings, SchemeSpec, SimError, Topology};
use airtcp_core::{ByteSize, Context, DropReason, Duration, Event, Instant, Packet, Port, Rng};
use airtcp_link::{Link, LinkSettings, QueueLimit};
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, Placement, Site};
use std::collections::{BTreeSet, VecDeque};

/// The limit of a link's queue in bytes.
fn queue_bytes(settings: &LinkSettings) -> ByteSize {
    ByteSize(match settings.queue.limit() {
        QueueLimit::Bytes(bytes) => bytes,
        QueueLimit::Packets(packets) => packets.saturating_mul(u64::from(settings.mtu)),
    })
}

/// A running topology.
pub struct Engine<'t> {
    now: Instant,
    network: Network<'t>,
    work: VecDeque<Work>,
    elements: Vec<Slot>,
    schemes: Vec<(String, &'static str, Vec<usize>)>,
    control_damaged: u64,
    checker: Checker,
    sample_every: Duration,
    warmup_end: Instant,
    events: u64,
    settings: RunSettings,
    flow_ends: Vec<(usize, usize)>,
}

impl<'t> Engine<'t> {
    /// Builds the network of a topology, watched by `tap`.
    pub fn new(topology: &Topology, settings: &RunSettings, tap: Option<&'t mut dyn Tap>) -> Result<Self, SimError> {
        if topology.nodes.len() > address::MAX_NODES {
            return Err(SimError::TooManyNodes);
        }
        let mut pipes = Vec::new();
        let mut ends = Vec::new();
        for (index, spec) in topology.links.iter().enumerate() {
            for (side, label) in ["forward", "reverse"].into_iter().enumerate() {
                let name = format!("links.{}.{label}", spec.name);
                let link = Link::new(&spec.settings[side], settings.seed, &name);
                ends.push((spec.ends[side], spec.ends[1 - side]));
                let to = spec.ends[1 - side];
                let direction = Direction { link: index, reverse: side == 1 };
                pipes.push(Pipe::new(name, direction, link, to));
            }
        }
        let mut engine = Engine {
            now: Instant::ZERO,
            network: Network {
                queue: EventQueue::new(0),
                sources: Sources::default(),
                pipes,
                routes: Routes::new(topology.nodes.len(), &ends),
                node_names: topology.nodes.clone(),
                hosts: vec![None; topology.nodes.len()],
                tap: Tapped::new(tap),
                until: Instant::MAX,
                trace_hash: 0,
                unroutable: 0,
                hop_limit_drops: 0,
            },
            work: VecDeque::new(),
            elements: Vec::new(),
            schemes: Vec::new(),
            control_damaged: 0,
            checker: Checker::new(settings.checks),
            sample_every: settings.sample_every,
            warmup_end: Instant::ZERO + settings.warmup,
            events: 0,
            settings: settings.clone(),
            flow_ends: Vec::new(),
        };
        for spec in &topology.schemes {
            engine.place_scheme(topology, spec)?;
        }
        engine.place_flows(topology)?;
        if settings.express {
            engine.mark_express();
        }
        Ok(engine)
    }

    /// Hosts talk to the other end of their flows, schemes with each other and with every host.
    fn mark_express(&mut self) {
        let Network { pipes, routes, .. } = &mut self.network;
        let node = |element: &usize| self.elements[*element].place.node;
        let flows = self.flow_ends.iter().map(|(from, to)| (node(from), node(to)));
        let schemes: Vec<usize> = self.schemes.iter().flat_map(|(.., placed)| placed.iter().map(node)).collect();
        let places: BTreeSet<usize> = self.elements.iter().map(|slot| slot.place.node).collect();
        let of_schemes = schemes.iter().flat_map(|scheme| places.iter().map(|place| (*scheme, *place)));
        let ends = flows.chain(of_schemes).flat_map(|(from, to)| [(from, to), (to, from)]);
        express::mark(pipes, routes, ends, |node| places.contains(&node));
    }

    fn add_element(&mut self, name: String, node: usize, pipe: Option<usize>, body: Body) -> usize {
        let index = self.elements.len();
        let rng = Rng::derive(self.settings.seed, &name);
        let place = Place { name, index, node, pipe, peer: None };
        self.elements.push(Slot { body, rng, place, accounts: Accounts::default(), busy: (Instant::ZERO, 0) });
        index
    }

    fn place_scheme(&mut self, topology: &Topology, spec: &SchemeSpec) -> Result<(), SimError> {
        let link = &topology.links[spec.link];
        let ends = match spec.entry.placement {
            Placement::BothEnds => &[End::Near, End::Far][..],
            Placement::NearEnd => &[End::Near][..],
        };
        let mut placed = Vec::new();
        for end in ends {
            let side = usize::from(*end == End::Far);
            let (outgoing, incoming) = (2 * spec.link + side, 2 * spec.link + 1 - side);
            if self.network.pipes[outgoing].before.is_some() || self.network.pipes[incoming].after.is_some() {
                return Err(SimError::Occupied { scheme: spec.name.clone() });
            }
            let (out, back) = (&link.settings[side], &link.settings[1 - side]);
            let facts = LinkFacts {
                rate: out.rate,
                round_trip: Some(out.delay + back.delay),
                queue: Some(queue_bytes(out)),
                mtu: Some(out.mtu),
            };
            let name = format!("schemes.{}.{}", spec.name, topology.nodes[link.ends[side]]);
            let mut rng = Rng::derive(self.settings.seed, &format!("{name}/make"));
            let mut site = Site { end: *end, link: facts, rng: &mut rng, max_memory: MAX_MEMORY };
            let element = (spec.entry.make)(&spec.settings, &mut site)
                .map_err(|error| SimError::Scheme { scheme: spec.name.clone(), error })?;
            let index = self.add_element(name, link.ends[side], Some(outgoing), Body::Scheme(element));
            self.network.pipes[outgoing].before = Some(index);
            self.network.pipes[incoming].after = Some(index);
            placed.push(index);
        }
        if let [near, far] = placed[..] {
            self.elements[near].place.peer = Some(far);
            self.elements[far].place.peer = Some(near);
        }
        self.schemes.push((spec.name.clone(), spec.entry.slug, placed));
        Ok(())
    }

    fn place_flows(&mut self, topology: &Topology) -> Result<(), SimError> {
        for (id, flow) in topology.flows.iter().enumerate() {
            let (from, to) = (flow.from.0, flow.to.0);
            if from == to
                || self.network.routes.towards(from, to).is_none()
                || self.network.routes.towards(to, from).is_none()
            {
                return Err(SimError::Unreachable {
                    flow: flow.name.clone(),
                    from: topology.nodes[from].clone(),
                    to: topology.nodes[to].clone(),
                });
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

    fn host_of(&mut self, node: usize) -> usize {
        if let Some(index) = self.network.hosts[node] {
            return index;
        }
        let name = format!("hosts.{}", self.network.node_names[node]);
        let index = self.add_element(name, node, None, Body::Host(Box::default()));
        self.network.hosts[node] = Some(index);
        index
    }

    fn host(&mut self, index: usize) -> &mut Host {
        match &mut self.elements[index].body {
            Body::Host(host) => host,
            Body::Scheme(_) => unreachable!("host indices name hosts"),
        }
    }

    /// Runs until `end` and reports.
    pub fn run(mut self, end: Instant) -> Outcome {
        self.network.until = end;
        self.network.sources = Sources { pipes: self.network.pipes.len(), elements: self.elements.len() };
        self.network.queue = EventQueue::new(self.network.sources.count());
        for index in 0..self.elements.len() {
            self.arm(index);
        }
        self.set_sample();
        let mut warm = false;
        while let Some((at, source)) = self.network.queue.first().filter(|(at, _)| *at <= end) {
            if !warm && at >= self.warmup_end {
                warm = true;
                self.on_warm();
            }
            self.now = at;
            self.network.tap.advance(at);
            self.events += 1;
            self.handle_event(self.network.sources.kind(source));
            self.drain_work();
        }
        self.now = end;
        self.network.tap.advance(end);
        if !warm {
            self.on_warm();
        }
        self.finish(end)
    }

    fn handle_event(&mut self, kind: Kind) {
        match kind {
            Kind::Arrival(pipe) => self.handle_arrival(pipe),
            Kind::Timeout(index) => self.handle_timeout(index),
            Kind::Ready(index) => {
                self.network.queue.cancel(self.network.sources.of(kind));
                if let Some(port) = self.elements[index].accounts.refused.take() {
                    self.call(index, |element, cx| element.handle_ready(cx, port));
                }
            }
            Kind::Sample => {
                self.sample();
                self.set_sample();
            }
        }
    }

    fn set_sample(&mut self) {
        self.network.queue.set(self.network.sources.of(Kind::Sample), self.now + self.sample_every);
    }

    fn handle_timeout(&mut self, index: usize) {
        self.network.queue.cancel(self.network.sources.of(Kind::Timeout(index)));
        let slot = &mut self.elements[index];
        if slot.body.as_element().poll_timeout().is_none_or(|due| due > self.now) {
            return self.arm(index);
        }
        if slot.is_stuck(self.now) {
            // Not armed again: the run goes on without it and fails its checks.
            return self.checker.fail_bounds(&slot.place.name, "a handled timeout did not move later");
        }
        self.call(index, |element, cx| element.handle_timeout(cx));
    }

    fn handle_arrival(&mut self, index: usize) {
        self.network.pipes[index].advance(self.now, &mut self.network.tap);
        while let Some(packet) = self.network.pipes[index].link.receive(self.now) {
            self.network.trace(self.now, index, &packet);
            if let Some(tap) = self.network.tap.get() {
                tap.on_arrived(self.now, self.network.pipes[index].direction, &packet);
            }
            let (node, after) = (self.network.pipes[index].to, self.network.pipes[index].after);
            match after {
                _ if is_control(&packet) => self.work.push_back(Work::ForwardControl { node, packet }),
                Some(element) => self.deliver(Meeting { element, port: Port::LINK, packet }),
                None => self.forward(node, packet),
            }
            self.drain_work();
        }
        let next = self.network.pipes[index].link.next_event().unwrap_or(Instant::MAX);
        self.network.queue.set(self.network.sources.of(Kind::Arrival(index)), next);
    }

    #[inline]
    fn drain_work(&mut self) {
        if !self.work.is_empty() {
            self.do_work();
        }
    }

    fn do_work(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Deliver(meeting) => self.deliver(meeting),
                Work::ForwardControl { node, packet } => self.forward_control(node, packet),
                Work::Status { element, status } => {
                    self.call(element, |element, cx| element.handle_tx_status(cx, status));
                }
            }
        }
    }

    fn forward(&mut self, node: usize, packet: Packet) {
        if let Some(meeting) = self.network.forward(self.now, node, packet) {
            self.deliver(meeting);
        }
    }

    /// Messages between our boxes are the box's own traffic: no scheme queues or repairs them.
    fn forward_control(&mut self, node: usize, packet: Packet) {
        let destination = address::node_of(&packet.ip().destination);
        if destination == Some(node) {
            if packet.is_corrupted() {
                self.control_damaged += 1;
                self.network.show_drop(self.now, node, &packet, DropReason::Corrupted);
            } else if let Some((element, peer, message)) = read_control(&packet)
                && element < self.elements.len()
            {
                self.call(element, |element, cx| element.handle_control(cx, peer, &message));
            }
        } else if let Some(pipe) = destination.and_then(|to| self.network.routes.towards(node, to)) {
            self.network.send(self.now, pipe, packet);
        }
    }

    fn deliver(&mut self, meeting: Meeting) {
        let Meeting { element, port, packet } = meeting;
        self.elements[element].accounts.received += 1;
        self.call(element, |element, cx| element.handle_packet(cx, port, packet));
    }

    fn call(&mut self, index: usize, work: impl FnOnce(&mut dyn airtcp_core::Element, &mut Context<'_>)) {
        let peer = self.elements[index].place.peer;
        let peer_node = peer.map(|peer| self.elements[peer].place.node);
        let slot = &mut self.elements[index];
        let mut io = ElementIo {
            now: self.now,
            place: &slot.place,
            accounts: &mut slot.accounts,
            network: &mut self.network,
            work: &mut self.work,
            peer_node,
        };
        let mut cx = Context::new(self.now, &mut slot.rng, &mut io);
        work(slot.body.element(), &mut cx);
        self.arm(index);
    }

    /// Makes sure that the queue has an event no later than the element's deadline. A deadline that moved later changes
    /// nothing: the pending event finds out.
    fn arm(&mut self, index: usize) {
        let Some(due) = self.elements[index].body.as_element().poll_timeout() else { return };
        let (due, source) = (due.max(self.now), self.network.sources.of(Kind::Timeout(index)));
        if due < self.network.queue.at(source) {
            self.network.queue.set(source, due);
        }
    }

    fn on_warm(&mut self) {
        for slot in &mut self.elements {
            if let Body::Host(host) = &mut slot.body {
                host.on_warm();
            }
        }
    }

    fn sample(&mut self) {
        let repairs = self.elements.iter().map(|slot| slot.accounts.events[Event::Repair as usize]).sum();
        for slot in &mut self.elements {
            if let Body::Host(host) = &mut slot.body {
                host.sample(self.now, repairs, self.settings.series);
            }
        }
        self.checker.check(self.now, &self.elements, &self.network.pipes);
    }

    fn finish(mut self, end: Instant) -> Outcome {
        self.checker.check(end, &self.elements, &self.network.pipes);
        let flow_ends = std::mem::take(&mut self.flow_ends);
        let mut flows = Vec::new();
        for (id, (sender, receiver)) in flow_ends.into_iter().enumerate() {
            let received = self.host(receiver).receiver_outcome(id, end);
            flows.push(self.host(sender).complete_outcome(id, received));
        }
        for slot in &self.elements {
            if let Body::Host(host) = &slot.body {
                self.checker.check_streams(host);
            }
        }
        let measured = end.saturating_since(self.warmup_end);
        Outcome {
            flows,
            schemes: self.schemes.iter().map(|scheme| self.scheme_outcome(scheme)).collect(),
            drops: self.drops(),
            marks: self.marks(),
            checks: self.checker.finish(),
            trace_hash: self.network.trace_hash,
            events: self.events,
            measured,
        }
    }

    fn scheme_outcome(&self, (name, kind, indices): &(String, &'static str, Vec<usize>)) -> SchemeOutcome {
        let elements = indices.iter().map(|index| {
            let slot = &self.elements[*index];
            let mut gauges = Vec::new();
            slot.body.as_element().observe(&mut |gauge, value| gauges.push((gauge, value)));
            let counts = Event::ALL.iter().map(|event| (*event, slot.accounts.events[*event as usize]));
            ElementOutcome {
                node: self.network.node_names[slot.place.node].clone(),
                events: counts.filter(|(_, count)| *count > 0).collect(),
                gauges,
            }
        });
        SchemeOutcome { name: name.clone(), kind, elements: elements.collect() }
    }

    fn marks(&self) -> Vec<Mark> {
        let marks = self
            .network
            .pipes
            .iter()
            .map(|pipe| Mark { place: pipe.name.clone(), packets: pipe.link.counters().marked });
        marks.filter(|mark| mark.packets > 0).collect()
    }

    fn drops(&self) -> Vec<Drop> {
        let mut drops = Vec::new();
        let mut add = |place: &str, reason: DropReason, packets: u64| {
            if packets > 0 {
                drops.push(Drop { place: place.to_string(), reason, packets });
            }
        };
        for pipe in &self.network.pipes {
            for reason in DropReason::ALL {
                add(&pipe.name, *reason, pipe.link.counters().dropped_for(*reason));
            }
        }
        for slot in &self.elements {
            for reason in DropReason::ALL {
                add(&slot.place.name, *reason, slot.accounts.discarded[*reason as usize]);
            }
        }
        add("nodes", DropReason::NoRoute, self.network.unroutable);
        add("nodes", DropReason::HopLimit, self.network.hop_limit_drops);
        add("control", DropReason::Corrupted, self.control_damaged);
        drops
    }
}
