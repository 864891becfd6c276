//! A WireGuard tunnel between two namespaces, in user space, and a TCP flow inside it.
//!
//! ```text
//! kernel TCP -> TUN -> boringtun -> UDP over the tested path -> boringtun -> TUN -> kernel TCP
//! ```
//!
//! boringtun's `noise` has no I/O: a thread for each end drives it between a TUN device and a UDP socket of its namespace.
//! The tunnel stands before the flow begins, as one that is always on: WireGuard waits five seconds before it asks again,
//! and on a lossy link that alone would be the measurement.

use super::flow::{Carrier, FlowSpec, STACK, TrafficError};
use crate::sys::entropy;
use crate::sys::netns::NetNs;
use crate::sys::poll::PollSet;
use crate::sys::tcp_socket::set_receive_buffer;
use crate::sys::tun::{DATAGRAM_MAX, Tun};
use crate::testbed::ip;
use airtcp_core::{Duration, Instant};
use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519::{PublicKey, StaticSecret};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::JoinHandle;

/// How often WireGuard's timers are looked at.
const TICK: Duration = Duration::from_millis(100);
/// After so long the first handshake is tried again.
const AGAIN: Duration = Duration::from_millis(300);
/// How long it may take in all.
const PATIENCE: Duration = Duration::from_secs(10);
/// Room for what waits between two reads.
const BUFFER_BYTES: u64 = 8 << 20;
/// Of the enciphered packet beyond the packet, and at least what a handshake takes.
const ROOM: usize = 256;

/// A tunnel that stands. Dropping it ends it.
pub(super) struct Tunnel {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Tunnel {
    /// Makes a tunnel between the ends of `spec`, and the flow inside it.
    pub fn up(mtu: u32, spec: &FlowSpec) -> Result<(Tunnel, FlowSpec), TrafficError> {
        let failed = |action| move |source| TrafficError::Socket { flow: spec.name.clone(), action, source };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let is_ipv4 = spec.source.is_ipv4();
        let inside = [1, 2].map(|end| address(number, end, is_ipv4));
        let ends = [(&spec.from, spec.source), (&spec.to, spec.destination)];
        let keys = secret().and_then(|near| Ok([near, secret()?])).map_err(failed("make keys"))?;
        let mut opened = Vec::new();
        for ((namespace, outside), inside) in ends.into_iter().zip(inside) {
            let tun =
                open(namespace, &format!("wg{number}"), inside, mtu).map_err(failed("make the tunnel's device"))?;
            let bind = || UdpSocket::bind(SocketAddr::new(outside, 0));
            let socket = namespace.run(bind).and_then(|result| result).map_err(failed("open the tunnel's socket"))?;
            socket.set_nonblocking(true).map_err(failed("open the tunnel's socket"))?;
            set_receive_buffer(socket.as_fd(), BUFFER_BYTES).map_err(failed("open the tunnel's socket"))?;
            let at = socket.local_addr().map_err(failed("read the tunnel's port"))?;
            opened.push((tun, socket, at));
        }
        let addresses: Vec<SocketAddr> = opened.iter().map(|(.., at)| *at).collect();
        let mut tunnel = Tunnel { stop: Arc::default(), threads: Vec::new() };
        let stands = Arc::new(AtomicBool::new(false));
        for (end, (tun, socket, _)) in opened.into_iter().enumerate() {
            let peer = PublicKey::from(&keys[1 - end]);
            let tunn = Tunn::new(keys[end].clone(), peer, None, None, end as u32 + 1, None);
            let end = End {
                tunn,
                tun,
                socket,
                to: addresses[1 - end],
                begins: end == 0,
                stands: Arc::clone(&stands),
                packet: vec![0; DATAGRAM_MAX],
                out: vec![0; DATAGRAM_MAX + ROOM],
            };
            let stop = Arc::clone(&tunnel.stop);
            let thread = std::thread::Builder::new().name("airtcp-wireguard".into()).stack_size(STACK);
            let thread = thread.spawn(move || end.run(&stop)).map_err(failed("start a thread"))?;
            tunnel.threads.push(thread);
        }
        tunnel.wait(&stands).map_err(failed("bring the tunnel up"))?;
        let [source, destination] = inside;
        Ok((tunnel, FlowSpec { source, destination, carrier: Carrier::Tcp, ..spec.clone() }))
    }

