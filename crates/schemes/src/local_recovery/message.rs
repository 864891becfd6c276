//! The messages between the two ends. Big endian.
//!
//! ```text
//! message   version (2), type: 1 HELLO (see peer.rs), 2 ACK, 3 OLDEST
//! ACK       what follows u8, incarnation u16, newest number u32, expected sequence u32, [what came: words u64], [losses], [report]
//!           what follows, from the highest bit: losses, report, all came, how many words it tells of (5 bits)
//! losses    frames that came u32, gaps u32, deficit u16: on hops that may be long enough for codes
//! report    what the link carried (link_rate/report.rs)
//! OLDEST    incarnation u16, sequence u32
//! ```
//!
//! What came of the latest transmissions is told as link ARQ tells it (`selective_repeat/received.rs`), but where all came nothing
//! is written. Versions before 2 had longer frames: ends of different versions do not hear each other, and packets pass as they are.

use crate::hop::take;
use crate::link_rate::Report;
use crate::selective_repeat::{Ack, Acknowledgment, Arrived, Received, Said};
use airtcp_core::SeqNum;
use alloc::vec::Vec;

const VERSION: u8 = 2;
/// Bytes of a HELLO behind its type.
const HELLO_LEN: usize = 32;

/// Bits of the first byte of an acknowledgment.
mod follows {
    pub const LOSSES: u8 = 0x80;
    pub const REPORT: u8 = 0x40;
    pub const ALL_CAME: u8 = 0x20;
    pub const WORDS: u8 = 0x1f;
}

/// A message between the two ends: what came, and what that tells of the link.
pub type Message = Said<(Ack, LinkNews)>;

/// What the receiving end tells of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkNews {
    /// What it lost, where codes may mend that.
    pub losses: Option<LossNews>,
    /// Sometimes, when the latest packet came and how much in all.
    pub report: Option<Report>,
}

/// What was lost, and what codes have not mended of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossNews {
    /// What came of all transmissions.
    pub arrived: Arrived,
    /// So many packets more are missing than codes came that mend them.
    pub deficit: u16,
}

impl LossNews {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.arrived.frames.to_be_bytes());
        out.extend(self.arrived.gaps.to_be_bytes());
        out.extend(self.deficit.to_be_bytes());
    }

    fn read(rest: &mut &[u8]) -> Option<LossNews> {
        let arrived = Arrived { frames: u32::from_be_bytes(take(rest)?), gaps: u32::from_be_bytes(take(rest)?) };
        Some(LossNews { arrived, deficit: u16::from_be_bytes(take(rest)?) })
    }
}

impl Acknowledgment for (Ack, LinkNews) {
    const VERSION: u8 = VERSION;

    fn write(&self, out: &mut Vec<u8>) {
        let (ack, news) = self;
        let words = ack.received.words();
        let all_came = ack.received.is_full();
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let follows = words.len() as u8
            | bit(all_came, follows::ALL_CAME)
            | bit(news.losses.is_some(), follows::LOSSES)
            | bit(news.report.is_some(), follows::REPORT);
        out.push(follows);
        out.extend(ack.incarnation.to_be_bytes());
        out.extend(ack.newest.0.to_be_bytes());
        out.extend(ack.expected.0.to_be_bytes());
        if !all_came {
            words.iter().for_each(|word| out.extend(word.to_be_bytes()));
        }
        news.losses.iter().for_each(|losses| losses.write(out));
        news.report.iter().for_each(|report| report.write(out));
    }

    fn read(rest: &mut &[u8]) -> Option<Self> {
        let [follows] = take(rest)?;
        let incarnation = u16::from_be_bytes(take(rest)?);
        let [newest, expected] = [SeqNum(u32::from_be_bytes(take(rest)?)), SeqNum(u32::from_be_bytes(take(rest)?))];
        let all_came = follows & follows::ALL_CAME != 0;
        let word = || if all_came { Some(u64::MAX) } else { take(rest).map(u64::from_be_bytes) };
        let received = Received::of_words(usize::from(follows & follows::WORDS), word)?;
        if received.is_full() != all_came {
            return None;
        }
        let losses = if follows & follows::LOSSES == 0 { None } else { Some(LossNews::read(rest)?) };
        let report = if follows & follows::REPORT == 0 { None } else { Some(Report::read(rest)?) };
        Some((Ack { incarnation, newest, expected, received }, LinkNews { losses, report }))
    }
}

/// True for the HELLO of an end that speaks another version: that has the same form in each.
pub(super) fn is_of_another_version(bytes: &[u8]) -> bool {
    matches!(*bytes, [version, 1, ref hello @ ..] if version != VERSION && hello.len() == HELLO_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Hello;

    fn ack(received: Received) -> Ack {
        Ack { incarnation: 1, newest: SeqNum(2), expected: SeqNum(3), received }
    }

    #[test]
    fn messages_read_back_and_nothing_shorter_or_longer_does() {
        let hello = Hello { epoch: 1, stamp: 2, echo: 3, held: 4 };
        let losses = Some(LossNews { arrived: Arrived { frames: 1 << 31, gaps: 5 }, deficit: 3 });
        let report = Some(Report { name: 7, received: 1 << 40, stamp: 9 });
        let mut messages = std::vec![Message::Hello(hello), Message::Oldest(7, SeqNum(8))];
        for received in [Received::filled(true), Received::filled(false), Received::default()] {
            for (losses, report) in [(None, None), (losses, None), (None, report), (losses, report)] {
                messages.push(Message::Ack((ack(received), LinkNews { losses, report })));
            }
        }
        for message in messages {
            let mut bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            for len in 0..bytes.len() {
                assert_eq!(Message::decode(&bytes[..len]), None);
            }
            bytes.push(0);
            assert_eq!(Message::decode(&bytes), None);
        }
    }

    #[test]
    fn what_is_not_missing_takes_no_bytes() {
        let len = |received| Message::Ack((ack(received), LinkNews::default())).encode().len();
        assert_eq!([len(Received::filled(true)), len(Received::filled(false))], [13, 29]);
        // That all came is told in one way only.
        let mut long = std::vec![2, 2, 2, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
        long.extend([0xff; 16]);
        assert_eq!(Message::decode(&long), None);
        long[28] = 0xfe;
        assert!(Message::decode(&long).is_some());
    }

    #[test]
    fn another_version_is_told_from_noise() {
        let hello = Message::Hello(Hello { epoch: 1, stamp: 2, echo: 3, held: 4 }).encode();
        let older = [&[1], &hello[1..]].concat();
        assert!(is_of_another_version(&older) && !is_of_another_version(&hello));
        assert!(!is_of_another_version(&older[1..]) && !is_of_another_version(b"nonsense"));
        assert_eq!(Message::decode(&older), None);
    }
}
