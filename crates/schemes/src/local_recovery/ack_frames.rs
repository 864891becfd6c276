//! Which acknowledgments of TCP need a frame. Where many of a flow come in a round trip, the next one says what a lost one said,
//! so nobody need repair it: it leaves as it came. Frames for all of them, and codes behind each where there is time for codes, are answered on the
//! way of what they acknowledge, which is the one that is full. The first one in a round trip has a frame all the same: it tells both ends
//! that frames arrive, and of a flow with few all have one.

use super::flows::Place;
use airtcp_core::{Duration, Instant};
use alloc::boxed::Box;
use alloc::vec;

/// A round of a short hop takes so long: what lies beyond the hop takes its time, too.
const LEAST_ROUND: Duration = Duration::from_millis(50);
/// Flows that are told apart. Of two that share a place one with few acknowledgments may go without frames, which costs little.
const PLACES: usize = 512;
/// Memory of the table.
pub(super) const MEMORY: u64 = (PLACES * size_of::<Round>()) as u64;

/// The acknowledgments of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    began: Instant,
    count: u32,
    /// In the round before.
    before: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct AckFrames {
    /// So many in a round are many; `None` frames all.
    many: Option<u32>,
    rounds: Box<[Round]>,
}

impl AckFrames {
    /// No flow is known; from `many` acknowledgments in a round trip on, most leave as they are; 0 frames all.
    pub fn new(many: u32) -> AckFrames {
        AckFrames { many: Some(many).filter(|many| *many > 0), rounds: vec![Round::default(); PLACES].into() }
    }

    /// Takes for many from now on what `next` would.
    pub fn adopt(&mut self, next: &AckFrames) {
        self.many = next.many;
    }

    /// True if the acknowledgment of this flow that leaves now needs a frame; `rtt` is the round trip of the hop.
    pub fn need_frame(&mut self, now: Instant, flow: Place, rtt: Duration) -> bool {
        let Some(many) = self.many else { return true };
        let round = &mut self.rounds[flow.index() % PLACES];
        let length = rtt.max(LEAST_ROUND);
        if now >= round.began + length {
            let before = if now < round.began + length * 2 { round.count } else { 0 };
            *round = Round { began: now, count: 0, before };
        }
        round.count = round.count.saturating_add(1);
        round.count == 1 || round.count <= many && round.before < many
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::data;
    use crate::local_recovery::flows::Flows;
    use airtcp_core::Rng;

    const RTT: Duration = Duration::from_millis(100);

    fn flow() -> Place {
        Flows::new(&mut Rng::derive(1, "flows")).find(&data(0)).unwrap()
    }

    /// Which of so many acknowledgments, `apart` from each other, have a frame.
    fn framed(acks: &mut AckFrames, from: u64, count: u64, apart: Duration) -> usize {
        let flow = flow();
        let at = |n| Instant::from_nanos(from * 1_000_000_000) + apart * n;
        (0..count).filter(|n| acks.need_frame(at(*n), flow, RTT)).count()
    }

    #[test]
    fn of_many_in_a_round_trip_the_first_has_a_frame_and_of_few_all() {
        let mut acks = AckFrames::new(8);
        let ms = Duration::from_millis(1);
        assert_eq!(framed(&mut acks, 1, 1000, ms), 8 + 9, "the first eight, and one in each round");
        assert_eq!(framed(&mut acks, 60, 100, ms * 20), 100, "five in a round");
        assert_eq!(framed(&mut acks, 120, 8, ms), 8, "after a pause all is as at the beginning");
        assert_eq!(framed(&mut AckFrames::new(0), 1, 1000, ms), 1000, "all, if it is so wanted");
    }

    #[test]
    fn a_round_of_a_short_hop_is_not_shorter_than_what_lies_beyond_it() {
        let mut acks = AckFrames::new(8);
        let flow = flow();
        let at = |n| Instant::from_nanos(1_000_000_000) + Duration::from_millis(4) * n;
        let framed = (0..250).filter(|n| acks.need_frame(at(*n), flow, Duration::from_millis(1))).count();
        assert!((25..40).contains(&framed), "{framed}: one of twelve or thirteen in each round");
    }
}
