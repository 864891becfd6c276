//! What an application sends and reads: a virtual stream, whose bytes are a function of their
//! position, or real bytes.

use alloc::collections::VecDeque;
use bytes::{Bytes, BytesMut};

/// What a connection's application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The virtual stream of this name, from its beginning.
    Virtual {
        /// Names the stream.
        id: u64,
    },
    /// Real bytes.
    Bytes,
    /// Whatever the first chunk written is: for a proxy that does not know yet.
    Relayed,
}

/// A stretch of a stream, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// `len` bytes from `offset` of the virtual stream `stream`.
    Virtual {
        /// Names the stream.
        stream: u64,
        /// Position of the first byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// Real bytes.
    Bytes(Bytes),
}

impl Chunk {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Chunk::Virtual { len, .. } => *len,
            Chunk::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// True without bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Payload of one segment.
#[derive(Clone, Debug)]
pub enum SegmentPayload {
    /// From a virtual stream.
    Virtual {
        /// Names the stream.
        stream: u64,
        /// Position of the first byte.
        offset: u64,
    },
    /// Real bytes.
    Bytes(Bytes),
}

/// Memory that a piece of real bytes takes in a buffer besides the bytes themselves.
pub(crate) const PIECE_MEMORY: u64 = 128;

/// So many pieces may lie in a buffer for `limit` bytes, which add a quarter to it or 8 KiB: tiny segments must not take
/// a multiple of its memory.
pub(crate) fn most_pieces(limit: u64) -> u64 {
    (limit / 4).max(8 << 10) / PIECE_MEMORY
}

/// A piece to store: a short one leaves the packet it came in, which is longer.
pub(crate) fn to_store(bytes: Bytes) -> Bytes {
    if (bytes.len() as u64) < 2 * PIECE_MEMORY { Bytes::copy_from_slice(&bytes) } else { bytes }
}

/// More than any run can send, and far from overflow when headers' flags are added.
const ENDLESS: u64 = 1 << 60;

/// What was written and not yet acknowledged. Positions count from the first byte of data.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SendBuffer {
    /// Bytes accepted from the application.
    pub written: u64,
    /// Bytes the peer has acknowledged.
    acknowledged: u64,
    limit: u64,
    source: Stream,
    /// What the limit may grow to, if it follows the window.
    most: Option<u64>,
    /// Real bytes, each with its position.
    held: VecDeque<(u64, Bytes)>,
}

impl SendBuffer {
    /// An empty buffer; `limit` bytes may wait in it.
    pub fn new(source: Stream, limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(ENDLESS);
        SendBuffer { source, limit, most: None, written: 0, acknowledged: 0, held: VecDeque::new() }
    }

    /// From now on so many bytes may wait.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// The same, and the limit is `start` until it is widened.
    pub fn tuned(self, start: u64) -> Self {
        SendBuffer { limit: start.min(self.limit), most: Some(self.limit), ..self }
    }

    /// Whether the limit follows the window.
    pub fn is_tuned(&self) -> bool {
        self.most.is_some()
    }

    /// At least `limit` bytes may wait, if the limit follows the window and so many ever may.
    pub fn widen(&mut self, limit: u64) {
        self.limit = self.limit.max(limit.min(self.most.unwrap_or(0)));
    }

    /// Bytes that can be accepted now.
    pub fn room(&self) -> u64 {
        let room = self.limit.saturating_sub(self.written - self.acknowledged).min(ENDLESS - self.written);
        // As for most writes to a full buffer, and of virtual bytes, of which no pieces are held.
        if room == 0 || self.held.is_empty() {
            return room;
        }
        if self.held.len() as u64 >= most_pieces(self.limit) { 0 } else { room }
    }

