//! The receiving end of a circuit: the receivers of its control TCPs (DEC-17). Data are no business of it (DEC-19).

use super::header;
use super::settings::{CircuitSettings, MAX_CONTROLS};
use airtcp_core::{Instant, Packet, Rng, SeqNum};
use airtcp_tcp::{Connection, Endpoint, Opening, Stream, default_mss, reset_reply};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;

/// Resets that wait to be sent, at most.
const MAX_RESETS: usize = 16;

/// Receivers of all control TCPs of one circuit; driven as [`Circuit`](super::Circuit) is.
#[derive(Debug)]
pub struct CircuitEnd {
    settings: CircuitSettings,
    local: Endpoint,
    remote: IpAddr,
    controls: Vec<Connection>,
    resets: VecDeque<Packet>,
    /// So many control TCPs give their place to one that connects anew, at once; others as RFC 5961 has it.
    replaceable: usize,
    rng: Rng,
}

impl CircuitEnd {
    /// The end at `local` of a circuit from `remote`; `settings` were checked. VMSS is what the SYNs say, whatever it is in
    /// `settings`.
    pub fn new(settings: &CircuitSettings, local: IpAddr, remote: IpAddr, rng: &mut Rng) -> CircuitEnd {
        CircuitEnd {
            settings: settings.clone(),
            local: Endpoint { address: local, port: settings.port },
            remote,
            controls: Vec::new(),
            resets: VecDeque::new(),
            replaceable: 0,
            rng: Rng::derive(rng.next_u64(), "circuit end"),
        }
    }

    /// The same where nobody but the other end can have sent what arrives: a control TCP that connects anew takes the
    /// place of its former self at once.
    #[must_use]
    pub fn trusting(self) -> CircuitEnd {
        CircuitEnd { replaceable: usize::MAX, ..self }
    }

    /// The other end is about to connect anew, as it said in another way: so each control TCP that is here gives its
    /// place at once, one time.
    pub fn expect_anew(&mut self) {
        self.replaceable = self.replaceable.max(self.controls.len());
    }

    /// True for a packet of one of the control TCPs.
    pub fn owns(&self, packet: &Packet) -> bool {
        packet.flow().is_some_and(|flow| {
            let number = flow.source_port.wrapping_sub(self.local.port);
            (flow.source, flow.destination) == (self.remote, self.local.address)
                && flow.destination_port == self.local.port
                && (1..=u16::from(MAX_CONTROLS)).contains(&number)
        })
    }

    /// Takes a packet that it [`owns`](CircuitEnd::owns); a damaged one is ignored.
    pub fn handle_control(&mut self, now: Instant, packet: &Packet) {
        let Some(flow) = packet.flow().filter(|_| self.owns(packet) && packet.checksum_holds()) else { return };
        self.controls.retain(|connection| !connection.is_closed());
        let is_superseded =
            |connection: &Connection| connection.flow() == flow.reversed() && connects_anew(connection, packet);
        if self.replaceable > 0
            && let Some(superseded) = self.controls.iter().position(is_superseded)
        {
            self.controls.remove(superseded);
            self.replaceable -= usize::from(self.replaceable < usize::MAX);
        }
        let known = self.controls.iter_mut().find(|connection| connection.flow() == flow.reversed());
        match known {
            Some(connection) => take(connection, now, packet),
            None => self.accept(now, packet),
        }
    }

    fn accept(&mut self, now: Instant, packet: &Packet) {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp()) else { return };
        let is_ipv4 = flow.source.is_ipv4();
        // The answer's MSS is the question's, so that both ends know one VMSS.
        let mss = tcp.options.mss.map_or(default_mss(is_ipv4), u32::from);
        let config = self.settings.config(mss, is_ipv4, self.rng.next_u64());
        let (initial_sequence, timestamp_offset) = (SeqNum(self.rng.next_u64() as u32), self.rng.next_u64() as u32);
        let remote = Endpoint { address: flow.source, port: flow.source_port };
        let source = Stream::Virtual { id: header::STREAM };
        let opening = Opening { config, local: self.local, remote, initial_sequence, timestamp_offset, source };
        let accepted = (self.controls.len() < usize::from(MAX_CONTROLS))
            .then(|| Connection::accept(&opening, packet, now))
            .flatten();
        match accepted {
            Some(connection) => self.controls.push(connection),
            // Of a connection that this box does not know (any more): its other end connects anew.
            None if self.resets.len() < MAX_RESETS => self.resets.extend(reset_reply(packet)),
            None => {}
        }
    }

    /// The next acknowledgment to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let reset = self.resets.pop_front();
        reset.or_else(|| self.controls.iter_mut().find_map(|connection| connection.poll_transmit(now)))
    }

    /// The earliest deadline, for [`CircuitEnd::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.controls.iter().filter_map(Connection::poll_timeout).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.controls.iter_mut().for_each(|connection| connection.handle_timeout(now));
    }

    /// The control TCPs.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.controls.iter()
    }

    /// Every virtual stream arrived without gap or repetition.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn check(&self) -> Result<(), &'static str> {
        self.controls.iter().try_for_each(Connection::stream_check)
    }
}

/// True for a SYN that is not the one this connection began with.
fn connects_anew(connection: &Connection, packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.flags.syn() && connection.position_of(tcp.sequence) != -1)
}

/// A header packet is the segment that it stands for, anything else what it is.
fn take(connection: &mut Connection, now: Instant, packet: &Packet) {
    let position = packet.tcp().map_or(-1, |tcp| connection.position_of(tcp.sequence));
    let segment = u64::try_from(position)
        .ok()
        .filter(|_| header::is_header(packet))
        .and_then(|position| header::restore(packet, position, connection.mss()));
    connection.handle_segment(now, segment.as_ref().unwrap_or(packet));
}
