//! The two clocks that live code reads.

use airtcp_core::Instant;
use nix::time::ClockId;

/// CLOCK_MONOTONIC: the time that live elements see.
pub fn now() -> Instant {
    Instant::from_nanos(read(ClockId::CLOCK_MONOTONIC))
}

/// CLOCK_REALTIME in nanoseconds since 1970; used only as an epoch, to distinguish one start of a process from another.
pub fn wall_clock_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> u64 {
    let time = clock.now().expect("CLOCK_MONOTONIC and CLOCK_REALTIME are always readable");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let first = now();
        assert!(now() >= first);
    }
}
