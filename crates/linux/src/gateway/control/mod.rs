//! Control messages between the two gateways of a scheme: UDP to one configured peer.
//!
//! No incoming message is trusted. A message is ignored and counted if it is not from the peer, not in our envelope,
//! not for this scheme, a replay, or not authenticated although a key is set.

mod envelope;
mod key;
mod replay;

pub use envelope::scheme_id;
pub use key::{Key, KeyError};

use crate::sys::{clock, process};
use airtcp_core::Instant;
use airtcp_core::control::{self, Header, MESSAGE_MAX};
use replay::ReplayWindow;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $label:literal,)+) => {
        /// Why a control message was ignored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Ignored { $($(#[$doc])* $variant,)+ }

        impl Ignored {
            /// Every reason, in declaration order.
            pub const ALL: &[Ignored] = &[$(Ignored::$variant),+];
            /// The name used in status and metrics.
            pub const fn label(self) -> &'static str {
                match self { $(Ignored::$variant => $label,)+ }
            }
        }
    };
}

reasons! {
    /// Its sender is not the configured peer.
    Stranger = "stranger",
    /// It is not in our envelope.
    Malformed = "malformed",
    /// It is of a version this program does not speak.
    Version = "version",
    /// It belongs to another scheme: the two ends are configured differently.
    OtherScheme = "other_scheme",
    /// It is not authenticated, but a key is set here.
    Unauthenticated = "unauthenticated",
    /// Its authentication is wrong: another key, or forged.
    BadMac = "bad_mac",
    /// It was seen before, is too old to tell, or is a message of ours that came back.
    Replayed = "replayed",
}

/// What the control socket did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounters {
    /// Messages given to the scheme.
    pub received: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages that could not be sent: no route, or longer than [`MESSAGE_MAX`].
    pub send_errors: u64,
    /// Messages ignored, by [`Ignored`].
    pub ignored: [u64; Ignored::ALL.len()],
}

/// Tells the scheme's messages from everything else that may arrive: no I/O, so that it can be
/// fuzzed as it is.
pub struct Gatekeeper {
    peer: SocketAddr,
    scheme: u32,
    key: Option<Key>,
    epoch: u64,
    sequence: u64,
    replay: ReplayWindow,
}

impl Gatekeeper {
    /// Expects messages of `scheme` from `peer`. `epoch` must be larger in each life of the
    /// process than in those before (the wall clock does it).
    pub fn new(peer: SocketAddr, scheme: &str, key: Option<Key>, epoch: u64) -> Gatekeeper {
        let replay = ReplayWindow::default();
        Gatekeeper { peer, scheme: scheme_id(scheme), key, epoch, sequence: 0, replay }
    }

    /// Puts a message into its envelope.
    pub fn seal(&mut self, message: &[u8], out: &mut Vec<u8>) {
        self.sequence += 1;
        let (scheme, epoch, sequence) = (self.scheme, self.epoch, self.sequence);
        let header = Header { scheme, epoch, sequence, ..Header::default() };
        envelope::seal(&header, message, self.key.as_ref(), out);
    }

    /// Takes a message out of its envelope.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn open<'a>(&mut self, now: Instant, from: SocketAddr, datagram: &'a [u8]) -> Result<&'a [u8], Ignored> {
        // A dual-stack socket reports IPv4 peers as mapped addresses.
        if from.ip().to_canonical() != self.peer.ip().to_canonical() || from.port() != self.peer.port() {
            return Err(Ignored::Stranger);
        }
        let (header, message) = envelope::open(datagram, self.key.as_ref())?;
        if header.scheme != self.scheme {
            return Err(Ignored::OtherScheme);
        }
        // Ours, sent back to us, would verify, and lock out a peer that started before us.
        let is_ours = header.epoch == self.epoch;
        if is_ours || !self.replay.accept(now, header.epoch, header.sequence) {
            return Err(Ignored::Replayed);
        }
        Ok(message)
    }
}

/// The socket of a two-ended scheme.
pub struct ControlSocket {
    socket: UdpSocket,
    gatekeeper: Gatekeeper,
    counters: ControlCounters,
    buffer: Box<[u8]>,
    out: Vec<u8>,
}

impl ControlSocket {
    /// Binds to `listen` and speaks with `peer` only.
    ///
    /// # Errors
    /// The address is taken or not ours.
    pub fn open(listen: SocketAddr, peer: SocketAddr, scheme: &str, key: Option<Key>) -> io::Result<ControlSocket> {
        let socket = UdpSocket::bind(listen)?;
        process::set_nonblocking(socket.as_fd())?;
        let gatekeeper = Gatekeeper::new(peer, scheme, key, clock::wall_clock_ns());
        Ok(ControlSocket {
            socket,
            gatekeeper,
            counters: ControlCounters::default(),
            buffer: vec![0; 2048].into_boxed_slice(),
            out: Vec::with_capacity(2048),
        })
    }

    /// What it did so far.
    pub fn counters(&self) -> ControlCounters {
        self.counters
    }

    /// IP bytes that a message takes besides its own.
    pub fn overhead(&self) -> u32 {
        let Gatekeeper { peer, key, .. } = &self.gatekeeper;
        control::overhead(peer.ip().to_canonical().is_ipv6(), key.is_some())
    }

