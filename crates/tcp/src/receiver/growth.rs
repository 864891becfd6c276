//! A receive window that grows with what arrives (Linux `rcv_ssthresh`, `tcp_grow_window()`): it starts at 64 KiB, and
//! each segment with data lets it grow by two full ones, up to what the buffer holds.
//!
//! Linux grows less where a segment takes much more memory than it has data. Memory is not counted here: only tiny
//! segments do not count.

/// The widest window of the start: what a SYN can say (Linux `tcp_select_initial_window()`).
const START: u64 = 0xffff;
/// Shorter segments do not let it grow.
const LEAST: u32 = 128;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// The widest window to offer now.
    limit: u64,
}

impl Growth {
    /// The window of the start for a buffer that is thought to hold so many bytes: whole segments, if it holds one.
    pub fn new(buffer: u64, mss: u16) -> Self {
        let mss = u64::from(mss.max(1));
        let whole = if buffer > mss { buffer - buffer % mss } else { buffer };
        Growth { limit: whole.min(START) }
    }

    /// The widest window to offer now.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// A segment of `len` bytes arrived and `free` bytes of the buffer are left. True if the window may grow.
    pub fn on_segment(&mut self, len: u32, mss: u32, free: u64) -> bool {
        let room = free.saturating_sub(self.limit);
        if room == 0 || len < LEAST {
            return false;
        }
        self.limit += room.min(2 * u64::from(mss.max(len)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_by_two_segments_with_each_up_to_what_is_free() {
        let mut growth = Growth::new(1 << 20, 1448);
        assert_eq!(growth.limit(), 65_535);
        assert!(growth.on_segment(1000, 1448, 1 << 20));
        assert_eq!(growth.limit(), 65_535 + 2896);
        assert!(growth.on_segment(1448, 1448, 70_000));
        assert_eq!(growth.limit(), 70_000);
        assert!(!growth.on_segment(1448, 1448, 70_000));
        assert!(!growth.on_segment(127, 1448, 1 << 20));
        assert_eq!([10_000, 1 << 16, 1000].map(|buffer| Growth::new(buffer, 1460).limit()), [8760, 64_240, 1000]);
    }
}
