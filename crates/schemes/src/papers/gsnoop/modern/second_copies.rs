//! Knows the second copy of a packet that A sent in idle time, by its bytes of the stream and its timestamp.

use crate::position::Position;
use airtcp_core::Packet;
use core::ops::Range;

/// A redundant copy follows its original closely.
const LATEST: usize = 32;

/// Start, length and timestamp of the latest packets of a flow.
#[derive(Debug)]
pub(super) struct SecondCopies {
    latest: [(Position, u32, u32); LATEST],
    at: u8,
}

impl Default for SecondCopies {
    fn default() -> Self {
        SecondCopies { latest: [(0, 0, 0); LATEST], at: 0 }
    }
}

impl SecondCopies {
    /// The same bytes with the same timestamp came just before: A sent them twice.
    pub fn is_second(&mut self, packet: &Packet, range: &Range<Position>) -> bool {
        let Some(timestamps) = packet.tcp().and_then(|tcp| tcp.options.timestamps) else { return false };
        // A sender may send the same bytes again with more behind them, within one tick of its clock.
        let identity = (range.start, (range.end - range.start) as u32, timestamps.value);
        if self.latest.contains(&identity) {
            return true;
        }
        self.latest[usize::from(self.at) % LATEST] = identity;
        self.at = self.at.wrapping_add(1);
        false
    }
}