    /// Sends a message; lost ones are the scheme's affair.
    pub fn send(&mut self, message: &[u8]) {
        self.out.clear();
        self.gatekeeper.seal(message, &mut self.out);
        let fits = message.len() <= MESSAGE_MAX;
        if fits && self.socket.send_to(&self.out, self.gatekeeper.peer).is_ok() {
            self.counters.sent += 1;
        } else {
            self.counters.send_errors += 1;
        }
    }

    /// The next message for the scheme; `None` when nothing more waits. At most `budget`
    /// datagrams are looked at, so that strangers cannot keep the caller here.
    pub fn receive(&mut self, now: Instant, budget: &mut usize) -> Option<&[u8]> {
        while *budget > 0 {
            *budget -= 1;
            let (length, from) = match self.socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error about a message of ours.
                Err(_) => continue,
            };
            match self.gatekeeper.open(now, from, &self.buffer[..length]) {
                Ok(message) => {
                    self.counters.received += 1;
                    // The borrow checker wants the range, not the slice found in the loop.
                    let start = message.as_ptr() as usize - self.buffer.as_ptr() as usize;
                    let end = start + message.len();
                    return Some(&self.buffer[start..end]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;

    const NOW: Instant = Instant::from_nanos(1_000_000_000);

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn ends(key_a: Option<Key>, key_b: Option<Key>) -> (Gatekeeper, Gatekeeper) {
        let a = Gatekeeper::new(address("10.0.0.2:4791"), "gsnoop", key_a, 100);
        let b = Gatekeeper::new(address("10.0.0.1:4791"), "gsnoop", key_b, 200);
        (a, b)
    }

    fn key(text: &str) -> Option<Key> {
        Some(Key::from_bytes(text.as_bytes()).unwrap())
    }

    fn sealed(from: &mut Gatekeeper, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        from.seal(message, &mut out);
        out
    }

    #[test]
    fn a_message_of_the_peer_arrives_as_sent_with_and_without_a_key() {
        for secret in [None, Some("sixteen bytes ok")] {
            let (mut a, mut b) = ends(secret.and_then(key), secret.and_then(key));
            let datagram = sealed(&mut a, b"nack 1-3");
            let opened = b.open(NOW, address("10.0.0.1:4791"), &datagram);
            assert_eq!(opened, Ok(&b"nack 1-3"[..]));
        }
    }

    #[test]
    fn a_stranger_is_ignored_also_with_a_valid_envelope() {
        let (mut a, mut b) = ends(None, None);
        let datagram = sealed(&mut a, b"x");
        for stranger in ["10.0.0.9:4791", "10.0.0.1:4792"] {
            assert_eq!(b.open(NOW, address(stranger), &datagram), Err(Ignored::Stranger));
        }
    }

    #[test]
    fn a_key_on_one_side_only_is_told_from_two_different_keys() {
        let secret = || key("sixteen bytes ok");
        let from = address("10.0.0.1:4791");
        let (mut a, mut b) = ends(None, secret());
        assert_eq!(b.open(NOW, from, &sealed(&mut a, b"x")), Err(Ignored::Unauthenticated));
        let (mut a, mut b) = ends(key("another sixteen."), secret());
        assert_eq!(b.open(NOW, from, &sealed(&mut a, b"x")), Err(Ignored::BadMac));
    }

    #[test]
    fn no_changed_bit_gets_past_the_mac() {
        let secret = || key("sixteen bytes ok");
        let (mut a, mut b) = ends(secret(), secret());
        let datagram = sealed(&mut a, b"release 77");
        for bit in 0..datagram.len() * 8 {
            let mut changed = datagram.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(b.open(NOW, address("10.0.0.1:4791"), &changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_message_is_taken_once() {
        let (mut a, mut b) = ends(None, None);
        let from = address("10.0.0.1:4791");
        let datagram = sealed(&mut a, b"x");
        assert!(b.open(NOW, from, &datagram).is_ok());
        let later = NOW + Duration::from_millis(1);
        assert_eq!(b.open(later, from, &datagram), Err(Ignored::Replayed));
    }

    #[test]
    fn a_message_of_our_own_that_comes_back_is_ignored_and_changes_nothing() {
        let secret = || key("sixteen bytes ok");
        let (mut a, mut b) = ends(secret(), secret());
        let from = address("10.0.0.1:4791");
        let reflected = sealed(&mut b, b"x");
        assert_eq!(b.open(NOW, from, &reflected), Err(Ignored::Replayed));
        assert_eq!(b.open(NOW, from, &sealed(&mut a, b"y")), Ok(&b"y"[..]));
    }

    #[test]
    fn a_message_of_another_scheme_is_ignored() {
        let mut other = Gatekeeper::new(address("10.0.0.2:4791"), "decoupling", None, 100);
        let (_, mut b) = ends(None, None);
        let datagram = sealed(&mut other, b"x");
        assert_eq!(b.open(NOW, address("10.0.0.1:4791"), &datagram), Err(Ignored::OtherScheme));
    }
}
