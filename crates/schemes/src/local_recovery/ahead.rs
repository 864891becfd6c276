//! Redundancy ahead of the loss, for a hop whose round trips are too long to wait for repairs: codes of a sliding window
//! (`sliding_code`) among the packets, as many as the loss that the other end counts asks for, and none on a clean link.
//!
//! *How many.* A code that comes repairs one packet, whichever, once all losses before it can be repaired, too. So losses and
//! codes are a queue that mends nobody before it is empty: with `e` more codes that come than losses, a loss waits for the
//! rest of its busy period, `b (p + e) / 2e²` packets on average (M/D/1; `p` is the loss, `b` the mean length of the burst that
//! a lost packet is in, 1 if losses come one by one). Turned round, a mean wait of `w` asks for
//! `e = (b + sqrt(b² + 8wbp)) / 4w`. What waits longer than half of `w` is sent again, no more than codes do not mend.
//!
//! *When.* If every round trip loses several packets, something is always missing, and senders see twice the round trip. Below
//! that repairs on request are cheaper, as they are where the wait must be so short, or bursts are so long, that
//! the surplus costs much beside the losses. docs/local-recovery.md has the sweeps.
//!
//! *In spare time.* A sender that begins fills little of a long hop, and one loss that takes a round trip to repair ends its slow
//! start (HyStart takes the wait for a queue); BBR stops each 10 s until all that it sent is there. The link has time for codes
//! then: as many as the losses of the window and three standard deviations, by what is known of the link (Laplace's rule of
//! succession), less those promised in such moments before, until the link is known for clean. If it is idle for more than a
//! quarter of a round trip, each burst gets as many for itself at least. While little is known, there are some also within a
//! burst that is longer than half of the window. Neither the three nor the half was swept.

use super::Settings;
use super::covered;
use super::frame::{CODE_LEN, Kind};
use super::losses::{Loss, Losses};
use super::spare_time::SpareTime;
use crate::hop::PACKET_BYTES;
use crate::position::Position;
use crate::selective_repeat::{Ack, Arrived, Frame};
use crate::sliding_code::{Code, Encoder, HEAD};
use airtcp_core::packet::SHIM_HEADER;
use airtcp_core::{Duration, Instant, Packet, Rate, SeqNum};
use core::net::IpAddr;

/// On a shorter hop a repair on request comes soon enough, once a flow has begun.
pub(super) const LONG: Duration = Duration::from_millis(50);
/// Packets in a code, at most: a few times as many as a loss waits for codes on average.
const WINDOW: usize = 250;
/// A loss may wait for so much of a round trip, on average.
const WAIT_PER_CENT: u64 = 40;
/// Fixed point: codes a packet, or losses.
const ONE: u64 = 1 << 16;
/// A surplus of more than this is worth it only below 40 % of the losses.
const CHEAP_SURPLUS: u64 = ONE * 3 / 100;
/// No burst is longer, as far as codes are concerned.
const LONGEST_BURST: u64 = WINDOW as u64 * ONE;
/// Codes a packet, at most.
const MOST_CODES: u64 = ONE / 2;
/// Packets within a burst that get codes of their own while little is known of the link.
const LONG_BURST: u32 = WINDOW as u32 / 2;
/// "No next header": a code carries nothing for the host that it is addressed to.
const NO_NEXT_HEADER: u8 = 59;

/// Bytes of a code beyond the longest packet in it, IPv4 and IPv6.
pub(super) const OVERHEAD: [u32; 2] = [20 + BESIDE_HEADER, 40 + BESIDE_HEADER];
const BESIDE_HEADER: u32 = SHIM_HEADER + CODE_LEN as u32 + HEAD as u32 + covered::OVERHEAD;

/// What may be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct AheadSettings {
    /// Losses in a round trip from which on codes are sent; `None` sends none.
    pub from: Option<u32>,
    /// Packets that a loss waits for, on average and at most.
    pub wait: u32,
    /// None in spare time on a hop of a shorter round trip.
    pub spare_rtt: Duration,
}

impl AheadSettings {
    pub fn new(settings: &Settings) -> AheadSettings {
        let from = (settings.codes_from > 0).then_some(settings.codes_from);
        AheadSettings { from, wait: settings.codes_wait, spare_rtt: settings.spare_codes }
    }

    /// There are no codes of any kind on a shorter hop.
    fn least_rtt(&self) -> Duration {
        self.spare_rtt.min(LONG)
    }
}

