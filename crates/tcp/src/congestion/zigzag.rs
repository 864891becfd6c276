//! ZigZag (Cen, Cosman & Voelker, IEEE/ACM ToN 11(5), 2003; SPEC R-23), what NewZag is made from: the same rules on the
//! one-way trip instead of the round trip.
//!
//! The trip is the receiver's timestamp minus our own that it echoes (RFC 7323), in milliseconds. Between two clocks
//! this is the trip plus a constant. The rules only compare trips, so the first one may count as half a round trip;
//! clocks that drift apart would spoil it (NZG-5), and the simulator's do not. Only an acknowledgment that advances gives
//! a sample: a duplicate echoes an old stamp.
//! The decrease is NewZag's, so that the two differ in what they measure and in nothing else.

use super::newzag::{LossDiscriminator, Settings, Trip};
use super::{AckSample, TcpSock};
use airtcp_core::SeqNum;

/// See the module.
pub type Zigzag = LossDiscriminator<OneWayTrip>;

/// A controller with `settings`. The setting `clock` is not used, because timestamps have a clock of their own. The
/// backlog is not used either, because a one-way trip time is no round trip.
pub fn zigzag(settings: Settings) -> Zigzag {
    LossDiscriminator::new(Settings { max_backlog: 0, ..settings })
}

/// The one-way trip, from the receiver's timestamps.
#[derive(Clone, Debug, Default)]
pub struct OneWayTrip {
    snd_una: SeqNum,
    first: Option<FirstTrip>,
}

/// What trips are compared with.
#[derive(Clone, Copy, Debug)]
struct FirstTrip {
    /// Difference of the two clocks, milliseconds.
    clocks: u32,
    /// What it counts as, microseconds.
    trip_us: i64,
}

impl Trip for OneWayTrip {
    fn init(&mut self, sk: &TcpSock) {
        self.snd_una = sk.snd_una;
    }

    fn sample(&mut self, _settings: &Settings, sk: &TcpSock, _ack: &AckSample) -> Option<u64> {
        let has_advanced = core::mem::replace(&mut self.snd_una, sk.snd_una) != sk.snd_una;
        if !has_advanced || !sk.rx_opt.saw_tstamp {
            return None;
        }
        let clocks = sk.rx_opt.rcv_tsval.wrapping_sub(sk.rx_opt.rcv_tsecr);
        // srtt_us is eight round trips.
        let first = *self.first.get_or_insert(FirstTrip { clocks, trip_us: i64::from(sk.srtt_us >> 4) });
        let longer_ms = i64::from(clocks.wrapping_sub(first.clocks) as i32);
        Some((first.trip_us + longer_ms * 1_000).max(1).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Controller;
    use airtcp_core::Rng;

    /// The threshold for a window of 50 after trips of `trips_ms` between clocks that are `apart` milliseconds apart.
    fn threshold(apart: u32, trips_ms: &[u32], rtt_us: i64) -> u32 {
        let mut sk = TcpSock::new(Rng::derive(1, "zigzag"));
        (sk.snd_cwnd, sk.srtt_us, sk.lost_out, sk.rx_opt.saw_tstamp) = (50, 100_000 << 3, 1, true);
        let mut zigzag = Zigzag::default();
        zigzag.init(&mut sk);
        for (sent, trip) in trips_ms.iter().enumerate() {
            sk.snd_una += 1000;
            sk.rx_opt.rcv_tsecr = sent as u32;
            sk.rx_opt.rcv_tsval = (sent as u32).wrapping_add(*trip).wrapping_add(apart);
            zigzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us, in_flight: 50 });
        }
        // Duplicates echo an old stamp: no sample.
        sk.rx_opt.rcv_tsval = sk.rx_opt.rcv_tsval.wrapping_add(40);
        zigzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us, in_flight: 50 });
        zigzag.ssthresh(&mut sk)
    }

    #[test]
    fn the_one_way_trip_decides_and_not_how_far_clocks_are_apart() {
        let (short, long) = ([50, 70, 50, 70, 52], [50, 70, 50, 70, 68]);
        for apart in [0, 1_000_000, u32::MAX - 55, u32::MAX / 2] {
            for rtt_us in [1, 1_000_000] {
                assert_eq!(threshold(apart, &short, rtt_us), 40, "{apart}");
                assert_eq!(threshold(apart, &long, rtt_us), 25, "{apart}");
            }
        }
    }

    #[test]
    fn without_timestamps_every_loss_is_congestion() {
        let mut sk = TcpSock::new(Rng::derive(1, "zigzag"));
        (sk.snd_cwnd, sk.lost_out) = (50, 1);
        let mut zigzag = Zigzag::default();
        for _ in 0..10 {
            sk.snd_una += 1000;
            zigzag.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: 1000, in_flight: 50 });
        }
        assert_eq!(zigzag.ssthresh(&mut sk), 25);
    }
}
