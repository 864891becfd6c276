//! The content of a stream: core's virtual stream, a fixed function of (seed, offset).
//!
//! A receiver that knows the seed can tell the first wrong, missing or repeated byte without
//! having the file, and a misplaced segment cannot go unseen as it would with a constant.

use airtcp_core::packet::fill_virtual;

/// A place in the stream of one seed.
#[derive(Clone, Debug)]
pub struct Pattern {
    seed: u64,
    offset: u64,
    expected: Vec<u8>,
}

impl Pattern {
    /// The stream of `seed`, from its first byte.
    pub fn new(seed: u64) -> Self {
        Pattern { seed, offset: 0, expected: Vec::new() }
    }

    /// Bytes made or verified so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Fills `buffer` with the next bytes of the stream.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        fill_virtual(self.seed, self.offset, buffer);
        self.offset += buffer.len() as u64;
    }

    /// Compares `data` with the next bytes of the stream and moves past it. Returns the stream
    /// offset of the first byte that differs.
    pub fn verify(&mut self, data: &[u8]) -> Option<u64> {
        self.expected.resize(data.len(), 0);
        fill_virtual(self.seed, self.offset, &mut self.expected);
        let start = self.offset;
        self.offset += data.len() as u64;
        if data == self.expected {
            return None;
        }
        let wrong = data.iter().zip(&self.expected).position(|(seen, right)| seen != right);
        wrong.map(|at| start + at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_make_the_same_stream() {
        let mut whole = vec![0; 1000];
        Pattern::new(7).fill(&mut whole);
        let mut pieces = Pattern::new(7);
        let mut joined = Vec::new();
        for len in [1, 3, 8, 13, 64, 911] {
            let mut piece = vec![0; len];
            pieces.fill(&mut piece);
            joined.extend(piece);
        }
        assert_eq!(joined, whole);
    }

    #[test]
    fn the_first_wrong_byte_is_named() {
        let mut data = vec![0; 100];
        Pattern::new(7).fill(&mut data);
        assert_eq!(Pattern::new(7).verify(&data), None);
        data[61] ^= 1;
        data[90] ^= 1;
        let mut pattern = Pattern::new(7);
        assert_eq!(pattern.verify(&data[..40]), None);
        assert_eq!(pattern.verify(&data[40..]), Some(61));
    }

    #[test]
    fn a_shifted_or_foreign_stream_is_wrong() {
        let mut data = vec![0; 64];
        Pattern::new(7).fill(&mut data);
        assert!(Pattern::new(7).verify(&data[8..]).is_some());
        assert!(Pattern::new(8).verify(&data).is_some());
    }
}
