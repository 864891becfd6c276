//! The event loop: takes the earliest event, hands packets to elements, elements' packets to
//! links and cells, and keeps at most one event pending per link direction, cell and element.

use crate::address;
use crate::air::AirHop;
use crate::check::Checker;
use crate::control::{is_control, read_control};
use crate::dot11::Report;
use crate::element::{ElementKind, PlacedElement};
use crate::error::SimError;
use crate::events::{Kind, Sources};
use crate::guard::Guard;
use crate::index::{ElementId, FanId, FlowId, Hop, NodeId, PipeId, ProbeId, WlanId, WorkloadId};
use crate::io::{ElementIo, Work};
use crate::network::{Delivery, Departures, Network};
use crate::outcome::{LevelSample, Outcome};
use crate::settings::RunSettings;
use crate::tap::Direction;
use crate::upcoming::Entry;
use airtcp_core::{Context, DropReason, Duration, Element, Instant, Packet, Peer, Port, TxStatus, count_one};
use std::collections::VecDeque;
use typed_index_collections::TiVec;

/// A running topology.
pub struct Engine<'t> {
    pub(crate) now: Instant,
    pub(crate) network: Network<'t>,
    pub(crate) work: VecDeque<Work>,
    /// Memory for what cells report.
    pub(crate) reports: Vec<Report>,
    pub(crate) elements: TiVec<ElementId, PlacedElement>,
    pub(crate) schemes: Vec<(String, &'static str, Vec<ElementId>)>,
    pub(crate) control_damaged: u64,
    pub(crate) checker: Checker,
    pub(crate) sample_every: Duration,
    pub(crate) warmup_end: Instant,
    pub(crate) events: u64,
    pub(crate) guard: Guard,
    pub(crate) settings: RunSettings,
    pub(crate) flow_ends: TiVec<FlowId, (ElementId, ElementId)>,
    /// Asking and answering host of each probe.
    pub(crate) probe_ends: TiVec<ProbeId, (ElementId, ElementId)>,
    /// Serving and asking host of each workload.
    pub(crate) workload_ends: TiVec<WorkloadId, (ElementId, ElementId)>,
    /// What was recorded, a row for each sample.
    pub(crate) levels: Vec<LevelSample>,
}

