//! The element of the router before the slow link: the forward queue, the ACK buffer, and the delay controller that
//! releases acknowledgments at a distance that depends on how long the queue is.

use super::ack_buffer::{AckBuffer, Limits, Waiting};
use super::flow::{Flow, Pacing, Progress, Verdict};
use super::forward::Forward;
use super::pace::Pace;
use super::settings::{FastTcpSettings, Mode};
use crate::Site;
use crate::acks::is_pure;
use crate::papers::fast_tcp::events;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Backlog, Context, DropReason, Duration, Element, Event, FlowKey, Gauge, Instant, Packet, Port};

/// The lane of all acknowledgments in paper mode with one ACK buffer; no flow has it.
const ONE_LANE: u32 = u32::MAX;
/// Half of what Linux adds to a round trip before it times out.
const MAX_DELAY: Duration = Duration::from_millis(100);

/// The element at the near end of the link (FTC-7): data pass it to the link, their acknowledgments come back.
#[derive(Debug)]
pub struct Router {
    mode: Mode,
    per_flow: bool,
    pacing: Pacing,
    linger: Duration,
    max_delay: Option<Duration>,
    idle: Duration,
    forward: Forward,
    acks: AckBuffer,
    pace: Pace,
    /// By the key of the data's direction.
    flows: FlowTable<Flow>,
    /// Longest data packet seen, in IP bytes.
    longest: u32,
    longest_wait: Duration,
    memory_limit: u64,
}

impl Router {
    /// The router of `site`.
    pub fn new(settings: &FastTcpSettings, site: &mut Site<'_>) -> Self {
        let is_modern = settings.mode == Mode::Modern;
        // A quarter is the own queue's, a quarter the ACK buffer's.
        let table_memory = site.max_memory.0 / 4;
        let forward = Forward::new(settings, site);
        let limits = Limits { bytes: settings.ack_buffer.0, memory: site.max_memory.0 / 4 };
        Router {
            mode: settings.mode,
            per_flow: settings.per_flow || is_modern,
            pacing: Pacing {
                spacing: settings.spacing,
                rate: forward.rate(),
                split: if is_modern { settings.split } else { 0 },
            },
            linger: settings.linger,
            max_delay: settings.max_delay,
            idle: settings.idle,
            forward,
            acks: AckBuffer::new(limits),
            pace: Pace::default(),
            flows: FlowTable::new(table_memory as usize / FlowTable::<Flow>::entry_memory(), site.rng),
            longest: 0,
            longest_wait: Duration::ZERO,
            memory_limit: site.max_memory.0 / 2,
        }
    }

    /// How long an acknowledgment may wait in modern mode: no longer than a full queue takes to empty at its present rate.
    fn longest_delay(&self) -> Duration {
        let most = || self.forward.full_time().map_or(MAX_DELAY, |time| time.min(MAX_DELAY));
        self.max_delay.unwrap_or_else(most)
    }

    /// Takes note of a segment on its way to the link.
    fn note_data(&mut self, cx: &mut Context<'_>, packet: &Packet) {
        if packet.payload_len() > 0 {
            self.longest = self.longest.max(packet.wire_len());
        }
        let Some((key, tcp)) = packet.flow().zip(packet.tcp()) else { return };
        if !self.per_flow || packet.sequence_len() == 0 {
            return;
        }
        self.forget_idle(cx);
        match self.flows.slot(&key) {
            Some(slot) if tcp.flags.syn() => {
                self.remove(cx, slot);
                self.insert(cx, key, Flow::new(packet, tcp, cx.now()));
            }
            Some(slot) => {
                self.flows.touch(slot);
                if let Some((_, flow)) = self.flows.at_mut(slot) {
                    flow.on_data(packet, tcp, cx.now());
                }
            }
            None => self.insert(cx, key, Flow::new(packet, tcp, cx.now())),
        }
    }

