//! The links between the nodes, how a packet passes over them, and the events that they wait for.

mod air;
mod departure;

pub use departure::{Departure, Departures};

use crate::address;
use crate::air::{AirHop, Wlan};
use crate::approach::Approach;
use crate::control::is_control;
use crate::events::{Kind, Sources};
use crate::index::{AirHopId, ElementId, FanId, Hop, JointId, LinkId, NodeId, PipeId, WlanId};
use crate::pipe::{Feed, Onward, Pipe};
use crate::queue::{EventQueue, Since};
use crate::routes::Routes;
use crate::spares::Spares;
use crate::tap::Tapped;
use crate::topology::LinkSpec;
use crate::upcoming::{Entry, Upcoming};
use airtcp_core::{DropReason, Instant, Packet, Port, TcpHeader};
use std::collections::BTreeMap;
use std::sync::Arc;
use typed_index_collections::TiVec;

/// See the module.
pub struct Network<'t> {
    pub queue: EventQueue,
    pub sources: Sources,
    /// The directions of links.
    pub pipes: TiVec<PipeId, Pipe>,
    /// The directions within cells.
    pub air_hops: TiVec<AirHopId, AirHop>,
    pub wlans: TiVec<WlanId, Wlan>,
    pub joints: TiVec<JointId, Approach>,
    /// What will arrive behind the links of each fan.
    pub fans: TiVec<FanId, Upcoming<ElementId, Packet>>,
    /// Since when that has been the next of its source which the event that is handled causes.
    pub since: Since,
    pub routes: Routes,
    pub node_names: Arc<TiVec<NodeId, Arc<str>>>,
    pub links: Arc<TiVec<LinkId, LinkSpec>>,
    /// Who takes what is for each node itself.
    pub residents: TiVec<NodeId, Residents>,
    pub tap: Tapped<'t>,
    /// Sum of the hashes of every arrival at the end of a link: what arrived where and when, in whatever order links tell.
    pub trace_hash: u64,
    pub spares: Spares,
    /// Packets that no route led on for.
    pub unroutable: u64,
    /// Packets that met too many nodes.
    pub hop_limit_drops: u64,
    /// Elements at a hop that get only what is for some nodes, and what comes from there: those to which the way begins with
    /// the element's path.
    pub bound: BTreeMap<ElementId, TiVec<NodeId, bool>>,
    /// What the next packets need is fetched before they come.
    pub looks_ahead: bool,
}

/// The elements at a node that take what is for the node itself.
#[derive(Clone, Debug, Default)]
pub struct Residents {
    pub host: Option<ElementId>,
    /// Those that see it before the host.
    pub locals: Vec<ElementId>,
}

/// A packet before the element that takes it next.
#[derive(Debug)]
pub struct Delivery {
    pub element: ElementId,
    pub port: Port,
    pub packet: Packet,
}

