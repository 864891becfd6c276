//! A stream of UDP datagrams from one namespace to the other, each with a number, a time and the content of that number.
//!
//! The kernel says when each arrived, by the same clock that the sender wrote into it, so neither a receiver that reads
//! late nor a busy machine makes a datagram slower than it was. One thread does both ends: a datagram that is sent late is
//! stamped late, and the next ones keep to the times that the pace gives them.

use super::flow::{Amount, FlowSpec, Progress, Stream, TrafficError, since};
use super::probe::tolerate;
use super::receiver::Received;
use super::result::{DatagramResult, FlowResult, Outcome, RttPercentiles, percentiles};
use super::wrap::Wrapped;
use crate::sys::clock::wall_clock_ns;
use crate::sys::poll::PollSet;
use crate::sys::probe_socket::ProbeSocket;
use airtcp_core::{Duration, Instant};
use airtcp_schemes::socket::datagram::{ArrivalCounts, Arrivals, Content, LEAST_CONTENT, fill};
use hdrhistogram::Histogram;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Datagrams that a greedy sender sends before it looks at what has come.
const TURN: usize = 64;
/// Longest that is waited before cancellation and deadline are looked at again.
const PATIENCE: Duration = Duration::from_millis(20);
/// Longest delay that is told apart.
const MAX_NS: u64 = 60_000_000_000;

/// Sends the stream until its time is over, and takes what arrives.
pub(super) fn run(
    stream: &Stream,
    spec: &FlowSpec,
    origin: Instant,
    progress: &Progress,
) -> Result<FlowResult, TrafficError> {
    let failed = |action| move |source| TrafficError::Socket { flow: spec.name.clone(), action, source };
    let bind = |namespace: &crate::sys::netns::NetNs, address| {
        namespace.run(|| ProbeSocket::bind(address)).and_then(|result| result)
    };
    let far = bind(&spec.to, SocketAddr::new(spec.destination, spec.port)).map_err(failed("open a port"))?;
    let near = match &stream.via {
        Some(path) => Near::via(path).map_err(failed("reach the forwarder"))?,
        None => {
            let near = bind(&spec.from, SocketAddr::new(spec.source, 0)).map_err(failed("open the sender's socket"))?;
            near.set_traffic_class(stream.dscp << 2).map_err(failed("mark the datagrams"))?;
            Near::Udp { to: far.local_addr().map_err(failed("read the port"))?, socket: near }
        }
    };
    let ends = Ends::new(near, far, stream, spec).map_err(failed("read the ports"))?;
    ends.run(stream, spec, origin, progress).map_err(failed("send or receive datagrams"))
}

/// The sender's socket.
enum Near {
    Udp { socket: ProbeSocket, to: SocketAddr },
    Via(UnixDatagram),
}

impl Near {
    fn via(path: &Path) -> io::Result<Near> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        socket.set_nonblocking(true)?;
        Ok(Near::Via(socket))
    }

    /// Where the receiver sees them come from; a forwarder has its own port.
    fn source(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Near::Udp { socket, .. } => socket.local_addr().map(Some),
            Near::Via(_) => Ok(None),
        }
    }

    /// False if there is no room: nobody reads.
    fn send(&self, datagram: &[u8]) -> io::Result<bool> {
        match self {
            Near::Udp { socket, to } => tolerate(socket.send_to(datagram, *to)).map(|()| true),
            Near::Via(socket) => match socket.send(datagram) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
                sent => sent.map(|_| true),
            },
        }
    }
}

/// Both ends, and what they have seen.
struct Ends {
    near: Near,
    far: ProbeSocket,
    from: Option<SocketAddr>,
    datagram: Vec<u8>,
    sent: u64,
    arrivals: Arrivals,
    received: Received,
    last: Duration,
    delays: Histogram<u64>,
    /// Sent and arrived before the measured window.
    before: Option<(u64, ArrivalCounts)>,
}

impl Ends {
    fn new(near: Near, far: ProbeSocket, stream: &Stream, spec: &FlowSpec) -> io::Result<Ends> {
        let headers = if spec.source.is_ipv4() { 28 } else { 48 };
        let content = (stream.packet.saturating_sub(headers) as usize).max(LEAST_CONTENT);
        Ok(Ends {
            from: near.source()?,
            near,
            far,
            datagram: vec![0; content],
            sent: 0,
            arrivals: Arrivals::default(),
            received: Received::default(),
            last: spec.start,
            delays: Histogram::new_with_bounds(1, MAX_NS, 3).expect("bounds and precision are constants in range"),
            before: None,
        })
    }

