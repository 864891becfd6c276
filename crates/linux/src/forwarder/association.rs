//! Who the peer is, now: the session of the gateways (challenge and answer), and keys for the lives of both processes.
//!
//! A peer that restarted is another life: its answer changes the keys, and whatever ran between the old lives is over.
//! A peer that is silent for too long is given up, and this end begins a life of its own: so the peer, should it come back
//! with what it had, sees a restart, too, and nothing goes on at one end only.

use super::seal::{Inbound, Outbound, Refusal};
use crate::gateway::control::{HOP_LIMIT, Ignored, Introduction, Opened, Origin, PeerState, Secret, Session, Setup};
use airtcp_core::{Duration, Instant, Traffic};
use bytes::Bytes;
use std::net::SocketAddr;

/// Version of what is written between forwarders: two that differ do not work with each other.
const WIRE: &str = "wire-1";
/// Use of the keys.
const USE: &str = "forward";
/// Handshakes begin like this, and no frame does.
const HANDSHAKE: &[u8] = b"ATCP";

/// What a datagram was.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A frame of the peer, without its tag.
    Frame(Bytes),
    /// The peer's life is another one: nothing of the former goes on.
    OtherLife,
    /// Nothing more to do with it.
    Done,
}

/// Datagrams that were ignored, by reason.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Handshakes.
    pub handshakes: [u64; Ignored::ALL.len()],
    /// Frames: too short.
    pub malformed: u64,
    /// Frames: with a wrong tag.
    pub forged: u64,
    /// Frames: seen before.
    pub replayed: u64,
    /// Frames of a peer that has not answered.
    pub early: u64,
}

/// See the module.
pub struct Association {
    setup: Setup,
    secret: Secret,
    local: SocketAddr,
    session: Session,
    /// The lives that the keys are for.
    lives: Option<(u64, u64)>,
    seals: Option<(Outbound, Inbound)>,
    /// When the peer answered last, as far as it is known.
    in_reach: Instant,
    /// Lives of the peer so far.
    pub peer_lives: u64,
    /// What was ignored.
    pub refused: Refused,
}

impl Association {
    /// Between `local` and `peer`, which share `secret`. `entropy` is random.
    pub fn new(local: SocketAddr, peer: SocketAddr, secret: Secret, entropy: [u8; 32], now: Instant) -> Association {
        let setup = Setup {
            peer: Some(peer),
            secrets: vec![secret.clone()],
            introduction: Introduction::new("forward", WIRE, Traffic::Tcp),
            // Forwarders may be any number of routers apart; who they are is the key's business.
            hops: HOP_LIMIT,
            rate: None,
            mtu: None,
        };
        Association {
            session: begin(&setup, local, entropy),
            setup,
            secret,
            local,
            lives: None,
            seals: None,
            in_reach: now,
            peer_lives: 0,
            refused: Refused { handshakes: [0; Ignored::ALL.len()], malformed: 0, forged: 0, replayed: 0, early: 0 },
        }
    }

    /// Takes a datagram from `from`.
    pub fn handle(&mut self, now: Instant, from: SocketAddr, datagram: Bytes) -> Arrived {
        if datagram.starts_with(HANDSHAKE) {
            let opened = self.session.open(now, Origin { from, hop_limit: HOP_LIMIT }, &datagram);
            return match opened {
                Ok(Opened::Handshake) => self.take_lives(now),
                Ok(Opened::Message(_)) => Arrived::Done,
                Err(reason) => {
                    self.refused.handshakes[reason as usize] += 1;
                    Arrived::Done
                }
            };
        }
        let Some((_, inbound)) = &mut self.seals else {
            self.refused.early += 1;
            return Arrived::Done;
        };
        match inbound.open(datagram) {
            Ok(frame) => return Arrived::Frame(frame),
            Err(Refusal::Malformed) => self.refused.malformed += 1,
            Err(Refusal::Forged) => self.refused.forged += 1,
            Err(Refusal::Replayed) => self.refused.replayed += 1,
        }
        Arrived::Done
    }

    fn take_lives(&mut self, now: Instant) -> Arrived {
        if !self.session.is_in_reach(now) {
            return Arrived::Done;
        }
        self.in_reach = now;
        let lives = self.session.lives();
        if lives == self.lives {
            return Arrived::Done;
        }
        let Some((ours, theirs)) = lives else { return Arrived::Done };
        let outbound = Outbound::new(self.secret.life_key(USE, ours, theirs));
        let inbound = Inbound::new(self.secret.life_key(USE, theirs, ours));
        self.seals = Some((outbound, inbound));
        self.peer_lives += 1;
        let is_first = self.lives.is_none();
        self.lives = lives;
        if is_first { Arrived::Done } else { Arrived::OtherLife }
    }