impl Network<'_> {
    /// Sends a packet of a node's own as the one before it left. Gives it back if a scheme takes it first.
    #[inline(always)]
    pub fn depart(&mut self, now: Instant, departure: &Departure, packet: Packet) -> Option<Delivery> {
        let Departure { goal, hop, before, .. } = *departure;
        if let Some(element) = before {
            return Some(Delivery { element, port: Port::INNER, packet });
        }
        self.send(now, hop, goal, packet);
        None
    }

    /// Sends a packet that is at `node`, where the element `from` sent it if any did, into the link it takes by its
    /// destination. Gives it back if a host or a scheme takes it first. How one of the node's own leaves is noted.
    pub fn forward(
        &mut self,
        now: Instant,
        node: NodeId,
        from: Option<ElementId>,
        departures: &mut Departures,
        mut packet: Packet,
    ) -> Option<Delivery> {
        let ip = packet.ip();
        let destination = address::node_of(&ip.destination);
        let is_own = address::node_of(&ip.source) == Some(node);
        if destination == Some(node) {
            let Some((element, port)) = self.at_home(node, from) else {
                self.drop_unroutable(now, node, &packet);
                return None;
            };
            return Some(Delivery { element, port, packet });
        }
        let route = destination.and_then(|to| Some((to, self.routes.towards(node, to)?)));
        let Some((to, hop)) = route else {
            self.drop_unroutable(now, node, &packet);
            return None;
        };
        if !is_own {
            let hops = packet.ip().hop_limit;
            if hops <= 1 {
                self.hop_limit_drops += 1;
                self.show_drop(now, node, &packet, DropReason::HOP_LIMIT);
                return None;
            }
            packet.take_hop();
        }
        let before = self.before(hop, &packet).filter(|element| self.bound.get(element).is_none_or(|nodes| nodes[to]));
        if is_own {
            let departure = Departure::new(packet.ip(), to, hop, before);
            departure.into_iter().for_each(|departure| departures.note(departure, &packet));
        }
        if let Some(element) = before {
            return Some(Delivery { element, port: Port::INNER, packet });
        }
        self.send(now, hop, to, packet);
        None
    }

    /// Who takes what is for `node` itself: the element behind `from` among those who look at it, then the host.
    #[inline]
    pub fn at_home(&self, node: NodeId, from: Option<ElementId>) -> Option<(ElementId, Port)> {
        let Residents { host, locals } = &self.residents[node];
        let host = host.map(|host| (host, Port::INNER));
        if locals.is_empty() {
            return host;
        }
        let next = locals.iter().position(|local| Some(*local) == from).map_or(0, |place| place + 1);
        locals.get(next).map(|local| (*local, Port::LINK)).or(host)
    }

    /// Has an element get packets before they enter a hop; gives back the one that was there.
    pub fn put_before(&mut self, hop: Hop, element: ElementId) -> Option<ElementId> {
        match hop {
            Hop::Wire(pipe) => self.pipes[pipe].before.replace(element),
            Hop::Air(air_hop) => self.air_hops[air_hop].before.replace(element),
        }
    }

    /// Has an element get packets when they come out of a hop; gives back the one that was there.
    pub fn put_after(&mut self, hop: Hop, element: ElementId) -> Option<ElementId> {
        match hop {
            Hop::Wire(pipe) => self.pipes[pipe].after.replace(element),
            Hop::Air(air_hop) => self.air_hops[air_hop].after.replace(element),
        }
    }

    /// Whether an element gets a packet that comes out of its hop: not if it is bound to nodes, and the packet is from another.
    #[inline]
    pub fn takes(&self, element: ElementId, packet: &Packet) -> bool {
        let Some(nodes) = self.bound.get(&element) else { return true };
        address::node_of(&packet.ip().source).is_some_and(|source| nodes[source])
    }

    /// The element that gets packets before they enter a hop.
    #[inline]
    fn element_before(&self, hop: Hop) -> Option<ElementId> {
        match hop {
            Hop::Wire(pipe) => self.pipes[pipe].before,
            Hop::Air(air_hop) => self.air_hops[air_hop].before,
        }
    }

    /// The same, if it gets this packet.
    #[inline]
    fn before(&self, hop: Hop, packet: &Packet) -> Option<ElementId> {
        let element = self.element_before(hop)?;
        match hop {
            Hop::Air(air_hop) if self.is_bridged(air_hop, packet) => None,
            _ => Some(element),
        }
    }

    /// Sends a packet for `to` into a hop; what does not fit is dropped there.
    #[inline]
    pub fn send(&mut self, now: Instant, hop: Hop, to: NodeId, packet: Packet) {
        match hop {
            Hop::Wire(pipe) => self.send_by_wire(now, pipe, to, packet),
            Hop::Air(air_hop) => {
                self.send_by_air(now, air_hop, packet, None);
            }
        }
    }

    /// Sends a packet into a link, and straight on as far as nothing can happen to it on the way.
    #[inline]
    fn send_by_wire(&mut self, now: Instant, pipe: PipeId, to: NodeId, packet: Packet) {
        self.pass(now, pipe, to, packet);
    }

    /// [`Network::send_by_wire`], always compiled into its caller: [`Network::enter`] calls it for packet after packet.
    #[inline(always)]
    fn pass(&mut self, now: Instant, pipe: PipeId, to: NodeId, packet: Packet) {
        match packet.tcp() {
            Some(tcp) => {
                let traced = Traced::of_segment(tcp, packet.wire_len());
                self.pass_links(now, pipe, packet, Passage { to, traced, is_control: false });
            }
            None => self.pass_other(now, pipe, to, packet),
        }
    }

    /// The same of a packet that is no TCP segment.
    #[inline(never)]
    fn pass_other(&mut self, now: Instant, pipe: PipeId, to: NodeId, packet: Packet) {
        let (traced, is_control) = (Traced::of(&packet), is_control(&packet));
        self.pass_links(now, pipe, packet, Passage { to, traced, is_control });
    }

    #[inline(always)]
    fn pass_links(&mut self, mut now: Instant, mut pipe: PipeId, mut packet: Packet, passage: Passage) {
        let Passage { to, traced, is_control } = passage;
        loop {
            let mut here = &mut self.pipes[pipe];
            let (goal, mut onward) = here.ways.last;
            if goal != to {
                onward = self.find_onward(pipe, to);
                here = &mut self.pipes[pipe];
            }
            let is_last_hop = packet.ip().hop_limit <= 1;
            let Some(onward) = onward.filter(|onward| !(is_last_hop && onward.passes_node())) else {
                here.send(now, packet, &mut self.tap);
                return self.schedule(pipe);
            };
            let at = match here.send_through(now, &packet, traced.bytes, &mut self.tap) {
                Ok(at) => at,
                Err(stays) => return here.keep(now, stays, packet, &mut self.tap, &mut self.spares),
            };
            self.trace_hash = self.trace_hash.wrapping_add(traced.hash(at, pipe.into()));
            match onward {
                Onward::Pipe(next) => {
                    if !is_control {
                        packet.take_hop();
                    }
                    (now, pipe) = (at, next);
                }
                Onward::Joint(joint) => {
                    if !is_control {
                        packet.take_hop();
                    }
                    let since = here.next_since(self.since, at);
                    if self.joints[joint].packets.push(Entry { at, since, from: pipe, goal: to, what: packet }) {
                        self.schedule_joint(joint);
                    }
                    return;
                }
                Onward::Fan(fan) => {
                    let (since, goal) = (here.next_since(self.since, at), here.home);
                    if self.fans[fan].push(Entry { at, since, from: pipe, goal, what: packet }) {
                        self.schedule_fan(fan);
                    }
                    return;
                }
            }
        }
    }

    /// Has the queue know when the next packet comes out of a fan.
    #[inline]
    pub fn schedule_fan(&mut self, fan: FanId) {
        let (at, since) = self.fans[fan].first();
        self.queue.set(self.sources.of(Kind::Fan(fan)), at, since);
    }

    /// Finds where a packet for `to` goes from this pipe, if it needs no event there.
    #[inline(never)]
    fn find_onward(&mut self, pipe: PipeId, to: NodeId) -> Option<Onward> {
        if let Some(onward) = self.pipes[pipe].ways.again(to) {
            return onward;
        }
        let Pipe { to: node, is_express, fan, .. } = self.pipes[pipe];
        let way = if is_express { self.routes.towards(node, to) } else { None };
        let onward = match (way, fan) {
            (Some(Hop::Wire(next)), _) => match self.pipes[next].feed {
                Feed::Pipes(joint) => Some(Onward::Joint(joint)),
                Feed::Pipe(only) if only == pipe => Some(Onward::Pipe(next)),
                Feed::Pipe(_) | Feed::Node => None,
            },
            (_, Some(fan)) if node == to => Some(Onward::Fan(fan)),
            _ => None,
        };
        self.pipes[pipe].ways.note(to, onward);
        onward
    }

    #[inline]
    fn schedule_joint(&mut self, joint: JointId) {
        let due = self.joints[joint].due();
        // Nobody can tell when it happens, so its place among what happens at the same time does not matter.
        self.queue.set(self.sources.of(Kind::Joint(joint)), due, Since::default());
    }

    /// Has the packets enter a pipe that are on their way there and there by `now`.
    pub fn enter(&mut self, now: Instant, joint: JointId) {
        let Approach { pipe, packets, .. } = &self.joints[joint];
        let (pipe, due) = (*pipe, packets.due(now));
        for _ in 0..due {
            let Some(Entry { at, since, goal: to, what: packet, .. }) = self.joints[joint].packets.pop() else { break };
            self.look_ahead(joint);
            self.since = since.then(at);
            self.pass(at, pipe, to, packet);
        }
        self.schedule_joint(joint);
    }

    /// Everywhere, for who looks at links.
    pub fn enter_all(&mut self, now: Instant) {
        let since = self.since;
        self.joints.keys().for_each(|joint| self.enter(now, joint));
        self.since = since;
    }

    /// Takes an arrival at the end of a hop into the trace.
    #[inline]
    pub fn trace(&mut self, at: Instant, hop: Hop, packet: &Packet) {
        let number = match hop {
            Hop::Wire(pipe) => usize::from(pipe),
            Hop::Air(air_hop) => self.pipes.len() + usize::from(air_hop),
        };
        self.trace_hash = self.trace_hash.wrapping_add(Traced::of(packet).hash(at, number));
    }

    /// Makes sure that the queue has an event no later than the next of a link.
    #[inline(always)]
    pub fn schedule(&mut self, pipe: PipeId) {
        let source = self.sources.of(Kind::Arrival(pipe));
        let Pipe { link, last_arrival, .. } = &self.pipes[pipe];
        if let Some(at) = link.next_event()
            && at < self.queue.at(source)
        {
            // It may be told late that a packet entered: others that came out since came first.
            self.queue.set(source, at, self.since.max(*last_arrival));
        }
    }

    /// Shows the tap a packet that goes no further than `node`.
    pub fn show_drop(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        if let Some(tap) = self.tap.get() {
            tap.on_dropped(now, &format!("nodes.{}", self.node_names[node]), packet, reason);
        }
    }

    #[cold]
    pub fn drop_unroutable(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.unroutable += 1;
        self.show_drop(now, node, packet, DropReason::NO_ROUTE);
    }
}

/// What is the same at every link that a packet passes at once.
struct Passage {
    to: NodeId,
    traced: Traced,
    /// It is a message between elements, of which no node counts the hops.
    is_control: bool,
}

/// What of a packet is in the trace: plain links leave it as it is.
#[derive(Clone, Copy)]
struct Traced {
    /// Its length on the medium.
    bytes: u32,
    /// Its sequence and its acknowledgment number.
    numbers: u64,
}

impl Traced {
    #[inline]
    fn of(packet: &Packet) -> Traced {
        let bytes = packet.wire_len();
        packet.tcp().map_or(Traced { bytes, numbers: 0 }, |tcp| Traced::of_segment(tcp, bytes))
    }

    #[inline]
    fn of_segment(tcp: &TcpHeader, bytes: u32) -> Traced {
        Traced { bytes, numbers: u64::from(tcp.sequence.0) << 32 | u64::from(tcp.acknowledgment.0) }
    }

    /// What its arrival adds to the trace, at the end of the hop of this number.
    #[inline]
    fn hash(self, at: Instant, hop: usize) -> u64 {
        let mut hash = 0;
        for word in [at.as_nanos(), hop as u64, u64::from(self.bytes), self.numbers] {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        hash
    }
}
