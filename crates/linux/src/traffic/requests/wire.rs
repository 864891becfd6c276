//! What a request says: its number and the size of its answer; and the content of both.

use airtcp_core::packet::fill_virtual;

/// Bytes that a request takes at least: number and size.
pub const LEAST_REQUEST: u64 = 16;

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub number: u32,
    /// Bytes of the request itself.
    pub request: u32,
    /// Bytes of the answer.
    pub size: u64,
}

impl Asked {
    /// The whole request.
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = vec![0; u64::from(self.request).max(LEAST_REQUEST) as usize];
        bytes[..4].copy_from_slice(&self.number.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.request.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.size.to_be_bytes());
        bytes
    }

    /// The head, once so much of a request has come.
    pub fn decode(bytes: &[u8]) -> Option<Asked> {
        let number = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
        let request = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
        let size = u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
        Some(Asked { number, request, size })
    }
}

/// The content of an answer from `offset` on.
pub(super) fn fill(seed: u64, number: u32, offset: u64, buffer: &mut [u8]) {
    fill_virtual(stream(seed, number), offset, buffer);
}

/// Where in an answer the first byte of `data` is that differs; `scratch` has room for as many.
pub(super) fn first_wrong(seed: u64, number: u32, offset: u64, data: &[u8], scratch: &mut [u8]) -> Option<u64> {
    let expected = &mut scratch[..data.len()];
    fill(seed, number, offset, expected);
    if data == expected {
        return None;
    }
    data.iter().zip(&*expected).position(|(seen, right)| seen != right).map(|at| offset + at as u64)
}

/// Each answer has a stream of its own.
fn stream(seed: u64, number: u32) -> u64 {
    seed ^ ((u64::from(number) + 1) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_what_it_is_for() {
        let asked = Asked { number: 7, request: 400, size: 1 << 40 };
        assert_eq!((asked.encode().len(), Asked::decode(&asked.encode())), (400, Some(asked)));
        assert_eq!(Asked::decode(&asked.encode()[..15]), None);
    }

    #[test]
    fn a_byte_of_another_answer_is_wrong() {
        let (mut data, mut scratch) = (vec![0; 100], vec![0; 100]);
        fill(1, 2, 50, &mut data);
        assert_eq!(first_wrong(1, 2, 50, &data, &mut scratch), None);
        assert!(first_wrong(1, 3, 50, &data, &mut scratch).is_some_and(|at| at < 60));
        data[99] ^= 1;
        assert_eq!(first_wrong(1, 2, 50, &data, &mut scratch), Some(149));
    }
}