    /// A packet off the link. FTC-6: what may be delayed is recognised by its headers; everything else passes.
    fn handle_incoming(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let key = packet.flow().filter(|_| packet.checksum_holds()).map(FlowKey::reversed);
        self.pacing.rate = self.forward.rate();
        match (self.mode, key) {
            (_, None) => cx.send(Port::INNER, packet),
            (Mode::Paper, Some(key)) => self.handle_alike(cx, key, packet),
            (Mode::Modern, Some(key)) => self.handle_guarded(cx, key, packet),
        }
    }

    /// The paper's rule: every pure acknowledgment waits for its turn, duplicates too (FTC-U7), and one that finds the
    /// ACK buffer full is dropped (FTC-U10).
    fn handle_alike(&mut self, cx: &mut Context<'_>, key: FlowKey, packet: Packet) {
        let distance = self.pacing.of_packet(self.longest);
        let is_ack = packet.tcp().is_some_and(|tcp| is_pure(&packet, tcp));
        let lane = if self.per_flow { self.flows.slot(&key) } else { Some(ONE_LANE) };
        let Some(lane) = lane.filter(|_| is_ack && !distance.is_zero()) else {
            return cx.send(Port::INNER, packet);
        };
        let ack = Waiting { packet, since: cx.now(), distance, series: None, longest: None };
        if let Err(ack) = self.wait(cx, lane, ack) {
            cx.discard(ack.packet, DropReason::MEMORY_LIMIT);
        }
    }

    /// The modern rule: what can wait without harm waits, while the link is the bottleneck. Everything else of the flow
    /// leaves at once, behind what waited.
    fn handle_guarded(&mut self, cx: &mut Context<'_>, key: FlowKey, packet: Packet) {
        let Some(slot) = self.flows.slot(&key) else { return cx.send(Port::INNER, packet) };
        self.flows.touch(slot);
        let Some((tcp, (_, flow))) = packet.tcp().zip(self.flows.at_mut(slot)) else {
            return cx.send(Port::INNER, packet);
        };
        let is_reset = tcp.flags.rst();
        let verdict = flow.judge(&packet, tcp, &self.pacing, cx.now());
        let packet = match verdict {
            Verdict::Later(Progress { distance, series }) if self.may_delay(cx, slot, distance) => {
                let longest = self.longest_delay();
                let distance = distance.min(longest);
                let ack = Waiting { packet, since: cx.now(), distance, series, longest: Some(longest) };
                match self.wait(cx, slot, ack) {
                    Ok(()) => return,
                    Err(refused) => refused.packet,
                }
            }
            _ => packet,
        };
        self.flush(cx, slot);
        cx.send(Port::INNER, packet);
        if is_reset {
            self.flows.remove_slot(slot);
        }
    }

    /// True while the link is the bottleneck, and for what comes behind an acknowledgment that waits; never for a flow
    /// that waiting does not slow down.
    fn may_delay(&mut self, cx: &mut Context<'_>, slot: u32, distance: Duration) -> bool {
        self.forward.look(cx);
        let since = self.forward.congested_at().map(|at| cx.now().saturating_since(at));
        let is_bottleneck = since.is_some_and(|since| since <= self.linger);
        let is_moved = self.flows.at(slot).is_some_and(|(_, flow)| !flow.is_unmoved);
        is_moved && !distance.is_zero() && (is_bottleneck || self.acks.has(slot))
    }

    /// Puts an acknowledgment into the ACK buffer, which lets go of it at once if its turn has come (FTC-5).
    fn wait(&mut self, cx: &mut Context<'_>, lane: u32, ack: Waiting) -> Result<(), Waiting> {
        if self.acks.held.waiting.packets == 0 {
            self.pace.begin(cx.now());
        }
        self.acks.push(lane, ack)?;
        if self.pace.free_at() > cx.now() {
            cx.emit(Event::ACK_DELAYED);
        }
        self.release(cx);
        Ok(())
    }

    /// Lets go of every acknowledgment whose time has come.
    fn release(&mut self, cx: &mut Context<'_>) {
        while let Some((lane, ack)) = self.acks.pop_overdue(cx.now()) {
            cx.emit(events::ACK_OVERDUE);
            let distance = self.distance(cx, ack.distance);
            // It waited in vain: the sender paces itself, or its window grows on.
            if self.forward.is_nearly_full()
                && let Some((_, flow)) = self.flows.at_mut(lane)
            {
                flow.is_unmoved = true;
            }
            self.pace.restart(cx.now(), distance);
            self.let_go(cx, ack);
        }
        while self.pace.free_at() <= cx.now() {
            let Some(passed) = self.release_next(cx) else { return };
            let distance = self.distance(cx, passed);
            self.pace.charge(cx.now(), distance);
        }
    }

