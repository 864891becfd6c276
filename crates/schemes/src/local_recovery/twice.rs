//! Which packets leave twice. Voice, games, pings and DNS send short packets one by one, and a lost one costs them a round trip of the hop:
//! on a link that loses 5 % each way that is the 95th percentile of what users wait. A copy of a short packet costs
//! little, and both are lost seldom, if they are some time apart.

use super::flows::{self, Flows, PLACES};
use crate::egress::Allowance;
use crate::link_rate::ONE;
use airtcp_core::{Duration, Instant, Packet};
use alloc::boxed::Box;
use alloc::vec;

/// Copies take at most one part in so many of the link's time.
const PARTS: u64 = 50;
/// And at most one part in so many of the share that the link loses, once that is known: a copy is of use only if the packet is lost.
/// Swept: docs/local-recovery.md, "What was chosen".
const OF_LOSS: u64 = 2;
/// Of a link that loses less than one part in so many nothing leaves twice.
const LEAST_LOSS: u64 = 1000;
/// In a row they take at most so much of its time.
const AT_ONCE: Duration = Duration::from_millis(1);
/// Packets of a flow that come closer together do not come one by one: acknowledgments inside QUIC or a tunnel, of which the next
/// says what a lost one said. Voice sends one each 20 ms.
const APART_MS: u32 = 4;
/// Longer packets are not copied, in bytes: voice of 64 kbit/s each 20 ms (G.711) has 200.
const LONGEST: u32 = 256;
/// Memory of the table.
pub(super) const MEMORY: u64 = (PLACES * size_of::<u32>()) as u64;

/// See the module.
#[derive(Debug)]
pub(super) struct Twice {
    is_on: bool,
    allowance: Allowance,
    /// When the last such packet of a flow left, in ms, which may wrap.
    last: Box<[u32]>,
}

impl Twice {
    /// Nothing leaves twice if off.
    pub fn new(is_on: bool) -> Twice {
        Twice { is_on, allowance: Allowance::new(PARTS), last: vec![0; PLACES].into() }
    }

    /// Copies from now on as `next` would.
    pub fn adopt(&mut self, next: &Twice) {
        self.is_on = next.is_on;
    }

    /// True if the packet leaves twice, which takes the link `time` once more. The link lost so many millionths of late, if that is known.
    pub fn take(&mut self, now: Instant, packet: &Packet, flows: &Flows, time: Duration, lost: Option<u64>) -> bool {
        let clean = lost.is_some_and(|lost| lost < ONE / LEAST_LOSS);
        if !self.is_on || clean || packet.wire_len() > LONGEST || !flows::is_alone(packet) {
            return false;
        }
        let parts = lost.map_or(PARTS, |lost| PARTS.max(ONE * OF_LOSS / lost));
        let at = (now.as_nanos() / 1_000_000) as u32;
        let last = core::mem::replace(&mut self.last[flows.place(packet).index()], at);
        at.wrapping_sub(last) >= APART_MS && self.allowance.take_part(parts, now, time, AT_ONCE)
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
        let flows = Flows::new(&mut airtcp_core::Rng::derive(1, "flows"));
        let copied = |packet: Packet| Twice::new(true).take(at(0), &packet, &flows, Duration::ZERO, None);
        assert_eq!([opaque(100), voice(200)].map(copied), [true; 2]);
        assert_eq!([opaque(200), voice(300), ack(), data(0)].map(copied), [false; 4]);
        assert!(!Twice::new(false).take(at(0), &opaque(100), &flows, Duration::ZERO, None));
        let mut twice = Twice::new(true);
        let count_if = |lost: Option<u64>, twice: &mut Twice, every: u64, time: Duration| {
            (0..1000).filter(|n| twice.take(at(n * every), &opaque(100), &flows, time, lost)).count()
        };
        let count = |twice: &mut Twice, every, time| count_if(None, twice, every, time);
        assert_eq!(count(&mut twice, 20, Duration::from_micros(100)), 1000, "voice");
        let mut twice = Twice::new(true);
        assert_eq!(count(&mut twice, 3, Duration::ZERO), 1, "a flow of many, and the first");
        assert!(twice.take(at(3001), &opaque(100), &flows, Duration::ZERO, None), "it is one by one again");
        let mut twice = Twice::new(true);
        assert!((39..=43).contains(&count(&mut twice, 20, ms(10))), "2 % of 20 s, a slow link");
        let of_loss = |lost| count_if(Some(lost), &mut Twice::new(true), 20, ms(10));
        assert!((39..=43).contains(&of_loss(50_000)), "no more where more is lost");
        assert!((19..=22).contains(&of_loss(20_000)), "half of what is lost");
        assert_eq!(of_loss(500), 0, "hardly anything");
    }
}
