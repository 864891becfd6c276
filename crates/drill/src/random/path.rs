//! What the path does with a segment: a link with a queue, then faults.

use super::setting::Setting;
use airtcp_core::{Duration, Ecn, Instant, Packet, Rng};
use std::collections::VecDeque;

/// See the module.
pub struct Path {
    setting: Setting,
    rng: Rng,
    /// When the segments that wait for the link will have left it.
    departures: VecDeque<Instant>,
    /// From when to when nothing passes.
    stall: Option<(Instant, Instant)>,
}

/// Segments arrive together that would arrive within so long.
const BATCH: Duration = Duration::from_millis(3);
/// Makes batches come at uneven times.
const UNEVEN: u64 = 314_159;
/// Bytes of a full segment, which the spacing is that of.
const FULL: u64 = 1500;

impl Path {
    pub fn new(setting: &Setting) -> Path {
        let mut rng = Rng::derive(setting.seed, "path");
        let begin = Instant::ZERO + setting.round_trip.saturating_mul(3 + rng.below(4));
        let stall = setting.stall.map(|stall| (begin, begin + stall));
        Path { setting: setting.clone(), rng, departures: VecDeque::new(), stall }
    }

    /// When the sender's `packet` arrives: not at all, once or twice. It may be marked.
    pub fn data(&mut self, now: Instant, packet: &mut Packet) -> Vec<Instant> {
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() as u64 > self.setting.queue {
            return Vec::new();
        }
        // Never twice the same, so that no two times are equal by chance where the sender compares them.
        let spacing = self.setting.spacing.as_nanos() * (90 + self.rng.below(20)) / 100 + self.rng.below(100_000);
        let on_link = Duration::from_nanos(spacing * u64::from(packet.wire_len()) / FULL);
        let departure = self.departures.back().copied().unwrap_or(now).max(now) + on_link;
        self.departures.push_back(departure);
        let has_data = packet.payload_len() > 0;
        let is_hit = self.rng.chance(self.setting.loss) && has_data;
        let is_late = self.rng.chance(self.setting.reordering) && has_data;
        let is_double = self.rng.chance(self.setting.duplication) && has_data;
        let (late, again) = (self.rng.below(1000), self.rng.below(20));
        if is_hit && packet.ip().ecn() != Ecn::NotEct && late % 2 == 0 {
            packet.set_ecn(Ecn::Ce);
        } else if is_hit {
            return Vec::new();
        }
        let mut at = departure + self.setting.round_trip / 2;
        if is_late {
            // Up to one and a quarter round trips: beyond what RACK waits for, sometimes.
            at += Duration::from_nanos(self.setting.round_trip.as_nanos() * late / 800);
        }
        if let Some((_, end)) = self.stall.filter(|(begin, end)| at >= *begin && at < *end) {
            at = end + Duration::from_micros(at.as_nanos() % 1000);
        }
        let at = self.batched(at);
        if is_double { vec![at, at + Duration::from_millis(again)] } else { vec![at] }
    }

    /// When the peer's packet arrives.
    pub fn answer(&mut self, now: Instant, packet: &Packet) -> Option<Instant> {
        let is_lost = self.rng.chance(self.setting.ack_loss) && packet.payload_len() == 0;
        let is_part_of_handshake = packet.tcp().is_some_and(|tcp| tcp.flags.syn());
        (!is_lost || is_part_of_handshake).then(|| now + self.setting.round_trip / 2)
    }

    fn batched(&self, at: Instant) -> Instant {
        if !self.setting.batches {
            return at;
        }
        let number = at.as_nanos().div_ceil(BATCH.as_nanos());
        Instant::from_nanos(number * BATCH.as_nanos() + number * UNEVEN % (BATCH.as_nanos() / 3))
    }
}
