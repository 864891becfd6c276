//! Which messages are the peer's, now: no I/O and no clock, so that it can be tested in virtual time and fuzzed as it is.
//!
//! Each process draws a number, its epoch, and counts its messages from 1. Which epoch is the peer's is known only from an
//! answer to a challenge that this process drew lately; so nothing that was recorded, reflected or made up moves it.
//! Messages of that epoch are taken once each ([`Window`]), and only as long as the peer goes on answering: a peer that
//! is heard but does not hear counts as gone.

use super::envelope::{self, scheme_id};
use super::handshake::{Handshake, Introduction};
use super::ignored::Ignored;
use super::key::{Key, Secret};
use super::keyring::{KeyNumber, Keyring};
use super::pace::{Budget, Pace};
use super::path_search::PathSearch;
use super::probe::Probe;
use super::window::Window;
use airtcp_core::control::Header;
use airtcp_core::{Duration, Instant, Rate};
use roaming::Roaming;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Challenges that may be open.
const CHALLENGES_MAX: usize = 64;
/// Hop limit of what gateways send (RFC 5082): no router in between can have raised it.
pub const HOP_LIMIT: u8 = 255;
/// How long what was heard explains why a peer is not in reach.
const EXPLANATION: Duration = Duration::from_secs(5);

/// What a session is told at its start.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The peer's address and port; `None` for one that is known by its key, wherever it is ([`Session::follow`]).
    pub peer: Option<SocketAddr>,
    /// The current secret first, then the one that is accepted besides; none for messages without authentication.
    pub secrets: Vec<Secret>,
    /// Who we are.
    pub introduction: Introduction,
    /// Hops to the peer: 1 if no router is in between.
    pub hops: u8,
    /// Rate of the link, if it is known: challenges on slow links are further apart.
    pub rate: Option<Rate>,
    /// Nothing longer is sent, in IP bytes.
    pub mtu: Option<u32>,
}

/// Where a datagram came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its sender.
    pub from: SocketAddr,
    /// Hop limit (TTL) that it arrived with.
    pub hop_limit: u8,
}

/// What a datagram of the peer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened<'a> {
    /// The scheme.
    Message(&'a [u8]),
    /// The session itself; there may be something to send ([`Session::poll_transmit`]).
    Handshake,
}

/// What is known of the peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerState {
    /// It answered lately, and works with this gateway.
    pub up: bool,
    /// Why it is not in reach, in words; empty if it is.
    pub why: String,
    /// Messages are authenticated.
    pub secured: bool,
    /// Who it said to be, once it answered.
    pub introduction: Option<Introduction>,
}

/// One life of the peer.
struct Life {
    epoch: u64,
    window: Window,
    /// When it answered last.
    answered: Instant,
    /// The most current secret that it used.
    key: KeyNumber,
    introduction: Introduction,
    mismatch: Option<Ignored>,
}

impl Life {
    /// True if its message with this number was not seen before.
    fn is_new(&mut self, sequence: u64, key: KeyNumber) -> bool {
        let is_new = self.window.accept(sequence);
        if is_new {
            self.key = self.key.min(key);
        }
        is_new
    }
}

/// A challenge of the peer that waits for our answer.
struct Reply {
    answer: u64,
    key: KeyNumber,
}

/// One end of the control channel.
pub struct Session {
    /// Where the peer is; of one that is known by its key only, where it answered last.
    peer: Option<SocketAddr>,
    /// It is known by its key only.
    roams: bool,
    roaming: Roaming,
    introduction: Introduction,
    scheme: u32,
    least_hop_limit: u8,
    pace: Pace,
    mtu: Option<u32>,
    keys: Keyring,
    /// Makes numbers that nobody can guess: a MAC over a counter.
    numbers: (Key, u64),
    epoch: u64,
    sequence: u64,
    life: Option<Life>,
    challenges: VecDeque<(u64, Instant)>,
    /// When the newest of those that were answered was sent.
    answered_sent: Instant,
    last_challenge: Option<Instant>,
    next_challenge: Instant,
    lengths: PathSearch,
    reply: Option<Reply>,
    budget: Budget,
    /// When an authentic handshake was heard last.
    heard: Option<Instant>,
    last_ignored: Option<(Ignored, Instant)>,
}

