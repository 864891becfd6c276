//! Delayed duplicate acknowledgments (Vaidya, Mehta, Perkins & Montenegro, *Delayed Duplicate
//! Acknowledgements: A TCP-Unaware Approach to Improve Performance of TCP over Wireless*, 1999;
//! the third and further duplicates wait for a while. If the link's own retransmission
//! brings the missing segment meanwhile, they are never sent, and the sender sees no loss.
//!
//! The paper changes the receiver. Here the duplicates wait at the near end of the link, where
//! they come off it: between the two lies the same way for all of them, so the sender sees the
//! same, neither host changes, and one box is enough. An acknowledgment lost on the link is lost
//! either way.
//!
//! Without a link that retransmits, or one that reorders, it helps nobody: every loss of the link
//! is found later by `delay`. What congestion lost is found later, too.

use crate::acks::{is_pure, reports_duplicate};
use crate::tally::Tally;
use crate::timers::Timers;
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::flow_table::FlowTable;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, DropReason, Duration, Element, Event, FlowKey, Gauge, Instant, Packet, Port};
use airtcp_core::{SeqNum, TcpHeader, Traffic, parameters};
use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// The line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "delayed-dupacks",
    about: "Third and further duplicate acknowledgments wait while the link may still retransmit",
    source: "Vaidya, Mehta, Perkins & Montenegro, Delayed Duplicate Acknowledgements, 1999",
    placement: Placement::NearEnd,
    keeps_end_to_end: true,
    reports: Reports::NONE,
    settings: || settings_for(make),
};

parameters! {
    /// Parameters of delayed duplicate acknowledgments.
    pub struct DelaySettings {
        /// How long duplicates wait; twice the link's round trip, at least 10 ms, if auto.
        pub delay: Option<Duration> = None, "R-12: as long as the link's retransmissions take";
        /// Duplicates that pass at once.
        pub immediate: u32 = 2, "R-12";
        /// Duplicates of a connection that may wait; one more releases the oldest.
        pub held: u16 = 256, "ours";
        /// Silence after which a connection is forgotten.
        pub idle: Duration = Duration::from_secs(60), "GSN-U15";
    }
}

fn make(settings: &DelaySettings, site: &mut Site<'_>) -> Made {
    if settings.held == 0 {
        return Err(ParameterError::bad("held", "0 would delay none; write 1 or more"));
    }
    Ok(Box::new(Delayer::new(settings, site)))
}

/// Delay where the link's round trip is not known.
const DEFAULT_DELAY: Duration = Duration::from_millis(20);
/// Shortest delay of `auto`.
const LEAST_DELAY: Duration = Duration::from_millis(10);

/// One direction of acknowledgments.
#[derive(Debug)]
struct Flow {
    highest: SeqNum,
    window: u16,
    duplicates: u32,
    held: VecDeque<Packet>,
    /// When what is held passes.
    deadline: Option<Instant>,
    /// The delay is over: the sender must recover, so duplicates pass until there is progress.
    is_over: bool,
    last_used: Instant,
}

/// What an acknowledgment is.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Progress,
    Duplicate,
    /// Whatever else: it passes.
    Other,
}

impl Flow {
    fn new(tcp: &TcpHeader, now: Instant) -> Self {
        Flow {
            highest: tcp.acknowledgment,
            window: tcp.window,
            duplicates: 0,
            held: VecDeque::new(),
            deadline: None,
            is_over: false,
            last_used: now,
        }
    }

    fn classify(&mut self, packet: &Packet, tcp: &TcpHeader) -> Kind {
        if tcp.acknowledgment.after(self.highest) {
            self.highest = tcp.acknowledgment;
            self.window = tcp.window;
            return Kind::Progress;
        }
        // RFC 5681 section 2; a receiver that reports blocks may move its window meanwhile.
        let same_window = tcp.window == self.window || !tcp.options.sack.is_empty();
        let repeats = tcp.acknowledgment == self.highest && is_pure(packet, tcp);
        if repeats {
            self.window = tcp.window;
        }
        if repeats && same_window && !reports_duplicate(tcp) { Kind::Duplicate } else { Kind::Other }
    }
}

