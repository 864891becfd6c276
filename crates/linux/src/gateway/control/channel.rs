//! The way to one peer: its session, over a socket that all peers' channels share.

use super::ignored::Ignored;
use super::probe::Probe;
use super::session::{Opened, Origin, PeerState, Session, Setup};
use super::train::Train;
use crate::sys::hop_limit_socket::HopLimitSocket;
use crate::sys::interface;
use crate::sys::route::{self, Route};
use airtcp_core::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Between two looks at the way to the peer: the own address and the MTU may change while the gateway runs.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// What may wait in the socket, each way, in bytes: data of trunks come in bursts.
const SOCKET_BUFFER: usize = 4 << 20;
/// Longest datagram of UDP over IPv4; the kernel cuts what is longer than the path's MTU.
const LONGEST: usize = 65_507;

/// What an operator is told of a path that is shorter than the kernel believes.
const BLACK_HOLE: &str = "the path to the peer drops long packets and does not say so, and shorter ones are sent: let ICMP \
                          \"fragmentation needed\" and \"packet too big\" pass on the way";

/// What a control channel did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounters {
    /// Messages given to the scheme.
    pub received: u64,
    /// Messages of the scheme sent.
    pub sent: u64,
    /// Messages that could not be sent: no route, no room, too long, or nobody has answered yet.
    pub send_errors: u64,
    /// Handshakes of the peer.
    pub handshakes_received: u64,
    /// Handshakes sent.
    pub handshakes_sent: u64,
    /// How many times the path turned out to swallow packets that the kernel believes it carries (RFC 8899).
    pub path_mtu_black_holes: u64,
    /// Messages ignored, by [`Ignored`].
    pub ignored: [u64; Ignored::ALL.len()],
}

/// A bound socket, and the interface that it is bound to.
pub(super) struct SharedSocket {
    pub socket: HopLimitSocket,
    link: String,
    /// Name and number of the interface.
    device: RefCell<Option<(String, u32)>>,
    look: Cell<Instant>,
    /// Datagrams can be given to the kernel many at once.
    takes_trains: Cell<bool>,
}

impl SharedSocket {
    /// Binds to `listen`, on the interface of `link`; or goes on with a socket that was `handed_over`.
    ///
    /// # Errors
    /// The address is taken or not ours, or there is no such interface.
    pub fn open(listen: SocketAddr, link: &str, handed_over: Option<OwnedFd>) -> io::Result<SharedSocket> {
        let socket = match handed_over {
            Some(socket) => HopLimitSocket::adopt(socket, listen)?,
            None => HopLimitSocket::bind(listen)?,
        };
        if let Err(error) = socket.set_buffers(SOCKET_BUFFER) {
            tracing::debug!("the control socket has the usual buffers: {error}");
        }
        if let Err(error) = socket.join_datagrams() {
            tracing::debug!("the control socket receives datagrams one by one: {error}");
        }
        let (device, look) = (RefCell::new(None), Cell::new(Instant::ZERO));
        let takes_trains = Cell::new(true);
        let shared = SharedSocket { socket, link: link.to_owned(), device, look, takes_trains };
        shared.bind_device()?;
        Ok(shared)
    }

    /// Binds to the interface that IP has for the link; again if it was made anew.
    fn bind_device(&self) -> io::Result<()> {
        let device = interface::ip_interface(&self.link);
        let device = device.map(|name| interface::index(&name).map(|index| (name, index))).transpose()?;
        if *self.device.borrow() != device {
            self.socket.bind_device(device.as_ref().map(|(name, _)| name.as_str()))?;
            *self.device.borrow_mut() = device;
        }
        Ok(())
    }

    /// Looks at the interface from time to time.
    fn look(&self, now: Instant) {
        if now < self.look.get() {
            return;
        }
        self.look.set(now + LOOK_AGAIN);
        if let Err(error) = self.bind_device() {
            tracing::debug!("the control socket cannot follow its interface: {error}");
        }
    }

    /// The address and port that datagrams are sent from, on a way that is known or not; it is in the keys.
    fn local(&self, way: Option<Route>) -> Option<SocketAddr> {
        let listen = self.socket.local_addr().ok()?;
        let ip = match listen.ip() {
            ip if ip.is_unspecified() => way?.source,
            ip => ip,
        };
        Some(SocketAddr::new(ip, listen.port()))
    }

    /// Sends a datagram, from an address of choice if one is given.
    pub fn send(&self, datagram: &[u8], from: Option<IpAddr>, to: SocketAddr) -> io::Result<()> {
        match from {
            Some(from) => self.socket.send_from(datagram, from, to),
            None => self.socket.send_to(datagram, to),
        }
    }

