//! Messages of a scheme as they will be sent: each with room for what the channel puts around it, one behind the other, so
//! that they are sealed and given to the kernel where they were written.

use std::ops::Range;

/// Where a message is, with the room around it.
pub(super) type Letter = Range<usize>;

/// Messages that wait for the end of a call.
#[derive(Debug, Default)]
pub(super) struct Letters {
    bytes: Vec<u8>,
}

impl Letters {
    /// Writes a message that is in two parts, with so many bytes free before and behind it.
    pub fn write(&mut self, [before, behind]: [usize; 2], parts: [&[u8]; 2]) -> Letter {
        let start = self.bytes.len();
        self.bytes.resize(start + before, 0);
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.resize(self.bytes.len() + behind, 0);
        start..self.bytes.len()
    }

    /// What stands in a letter.
    pub fn message(&self, letter: &Letter, [before, behind]: [usize; 2]) -> &[u8] {
        &self.bytes[letter.start + before..letter.end - behind]
    }

    /// All of them, to be sealed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// None is needed any more.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Messages that came, in their order.
#[derive(Debug, Default)]
pub(super) struct Mail {
    letters: Letters,
    places: Vec<Letter>,
}

impl Mail {
    /// One more.
    pub fn push(&mut self, message: &[u8]) {
        self.places.push(self.letters.write([0, 0], [message, &[]]));
    }

    /// All of them.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|place| self.letters.message(place, [0, 0]))
    }

    /// They were handed on.
    pub fn clear(&mut self) {
        self.letters.clear();
        self.places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_handed_on_in_its_order() {
        let mut mail = Mail::default();
        [&b"a"[..], b"", b"bc"].iter().for_each(|message| mail.push(message));
        assert_eq!(mail.messages().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
        mail.clear();
        assert_eq!(mail.messages().len(), 0);
    }

    #[test]
    fn a_message_has_room_around_it_and_the_next_one_follows() {
        let (mut letters, margins) = (Letters::default(), [3, 2]);
        let [first, second] = [[&b"he"[..], b"llo"], [b"", b"x"]].map(|parts| letters.write(margins, parts));
        assert_eq!((first.clone(), second.clone()), (0..10, 10..16));
        assert_eq!([&first, &second].map(|letter| letters.message(letter, margins)), [&b"hello"[..], b"x"]);
        assert_eq!(letters.bytes_mut(), b"\0\0\0hello\0\0\0\0\0x\0\0");
    }
}
