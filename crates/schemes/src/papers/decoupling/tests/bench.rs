//! A circuit, a path with a delay and perhaps a bottleneck, and the far end.

use crate::papers::decoupling::{Circuit, CircuitEnd, CircuitSettings, Departure};
use airtcp_core::parameters::Parameters;
use airtcp_core::{Duration, Instant, Packet, Rng};
use core::net::{IpAddr, Ipv4Addr};
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec::Vec;

pub const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1));
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 2));
/// Half of the path's round trip.
pub const DELAY: Duration = Duration::from_millis(10);

pub fn settings(of: &[(&str, &str)]) -> CircuitSettings {
    let mut settings = CircuitSettings::default();
    for &(key, value) in of {
        settings.set(key, &value.into()).unwrap();
    }
    settings.check().unwrap();
    settings
}

/// `number` in the first bytes of a packet of `bytes` IP bytes, neither of the circuit's ends being its own.
pub fn data(number: u32, bytes: u32) -> Packet {
    let ip = |last| IpAddr::V4(Ipv4Addr::new(10, 2, 0, last));
    let mut payload = std::vec![0; bytes as usize - 20];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    Packet::opaque(ip(1), ip(2), 17, payload.into())
}

/// What left the sending end.
#[derive(Clone, Debug)]
pub struct Left {
    pub at: Instant,
    pub packet: Packet,
    pub is_data: bool,
}

impl Left {
    /// A packet that stands for a virtual segment.
    pub fn is_header(&self) -> bool {
        !self.is_data && super::super::header::is_header(&self.packet)
    }

    pub fn sequence(&self) -> u32 {
        self.packet.tcp().unwrap().sequence.0
    }
}

/// True for a departure that the path loses.
pub type Loses = Box<dyn FnMut(&Left) -> bool>;

pub struct Bench {
    pub circuit: Circuit,
    pub end: CircuitEnd,
    pub now: Instant,
    /// Everything that left the sending end.
    pub left: Vec<Left>,
    /// Data at the far end.
    pub arrived: Vec<Packet>,
    /// What the far end answered.
    pub answers: Vec<Packet>,
    /// Packets of so many bytes are offered whenever there is room, so many of them.
    pub supply: (u32, usize),
    pub loses: Loses,
    /// Time that the bottleneck takes for a byte, in ns, and the packets that wait before it.
    pub bottleneck: Option<(u64, usize)>,
    /// Nothing is done but at multiples of this: timers come late.
    pub tick: Duration,
    /// MSS that a box on the path lowers SYNs to.
    pub clamp: Option<u16>,
    settings: CircuitSettings,
    free_at: Instant,
    offered: u32,
    forward: VecDeque<(Instant, Left)>,
    back: VecDeque<(Instant, Packet)>,
}

impl Bench {
    pub fn new(of: &[(&str, &str)]) -> Bench {
        let (settings, mut rng) = (settings(of), Rng::derive(1, "bench"));
        let now = Instant::from_nanos(1_000_000_000);
        Bench {
            circuit: Circuit::new(&settings, NEAR, FAR, &mut rng, now),
            end: CircuitEnd::new(&settings, FAR, NEAR, &mut rng),
            now,
            left: Vec::new(),
            arrived: Vec::new(),
            answers: Vec::new(),
            supply: (1500, 0),
            loses: Box::new(|_| false),
            bottleneck: None,
            tick: Duration::from_nanos(1),
            clamp: None,
            settings,
            free_at: now,
            offered: 0,
            forward: VecDeque::new(),
            back: VecDeque::new(),
        }
    }

    /// The same with endless packets of `bytes` to send.
    pub fn greedy(of: &[(&str, &str)], bytes: u32) -> Bench {
        Bench { supply: (bytes, usize::MAX), ..Bench::new(of) }
    }

    /// The far end forgets everything.
    pub fn restart_end(&mut self) {
        self.end = CircuitEnd::new(&self.settings, FAR, NEAR, &mut Rng::derive(2, "bench"));
    }

    pub fn run(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        loop {
            self.drive();
            let arrival = self.forward.front().map(|(at, _)| *at);
            let answer = self.back.front().map(|(at, _)| *at);
            let times = [arrival, answer, self.circuit.poll_timeout(), self.end.poll_timeout()];
            let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= until) else { break };
            let next = Instant::from_nanos(next.as_nanos().next_multiple_of(self.tick.as_nanos()));
            assert!(next >= self.now, "time goes back");
            self.now = next;
            while let Some((_, left)) = self.forward.pop_front_if(|(at, _)| *at <= next) {
                self.arrive(left);
            }
            while let Some((_, packet)) = self.back.pop_front_if(|(at, _)| *at <= next) {
                assert!(self.circuit.owns(&packet));
                self.circuit.handle_control(next, &packet);
            }
            if self.circuit.poll_timeout().is_some_and(|due| due <= next) {
                self.circuit.handle_timeout(next);
            }
            if self.end.poll_timeout().is_some_and(|due| due <= next) {
                self.end.handle_timeout(next);
            }
        }
        self.now = until;
    }

    fn arrive(&mut self, left: Left) {
        if left.is_data {
            self.arrived.push(left.packet);
        } else {
            assert!(self.end.owns(&left.packet));
            self.end.handle_control(self.now, &left.packet);
        }
    }

    fn drive(&mut self) {
        loop {
            while self.supply.1 > 0 && self.circuit.room() > 0 {
                self.circuit.offer(self.now, data(self.offered, self.supply.0)).unwrap();
                self.offered += 1;
                self.supply.1 -= 1;
            }
            let Some(departure) = self.circuit.poll_transmit(self.now) else { break };
            self.circuit.check().unwrap();
            let (packet, is_data) = match departure {
                Departure::Data(packet) => (packet, true),
                Departure::Control(packet) => (packet, false),
            };
            let mut left = Left { at: self.now, packet, is_data };
            if let Some(mss) = self.clamp.filter(|_| !is_data) {
                left.packet.clamp_mss(mss);
            }
            self.left.push(left.clone());
            if !(self.loses)(&left) {
                self.send(left);
            }
        }
        while let Some(packet) = self.end.poll_transmit(self.now) {
            self.answers.push(packet.clone());
            self.back.push_back((self.now + DELAY, packet));
        }
        self.end.check().unwrap();
    }

    fn send(&mut self, left: Left) {
        if let Some((nanos, limit)) = self.bottleneck {
            let waiting = self.forward.len() - self.forward.partition_point(|(at, _)| *at <= self.now + DELAY);
            if waiting > limit {
                return;
            }
            let time = Duration::from_nanos(nanos * u64::from(left.packet.wire_len()));
            self.free_at = self.free_at.max(self.now) + time;
        } else {
            self.free_at = self.now;
        }
        self.forward.push_back((self.free_at + DELAY, left));
    }

    /// Numbers of the data that left.
    pub fn data_left(&self) -> Vec<u32> {
        self.left.iter().filter(|left| left.is_data).map(|left| number(&left.packet)).collect()
    }

    pub fn headers(&self) -> Vec<Left> {
        self.left.iter().filter(|left| left.is_header()).cloned().collect()
    }
}

pub fn number(packet: &Packet) -> u32 {
    let payload = packet.payload_bytes().unwrap();
    u32::from_be_bytes(payload[..4].try_into().unwrap())
}
