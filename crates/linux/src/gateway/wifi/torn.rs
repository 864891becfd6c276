//! Connections that cannot go on, and who resets them.
//!
//! A station's TCP forgets what was acknowledged to it. If the split that had it is gone, or never got it, nobody can send it
//! again: the other end goes on asking for a number below all that the station still has. The stream would stand still until
//! some timeout ends it a quarter of an hour later. It never ends cleanly: the end of a stream has its number, too, and that
//! does not come in order. Here such a connection is found and reset at both ends within a minute.
//!
//! - *Found*: what the other end acknowledges has been the same number for [`LEAST`], it was said [`REPEATS`] times meanwhile, and the
//!   station has nothing at that number: it was told that more has arrived, or sends only segments behind it.
//! - *Asked*: where nothing is sent, nothing is said. While a station was told of more than the other end has acknowledged,
//!   a keep-alive asks the other end every [`ASK_EVERY`] (RFC 9293, 3.8.4). Who cannot be reached does not answer, and is not
//!   reset.
//!
//! No I/O and no clock: the gateway of a station and that of an access point each show what crosses the link.

use airtcp_core::flow_table::FlowTable;
use airtcp_core::packet::Segment;
use airtcp_core::{Duration, FlowKey, Instant, Packet, Rng, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use bytes::Bytes;

/// How long it must not move.
pub const LEAST: Duration = Duration::from_secs(20);
/// How often the other end must say it meanwhile.
const REPEATS: u32 = 3;
/// And how often the station must send something else.
const BEYOND: u32 = 3;
/// Between two questions.
pub const ASK_EVERY: Duration = Duration::from_secs(5);
/// How far a second question goes back, and how often a further one doubles that: to 16 MiB, more than any split holds.
const STEP: u32 = 1 << 15;
const STEPS: u32 = 9;
/// Connections that are watched; those that were silent longest are forgotten first.
const FLOWS: usize = 4096;

/// What is known of one connection, seen from the station.
#[derive(Debug)]
struct State {
    /// The number that the other end said last, really and over the link. It goes back where a split is gone that had more.
    said: SeqNum,
    /// Since then, or since the station last sent what comes next.
    since: Instant,
    /// How often it was said since.
    repeats: u32,
    /// Segments that the station sent since, all of them behind that number.
    beyond: u32,
    /// The station was told that this has arrived.
    told: Option<SeqNum>,
    /// What the station expects from the other end, and its window and clock in its last segment.
    expected: SeqNum,
    window: u16,
    clock: Option<Timestamps>,
    asked: Instant,
    /// Questions since the other end last said anything.
    in_vain: u32,
}

/// What is to be done about a connection.
#[derive(Debug)]
pub enum Order {
    /// Send this to the other end: a keep-alive.
    Ask(Packet),
    /// It is over: a reset that the station's TCP believes, as if from the other end, and one for the other end.
    Reset {
        /// To the station.
        near: Packet,
        /// As if from the station.
        far: Packet,
    },
}

/// Watches the connections of a link's stations.
#[derive(Debug)]
pub struct Torn {
    flows: FlowTable<State>,
}

impl State {
    fn start(&mut self, now: Instant) {
        (self.since, self.repeats, self.beyond) = (now, 0, 0);
    }

    /// The station was told of more than the other end has.
    fn owes(&self) -> bool {
        self.told.is_some_and(|told| told.distance_from(self.said) > 0)
    }

    /// A keep-alive of the station's: a number that the other end has, so that it says what it expects. If it does not answer,
    /// it may have less than was said, and is asked for less.
    fn question(&self, flow: &FlowKey) -> Packet {
        let back = if self.in_vain == 0 { 1 } else { STEP << self.in_vain.min(STEPS) };
        let header = TcpHeader {
            acknowledgment: self.expected,
            flags: TcpFlags::ACK,
            window: self.window,
            options: TcpOptions { timestamps: self.clock, ..TcpOptions::default() },
            ..header(flow, self.said - back)
        };
        segment(flow, header)
    }

    fn is_torn(&self, now: Instant) -> bool {
        let has_nothing = self.owes() || self.beyond >= BEYOND;
        has_nothing && self.repeats >= REPEATS && now.saturating_since(self.since) >= LEAST
    }
}

impl Torn {
    /// Watches nothing yet.
    pub fn new(rng: &mut Rng) -> Torn {
        Torn { flows: FlowTable::new(FLOWS, rng) }
    }

    /// A segment crosses the link from a station.
    pub fn note_station(&mut self, now: Instant, packet: &Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow(), packet.tcp()) else { return };
        if tcp.flags.rst() || tcp.flags.syn() {
            return self.forget(&flow);
        }
        let Some(state) = self.flows.get_mut(&flow) else { return };
        (state.expected, state.window, state.clock) = (tcp.acknowledgment, tcp.window, tcp.options.timestamps);
        if tcp.sequence.distance_from(state.said) > 0 {
            state.beyond = state.beyond.saturating_add(1);
        } else if packet.payload_len() > 0 || !state.owes() {
            state.start(now);
        }
    }

    /// A segment crosses the link to a station.
    pub fn note_other(&mut self, now: Instant, packet: &Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow(), packet.tcp()) else { return };
        let flow = flow.reversed();
        if tcp.flags.rst() {
            return self.forget(&flow);
        }
        if !tcp.flags.ack() {
            return;
        }
        let Some(slot) = self.flows.slot(&flow) else {
            let expected = tcp.sequence + packet.sequence_len();
            let state = State {
                said: tcp.acknowledgment,
                since: now,
                repeats: 0,
                beyond: 0,
                told: None,
                expected,
                window: 0,
                clock: None,
                asked: now,
                in_vain: 0,
            };
            self.flows.insert(flow, state);
            return;
        };
        self.flows.touch(slot);
        let Some((_, state)) = self.flows.at_mut(slot) else { return };
        state.in_vain = 0;
        if tcp.acknowledgment == state.said {
            state.repeats = state.repeats.saturating_add(1);
        } else {
            state.said = tcp.acknowledgment;
            state.start(now);
        }
    }

    /// A station is told that more has arrived, by an acknowledgment that was made here.
    pub fn note_told(&mut self, packet: &Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow(), packet.tcp()) else { return };
        if let Some(state) = self.flows.get_mut(&flow.reversed()) {
            state.told = Some(tcp.acknowledgment);
        }
    }

    fn forget(&mut self, flow: &FlowKey) {
        if let Some(slot) = self.flows.slot(flow) {
            self.flows.remove_slot(slot);
        }
    }

    /// What is to be done now; look once a second.
    pub fn look(&mut self, now: Instant) -> Vec<Order> {
        let slots: Vec<u32> = self.flows.slots_oldest_first().collect();
        slots.into_iter().filter_map(|slot| self.look_at(now, slot)).collect()
    }

    fn look_at(&mut self, now: Instant, slot: u32) -> Option<Order> {
        let (&flow, state) = self.flows.at_mut(slot)?;
        if state.is_torn(now) {
            let near = reset(&flow.reversed(), state.expected);
            let far = reset(&flow, state.said);
            self.flows.remove_slot(slot);
            return Some(Order::Reset { near, far });
        }
        let is_time = now >= state.since + ASK_EVERY && now >= state.asked + ASK_EVERY;
        (state.owes() && is_time).then(|| {
            state.asked = now;
            let question = state.question(&flow);
            state.in_vain = state.in_vain.saturating_add(1);
            Order::Ask(question)
        })
    }
}

/// Of a segment of this direction, to be filled in.
fn header(flow: &FlowKey, sequence: SeqNum) -> TcpHeader {
    TcpHeader {
        source_port: flow.source_port,
        destination_port: flow.destination_port,
        sequence,
        acknowledgment: SeqNum(0),
        flags: TcpFlags::RST,
        window: 0,
        urgent: 0,
        options: TcpOptions::default(),
    }
}

fn reset(flow: &FlowKey, sequence: SeqNum) -> Packet {
    segment(flow, header(flow, sequence))
}

fn segment(flow: &FlowKey, tcp: TcpHeader) -> Packet {
    let segment = Segment { source: flow.source, destination: flow.destination, traffic_class: 0, tcp };
    Packet::tcp_bytes(&segment, Bytes::new())
}

#[cfg(test)]
mod tests;
