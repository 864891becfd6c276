//! The socket of a two-ended scheme, with its session.

use super::ignored::Ignored;
use super::session::{Opened, Origin, PeerState, Session};
use crate::sys::hop_limit_socket::{HopLimitSocket, source_address};
use crate::sys::interface;
use airtcp_core::control::{self, HEADER_LEN, MESSAGE_MAX};
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Between two looks at the own address, which may change while the gateway runs.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the control socket did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounters {
    /// Messages given to the scheme.
    pub received: u64,
    /// Messages of the scheme sent.
    pub sent: u64,
    /// Messages that could not be sent: no route, longer than [`MESSAGE_MAX`], or nobody has answered yet.
    pub send_errors: u64,
    /// Handshakes of the peer.
    pub handshakes_received: u64,
    /// Handshakes sent.
    pub handshakes_sent: u64,
    /// Messages ignored, by [`Ignored`].
    pub ignored: [u64; Ignored::ALL.len()],
}

/// A bound socket and what is known of the peer.
pub struct ControlSocket {
    socket: HopLimitSocket,
    session: Session,
    link: String,
    /// Name and number of the interface that it is bound to.
    device: Option<(String, u32)>,
    local: Option<SocketAddr>,
    look: Instant,
    counters: ControlCounters,
    buffer: Box<[u8]>,
    out: Vec<u8>,
}

impl ControlSocket {
    /// Binds to `listen`, on the interface of `link`.
    ///
    /// # Errors
    /// The address is taken or not ours, or there is no such interface.
    pub fn open(listen: SocketAddr, link: &str, session: Session) -> io::Result<ControlSocket> {
        let socket = HopLimitSocket::bind(listen)?;
        let mut control = ControlSocket {
            socket,
            session,
            link: link.to_owned(),
            device: None,
            local: None,
            look: Instant::ZERO,
            counters: ControlCounters::default(),
            buffer: vec![0; 2048].into_boxed_slice(),
            out: Vec::with_capacity(2048),
        };
        control.bind_device()?;
        Ok(control)
    }

    /// Binds to the interface that IP has for the link; again if it was made anew.
    fn bind_device(&mut self) -> io::Result<()> {
        let device = interface::ip_interface(&self.link);
        let device = device.map(|name| interface::index(&name).map(|index| (name, index))).transpose()?;
        if self.device != device {
            self.socket.bind_device(device.as_ref().map(|(name, _)| name.as_str()))?;
            self.device = device;
        }
        Ok(())
    }

    /// Learns the address that this end sends from; it is in the keys.
    fn look(&mut self, now: Instant) {
        if now < self.look {
            return;
        }
        self.look = now + LOOK_AGAIN;
        if let Err(error) = self.bind_device() {
            tracing::debug!("the control socket cannot follow its interface: {error}");
        }
        let Ok(listen) = self.socket.local_addr() else { return };
        let ip = match listen.ip() {
            ip if ip.is_unspecified() => self.source_address(),
            ip => Some(ip),
        };
        let Some(local) = ip.map(|ip| SocketAddr::new(ip, listen.port())) else { return };
        if self.local != Some(local) {
            self.local = Some(local);
            self.session.set_local(local);
        }
    }

    fn source_address(&self) -> Option<IpAddr> {
        let device = self.device.as_ref().map(|(name, _)| name.as_str());
        source_address(self.session.peer(), device).ok()
    }

    /// What it did so far.
    pub fn counters(&self) -> ControlCounters {
        self.counters
    }

    /// What is known of the peer.
    pub fn peer_state(&self, now: Instant) -> PeerState {
        self.session.peer_state(now)
    }

    /// True if the peer answered lately and works with this gateway.
    pub fn is_in_reach(&self, now: Instant) -> bool {
        self.session.is_in_reach(now)
    }

    /// IP bytes that a message takes besides its own.
    pub fn overhead(&self) -> u32 {
        control::overhead(self.session.peer().ip().to_canonical().is_ipv6(), self.session.is_secured())
    }

    /// Sends a message; lost ones are the scheme's affair.
    pub fn send(&mut self, message: &[u8]) {
        let is_sent = message.len() <= MESSAGE_MAX && self.session.seal(message, &mut self.out) && self.transmit();
        if is_sent {
            self.counters.sent += 1;
        } else {
            self.counters.send_errors += 1;
        }
    }

    fn transmit(&self) -> bool {
        self.socket.send_to(&self.out, self.session.peer()).is_ok()
    }

    /// Challenges the peer if it is time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.look(now);
        self.send_handshakes(now);
    }

    /// When [`ControlSocket::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Instant {
        self.session.poll_timeout()
    }

    fn send_handshakes(&mut self, now: Instant) {
        while self.session.poll_transmit(now, &mut self.out) {
            self.counters.handshakes_sent += u64::from(self.transmit());
        }
    }

    /// The next message for the scheme; `None` when nothing more waits. At most `budget`
    /// datagrams are looked at, so that strangers cannot keep the caller here.
    pub fn receive(&mut self, now: Instant, budget: &mut usize) -> Option<&[u8]> {
        while *budget > 0 {
            *budget -= 1;
            let (length, from, hop_limit) = match self.socket.receive(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error about a message of ours.
                Err(_) => continue,
            };
            match self.session.open(now, Origin { from, hop_limit }, &self.buffer[..length]) {
                Ok(Opened::Message(message)) => {
                    self.counters.received += 1;
                    let end = HEADER_LEN + message.len();
                    return Some(&self.buffer[HEADER_LEN..end]);
                }
                Ok(Opened::Handshake) => {
                    self.counters.handshakes_received += 1;
                    self.send_handshakes(now);
                }
                Err(reason) => self.counters.ignored[reason as usize] += 1,
            }
        }
        None
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
