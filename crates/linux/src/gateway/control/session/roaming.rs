//! A peer that is known by its key and not by its address: somebody with the key at another address is asked there, and
//! followed once it answers from there.
//!
//! The keys are made for both addresses, so what was sent from one address is authentic at no other. What was recorded is:
//! so a handshake from elsewhere moves nothing. It is answered with a challenge that only its sender, now and there, can
//! answer. The challenge is a MAC over the address and the time; so nothing is kept of those who ask, however many they are.
//! Two gateways with one key do not take the session from each other: as long as the peer answers, only the same process is
//! followed to another address.

use super::super::envelope;
use super::super::handshake::Handshake;
use super::super::ignored::Ignored;
use super::super::keyring::{KeyNumber, Keyring};
use super::{Origin, Session};
use airtcp_core::Instant;
use airtcp_core::control::Header;
use std::net::SocketAddr;

/// What a session knows of those elsewhere.
#[derive(Default)]
pub(super) struct Roaming {
    /// Counts what makes all challenges void.
    generation: u64,
    /// Who is answered next.
    pub visitor: Option<Visitor>,
}

impl Roaming {
    /// What was answered to a challenge until now no longer counts.
    pub fn forget_challenges(&mut self) {
        self.generation += 1;
    }
}

/// Somebody with the key, at another address than the peer's.
pub(super) struct Visitor {
    address: SocketAddr,
    keys: Keyring,
    key: KeyNumber,
    /// Its challenge.
    answer: u64,
    /// Ours.
    challenge: u64,
}

impl Session {
    /// True if the peer is known by its key, wherever it is.
    pub fn roams(&self) -> bool {
        self.roams
    }

    /// True if this is a message of the life of the peer that is known, as far as can be told without a key.
    pub fn is_of_known_life(&self, datagram: &[u8]) -> bool {
        let known = self.life.as_ref().map(|life| life.epoch);
        Header::decode(datagram).is_ok_and(|header| Some(header.epoch) == known)
    }

    /// Takes a datagram that comes from another address than the peer's, or comes to another, `local`. Whoever has the key and
    /// answers a challenge from there is the peer from then on; true if this did. There may be something to send
    /// ([`Session::poll_transmit`]).
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn follow(
        &mut self,
        now: Instant,
        origin: Origin,
        local: SocketAddr,
        datagram: &[u8],
    ) -> Result<bool, Ignored> {
        if !self.roams || !self.keys.is_secured() {
            return Err(Ignored::Stranger);
        }
        if origin.hop_limit < self.least_hop_limit {
            return Err(Ignored::HopLimit);
        }
        match Header::decode(datagram) {
            Ok(header) if header.epoch == self.epoch => return Err(Ignored::Reflected),
            // The scheme's messages wait until it is known who sends them.
            Ok(header) if !header.is_handshake => return Err(Ignored::Stranger),
            _ => {}
        }
        let keys = self.keys.between(local, origin.from);
        let (header, message, key) = envelope::open(datagram, &keys)?;
        let handshake = Handshake::decode(message).ok_or(Ignored::Malformed)?;
        self.check_life(now, &header, key)?;
        if self.is_moved(now, origin.from, handshake.answer) {
            self.move_to(now, origin.from, keys);
            self.handle_answer(now, &header, handshake.from, key);
            self.heard = Some(now);
            if handshake.challenge != 0 {
                self.reply = Some(super::Reply { answer: handshake.challenge, key });
            }
            return Ok(true);
        }
        if !self.budget.take(now) {
            return Err(Ignored::NoSession);
        }
        let challenge = self.challenge_at(now, origin.from, 0);
        self.roaming.visitor =
            Some(Visitor { address: origin.from, keys, key, answer: handshake.challenge, challenge });
        Ok(false)
    }

    /// Refuses what was seen before, and another process as long as the known one answers.
    fn check_life(&mut self, now: Instant, header: &Header, key: KeyNumber) -> Result<(), Ignored> {
        let reach = self.pace.reach();
        match &mut self.life {
            Some(life) if life.epoch == header.epoch => {
                if life.is_new(header.sequence, key) {
                    Ok(())
                } else {
                    Err(Ignored::Replayed)
                }
            }
            Some(life) if now.saturating_since(life.answered) < reach => Err(Ignored::Elsewhere),
            _ => Ok(()),
        }
    }

    /// True if this answers a challenge that was sent to this address lately.
    fn is_moved(&self, now: Instant, address: SocketAddr, answer: u64) -> bool {
        [0, 1].into_iter().any(|ago| answer == self.challenge_at(now, address, ago))
    }

    /// The challenge for an address, now or so many spans of patience ago; never 0.
    fn challenge_at(&self, now: Instant, address: SocketAddr, ago: u64) -> u64 {
        let span = (now.as_nanos() / self.pace.patience().as_nanos()).wrapping_sub(ago);
        let text = format!("challenge {address} {} {span}", self.roaming.generation);
        let mac = self.numbers.0.mac(text.as_bytes());
        mac[..8].iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)).max(1)
    }

    fn move_to(&mut self, now: Instant, address: SocketAddr, keys: Keyring) {
        self.peer = Some(address);
        self.lengths.restart(now);
        self.keys = keys;
        self.reply = None;
        self.challenges.clear();
        self.roaming.forget_challenges();
    }

    /// Writes the handshake that asks somebody elsewhere; to whom it goes.
    pub(super) fn answer_visitor(&mut self, visitor: &Visitor, out: &mut Vec<u8>) -> SocketAddr {
        let Visitor { address, keys, key, answer, challenge } = visitor;
        let header = self.next_header(true);
        let message = Handshake { challenge: *challenge, answer: *answer, from: self.introduction.clone() }.encode();
        envelope::wrap(&message, keys.is_secured(), out);
        envelope::seal(&header, keys.send(*key), out);
        *address
    }
}
