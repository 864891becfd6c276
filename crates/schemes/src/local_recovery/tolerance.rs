//! Which flows of TCP do not slow down for a loss. A window says it: what is in flight a round trip after a loss, beside what was before.
//! CUBIC keeps 0.7 of it (RFC 9438) and Reno 0.5, BBR all. Both directions of a flow pass here, so what is in flight is what was sent less
//! what is acknowledged, or else reported. A flow that tolerates losses needs no repair: its own takes no more of the link, and frames do.
//!
//! Losses come even where all are repaired: the queue before the link drops what is too much.

use super::flows::Place;
use airtcp_core::{Duration, Instant, Packet, SeqNum, TcpHeader};
use alloc::boxed::Box;
use alloc::vec;

/// Flows that are watched at a time. Others count as flows that slow down.
const PLACES: usize = 96;
/// Memory of the table.
pub(super) const MEMORY: u64 = (PLACES * size_of::<Option<Watched>>()) as u64;
/// Of a flow that rests for so long, or passes unseen, nothing is known any more, and another one may have its place.
const RESTS: Duration = Duration::from_secs(1);
/// A smaller window, in bytes, tells nothing: CUBIC and Reno grow by up to a segment until it is looked at. Eight segments become six and a half.
const LEAST_WINDOW: u32 = 8 * SEGMENT;
/// A segment of full length, in bytes.
const SEGMENT: u32 = 1500;
/// Who has at least so many hundredths of its window after a loss kept it: halfway between CUBIC's and all.
const KEPT: u64 = 85;
/// Of a flow that kept its window often, so many losses count: after as many that it heeds it is repaired again. One is too few, as BBR's window falls
/// for a moment each 10 s, whatever is lost. Argued, not swept.
const MOST: u8 = 4;
/// Of a link that loses more, in millionths, nobody goes without repair. Swept: docs/local-recovery.md, "What was chosen".
const MOST_LOSS: u64 = 30_000;
/// Who goes without goes on so while the link loses no more than this: a third more, by which the count of the losses of 10 s varies. Argued, not swept.
const MOST_LOSS_STILL: u64 = 40_000;
/// CUBIC has 0.85 of a window of W segments again 0.206 (0.75 W)^(1/3) s after it was cut to 0.7 (RFC 9438 section 4.2), so the cube of this time, in
/// ms, is 6.6 million for each segment. A tenth of the time is to spare.
const GROWN_AGAIN: u64 = 5_000_000;
/// No window is larger, in bytes (RFC 7323): of a flow with more in flight it is not known what came.
const MOST_WINDOW: u32 = 1 << 30;

/// How far a flow is after a loss. Each step takes a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing is lost.
    Even,
    /// The lost segment was sent again.
    Resent,
    /// What is in flight now tells: CUBIC has its smaller window by now, and BBR has its own back.
    Telling,
}

/// A flow of which data leave here.
#[derive(Clone, Copy, Debug)]
struct Watched {
    tag: u32,
    latest: Instant,
    /// The end of what was sent, and the timestamp that it left with.
    sent: SeqNum,
    stamp: Option<u32>,
    /// The end of what is known to have come.
    came: SeqNum,
    /// The round trip ends when this has come.
    round: SeqNum,
    /// Most in flight in this round trip and in the one before.
    most: u32,
    most_before: u32,
    /// What was in flight when something was lost.
    window: u32,
    step: Step,
    /// The end of what was sent again, and the timestamp that it left with.
    again: Option<(SeqNum, u32)>,
    /// When what was sent again had had its round trip. A window that was cut grows from then on.
    since: Instant,
    /// It goes without repair.
    goes_without: bool,
    /// Losses after which it kept its window, less those after which it did not.
    score: u8,
}

impl Watched {
    fn new(tag: u32, now: Instant, from: SeqNum) -> Watched {
        Watched {
            tag,
            latest: now,
            sent: from,
            stamp: None,
            came: from,
            round: from,
            most: 0,
            most_before: 0,
            window: 0,
            step: Step::Even,
            again: None,
            since: now,
            goes_without: false,
            score: 0,
        }
    }

