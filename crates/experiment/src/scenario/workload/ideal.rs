//! What a request takes alone on an idle path that loses nothing: what slowdown is relative to.
//!
//! Two round trips pass until the first byte of an answer is there: the handshake, and asking. From then on the answer
//! comes at the rate of the narrowest link, headers included, but for the pauses of slow start: the server sends its
//! initial window and doubles it each round trip, until a window lasts longer than that (Kurose and Ross, Computer
//! Networking, "TCP delay modeling"). Processing takes no time. A controller that leaves slow start early, or paces, is
//! slower than this on an idle path, too.

use super::super::topology::{Paths, Step};
use super::super::{Hop, ResolvedScenario, WorkloadSpec};
use airtcp_core::Duration;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ideal {
    /// Delays of all links there and back.
    round_trip: Duration,
    /// That of the narrowest link towards the client; none where nothing limits it.
    rate_bps: Option<u64>,
    payload: u64,
    header: u64,
    initial_window: u64,
}

impl Ideal {
    /// That of a workload; `None` over a cell, over links whose rate varies, and where nothing takes any time.
    pub fn of(scenario: &ResolvedScenario, workload: &WorkloadSpec) -> Option<Ideal> {
        let paths = Paths::new(scenario.nodes.len(), &scenario.links, &scenario.wlans);
        let hops =
            paths.between(workload.from, workload.to)?.into_iter().map(Step::link).collect::<Option<Vec<_>>>()?;
        let settings = || hops.iter().map(|hop| hop.settings(scenario));
        if settings().any(|link| link.rate.is_varying()) {
            return None;
        }
        let both = |hop: &Hop| hop.settings(scenario).delay.nominal() + hop.back().settings(scenario).delay.nominal();
        let round_trip = hops.iter().map(both).fold(Duration::ZERO, |sum, delay| sum + delay);
        let rate_bps = settings().filter_map(|link| link.rate.constant()).map(|rate| rate.bps().max(1)).min();
        if round_trip.is_zero() && rate_bps.is_none() {
            return None;
        }
        let sizes = workload.sizes_of_packets();
        Some(Ideal {
            round_trip,
            rate_bps,
            payload: u64::from(sizes.payload),
            header: u64::from(sizes.header),
            initial_window: u64::from(workload.config.initial_window.max(1)),
        })
    }

    /// The time that an answer of `size` bytes takes, from the request's beginning to its last byte.
    pub fn time(&self, size: u64) -> Duration {
        let segments = size.div_ceil(self.payload);
        let sending = |bytes: u64| {
            let nanos = self.rate_bps.map_or(0, |bps| u128::from(bytes) * 8_000_000_000 / u128::from(bps));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let mut time = self.round_trip * 2 + sending(size.saturating_add(segments * self.header));
        let full = sending(self.payload + self.header);
        let (mut window, mut sent) = (self.initial_window, self.initial_window);
        while sent < segments {
            let pause = (full + self.round_trip).saturating_sub(full.saturating_mul(window));
            if pause.is_zero() {
                break;
            }
            time += pause;
            window *= 2;
            sent += window;
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_pauses_until_a_window_lasts_a_round_trip() {
        // 1500 bytes take 1 ms, a round trip 50 ms.
        let ideal = Ideal {
            round_trip: Duration::from_millis(50),
            rate_bps: Some(12_000_000),
            payload: 1448,
            header: 52,
            initial_window: 10,
        };
        let ms = |size: u64| ideal.time(size).as_nanos() as f64 / 1e6;
        assert!((ms(10 * 1448) - 110.0).abs() < 0.01, "two round trips and ten packets");
        // After 10 packets 41 ms pass, after 20 more 31 ms, after 40 more 11 ms; then the link is busy.
        assert!((ms(11 * 1448) - (111.0 + 41.0)).abs() < 0.01, "{}", ms(11 * 1448));
        assert!((ms(31 * 1448) - (131.0 + 72.0)).abs() < 0.01);
        assert!((ms(71 * 1448) - (171.0 + 83.0)).abs() < 0.01);
        assert!((ms(1000 * 1448) - (1100.0 + 83.0)).abs() < 0.01);
    }
}
