//! Packets by hand on a node: what goes out as it is written, and what comes in over UDP.

use super::Path;
use super::gateway::PORT;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::net::SocketAddr;

fn socket(path: &Path, node: &str, protocol: i32) -> Socket {
    let namespace = path.testbed.namespace(node).expect("a node");
    let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(protocol)));
    let socket = namespace.run(open).expect("a thread").expect("a raw socket");
    socket.set_nonblocking(true).unwrap();
    socket
}

/// Sends IPv4 packets of anybody.
pub struct RawSender(Socket);

impl RawSender {
    pub fn on(path: &Path, node: &str) -> RawSender {
        RawSender(socket(path, node, 255))
    }

    /// A packet that finds no room is lost as on any link.
    pub fn send(&self, packet: &[u8]) {
        let to: [u8; 4] = packet[16..20].try_into().unwrap();
        let _ = self.0.send_to(packet, &SocketAddr::from((to, 0)).into());
    }
}

/// Hears the control messages that come to a node.
pub struct ControlTap(Socket);

impl ControlTap {
    pub fn on(path: &Path, node: &str) -> ControlTap {
        ControlTap(socket(path, node, 17))
    }

    /// What came since the last time, without headers.
    pub fn take(&self) -> Vec<Vec<u8>> {
        let mut buffer = [0; 2048];
        let packets = std::iter::from_fn(|| (&self.0).read(&mut buffer).ok().map(|length| buffer[..length].to_vec()));
        packets.filter(|packet| packet[22..24] == PORT.to_be_bytes()).map(|packet| packet[28..].to_vec()).collect()
    }
}