    fn run(mut self, stream: &Stream, spec: &FlowSpec, origin: Instant, progress: &Progress) -> io::Result<FlowResult> {
        let opened_at = since(origin);
        let until = match spec.amount {
            Amount::Until(until) => until,
            // Not asked for: what gets lost has no last byte.
            Amount::Bytes(_) => spec.deadline,
        };
        let (mut pace, mut next) = (stream.pace.clone(), opened_at);
        let mut set = PollSet::new();
        let outcome = loop {
            let now = since(origin);
            if now >= spec.window.0 && self.before.is_none() {
                self.before = Some((self.sent, self.arrivals.counts()));
            }
            // A thread that was held up sends what is overdue, each stamped with the time at which it leaves.
            while let Some(pace) = pace.as_mut().filter(|_| next < until && next <= now) {
                self.send(progress)?;
                next += pace.gap(stream.packet);
            }
            let is_greedy = pace.is_none() && now < until;
            for _ in 0..if is_greedy { TURN } else { 0 } {
                if !self.send(progress)? {
                    // It is made again when there is room.
                    self.sent -= 1;
                    break;
                }
            }
            self.receive(spec, origin, progress)?;
            let is_whole =
                self.arrivals.counts().lost == 0 && self.received.bytes == self.sent * self.datagram.len() as u64;
            match () {
                () if progress.is_cancelled() => break Outcome::Cancelled,
                () if now >= until && is_whole => break Outcome::Complete,
                () if now >= until + spec.drain => break Outcome::CutOff,
                () => {}
            }
            let due = if pace.is_some() && next < until { next } else { until + spec.drain };
            set.clear();
            set.add_readable(self.far.as_fd());
            if let Near::Via(socket) = &self.near
                && is_greedy
            {
                set.add_writable(socket.as_fd());
            }
            set.wait(Some(due.saturating_sub(since(origin)).min(PATIENCE)))?;
        };
        self.received.note_stall(self.last, since(origin).min(until));
        Ok(self.result(spec, opened_at, outcome))
    }

    fn send(&mut self, progress: &Progress) -> io::Result<bool> {
        fill(self.sent, Instant::from_nanos(wall_clock_ns()), &mut self.datagram);
        self.sent += 1;
        progress.sent.store(self.sent * self.datagram.len() as u64, Ordering::Relaxed);
        self.near.send(&self.datagram)
    }

    fn receive(&mut self, spec: &FlowSpec, origin: Instant, progress: &Progress) -> io::Result<()> {
        let mut buffer = vec![0; self.datagram.len() + 1];
        while let Some((len, from, arrived)) = self.far.receive_from(&mut buffer)? {
            let Some(content) = Content::read(&buffer[..len]).filter(|_| self.from.is_none_or(|end| end == from))
            else {
                continue;
            };
            if !content.is_intact || len != self.datagram.len() {
                self.received.first_wrong_byte.get_or_insert(content.number);
            }
            if !self.arrivals.take(content.number) {
                continue;
            }
            let now = since(origin);
            self.received.note_stall(self.last, now);
            self.last = now;
            self.received.count(len as u64, now, spec);
            progress.received.store(self.received.bytes, Ordering::Relaxed);
            if spec.window.0 <= now && now < spec.window.1 {
                self.delays.saturating_record(arrived.saturating_sub(content.made.as_nanos()));
            }
        }
        Ok(())
    }

    fn result(self, spec: &FlowSpec, opened_at: Duration, outcome: Outcome) -> FlowResult {
        let (sent, before) = self.before.unwrap_or_default();
        let now = self.arrivals.counts();
        let arrivals = ArrivalCounts {
            lost: now.lost.saturating_sub(before.lost),
            misordered: now.misordered - before.misordered,
            repeated: now.repeated - before.repeated,
        };
        let datagrams = DatagramResult { sent: self.sent - sent, arrivals, delay: percentiles(&self.delays) };
        FlowResult {
            name: spec.name.clone(),
            outcome,
            opened_at: Some(opened_at),
            connected_at: Some(opened_at),
            last_byte_at: self.received.last_at,
            sent_bytes: self.sent * self.datagram.len() as u64,
            received_bytes: self.received.bytes,
            window: spec.window,
            window_bytes: self.received.window_bytes,
            received_series: self.received.series,
            samples: Vec::new(),
            retransmitted_segments: 0,
            window_retransmitted_segments: 0,
            retransmitted_bytes: 0,
            timeouts: None,
            rtt: RttPercentiles::default(),
            longest_stall: self.received.longest_stall,
            // There is no stream to hash: each datagram is compared with what its number says.
            sender_sha256: [0; 32],
            receiver_sha256: [0; 32],
            wrapped: Wrapped::default(),
            datagrams: Some(datagrams),
            first_wrong_byte: self.received.first_wrong_byte,
        }
    }
}
