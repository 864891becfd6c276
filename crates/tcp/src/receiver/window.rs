//! The receive window (RFC 9293 section 3.8.6): how much may come, and avoidance of silly windows.
//!
//! The right edge never moves back. It moves forward only by a full segment or half the buffer, so
//! a slow reader does not cause small segments.
//!
//! As Linux, the window may start small and grow ([`Growth`]), and so may the buffer ([`Autotuning`]).

use super::autotuning::{self, Autotuning};
use super::growth::Growth;
use crate::config::Config;
use airtcp_core::{Duration, Instant};
use alloc::boxed::Box;

/// Widest unscaled window.
const MAX_FIELD: u64 = 0xffff;

/// See the module.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ReceiveWindow {
    edge: u64,
    buffer: u64,
    shift: u8,
    growth: Option<Growth>,
    tuning: Option<Box<Autotuning>>,
    /// The buffer never holds more.
    most: u64,
}

impl ReceiveWindow {
    /// A window for `buffer` bytes.
    pub fn new(buffer: u64) -> Self {
        let buffer = buffer.max(1);
        ReceiveWindow { buffer, most: buffer, shift: 0, edge: 0, growth: None, tuning: None }
    }

    /// The window that the configuration asks for; the peer sends segments of `mss` bytes at most.
    pub fn of(config: &Config, mss: u16) -> Self {
        let most = config.receive_buffer.0;
        let tuning = config.receive_autotuning.then(|| Box::new(Autotuning::new(most)));
        let window = ReceiveWindow::new(if tuning.is_some() { most.min(autotuning::START) } else { most });
        let growth = config.window_growth.then(|| Growth::new(window.buffer, mss));
        ReceiveWindow { most: most.max(1), growth, tuning, ..window }
    }

    /// From now on the buffer holds so much, and no more than it was made for. What was announced stays announced.
    pub fn set_buffer(&mut self, bytes: u64) {
        self.buffer = bytes.clamp(1, self.most);
    }

    /// True if neither window nor buffer ever grows by itself.
    pub fn is_constant(&self) -> bool {
        self.growth.is_none() && self.tuning.is_none()
    }

    /// A segment of `len` bytes arrived and `unread` bytes wait in the buffer. True if the window may grow for it.
    pub fn on_segment(&mut self, len: u32, mss: u32, unread: u64) -> bool {
        if let Some(bytes) = self.tuning.as_mut().and_then(|tuning| tuning.on_segment(len)) {
            self.buffer = bytes;
        }
        let free = self.buffer.saturating_sub(unread);
        self.growth.as_mut().is_some_and(|growth| growth.on_segment(len, mss, free))
    }

    /// Has the buffer follow what is read: everything below `read` is, and above a hole lie `held` bytes from the first
    /// missing one to the last that is here.
    pub fn tune(&mut self, now: Instant, read: u64, held: u64, mss: u32, round_trip: Duration) {
        let Some(tuning) = &mut self.tuning else { return };
        let wanted = tuning.on_read(now, read, held, mss, round_trip);
        let for_held = (held > 0).then(|| tuning.on_held(held, mss));
        self.buffer = self.buffer.max(wanted.max(for_held).unwrap_or(0));
    }

    /// What may be offered of `free` bytes of the buffer.
    fn offer(&self, free: u64) -> u64 {
        // Rounded up to what the field can say, so that nothing of it is lost.
        self.growth.as_ref().map_or(free, |growth| free.min(growth.limit()).next_multiple_of(1 << self.shift))
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
        (0..14).find(|shift| self.most >> shift <= MAX_FIELD).unwrap_or(14)
    }

    /// The shift count both sides agreed to.
    pub fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    /// The window field for a segment that acknowledges `nxt`; moves the edge.
    pub fn announce(&mut self, nxt: u64, free: u64, mss: u32) -> u16 {
        let target = nxt + self.offer(free);
        if target <= self.edge {
            // As in all that who only sends announces: the edge stays.
            return ((self.edge - nxt) >> self.shift).min(MAX_FIELD) as u16;
        }
        let step = u64::from(mss).min(self.buffer / 2).max(1);
        let edge = if target >= self.edge + step { target } else { self.edge };
        let field = (edge.saturating_sub(nxt) >> self.shift).min(MAX_FIELD);
        self.edge = self.edge.max(nxt + (field << self.shift));
        field as u16
    }

