//! The world of a live element: packets of two devices, the monotonic clock, a control channel.
//!
//! Sends are buffered during a call, so no element is re-entered, and are written after a batch of packets: what belongs
//! together goes to the kernel at once, as a system call costs more than what most elements do with a packet.

use super::config::Role;
use super::control::ControlChannel;
use super::letters::{Letter, Letters};
use super::outlet::{Outgoing, Outlet, Waiting};
use super::wifi::{Air, Torn};
use crate::device::{Datagram, TunDevice};
use crate::sys::clock;
use airtcp_core::initial_sequence::InitialSequences;
use airtcp_core::{
    Backlog, DropReason, FlowKey, Instant, Io, Ledger, Outcome, Packet, Peer, Port, SeqNum, Token, TxStatus,
};
use airtcp_schemes::papers::as_tcp::events::EMULATED_ACK;
use std::collections::VecDeque;

/// Late messages that wait for what was sent after them.
const LATE_MESSAGES: usize = 32;

/// Implements [`Io`] over the devices and the control channel.
pub(super) struct World {
    /// By the port that packets leave through: [`Port::INNER`] is the device of what arrived
    /// on the link, [`Port::LINK`] that of what leaves through it.
    pub devices: [TunDevice; 2],
    pub control: Option<ControlChannel>,
    /// Where packets for [`Port::LINK`] leave a station, in place of the device.
    pub air: Option<Air>,
    /// Connections of a Wi-Fi link, and at which side of it this is.
    pub torn: Option<(Role, Torn)>,
    pub outgoing: Vec<Outgoing<Letter>>,
    /// What its messages say; the late ones apart, as they leave apart.
    pub letters: Letters,
    pub late_letters: Letters,
    /// What waits for its turn on a link that peers share.
    pub outlet: Option<Outlet>,
    pub statuses: VecDeque<TxStatus>,
    /// Datagrams that are no IP packet we can read, passed on as they came, by arrival port.
    pub passed_unread: [u64; 2],
    pub sequences: InitialSequences,
}

impl Io for World {
    fn room(&mut self, port: Port) -> usize {
        if port.0 < 2 { usize::MAX } else { 0 }
    }

    fn backlog(&mut self, port: Port) -> Backlog {
        // The kernel takes packets at once; what waits in the link's own queue is not visible.
        let waiting = self.outgoing.iter().filter_map(|outgoing| match outgoing {
            Outgoing::Packet(to, packet, _) => (*to == port).then_some(packet),
            Outgoing::Control(_) | Outgoing::LateControl(_) => None,
        });
        let in_outlet = self.outlet.iter().filter(|_| port == Port::LINK).flat_map(Outlet::packets);
        waiting.chain(in_outlet).fold(Backlog::default(), |sum, packet| Backlog {
            packets: sum.packets + 1,
            bytes: sum.bytes + u64::from(packet.wire_len()),
        })
    }

    fn try_send(&mut self, port: Port, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        if port.0 >= 2 {
            return Err(packet);
        }
        self.note_sent(port, &packet);
        self.outgoing.push(Outgoing::Packet(port, packet, token));
        Ok(())
    }

    fn initial_sequence(&self, now: Instant, flow: &FlowKey) -> Option<SeqNum> {
        Some(self.sequences.at(now, flow))
    }

    fn control_overhead(&self) -> u32 {
        self.control.as_ref().map_or(0, ControlChannel::overhead)
    }

    fn path_mtu(&self) -> Option<u32> {
        self.control.as_ref().and_then(ControlChannel::path_mtu)
    }

    fn send_control(&mut self, peer: Peer, message: &[u8]) {
        self.send_control_parts(peer, [message, &[]]);
    }

    fn send_control_late(&mut self, peer: Peer, message: &[u8]) {
        if peer == Peer::OTHER_END {
            let letter = self.late_letters.write(self.margins(), [message, &[]]);
            self.outgoing.push(Outgoing::LateControl(letter));
        }
    }

    fn send_control_parts(&mut self, peer: Peer, parts: [&[u8]; 2]) {
        if peer == Peer::OTHER_END {
            let letter = self.letters.write(self.margins(), parts);
            self.outgoing.push(Outgoing::Control(letter));
        }
    }
}

impl World {
    /// Shows what came in at a port to whoever watches the link.
    pub fn note_received(&mut self, port: Port, packet: &Packet) {
        match &mut self.torn {
            Some((Role::Station, torn)) if port == Port::LINK => torn.note_other(clock::now(), packet),
            Some((Role::AccessPoint, torn)) if port == Port::LINK => torn.note_station(clock::now(), packet),
            _ => {}
        }
    }

    fn note_sent(&mut self, port: Port, packet: &Packet) {
        match &mut self.torn {
            Some((Role::Station, torn)) if port == Port::LINK => torn.note_station(clock::now(), packet),
            Some((Role::Station, torn)) if packet.origin() == Some(EMULATED_ACK) => torn.note_told(packet),
            Some((Role::AccessPoint, torn)) if port == Port::LINK => torn.note_other(clock::now(), packet),
            _ => {}
        }
    }

