//! Challenges as long as packets whose way is in doubt ([`PathSearch`]).

use super::super::handshake::Handshake;
use super::super::path_search::{Heard, PathSearch};
use super::Session;
use airtcp_core::{Instant, control};

impl Session {
    /// Writes a challenge as long as packets whose way is in doubt; false if none is due.
    pub(super) fn ask_length(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let Some((at, key)) = self.life.as_ref().map(|life| (life.answered, life.key)) else { return false };
        let heard = Heard { at, sent: self.answered_sent };
        let Some(length) = self.lengths.poll(now, self.pace, heard) else { return false };
        let challenge = self.open_challenge(now);
        self.lengths.ask(now, self.pace, length, challenge);
        let mut message = Handshake { challenge, answer: 0, from: self.introduction.clone() }.encode();
        // What follows a handshake is left alone.
        let wanted = length.saturating_sub(self.overhead()) as usize;
        message.resize(message.len().max(wanted), 0);
        self.put_handshake(&message, key, out);
        true
    }

    /// IP bytes that a message takes besides its own.
    pub fn overhead(&self) -> u32 {
        let is_ipv6 = self.peer.is_none_or(|peer| peer.ip().to_canonical().is_ipv6());
        control::overhead(is_ipv6, self.is_secured())
    }

    /// What the kernel believes that the path carries; from then on it is tried.
    pub fn tell_path_mtu(&mut self, now: Instant, told: u32) {
        self.lengths.tell(now, Some(self.mtu.map_or(told, |mtu| mtu.min(told))));
    }

    /// What packets of which length the path carries.
    pub fn lengths(&self) -> &PathSearch {
        &self.lengths
    }
}
