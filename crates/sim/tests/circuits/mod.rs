//! Circuits of TCP Decoupling with real control TCPs over one link, driven by hand: always backlogged with packets of one
//! length, each circuit between hosts of its own.

use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{ByteSize, Duration, Instant, Packet, Port, Rng, packet::protocol};
use airtcp_link::{Link, LinkSettings};
use airtcp_schemes::papers::decoupling::{Circuit, CircuitEnd, CircuitSettings, Departure, header_hop};
use airtcp_schemes::{End, LinkFacts, Site};
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr};

type Station = Harness<header_hop::Station>;

pub struct Path {
    pub now: Instant,
    pub forward: Link,
    reverse: Link,
    pub circuits: Vec<Circuit>,
    ends: Vec<CircuitEnd>,
    /// The two ends of a header hop on the link, if it has one.
    pub hop: Option<[Station; 2]>,
    /// Bytes of data that arrived, by circuit.
    pub arrived: Vec<u64>,
    /// Bytes of each packet that the circuits carry.
    length: usize,
}

/// Address of both ends of the hop, whose messages go over the link.
const BOX: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));

fn host(side: u8, circuit: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, side, 0, 1 + circuit as u8))
}

fn link(settings: &[(&str, &str)], name: &str, seed: u64) -> (Link, LinkSettings) {
    let parsed = super::common::link(settings);
    (Link::new(&parsed, seed, name), parsed)
}

impl Path {
    /// Circuits of these settings.
    pub fn new(forward: &[(&str, &str)], reverse: &[(&str, &str)], circuits: &[&[(&str, &str)]], seed: u64) -> Path {
        let now = Instant::from_nanos(1_000_000_000);
        let settings = |text: &&[(&str, &str)]| {
            let mut settings = CircuitSettings::default();
            text.iter().for_each(|&(key, value)| settings.set(key, &value.into()).unwrap());
            settings.check().unwrap();
            settings
        };
        let settings: Vec<CircuitSettings> = circuits.iter().map(settings).collect();
        let mut rng = Rng::derive(seed, "circuits");
        Path {
            now,
            forward: link(forward, "forward", seed).0,
            reverse: link(reverse, "reverse", seed).0,
            circuits: (0..)
                .zip(&settings)
                .map(|(n, set)| Circuit::new(set, host(1, n), host(2, n), &mut rng, now))
                .collect(),
            ends: (0..).zip(&settings).map(|(n, set)| CircuitEnd::new(set, host(2, n), host(1, n), &mut rng)).collect(),
            hop: None,
            arrived: vec![0; circuits.len()],
            length: 1500,
        }
    }

    /// The same with packets of so many bytes.
    pub fn with_packets(self, length: usize) -> Path {
        Path { length, ..self }
    }

    /// The same with a header hop on the link, whose facts these settings give.
    pub fn with_hop(mut self, forward: &[(&str, &str)], hop: &[(&str, &str)]) -> Path {
        let facts = super::common::link(forward);
        let link = LinkFacts {
            rate: facts.rate.constant(),
            round_trip: Some(facts.delay.nominal() * 2),
            queue: Some(ByteSize(facts.queue.limit().bytes(facts.mtu))),
            queue_packets: facts.queue.limit().packets(),
            mtu: Some(facts.mtu),
            ends: None,
        };
        let mut settings = header_hop::HeaderHopSettings::default();
        hop.iter().for_each(|&(key, value)| settings.set(key, &value.into()).unwrap());
        self.hop = Some([End::Near, End::Far].map(|end| {
            let name = format!("{end:?}");
            let rng = &mut Rng::derive(7, &name);
            let mut site = Site { end, link, rng, max_memory: ByteSize(1 << 20), forecast: None };
            Harness::new(header_hop::Station::new(&settings, &mut site), &name)
        }));
        self
    }

    pub fn run(mut self, span: Duration) -> Path {
        let end = self.now + span;
        while self.now < end {
            self.step();
            let hop = self.hop.iter().flatten().filter_map(|end| airtcp_core::Element::poll_timeout(&end.element));
            let timers = self.circuits.iter().filter_map(Circuit::poll_timeout);
            let timers = timers.chain(self.ends.iter().filter_map(CircuitEnd::poll_timeout)).chain(hop);
            let links = [self.forward.next_event(), self.reverse.next_event()].into_iter().flatten();
            self.now = timers.chain(links).min().unwrap_or(end).max(self.now).min(end);
        }
        self
    }

