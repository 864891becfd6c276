//! What a sender before a medium that tells of deliveries knows of one connection: numbers learned from the handshake and
//! kept current (AST-3), what the medium delivered, and the acknowledgment that tells of it (AST-5).
//!
//! The sender is whose data go out over the medium: a station's TCP, or that of an access point which splits connections or passes
//! a server's data on.

use crate::position::{self, Position};
use airtcp_core::{Fields, FlowKey, Packet, SackBlocks, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use alloc::collections::BTreeMap;
use bytes::Bytes;

/// Ranges delivered above a hole that are remembered; beyond that the timeout repairs more than it has to.
const LATER_MAX: usize = 4096;

/// See the module.
#[derive(Debug)]
pub(crate) struct Emulation {
    /// Everything before was delivered, and is acknowledged.
    next: Position,
    /// Everything before was acknowledged by the other end itself.
    confirmed: Position,
    /// Delivered above a hole: start and end.
    later: BTreeMap<Position, Position>,
    /// The other end has spoken: its window and clock are known.
    is_open: bool,
    /// A split said with its SYN that it takes emulation for granted.
    is_split: bool,
    /// The sender has closed.
    is_closing: bool,
    /// SACK permitted by the sender and by the other end: a duplicate without blocks says nothing to such senders.
    has_sack: [bool; 2],
    /// Window scaling offered by the sender and by the other end.
    our_scale: Option<u8>,
    peer_scale: Option<u8>,
    /// The window field that was last seen, and the highest position that one allowed.
    window: u16,
    edge: Position,
    /// The edge of the last acknowledgment that was handed up.
    told_edge: Position,
    /// What the sender expects next from the other end.
    peer_next: SeqNum,
    /// The other end's clock in the newest segment that the sender has everything before.
    peer_clock: Option<u32>,
    /// The sender's clock in the last segment.
    echo: u32,
    /// The sender asked with its last segments whether the other end is there.
    is_asked: bool,
}

impl Emulation {
    /// A connection of which the sender sends `syn`.
    pub fn open(syn: &TcpHeader) -> Emulation {
        let next = position::first(syn.sequence) + 1;
        Emulation {
            next,
            confirmed: next,
            later: BTreeMap::new(),
            is_open: false,
            is_split: false,
            is_closing: false,
            has_sack: [syn.options.sack_permitted, false],
            our_scale: syn.options.window_scale,
            peer_scale: None,
            window: 0,
            edge: next,
            told_edge: next,
            peer_next: syn.acknowledgment,
            peer_clock: None,
            echo: syn.options.timestamps.map_or(0, |stamps| stamps.value),
            is_asked: false,
        }
    }

    /// A connection that the other end opens; what the sender will say is not known.
    pub fn offered() -> Emulation {
        let none = TcpHeader {
            source_port: 0,
            destination_port: 0,
            sequence: SeqNum(0),
            acknowledgment: SeqNum(0),
            flags: TcpFlags::SYN,
            window: 0,
            urgent: 0,
            options: TcpOptions::default(),
        };
        Emulation::open(&none)
    }

    /// The sender answers the other end's SYN with its own.
    pub fn answer(&mut self, syn: &TcpHeader) {
        let (peer_scale, peer_clock, window) = (self.peer_scale, self.peer_clock, self.window);
        let (has_sack, is_split) = ([syn.options.sack_permitted, self.has_sack[1]], self.is_split);
        *self = Emulation { is_open: true, is_split, peer_scale, peer_clock, window, has_sack, ..Emulation::open(syn) };
        // The window of a SYN is never scaled, and what follows it says more.
        self.edge = self.next + u64::from(window);
    }

    /// Whether somebody between the medium and the other end has the data when the medium has delivered them.
    pub fn is_split(&self) -> bool {
        self.is_split
    }

    /// A segment of which it was clear when it left that it asks for an answer, a keep-alive: the next acknowledgment of the
    /// other end is one. (RFC 9293 section 3.8.4)
    pub fn take_question(&mut self) -> bool {
        core::mem::take(&mut self.is_asked)
    }

    /// The next acknowledgment echoes this clock of the sender's: that of what was delivered.
    pub fn echo(&mut self, clock: u32) {
        self.echo = clock;
    }

    /// Both ends have spoken: acknowledgments can be emulated.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the sender has closed, and waits for an acknowledgment that nobody can emulate.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Looks at a segment that the sender sends; the positions of its data.
    pub fn note_sent(&mut self, tcp: &TcpHeader, payload: u32) -> (Position, Position) {
        self.is_closing |= tcp.flags.fin();
        if tcp.flags.ack() {
            self.peer_next = tcp.acknowledgment;
        }
        if let Some(stamps) = tcp.options.timestamps {
            self.echo = stamps.value;
        }
        let start = position::near(self.next, tcp.sequence);
        self.is_asked |= payload <= 1 && start < self.next;
        (start, start + u64::from(payload))
    }

    /// Looks at a segment from the other end; true if it acknowledges what the medium has not told of.
    pub fn note_received(&mut self, tcp: &TcpHeader) -> bool {
        if tcp.flags.syn() {
            self.peer_scale = tcp.options.window_scale;
            self.has_sack[1] = tcp.options.sack_permitted;
            self.peer_next = tcp.sequence + 1;
            self.is_open = tcp.flags.ack();
            self.is_split = tcp.flags.emulated();
            self.window = tcp.window;
        }
        self.note_clock(tcp);
        if !tcp.flags.ack() {
            return false;
        }
        self.window = tcp.window;
        let acknowledged = position::near(self.next, tcp.acknowledgment);
        self.confirmed = self.confirmed.max(acknowledged);
        // The window of a SYN is never scaled.
        let shift = if tcp.flags.syn() { 0 } else { self.scale() };
        self.edge = self.edge.max(acknowledged + (u64::from(tcp.window) << shift));
        let is_news = acknowledged > self.next && !tcp.flags.syn();
        if is_news {
            self.deliver(self.next, acknowledged);
        }
        is_news
    }

    /// Keeps the other end's clock as the sender does (RFC 7323 section 4.3): not that of a segment from ahead of what the sender
    /// expects. The sender would take those in between for old ones.
    fn note_clock(&mut self, tcp: &TcpHeader) {
        let Some(stamps) = tcp.options.timestamps.filter(|_| !tcp.sequence.after(self.peer_next)) else { return };
        if self.peer_clock.is_none_or(|clock| stamps.value.wrapping_sub(clock) as i32 >= 0) {
            self.peer_clock = Some(stamps.value);
        }
    }

    /// The medium delivered `start..end`; true if that moves the acknowledgment (AST-X3: never past a hole).
    pub fn deliver(&mut self, start: Position, end: Position) -> bool {
        if start > self.next {
            if self.later.len() < LATER_MAX {
                let kept = self.later.entry(start).or_insert(end);
                *kept = end.max(*kept);
            }
            return false;
        }
        let before = self.next;
        self.next = self.next.max(end);
        while let Some(entry) = self.later.first_entry().filter(|entry| *entry.key() <= self.next) {
            self.next = self.next.max(entry.remove());
        }
        self.next > before
    }

    /// Bytes that the medium delivered, of which the other end has not said that it has them.
    pub fn unconfirmed(&self) -> u64 {
        self.next.saturating_sub(self.confirmed)
    }

    /// Whether the other end allows `bytes` more than was told.
    pub fn allows_more(&self, bytes: u64) -> bool {
        self.edge >= self.told_edge + bytes
    }

    /// The acknowledgment of everything delivered in order, for the flow whose segments go to `flow`, in the memory of `spare`. With
    /// `honest` it allows no more than the other end did; else it repeats the window that was last seen (AST-U9). Neither is more
    /// than `most` bytes. With `tells_gaps` it reports what was delivered above a hole.
    pub fn acknowledgment(
        &mut self,
        spare: Option<Packet>,
        flow: &FlowKey,
        honest: bool,
        tells_gaps: bool,
        most: u64,
    ) -> Packet {
        let shift = self.scale();
        let allowed = if honest { self.edge.saturating_sub(self.next) } else { u64::from(self.window) << shift };
        let window = (allowed.min(most) >> shift).min(u64::from(u16::MAX)) as u16;
        self.told_edge = self.told_edge.max(self.next + (u64::from(window) << shift));
        let fields = Fields {
            traffic_class: 0,
            sequence: self.peer_next,
            acknowledgment: position::sequence(self.next),
            flags: TcpFlags::ACK,
            window,
            timestamps: self.peer_clock.map(|value| Timestamps { value, echo: self.echo }),
        };
        let mut packet = Packet::tcp_bytes_in(spare, &flow.reversed(), &fields, Bytes::new());
        if tells_gaps && !self.later.is_empty() {
            packet.report(self.blocks());
        }
        packet
    }

    /// What was delivered above the hole, newest first; nothing that the medium did not tell of.
    fn blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.has_sack != [true; 2] {
            return blocks;
        }
        let mut ranges = self.later.iter().rev().map(|(start, end)| (*start, *end));
        let mut current = ranges.next();
        while let Some((start, end)) = current {
            current = ranges.next();
            match current {
                Some((before, until)) if until >= start => current = Some((before, end.max(until))),
                _ if !blocks.push(position::sequence(start), position::sequence(end)) => break,
                _ => {}
            }
        }
        blocks
    }

    /// How far windows of the sender are shifted.
    pub fn sender_scale(&self) -> u8 {
        self.our_scale.filter(|_| self.peer_scale.is_some()).map_or(0, |shift| shift.min(14))
    }

    /// How far windows of the other end are shifted: only where both offered it (RFC 7323).
    fn scale(&self) -> u8 {
        self.peer_scale.filter(|_| self.our_scale.is_some()).map_or(0, |shift| shift.min(14))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u32, acknowledgment: u32, clock: u32, flags: TcpFlags) -> TcpHeader {
        TcpHeader {
            source_port: 1,
            destination_port: 2,
            sequence: SeqNum(sequence),
            acknowledgment: SeqNum(acknowledgment),
            flags,
            window: 1000,
            urgent: 0,
            options: TcpOptions { timestamps: Some(Timestamps { value: clock, echo: 0 }), ..TcpOptions::default() },
        }
    }

    /// Number and clock of the acknowledgment that would be made now.
    fn told(emulation: &mut Emulation) -> (u32, u32) {
        let end = |last| core::net::IpAddr::from([10, 0, 0, last]);
        let flow = FlowKey { source: end(1), destination: end(2), source_port: 2, destination_port: 1 };
        let packet = emulation.acknowledgment(None, &flow, true, false, u64::MAX);
        let tcp = packet.tcp().unwrap();
        (tcp.sequence.0, tcp.options.timestamps.unwrap().value)
    }

    /// HACK lets an acknowledgment overtake data; with its clock at the number before them the sender would refuse them (PAWS).
    #[test]
    fn a_clock_from_ahead_of_what_is_expected_is_not_told_before_its_time() {
        let mut emulation = Emulation::open(&header(99, 0, 7, TcpFlags::SYN));
        emulation.note_received(&header(499, 100, 40, TcpFlags::SYN.with(TcpFlags::ACK)));
        assert_eq!(told(&mut emulation), (500, 40));
        emulation.note_received(&header(900, 150, 60, TcpFlags::ACK));
        assert_eq!(told(&mut emulation), (500, 40), "it is ahead of what the sender has");
        emulation.note_received(&header(500, 150, 50, TcpFlags::ACK));
        emulation.note_sent(&header(150, 900, 8, TcpFlags::ACK), 0);
        assert_eq!(told(&mut emulation), (900, 50));
        emulation.note_received(&header(900, 150, 61, TcpFlags::ACK));
        emulation.note_received(&header(800, 150, 45, TcpFlags::ACK));
        assert_eq!(told(&mut emulation), (900, 61), "an older one came late");
    }
}
