//! What makes a datagram one of the peer's, in this life of both processes, and no repetition.
//!
//! Each has a number, of which 32 bits are sent (as in RFC 4304), and a tag: the first 8 bytes of HMAC-SHA256 over the rest of
//! the datagram and the upper half of its number. The key follows from the secret and from the epochs of both processes,
//! which the session has exchanged. So a restart of either makes everything older worthless.

use super::frame::FRONT_LEN;
use crate::gateway::control::{Key, Seen};
use bytes::Bytes;

/// Bytes behind the body.
pub const TAG_LEN: usize = 8;
/// Where the number is.
const NUMBER_AT: usize = 4;

/// Why a datagram is no frame of the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is too short.
    Malformed,
    /// Its tag is wrong: forged, damaged, or of another life of the peer.
    Forged,
    /// It was seen before, or is too old to tell.
    Replayed,
}

/// Seals what this end sends.
pub struct Outbound {
    key: Key,
    last: u64,
}

impl Outbound {
    /// From the first datagram on.
    pub fn new(key: Key) -> Outbound {
        Outbound { key, last: 0 }
    }

    /// Numbers a frame and puts the tag behind it.
    ///
    /// # Panics
    /// It is shorter than its front.
    pub fn seal(&mut self, frame: &mut Vec<u8>) {
        self.last += 1;
        frame[NUMBER_AT..FRONT_LEN].copy_from_slice(&(self.last as u32).to_be_bytes());
        let tag = self.key.tag::<TAG_LEN>([frame, &upper(self.last)]);
        frame.extend_from_slice(&tag);
    }
}

/// Opens what the peer sent.
pub struct Inbound {
    key: Key,
    seen: Seen,
}

impl Inbound {
    /// Before the first datagram.
    pub fn new(key: Key) -> Inbound {
        Inbound { key, seen: Seen::none() }
    }

    /// The frame without its tag.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn open(&mut self, mut datagram: Bytes) -> Result<Bytes, Refusal> {
        let tag: [u8; TAG_LEN] = *datagram.last_chunk().ok_or(Refusal::Malformed)?;
        datagram.truncate(datagram.len() - TAG_LEN);
        let sent = datagram.get(NUMBER_AT..FRONT_LEN).and_then(|bytes| bytes.first_chunk());
        let number = self.whole(u32::from_be_bytes(*sent.ok_or(Refusal::Malformed)?));
        // 0 was never sent.
        if number == 0 || self.seen.contains(number) {
            return Err(Refusal::Replayed);
        }
        if !self.key.verifies_tag([&datagram, &upper(number)], &tag) {
            return Err(Refusal::Forged);
        }
        self.seen.note(number);
        Ok(datagram)
    }

    /// The number nearest to the highest that ends like this.
    fn whole(&self, sent: u32) -> u64 {
        let highest = self.seen.highest();
        let ahead = sent.wrapping_sub(highest as u32);
        if ahead < 1 << 31 {
            highest.saturating_add(u64::from(ahead))
        } else {
            highest.saturating_sub(u64::from(ahead.wrapping_neg()))
        }
    }
}

fn upper(number: u64) -> [u8; 4] {
    ((number >> 32) as u32).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ends() -> (Outbound, Inbound) {
        let key = Key::new(b"a key of these two lives");
        (Outbound::new(key.clone()), Inbound::new(key))
    }

    fn sealed(outbound: &mut Outbound) -> Bytes {
        let mut frame = b"12345678 and a body".to_vec();
        outbound.seal(&mut frame);
        frame.into()
    }

    #[test]
    fn a_sealed_frame_opens_once_and_no_changed_bit_of_it_does() {
        let (mut outbound, mut inbound) = ends();
        let datagram = sealed(&mut outbound);
        for at in 0..datagram.len() * 8 {
            let mut changed = datagram.to_vec();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(inbound.open(changed.into()).is_err(), "bit {at}");
        }
        assert_eq!(&inbound.open(datagram.clone()).unwrap()[FRONT_LEN..], b" and a body");
        assert_eq!(inbound.open(datagram), Err(Refusal::Replayed));
    }

    #[test]
    fn a_frame_of_another_life_is_forged() {
        let (mut outbound, _) = ends();
        let mut inbound = Inbound::new(Key::new(b"a key of two other lives"));
        assert_eq!(inbound.open(sealed(&mut outbound)), Err(Refusal::Forged));
    }

    #[test]
    fn the_upper_half_of_the_number_is_not_sent_and_still_counts() {
        let (mut outbound, mut inbound) = ends();
        let early = sealed(&mut outbound);
        outbound.last = u64::from(u32::MAX) - 1;
        inbound.seen.note(outbound.last);
        for _ in 0..5 {
            assert!(inbound.open(sealed(&mut outbound)).is_ok());
        }
        assert_eq!(inbound.seen.highest(), u64::from(u32::MAX) + 4);
        // Numbered as the datagram that will be sent 2^32 later.
        inbound.seen = Seen::none();
        inbound.seen.note(1 << 32);
        assert_eq!(inbound.open(early), Err(Refusal::Forged));
    }

    #[test]
    fn every_truncation_is_refused() {
        let (mut outbound, mut inbound) = ends();
        let datagram = sealed(&mut outbound);
        for length in 0..datagram.len() {
            assert!(inbound.open(datagram.slice(..length)).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_number_opens_twice_and_none_within_the_window_is_lost(steps in prop::collection::vec(-3000i64..3000, 1..200)) {
            let (_, mut inbound) = ends();
            let (mut taken, mut at) = (BTreeSet::new(), 1i64);
            for step in steps {
                at = (at + step).max(1);
                let number = at as u64;
                let highest = taken.last().copied().unwrap_or(0);
                let is_new = !inbound.seen.contains(number);
                prop_assert_eq!(is_new, !taken.contains(&number) && number + Seen::WINDOW > highest, "{}", number);
                if is_new {
                    inbound.seen.note(number);
                    taken.insert(number);
                }
            }
        }
    }
}