    /// True once if the peer has been silent for longer than `patience`: this end has begun another life.
    pub fn gives_up(&mut self, now: Instant, patience: Duration, entropy: impl FnOnce() -> [u8; 32]) -> bool {
        if self.session.is_in_reach(now) {
            self.in_reach = now;
        }
        if self.seals.is_none() || now.saturating_since(self.in_reach) < patience {
            return false;
        }
        self.session = begin(&self.setup, self.local, entropy());
        (self.seals, self.lives) = (None, None);
        true
    }

    /// Frames can be sent.
    pub fn is_ready(&self) -> bool {
        self.seals.is_some()
    }

    /// Numbers a frame and puts its tag behind it; false if nobody could read it.
    pub fn seal(&mut self, frame: &mut Vec<u8>) -> bool {
        let Some((outbound, _)) = &mut self.seals else { return false };
        outbound.seal(frame);
        true
    }

    /// Writes the next handshake to `out`; false if none is due.
    pub fn poll_handshake(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.session.poll_transmit(now, out).is_some()
    }

    /// When to ask for the next handshake.
    pub fn poll_timeout(&self) -> Instant {
        self.session.poll_timeout()
    }

    /// What is known of the peer.
    pub fn peer_state(&self, now: Instant) -> PeerState {
        self.session.peer_state(now)
    }
}

fn begin(setup: &Setup, local: SocketAddr, entropy: [u8; 32]) -> Session {
    let mut session = Session::new(setup.clone(), entropy);
    session.set_local(local);
    session
}

#[cfg(test)]
mod tests {
    use super::super::frame::FRONT_LEN;
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(10_000_000_000 + millis * 1_000_000)
    }

    fn ends() -> [SocketAddr; 2] {
        ["10.0.0.1:4792", "10.0.0.2:4792"].map(|end| end.parse().unwrap())
    }

    fn association(end: usize, life: u8) -> Association {
        let secret = Secret::from_bytes(b"sixteen bytes ok").unwrap();
        Association::new(ends()[end], ends()[1 - end], secret, [life; 32], at(0))
    }

    /// Handshakes go to and fro; whether either saw another life.
    fn greet(pair: &mut [Association; 2], from: u64) -> [bool; 2] {
        let mut saw = [false; 2];
        for step in 0..20 {
            let now = at(from + step * 50);
            for end in 0..2 {
                let mut datagram = Vec::new();
                while pair[end].poll_handshake(now, &mut datagram) {
                    let arrived = pair[1 - end].handle(now, ends()[end], Bytes::copy_from_slice(&datagram));
                    saw[1 - end] |= arrived == Arrived::OtherLife;
                }
            }
        }
        saw
    }

    fn frame_of(association: &mut Association) -> Bytes {
        let mut frame = vec![0x80; FRONT_LEN + 4];
        assert!(association.seal(&mut frame));
        frame.into()
    }

    #[test]
    fn frames_are_read_once_both_have_answered_and_those_of_a_former_life_never_again() {
        let mut pair = [association(0, 1), association(1, 2)];
        assert!(!pair[0].seal(&mut vec![0; 8]));
        assert_eq!(greet(&mut pair, 0), [false, false]);
        let frame = frame_of(&mut pair[0]);
        assert!(matches!(pair[1].handle(at(1000), ends()[0], frame.clone()), Arrived::Frame(_)));
        assert_eq!(pair[1].handle(at(1000), ends()[0], frame), Arrived::Done);
        assert_eq!(pair[1].refused.replayed, 1);
        let late = frame_of(&mut pair[0]);
        pair[0] = association(0, 3);
        assert_eq!(greet(&mut pair, 1100), [false, true]);
        assert_eq!(pair[1].handle(at(2200), ends()[0], late), Arrived::Done);
        assert_eq!((pair[1].refused.forged, pair[1].peer_lives), (1, 2));
    }

    #[test]
    fn a_peer_that_comes_back_after_it_was_given_up_sees_a_restart() {
        let mut pair = [association(0, 1), association(1, 2)];
        greet(&mut pair, 0);
        let patience = Duration::from_secs(20);
        assert!(!pair[0].gives_up(at(15_000), patience, || [9; 32]));
        assert!(pair[0].gives_up(at(30_000), patience, || [9; 32]));
        assert!(!pair[0].is_ready() && !pair[0].gives_up(at(31_000), patience, || [9; 32]));
        // The peer was stopped all the time.
        assert_eq!(greet(&mut pair, 40_000), [false, true]);
        assert!(pair[0].is_ready());
    }
}
