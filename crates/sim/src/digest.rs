//! SHA-256 of virtual streams, so that a transfer can be compared as a file would be.

use airtcp_core::packet::fill_virtual;
use airtcp_tcp::Chunk;
use sha2::{Digest as _, Sha256};

/// Hash of a stream read so far.
#[derive(Clone, Debug, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds what an application read.
    pub fn update(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Bytes(bytes) => self.0.update(bytes),
            Chunk::Virtual { stream, offset, len } => self.update_virtual(*stream, *offset, *len),
        }
    }

    fn update_virtual(&mut self, stream: u64, mut offset: u64, mut len: u64) {
        let mut buffer = [0; 4096];
        while len > 0 {
            let part = &mut buffer[..len.min(4096) as usize];
            fill_virtual(stream, offset, part);
            self.0.update(&*part);
            offset += part.len() as u64;
            len -= part.len() as u64;
        }
    }

    /// The hash of everything added.
    pub fn finish(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }

    /// The hash of the first `len` bytes of a virtual stream.
    pub fn of_virtual(stream: u64, len: u64) -> [u8; 32] {
        let mut digest = Digest::default();
        digest.update_virtual(stream, 0, len);
        digest.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_does_not_depend_on_how_the_stream_was_read() {
        let mut digest = Digest::default();
        for (offset, len) in [(0, 1), (1, 9_999), (10_000, 7)] {
            digest.update(&Chunk::Virtual { stream: 3, offset, len });
        }
        assert_eq!(digest.finish(), Digest::of_virtual(3, 10_007));
        assert_ne!(digest.finish(), Digest::of_virtual(4, 10_007));
    }
}