/// The element of one link.
#[derive(Debug)]
pub struct Delayer {
    flows: FlowTable<Flow>,
    timers: Timers,
    delay: Duration,
    immediate: u32,
    held_limit: usize,
    idle: Duration,
    held: Tally,
    memory_limit: u64,
}

impl Delayer {
    /// The element at the near end of a link.
    pub fn new(settings: &DelaySettings, site: &mut Site<'_>) -> Self {
        let half = site.max_memory.0 / 2;
        let auto = site.link.round_trip.map_or(DEFAULT_DELAY, |round_trip| (round_trip * 2).max(LEAST_DELAY));
        Delayer {
            flows: FlowTable::new(half as usize / FlowTable::<Flow>::entry_memory(), site.rng),
            timers: Timers::default(),
            delay: settings.delay.unwrap_or(auto),
            immediate: settings.immediate,
            held_limit: usize::from(settings.held),
            idle: settings.idle,
            held: Tally::default(),
            memory_limit: half,
        }
    }

    /// A packet off the link.
    fn handle_incoming(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let is_acknowledgment = |tcp: &TcpHeader| tcp.flags.ack() && packet.checksum_holds();
        let found = packet.flow().zip(packet.tcp().copied()).filter(|(_, tcp)| is_acknowledgment(tcp));
        let Some((key, tcp)) = found else {
            return cx.send(Port::INNER, packet);
        };
        self.forget_idle(cx);
        if tcp.flags.syn() || tcp.flags.rst() {
            if let Some(slot) = self.flows.slot(&key) {
                self.remove(cx, slot);
            }
            return cx.send(Port::INNER, packet);
        }
        let Some(slot) = self.flows.slot(&key) else {
            self.insert(cx, key, &tcp);
            return cx.send(Port::INNER, packet);
        };
        self.flows.touch(slot);
        let Some((_, flow)) = self.flows.at_mut(slot) else { return cx.send(Port::INNER, packet) };
        flow.last_used = cx.now();
        match flow.classify(&packet, &tcp) {
            Kind::Progress => {
                (flow.duplicates, flow.is_over) = (0, false);
                self.end_delay(cx, slot, drop_held);
                cx.send(Port::INNER, packet);
            }
            Kind::Duplicate => self.on_duplicate(cx, slot, packet),
            Kind::Other => cx.send(Port::INNER, packet),
        }
    }

    fn on_duplicate(&mut self, cx: &mut Context<'_>, slot: u32, packet: Packet) {
        let Some((_, flow)) = self.flows.at_mut(slot) else { return cx.send(Port::INNER, packet) };
        flow.duplicates = flow.duplicates.saturating_add(1);
        let has_memory = self.held.memory + packet.memory() as u64 <= self.memory_limit;
        if flow.duplicates <= self.immediate || flow.is_over || !has_memory {
            return cx.send(Port::INNER, packet);
        }
        cx.emit(Event::ACK_DELAYED);
        self.held.add(&packet, 0);
        flow.held.push_back(packet);
        if flow.deadline.is_none() {
            self.timers.set(slot, &mut flow.deadline, Some(cx.now().saturating_add(self.delay)));
        }
        if flow.held.len() > self.held_limit
            && let Some(oldest) = flow.held.pop_front()
        {
            self.held.remove(&oldest, 0);
            cx.send(Port::INNER, oldest);
        }
    }

