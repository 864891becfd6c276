//! One stream of datagrams between two forwarders (DEC-29): each leaves when a [`Circuit`] lets it out, nothing is sent again,
//! and the other end counts by numbers what did not come. No I/O and no clock.
//!
//! A datagram of the application is one frame, `front (8) | number (8) | its bytes`, and counts in the circuit with all that it
//! takes on the wire. Before the first one, the peer is asked whether it may be led on ([`super::streams`]).

use super::control_starts::ControlStarts;
use super::frame::{self, Ends, FRONT_LEN, Front, Kind};
use super::line_key::LineKey;
use super::seal::TAG_LEN;
use airtcp_core::{Instant, Packet, Rng, packet::protocol};
use airtcp_schemes::papers::decoupling::{Circuit, CircuitEnd, CircuitSettings, Departure};
use airtcp_schemes::socket::datagram::{ArrivalCounts, Arrivals};
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes of a datagram's number.
const NUMBER_LEN: usize = 8;
/// Bytes of a frame beside those of the application.
pub const AROUND: usize = FRONT_LEN + NUMBER_LEN + TAG_LEN;
/// A frame as the circuit holds it, without front and tag, is an IPv4 packet without UDP header. So much is missing.
const fn headroom(is_ipv4: bool) -> usize {
    let udp = 8;
    let longer_ip = if is_ipv4 { 0 } else { 20 };
    udp + longer_ip + FRONT_LEN + TAG_LEN
}

/// The end that takes datagrams of an application.
pub struct Leaving {
    key: LineKey,
    ends: Ends,
    circuit: Circuit,
    headroom: usize,
    sent: u64,
}

impl Leaving {
    /// Begins to open the circuit. Frames travel over IPv4, or over IPv6.
    pub fn new(settings: &CircuitSettings, is_ipv4: bool, key: LineKey, rng: &mut Rng, now: Instant) -> Leaving {
        let ends = Ends::new(key.is_ours, settings.port);
        let circuit = Circuit::new(settings, ends.local, ends.remote, rng, now);
        Leaving { key, ends, circuit, headroom: headroom(is_ipv4), sent: 0 }
    }

    /// Datagrams that it takes now: none is taken that would have to be dropped.
    pub fn room(&self) -> usize {
        self.circuit.room()
    }

    /// Takes a datagram; what finds no room is not counted as sent.
    pub fn offer(&mut self, now: Instant, datagram: &[u8]) {
        let mut held = BytesMut::zeroed(self.headroom);
        held.put_u64(self.sent);
        held.put_slice(datagram);
        let packet = Packet::opaque(self.ends.local, self.ends.remote, protocol::UDP, held.freeze());
        self.sent += u64::from(self.circuit.offer(now, packet).is_ok());
    }

    /// Takes an acknowledgment to one of the control TCPs; false if it is none.
    pub fn handle(&mut self, now: Instant, front: &Front, body: Bytes) -> bool {
        let packet = frame::take_segment(front, body, &self.ends, None).filter(|packet| self.circuit.owns(packet));
        packet.iter().for_each(|packet| self.circuit.handle_control(now, packet));
        packet.is_some()
    }

    /// Writes the next frame to `out`; false if there is none now.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        while let Some(departure) = self.circuit.poll_transmit(now) {
            let (kind, control, packet) = match departure {
                Departure::Data(packet) => (Kind::Datagram, 0, packet),
                Departure::Control(packet) => {
                    let Some((kind, control)) = self.ends.kind_of(&packet) else { continue };
                    (kind, control, packet)
                }
            };
            Front { kind, control, key: self.key }.put(out);
            if kind == Kind::Datagram {
                packet.payload_bytes().iter().for_each(|held| out.put_slice(&held[self.headroom..]));
            } else {
                frame::put_segment(kind, &packet, out);
            }
            return true;
        }
        false
    }

    /// The circuit.
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The circuit: to have its deadlines acted on.
    pub fn circuit_mut(&mut self) -> &mut Circuit {
        &mut self.circuit
    }

    /// Datagrams taken so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// The end that gives them out.
pub struct Arriving {
    key: LineKey,
    ends: Ends,
    end: CircuitEnd,
    starts: ControlStarts,
    arrivals: Arrivals,
    received: u64,
    /// There is somebody to give them to.
    pub is_taken: bool,
}

impl Arriving {
    /// Before the first frame.
    pub fn new(settings: &CircuitSettings, key: LineKey, rng: &mut Rng) -> Arriving {
        let ends = Ends::new(key.is_ours, settings.port);
        let end = CircuitEnd::new(settings, ends.local, ends.remote, rng).trusting();
        let (starts, arrivals) = (ControlStarts::default(), Arrivals::default());
        Arriving { key, ends, end, starts, arrivals, received: 0, is_taken: false }
    }

    /// Takes a datagram and gives the application's bytes; `None` if it came before, or is none.
    pub fn take(&mut self, mut body: Bytes) -> Option<Bytes> {
        let number = body.try_get_u64().ok()?;
        let is_new = self.arrivals.take(number);
        self.received += u64::from(is_new);
        is_new.then_some(body)
    }

    /// Takes a segment of one of the control TCPs; false if it is none.
    pub fn handle(&mut self, now: Instant, front: &Front, body: Bytes) -> bool {
        let packet = frame::take_segment(front, body, &self.ends, self.starts.of(front));
        let packet = packet.filter(|packet| self.end.owns(packet));
        packet.iter().for_each(|packet| self.end.handle_control(now, packet));
        packet.is_some()
    }

    /// Writes the next frame to `out`; false if there is none now.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        while let Some(packet) = self.end.poll_transmit(now) {
            let Some((kind, control)) = self.ends.kind_of(&packet) else { continue };
            Front { kind, control, key: self.key }.put(out);
            self.starts.note(kind, control, &packet);
            frame::put_segment(kind, &packet, out);
            return true;
        }
        false
    }

    /// The receivers of the control TCPs.
    pub fn end(&self) -> &CircuitEnd {
        &self.end
    }

    /// The receivers of the control TCPs: to have their deadlines acted on.
    pub fn end_mut(&mut self) -> &mut CircuitEnd {
        &mut self.end
    }

    /// Datagrams that came, and what is known of the others.
    pub fn counts(&self) -> (u64, ArrivalCounts) {
        (self.received, self.arrivals.counts())
    }
}
