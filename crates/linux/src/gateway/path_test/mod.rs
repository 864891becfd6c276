//! Do data and header packets of a trunk go one way to the other gateway, and meet the same queues (DEC-20, DEC-22)? Asks
//! the path itself: sends probes of several flows, which the other gateway, running, answers with the order of their arrival.
//!
//! First pairs of short packets, one of the flow in the place of the header packets and one of another: flows whose hops or
//! shortest delay differ do not go the same way. Then trains of long packets of one flow, with a short one of the header
//! flow behind them: where each flow has a queue, it overtakes them.
//!
//! The probes' flows differ in their ports. Of routers that go by addresses alone this tells nothing, as data have others
//! than the gateways. At most 378 packets, 0.3 MB, and 12 s.

mod judge;

use super::config::{Config, Direction};
use super::control::{Probe, Secret};
use crate::finding::Finding;
use crate::sys::hop_limit_socket::HopLimitSocket;
use crate::sys::poll::PollSet;
use crate::sys::{clock, entropy, interface};
use airtcp_core::{Duration, Instant, Value};
use airtcp_schemes::{Placement, SCHEMES, find};
use judge::{Answered, HEADERS, Sent};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

/// Flows in the place of data.
const FLOWS: usize = 8;
/// Pairs of each of them with the header flow, so far apart.
const ROUNDS: usize = 8;
const PAIR_EVERY: Duration = Duration::from_millis(5);
const TRAINS: usize = 10;
/// Data packets of a train.
const TRAIN: usize = 24;
/// Bytes of UDP's content.
const SHORT: usize = 100;
const LONG: usize = 1200;
/// How long answers to a train are waited for at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the path to each peer of a trunk is like; nothing for other schemes, and where nothing leaves here.
pub fn findings(config: &Config) -> Vec<Finding> {
    let is_trunk = find(SCHEMES, &config.scheme).is_some_and(|entry| entry.placement == Placement::Path);
    if !is_trunk || config.direction == Direction::In || config.validate().is_err() {
        return Vec::new();
    }
    if is_tunnel(config) {
        return vec![Finding::good("data and header packets are one flow: the carriage is a tunnel")];
    }
    config.each_peer().iter().flat_map(of_peer).collect()
}

/// Data are in the flow of the header packets.
pub(super) fn is_tunnel(config: &Config) -> bool {
    config.settings.get("carriage") == Some(&Value::from("tunnel"))
}

fn of_peer(config: &Config) -> Vec<Finding> {
    let Some(peer) = config.peer else { return Vec::new() };
    match Test::start(config, peer).and_then(Test::run) {
        Ok(probes) => judge::findings(&peer.to_string(), &probes),
        Err(error) => vec![Finding::warning(
            format!("the path to {peer} cannot be tested: {error}"),
            "run as root, with a route to the peer, and the key's file in its place",
        )],
    }
}

struct Test {
    peer: SocketAddr,
    number: u64,
    secret: Option<Secret>,
    /// By flow.
    sockets: Vec<HopLimitSocket>,
    sent: Vec<Sent>,
}

impl Test {
    fn start(config: &Config, peer: SocketAddr) -> io::Result<Test> {
        let secret = config.secrets().next().map(Secret::read).transpose().map_err(io::Error::other)?;
        let device = interface::ip_interface(&config.link);
        let any: IpAddr = if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = |_| {
            let socket = HopLimitSocket::bind(SocketAddr::new(any, 0))?;
            socket.bind_device(device.as_deref())?;
            Ok(socket)
        };
        let number = u64::from_be_bytes(entropy::bytes()?);
        let sockets = (0..=FLOWS).map(socket).collect::<io::Result<_>>()?;
        Ok(Test { peer, number, secret, sockets, sent: Vec::new() })
    }

    fn run(mut self) -> io::Result<Vec<Sent>> {
        for pair in 0..FLOWS * ROUNDS {
            self.send(HEADERS, None, SHORT);
            self.send(1 + pair % FLOWS, None, SHORT);
            self.listen(clock::now() + PAIR_EVERY)?;
        }
        self.listen_for_all()?;
        // Nobody answers, or most is lost: trains would tell nothing.
        if self.unanswered() * 2 > self.sent.len() {
            return Ok(self.sent);
        }
        for train in 0..TRAINS {
            (0..TRAIN).for_each(|_| self.send(1, Some(train), LONG));
            self.send(HEADERS, Some(train), SHORT);
            self.listen_for_all()?;
        }
        Ok(self.sent)
    }

    /// Sends a probe. What cannot be sent is not answered.
    fn send(&mut self, flow: usize, train: Option<usize>, length: usize) {
        let probe = Probe { test: self.number, number: self.sent.len() as u32, ..Probe::default() };
        let key = self.secret.as_ref().map(|secret| secret.test_key(self.number));
        let datagram = probe.encode(key.as_ref(), length);
        self.sent.push(Sent { flow, train, at: clock::now(), answer: None });
        let _ = self.sockets[flow].send_to(&datagram, self.peer);
    }

    fn unanswered(&self) -> usize {
        self.sent.iter().filter(|probe| probe.answer.is_none()).count()
    }

    /// Until those of the last train or all pairs are answered, or patience ends.
    fn listen_for_all(&mut self) -> io::Result<()> {
        let (until, mut quiet) = (clock::now() + PATIENCE, 0);
        let train = self.sent.last().and_then(|probe| probe.train);
        let is_open = |probe: &Sent| probe.train == train && probe.answer.is_none();
        while clock::now() < until && self.sent.iter().any(is_open) && quiet < 2 {
            let before = self.unanswered();
            self.listen((clock::now() + PATIENCE / 2).min(until))?;
            quiet = if self.unanswered() == before { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    /// Takes answers until then, or until all are there.
    fn listen(&mut self, until: Instant) -> io::Result<()> {
        loop {
            self.take()?;
            let left = until.saturating_since(clock::now());
            if left.is_zero() || self.unanswered() == 0 {
                return Ok(());
            }
            let mut set = PollSet::new();
            for socket in &self.sockets {
                set.add_readable(socket.as_fd());
            }
            set.wait(Some(left))?;
        }
    }

    fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0; 2048];
        for (flow, socket) in self.sockets.iter().enumerate() {
            loop {
                let arrival = match socket.receive(&mut buffer) {
                    Ok(arrival) => arrival,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // An ICMP error: nobody is there.
                    Err(_) => continue,
                };
                let datagram = &buffer[..arrival.length];
                let Some(answer) = Probe::decode(datagram).filter(|one| one.is_answer && one.test == self.number)
                else {
                    continue;
                };
                let key = self.secret.as_ref().map(|secret| secret.test_key(self.number));
                if key.is_some_and(|key| !Probe::is_authentic(datagram, &key)) {
                    continue;
                }
                let Probe { order, at_ns, hop_limit, .. } = answer;
                if let Some(probe) = self.sent.get_mut(answer.number as usize).filter(|probe| probe.flow == flow) {
                    probe.answer.get_or_insert(Answered { order, at_ns, hop_limit });
                }
            }
        }
        Ok(())
    }
}
