//! The sending end.

use super::{ReliableSettings, Repeat, WhenFull};
use crate::papers::decoupling::{Circuit, Departure, counters};
use crate::socket::{Socket, SocketSite};
use airtcp_core::{Duration, Event, Instant, Packet};
use airtcp_tcp::{Connection, Opening, Stats};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Fewer duplicates are no sign of a loss (DEC-U7).
const LEAST_REPEAT: u32 = 3;

/// A data TCP above a circuit.
pub struct Sender {
    data: Connection,
    circuit: Circuit,
    repeat: Repeat,
    repeat_after: Option<u32>,
    when_full: WhenFull,
    /// Sequence numbers of what waits in the tunnel queue, if a second copy is kept out.
    waiting: Option<BTreeSet<u32>>,
    /// A segment was lost in front of the tunnel queue; the next one waits.
    is_quenched: bool,
    /// Data segments lost there ([`WhenFull::Drop`]).
    dropped: u64,
}

impl Socket for Sender {
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if self.circuit.owns(packet) {
            return self.circuit.handle_control(now, packet);
        }
        self.data.set_repeat_after(self.repeat_after());
        self.data.handle_segment(now, packet);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(direct) = self.fill(now) {
            return Some(direct);
        }
        match self.circuit.poll_transmit(now)? {
            Departure::Control(packet) => Some(packet),
            Departure::Data(packet) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.remove(&number(&packet));
                }
                Some(packet)
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.data.poll_timeout().into_iter().chain(self.circuit.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.data.handle_timeout(now);
        self.circuit.handle_timeout(now);
    }

    fn stats(&self) -> Stats {
        *self.data.stats()
    }

    fn connection(&self) -> Option<&Connection> {
        Some(&self.data)
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        Some(&mut self.data)
    }

    fn window(&self) -> (u64, Duration) {
        (self.circuit.window_bytes(), self.data.srtt().unwrap_or(Duration::ZERO))
    }

    fn counts(&self) -> Vec<(Event, u64)> {
        counters::of_circuit(&self.circuit, self.dropped)
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuit.check()
    }

    fn owns(&self, packet: &Packet) -> bool {
        self.circuit.owns(packet)
    }
}

impl Sender {
    /// Both TCPs' SYNs are the first things that leave.
    pub fn new(settings: &ReliableSettings, site: &mut SocketSite<'_>, now: Instant) -> Sender {
        let opening = site.opening;
        let data = Opening { config: settings.data_config(&opening.config), ..opening.clone() };
        let data = Connection::connect(&data, now);
        Sender::over(settings, data, site, now)
    }

    /// Sends what `data` has to send, whichever end opened it.
    pub(super) fn over(
        settings: &ReliableSettings,
        data: Connection,
        site: &mut SocketSite<'_>,
        now: Instant,
    ) -> Sender {
        let circuit = settings.circuit.for_flow(site.flow);
        Sender {
            circuit: Circuit::new(&circuit, data.local().address, data.remote().address, site.rng, now),
            data,
            repeat: settings.data.repeat,
            repeat_after: settings.data.repeat_after,
            when_full: settings.data.when_full,
            waiting: settings.data.one_copy.then(BTreeSet::new),
            is_quenched: false,
            dropped: 0,
        }
    }

    pub(super) fn data(&self) -> &Connection {
        &self.data
    }

    pub(super) fn data_mut(&mut self) -> &mut Connection {
        &mut self.data
    }

    pub(super) fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// X of F2.
    fn repeat_after(&self) -> u32 {
        if let Some(constant) = self.repeat_after {
            return constant;
        }
        let packet = u64::from(self.data.mss()) + self.headers();
        let window = u32::try_from(self.circuit.window_bytes() / packet.max(1)).unwrap_or(u32::MAX);
        let waiting = match self.repeat {
            Repeat::Path => u32::try_from(self.circuit.held().packets).unwrap_or(u32::MAX),
            Repeat::Window | Repeat::Never => 0,
        };
        window.saturating_add(waiting).max(LEAST_REPEAT)
    }

    /// IP and TCP headers of a data packet, in bytes.
    fn headers(&self) -> u64 {
        if self.data.local().address.is_ipv4() { 52 } else { 72 }
    }

    /// Moves segments into the tunnel queue as long as it has room; returns one that goes beside it.
    fn fill(&mut self, now: Instant) -> Option<Packet> {
        while self.may_ask() {
            let packet = self.data.poll_transmit(now)?;
            if !is_tunnelled(&packet) {
                return Some(packet);
            }
            let number = number(&packet);
            if self.waiting.as_ref().is_some_and(|waiting| waiting.contains(&number)) {
                continue;
            }
            if self.circuit.offer(now, packet).is_err() {
                self.is_quenched = true;
                self.dropped += 1;
            } else if let Some(waiting) = &mut self.waiting {
                waiting.insert(number);
            }
        }
        None
    }

    /// DEC-U6: the full queue blocks, or takes a segment away.
    fn may_ask(&mut self) -> bool {
        let room = self.circuit.room();
        match self.when_full {
            WhenFull::Block => room > 0,
            WhenFull::Drop => {
                self.is_quenched &= room <= self.circuit.held().packets;
                !self.is_quenched
            }
        }
    }
}

/// What a data segment is known by.
fn number(packet: &Packet) -> u32 {
    packet.tcp().map_or(0, |tcp| tcp.sequence.0)
}

/// What the circuit paces: all that takes sequence space behind the SYN.
fn is_tunnelled(packet: &Packet) -> bool {
    packet.sequence_len() > 0 && !packet.tcp().is_some_and(|tcp| tcp.flags.syn())
}