    /// Sends the datagrams of a train, which stand in `bytes`; returns how many of them.
    fn send_train(&self, train: &Train, bytes: &[u8], from: Option<IpAddr>, to: SocketAddr) -> usize {
        let bytes = &bytes[train.place()];
        let datagrams = || bytes.chunks(train.segment().max(1));
        let one_by_one = || datagrams().filter(|datagram| self.send(datagram, from, to).is_ok()).count();
        let segment = u16::try_from(train.segment()).ok().filter(|_| train.count() > 1 && self.takes_trains.get());
        let Some(segment) = segment else { return one_by_one() };
        let error = match self.socket.send_segments(bytes, segment, from, to) {
            Ok(()) => return train.count(),
            Err(error) => error,
        };
        match error.raw_os_error() {
            // Longer than the MTU: each leaves in fragments.
            Some(libc::EINVAL | libc::EMSGSIZE) => one_by_one(),
            Some(libc::EIO | libc::EOPNOTSUPP | libc::ENOPROTOOPT) => {
                tracing::debug!("datagrams are sent one by one: {error}");
                self.takes_trains.set(false);
                one_by_one()
            }
            _ => 0,
        }
    }

    fn way(&self, to: SocketAddr) -> Option<Route> {
        let device = self.device.borrow();
        route::to(to, device.as_ref().map(|(name, _)| name.as_str())).ok()
    }
}

/// A session and its way to the other end.
pub struct ControlChannel {
    socket: Rc<SharedSocket>,
    session: Session,
    local: Option<SocketAddr>,
    /// The address of this machine that a peer which is known by its key speaks to.
    spoken_to: Option<IpAddr>,
    path_mtu: Option<u32>,
    /// Somebody wants to know what the path carries.
    is_path_asked: Cell<bool>,
    look: Instant,
    counters: ControlCounters,
    out: Vec<u8>,
}

impl ControlChannel {
    pub(super) fn new(socket: Rc<SharedSocket>, session: Session) -> ControlChannel {
        let (counters, out) = (ControlCounters::default(), Vec::with_capacity(2048));
        let (look, is_path_asked) = (Instant::ZERO, Cell::new(false));
        let (local, spoken_to, path_mtu) = (None, None, None);
        ControlChannel { socket, session, local, spoken_to, path_mtu, is_path_asked, look, counters, out }
    }

    /// Learns the address that this end sends from, which is in the keys, and what the path carries.
    fn look(&mut self, now: Instant) {
        self.socket.look(now);
        if now < self.look {
            return;
        }
        self.look = now + LOOK_AGAIN;
        let Some(peer) = self.session.peer() else { return };
        let way = self.socket.way(peer);
        self.path_mtu = way.map(|way| way.mtu).or(self.path_mtu);
        if let Some(mtu) = self.path_mtu.filter(|_| self.is_path_asked.get()) {
            self.session.tell_path_mtu(now, mtu);
        }
        if self.session.roams() {
            return;
        }
        let Some(local) = self.socket.local(way) else { return };
        if self.local != Some(local) {
            self.local = Some(local);
            self.session.set_local(local);
        }
    }

    /// See [`Session::renew`].
    pub fn renew(&mut self, setup: Setup) {
        self.session.renew(setup);
    }

    /// What it did so far.
    pub fn counters(&self) -> ControlCounters {
        ControlCounters { path_mtu_black_holes: self.session.lengths().found(), ..self.counters }
    }

    /// What is known of the peer.
    pub fn peer_state(&self, now: Instant) -> PeerState {
        self.session.peer_state(now)
    }

    /// Where the peer is, as far as is known.
    pub fn address(&self) -> Option<SocketAddr> {
        self.session.peer().map(|peer| SocketAddr::new(peer.ip().to_canonical(), peer.port()))
    }

    /// True if the peer answered lately and works with this gateway.
    pub fn is_in_reach(&self, now: Instant) -> bool {
        self.session.is_in_reach(now)
    }

    /// IP bytes that a message takes besides its own.
    pub fn overhead(&self) -> u32 {
        self.session.overhead()
    }

    /// Longest IP packet that reaches the peer in one piece, as far as is known. Once somebody has asked, it is tried.
    pub fn path_mtu(&self) -> Option<u32> {
        self.is_path_asked.set(true);
        self.session.lengths().believed().or(self.path_mtu)
    }