    fn on_data(&mut self, now: Instant, tcp: &TcpHeader, end: SeqNum) {
        self.latest = now;
        let stamp = tcp.options.timestamps.map(|stamps| stamps.value);
        if end.after(self.sent) {
            if end.since(self.came) > MOST_WINDOW {
                *self = Watched::new(self.tag, now, tcp.sequence);
            }
            (self.sent, self.stamp) = (end, stamp);
            self.most = self.most.max(end.since(self.came));
        } else if self.was_sent_before(stamp, end) {
            self.on_sent_again(stamp, end);
        }
    }

    /// True if the segment was sent again, and did not only come late: it left later than the newest one, or, if nothing says when
    /// it left, before what is known to have come.
    fn was_sent_before(&self, stamp: Option<u32>, end: SeqNum) -> bool {
        let later = stamp.zip(self.stamp).map(|(stamp, newest)| stamp.wrapping_sub(newest) as i32 > 0);
        later.unwrap_or(end.at_or_before(self.came))
    }

    fn on_sent_again(&mut self, stamp: Option<u32>, end: SeqNum) {
        if self.step == Step::Even {
            self.window = self.most.max(self.most_before);
            self.again = stamp.map(|stamp| (end, stamp));
            self.begin(Step::Resent);
        } else if self.step == Step::Telling && end.after(self.came) {
            // Without SACK what has come since is counted as in flight.
            self.begin(Step::Even);
        }
    }

    fn on_arrival(&mut self, now: Instant, tcp: &TcpHeader) {
        let reported = tcp.options.sack.as_slice().iter().map(|block| block.1);
        let came = reported.fold(tcp.acknowledgment, SeqNum::max);
        if came.after(self.sent) {
            return;
        }
        self.look_for_first_copy(tcp);
        if came.at_or_before(self.came) {
            return;
        }
        self.came = came;
        if came.before(self.round) {
            return;
        }
        match self.step {
            Step::Even => self.begin(Step::Even),
            Step::Resent => {
                self.since = now;
                self.begin(Step::Telling);
            }
            Step::Telling => {
                self.judge(now);
                self.begin(Step::Even);
            }
        }
    }

    /// Nothing was lost if the first copy of what was sent again came (RFC 3522): the sender takes back what it did.
    fn look_for_first_copy(&mut self, tcp: &TcpHeader) {
        let Some((_, stamp)) = self.again.take_if(|(end, _)| tcp.acknowledgment.at_or_after(*end)) else { return };
        let echo = tcp.options.timestamps.map(|stamps| stamps.echo);
        if self.step != Step::Even && echo.is_some_and(|echo| (echo.wrapping_sub(stamp) as i32) < 0) {
            self.begin(Step::Even);
        }
    }

    fn begin(&mut self, step: Step) {
        (self.step, self.round) = (step, self.sent);
        (self.most_before, self.most) = (self.most, 0);
    }

