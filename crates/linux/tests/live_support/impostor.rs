//! The test in the place of a gateway: speaks with the other one from the first one's address.

use super::Path;
use super::gateway::PORT;
use airtcp_core::{Duration, Traffic};
use airtcp_linux::gateway::control::{HOP_LIMIT, Introduction, Opened, Origin, Secret, Session, Setup};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::Family;
use airtcp_schemes::papers::gsnoop::{Hello, Message};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The key of a test's gateways.
pub const SECRET: &str = "a secret of this test only";

/// A file with a key, as gateways want it.
pub fn key_file(path: &Path, name: &str, secret: &str) -> PathBuf {
    let file = path.directory.join(name);
    std::fs::write(&file, secret).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// A socket on a node whose datagrams arrive with hop limit 255 one hop away.
pub fn socket_on(path: &Path, node: &str, address: IpAddr, port: u16) -> UdpSocket {
    let namespace = path.testbed.namespace(node).expect("a node");
    let socket = namespace.run(|| UdpSocket::bind((address, port))).expect("a thread").expect("a socket");
    socket.set_ttl(u32::from(HOP_LIMIT)).unwrap();
    socket
}

/// Pretends to be gateway A before gateway B.
pub struct Impostor {
    pub socket: UdpSocket,
    pub to: SocketAddr,
    session: Session,
}

impl Impostor {
    pub fn new(path: &Path, secret: Option<&str>) -> Impostor {
        let address = |node| path.testbed.link_address("air", node, Family::V4).expect("an end of the air");
        let to = SocketAddr::new(address("b"), PORT);
        let socket = socket_on(path, "a", address("a"), PORT);
        socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
        let session = session(to, socket.local_addr().unwrap(), secret, "gsnoop");
        Impostor { socket, to, session }
    }

    /// Another life, of another scheme or with another key.
    pub fn restart(&mut self, secret: Option<&str>, scheme: &str) {
        self.session = session(self.to, self.socket.local_addr().unwrap(), secret, scheme);
    }

    /// The same place, with a session of its own.
    pub fn with_key(&self, secret: &str) -> Impostor {
        let socket = self.socket.try_clone().unwrap();
        let session = session(self.to, socket.local_addr().unwrap(), Some(secret), "gsnoop");
        Impostor { socket, to: self.to, session }
    }

    /// Challenges and answers challenges for a while, and says nothing else.
    pub fn speak(&mut self, time: Duration) {
        let until = clock::now() + time;
        while clock::now() < until {
            self.step();
        }
    }

    /// Sends what is due, and takes one datagram of B.
    fn step(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while self.session.poll_transmit(clock::now(), &mut out).is_some() {
            self.send(&out);
        }
        let heard = self.receive();
        let origin = Origin { from: self.to, hop_limit: HOP_LIMIT };
        match self.session.open(clock::now(), origin, &heard) {
            Ok(Opened::Message(message)) => Some(message.to_vec()),
            _ => None,
        }
    }

    /// The scheme's message as a datagram.
    pub fn sealed(&mut self, message: &[u8]) -> Vec<u8> {
        self.session.sealed(message).expect("B has answered")
    }

    /// A challenge as a datagram.
    pub fn challenge(&mut self) -> Vec<u8> {
        let mut datagram = Vec::new();
        assert!(self.session.poll_transmit(clock::now(), &mut datagram).is_some(), "one is due at the start");
        datagram
    }

    pub fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.to).expect("sent");
    }

    /// The next datagram of B, as it came.
    pub fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let (length, from) = self.socket.recv_from(&mut buffer).expect("B speaks several times a second");
        assert_eq!(from, self.to);
        buffer[..length].to_vec()
    }

    /// Does what gateway A would until B has said HELLO and was answered; returns the datagram that did.
    pub fn answer_hello(&mut self) -> Vec<u8> {
        let deadline = clock::now() + Duration::from_secs(5);
        while clock::now() < deadline {
            let Some(message) = self.step() else { continue };
            let Some(Message::Hello(hello)) = Message::decode(&message) else { panic!("no HELLO") };
            let answer = Hello { epoch: 7, stamp: clock::now().as_nanos(), echo: hello.stamp, held: 0 };
            let datagram = self.sealed(&Message::Hello(answer).encode());
            self.send(&datagram);
            return datagram;
        }
        panic!("B says no HELLO: {:?}", self.session.peer_state(clock::now()));
    }
}

fn session(to: SocketAddr, local: SocketAddr, secret: Option<&str>, scheme: &str) -> Session {
    let secrets = secret.map(|secret| Secret::from_bytes(secret.as_bytes()).expect("long enough"));
    let introduction = Introduction::new(scheme, "modern", Traffic::All);
    let setup =
        Setup { peer: Some(to), secrets: secrets.into_iter().collect(), introduction, hops: 1, rate: None, mtu: None };
    let mut session = Session::new(setup, airtcp_linux::sys::entropy::bytes().expect("entropy"));
    session.set_local(local);
    session
}
