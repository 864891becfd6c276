//! The socket of a gateway's control channels, which gives each datagram to the channel that it belongs to.

use super::channel::{ControlChannel, Fit, SharedSocket};
use super::ignored::Ignored;
use super::inbox::Inbox;
use super::probe::Probe;
use super::session::{Origin, Session};
use crate::sys::hop_limit_socket::Arrival;
use airtcp_core::control::{HEADER_LEN, Header};
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Handshakes from unknown addresses that are looked at in each [`TRIALS_EVERY`]: each costs a MAC of each peer that may be
/// anywhere, some microseconds. Those of processes that are known have as many trials of their own.
const TRIALS: u32 = 20;
const TRIALS_EVERY: Duration = Duration::from_millis(100);
/// Probes of the path that are answered in each [`TRIALS_EVERY`]; a test sends 25 at once.
const PROBES: u32 = 200;
/// A bound socket.
pub struct ControlSocket {
    socket: Rc<SharedSocket>,
    inbox: Inbox,
    /// Since when so many handshakes from unknown addresses were looked at: of unknown processes, and of known ones.
    trials: [(Instant, u32); 2],
    /// Since when so many probes were looked at, and how many were answered at all.
    probes: ((Instant, u32), u32),
    /// Datagrams that belong to no channel, by [`Ignored`].
    ignored: [u64; Ignored::ALL.len()],
}

impl ControlSocket {
    /// Binds to `listen`, on the interface of `link`, or goes on with a socket that was `handed_over`; a channel for each
    /// session, in their order.
    ///
    /// # Errors
    /// The address is taken or not ours, or there is no such interface.
    pub fn open(
        listen: SocketAddr,
        link: &str,
        handed_over: Option<OwnedFd>,
        sessions: impl IntoIterator<Item = Session>,
    ) -> io::Result<(ControlSocket, Vec<ControlChannel>)> {
        let socket = Rc::new(SharedSocket::open(listen, link, handed_over)?);
        let channel = |session| ControlChannel::new(Rc::clone(&socket), session);
        let channels = sessions.into_iter().map(channel).collect();
        let inbox = Inbox::default();
        let ignored = [0; Ignored::ALL.len()];
        let none = (Instant::ZERO, 0);
        Ok((ControlSocket { socket, inbox, trials: [none; 2], probes: (none, 0), ignored }, channels))
    }

    /// Datagrams that belong to no channel, by [`Ignored`].
    pub fn ignored(&self) -> [u64; Ignored::ALL.len()] {
        self.ignored
    }

    /// True if there are datagrams that the kernel has given away, so that the descriptor does not tell of them.
    pub fn has_more(&self) -> bool {
        self.inbox.has_more()
    }

    /// The next message for a scheme, with the number of its channel; `None` when nothing more waits. At most `budget`
    /// datagrams are looked at, so that strangers cannot keep the caller here.
    pub fn receive(
        &mut self,
        now: Instant,
        channels: &mut [&mut ControlChannel],
        budget: &mut usize,
    ) -> Option<(usize, &[u8])> {
        while *budget > 0 {
            *budget -= 1;
            let (place, Arrival { from, to, hop_limit, .. }) = match self.inbox.next(&self.socket.socket) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error about a message of ours.
                Err(_) => continue,
            };
            let origin = Origin { from, hop_limit };
            let datagram = self.inbox.datagram(&place);
            if let Some(probe) = Probe::decode(datagram).filter(|probe| !probe.is_answer) {
                let (tried, answered) = &mut self.probes;
                let probe = Probe { is_answer: true, order: *answered, at_ns: now.as_nanos(), hop_limit, ..probe };
                let answers = || channels.iter().map(|channel| channel.answer(origin, probe, datagram));
                let answer = if take(tried, now, PROBES) { answers().find_map(Result::ok) } else { None };
                match answer {
                    // A lost answer is the test's affair.
                    Some(answer) => drop(self.socket.send(&answer, to, from)),
                    None => self.ignored[Ignored::Stranger as usize] += 1,
                }
                *answered = answered.wrapping_add(1);
                continue;
            }
            let fit = |channel: &&mut ControlChannel| channel.fits(from, to, datagram);
            if let Some(index) = channels.iter().position(|channel| fit(channel) == Fit::Peer) {
                let message = channels[index].open(now, origin, datagram).map(<[u8]>::len);
                if let Some(length) = message {
                    return Some((index, &self.inbox.datagram(&place)[HEADER_LEN..HEADER_LEN + length]));
                }
                continue;
            }
            // The scheme's messages wait until it is known who sends them.
            let is_handshake = Header::decode(datagram).is_ok_and(|header| header.is_handshake);
            let is_tried = match channels.iter().map(fit).max() {
                Some(Fit::KnownLife) => is_handshake && take(&mut self.trials[1], now, TRIALS),
                Some(Fit::Perhaps) => is_handshake && take(&mut self.trials[0], now, TRIALS),
                _ => false,
            };
            let reason = match is_tried {
                true => find_owner(now, (origin, to), datagram, channels),
                false => Some(Ignored::Stranger),
            };
            if let Some(reason) = reason {
                self.ignored[reason as usize] += 1;
            }
        }
        None
    }
}

/// Gives a datagram from an unknown address to the channel whose key it is made with. Why it is nobody's, if it is.
fn find_owner(
    now: Instant,
    (origin, to): (Origin, Option<IpAddr>),
    datagram: &[u8],
    channels: &mut [&mut ControlChannel],
) -> Option<Ignored> {
    let mut why = Ignored::Stranger;
    for wanted in [Fit::KnownLife, Fit::Perhaps] {
        for channel in channels.iter_mut().filter(|channel| channel.fits(origin.from, to, datagram) == wanted) {
            match channel.follow(now, origin, to, datagram) {
                Ok(()) => return None,
                // It is made with this one's key.
                Err(reason @ (Ignored::Reflected | Ignored::Replayed | Ignored::Elsewhere | Ignored::NoSession)) => {
                    channel.ignore(reason);
                    return None;
                }
                Err(reason) => why = reason,
            }
        }
    }
    Some(why)
}

/// True if one more may be looked at, of so many in each [`TRIALS_EVERY`].
fn take((since, used): &mut (Instant, u32), now: Instant, most: u32) -> bool {
    if now.saturating_since(*since) >= TRIALS_EVERY {
        (*since, *used) = (now, 0);
    }
    *used += 1;
    *used <= most
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.socket.as_fd()
    }
}

#[cfg(test)]
mod tests;