    /// What an operator should do about the path, if anything.
    pub fn advice(&self) -> Option<&'static str> {
        self.session.lengths().is_black_hole().then_some(BLACK_HOLE)
    }

    /// Bytes to leave free before a message and behind it.
    pub fn margins(&self) -> [usize; 2] {
        self.session.margins()
    }

    /// Sends the messages that stand at `places` of `bytes`, with their [`ControlChannel::margins`], in their order; lost ones
    /// are the scheme's affair.
    pub fn send(&mut self, bytes: &mut [u8], places: &[Range<usize>]) {
        let (mut left, mut train) = (places.len() as u64, Train::default());
        if let Some(peer) = self.session.peer() {
            for place in places {
                if place.len() > LONGEST || !self.session.seal(&mut bytes[place.clone()]) {
                    continue;
                }
                if train.push(place).is_err() {
                    left -= self.depart(&train, bytes, peer);
                    train = Train::default();
                    // Any datagram can be the first.
                    let _ = train.push(place);
                }
            }
            left -= self.depart(&train, bytes, peer);
        }
        self.counters.send_errors += left;
    }

    /// There was no room for a message before it came here.
    pub fn refuse(&mut self) {
        self.counters.send_errors += 1;
    }

    /// Sends a train; returns how many datagrams left.
    fn depart(&mut self, train: &Train, bytes: &[u8], peer: SocketAddr) -> u64 {
        let sent = self.socket.send_train(train, bytes, self.spoken_to, peer) as u64;
        self.counters.sent += sent;
        sent
    }

    fn transmit(&self, from: Option<IpAddr>, to: SocketAddr) -> bool {
        self.socket.send(&self.out, from, to).is_ok()
    }

    /// Challenges the peer if it is time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.look(now);
        self.send_handshakes(now, self.spoken_to);
    }

    /// When [`ControlChannel::handle_timeout`] has something to do.
    pub fn poll_timeout(&self) -> Instant {
        self.session.poll_timeout()
    }

    fn send_handshakes(&mut self, now: Instant, from: Option<IpAddr>) {
        while let Some(to) = self.session.poll_transmit(now, &mut self.out) {
            self.counters.handshakes_sent += u64::from(self.transmit(from, to));
        }
    }

    /// How well a datagram between these addresses fits here, without a look at its MAC.
    pub(super) fn fits(&self, from: SocketAddr, to: Option<IpAddr>, datagram: &[u8]) -> Fit {
        if self.session.is_from_peer(from) && (!self.session.roams() || to == self.spoken_to) {
            Fit::Peer
        } else if !self.session.roams() {
            Fit::Not
        } else if self.session.is_of_known_life(datagram) {
            Fit::KnownLife
        } else {
            Fit::Perhaps
        }
    }

    /// Takes a datagram of the peer's address; the message for the scheme, if it is one.
    pub(super) fn open<'a>(&mut self, now: Instant, origin: Origin, datagram: &'a [u8]) -> Option<&'a [u8]> {
        match self.session.open(now, origin, datagram) {
            Ok(Opened::Message(message)) => {
                self.counters.received += 1;
                Some(message)
            }
            Ok(Opened::Handshake) => {
                self.counters.handshakes_received += 1;
                self.send_handshakes(now, self.spoken_to);
                None
            }
            Err(reason) => {
                self.ignore(reason);
                None
            }
        }
    }

    /// Takes a datagram of another address, if it is made with this peer's key.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn follow(
        &mut self,
        now: Instant,
        origin: Origin,
        to: Option<IpAddr>,
        datagram: &[u8],
    ) -> Result<(), Ignored> {
        let port = self.socket.socket.local_addr().map(|listen| listen.port());
        let (Ok(port), Some(ip)) = (port, to) else { return Err(Ignored::Stranger) };
        if self.session.follow(now, origin, SocketAddr::new(ip, port), datagram)? {
            self.spoken_to = to;
        }
        self.counters.handshakes_received += 1;
        self.send_handshakes(now, to);
        Ok(())
    }

    /// The answer to a probe that the peer's machine sent from another port, if it is one.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn answer(&self, origin: Origin, answer: Probe, datagram: &[u8]) -> Result<Vec<u8>, Ignored> {
        if self.address().is_none_or(|peer| peer.ip() != origin.from.ip().to_canonical()) {
            return Err(Ignored::Stranger);
        }
        let key = self.session.test_key(origin.hop_limit, &answer, datagram)?;
        Ok(answer.encode(key.as_ref(), 0))
    }

    pub(super) fn ignore(&mut self, reason: Ignored) {
        self.counters.ignored[reason as usize] += 1;
    }
}

/// How well a datagram fits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It cannot be the peer's.
    Not,
    /// Its key would tell.
    Perhaps,
    /// It is of the process that is the peer, or a copy.
    KnownLife,
    /// It comes from the peer's address.
    Peer,
}
