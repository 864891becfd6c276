//! Which packets leave twice. Voice, games, pings and DNS send short packets one by one, and a lost one costs them a round trip of the hop:
//! on a link that loses 5 % each way that is the 95th percentile of what users wait. A copy of a short packet costs
//! little, and both are lost seldom, if they are some time apart.

use super::flows;
use crate::egress::Allowance;
use airtcp_core::{Duration, Instant, Packet};

/// Copies take at most one part in so many of the link's time, and so much of it in a row.
const PARTS: u64 = 50;
const AT_ONCE: Duration = Duration::from_millis(1);
/// No two begin within this time: more is no flow of packets one by one. Voice sends one each 20 ms.
const APART: Duration = Duration::from_millis(4);
/// Longer packets are not copied, in bytes: voice of 64 kbit/s each 20 ms (G.711) has 200.
const LONGEST: u32 = 256;

/// See the module.
#[derive(Debug)]
pub(super) struct Twice {
    is_on: bool,
    allowance: Allowance,
    next: Instant,
}

impl Twice {
    /// Nothing leaves twice if off.
    pub fn new(is_on: bool) -> Twice {
        Twice { is_on, allowance: Allowance::new(PARTS), next: Instant::ZERO }
    }

    /// Copies from now on as `next` would.
    pub fn adopt(&mut self, next: &Twice) {
        self.is_on = next.is_on;
    }

    /// True if the packet leaves twice, which takes the link `time` once more.
    pub fn take(&mut self, now: Instant, packet: &Packet, time: Duration) -> bool {
        let is_one = self.is_on && packet.wire_len() <= LONGEST && flows::is_alone(packet) && self.next <= now;
        let is_taken = is_one && self.allowance.take(now, time, AT_ONCE);
        if is_taken {
            self.next = now + APART;
        }
        is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::{ack, data, opaque};

    fn voice(bytes: usize) -> Packet {
        let mut packet = opaque(bytes);
        packet.set_traffic_class(46 << 2);
        packet
    }

    #[test]
    fn short_packets_that_come_one_by_one_leave_twice_and_take_little() {
        let (ms, at) =
            (Duration::from_millis, |time: u64| Instant::from_nanos(1_000_000_000) + Duration::from_millis(time));
        let copied = |packet: Packet| Twice::new(true).take(at(0), &packet, Duration::ZERO);
        assert_eq!([opaque(100), voice(200)].map(copied), [true; 2]);
        assert_eq!([opaque(200), voice(300), ack(), data(0)].map(copied), [false; 4]);
        assert!(!Twice::new(false).take(at(0), &opaque(100), Duration::ZERO));
        let mut twice = Twice::new(true);
        let count = |twice: &mut Twice, every: u64, time: Duration| {
            (0..1000).filter(|n| twice.take(at(n * every), &opaque(100), time)).count()
        };
        assert_eq!(count(&mut twice, 20, Duration::from_micros(100)), 1000, "voice");
        let mut twice = Twice::new(true);
        assert_eq!(count(&mut twice, 1, Duration::ZERO), 250, "a flow of many");
        let mut twice = Twice::new(true);
        assert!((39..=43).contains(&count(&mut twice, 20, ms(10))), "2 % of 20 s, a slow link");
    }
}
