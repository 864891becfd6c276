//! Idle Sense: a contention window that fits the number of stations (Heusse, Rousseau, Guillier & Duda, SIGCOMM 2005).
//!
//! Nobody doubles its window after a collision. Everybody counts the idle slots between uses of the medium: fewer than is
//! best mean that too many contend, so the window grows by a factor; more let it shrink a little. All stations of a
//! cell hear the same medium, begin alike and so agree, hence the cell keeps one window for all of them.

use airtcp_core::Duration;

/// Factor by which the window grows (1 / alpha).
const GROWTH: f64 = 1.0666;
/// What is added to the share of slots in which a station sends, 2 / window (epsilon).
const STEP: f64 = 0.001;
/// Uses of the medium that are averaged at least.
const USES: u32 = 5;
/// So close to the target (beta) the window is left alone for longer:
const CLOSE: f64 = 0.75;
/// a window's share (1 / gamma) of uses.
const CALM: f64 = 4.0;
/// Bounds of the window.
const WINDOW: std::ops::RangeInclusive<f64> = 2.0..=65_535.0;

/// What all stations of a cell know of the medium.
#[derive(Clone, Debug)]
pub struct IdleSense {
    target: f64,
    window: f64,
    idle: u64,
    uses: u32,
    wanted: u32,
}

impl IdleSense {
    /// For a medium whose collisions take so long; the window to begin with.
    pub fn new(slot: Duration, collision: Duration, window: u32) -> Self {
        let target = target(slot.as_nanos() as f64 / collision.as_nanos() as f64);
        IdleSense { target, window: f64::from(window), idle: 0, uses: 0, wanted: USES }
    }

    /// The medium was used after so many idle slots. Returns a new window if it is time for one.
    pub fn hear(&mut self, idle: u64) -> Option<u32> {
        self.idle += idle;
        self.uses += 1;
        if self.uses < self.wanted {
            return None;
        }
        let mean = self.idle as f64 / f64::from(self.uses);
        let window =
            if mean < self.target { self.window * GROWTH } else { 2.0 * self.window / (2.0 + STEP * self.window) };
        self.window = window.clamp(*WINDOW.start(), *WINDOW.end());
        self.wanted = if (mean - self.target).abs() < CLOSE { USES.max((self.window / CALM) as u32) } else { USES };
        (self.idle, self.uses) = (0, 0);
        Some(self.window as u32)
    }
}

/// The number of idle slots between uses of the medium that is best for many stations, when a collision takes
/// 1 / `slot` slots: with `z` transmissions in a slot, 1 - z = (1 - slot) exp(-z).
fn target(slot: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let z = (low + high) / 2.0;
        if 1.0 - z > (1.0 - slot) * nobody(z) { low = z } else { high = z }
    }
    let idle = nobody(low);
    idle / (1.0 - idle)
}

/// The share of slots in which none of 2^20 stations sends, if `z` do in the mean: exp(-z) by operations whose results
/// are the same everywhere.
fn nobody(z: f64) -> f64 {
    (0..20).fold(1.0 - z / f64::from(1 << 20), |share, _| share * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ast_18_the_target_is_that_of_the_paper() {
        // Their table for 802.11b: collisions of 68.17 slots, 5.68 idle slots.
        assert!((target(1.0 / 68.17) - 5.68).abs() < 0.05, "{}", target(1.0 / 68.17));
        assert!(target(1.0 / 20.0) < target(1.0 / 68.17), "short collisions are cheap");
    }

    #[test]
    fn ast_18_the_window_follows_what_is_heard() {
        let micros = Duration::from_micros;
        let mut sense = IdleSense::new(micros(20), micros(1363), 31);
        let after = |sense: &mut IdleSense, idle: u64| (0..500).filter_map(|_| sense.hear(idle)).last().unwrap();
        let crowded = after(&mut sense, 1);
        assert!(crowded > 1000, "{crowded}");
        let lonely = after(&mut sense, 30);
        assert!(lonely < crowded / 4, "{lonely}");
        (0..100_000).for_each(|_| _ = sense.hear(0));
        assert_eq!(sense.window, *WINDOW.end());
    }
}