    /// The unscaled window of a SYN.
    pub fn announce_on_syn(&mut self) -> u16 {
        let field = self.growth.map_or(self.buffer, |growth| growth.limit()).min(MAX_FIELD);
        self.edge = self.edge.max(1 + field);
        field as u16
    }

    /// True if the window has grown enough since it was announced to tell the peer: to twice what the peer may still
    /// send (Linux), and by a segment or half the buffer.
    pub fn deserves_update(&self, nxt: u64, free: u64, mss: u32) -> bool {
        let usable = self.edge.saturating_sub(nxt);
        // More than the field can say cannot be told.
        let free = self.offer(free).min(MAX_FIELD << self.shift);
        free >= 2 * usable && free - usable >= u64::from(mss).min(self.buffer / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ByteSize;

    #[test]
    fn the_shift_is_the_smallest_that_expresses_the_buffer() {
        for (buffer, shift) in [(1, 0), (65_535, 0), (65_536, 1), (6 << 20, 7), (u64::MAX, 14)] {
            assert_eq!(ReceiveWindow::new(buffer).wanted_shift(), shift, "{buffer}");
        }
    }

    #[test]
    fn the_shift_is_that_of_the_largest_buffer_whatever_it_holds_now() {
        let mut window = ReceiveWindow::new(4 << 20);
        window.set_buffer(128 << 10);
        assert_eq!((window.buffer(), window.wanted_shift()), (128 << 10, 7));
        window.set_buffer(64 << 20);
        assert_eq!(window.buffer(), 4 << 20);
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
    fn a_window_that_grows_starts_at_64_kib_and_offers_two_segments_more_for_each() {
        let config = Config { window_growth: true, receive_buffer: ByteSize(1 << 20), ..Config::without_habits() };
        let mut window = ReceiveWindow::of(&config, 1000);
        assert_eq!((window.announce_on_syn(), window.wanted_shift()), (65_535, 5));
        window.set_shift(5);
        assert!(window.on_segment(1000, 1000, 0));
        // In whole steps of 32 bytes.
        assert_eq!(window.announce(1001, 1 << 20, 1000), 67_535_u32.div_ceil(32) as u16);
    }

    #[test]
    fn a_tuned_buffer_starts_at_64_kib_and_can_express_the_largest() {
        let config = Config { receive_autotuning: true, receive_buffer: ByteSize(1 << 20), ..Config::without_habits() };
        let mut window = ReceiveWindow::of(&config, 1000);
        assert_eq!((window.buffer(), window.wanted_shift()), (1 << 16, 5));
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        window.tune(ms(0), 0, 0, 1000, Duration::from_millis(10));
        window.tune(ms(10), 40_000, 0, 1000, Duration::from_millis(10));
        assert_eq!(window.buffer(), 80_000 + 2 * 240_000);
    }

    #[test]
    fn an_edge_that_stays_is_announced_as_any_other() {
        let mut window = ReceiveWindow::new(100_000);
        window.set_shift(3);
        let mut edge = 0;
        // What is free, behind what was acknowledged; the edge that follows, in steps of eight bytes.
        for (nxt, free, follows) in
            [(1, 99_999, 100_000), (1, 99_000, 100_000), (50_001, 49_999, 100_000), (90_001, 5, 100_000)]
        {
            let field = u64::from(window.announce(nxt, free, 1000));
            edge = edge.max(nxt + (field << 3));
            assert_eq!((window.edge(), field), (edge, (follows - nxt) >> 3), "{nxt}");
        }
        assert_eq!(window.announce(100_001, 0, 1000), 0);
        assert_eq!(window.edge(), 100_001, "it is never behind what was acknowledged");
    }

    #[test]
    fn an_update_waits_for_a_segment_of_room() {
        let mut window = ReceiveWindow::new(10_000);
        window.announce(1, 10_000, 1000);
        assert!(!window.deserves_update(10_001, 999, 1000));
        assert!(window.deserves_update(10_001, 1000, 1000));
    }
}