/// See the module: the sending half.
#[derive(Debug)]
pub(super) struct Ahead {
    settings: AheadSettings,
    losses: Losses,
    plan: Option<Plan>,
    /// The round trip of the hop; zero before it is known, and while the other end tells of no losses.
    rtt: Duration,
    spare_time: SpareTime,
    /// Packets are put into codes now; see [`Ahead::decide`].
    covers: bool,
    encoder: Encoder,
    /// Of the next code, in parts of `ONE`.
    saved_up: u64,
    /// Codes that are to leave.
    due: u64,
    /// Packets since the latest code.
    uncovered: u32,
    /// The way of a packet since the window was empty; an IPv4 one if there was any.
    ends: Option<(IpAddr, IpAddr)>,
}

/// What codes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    /// Codes a packet, in parts of `ONE`.
    codes: u64,
    /// A loss that is not mended within so many packets may be sent again.
    patience: u64,
}

impl Ahead {
    /// Takes at most `memory` bytes.
    pub fn new(settings: AheadSettings, memory: u64) -> Ahead {
        Ahead {
            settings,
            losses: Losses::default(),
            plan: None,
            rtt: Duration::ZERO,
            spare_time: SpareTime::default(),
            covers: false,
            encoder: Encoder::new(WINDOW, memory),
            saved_up: 0,
            due: 0,
            uncovered: 0,
            ends: None,
        }
    }

    /// Sends as many codes from now on as `next` would.
    pub fn adopt(&mut self, next: &Ahead) {
        self.settings = next.settings;
    }

    /// The other end has so many of the transmissions up to the newest of `ack`. `oldest` is the oldest packet that it may
    /// not have, and the link carries `rate` over a round trip of `rtt`.
    pub fn on_feedback(&mut self, ack: &Ack, arrived: Arrived, oldest: Position, rtt: Duration, rate: Option<Rate>) {
        self.encoder.forget(oldest);
        self.rtt = rtt;
        let is_epoch = self.losses.add(ack.newest, arrived);
        if is_epoch {
            self.plan = rate.and_then(|rate| self.make_plan(self.losses.of_late(), rtt, rate));
        }
        self.decide();
    }

    /// The other end tells of no losses: to it the hop is too short for codes, so there are none, whatever was counted before.
    pub fn on_short_hop(&mut self) {
        if self.covers || self.plan.is_some() {
            self.stop();
        }
        (self.rtt, self.plan, self.covers) = (Duration::ZERO, None, false);
        self.losses.pause();
    }

    /// Whether packets are put into codes, after something that this follows from has changed.
    fn decide(&mut self) {
        let is_far = self.rtt > Duration::ZERO && self.rtt >= self.settings.spare_rtt;
        let is_idle = if self.losses.is_settled() { self.spare_time.is_plenty() } else { self.spare_time.is_ample() };
        let has_time = is_far && (self.rtt >= LONG || is_idle);
        let covered = self.covers;
        self.covers = self.is_active() || has_time && self.settings.from.is_some() && !self.losses.is_clean();
        if covered && !self.covers {
            self.stop();
        }
    }

    /// Something left that takes the link `time`.
    pub fn on_departure(&mut self, now: Instant, time: Duration) {
        if self.spare_time.add(now, time, self.rtt) {
            self.decide();
        }
    }

    fn make_plan(&self, Loss { sent, lost, gaps }: Loss, rtt: Duration, rate: Rate) -> Option<Plan> {
        let packets = rate.bytes_in(rtt) / u64::from(PACKET_BYTES);
        // What has begun ends at half of what it begins at.
        let (from, from_parts) = (u64::from(self.settings.from?), if self.plan.is_some() { 2 } else { 1 });
        let is_little = packets.saturating_mul(lost * from_parts) < sent.saturating_mul(from);
        if rtt < LONG || lost == 0 || gaps == 0 || is_little {
            return None;
        }
        // In a longer wait the packet would leave the window.
        let longest = u64::from(self.settings.wait).clamp(1, WINDOW as u64);
        let wait = (packets.saturating_mul(WAIT_PER_CENT) / 100).clamp(1, longest);
        let loss = (lost * ONE / sent).min(ONE / 2);
        // A lost packet is in a burst of twice the mean length, less one, where lengths are geometric.
        let burst = ((2 * lost - gaps) * ONE / gaps).min(LONGEST_BURST);
        let root = (burst * burst + 8 * wait * burst * loss).isqrt();
        let surplus = (burst + root) / (4 * wait);
        let codes = (loss + surplus) * ONE / (ONE - loss);
        let is_worth_it = surplus <= CHEAP_SURPLUS.max(loss * 2 / 5);
        is_worth_it.then_some(Plan { codes: codes.min(MOST_CODES), patience: wait / 2 })
    }

