//! ACK thinning as drivers of 802.11 stations ship it: of the pure acknowledgments of a flow every N-th leaves, and the
//! latest one a little later if no N-th comes.
//!
//! The rule is that of bcmdhd (`dhd_tcpack_hold` in `dhd_ip.c`, mode `TCPACK_SUP_HOLD`): the first acknowledgment waits, each later one
//! takes its place, the N-th leaves at once, and a timer that began with the first lets go what waits. bcmdhd drops duplicates,
//! SACK blocks and window updates like any other acknowledgment. Ours never does, so a sender hears of each loss at once.
//! What else leaves at once is taken from sprdwl, which has the same rule (`tcp_ack.c`): the first acknowledgment of a flow, one with
//! options other than timestamps, and one for data that came with PSH.
//!
//! An acknowledgment that leaves at once drops the one that waits if it says as much (`redundant_ack`, the rules of CAKE); else the
//! one that waits leaves before it. So the order of a flow stays. What is not pure (data, SYN, FIN, RST) does the same.
//!
//! Below a rate nothing waits (`activity`). Nobody at the other end needs to know of any of this.

mod activity;
mod flow;
mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Interfaces, ThinSettings};

use crate::timers::Timers;
use crate::{End, Made, Placement, Reports, SchemeEntry, Site, settings_for};
use activity::Activity;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, DropReason, Element, Event, FlowKey, Gauge, Instant, Packet, Port, Traffic};
use alloc::boxed::Box;
use flow::{Flow, Verdict};

/// The line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "thin",
    about: "Of the pure acknowledgments of a flow every N-th leaves, as drivers of 802.11 stations do it",
    source: "bcmdhd dhd_ip.c, sprdwl tcp_ack.c (vendor drivers for Linux); RFC 3449 section 5.2.1",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports::NONE,
    settings: || settings_for(make),
};

/// Memory of a flow: its entry, its deadline and the acknowledgment that waits, whose options are at most 40 bytes.
const FLOW_MEMORY: u64 = 1024;

fn make(settings: &ThinSettings, site: &mut Site<'_>) -> Made {
    if settings.every == 0 {
        return Err(ParameterError::bad("every", "0 would send none; write 1 or more"));
    }
    Ok(Box::new(Thin::new(settings, site)))
}

/// The element at one interface.
#[derive(Debug)]
pub struct Thin {
    settings: ThinSettings,
    activity: Activity,
    /// By the direction of the acknowledgments.
    flows: FlowTable<Flow>,
    timers: Timers,
    waiting: Backlog,
    capacity: usize,
}

impl Thin {
    /// The element at one end of a link.
    pub fn new(settings: &ThinSettings, site: &mut Site<'_>) -> Self {
        let is_here = match settings.at {
            Interfaces::Both => true,
            Interfaces::Near => site.end == End::Near,
            Interfaces::Far => site.end != End::Near,
        };
        let activity = if is_here && settings.every > 1 {
            Activity::new(settings.least_rate, site.link.rate)
        } else {
            Activity::Never
        };
        let capacity = (site.max_memory.0 / FLOW_MEMORY).max(1) as usize;
        Thin {
            settings: settings.clone(),
            activity,
            flows: FlowTable::new(capacity, site.rng),
            timers: Timers::default(),
            waiting: Backlog::default(),
            capacity,
        }
    }

    /// The flow of a segment that leaves, remembered from now on.
    fn slot(&mut self, cx: &mut Context<'_>, flow: FlowKey) -> u32 {
        if let Some(slot) = self.flows.slot(&flow) {
            self.flows.touch(slot);
            return slot;
        }
        if let Some(oldest) = self.flows.next_to_go() {
            self.release(cx, oldest);
            cx.emit(Event::FLOW_EVICTED);
        }
        cx.emit(Event::FLOW_NEW);
        self.flows.insert(flow, Flow::default()).0
    }

