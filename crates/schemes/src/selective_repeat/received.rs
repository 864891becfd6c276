//! Which of the latest transmissions came.

use alloc::vec::Vec;

/// Words of 64 transmissions each.
const WORDS: usize = 16;
/// An acknowledgment tells of so many words at least.
const LEAST_WORDS: usize = 2;

/// Bit n stands for the transmission that is n before the newest. An acknowledgment tells of no more words than it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    words: [u64; WORDS],
    /// Words that are told.
    told: usize,
}

impl Default for Received {
    fn default() -> Self {
        Received { words: [0; WORDS], told: LEAST_WORDS }
    }
}

impl Received {
    /// Transmissions that can be told of.
    pub const MOST: u64 = WORDS as u64 * 64;

    /// All that are told of came, or none did.
    #[cfg(test)]
    pub fn filled(came: bool) -> Received {
        Received { words: [if came { u64::MAX } else { 0 }; WORDS], told: WORDS }.telling(0)
    }

    /// Whether the transmission so far before the newest came; `None` if that is not told.
    pub fn tells(&self, back: u64) -> Option<bool> {
        let told = usize::try_from(back / 64).ok().filter(|word| *word < self.told)?;
        Some(self.words[told] >> (back % 64) & 1 == 1)
    }

    /// The one so far before the newest came. False if that was known, or is too long ago.
    pub(super) fn note(&mut self, back: u64) -> bool {
        let Some(word) = usize::try_from(back / 64).ok().and_then(|word| self.words.get_mut(word)) else {
            return false;
        };
        let is_new = *word >> (back % 64) & 1 == 0;
        *word |= 1 << (back % 64);
        is_new
    }

    /// One came that is `step` after the newest so far.
    pub(super) fn advance(&mut self, step: u64) {
        let (words, bits) = ((step / 64).min(WORDS as u64) as usize, step % 64);
        self.words.copy_within(..WORDS - words, words);
        self.words[..words].fill(0);
        if bits > 0 {
            for index in (0..WORDS).rev() {
                let carried = if index > 0 { self.words[index - 1] >> (64 - bits) } else { 0 };
                self.words[index] = self.words[index] << bits | carried;
            }
        }
        self.words[0] |= 1;
    }

    /// The same, telling of the latest `count` at least, as far as that can be told.
    pub(super) fn telling(mut self, count: u64) -> Received {
        self.told = usize::try_from(count.div_ceil(64)).unwrap_or(WORDS).clamp(LEAST_WORDS, WORDS);
        self.words[self.told..].fill(0);
        self
    }

    /// True if all that are told of came.
    pub(crate) fn is_full(&self) -> bool {
        self.words().iter().all(|word| *word == u64::MAX)
    }

    /// What is told, the latest first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words[..self.told]
    }

    /// So many words, as `next` has them one after the other; `None` if it has fewer, or nobody tells so many or so few.
    pub(crate) fn of_words(told: usize, mut next: impl FnMut() -> Option<u64>) -> Option<Received> {
        if !(LEAST_WORDS..=WORDS).contains(&told) {
            return None;
        }
        let mut words = [0; WORDS];
        for word in &mut words[..told] {
            *word = next()?;
        }
        Some(Received { words, told })
    }

    /// Appends how many words are told, and these.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.told as u8);
        self.words().iter().for_each(|word| out.extend(word.to_be_bytes()));
    }

    /// Takes it off the front of `rest`.
    pub(super) fn read(rest: &mut &[u8]) -> Option<Received> {
        let (&told, tail) = rest.split_first()?;
        *rest = tail;
        Received::of_words(told.into(), || crate::hop::take(rest).map(u64::from_be_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_stays_known_until_it_is_too_far_back() {
        for step in [1, 63, 64, 65, 200, 1023] {
            let mut received = Received::default();
            received.advance(1);
            received.advance(step);
            let told = received.telling(Received::MOST);
            let came: Vec<u64> = (0..Received::MOST).filter(|back| told.tells(*back) == Some(true)).collect();
            assert_eq!(came, [0, step], "{step}");
        }
        for step in [1024, 5000, u64::MAX] {
            let mut received = Received::default();
            received.advance(1);
            received.advance(step);
            let told = received.telling(Received::MOST);
            assert_eq!((0..Received::MOST).filter(|back| told.tells(*back) == Some(true)).count(), 1, "{step}");
        }
    }

    #[test]
    fn what_is_late_is_new_once() {
        let mut received = Received::default();
        received.advance(100);
        assert!(received.note(70) && !received.note(70) && !received.note(0));
        assert!(!received.note(Received::MOST) && !received.note(u64::MAX));
    }

    #[test]
    fn no_more_is_told_than_was_asked_for() {
        let mut received = Received::default();
        received.advance(1);
        received.advance(150);
        assert_eq!(received.tells(150), None, "two words as a rule");
        assert_eq!(received.telling(151).tells(150), Some(true));
        assert_eq!(received.telling(151).tells(192), None);
        assert_eq!(received.telling(u64::MAX).tells(1024), None);
    }

    #[test]
    fn it_reads_back_and_nothing_of_another_length_does() {
        for count in [0, 128, 129, 700, 5000] {
            let mut received = Received::default();
            received.advance(1);
            received.advance(90);
            let told = received.telling(count);
            let mut bytes = Vec::new();
            told.write(&mut bytes);
            let mut rest = &bytes[..];
            let read = Received::read(&mut rest).unwrap();
            assert!(rest.is_empty());
            assert_eq!(read, told, "{count}");
        }
        assert_eq!(Received::read(&mut &[1, 0, 0, 0, 0, 0, 0, 0, 0][..]), None);
        assert_eq!(Received::read(&mut &[17; 200][..]), None);
        assert_eq!(Received::read(&mut &[2; 16][..]), None);
        assert_eq!(Received::read(&mut &[][..]), None);
    }
}