    /// True if the other end is far enough for codes, or may be by its own measure.
    pub fn may_be_long(&self, rtt: Duration) -> bool {
        rtt >= self.settings.least_rtt() * 4 / 5
    }

    /// True if the other end is far enough for codes of some kind.
    pub fn is_far(&self, rtt: Duration) -> bool {
        self.settings.from.is_some() && rtt >= self.settings.least_rtt()
    }

    /// True if codes leave among the packets, whether the link has time for them or not.
    pub fn is_active(&self) -> bool {
        self.plan.is_some()
    }

    /// True if packets are put into codes now.
    pub fn covers(&self) -> bool {
        self.covers
    }

    /// Codes for so many packets in a row: their losses and three standard deviations.
    fn for_burst(&self, packets: u32) -> u32 {
        let Loss { sent, lost, .. } = self.losses.so_far();
        let losses = u64::from(packets) * ONE * (lost + 1) / (sent + 2);
        let deviation = (losses * ONE).isqrt();
        (losses + 3 * deviation).div_ceil(ONE).min(packets.into()) as u32
    }

    /// What codes have time for to mend losses, if there are any.
    pub fn patience(&self, packet_time: Duration) -> Option<Duration> {
        self.plan.map(|plan| packet_time * plan.patience)
    }

    /// What a frame of this packet carries.
    pub fn kind(&self, packet: &Packet) -> Kind {
        let ip = packet.ip();
        let covered = Kind::Covered { traffic_class: ip.traffic_class, hop_limit: ip.hop_limit };
        if self.covers { covered } else { Kind::Packet }
    }

    /// A new packet left in this frame.
    pub fn on_sent(&mut self, sequence: Position, frame: &Frame, packet: &Packet) {
        if !self.covers {
            return;
        }
        if self.encoder.is_empty() {
            self.ends = None;
        }
        self.encoder.add(sequence, covered::symbol(frame, packet), packet.wire_len());
        let ends = (packet.ip().source, packet.ip().destination);
        if self.ends.is_none_or(|(source, _)| source.is_ipv6()) {
            self.ends = Some(ends);
        }
        self.uncovered = self.uncovered.saturating_add(1);
        if let Some(plan) = self.plan {
            self.saved_up += plan.codes;
            self.due += self.saved_up / ONE;
            self.saved_up %= ONE;
        } else if self.uncovered >= LONG_BURST && !self.losses.is_settled() {
            self.promise(self.for_burst(self.uncovered));
        }
    }

    /// Nothing else is to be sent, and nothing waits in the link: what may be missing at the other end gets codes that it did
    /// not get so far.
    pub fn on_spare_time(&mut self) {
        if !self.covers || self.uncovered == 0 || self.due > 0 {
            return;
        }
        let window = self.encoder.len() as u32;
        let open = self.for_burst(window).saturating_sub(self.encoder.promised());
        // Between two packets of a busy link there is nothing to send either, but a code makes the next one wait.
        let codes =
            if self.spare_time.is_ample() { open.max(self.for_burst(self.uncovered.min(window))) } else { open };
        self.promise(codes);
    }

    /// Codes beyond those of the plan.
    fn promise(&mut self, codes: u32) {
        self.encoder.promise(codes);
        self.due += u64::from(codes);
    }

    /// True if a code is to leave.
    pub fn is_due(&self) -> bool {
        self.due > 0
    }

    /// The next code, which takes its seed from the number that it leaves with.
    pub fn take(&mut self, number: SeqNum) -> Option<(Code, Packet)> {
        self.due = self.due.checked_sub(1)?;
        self.uncovered = 0;
        let code = self.encoder.code(number.0 as u16)?;
        let (source, destination) = self.ends?;
        let mut packet = Packet::opaque(source, destination, NO_NEXT_HEADER, code.symbol.clone().into());
        // As long as if all content were written out, which it is unless it is virtual.
        let header = u32::from(packet.ip().header_len);
        packet.set_wire_len(header + HEAD as u32 + covered::OVERHEAD + code.longest);
        Some((code, packet))
    }

