//! The clocks that live code reads.

use airtcp_core::{Duration, Instant};
use nix::time::ClockId;

/// CLOCK_MONOTONIC: the time that live elements see.
pub fn now() -> Instant {
    Instant::from_nanos(read(ClockId::CLOCK_MONOTONIC))
}

/// The time namespace of this process, as containers have one: its CLOCK_MONOTONIC may be another than the kernel's own
/// (time_namespaces(7)), which programs in the kernel read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeNamespace {
    ahead_ns: i64,
}

impl TimeNamespace {
    /// Asks the kernel. One that knows no such namespaces has one clock.
    pub fn of_this_process() -> TimeNamespace {
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        TimeNamespace::parse(&offsets).unwrap_or(TimeNamespace { ahead_ns: 0 })
    }

    fn parse(offsets: &str) -> Option<TimeNamespace> {
        let mut words = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?.split_whitespace();
        let [seconds, nanos] = [(); 2].map(|()| words.next()?.parse::<i64>().ok());
        Some(TimeNamespace { ahead_ns: seconds?.checked_mul(1_000_000_000)?.checked_add(nanos?)? })
    }

    /// The same instant on the kernel's clock.
    pub fn on_the_kernels_clock(self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_add_signed(self.ahead_ns.saturating_neg()))
    }
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
    fn instants_of_a_namespace_that_is_ahead_or_behind_are_found_on_the_kernels_clock() {
        let ahead = TimeNamespace::parse("monotonic   315576000    500000000\nboottime 7 0\n").unwrap();
        assert_eq!(ahead.on_the_kernels_clock(Instant::from_nanos(315_576_001_500_000_000)).as_nanos(), 1_000_000_000);
        let behind = TimeNamespace::parse("monotonic -5 0\n").unwrap();
        assert_eq!(behind.on_the_kernels_clock(Instant::from_nanos(1)).as_nanos(), 5_000_000_001);
        assert_eq!(TimeNamespace::parse("boottime 1 0\n"), None);
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
