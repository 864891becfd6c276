//! Feedback that can be read and is untrue: numbers ten times too high or a tenth, off by a little, the least or the highest.

use crate::draw::Draw;
use airtcp_schemes::local_recovery::{self, LinkNews};
use airtcp_schemes::papers::gsnoop;

/// How somebody lies.
#[derive(Clone, Copy, Debug)]
pub struct Liar {
    /// One bit for each number of a message that is changed.
    which: u64,
    way: Way,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    TenTimes,
    ATenth,
    Least,
    Highest,
    /// Something else each time.
    Any,
}

/// Numbers of a message that may be changed.
const NUMBERS: u64 = 7;

impl Liar {
    /// Somebody who changes some numbers in the same way each time.
    pub fn new(draw: &mut Draw) -> Liar {
        let way = draw.pick(&[Way::TenTimes, Way::ATenth, Way::Least, Way::Highest, Way::Any, Way::Any]);
        Liar { which: draw.below(1 << NUMBERS), way }
    }

    /// What somebody says in place of `message`; the same if there is nothing in it to lie about.
    pub fn change(self, draw: &mut Draw, message: Vec<u8>) -> Vec<u8> {
        if let Some(gsnoop::Message::Report(mut report)) = gsnoop::Message::decode(&message) {
            self.lie(draw, 0, &mut report.received);
            self.lie(draw, 1, &mut report.stamp);
            return gsnoop::Message::Report(report).encode();
        }
        let Some(local_recovery::Message::Ack((mut ack, mut news))) = local_recovery::Message::decode(&message) else {
            return message;
        };
        self.lie_about_the_link(draw, &mut news);
        self.lie_32(draw, 5, &mut ack.newest.0);
        self.lie_32(draw, 6, &mut ack.expected.0);
        local_recovery::Message::Ack((ack, news)).encode()
    }

    fn lie_about_the_link(self, draw: &mut Draw, news: &mut LinkNews) {
        if let Some(report) = &mut news.report {
            self.lie(draw, 0, &mut report.received);
            self.lie(draw, 1, &mut report.stamp);
        }
        if let Some(losses) = &mut news.losses {
            self.lie_32(draw, 2, &mut losses.arrived.frames);
            self.lie_32(draw, 3, &mut losses.arrived.gaps);
            let mut deficit = u32::from(losses.deficit);
            self.lie_32(draw, 4, &mut deficit);
            losses.deficit = deficit as u16;
        }
    }

    fn lie_32(self, draw: &mut Draw, number: u32, value: &mut u32) {
        let mut wide = u64::from(*value);
        self.lie(draw, number, &mut wide);
        *value = wide as u32;
    }

    fn lie(self, draw: &mut Draw, number: u32, value: &mut u64) {
        if self.which >> number & 1 == 0 {
            return;
        }
        *value = match self.way {
            Way::TenTimes => value.wrapping_mul(10),
            Way::ATenth => *value / 10,
            Way::Least => 0,
            Way::Highest => u64::MAX,
            Way::Any => match draw.below(4) {
                0 => value.wrapping_mul(10),
                1 => *value / 10,
                2 => value.wrapping_add(draw.magnitude(1, u64::MAX)),
                _ => value.wrapping_sub(draw.magnitude(1, u64::MAX)),
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::SeqNum;

    fn message() -> Vec<u8> {
        // An acknowledgment with all that there may be, as crates/schemes/src/local_recovery/message.rs has it.
        let words = [&[2, 2, 0xe2, 0, 7][..], &[0; 8], &[0, 0, 0, 9, 0, 0, 0, 1, 0, 3], &[0, 0, 0, 8]];
        [words.concat(), 5000_u64.to_be_bytes().to_vec(), 6000_u64.to_be_bytes().to_vec()].concat()
    }

    #[test]
    fn a_lie_changes_the_numbers_that_it_is_about() {
        let mut draw = Draw::new(1, "liar");
        let liar = Liar { which: 0b100_0001, way: Way::TenTimes };
        let told = liar.change(&mut draw, message());
        let Some(local_recovery::Message::Ack((ack, news))) = local_recovery::Message::decode(&told) else {
            panic!("{told:?}")
        };
        let report = news.report.unwrap();
        assert_eq!((report.received, report.stamp, news.losses.unwrap().arrived.frames), (50_000, 6000, 9));
        assert_eq!((ack.newest, ack.expected), (SeqNum(0), SeqNum(0)));
        let honest = Liar { which: 0, way: Way::Any };
        assert_eq!(honest.change(&mut draw, message()), message());
        assert_eq!(Liar { which: u64::MAX, way: Way::Highest }.change(&mut draw, vec![2, 9, 9]), [2, 9, 9]);
    }
}
