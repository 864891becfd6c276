//! The clocks that live code reads.

use airtcp_core::{Duration, Instant};
use nix::time::ClockId;

/// CLOCK_MONOTONIC: the time that live elements see.
pub fn now() -> Instant {
    Instant::from_nanos(read(ClockId::CLOCK_MONOTONIC))
}

/// CLOCK_REALTIME in nanoseconds since 1970; used only as an epoch, to distinguish one start of a process from another.
pub fn wall_clock_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// The tick of the kernel's clock: a jiffy.
pub fn tick() -> Duration {
    let resolution = ClockId::CLOCK_MONOTONIC_COARSE.res().expect("this clock always has one");
    Duration::from_nanos(resolution.tv_sec() as u64 * 1_000_000_000 + resolution.tv_nsec() as u64)
}

/// Processor time that the calling thread has used since it began, the kernel's work for it included.
pub fn used_by_thread() -> Duration {
    Duration::from_nanos(read(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

fn read(clock: ClockId) -> u64 {
    let time = clock.now().expect("these clocks are always readable");
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

    #[test]
    fn a_tick_is_one_to_ten_milliseconds() {
        assert!((1..=10).contains(&tick().as_millis()), "{}", tick());
    }

    #[test]
    fn a_thread_that_works_uses_its_processor() {
        let first = used_by_thread();
        assert!((0..1_000_000).any(|_| used_by_thread() > first));
    }
}