impl Session {
    /// A new life of this end. `entropy` is random, and another one in each life.
    pub fn new(setup: Setup, entropy: [u8; 32]) -> Session {
        let Setup { peer, secrets, introduction, hops, rate, mtu } = setup;
        let mut session = Session {
            peer,
            roams: peer.is_none(),
            roaming: Roaming::default(),
            scheme: scheme_id(&introduction.scheme),
            introduction,
            least_hop_limit: HOP_LIMIT - (hops.max(1) - 1),
            pace: Pace::new(rate),
            mtu,
            keys: Keyring::new(secrets),
            numbers: (Key::new(&entropy), 0),
            epoch: 0,
            sequence: 0,
            life: None,
            challenges: VecDeque::new(),
            answered_sent: Instant::ZERO,
            last_challenge: None,
            next_challenge: Instant::ZERO,
            lengths: PathSearch::default(),
            reply: None,
            budget: Budget::default(),
            heard: None,
            last_ignored: None,
        };
        session.epoch = session.draw();
        session
    }

    /// Takes other secrets, says something else of itself and expects another rate and MTU, in the middle of a life: the peer
    /// stays in reach as long as it uses one of the secrets. Where it is and how far away stays as it was.
    pub fn renew(&mut self, Setup { secrets, introduction, rate, mtu, .. }: Setup) {
        let was_secured = self.keys.is_secured();
        let numbers = self.keys.renew(secrets);
        // Without secrets all is of number 0.
        let is_open = !was_secured && !self.keys.is_secured();
        let now = |former: KeyNumber| if is_open { Some(former) } else { numbers.get(former).copied().flatten() };
        (self.pace, self.mtu) = (Pace::new(rate), mtu);
        self.introduction = introduction;
        self.reply = self.reply.take().and_then(|reply| now(reply.key).map(|key| Reply { key, ..reply }));
        let (ours, life) = (&self.introduction, self.life.take());
        let renewed = |life: Life| {
            let mismatch = ours.mismatch(&life.introduction);
            now(life.key).map(|key| Life { key, mismatch, ..life })
        };
        self.life = life.and_then(renewed);
        // Made with a secret that may be gone.
        self.roaming.visitor = None;
        self.next_challenge = Instant::ZERO;
    }

    /// The address that this end sends from. Nothing authentic is sent or received before it is known.
    pub fn set_local(&mut self, local: SocketAddr) {
        if let Some(peer) = self.peer {
            self.keys.set_ends(local, peer);
        }
    }

    /// The other end; `None` as long as a peer that is known by its key only has not answered.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// True if this is the peer's address.
    pub fn is_from_peer(&self, from: SocketAddr) -> bool {
        // A dual-stack socket reports IPv4 peers as mapped addresses.
        let end = |address: SocketAddr| -> (IpAddr, u16) { (address.ip().to_canonical(), address.port()) };
        self.peer.is_some_and(|peer| end(from) == end(peer))
    }