    /// Bytes accepted and not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.written - self.acknowledged
    }

    /// Memory of what was accepted and is not acknowledged; virtual bytes count as if they were real.
    pub fn memory(&self) -> u64 {
        self.unacknowledged() + self.held.len() as u64 * PIECE_MEMORY
    }

    /// Accepts up to `len` bytes of the virtual stream; none if the source is real bytes.
    pub fn write_virtual(&mut self, len: u64) -> u64 {
        if !matches!(self.source, Stream::Virtual { .. }) {
            return 0;
        }
        let accepted = len.min(self.room());
        self.written += accepted;
        accepted
    }

    /// Accepts a prefix of `bytes`; none if the source is virtual.
    pub fn write(&mut self, bytes: &Bytes) -> usize {
        if self.source == Stream::Relayed {
            self.source = Stream::Bytes;
        }
        if self.source != Stream::Bytes {
            return 0;
        }
        let accepted = (bytes.len() as u64).min(self.room()) as usize;
        if accepted > 0 {
            self.held.push_back((self.written, to_store(bytes.slice(..accepted))));
            self.written += accepted as u64;
        }
        accepted
    }

    /// Accepts a prefix of what another connection read; the rest of the stream must follow it.
    pub fn write_chunk(&mut self, chunk: &Chunk) -> u64 {
        match chunk {
            Chunk::Bytes(bytes) => self.write(bytes) as u64,
            Chunk::Virtual { stream, offset, len } => {
                if self.source == Stream::Relayed {
                    self.source = Stream::Virtual { id: *stream };
                }
                if self.source != (Stream::Virtual { id: *stream }) || *offset != self.written {
                    return 0;
                }
                self.write_virtual(*len)
            }
        }
    }

    /// The peer has everything below `position`.
    #[inline]
    pub fn acknowledge(&mut self, position: u64) {
        self.acknowledged = self.acknowledged.max(position.min(self.written));
        if !self.held.is_empty() {
            self.forget_acknowledged();
        }
    }

    #[inline(never)]
    fn forget_acknowledged(&mut self) {
        while self.held.front().is_some_and(|(at, bytes)| at + bytes.len() as u64 <= self.acknowledged) {
            self.held.pop_front();
        }
    }

    /// `len` bytes from `position`, which were written and are not acknowledged.
    #[inline]
    pub fn payload(&self, position: u64, len: u32) -> SegmentPayload {
        match self.source {
            Stream::Virtual { id } => SegmentPayload::Virtual { stream: id, offset: position },
            Stream::Bytes | Stream::Relayed => SegmentPayload::Bytes(self.cut(position, len as usize)),
        }
    }

    /// What a segment without data carries: nothing, of the kind that segments with data carry.
    #[inline]
    pub fn no_payload(&self) -> SegmentPayload {
        match self.source {
            Stream::Virtual { id } => SegmentPayload::Virtual { stream: id, offset: 0 },
            Stream::Bytes | Stream::Relayed => SegmentPayload::Bytes(Bytes::new()),
        }
    }

    #[inline(never)]
    fn cut(&self, position: u64, len: usize) -> Bytes {
        let mut index = self.held.partition_point(|(at, bytes)| at + bytes.len() as u64 <= position);
        let Some((at, bytes)) = self.held.get(index) else { return Bytes::new() };
        let skip = (position - at) as usize;
        if bytes.len() - skip >= len {
            return bytes.slice(skip..skip + len);
        }
        let mut joined = BytesMut::with_capacity(len);
        joined.extend_from_slice(&bytes[skip..]);
        while joined.len() < len {
            index += 1;
            let Some((_, bytes)) = self.held.get(index) else { break };
            joined.extend_from_slice(&bytes[..bytes.len().min(len - joined.len())]);
        }
        joined.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_may_span_writes() {
        let mut buffer = SendBuffer::new(Stream::Bytes, None);
        for part in ["abc", "defg", "hi"] {
            buffer.write(&Bytes::from_static(part.as_bytes()));
        }
        assert_eq!(&buffer.cut(2, 6)[..], b"cdefgh");
        buffer.acknowledge(4);
        assert_eq!(&buffer.cut(4, 3)[..], b"efg");
    }

    #[test]
    fn no_more_is_accepted_than_may_wait() {
        let mut buffer = SendBuffer::new(Stream::Virtual { id: 1 }, Some(10));
        assert_eq!(buffer.write_virtual(u64::MAX), 10);
        assert_eq!(buffer.write_virtual(1), 0);
        buffer.acknowledge(4);
        assert_eq!(buffer.write_virtual(9), 4);
        assert_eq!(buffer.write(&Bytes::from_static(b"x")), 0);
    }

    #[test]
    fn tiny_writes_do_not_take_a_multiple_of_the_buffers_memory() {
        let mut buffer = SendBuffer::new(Stream::Bytes, Some(100_000));
        let taken: usize = (0..100_000).map(|_| buffer.write(&Bytes::from_static(b"x"))).sum();
        assert_eq!((taken as u64, buffer.room()), (most_pieces(100_000), 0));
        assert!(buffer.memory() <= 125_000);
        buffer.acknowledge(1);
        assert!(buffer.room() > 0);
    }

    #[test]
    fn a_relay_takes_the_kind_of_its_first_chunk_and_no_gap() {
        let mut buffer = SendBuffer::new(Stream::Relayed, None);
        assert_eq!(buffer.write_chunk(&Chunk::Virtual { stream: 7, offset: 0, len: 5 }), 5);
        assert_eq!(buffer.write_chunk(&Chunk::Virtual { stream: 7, offset: 6, len: 5 }), 0);
        assert_eq!(buffer.write_chunk(&Chunk::Virtual { stream: 8, offset: 5, len: 5 }), 0);
        assert_eq!(buffer.write_chunk(&Chunk::Virtual { stream: 7, offset: 5, len: 5 }), 5);
    }
}
