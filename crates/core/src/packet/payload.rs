//! What a transport carries: real bytes, or a stretch of a virtual stream whose content is a
//! fixed function of (stream, offset), so that checksums, captures, hashes and resegmentation
//! are exact although nothing is stored.

use crate::rng::split_mix;

/// A packet's transport payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// `len` bytes from `offset` of the virtual stream `stream`.
    Virtual {
        /// Names the stream.
        stream: u64,
        /// Position of the first byte.
        offset: u64,
        /// Number of bytes.
        len: u32,
    },
    /// Real bytes.
    Bytes(&'a [u8]),
}

/// Writes the content of the virtual stream from `offset` on into `out`.
pub fn fill_virtual(stream: u64, offset: u64, out: &mut [u8]) {
    let key = split_mix(stream ^ 0x6169_7274_6370_0001);
    let mut at = 0;
    while at < out.len() {
        let position = offset + at as u64;
        let word = split_mix(key.wrapping_add(position / 8)).to_le_bytes();
        let within = (position % 8) as usize;
        let take = (8 - within).min(out.len() - at);
        out[at..at + take].copy_from_slice(&word[within..within + take]);
        at += take;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_of_a_stream_has_the_same_bytes() {
        let mut whole = [0; 64];
        fill_virtual(9, 3, &mut whole);
        for cut in 0..64 {
            let (mut head, mut tail) = (std::vec![0; cut], std::vec![0; 64 - cut]);
            fill_virtual(9, 3, &mut head);
            fill_virtual(9, 3 + cut as u64, &mut tail);
            assert_eq!([head, tail].concat(), whole);
        }
        let mut other = [0; 64];
        fill_virtual(10, 3, &mut other);
        assert_ne!(whole, other);
    }
}