    fn judge(&mut self, now: Instant) {
        if self.window < LEAST_WINDOW {
            self.score = self.score.saturating_sub(1);
            return;
        }
        let ms = now.saturating_since(self.since).as_millis();
        if ms.saturating_pow(3) >= GROWN_AGAIN * u64::from(self.window / SEGMENT) {
            return;
        }
        let has_kept = u64::from(self.most) * 100 >= u64::from(self.window) * KEPT;
        self.score = if has_kept { (self.score + 1).min(MOST) } else { self.score.saturating_sub(1) };
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Tolerance {
    is_on: bool,
    flows: Box<[Option<Watched>]>,
}

impl Tolerance {
    /// No flow is known; all count as flows that slow down if off.
    pub fn new(is_on: bool) -> Tolerance {
        Tolerance { is_on, flows: vec![None; PLACES].into() }
    }

    /// Watches from now on if `next` would.
    pub fn adopt(&mut self, next: &Tolerance) {
        if !next.is_on {
            self.flows.fill(None);
        }
        self.is_on = next.is_on;
    }

    /// A packet comes that is to leave over the link.
    pub fn on_leaving(&mut self, now: Instant, place: impl FnOnce() -> Place, packet: &Packet) {
        // One byte may ask whether the other end is still there.
        let is_data = |tcp: &&TcpHeader| packet.sequence_len() > 1 || tcp.flags.syn();
        let Some(tcp) = packet.tcp().filter(is_data).filter(|_| self.is_on) else { return };
        let place = place();
        let slot = &mut self.flows[place.index() % PLACES];
        let known = slot.filter(|flow| now < flow.latest + RESTS);
        if known.is_some_and(|flow| flow.tag != place.tag()) {
            return;
        }
        let known = known.filter(|_| !tcp.flags.syn());
        let flow = slot.insert(known.unwrap_or_else(|| Watched::new(place.tag(), now, tcp.sequence)));
        flow.on_data(now, tcp, tcp.sequence + packet.sequence_len());
    }

    /// A packet came over the link, of a flow whose data leave from `place`.
    pub fn on_arrival(&mut self, now: Instant, place: impl FnOnce() -> Option<Place>, packet: &Packet) {
        let Some(tcp) = packet.tcp().filter(|tcp| self.is_on && tcp.flags.ack()) else { return };
        let Some(place) = place() else { return };
        if let Some(flow) = self.flows[place.index() % PLACES].as_mut().filter(|flow| flow.tag == place.tag()) {
            flow.on_arrival(now, tcp);
        }
    }

    /// Decides for a packet of the flow; true if it is known not to slow down for what a link loses that loses so many millionths. It begins to go
    /// without repair when nothing is known to be missing (`is_whole`): what leaves as it is passes what waits at the other end.
    pub fn goes_without_repair(&mut self, place: Place, lost: u64, is_whole: bool) -> bool {
        let flow = self.flows[place.index() % PLACES].as_mut().filter(|flow| flow.tag == place.tag());
        flow.is_some_and(|flow| {
            let most = if flow.goes_without { MOST_LOSS_STILL } else { MOST_LOSS };
            flow.goes_without = flow.score > 0 && lost <= most && (flow.goes_without || is_whole);
            flow.goes_without
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local_recovery::flows::Flows;
    use airtcp_core::{FlowKey, Rng, Segment, TcpFlags, TcpOptions, Timestamps};
    use core::net::{IpAddr, Ipv4Addr};

    const LENGTH: u32 = 1000;
    const LOST: u64 = 10_000;
    const MS: Duration = Duration::from_millis(1);

    fn flow(port: u16) -> FlowKey {
        let address = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        FlowKey { source: address(1), destination: address(2), source_port: port, destination_port: 80 }
    }

    fn packet(
        flow: FlowKey,
        flags: TcpFlags,
        sequence: u32,
        acknowledgment: u32,
        options: TcpOptions,
        length: u32,
    ) -> Packet {
        let tcp = TcpHeader {
            source_port: flow.source_port,
            destination_port: flow.destination_port,
            sequence: SeqNum(sequence),
            acknowledgment: SeqNum(acknowledgment),
            flags,
            window: 1000,
            urgent: 0,
            options,
        };
        let segment = Segment { source: flow.source, destination: flow.destination, traffic_class: 0, tcp };
        Packet::tcp_virtual(&segment, 1, 0, length)
    }

    /// A sender whose packets all pass here, and what sees them.
    struct Sender {
        tolerance: Tolerance,
        flows: Flows,
        port: u16,
        now: Instant,
        has_stamps: bool,
        has_sack: bool,
        /// What acknowledgments say came with.
        echo: Option<u32>,
        /// A round trip takes so much longer than its packets do.
        wait: Duration,
        /// Of the first byte that was not sent.
        next: u32,
    }

    impl Sender {
        fn new() -> Sender {
            Sender::over(Tolerance::new(true), 1000)
        }

        fn over(tolerance: Tolerance, port: u16) -> Sender {
            let flows = Flows::new(&mut Rng::derive(1, "flows"));
            Sender {
                tolerance,
                flows,
                port,
                now: Instant::from_nanos(5_000_000_000),
                has_stamps: true,
                has_sack: true,
                echo: None,
                wait: Duration::ZERO,
                next: u32::MAX - 50_000,
            }
        }

        fn stamp(&self) -> u32 {
            (self.now.as_nanos() / MS.as_nanos()) as u32
        }

        fn send(&mut self, sequence: u32) {
            self.now += MS;
            let stamps = Timestamps { value: self.stamp(), echo: 1 };
            self.send_stamped(sequence, LENGTH, Some(stamps).filter(|_| self.has_stamps));
        }

        fn send_stamped(&mut self, sequence: u32, length: u32, timestamps: Option<Timestamps>) {
            let options = TcpOptions { timestamps, ..TcpOptions::default() };
            let packet = packet(flow(self.port), TcpFlags::ACK, sequence, 1, options, length);
            self.tolerance.on_leaving(self.now, || self.flows.place(&packet), &packet);
        }

        /// Acknowledged is all before `came`, but for the byte at `lost`.
        fn acknowledge(&mut self, came: u32, lost: Option<u32>) {
            let stamps = self.echo.map(|echo| Timestamps { value: 1, echo });
            let mut options = TcpOptions { timestamps: stamps, ..TcpOptions::default() };
            if let Some(lost) = lost.filter(|_| self.has_sack) {
                options.sack.push(SeqNum(lost.wrapping_add(LENGTH)), SeqNum(came));
            }
            let packet = packet(flow(self.port).reversed(), TcpFlags::ACK, 1, lost.unwrap_or(came), options, 0);
            self.tolerance.on_arrival(self.now, || self.flows.way_back(&packet), &packet);
        }

        /// A round trip: all that is in flight comes but for the byte at `lost`, and so many segments leave after it.
        fn round(&mut self, segments: u32, lost: Option<u32>) {
            self.now += self.wait;
            self.acknowledge(self.next, lost);
            for _ in 0..segments {
                self.send(self.next);
                self.next = self.next.wrapping_add(LENGTH);
            }
        }

        /// Loses a segment of a window of `before`; then `after` segments leave in a round trip.
        fn lose(&mut self, before: u32, after: u32) {
            self.round(before, None);
            let lost = self.next.wrapping_sub(LENGTH * before);
            self.round(after, Some(lost));
            self.send(lost);
            (0..4).for_each(|_| self.round(after, None));
        }

        fn is_tolerant(&mut self) -> bool {
            self.tolerance.goes_without_repair(self.flows.place_of(&flow(self.port)), LOST, true)
        }
    }

    #[test]
    fn who_keeps_its_window_is_tolerant_and_who_does_not_is_not() {
        for (before, after, is_tolerant) in [
            (30, 30, true),
            (30, 26, true),
            (30, 25, false),
            (30, 21, false),
            (30, 15, false),
            (12, 12, true),
            (8, 8, false),
        ] {
            for has_stamps in [true, false] {
                let mut sender = Sender { has_stamps, ..Sender::new() };
                sender.round(before, None);
                assert!(!sender.is_tolerant(), "nothing was lost");
                sender.lose(before, after);
                assert_eq!(sender.is_tolerant(), is_tolerant, "{after} of {before}, {has_stamps}");
            }
        }
    }

    #[test]
    fn a_few_losses_are_remembered_and_no_more() {
        let mut sender = Sender::new();
        (0..20).for_each(|_| sender.lose(30, 30));
        (1..MOST).for_each(|_| sender.lose(30, 21));
        assert!(sender.is_tolerant());
        sender.lose(30, 21);
        assert!(!sender.is_tolerant());
        sender.lose(30, 30);
        assert!(sender.is_tolerant());
        sender.lose(6, 6);
        assert!(!sender.is_tolerant(), "so few tell nothing");
    }

    #[test]
    fn only_a_link_that_loses_little_is_left_to_senders() {
        let mut sender = Sender::new();
        sender.lose(30, 30);
        let place = sender.flows.place_of(&flow(1000));
        let mut is_at = |lost, is_whole| sender.tolerance.goes_without_repair(place, lost, is_whole);
        assert!(!is_at(MOST_LOSS + 1, true));
        assert!(!is_at(MOST_LOSS, false), "something is missing");
        assert!(is_at(MOST_LOSS, true) && is_at(0, false) && is_at(MOST_LOSS_STILL, false));
        assert!(!is_at(MOST_LOSS_STILL + 1, true) && !is_at(MOST_LOSS_STILL, true));
    }

    #[test]
    fn what_comes_late_or_asks_whether_the_other_end_is_there_was_not_lost() {
        for (stamp, length) in [(Some(9), LENGTH), (None, LENGTH), (Some(0), 1), (None, 1)] {
            let mut sender = Sender { has_stamps: stamp.is_some(), ..Sender::new() };
            sender.round(30, None);
            sender.now += MS;
            let stamp = stamp.map(|before| Timestamps { value: sender.stamp() - before, echo: 1 });
            sender.send_stamped(sender.next.wrapping_sub(LENGTH * 9), length, stamp);
            (0..4).for_each(|_| sender.round(30, None));
            assert!(!sender.is_tolerant(), "{stamp:?}, {length}");
        }
    }

    #[test]
    fn what_was_sent_again_in_vain_was_not_lost() {
        for (echo, is_tolerant) in [(0, false), (10_000, true)] {
            let mut sender = Sender { echo: Some(echo), ..Sender::new() };
            sender.lose(30, 30);
            assert_eq!(sender.is_tolerant(), is_tolerant, "{echo}");
        }
    }

    #[test]
    fn nothing_is_told_once_a_window_that_was_cut_may_have_grown_again() {
        let wait = |ms| Sender { wait: MS * ms, ..Sender::new() };
        let mut long = wait(450);
        long.lose(30, 30);
        assert!(!long.is_tolerant(), "480 ms; 20 segments of full length take CUBIC 464");
        let mut short = wait(420);
        short.lose(30, 30);
        assert!(short.is_tolerant(), "450 ms");
    }

    #[test]
    fn without_sack_a_second_loss_makes_the_first_tell_nothing() {
        for is_second in [false, true] {
            let mut sender = Sender { has_sack: false, ..Sender::new() };
            sender.round(15, None);
            let lost = sender.next.wrapping_sub(LENGTH * 15);
            sender.round(15, Some(lost));
            sender.send(lost);
            sender.round(30, None);
            let lost = sender.next.wrapping_sub(LENGTH * 30);
            if is_second {
                sender.round(30, Some(lost));
                sender.send(lost);
            }
            (0..2).for_each(|_| sender.round(30, None));
            assert_eq!(sender.is_tolerant(), !is_second);
        }
    }

    #[test]
    fn of_a_flow_that_passes_unseen_nothing_is_known_any_more() {
        let mut sender = Sender::new();
        sender.lose(30, 30);
        sender.now += RESTS;
        sender.round(1, None);
        assert!(!sender.is_tolerant(), "it rested");
        sender.lose(30, 30);
        assert!(sender.is_tolerant());
        sender.send(sender.next.wrapping_add(MOST_WINDOW));
        assert!(!sender.is_tolerant(), "nobody has so much in flight");
    }

    #[test]
    fn whose_acknowledgments_go_another_way_or_are_made_up_is_not_judged() {
        let mut sender = Sender::new();
        for _ in 0..200 {
            sender.send(sender.next);
            sender.next = sender.next.wrapping_add(LENGTH);
            if sender.next.is_multiple_of(7) {
                sender.send(sender.next.wrapping_sub(LENGTH * 5));
            }
        }
        sender.acknowledge(sender.next.wrapping_add(1_000_000), None);
        assert!(!sender.is_tolerant());
        sender.round(30, None);
        sender.lose(30, 21);
        assert!(!sender.is_tolerant());
    }

    #[test]
    fn a_place_belongs_to_one_flow_until_it_rests_and_a_new_connection_is_not_the_old_one() {
        let mut first = Sender::new();
        first.lose(30, 30);
        let at = first.flows.place_of(&flow(1000)).index() % PLACES;
        let shares = |port: &u16| first.flows.place_of(&flow(*port)).index() % PLACES == at;
        let other = (1001..).find(shares).unwrap();
        let mut second = Sender { now: first.now, ..Sender::over(first.tolerance, other) };
        second.lose(30, 30);
        assert!(!second.is_tolerant(), "the place is taken");
        let mut first = Sender { now: second.now, next: first.next, ..Sender::over(second.tolerance, 1000) };
        assert!(first.is_tolerant());
        first.now += RESTS * 2;
        let mut second = Sender { now: first.now, next: second.next, ..Sender::over(first.tolerance, other) };
        second.lose(30, 30);
        assert!(second.is_tolerant());
        let syn = packet(flow(other), TcpFlags::SYN, 7, 0, TcpOptions::default(), 0);
        second.tolerance.on_leaving(second.now, || second.flows.place(&syn), &syn);
        assert!(!second.is_tolerant());
    }

    #[test]
    fn nobody_is_if_all_are_to_be_repaired() {
        let mut sender = Sender::over(Tolerance::new(false), 1000);
        sender.lose(30, 30);
        assert!(!sender.is_tolerant());
        sender.tolerance.adopt(&Tolerance::new(true));
        sender.lose(30, 30);
        assert!(sender.is_tolerant());
        sender.tolerance.adopt(&Tolerance::new(false));
        assert!(!sender.is_tolerant());
        sender.tolerance.adopt(&Tolerance::new(true));
        assert!(!sender.is_tolerant(), "what was known is forgotten");
    }
}