    fn handle_leaving(&mut self, cx: &mut Context<'_>, flow: FlowKey, packet: Packet) {
        let slot = self.slot(cx, flow);
        let (every, is_on) = (self.settings.every, self.activity.is_on());
        let Some((_, state)) = self.flows.at_mut(slot) else { return cx.send(Port::LINK, packet) };
        match state.judge(&packet, every, is_on) {
            Verdict::Waits => {
                let begins = !state.has_waiting();
                self.drop_waiting(cx, slot);
                self.keep(cx, slot, packet, begins);
            }
            Verdict::Leaves { replaces: true } => {
                self.drop_waiting(cx, slot);
                self.settle(slot);
                cx.send(Port::LINK, packet);
            }
            Verdict::Leaves { replaces: false } => {
                self.release(cx, slot);
                cx.send(Port::LINK, packet);
            }
        }
    }

    /// An acknowledgment waits; the timer began with the first.
    fn keep(&mut self, cx: &mut Context<'_>, slot: u32, packet: Packet, begins: bool) {
        self.waiting = self.waiting + one(&packet);
        let Some((_, state)) = self.flows.at_mut(slot) else { return };
        state.wait(packet);
        if begins {
            cx.emit(Event::ACK_DELAYED);
            self.timers.set(slot, &mut state.timer, Some(cx.now() + self.settings.delay));
        }
    }

    /// What waits was said again by a later acknowledgment.
    fn drop_waiting(&mut self, cx: &mut Context<'_>, slot: u32) {
        if let Some(packet) = self.take_waiting(slot) {
            cx.emit(Event::ACK_SUPPRESSED);
            cx.discard(packet, DropReason::SUPPRESSED);
        }
    }

    /// What waits leaves.
    fn release(&mut self, cx: &mut Context<'_>, slot: u32) {
        if let Some(packet) = self.take_waiting(slot) {
            cx.send(Port::LINK, packet);
        }
        self.settle(slot);
    }

    /// Nothing of a flow waits any more: the count and the timer begin anew.
    fn settle(&mut self, slot: u32) {
        if let Some((_, state)) = self.flows.at_mut(slot) {
            state.begin_anew();
            self.timers.set(slot, &mut state.timer, None);
        }
    }

    fn take_waiting(&mut self, slot: u32) -> Option<Packet> {
        let packet = self.flows.at_mut(slot)?.1.take_waiting()?;
        let Backlog { packets, bytes } = one(&packet);
        self.waiting = Backlog { packets: self.waiting.packets - packets, bytes: self.waiting.bytes - bytes };
        Some(packet)
    }
}

/// A packet, counted.
fn one(packet: &Packet) -> Backlog {
    Backlog { packets: 1, bytes: u64::from(packet.wire_len()) }
}

impl Element for Thin {
    fn traffic(&self) -> Traffic {
        if matches!(self.activity, Activity::Never) { Traffic::Nothing } else { Traffic::Tcp }
    }

    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER {
            return match packet.flow() {
                Some(flow) if !matches!(self.activity, Activity::Never) => self.handle_leaving(cx, flow, packet),
                _ => cx.send(Port::LINK, packet),
            };
        }
        self.activity.note_arrival(cx.now(), packet.wire_len());
        if let Some(flow) = packet.flow()
            && let Some(state) = self.flows.get_mut(&flow.reversed())
        {
            state.note_arrival(&packet);
        }
        cx.send(Port::INNER, packet);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        while let Some(slot) = self.timers.first_due(cx.now()) {
            self.release(cx, slot);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    fn held(&self) -> Backlog {
        self.waiting
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::HELD_BYTES, self.waiting.bytes);
        gauge(Gauge::MEMORY_BYTES, self.flows.len() as u64 * FLOW_MEMORY);
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.timers.len() != self.waiting.packets {
            return Err("an acknowledgment waits without a deadline, or a deadline has no acknowledgment");
        }
        if self.flows.len() > self.capacity {
            return Err("more flows are remembered than there is memory for");
        }
        Ok(())
    }
}
