//! What one end of a flow is made of: a TCP connection by itself, or something with more to it.
//!
//! A plain connection is a case of its own, so that it costs a comparison and no more.

use crate::topology::FlowKind;
use airtcp_core::{Duration, Instant, Packet, Rng};
use airtcp_schemes::decoupling::Circuit;
use airtcp_schemes::decoupling::datagrams::{Sink, Source};
use airtcp_schemes::decoupling::socket::Socket;
use airtcp_tcp::{Connection, Opening, Stats};

/// What hidden control TCPs and streams of datagrams count: name and meaning.
pub const CONTROL_COUNTERS: [(&str, &str); 9] = [
    ("header_packets", "header packets sent, those sent again included"),
    ("headers_resent", "of these, sent again"),
    ("fast_retransmits", "times a control TCP began a fast recovery"),
    ("rtos", "retransmission timeouts of control TCPs"),
    ("virtual_bytes", "virtual bytes acknowledged to control TCPs"),
    ("tunnel_drops", "data packets dropped in front of a full tunnel queue"),
    ("datagrams", "datagrams made"),
    ("datagrams_lost", "datagrams that did not arrive although later ones have"),
    ("datagrams_misordered", "datagrams that arrived after later ones, or twice"),
];

/// See the module.
pub enum End {
    /// TCP.
    Tcp(Box<Connection>),
    /// A reliable decoupling socket (DEC-30).
    Decoupling(Socket),
    /// The sender of a stream of datagrams (DEC-29).
    Source(Box<Source>),
    /// Its receiver.
    Sink(Box<Sink>),
}

impl End {
    /// The sending end, from now on.
    pub fn connect(kind: &FlowKind, opening: &Opening, rng: &mut Rng, now: Instant) -> End {
        match kind {
            FlowKind::Tcp => End::Tcp(Box::new(Connection::connect(opening, now))),
            FlowKind::Decoupling(settings) => End::Decoupling(Socket::connect(settings, opening, rng, now)),
            FlowKind::Datagrams(settings) => {
                End::Source(Box::new(Source::new(settings, [opening.local, opening.remote], rng, now)))
            }
        }
    }

    /// The receiving end of anything but plain TCP, whose receiver is made of the SYN.
    pub fn listen(kind: &FlowKind, opening: &Opening, rng: &mut Rng) -> Option<End> {
        match kind {
            FlowKind::Tcp => None,
            FlowKind::Decoupling(settings) => Some(End::Decoupling(Socket::listen(settings, opening, rng))),
            FlowKind::Datagrams(settings) => {
                Some(End::Sink(Box::new(Sink::new(settings, [opening.local, opening.remote], rng))))
            }
        }
    }

    /// The receiving end of plain TCP; `None` if `syn` is no SYN for it.
    pub fn accept(opening: &Opening, syn: &Packet, now: Instant) -> Option<End> {
        Some(End::Tcp(Box::new(Connection::accept(opening, syn, now)?)))
    }

    /// The connection that carries the stream, if there is one yet.
    #[inline]
    pub fn connection(&self) -> Option<&Connection> {
        match self {
            End::Tcp(connection) => Some(connection),
            End::Decoupling(socket) => socket.data(),
            End::Source(_) | End::Sink(_) => None,
        }
    }