    fn wait(&self, stands: &AtomicBool) -> io::Result<()> {
        let begun = crate::sys::clock::now();
        while !stands.load(Ordering::Relaxed) {
            let is_over = crate::sys::clock::now().saturating_since(begun) > PATIENCE;
            if is_over || self.threads.iter().any(JoinHandle::is_finished) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no handshake came about"));
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// Ends it; tells what went wrong meanwhile.
    pub fn down(mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let mut threads = std::mem::take(&mut self.threads).into_iter();
        threads.try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever wants to know calls `down`.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Number of the next tunnel: devices and addresses of two in one namespace differ.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// The address of one end inside: 10.100.0.0/16 and fd61:6972:7463:ffff::/64, which no node of a testbed has.
fn address(number: u16, end: u16, is_ipv4: bool) -> IpAddr {
    let [high, low] = (number % (1 << 14) * 4 + end).to_be_bytes();
    match is_ipv4 {
        true => Ipv4Addr::new(10, 100, high, low).into(),
        false => Ipv6Addr::new(0xfd61, 0x6972, 0x7463, 0xffff, 0, 0, number, end).into(),
    }
}

fn secret() -> io::Result<StaticSecret> {
    entropy::bytes::<32>().map(StaticSecret::from)
}

fn open(namespace: &NetNs, name: &str, address: IpAddr, mtu: u32) -> io::Result<Tun> {
    let tun = namespace.run(|| Tun::open(name)).and_then(|result| result)?;
    let (bits, flags) = if address.is_ipv4() { (30, "") } else { (126, " nodad") };
    // As the testbed's links: a packet for each segment, and no queue of its own.
    let commands = [
        format!("link set dev {name} mtu {mtu} txqueuelen 10000 gso_max_segs 1 multicast off up"),
        format!("addr add {address}/{bits} dev {name}{flags}"),
    ];
    ip::batch(Some(namespace.name()), &commands).map_err(io::Error::other)?;
    Ok(tun)
}

/// One end of the tunnel.
struct End {
    tunn: Tunn,
    tun: Tun,
    socket: UdpSocket,
    to: SocketAddr,
    /// This end asks for the first handshake.
    begins: bool,
    /// Set once there is a session.
    stands: Arc<AtomicBool>,
    packet: Vec<u8>,
    out: Vec<u8>,
}

impl End {
    fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        let (mut tick, mut again) = (Instant::ZERO, Instant::ZERO);
        let mut set = PollSet::new();
        while !stop.load(Ordering::Relaxed) {
            let now = crate::sys::clock::now();
            if self.begins && now >= again {
                self.begins = self.tunn.stats().0.is_none();
                self.stands.fetch_or(!self.begins, Ordering::Relaxed);
                if self.begins {
                    let asked = self.tunn.format_handshake_initiation(&mut self.out, true);
                    deliver(&self.tun, &self.socket, self.to, asked)?;
                }
                again = now + AGAIN;
            }
            if now >= tick {
                let due = self.tunn.update_timers(&mut self.out);
                deliver(&self.tun, &self.socket, self.to, due)?;
                tick = now + TICK;
            }
            self.enter()?;
            self.leave()?;
            set.clear();
            set.add_readable(self.tun.as_fd());
            set.add_readable(self.socket.as_fd());
            set.wait(Some(TICK))?;
        }
        Ok(())
    }

    /// Packets of the namespace into the tunnel.
    fn enter(&mut self) -> io::Result<()> {
        while let Some(len) = unless_empty(self.tun.receive(&mut [IoSliceMut::new(&mut self.packet)]))? {
            let made = self.tunn.encapsulate(&self.packet[..len], &mut self.out);
            deliver(&self.tun, &self.socket, self.to, made)?;
        }
        Ok(())
    }

    /// Datagrams of the tunnel out of it.
    fn leave(&mut self) -> io::Result<()> {
        while let Some((len, from)) = unless_empty(self.socket.recv_from(&mut self.packet))? {
            let read = self.tunn.decapsulate(Some(from.ip()), &self.packet[..len], &mut self.out);
            let mut answered = deliver(&self.tun, &self.socket, self.to, read)?;
            // An answer may free packets that waited for the session.
            while answered {
                let next = self.tunn.decapsulate(None, &[], &mut self.out);
                answered = deliver(&self.tun, &self.socket, self.to, next)?;
            }
            if self.begins && self.tunn.stats().0.is_some() {
                self.begins = false;
                self.stands.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Sends what boringtun made to where it belongs; true if it went to the network. What it refuses (a damaged, an old or a
/// repeated datagram) is lost, as the protocol has it.
fn deliver(tun: &Tun, socket: &UdpSocket, to: SocketAddr, result: TunnResult<'_>) -> io::Result<bool> {
    match result {
        TunnResult::Done | TunnResult::Err(_) => Ok(false),
        TunnResult::WriteToNetwork(datagram) => {
            super::probe::tolerate(socket.send_to(datagram, to).map(drop)).map(|()| true)
        }
        TunnResult::WriteToTunnelV4(packet, _) | TunnResult::WriteToTunnelV6(packet, _) => {
            tun.send(&[IoSlice::new(packet)]).map(|()| false)
        }
    }
}

fn unless_empty<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // An ICMP answer to what was sent before.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tunnels_share_no_address() {
        for is_ipv4 in [true, false] {
            let all: std::collections::BTreeSet<IpAddr> =
                (0..1000).flat_map(|number| [1, 2].map(|end| address(number, end, is_ipv4))).collect();
            assert_eq!(all.len(), 2000);
        }
        assert_eq!(address(65, 2, true), IpAddr::from([10, 100, 1, 6]));
    }
}