    /// Nothing waits any more; `each` says what becomes of what did.
    fn end_delay(&mut self, cx: &mut Context<'_>, slot: u32, each: fn(&mut Context<'_>, Packet)) {
        let Some((_, flow)) = self.flows.at_mut(slot) else { return };
        self.timers.set(slot, &mut flow.deadline, None);
        for packet in core::mem::take(&mut flow.held) {
            self.held.remove(&packet, 0);
            each(cx, packet);
        }
    }

    fn insert(&mut self, cx: &mut Context<'_>, key: FlowKey, tcp: &TcpHeader) {
        // An evicted flow must first release what it holds, which the table cannot do. So room is made before the insertion.
        if let Some(oldest) = self.flows.next_to_go() {
            cx.emit(Event::FLOW_EVICTED);
            self.remove(cx, oldest);
        }
        cx.emit(Event::FLOW_NEW);
        self.flows.insert(key, Flow::new(tcp, cx.now()));
    }

    fn forget_idle(&mut self, cx: &mut Context<'_>) {
        let (now, idle) = (cx.now(), self.idle);
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(cx, slot);
        }
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.end_delay(cx, slot, pass_held);
        self.flows.remove_slot(slot);
    }
}

fn drop_held(cx: &mut Context<'_>, ack: Packet) {
    cx.emit(Event::ACK_SUPPRESSED);
    cx.discard(ack, DropReason::SUPPRESSED);
}

fn pass_held(cx: &mut Context<'_>, ack: Packet) {
    cx.send(Port::INNER, ack);
}