impl Engine<'_> {
    /// Runs until `end` and reports.
    pub fn run(mut self, end: Instant) -> Result<Outcome, SimError> {
        self.network.tap.set_until(end);
        let (pipes, cells) = (self.network.pipes.len(), self.network.wlans.len());
        let (fans, joints, elements) = (self.network.fans.len(), self.network.joints.len(), self.elements.len());
        // They come first: see [`Engine::new`].
        let schemes = self.elements.iter().filter(|slot| matches!(slot.body, ElementKind::Scheme(_))).count();
        self.network.sources = Sources { fans, joints, pipes, cells, elements, schemes };
        self.network.queue = self.network.sources.queue();
        for slot in &mut self.elements {
            slot.arm(self.now, &mut self.network);
        }
        for cell in self.network.wlans.keys() {
            self.network.schedule_cell(cell);
        }
        self.set_sample();
        // The end of time once it is warm.
        let mut warm_at = self.warmup_end;
        while let Some((at, source)) = self.network.queue.first(end) {
            if at >= warm_at {
                warm_at = Instant::MAX;
                self.on_warm();
            }
            self.now = at;
            self.network.since = self.network.queue.since(source).then(at);
            self.network.tap.advance(at);
            count_one(&mut self.events);
            self.guard.step();
            if self.guard.is_due() {
                self.guard.look(at)?;
            }
            self.handle_event(self.network.sources.kind(source));
            debug_assert!(self.work.is_empty(), "who handles an event does all that follows from it at once");
        }
        self.now = end;
        self.network.enter_all(end);
        self.network.tap.finish(end);
        if warm_at == self.warmup_end {
            self.on_warm();
        }
        Ok(self.finish(end))
    }

    fn handle_event(&mut self, kind: Kind) {
        match kind {
            Kind::Fan(fan) => self.handle_fan(fan),
            Kind::Joint(joint) => self.network.enter(self.now, joint),
            Kind::Arrival(pipe) => self.handle_arrival(pipe),
            Kind::Cell(cell) => self.handle_exchange(cell),
            Kind::Timeout(index) => self.handle_timeout(index),
            Kind::Ready(index) => self.handle_room(index),
            Kind::Sample => {
                self.sample();
                self.set_sample();
            }
        }
    }

    /// A port that was full has room again.
    fn handle_room(&mut self, index: ElementId) {
        self.network.queue.cancel(self.network.sources.of(Kind::Ready(index)));
        if let Some(port) = self.elements[index].place.refused.take() {
            self.call(index, |body, cx| body.element().handle_ready(cx, port));
        }
        self.drain_work();
    }

    /// The event is taken back only if the element sets no other in its place, which it mostly does.
    #[inline(never)]
    fn handle_timeout(&mut self, index: ElementId) {
        self.elements[index].armed = Instant::MAX;
        self.time_out(index);
        if self.elements[index].armed == Instant::MAX {
            self.network.queue.cancel(self.network.sources.of(Kind::Timeout(index)));
        }
        self.drain_work();
    }

    #[inline]
    fn time_out(&mut self, index: ElementId) {
        let slot = &mut self.elements[index];
        slot.put_off(self.now);
        if slot.deadline() > self.now {
            return slot.arm(self.now, &mut self.network);
        }
        if slot.is_stuck(self.now) {
            // Not armed again: the run goes on without it and fails its checks.
            let name = slot.place.name(&self.network.node_names);
            return self.checker.fail_bounds(&name, "a handled timeout did not move later");
        }
        self.call(index, |body, cx| body.element().handle_timeout(cx));
    }

    fn handle_arrival(&mut self, pipe: PipeId) {
        self.network.pipes[pipe].advance(self.now, &mut self.network.tap);
        let next = loop {
            let here = &mut self.network.pipes[pipe];
            let Some(packet) = here.link.receive(self.now) else { break here.link.next_event() };
            here.last_arrival = self.network.since;
            let (direction, to, after) = (here.direction(), here.to, here.after);
            self.arrive(Hop::Wire(pipe), direction, to, after, packet);
            self.drain_work();
        };
        let source = self.network.sources.of(Kind::Arrival(pipe));
        self.network.queue.set(source, next.unwrap_or(Instant::MAX), self.network.since);
    }

    /// The next packet of a fan arrives at its goal. It was shown and traced when it was sent there.
    fn handle_fan(&mut self, fan: FanId) {
        self.look_ahead(fan);
        if let Some(Entry { at, from, goal: element, what: packet, .. }) = self.network.fans[fan].pop() {
            debug_assert_eq!(at, self.now, "the event is that of the first");
            self.guard.step();
            if element != ElementId::NONE && !is_control(&packet) {
                self.deliver(Delivery { element, port: Port::INNER, packet });
            } else {
                self.come_out(from, packet);
            }
            self.drain_work();
        }
        self.network.schedule_fan(fan);
    }

    /// The same of a packet that is not for a host, or that another element sees before.
    #[inline(never)]
    fn come_out(&mut self, from: PipeId, packet: Packet) {
        let node = self.network.pipes[from].to;
        self.come_home(node, self.network.at_home(node, None), packet);
    }

    /// An exchange on the medium of a cell ends.
    #[inline(never)]
    fn handle_exchange(&mut self, cell: WlanId) {
        let mut reports = std::mem::take(&mut self.reports);
        let wlan = &mut self.network.wlans[cell];
        wlan.is_ending = true;
        wlan.bss.advance(self.now, &mut reports);
        // Mostly there is one; the first is the last, then.
        reports.reverse();
        while let Some(report) = reports.pop() {
            match report {
                Report::Delivered { from, to, packet } => {
                    let air_hop = self.network.wlans[cell].air_hop(from, to);
                    let AirHop { direction, node, after, .. } = self.network.air_hops[air_hop];
                    let after = after.filter(|_| !self.network.is_bridged(air_hop, &packet));
                    self.arrive(Hop::Air(air_hop), direction, node, after, packet);
                }
                Report::Dropped { .. } => self.network.show_lost(self.now, cell, &report),
                Report::Status { element, status } => {
                    debug_assert!(self.work.is_empty(), "what was there first would come later");
                    self.tell_status(element, status);
                }
                Report::Room { from } => self.network.set_ready(cell, from, &self.elements, self.now),
            }
            self.drain_work();
        }
        self.reports = reports;
        self.network.wlans[cell].is_ending = false;
        self.network.schedule_cell(cell);
    }

    /// A packet comes out of a hop, at `node`; the element `after` gets it, if there is one.
    #[inline(always)]
    fn arrive(&mut self, hop: Hop, direction: Direction, node: NodeId, after: Option<ElementId>, packet: Packet) {
        self.guard.step();
        self.network.trace(self.now, hop, &packet);
        if let Some(tap) = self.network.tap.get() {
            tap.on_arrived(self.now, direction, &packet);
        }
        self.take(node, after, packet);
    }

    /// A packet is at `node`, behind a hop with the element `after`.
    #[inline(always)]
    fn take(&mut self, node: NodeId, after: Option<ElementId>, packet: Packet) {
        match after {
            _ if is_control(&packet) => self.work.push_back(Work::ForwardControl { node, packet }),
            Some(element) if self.network.takes(element, &packet) => {
                self.deliver(Delivery { element, port: Port::LINK, packet });
            }
            _ if address::node_of(&packet.ip().destination) == Some(node) => {
                self.come_home(node, self.network.at_home(node, None), packet);
            }
            _ => self.forward(node, packet),
        }
    }

    /// A packet is at the node that it is for, where `home` takes it.
    #[inline(always)]
    fn come_home(&mut self, node: NodeId, home: Option<(ElementId, Port)>, packet: Packet) {
        match home {
            Some((element, port)) if !is_control(&packet) => self.deliver(Delivery { element, port, packet }),
            _ => self.come_to_nobody(node, packet),
        }
    }

    /// The same of a packet that is for no element there.
    #[cold]
    fn come_to_nobody(&mut self, node: NodeId, packet: Packet) {
        if is_control(&packet) {
            self.work.push_back(Work::ForwardControl { node, packet });
        } else {
            self.network.drop_unroutable(self.now, node, &packet);
        }
    }

    #[inline(always)]
    fn drain_work(&mut self) {
        if !self.work.is_empty() {
            self.do_work();
        }
    }

    #[inline(never)]
    fn do_work(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Deliver(delivery) => self.deliver(delivery),
                Work::ForwardControl { node, packet } => self.forward_control(node, packet),
                Work::Status { element, status } => self.tell_status(element, status),
            }
        }
    }

    /// Tells an element what became of a packet.
    fn tell_status(&mut self, element: ElementId, status: TxStatus) {
        let status = TxStatus { at: status.at + self.elements[element].clock, ..status };
        self.call(element, |body, cx| body.element().handle_tx_status(cx, status));
    }

    #[inline]
    fn forward(&mut self, node: NodeId, packet: Packet) {
        if let Some(delivery) = self.network.forward(self.now, node, None, &mut Departures::default(), packet) {
            self.deliver(delivery);
        }
    }

    /// Messages between the elements of a scheme are a gateway's own traffic: no scheme queues or repairs them.
    fn forward_control(&mut self, node: NodeId, packet: Packet) {
        let destination = address::node_of(&packet.ip().destination);
        if destination == Some(node) {
            if packet.is_corrupted() {
                self.control_damaged += 1;
                self.network.show_drop(self.now, node, &packet, DropReason::CORRUPTED);
            } else if let Some((element, message)) = read_control(&packet)
                && self.elements.get(element).is_some()
            {
                self.call(element, |body, cx| body.element().handle_control(cx, Peer::OTHER_END, &message));
            }
        } else if let Some(to) = destination
            && let Some(hop) = self.network.routes.towards(node, to)
        {
            self.network.send(self.now, hop, to, packet);
        }
    }

    /// A packet comes to an element: nearly every one of a run ends at a host.
    #[inline]
    fn deliver(&mut self, delivery: Delivery) {
        let Delivery { element, port, packet } = delivery;
        let slot = &mut self.elements[element];
        slot.ledger.receive(port);
        let ElementKind::Host(host) = &mut slot.body else {
            return self.call(element, |body, cx| body.element().handle_packet(cx, port, packet));
        };
        let mut io =
            ElementIo { now: self.now, place: &mut slot.place, network: &mut self.network, work: &mut self.work };
        let mut cx = Context::new(self.now, &mut slot.rng, &mut slot.ledger, &mut io);
        host.handle_packet(&mut cx, port, packet);
        if host.deadline() != slot.armed {
            slot.arm(self.now, &mut self.network);
        }
    }

    /// Calls an element.
    fn call(&mut self, index: ElementId, work: impl FnOnce(&mut ElementKind, &mut Context<'_>)) {
        let slot = &mut self.elements[index];
        let mut io =
            ElementIo { now: self.now, place: &mut slot.place, network: &mut self.network, work: &mut self.work };
        let mut cx = Context::new(self.now + slot.clock, &mut slot.rng, &mut slot.ledger, &mut io);
        work(&mut slot.body, &mut cx);
        slot.arm(self.now, &mut self.network);
    }
}