    /// Everything that is due now.
    fn step(&mut self) {
        let now = self.now;
        for link in [&mut self.forward, &mut self.reverse] {
            link.advance(now, &mut |_, _| {});
        }
        while let Some(packet) = self.forward.receive(now) {
            self.leave_hop(1, packet);
        }
        while let Some(packet) = self.reverse.receive(now) {
            self.leave_hop(0, packet);
        }
        for n in 0..2 {
            if let Some(hop) = &mut self.hop {
                hop[n].tick(now);
                self.flush(n);
            }
        }
        for n in 0..self.circuits.len() {
            if self.circuits[n].poll_timeout().is_some_and(|at| at <= now) {
                self.circuits[n].handle_timeout(now);
            }
            self.serve(n);
            if self.ends[n].poll_timeout().is_some_and(|at| at <= now) {
                self.ends[n].handle_timeout(now);
            }
            while let Some(packet) = self.ends[n].poll_transmit(now) {
                self.enter(1, packet);
            }
        }
    }

    /// Fills a circuit's queue and sends what it lets out.
    fn serve(&mut self, n: usize) {
        loop {
            while self.circuits[n].room() > 0 {
                let data = Bytes::from(vec![0; self.length - 20]);
                let data = Packet::opaque(host(1, n), host(2, n), protocol::UDP, data);
                self.circuits[n].offer(self.now, data).expect("there is room");
            }
            match self.circuits[n].poll_transmit(self.now) {
                Some(Departure::Data(packet) | Departure::Control(packet)) => self.enter(0, packet),
                None => return,
            }
        }
    }

    /// A packet at the link's near (0) or far (1) end, on its way over it.
    fn enter(&mut self, at: usize, packet: Packet) {
        match &mut self.hop {
            None => self.send(at, packet),
            Some(hop) => {
                hop[at].packet(self.now, Port::INNER, packet);
                self.flush(at);
            }
        }
    }

    fn send(&mut self, at: usize, packet: Packet) {
        let link = if at == 0 { &mut self.forward } else { &mut self.reverse };
        link.send(self.now, packet, &mut |_, _| {});
    }

    /// A packet off the link at an end of it.
    fn leave_hop(&mut self, at: usize, packet: Packet) {
        match &mut self.hop {
            None => self.arrive(at, packet),
            Some(hop) => {
                match packet.payload_bytes().filter(|_| packet.ip().source == BOX) {
                    Some(message) => hop[at].control(self.now, &message),
                    None => hop[at].packet(self.now, Port::LINK, packet),
                }
                self.flush(at);
            }
        }
    }

    /// Takes from an end of the hop what it sent.
    fn flush(&mut self, at: usize) {
        let Some(hop) = &mut self.hop else { return };
        let io = &mut hop[at].io;
        let (link, inner) = (std::mem::take(&mut io.link), std::mem::take(&mut io.inner));
        let messages = std::mem::take(&mut io.control);
        link.into_iter().for_each(|packet| self.send(at, packet));
        for message in messages {
            self.send(at, Packet::opaque(BOX, BOX, protocol::UDP, message.into()));
        }
        inner.into_iter().for_each(|packet| self.arrive(at, packet));
    }

    /// A packet at its goal.
    fn arrive(&mut self, at: usize, packet: Packet) {
        if at == 0 {
            let owner = self.circuits.iter().position(|circuit| circuit.owns(&packet)).expect("somebody's");
            self.circuits[owner].handle_control(self.now, &packet);
            return self.serve(owner);
        }
        let Some(owner) = self.ends.iter().position(|end| end.owns(&packet)) else {
            let IpAddr::V4(to) = packet.ip().destination else { unreachable!("IPv4 only") };
            self.arrived[usize::from(to.octets()[3]) - 1] += u64::from(packet.wire_len());
            return;
        };
        self.ends[owner].handle_control(self.now, &packet);
        while let Some(packet) = self.ends[owner].poll_transmit(self.now) {
            self.enter(1, packet);
        }
    }

    /// Header packets and others that the queue dropped.
    pub fn drops(&self) -> (u64, u64) {
        let counters = self.forward.counters();
        let headers = counters.headers_dropped_by_queue();
        (headers, counters.dropped_by_queue() - headers)
    }
}