    fn stop(&mut self) {
        self.encoder.forget(Position::MAX);
        (self.due, self.saved_up, self.uncovered) = (0, 0, 0);
    }

    /// Nothing is known any more: the other end is gone, or is another one.
    pub fn forget(&mut self) {
        self.stop();
        (self.losses, self.plan) = (Losses::default(), None);
        self.decide();
    }

    /// Memory that it takes.
    pub fn memory(&self) -> u64 {
        self.encoder.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Part;
    use crate::selective_repeat::Received;

    const MBIT: u64 = 1_000_000;

    const DEFAULT: AheadSettings = AheadSettings { from: Some(8), wait: 60, spare_rtt: Duration::from_millis(20) };

    /// Codes a packet, in per mille, and patience in packets.
    fn plan(mbit: u64, rtt_ms: u64, loss: Loss) -> Option<(u64, u64)> {
        let ahead = Ahead::new(DEFAULT, 1 << 20);
        let plan = ahead.make_plan(loss, Duration::from_millis(rtt_ms), Rate::from_bps(mbit * MBIT));
        plan.map(|plan| (plan.codes * 1000 / ONE, plan.patience))
    }

    fn loss(per_mille: u64, burst: u64) -> Loss {
        Loss { sent: 1000 * burst, lost: per_mille * burst, gaps: per_mille }
    }

    #[test]
    fn codes_are_the_losses_and_a_surplus_for_a_wait_that_is_short_beside_the_round_trip() {
        // (1 + sqrt(1 + 8 * 60 * 0.05)) / (4 * 60) = 0.025, and of what is sent 0.95 comes.
        assert_eq!(plan(10, 250, loss(50, 1)), Some((78, 30)));
        assert_eq!(plan(50, 60, loss(50, 1)).map(|plan| plan.1), Some(30));
        assert_eq!(plan(10, 150, loss(100, 1)), Some((152, 25)), "a shorter wait costs more");
        assert_eq!(plan(50, 250, loss(200, 1)), Some((306, 30)));
        assert_eq!(plan(50, 250, loss(900, 1)), Some((500, 30)), "never more than one for two packets");
    }

    #[test]
    fn there_are_none_where_requests_are_cheaper() {
        assert_eq!(plan(10, 250, loss(0, 1)), None, "a clean link");
        assert_eq!(plan(10, 250, loss(38, 1)), None, "less than eight losses in a round trip");
        assert_eq!(plan(100, 40, loss(50, 1)), None, "a short hop");
        let few = Loss { sent: 1000, lost: 200, gaps: 160 };
        assert_eq!(plan(10, 60, few), None, "few packets in a round trip: a short wait costs much");
        assert_eq!(plan(10, 250, loss(50, 20)), None, "bursts of twenty");
        let pairs = Loss { sent: 2000, lost: 400, gaps: 270 };
        assert!(plan(50, 250, pairs).is_some(), "many losses in twos");
    }

    #[test]
    fn nothing_that_a_peer_says_is_out_of_range() {
        let most = u64::from(u32::MAX) * 16;
        for (lost, gaps) in [(1, 1), (most, 1), (most, most), (most / 2, 16)] {
            let plan = plan(1_000_000, 100_000, Loss { sent: most, lost, gaps });
            assert!(plan.is_none_or(|(codes, _)| codes <= 500), "{lost} {gaps}");
        }
    }

    #[test]
    fn codes_end_when_the_other_end_tells_of_no_losses_and_begin_again_when_it_does() {
        let mut ahead = Ahead::new(DEFAULT, 1 << 20);
        let (rtt, rate) = (Duration::from_millis(250), Some(Rate::from_bps(10 * MBIT)));
        let tell = |ahead: &mut Ahead, newest: u32, frames, gaps| {
            let ack =
                Ack { incarnation: 1, newest: SeqNum(newest), expected: SeqNum(1), received: Received::default() };
            ahead.on_feedback(&ack, Arrived { frames, gaps }, 0, rtt, rate);
            (ahead.is_active(), ahead.covers)
        };
        tell(&mut ahead, 0, 0, 0);
        assert_eq!(tell(&mut ahead, 200, 190, 10), (true, true));
        ahead.on_short_hop();
        assert_eq!((ahead.is_active(), ahead.covers, ahead.is_due()), (false, false, false));
        // All that was sent meanwhile is not counted: it would outweigh everything.
        assert_eq!(tell(&mut ahead, 100_000, 99_990, 10), (false, true));
        assert_eq!(tell(&mut ahead, 100_200, 100_180, 20), (true, true));
        assert_eq!(ahead.losses.of_late(), Loss { sent: 400, lost: 20, gaps: 20 });
    }

    #[test]
    fn what_has_begun_does_not_end_at_the_same_loss() {
        let mut ahead = Ahead::new(DEFAULT, 1 << 20);
        let make = |ahead: &Ahead, loss| ahead.make_plan(loss, Duration::from_millis(250), Rate::from_bps(10 * MBIT));
        assert_eq!(make(&ahead, loss(30, 1)), None);
        ahead.plan = make(&ahead, loss(50, 1));
        assert!(make(&ahead, loss(30, 1)).is_some());
        assert_eq!(make(&ahead, loss(18, 1)), None);
    }

    /// Codes among so many more packets, and behind them at an idle moment; the link takes `busy` ms of 10 for each packet.
    fn codes_behind(ahead: &mut Ahead, at: &mut (Position, Instant), packets: u64, busy: u64) -> [u64; 2] {
        fn take(ahead: &mut Ahead) -> u64 {
            (0..).take_while(|&number| ahead.take(SeqNum(number)).is_some()).count() as u64
        }
        let mut among = 0;
        for _ in 0..packets {
            at.0 += 1;
            at.1 += Duration::from_millis(10);
            let sequence = SeqNum(at.0 as u32);
            let frame = Frame { incarnation: 1, number: sequence, sequence, back: 0, after: 0, part: Part::Whole };
            ahead.on_sent(at.0, &frame, &crate::hop::testing::data(1));
            ahead.on_departure(at.1, Duration::from_millis(busy));
            among += take(ahead);
        }
        ahead.on_spare_time();
        [among, take(ahead)]
    }

    /// On a hop of 250 ms that has lost 20 of 200 packets.
    fn far(from: Option<u32>) -> Ahead {
        let mut ahead = Ahead::new(AheadSettings { from, ..DEFAULT }, 1 << 20);
        for (newest, arrived) in [(0, Arrived { frames: 0, gaps: 0 }), (200, Arrived { frames: 180, gaps: 20 })] {
            let ack =
                Ack { incarnation: 1, newest: SeqNum(newest), expected: SeqNum(1), received: Received::default() };
            ahead.on_feedback(&ack, arrived, 0, Duration::from_millis(250), Some(Rate::from_bps(10 * MBIT)));
        }
        ahead
    }

    #[test]
    fn an_idle_moment_of_a_busy_link_mends_what_has_no_codes_yet_and_one_of_an_idle_link_each_burst() {
        // Of 100 packets 10.4 are lost, and three standard deviations are 9.7.
        let mut at = (0, Instant::ZERO);
        let mut busy = far(Some(100));
        assert!(busy.covers && !busy.is_active());
        assert_eq!(codes_behind(&mut busy, &mut at, 100, 9), [0, 21]);
        let more: u64 = (0..20).map(|_| codes_behind(&mut busy, &mut at, 1, 9)[1]).sum();
        assert!(more < 5, "{more}");
        let mut at = (0, Instant::ZERO);
        let mut idle = far(Some(100));
        assert_eq!(codes_behind(&mut idle, &mut at, 100, 1), [0, 21]);
        assert_eq!([(); 20].map(|()| codes_behind(&mut idle, &mut at, 1, 1)), [[0, 1]; 20]);
        // Of many packets behind the last code all but two have come.
        idle.encoder.forget(at.0 - 1);
        idle.uncovered = 6000;
        idle.on_spare_time();
        assert_eq!(idle.due, 2);
    }

    #[test]
    fn at_an_idle_moment_the_plan_has_not_mended_all_that_it_will() {
        let mut ahead = far(Some(2));
        let plan = ahead.plan.map_or(0, |plan| plan.codes * 100 / ONE);
        let mut at = (0, Instant::ZERO);
        assert_eq!((codes_behind(&mut ahead, &mut at, 100, 9), plan), ([14, 21], 14));
        assert_eq!(codes_behind(&mut ahead, &mut at, 1, 9)[1], 0, "they are on their way");
    }
}