    /// Sends the acknowledgment whose turn it is, or a part of it; returns what it costs.
    fn release_next(&mut self, cx: &mut Context<'_>) -> Option<Duration> {
        let next = self.acks.next()?;
        if let Some(series) = &mut next.series
            && let Some(part) = series.next(cx, &next.packet)
        {
            let cost = series.distance;
            next.distance = next.distance.saturating_sub(cost);
            cx.emit(events::ACK_PART);
            cx.send(Port::INNER, part);
            self.acks.pass_turn();
            return Some(cost);
        }
        let ack = self.acks.pop()?;
        let cost = ack.distance;
        self.let_go(cx, ack);
        Some(cost)
    }

    fn let_go(&mut self, cx: &mut Context<'_>, ack: Waiting) {
        self.longest_wait = self.longest_wait.max(cx.now().saturating_since(ack.since));
        cx.send(Port::INNER, ack.packet);
    }

    /// FTC-4: d below the threshold, 2d from there on, as the queue is at the release (FTC-U9); one d more for each
    /// further threshold (FTC-8).
    fn distance(&mut self, cx: &mut Context<'_>, below: Duration) -> Duration {
        below.saturating_mul(1 + self.forward.look(cx))
    }

    /// Lets go of what waits of a flow, in order: something of the flow may not wait.
    fn flush(&mut self, cx: &mut Context<'_>, lane: u32) {
        for ack in self.acks.take(lane) {
            cx.emit(events::ACK_FLUSHED);
            self.let_go(cx, ack);
        }
    }

    fn insert(&mut self, cx: &mut Context<'_>, key: FlowKey, flow: Flow) {
        if let Some(oldest) = self.flows.next_to_go() {
            cx.emit(Event::FLOW_EVICTED);
            self.remove(cx, oldest);
        }
        cx.emit(Event::FLOW_NEW);
        self.flows.insert(key, flow);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.flush(cx, slot);
        self.flows.remove_slot(slot);
    }

    fn forget_idle(&mut self, cx: &mut Context<'_>) {
        let (now, idle) = (cx.now(), self.idle);
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(cx, slot);
        }
    }

    #[cfg(test)]
    pub(super) fn set_rate(&mut self, rate: airtcp_core::Rate) {
        self.forward.set_rate(rate);
    }

    fn memory(&self) -> u64 {
        (self.flows.len() * FlowTable::<Flow>::entry_memory()) as u64 + self.acks.held.memory
    }
}

impl Element for Router {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::LINK {
            return self.handle_incoming(cx, packet);
        }
        self.note_data(cx, &packet);
        self.forward.push(cx, packet);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.forward.on_ready();
            self.forward.drain(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.forward.drain(cx);
        self.release(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let turn = (self.acks.held.waiting.packets > 0).then(|| self.pace.free_at());
        [self.forward.poll_timeout(), turn, self.acks.overdue_at()].into_iter().flatten().min()
    }

    fn held(&self) -> Backlog {
        self.forward.held() + self.acks.held.waiting
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let (queue, queue_max) = self.forward.lengths();
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::MEMORY_BYTES, self.memory() + self.forward.held().bytes);
        gauge(Gauge::QUEUE_BYTES, queue);
        gauge(Gauge::QUEUE_BYTES_MAX, queue_max);
        gauge(Gauge::HELD_BYTES, self.acks.held.waiting.bytes);
        gauge(Gauge::HELD_BYTES_MAX, self.acks.held.bytes_max);
        gauge(events::ACK_DELAY_NS_MAX, self.longest_wait.as_nanos());
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.memory() > self.memory_limit {
            return Err("flows and acknowledgments take more memory than the limit");
        }
        self.acks.check()?;
        self.forward.check()
    }
}
