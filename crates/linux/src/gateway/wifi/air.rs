//! The way over the air: frames of a station's gateway out, reports back.

use super::awaited::{Awaited, PREFIX};
use crate::gateway::divert::link::{Headers, MARK};
use crate::sys::frame_socket::FrameSocket;
use crate::sys::interface;
use airtcp_core::{Instant, Outcome, Packet, Token, TxStatus};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Reports that are read before packets get their turn.
const REPORTS: usize = 256;
const ETH_IPV4: [u8; 2] = [0x08, 0x00];
const ETH_IPV6: [u8; 2] = [0x86, 0xdd];

/// What became of frames so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Frames that were given to the interface.
    pub sent: u64,
    /// Frames that the interface had no room for, or that lead nowhere.
    pub refused: u64,
    /// Reports of frames that the receiver acknowledged.
    pub acknowledged: u64,
    /// Reports of frames that were given up.
    pub given_up: u64,
    /// Frames whose report never came.
    pub unreported: u64,
    /// Reports on nothing that is awaited.
    pub strange: u64,
}

/// The air that one interface leads to.
pub struct Air {
    socket: FrameSocket,
    headers: Headers,
    awaited: Awaited,
    /// Whether the interface is a radio's: others never report.
    is_radio: bool,
    counters: AirCounters,
}

/// Whether an interface is that of a radio (cfg80211).
pub(super) fn is_radio(link: &str) -> bool {
    Path::new("/sys/class/net").join(link).join("phy80211").exists()
}

impl Air {
    /// Of the interface `link`; what it sends gets the hardware addresses of `headers`.
    ///
    /// # Errors
    /// The system's words.
    pub fn open(link: &str, headers: Headers) -> io::Result<Air> {
        let socket = FrameSocket::open(interface::index(link)?, MARK)?;
        Ok(Air {
            socket,
            headers,
            awaited: Awaited::default(),
            is_radio: is_radio(link),
            counters: AirCounters::default(),
        })
    }

    /// What became of frames so far.
    pub fn counters(&self) -> AirCounters {
        self.counters
    }

    /// Sends a packet; false if it was dropped. What is known at once of what became of it goes to `statuses`.
    pub fn send(
        &mut self,
        now: Instant,
        packet: &Packet,
        token: Option<Token>,
        statuses: &mut impl Extend<TxStatus>,
    ) -> bool {
        let frame = self.frame(packet);
        let is_sent = frame.as_ref().is_some_and(|frame| self.socket.send(frame).is_ok());
        self.counters.sent += u64::from(is_sent);
        self.counters.refused += u64::from(!is_sent);
        let at_once = |token, outcome| Some(TxStatus { token, outcome, tries: 1, at: now });
        statuses.extend(token.and_then(|token| match frame {
            Some(frame) if is_sent && self.is_radio => self.awaited.sent(now, &frame, token),
            _ if is_sent => at_once(token, Outcome::Sent),
            _ => at_once(token, Outcome::Dropped),
        }));
        is_sent
    }

    fn frame(&self, packet: &Packet) -> Option<Vec<u8>> {
        let (near, far) = (packet.ip().source, packet.ip().destination);
        let header = self.headers.of(near, far)?;
        let kind = if matches!(near, IpAddr::V4(_)) { ETH_IPV4 } else { ETH_IPV6 };
        Some([&header.far[..], &header.near, &kind, &packet.to_wire()].concat())
    }

    /// Reads what has been reported, and gives up waiting for what will not be.
    pub fn handle_reports(&mut self, now: Instant, statuses: &mut impl Extend<TxStatus>) {
        let mut beginning = [0; PREFIX];
        for _ in 0..REPORTS {
            let Ok(Some(report)) = self.socket.report(&mut beginning) else {
                // Else a link that went down would end every wait at once.
                self.socket.take_error();
                break;
            };
            let status = self.awaited.report(now, &beginning[..report.length], report.is_acknowledged);
            match status {
                None => self.counters.strange += 1,
                Some(_) if report.is_acknowledged => self.counters.acknowledged += 1,
                Some(_) => self.counters.given_up += 1,
            }
            statuses.extend(status);
        }
        while let Some(status) = self.awaited.overdue(now) {
            self.counters.unreported += 1;
            statuses.extend([status]);
        }
    }

    /// When a report is overdue.
    pub fn deadline(&self) -> Option<Instant> {
        self.awaited.deadline()
    }
}

impl AsFd for Air {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
