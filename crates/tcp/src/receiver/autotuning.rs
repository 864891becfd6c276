//! A receive buffer that follows what the application reads in a round trip (dynamic right-sizing, Fisk and Feng 2001;
//! Linux `tcp_rcv_space_adjust()`, `tcp_rcvbuf_grow()`): twice as much, and more while that grows, so that the window
//! never limits a sender in slow start.

use airtcp_core::{Duration, Instant};

/// Memory of the start (Linux's middle value of `tcp_rmem`).
const MEMORY: u64 = 128 << 10;
/// Memory that a segment takes which fills a packet of Ethernet (Linux `truesize`).
const SEGMENT_MEMORY: u64 = 2304;
/// Longer segments take more, in proportion.
const LONGEST: u64 = 1460;
/// Bytes that are thought to fit the memory of the start before the first segment is here: half of it.
pub const START: u64 = MEMORY / 2;
/// So many segments are expected in the first round trip (Linux `TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Autotuning {
    /// Bytes the buffer may reach.
    most: u64,
    /// Bytes of the longest segment so far.
    segment: u32,
    /// Most bytes read in a round trip so far.
    space: u64,
    /// The measurement that runs: what had been read when it began.
    began: Option<(u64, Instant)>,
}

impl Autotuning {
    /// Nothing measured; the buffer reaches `most` bytes.
    pub fn new(most: u64) -> Self {
        Autotuning { most, segment: 0, space: 0, began: None }
    }

    /// A segment of `len` bytes arrived. Returns the bytes that the buffer shall have if it is the longest so far and
    /// nothing has been measured: what fits the memory of the start in such segments (Linux `scaling_ratio`).
    pub fn on_segment(&mut self, len: u32) -> Option<u64> {
        if len <= self.segment || self.space > 0 {
            return None;
        }
        self.segment = len;
        let share = u64::from(len).min(LONGEST) * 256 / SEGMENT_MEMORY;
        Some((MEMORY / 256 * share).clamp(1, self.most))
    }

    /// Above a hole lie `held` bytes from the first missing one to the last that is here. Returns the bytes that the
    /// buffer shall have.
    pub fn on_held(&self, held: u64, mss: u32) -> u64 {
        (2 * self.space(mss)).saturating_add(held).min(self.most)
    }

    /// Most bytes read in a round trip so far, or what is expected in the first one.
    fn space(&self, mss: u32) -> u64 {
        self.space.max(FIRST_SEGMENTS * u64::from(mss)).max(1)
    }

    /// Everything below `read` is read. Above a hole lie `held` bytes from the first missing one to the last that is here.
    /// Returns the bytes that the buffer shall have, if a round trip is over and more was read in it than before.
    pub fn on_read(&mut self, now: Instant, read: u64, held: u64, mss: u32, round_trip: Duration) -> Option<u64> {
        let (from, began_at) = *self.began.get_or_insert((read, now));
        if round_trip.is_zero() || now.saturating_since(began_at) < round_trip {
            return None;
        }
        self.began = Some((read, now));
        let before = self.space(mss);
        let copied = read - from;
        if copied <= before {
            return None;
        }
        self.space = copied;
        let window = 2 * copied;
        let growth = u128::from(window) * u128::from(copied - before) / u128::from(before);
        let growth = u64::try_from(2 * growth).unwrap_or(u64::MAX);
        Some(window.saturating_add(growth).saturating_add(held).min(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        let (mut tuning, round_trip) = (Autotuning::new(1 << 20), Duration::from_millis(100));
        let mut read = |ms: u64, to: u64, held: u64| {
            tuning.on_read(Instant::ZERO + Duration::from_millis(ms), to, held, 1000, round_trip)
        };
        assert_eq!(read(0, 0, 0), None);
        assert_eq!(read(99, 20_000, 0), None);
        // Twice 20,000, and as the rate has doubled, two more of that.
        assert_eq!(read(100, 20_000, 0), Some(40_000 + 80_000));
        assert_eq!(read(200, 40_000, 0), None);
        assert_eq!(read(300, 62_000, 500), Some(44_000 + 2 * 4_400 + 500));
        assert_eq!(read(400, 1 << 20, 0), Some(1 << 20));
    }

    #[test]
    fn the_memory_of_the_start_holds_less_of_short_segments() {
        let mut tuning = Autotuning::new(1 << 20);
        let fits = [1000, 900, 1448, 9000, 9000].map(|len| tuning.on_segment(len));
        assert_eq!(fits, [Some(512 * 111), None, Some(512 * 160), Some(512 * 162), None]);
    }

    #[test]
    fn nothing_is_tuned_before_the_round_trip_is_known() {
        let mut tuning = Autotuning::new(1 << 20);
        let mut read =
            |ms: u64, to: u64| tuning.on_read(Instant::ZERO + Duration::from_millis(ms), to, 0, 1000, Duration::ZERO);
        assert_eq!((read(0, 0), read(1000, 1 << 19)), (None, None));
    }
}