impl Element for Delayer {
    fn traffic(&self) -> Traffic {
        Traffic::Tcp
    }

    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER { cx.send(Port::LINK, packet) } else { self.handle_incoming(cx, packet) }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        for slot in self.timers.due(cx.now()) {
            if let Some((_, flow)) = self.flows.at_mut(slot) {
                flow.is_over = true;
            }
            self.end_delay(cx, slot, pass_held);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    fn held(&self) -> Backlog {
        self.held.waiting
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let entries = self.flows.len() * FlowTable::<Flow>::entry_memory();
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::HELD_BYTES, self.held.waiting.bytes);
        gauge(Gauge::MEMORY_BYTES, entries as u64 + self.held.memory);
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.held.memory > self.memory_limit {
            return Err("more memory is held back than the limit");
        }
        if self.timers.len() == 0 && self.held.waiting.packets > 0 {
            return Err("acknowledgments are held back for ever");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use airtcp_core::TcpFlags;
    use airtcp_core::parameters::Parameters;
    use airtcp_core::testing::Harness;

    fn delayer(settings: &[(&str, &str)]) -> Harness<Delayer> {
        let mut parsed = DelaySettings::default();
        for &(key, value) in settings {
            parsed.set(key, &value.into()).unwrap();
        }
        Harness::new(with_site(|site| Delayer::new(&parsed, site)), "delayer")
    }

    fn receive(delayer: &mut Harness<Delayer>, number: u32, millis: impl IntoIterator<Item = u64>) {
        for millis in millis {
            delayer.packet(at(millis), Port::LINK, ack(number));
        }
    }

    #[test]
    fn two_duplicates_pass_and_further_ones_wait() {
        let mut delayer = delayer(&[("delay", "20ms")]);
        receive(&mut delayer, 1000, 0..=5);
        assert_eq!((delayer.io.inner.len(), delayer.element.held().packets), (3, 3));
        assert_eq!(delayer.count(Event::ACK_DELAYED), 3);
    }

    #[test]
    fn progress_makes_the_waiting_ones_void() {
        let mut delayer = delayer(&[("delay", "20ms")]);
        receive(&mut delayer, 1000, 0..=5);
        receive(&mut delayer, 7000, [15]);
        delayer.tick(at(100));
        assert_eq!(acknowledgments(&delayer.io.inner), [1000, 1000, 1000, 7000]);
        assert_eq!(delayer.ledger.discarded.get(DropReason::SUPPRESSED), 3);
        // The count begins anew.
        receive(&mut delayer, 7000, [101, 102]);
        assert_eq!(delayer.io.inner.len(), 6);
    }

    #[test]
    fn after_the_delay_all_pass_and_so_do_later_ones() {
        let mut delayer = delayer(&[("delay", "20ms")]);
        receive(&mut delayer, 1000, 0..=5);
        // The third duplicate came at 3 ms.
        delayer.tick(at(22));
        assert_eq!(delayer.io.inner.len(), 3);
        delayer.tick(at(23));
        assert_eq!(delayer.io.inner.len(), 6);
        receive(&mut delayer, 1000, [24, 25]);
        assert_eq!((delayer.io.inner.len(), delayer.element.poll_timeout()), (8, None));
    }

    #[test]
    fn the_delay_follows_the_link_unless_it_is_set() {
        let mut delayer = delayer(&[]);
        receive(&mut delayer, 1000, [0, 0, 0, 0]);
        // The site's round trip is 10 ms.
        assert_eq!(delayer.element.poll_timeout(), Some(at(20)));
    }

    #[test]
    fn numbers_are_compared_across_the_wrap() {
        let mut delayer = delayer(&[("delay", "20ms")]);
        receive(&mut delayer, u32::MAX - 10, 0..=4);
        assert_eq!(delayer.element.held().packets, 2);
        receive(&mut delayer, 500, [5]);
        assert_eq!((delayer.element.held().packets, delayer.io.inner.len()), (0, 4));
    }

    #[test]
    fn data_window_updates_and_overtaken_acknowledgments_do_not_wait() {
        let mut delayer = delayer(&[]);
        receive(&mut delayer, 5000, 0..=3);
        for packet in [
            edited(&ack(5000), |tcp| tcp.window += 1),
            ack(4000),
            edited(&data(0), |tcp| {
                (tcp.source_port, tcp.destination_port) = (80, 1000);
                tcp.acknowledgment = SeqNum(5000);
            }),
        ] {
            let before = delayer.io.inner.len();
            delayer.packet(at(4), Port::LINK, packet);
            assert_eq!(delayer.io.inner.len(), before + 1);
        }
        assert_eq!(delayer.element.held().packets, 1);
    }

    #[test]
    fn damaged_acknowledgments_pass_and_change_nothing() {
        let mut delayer = delayer(&[]);
        receive(&mut delayer, 1000, 0..=3);
        let mut damaged = ack(9000);
        damaged.mark_corrupted();
        delayer.packet(at(4), Port::LINK, damaged);
        assert_eq!((delayer.io.inner.len(), delayer.element.held().packets), (4, 1));
        receive(&mut delayer, 1000, [5]);
        assert_eq!(delayer.element.held().packets, 2, "1000 is still the highest");
    }

    #[test]
    fn what_goes_out_over_the_link_passes() {
        let mut delayer = delayer(&[]);
        for n in 0..5 {
            delayer.packet(at(n), Port::INNER, ack(1000));
        }
        assert_eq!(delayer.io.link.len(), 5);
    }

    #[test]
    fn the_number_that_waits_is_bounded() {
        let mut delayer = delayer(&[("held", "4"), ("delay", "1s")]);
        receive(&mut delayer, 1000, 0..100);
        assert_eq!((delayer.element.held().packets, delayer.io.inner.len()), (4, 96));
    }

    #[test]
    fn a_reset_lets_go_what_waits_ahead_of_it() {
        let mut delayer = delayer(&[]);
        receive(&mut delayer, 1000, 0..=5);
        let reset = edited(&ack(1000), |tcp| tcp.flags = TcpFlags::RST.with(TcpFlags::ACK));
        delayer.packet(at(6), Port::LINK, reset);
        assert_eq!((delayer.io.inner.len(), delayer.element.held().packets), (7, 0));
        assert!(delayer.io.inner[6].tcp().unwrap().flags.rst());
        assert_eq!(delayer.element.flows.len(), 0);
    }

    #[test]
    fn silence_forgets_a_connection_with_what_waits() {
        let mut delayer = delayer(&[("delay", "100s"), ("idle", "1s")]);
        receive(&mut delayer, 1000, 0..=5);
        delayer.packet(at(3000), Port::LINK, edited(&ack(1), |tcp| tcp.source_port = 99));
        assert_eq!((delayer.io.inner.len(), delayer.element.held().packets), (7, 0));
    }
}
