//! Pings and their answers, as messages between the two ends. Big endian.
//!
//! ```text
//! PING      version (1), type 1, sent u64
//! ANSWER    version (1), type 2, sent u64, received u64
//! ```
//!
//! `sent` is by the clock of who pings, `received` by the other one's.

use crate::hop::take;
use airtcp_core::Instant;
use alloc::vec::Vec;

const VERSION: u8 = 1;

/// A message between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Answer this.
    Ping {
        /// Sender's clock, in ns.
        sent: u64,
    },
    /// The answer.
    Answer(Answer),
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// From the ping.
    pub sent: u64,
    /// When the ping came, by the clock of who answers.
    pub received: u64,
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(18);
        out.push(VERSION);
        match self {
            Message::Ping { sent } => {
                out.push(1);
                out.extend(sent.to_be_bytes());
            }
            Message::Answer(Answer { sent, received }) => {
                out.push(2);
                out.extend(sent.to_be_bytes());
                out.extend(received.to_be_bytes());
            }
        }
        out
    }

    /// Reads a message; `None` for anything that is not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (head, mut rest) = bytes.split_first_chunk::<2>()?;
        let mut word = || take(&mut rest).map(u64::from_be_bytes);
        let message = match head {
            [VERSION, 1] => Message::Ping { sent: word()? },
            [VERSION, 2] => Message::Answer(Answer { sent: word()?, received: word()? }),
            _ => return None,
        };
        rest.is_empty().then_some(message)
    }
}

impl Answer {
    /// The round trip of the ping in ns; `None` for a ping that we did not send.
    pub fn round_trip(&self, now: Instant) -> Option<u64> {
        now.as_nanos().checked_sub(self.sent)
    }

    /// The delay of the way there in ns, with the difference of the two clocks.
    pub fn way_there(&self) -> i64 {
        self.received.wrapping_sub(self.sent) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_and_nothing_shorter_or_longer_does() {
        for message in [Message::Ping { sent: 1 }, Message::Answer(Answer { sent: 1, received: u64::MAX })] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            assert!((0..bytes.len()).all(|len| Message::decode(&bytes[..len]).is_none()));
            assert_eq!(Message::decode(&[&bytes[..], &[0]].concat()), None);
        }
    }

    #[test]
    fn the_way_there_is_known_but_for_the_difference_of_the_clocks() {
        for (received, way_there) in [(1_500, 500), (900, -100)] {
            assert_eq!(Answer { sent: 1_000, received }.way_there(), way_there);
        }
        let answer = Answer { sent: 1_000, received: 0 };
        assert_eq!(answer.round_trip(Instant::from_nanos(1_700)), Some(700));
        assert_eq!(answer.round_trip(Instant::from_nanos(999)), None);
    }
}
