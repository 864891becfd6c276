//! A hub's socket on loopback, and whoever sends to it from other addresses there.

use super::super::handshake::Introduction;
use super::super::key::Secret;
use super::super::session::{HOP_LIMIT, Setup};
use super::*;
use crate::sys::clock;
use crate::sys::hop_limit_socket::HopLimitSocket;
use airtcp_core::Traffic;

const SECRETS: [&[u8]; 2] = [b"the first secret", b"the second secret"];

fn session(peer: Option<SocketAddr>, secret: &[u8]) -> Session {
    let secrets = vec![Secret::from_bytes(secret).unwrap()];
    let introduction = Introduction::new("gsnoop", "modern", Traffic::Tcp);
    let setup = Setup { peer, secrets, introduction, hops: 1, rate: None, mtu: None };
    Session::new(setup, crate::sys::entropy::bytes().unwrap())
}

struct Hub {
    socket: ControlSocket,
    channels: Vec<ControlChannel>,
    address: SocketAddr,
}

impl Hub {
    /// With peers that are known by [`SECRETS`].
    fn new() -> Hub {
        let sessions = SECRETS.map(|secret| session(None, secret));
        let (socket, channels) = ControlSocket::open("127.0.0.1:0".parse().unwrap(), "lo", None, sessions).unwrap();
        let address = socket.socket.socket.local_addr().unwrap();
        Hub { socket, channels, address }
    }

    /// Takes all that waits: the messages, with their channels.
    fn take(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut channels: Vec<&mut ControlChannel> = self.channels.iter_mut().collect();
        let mut budget = usize::MAX;
        let next = || {
            self.socket.receive(clock::now(), &mut channels, &mut budget).map(|(at, message)| (at, message.to_vec()))
        };
        std::iter::from_fn(next).collect()
    }

    fn ignored(&self, reason: Ignored) -> (u64, [u64; 2]) {
        let of_channels = [0, 1].map(|at| self.channels[at].counters().ignored[reason as usize]);
        (self.socket.ignored()[reason as usize], of_channels)
    }
}

/// A gateway behind the hub.
struct Spoke {
    socket: HopLimitSocket,
    session: Session,
    hub: SocketAddr,
}

impl Spoke {
    fn new(hub: &Hub, address: &str, secret: &[u8]) -> Spoke {
        let socket = HopLimitSocket::bind(SocketAddr::new(address.parse().unwrap(), 0)).unwrap();
        let mut session = session(Some(hub.address), secret);
        session.set_local(socket.local_addr().unwrap());
        Spoke { socket, session, hub: hub.address }
    }

    fn move_to(&mut self, address: &str) {
        self.socket = HopLimitSocket::bind(SocketAddr::new(address.parse().unwrap(), 0)).unwrap();
        self.session.set_local(self.socket.local_addr().unwrap());
    }

    fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.hub).unwrap();
    }

    fn challenge(&mut self) {
        let mut out = Vec::new();
        // Due now, whenever that is.
        assert!(self.session.poll_transmit(self.session.poll_timeout().max(clock::now()), &mut out).is_some());
        self.send(&out);
    }

    /// Hears the hub, and answers.
    fn answer(&mut self) {
        let mut buffer = [0; 2048];
        while let Ok(arrival) = self.socket.receive(&mut buffer) {
            let origin = Origin { from: arrival.from, hop_limit: HOP_LIMIT };
            self.session.open(clock::now(), origin, &buffer[..arrival.length]).expect("the hub's");
            let mut out = Vec::new();
            while self.session.poll_transmit(clock::now(), &mut out).is_some() {
                self.send(&out);
            }
        }
    }

    /// Becomes the hub's peer, or stays it.
    fn meet(&mut self, hub: &mut Hub) {
        for _ in 0..3 {
            self.challenge();
            assert!(hub.take().is_empty());
            self.answer();
            assert!(hub.take().is_empty());
            self.answer();
        }
    }

    fn say(&mut self, message: &[u8]) {
        let datagram = self.session.sealed(message).expect("the hub has answered");
        self.send(&datagram);
    }
}

#[test]
fn each_message_comes_to_the_channel_of_its_key_from_wherever_it_is_sent() {
    let mut hub = Hub::new();
    let mut spokes = [("127.0.0.2", 0), ("127.0.0.3", 1)].map(|(address, at)| Spoke::new(&hub, address, SECRETS[at]));
    spokes.iter_mut().for_each(|spoke| spoke.meet(&mut hub));
    spokes.iter_mut().for_each(|spoke| spoke.say(b"here"));
    assert_eq!(hub.take(), [(0, b"here".to_vec()), (1, b"here".to_vec())]);
    // They change places; each moves on only by its own key.
    spokes[0].move_to("127.0.0.4");
    spokes[0].say(b"too early");
    assert!(hub.take().is_empty());
    spokes[0].meet(&mut hub);
    spokes[1].say(b"still here");
    spokes[0].say(b"there");
    assert_eq!(hub.take(), [(1, b"still here".to_vec()), (0, b"there".to_vec())]);
    assert_eq!(hub.channels[0].address(), Some(spokes[0].socket.local_addr().unwrap()));
}

#[test]
fn strangers_are_counted_as_nobodys_and_keep_no_peer_from_being_heard() {
    let mut hub = Hub::new();
    let mut spokes = [("127.0.0.2", 0), ("127.0.0.3", 1)].map(|(address, at)| Spoke::new(&hub, address, SECRETS[at]));
    spokes[0].meet(&mut hub);
    let mut stranger = Spoke::new(&hub, "127.0.0.9", b"a secret of somebody else");
    stranger.send(b"GET / HTTP/1.1");
    stranger.challenge();
    assert!(hub.take().is_empty());
    assert_eq!(hub.ignored(Ignored::Stranger), (1, [0, 0]));
    assert_eq!(hub.ignored(Ignored::BadMac), (1, [0, 0]));
    // However many come, few are looked at, and the peer is heard.
    for _ in 0..100 {
        stranger.challenge();
    }
    spokes[0].say(b"heard");
    assert_eq!(hub.take(), [(0, b"heard".to_vec())]);
    let (looked_at, _) = hub.ignored(Ignored::BadMac);
    assert!((10..=60).contains(&looked_at), "{looked_at} were looked at");
    // One that is known is found in spite of them when it moves.
    spokes[0].move_to("127.0.0.5");
    for _ in 0..30 {
        stranger.challenge();
    }
    spokes[0].meet(&mut hub);
    spokes[0].say(b"moved");
    assert_eq!(hub.take(), [(0, b"moved".to_vec())]);
}

#[test]
fn datagrams_that_were_taken_and_not_looked_at_are_told_of() {
    let mut hub = Hub::new();
    let spoke = Spoke::new(&hub, "127.0.0.9", SECRETS[0]);
    let datagrams = [[7; 40]; 100].concat();
    spoke.socket.send_segments(&datagrams[..40 * 50], 40, None, hub.address).unwrap();
    spoke.socket.send_segments(&datagrams[..40 * 50], 40, None, hub.address).unwrap();
    let mut channels: Vec<&mut ControlChannel> = hub.channels.iter_mut().collect();
    let mut budget = 64;
    assert!(hub.socket.receive(clock::now(), &mut channels, &mut budget).is_none() && budget == 0);
    assert!(hub.socket.has_more(), "36 of 100 are left, and the descriptor does not tell");
    let mut budget = 64;
    assert!(hub.socket.receive(clock::now(), &mut channels, &mut budget).is_none());
    // The last look finds nothing.
    assert_eq!((hub.socket.has_more(), budget), (false, 64 - 36 - 1));
}
