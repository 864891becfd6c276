//! The receive window (RFC 9293 section 3.8.6): how much may come, and avoidance of silly windows.
//!
//! The right edge never moves back. It moves forward only by a full segment or half the buffer, so
//! a slow reader does not cause small segments.

/// Widest unscaled window.
const MAX_FIELD: u64 = 0xffff;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindow {
    buffer: u64,
    shift: u8,
    edge: u64,
}

impl ReceiveWindow {
    /// A window for `buffer` bytes.
    pub fn new(buffer: u64) -> Self {
        ReceiveWindow { buffer: buffer.max(1), shift: 0, edge: 0 }
    }

    /// Bytes the buffer holds.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// One past the highest offset the peer was allowed to send.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// The shift count to offer: the smallest that can express the buffer (RFC 7323 section 2.2).
    pub fn wanted_shift(&self) -> u8 {
        (0..14).find(|shift| self.buffer >> shift <= MAX_FIELD).unwrap_or(14)
    }

    /// The shift count both sides agreed to.
    pub fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    /// The window field for a segment that acknowledges `nxt`; moves the edge.
    pub fn announce(&mut self, nxt: u64, free: u64, mss: u32) -> u16 {
        let target = nxt + free;
        let step = u64::from(mss).min(self.buffer / 2).max(1);
        let edge = if target >= self.edge + step { target } else { self.edge };
        let field = (edge.saturating_sub(nxt) >> self.shift).min(MAX_FIELD);
        self.edge = self.edge.max(nxt + (field << self.shift));
        field as u16
    }

    /// The unscaled window of a SYN.
    pub fn announce_on_syn(&mut self) -> u16 {
        let field = self.buffer.min(MAX_FIELD);
        self.edge = self.edge.max(1 + field);
        field as u16
    }

    /// True if the window has grown enough since it was announced to tell the peer: to twice what the peer may still
    /// send (Linux), and by a segment or half the buffer.
    pub fn deserves_update(&self, nxt: u64, free: u64, mss: u32) -> bool {
        let usable = self.edge.saturating_sub(nxt);
        // More than the field can say cannot be told.
        let free = free.min(MAX_FIELD << self.shift);
        free >= 2 * usable && free - usable >= u64::from(mss).min(self.buffer / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_is_the_smallest_that_expresses_the_buffer() {
        for (buffer, shift) in [(1, 0), (65_535, 0), (65_536, 1), (6 << 20, 7), (u64::MAX, 14)] {
            assert_eq!(ReceiveWindow::new(buffer).wanted_shift(), shift, "{buffer}");
        }
    }

    #[test]
    fn the_edge_does_not_move_by_less_than_a_segment() {
        let mut window = ReceiveWindow::new(10_000);
        assert_eq!(window.announce(1, 10_000, 1000), 10_000);
        // 5000 bytes arrived, 500 of them were read: the edge stays.
        assert_eq!(window.announce(5001, 5500, 1000), 5000);
        assert_eq!(window.announce(5001, 6000, 1000), 6000);
    }

    #[test]
    fn what_the_field_cannot_say_is_no_news() {
        let mut window = ReceiveWindow::new(1 << 20);
        window.announce(1, 1 << 20, 1000);
        assert!(!window.deserves_update(30_001, 1 << 20, 1000));
        assert!(window.deserves_update(40_001, 1 << 20, 1000));
    }

    #[test]
    fn an_update_waits_for_a_segment_of_room() {
        let mut window = ReceiveWindow::new(10_000);
        window.announce(1, 10_000, 1000);
        assert!(!window.deserves_update(10_001, 999, 1000));
        assert!(window.deserves_update(10_001, 1000, 1000));
    }
}
