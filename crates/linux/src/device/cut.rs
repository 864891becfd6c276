//! A super-frame cut into the segments that the link would carry, each a whole datagram with its own checksums.

use super::layout::{CWR, FIN, Layout, PSH};
use super::offload::Offload;
use bytes::Bytes;

/// A super-frame that is being cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    layout: Layout,
    segment: usize,
    /// Bytes of payload that were cut off.
    done: usize,
    segments: u16,
}

impl Cut {
    /// `None` if `frame` is no TCP super-frame, or one with headers that are not known.
    pub fn new(offload: Offload, frame: &[u8]) -> Option<Cut> {
        let segment = offload.tcp_segment()?;
        let layout = Layout::of(frame)?;
        (frame.len() > layout.payload_at).then_some(Cut { layout, segment, done: 0, segments: 0 })
    }

    /// The next segment of `frame`; `None` after the last.
    pub fn next(&mut self, frame: &[u8]) -> Option<Bytes> {
        let Layout { tcp_at, payload_at, .. } = self.layout;
        let payload = frame.get(payload_at + self.done..).filter(|rest| !rest.is_empty())?;
        let length = payload.len().min(self.segment);
        let (is_first, is_last) = (self.done == 0, payload.len() == length);
        let mut segment = Vec::with_capacity(payload_at + length);
        segment.extend_from_slice(&frame[..payload_at]);
        segment.extend_from_slice(&payload[..length]);

        let tcp = &mut segment[tcp_at..];
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(self.done as u32);
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        // What a segment says of its end belongs to the last, what says that the window was reduced to the first.
        tcp[13] &= !(if is_last { 0 } else { FIN | PSH } | if is_first { 0 } else { CWR });
        self.layout.set_identification(&mut segment, self.segments);
        self.layout.finish(&mut segment);
        self.done += length;
        self.segments = self.segments.wrapping_add(1);
        Some(segment.into())
    }

    /// True after the last segment.
    pub fn is_over(&self, frame: &[u8]) -> bool {
        self.layout.payload_at + self.done >= frame.len()
    }
}