    /// Writes what was sent since the last call. Packets in a row for one device are given to the kernel together, as far
    /// as they can be.
    pub fn flush(&mut self, now: Instant, ledger: &mut Ledger) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        match self.outlet.take() {
            Some(mut outlet) => {
                let (at_once, to_wait): (Vec<_>, Vec<_>) =
                    outgoing.drain(..).partition(|item| matches!(item, Outgoing::Packet(Port::INNER, ..)));
                self.write_all(now, ledger, at_once);
                to_wait.into_iter().for_each(|item| self.let_wait(now, ledger, item, &mut outlet));
                self.outlet = Some(outlet);
            }
            None => self.write_all(now, ledger, outgoing.drain(..)),
        }
        // Keeps its capacity.
        self.outgoing = outgoing;
        self.letters.clear();
        self.late_letters.clear();
    }

    fn margins(&self) -> [usize; 2] {
        self.control.as_ref().map_or([0; 2], ControlChannel::margins)
    }

    fn let_wait(&mut self, now: Instant, ledger: &mut Ledger, item: Outgoing<Letter>, outlet: &mut Outlet) {
        let margins = self.margins();
        let item = match item {
            Outgoing::Packet(port, packet, token) => Outgoing::Packet(port, packet, token),
            Outgoing::Control(letter) => Outgoing::Control(self.letters.message(&letter, margins).to_vec()),
            Outgoing::LateControl(letter) => {
                Outgoing::LateControl(self.late_letters.message(&letter, margins).to_vec())
            }
        };
        let bytes = match &item {
            Outgoing::Packet(_, packet, _) => packet.wire_len(),
            Outgoing::Control(message) | Outgoing::LateControl(message) => {
                message.len() as u32 + self.control_overhead()
            }
        };
        match outlet.push(item, bytes) {
            Ok(()) => {}
            Err(Outgoing::Packet(port, _, token)) => {
                ledger.fail_to_send(port, DropReason::QUEUE_FULL);
                let status = |token| TxStatus { token, outcome: Outcome::Dropped, tries: 1, at: now };
                self.statuses.extend(token.map(status));
            }
            Err(Outgoing::Control(_) | Outgoing::LateControl(_)) => {
                self.control.iter_mut().for_each(ControlChannel::refuse);
            }
        }
    }

    /// Writes the first of what waits for its turn, so many.
    pub fn release(&mut self, now: Instant, ledger: &mut Ledger, count: usize) {
        let Some(mut outlet) = self.outlet.take() else { return };
        let items: Vec<_> = std::iter::from_fn(|| outlet.pop()).take(count).map(|item| self.take_up(item)).collect();
        self.write_all(now, ledger, items);
        self.outlet = Some(outlet);
    }

    /// The turn of something that waited has come.
    fn take_up(&mut self, item: Waiting) -> Outgoing<Letter> {
        let margins = self.margins();
        match item {
            Outgoing::Packet(port, packet, token) => Outgoing::Packet(port, packet, token),
            Outgoing::Control(message) => Outgoing::Control(self.letters.write(margins, [&message, &[]])),
            Outgoing::LateControl(message) => Outgoing::LateControl(self.late_letters.write(margins, [&message, &[]])),
        }
    }

    fn write_all(&mut self, now: Instant, ledger: &mut Ledger, items: impl IntoIterator<Item = Outgoing<Letter>>) {
        let (mut staged_for, mut tokens) = (Port::INNER, VecDeque::new());
        // Messages behind what is staged, and those that wait for more.
        let (mut prompt, mut late) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                Outgoing::Packet(Port::LINK, packet, token) if self.air.is_some() => {
                    self.transmit(now, ledger, &packet, token);
                }
                Outgoing::Packet(port, packet, token) => {
                    if port != staged_for || !prompt.is_empty() {
                        self.write(now, ledger, staged_for, &mut tokens);
                        self.send_letters(&mut prompt, false);
                        staged_for = port;
                    }
                    let checksum_is_known_good = packet.checksum_is_known_good();
                    let datagram = Datagram { bytes: packet.to_wire(), checksum_is_known_good };
                    if let Err(datagram) = self.devices[port.index()].stage(datagram) {
                        self.write(now, ledger, port, &mut tokens);
                        // Nothing is staged, so it is taken.
                        let _ = self.devices[port.index()].stage(datagram);
                    }
                    tokens.push_back(token);
                }
                Outgoing::Control(letter) => prompt.push(letter),
                Outgoing::LateControl(letter) => {
                    late.push(letter);
                    if late.len() > LATE_MESSAGES {
                        self.write(now, ledger, staged_for, &mut tokens);
                        self.send_letters(&mut prompt, false);
                        self.send_letters(&mut late, true);
                    }
                }
            }
        }
        self.write(now, ledger, staged_for, &mut tokens);
        self.send_letters(&mut prompt, false);
        self.send_letters(&mut late, true);
    }

    /// Sends a packet over the air; its report comes later.
    fn transmit(&mut self, now: Instant, ledger: &mut Ledger, packet: &Packet, token: Option<Token>) {
        let Some(air) = &mut self.air else { return };
        if !air.send(now, packet, token, &mut self.statuses) {
            ledger.fail_to_send(Port::LINK, DropReason::DEVICE);
        }
    }

    /// Reads what the air reports.
    pub fn handle_reports(&mut self, now: Instant) {
        if let Some(air) = &mut self.air {
            air.handle_reports(now, &mut self.statuses);
        }
    }

    fn send_letters(&mut self, places: &mut Vec<Letter>, are_late: bool) {
        let letters = if are_late { &mut self.late_letters } else { &mut self.letters };
        if let Some(control) = &mut self.control {
            control.send(letters.bytes_mut(), places);
        }
        places.clear();
    }

    /// Writes what is staged for a device, and notes what became of it.
    fn write(&mut self, now: Instant, ledger: &mut Ledger, port: Port, tokens: &mut VecDeque<Option<Token>>) {
        let is_sent = self.devices[port.index()].flush();
        for token in tokens.drain(..) {
            if !is_sent {
                ledger.fail_to_send(port, DropReason::DEVICE);
            }
            if let Some(token) = token {
                let outcome = if is_sent { Outcome::Sent } else { Outcome::Dropped };
                self.statuses.push_back(TxStatus { token, outcome, tries: 1, at: now });
            }
        }
    }
}