    /// The key to answer a probe with, if there is one and the probe is made with it, and comes from as near as the peer.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn test_key(&self, hop_limit: u8, probe: &Probe, datagram: &[u8]) -> Result<Option<Key>, Ignored> {
        if hop_limit < self.least_hop_limit {
            return Err(Ignored::HopLimit);
        }
        let key = self.keys.of_test(probe.test).find(|key| Probe::is_authentic(datagram, key));
        if key.is_none() && self.is_secured() { Err(Ignored::BadMac) } else { Ok(key) }
    }

    /// True if messages carry a MAC.
    pub fn is_secured(&self) -> bool {
        self.keys.is_secured()
    }

    /// A number that nobody can guess; never 0.
    fn draw(&mut self) -> u64 {
        let (key, counter) = &mut self.numbers;
        *counter += 1;
        let [high, low] = [0, 8].map(|at| {
            let mac = key.mac(&counter.to_be_bytes());
            mac[at..at + 8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        });
        (high ^ low).max(1)
    }

    /// Bytes to leave free before a scheme's message and behind it.
    pub fn margins(&self) -> [usize; 2] {
        envelope::margins(self.is_secured())
    }

    /// Makes a datagram of a scheme's message that has its [`Session::margins`] around it. False as long as no peer has answered:
    /// nobody could read it.
    pub fn seal(&mut self, datagram: &mut [u8]) -> bool {
        let Some(key) = self.life.as_ref().map(|life| life.key) else { return false };
        if !self.keys.is_ready() {
            return false;
        }
        let header = self.next_header(false);
        envelope::seal(&header, self.keys.send(key), datagram);
        true
    }

    /// A message as a datagram of its own, if [`Session::seal`] makes one.
    pub fn sealed(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        envelope::wrap(message, self.is_secured(), &mut out);
        self.seal(&mut out).then_some(out)
    }

    fn put_handshake(&mut self, message: &[u8], key: KeyNumber, out: &mut Vec<u8>) {
        let (header, key) = (self.next_header(true), self.keys.send(key));
        envelope::wrap(message, key.is_some(), out);
        envelope::seal(&header, key, out);
    }

    fn next_header(&mut self, is_handshake: bool) -> Header {
        self.sequence += 1;
        let (scheme, epoch, sequence) = (self.scheme, self.epoch, self.sequence);
        Header { has_mac: false, is_handshake, scheme, epoch, sequence }
    }

    /// Takes a datagram apart.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn open<'a>(&mut self, now: Instant, origin: Origin, datagram: &'a [u8]) -> Result<Opened<'a>, Ignored> {
        if !self.is_from_peer(origin.from) {
            return Err(Ignored::Stranger);
        }
        let opened = self.open_from_peer(now, origin.hop_limit, datagram);
        if let Err(reason) = opened {
            self.last_ignored = Some((reason, now));
        }
        opened
    }

    fn open_from_peer<'a>(&mut self, now: Instant, hop_limit: u8, datagram: &'a [u8]) -> Result<Opened<'a>, Ignored> {
        if hop_limit < self.least_hop_limit {
            return Err(Ignored::HopLimit);
        }
        if Header::decode(datagram).is_ok_and(|header| header.epoch == self.epoch) {
            return Err(Ignored::Reflected);
        }
        if !self.keys.is_ready() {
            return Err(Ignored::NoSession);
        }
        let (header, message, key) = envelope::open(datagram, &self.keys)?;
        if header.is_handshake {
            let handshake = Handshake::decode(message).ok_or(Ignored::Malformed)?;
            self.handle_handshake(now, &header, handshake, key)?;
            return Ok(Opened::Handshake);
        }
        self.accept_message(now, &header, key)?;
        Ok(Opened::Message(message))
    }

    fn handle_handshake(
        &mut self,
        now: Instant,
        header: &Header,
        handshake: Handshake,
        key: KeyNumber,
    ) -> Result<(), Ignored> {
        if self.is_answered(now, handshake.answer) {
            self.handle_answer(now, header, handshake.from, key);
            self.lengths.handle_answer(now, self.pace, handshake.answer);
        } else {
            let known = self.life.as_mut().filter(|life| life.epoch == header.epoch);
            let is_new = known.map(|life| life.is_new(header.sequence, key));
            if is_new == Some(false) && self.keys.is_secured() {
                return Err(Ignored::Replayed);
            }
            // A peer that restarted, or a recording of an earlier life; without a key also a peer whose number somebody
            // has used up. Only an answer tells.
            if is_new != Some(true) {
                self.challenge_soon(now);
                if !self.budget.take(now) {
                    return Err(Ignored::NoSession);
                }
            }
        }
        self.heard = Some(now);
        if handshake.challenge != 0 {
            self.reply = Some(Reply { answer: handshake.challenge, key });
        }
        Ok(())
    }

    /// True if this answers an open challenge, which is closed then.
    fn is_answered(&mut self, now: Instant, answer: u64) -> bool {
        let patience = self.pace.patience();
        self.challenges.retain(|(_, at)| now.saturating_since(*at) < patience);
        let found = self.challenges.iter().position(|(challenge, _)| *challenge == answer);
        let Some((_, sent)) = found.and_then(|index| self.challenges.remove(index)) else { return false };
        self.answered_sent = self.answered_sent.max(sent);
        true
    }

    /// The only way to another life of the peer.
    fn handle_answer(&mut self, now: Instant, header: &Header, introduction: Introduction, key: KeyNumber) {
        let mismatch = self.introduction.mismatch(&introduction);
        let (epoch, sequence) = (header.epoch, header.sequence);
        let is_secured = self.keys.is_secured();
        let (window, key) = match self.life.take().filter(|life| life.epoch == epoch) {
            // Without a key anybody may have moved the window ahead of the peer.
            Some(life) if !is_secured && life.window.is_past(sequence) => (Window::new(sequence), 0),
            Some(Life { mut window, key: best, .. }) => {
                window.resume(sequence);
                (window, key.min(best))
            }
            None => {
                // What a former life answered to the open challenges, and somebody kept, must not bring it back.
                self.challenges.clear();
                self.roaming.forget_challenges();
                (Window::new(sequence), key)
            }
        };
        self.life = Some(Life { epoch, window, answered: now, key, introduction, mismatch });
    }

    fn accept_message(&mut self, now: Instant, header: &Header, key: KeyNumber) -> Result<(), Ignored> {
        if header.scheme != self.scheme {
            return Err(Ignored::OtherScheme);
        }
        let reach = self.pace.reach();
        let Some(life) = self.life.as_mut().filter(|life| life.epoch == header.epoch) else {
            self.challenge_soon(now);
            return Err(Ignored::NoSession);
        };
        if !life.is_new(header.sequence, key) {
            return Err(Ignored::Replayed);
        }
        if let Some(mismatch) = life.mismatch {
            return Err(mismatch);
        }
        if now.saturating_since(life.answered) >= reach {
            return Err(Ignored::Unanswered);
        }
        Ok(())
    }

    /// Somebody may be there who has to prove to be the peer.
    fn challenge_soon(&mut self, now: Instant) {
        let earliest = self.last_challenge.map_or(now, |last| last + self.pace.least());
        self.next_challenge = self.next_challenge.min(earliest.max(now));
    }

    /// Writes the next handshake to `out`; to whom it goes, `None` if nothing is due.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some(visitor) = self.roaming.visitor.take() {
            return Some(self.answer_visitor(&visitor, out));
        }
        let is_due = now >= self.next_challenge;
        let Some(peer) = self.peer.filter(|_| self.keys.is_ready()) else {
            // Looks again later.
            self.next_challenge = if is_due { now + self.pace.interval(None) } else { self.next_challenge };
            return None;
        };
        let (answer, key) = match self.reply.take() {
            Some(Reply { answer, key }) => (answer, key),
            None if is_due => (0, self.challenge_key()),
            None => return self.ask_length(now, out).then_some(peer),
        };
        let challenge = if is_due { self.challenge(now) } else { 0 };
        let message = Handshake { challenge, answer, from: self.introduction.clone() }.encode();
        self.put_handshake(&message, key, out);
        Some(peer)
    }

    fn challenge(&mut self, now: Instant) -> u64 {
        let silence = self.life.as_ref().map(|life| now.saturating_since(life.answered));
        self.next_challenge = now + self.pace.interval(silence);
        self.last_challenge = Some(now);
        self.open_challenge(now)
    }

    fn open_challenge(&mut self, now: Instant) -> u64 {
        if self.challenges.len() == CHALLENGES_MAX {
            self.challenges.pop_front();
        }
        let challenge = self.draw();
        self.challenges.push_back((challenge, now));
        challenge
    }

    /// The current secret, and in turns the previous one as long as the peer has not used the current.
    fn challenge_key(&self) -> KeyNumber {
        match &self.life {
            Some(life) if life.key == 0 => 0,
            _ => (self.numbers.1 as usize) % self.keys.len().max(1),
        }
    }

    /// When [`Session::poll_transmit`] has something to send.
    pub fn poll_timeout(&self) -> Instant {
        let can_ask = self.life.is_some() && self.peer.is_some() && self.keys.is_ready();
        let lengths = self.lengths.poll_timeout().filter(|_| can_ask);
        lengths.map_or(self.next_challenge, |lengths| lengths.min(self.next_challenge))
    }

    /// True if the peer answered lately and works with this end.
    pub fn is_in_reach(&self, now: Instant) -> bool {
        self.life
            .as_ref()
            .is_some_and(|life| life.mismatch.is_none() && now.saturating_since(life.answered) < self.pace.reach())
    }

    /// The epochs of this end and of the life of the peer that answered last.
    pub fn lives(&self) -> Option<(u64, u64)> {
        self.life.as_ref().map(|life| (self.epoch, life.epoch))
    }

    /// What is known of the peer.
    pub fn peer_state(&self, now: Instant) -> PeerState {
        let up = self.is_in_reach(now);
        PeerState {
            up,
            why: if up { String::new() } else { self.why_down(now).to_owned() },
            secured: self.keys.is_secured(),
            introduction: self.life.as_ref().map(|life| life.introduction.clone()),
        }
    }

    fn why_down(&self, now: Instant) -> &'static str {
        let is_recent = |at: Instant| now.saturating_since(at) < EXPLANATION;
        if let Some(life) = self.life.as_ref().filter(|life| is_recent(life.answered))
            && let Some(mismatch) = life.mismatch
        {
            return mismatch.sentence();
        }
        if self.heard.is_some_and(|at| now.saturating_since(at) < self.pace.reach()) {
            return Ignored::Unanswered.sentence();
        }
        let was_up_since = |at: Instant| self.life.as_ref().is_some_and(|life| life.answered > at);
        match self.last_ignored {
            Some((reason, at)) if is_recent(at) && !was_up_since(at) => reason.sentence(),
            _ => "nothing is heard from it",
        }
    }
}

mod lengths;
mod roaming;
#[cfg(test)]
mod tests;