    /// See [`End::connection`].
    #[inline]
    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        match self {
            End::Tcp(connection) => Some(connection),
            End::Decoupling(socket) => socket.data_mut(),
            End::Source(_) | End::Sink(_) => None,
        }
    }

    /// Counters of the stream.
    pub fn stats(&self) -> Stats {
        match self {
            End::Source(source) => Stats { segments_sent: source.sent(), ..Stats::default() },
            End::Sink(sink) => {
                let bytes = sink.received().bytes;
                Stats { bytes_received: bytes, bytes_delivered: bytes, ..Stats::default() }
            }
            End::Tcp(_) | End::Decoupling(_) => {
                self.connection().map_or_else(Stats::default, |connection| *connection.stats())
            }
        }
    }

    /// The window that limits the stream, in bytes, and its smoothed round-trip time.
    pub fn window(&self) -> (u64, Duration) {
        let (window, srtt) = match self {
            End::Tcp(connection) => (connection.cwnd_bytes(), connection.srtt()),
            End::Decoupling(_) | End::Source(_) => {
                let window = self.circuit().map_or(0, Circuit::window_bytes);
                (window, self.connection().and_then(Connection::srtt))
            }
            End::Sink(_) => (0, None),
        };
        (window, srtt.unwrap_or(Duration::ZERO))
    }

    fn circuit(&self) -> Option<&Circuit> {
        match self {
            End::Decoupling(socket) => socket.circuit(),
            End::Source(source) => source.circuit(),
            End::Tcp(_) | End::Sink(_) => None,
        }
    }

    /// What hidden control TCPs and streams counted, by name; always the same names for an end of one kind.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = Vec::new();
        if let Some(circuit) = self.circuit() {
            let sum = |of: fn(&Stats) -> u64| circuit.connections().map(|control| of(control.stats())).sum();
            counts.push(("header_packets", sum(|stats| stats.data_segments_sent)));
            counts.push(("headers_resent", sum(|stats| stats.retransmitted_segments)));
            counts.push(("fast_retransmits", sum(|stats| stats.fast_recoveries)));
            counts.push(("rtos", sum(|stats| stats.rtos)));
            counts.push(("virtual_bytes", sum(|stats| stats.bytes_acknowledged)));
        }
        match self {
            End::Decoupling(socket) => counts.push(("tunnel_drops", socket.dropped())),
            End::Source(source) => {
                counts.push(("datagrams", source.sent()));
                counts.push(("tunnel_drops", source.dropped()));
            }
            End::Sink(sink) => {
                counts.push(("datagrams_lost", sink.received().lost));
                counts.push(("datagrams_misordered", sink.received().misordered));
            }
            End::Tcp(_) => {}
        }
        counts
    }

    /// What holds of its circuit at any time.
    pub fn check(&self) -> Result<(), &'static str> {
        match self {
            End::Decoupling(socket) => socket.check(),
            End::Source(source) => source.circuit().map_or(Ok(()), Circuit::check),
            End::Sink(sink) => sink.check(),
            End::Tcp(_) => Ok(()),
        }
    }

    /// True for a packet of a hidden control TCP.
    pub fn owns_control(&self, packet: &Packet) -> bool {
        match self {
            End::Tcp(_) => false,
            End::Decoupling(socket) => socket.owns_control(packet),
            End::Source(source) => source.owns_control(packet),
            End::Sink(sink) => sink.owns_control(packet),
        }
    }

    /// Takes a packet.
    #[inline]
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        match self {
            End::Tcp(connection) => connection.handle_segment(now, packet),
            End::Decoupling(socket) => socket.handle_packet(now, packet),
            End::Source(source) => source.handle_packet(now, packet),
            End::Sink(sink) => sink.handle_packet(now, packet),
        }
    }

    /// The next packet to send now; call again until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        match self {
            End::Tcp(connection) => connection.poll_transmit(now),
            End::Decoupling(socket) => socket.poll_transmit(now),
            End::Source(source) => source.poll_transmit(now),
            End::Sink(sink) => sink.poll_transmit(now),
        }
    }

    /// The earliest deadline.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self {
            End::Tcp(connection) => connection.poll_timeout(),
            End::Decoupling(socket) => socket.poll_timeout(),
            End::Source(source) => source.poll_timeout(),
            End::Sink(sink) => sink.poll_timeout(),
        }
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self {
            End::Tcp(connection) => connection.handle_timeout(now),
            End::Decoupling(socket) => socket.handle_timeout(now),
            End::Source(source) => source.handle_timeout(now),
            End::Sink(sink) => sink.handle_timeout(now),
        }
    }

    /// Gives back what a packet was made of.
    #[inline]
    pub fn reuse(&mut self, packet: Packet) {
        if let End::Tcp(connection) = self {
            connection.reuse(packet);
        }
    }
}
