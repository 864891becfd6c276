//! What goes to the link: the queue before it, the rate at which it is emptied, and copies of what the other end may not
//! have.

use super::ack_frames::AckFrames;
use super::ahead::{self, Ahead, AheadSettings};
use super::answers::Answers;
use super::block::Block;
use super::events;
use super::flows::Flows;
use super::frame::{FRAME_LEN, Form, Kind, Shim, encode_shim};
use super::framing::Framing;
use super::message::{LinkNews, Message};
use super::timing::Timing;
use super::tolerance::Tolerance;
use super::twice::Twice;
use super::{Settings, share};
use crate::Site;
use crate::egress::{Allowance, Egress, Lane, Lossy};
use crate::hop::{Part, ShimRoom, times};
use crate::link_rate::{LinkRate, Messages, Name};
use crate::position::Position;
use crate::selective_repeat::{Ack, Frame, Mending, Place, Sender};
use airtcp_core::packet::SHIM_HEADER;
use airtcp_core::{Context, CreateReason, DropReason, Duration, Event, Instant, Packet, Port, Rate};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Repairs take at most one part in so many of the link's time.
const REPAIR_PARTS: u64 = 2;
/// So many copies may wait for their time.
const MOST_SPARES: usize = 1024;
/// The time between probes that nobody answers doubles so many times.
const MOST_DOUBLINGS: u32 = 3;
/// A few packets must always be able to be in the air.
const MIN_WINDOW: u64 = 64 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub egress: Egress,
    pub link_rate: LinkRate,
    pub sender: Sender,
    shim_room: ShimRoom,
    /// Room for codes: what is in them must be shorter.
    code_room: ShimRoom,
    pub ahead: Ahead,
    flows: Flows,
    acks: AckFrames,
    tolerance: Tolerance,
    answers: Answers,
    repairs: Allowance,
    messages: Messages,
    /// Copies that go out when their time has come, unless the packet is acknowledged by then.
    spares: VecDeque<(Instant, Position)>,
    /// Probes one after the other that nobody has answered.
    probes: u32,
    block: Block,
    /// When the first frame left of those that nobody has answered.
    unanswered_since: Option<Instant>,
    /// Nobody answers for longer than it takes.
    is_out_of_touch: bool,
    /// The last packet of a burst, which goes out once more if nothing else does until then.
    last: Option<(Instant, Position)>,
    redundancy: bool,
    twice: Twice,
    always_framed: bool,
    framing: Framing,
    lossy: Lossy,
    /// Most memory of copies.
    most_copies: u64,
    /// The largest window so far: the rate, and with it the window, may have fallen since.
    pub largest_window: u64,
}

impl Outgoing {
    /// Empties `egress`, in frames of this incarnation.
    pub fn new(settings: &Settings, site: &mut Site<'_>, egress: Egress, incarnation: u16) -> Outgoing {
        let sixteenth = super::sixteenth(site.max_memory);
        let shim_room = |overhead| ShimRoom::new(settings.mtu, &site.link, overhead);
        let mut link_rate = LinkRate::new(egress.rate(), if settings.learn { sixteenth / 4 } else { 0 });
        link_rate.limit_in_flight(settings.in_flight);
        if let Some(forecast) = &site.forecast {
            link_rate.ask(settings.told(forecast));
        }
        Outgoing {
            link_rate,
            egress,
            sender: Sender::new(incarnation, settings.tries),
            shim_room: shim_room([SHIM_HEADER + FRAME_LEN as u32; 2]),
            code_room: shim_room(ahead::OVERHEAD),
            ahead: Ahead::new(AheadSettings::new(settings), sixteenth / 2),
            flows: Flows::new(site.rng),
            acks: AckFrames::new(settings.many_acks),
            tolerance: Tolerance::new(!settings.repair_tolerant),
            answers: Answers::default(),
            repairs: Allowance::new(REPAIR_PARTS),
            messages: Messages::default(),
            spares: VecDeque::new(),
            probes: 0,
            block: Block::default(),
            unanswered_since: None,
            is_out_of_touch: false,
            last: None,
            redundancy: settings.redundancy,
            twice: Twice::new(settings.short_twice),
            always_framed: settings.always_framed,
            framing: Framing::default(),
            lossy: Lossy::default(),
            most_copies: sixteenth * share::COPIES,
            largest_window: 0,
        }
    }

    /// Works from now on as `next` would, a fresh one of the same memory.
    pub fn adopt(&mut self, cx: &mut Context<'_>, next: &mut Outgoing) {
        (self.shim_room, self.code_room) = (next.shim_room, next.code_room);
        (self.redundancy, self.always_framed) = (next.redundancy, next.always_framed);
        self.sender.adopt(&next.sender);
        self.twice.adopt(&next.twice);
        self.ahead.adopt(&next.ahead);
        self.acks.adopt(&next.acks);
        self.tolerance.adopt(&next.tolerance);
        self.link_rate.adopt(cx.now(), &mut next.link_rate, &mut self.egress);
        self.egress.adopt(cx.now(), &mut next.egress);
        self.egress.discard_dropped(cx);
    }

    /// What waits for the link; what has left is forgotten.
    pub fn surrender(&mut self, cx: &mut Context<'_>) -> Vec<Packet> {
        self.forget_sent();
        let waiting = self.egress.take_all(cx.now());
        self.egress.discard_dropped(cx);
        waiting
    }

    /// A packet on its way to the link.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, mut packet: Packet, timing: &Timing, in_reach: bool) {
        self.clamp(cx.now(), &mut packet, timing);
        self.framing.begin(cx.now());
        if self.framing.is_needed(cx.now(), timing.rtt) {
            self.tolerance.on_leaving(cx.now(), || self.flows.place(&packet), &packet);
        }
        if !in_reach && self.egress.is_empty() {
            self.egress.charge(cx.now(), packet.wire_len());
            return cx.send(Port::LINK, packet);
        }
        self.begin(cx.now(), timing, in_reach);
        self.egress.enqueue(cx, packet);
        self.egress.discard_dropped(cx);
        self.send_due(cx, timing, in_reach);
    }

    /// A packet came over the link.
    pub fn on_arrival(&mut self, now: Instant, packet: &Packet, timing: &Timing) {
        if self.framing.is_needed(now, timing.rtt) {
            self.tolerance.on_arrival(now, || self.flows.way_back(packet), packet);
        }
    }

    /// Makes a SYN ask for segments that leave room for what is added.
    pub fn clamp(&mut self, now: Instant, packet: &mut Packet, timing: &Timing) {
        let is_coded = self.ahead.is_far(timing.rtt) && self.lossy.is_lossy(now);
        let room = if is_coded { &self.code_room } else { &self.shim_room };
        room.clamp(packet);
    }

    /// Call before something may become sendable that was not.
    fn begin(&mut self, now: Instant, timing: &Timing, in_reach: bool) {
        if !self.has_sendable(now, timing, in_reach) {
            self.egress.begin(now);
        }
    }

    fn has_sendable(&self, now: Instant, timing: &Timing, in_reach: bool) -> bool {
        let may_repair = self.sender.has_lost() && self.repairs.free_from(timing.hold) <= now;
        may_repair
            || self.ahead.is_due()
            || !self.egress.is_empty() && (self.has_window(timing) || !self.helps(now, timing, in_reach))
    }

    /// Memory of copies that may be kept: what leaves, at the present rate, in the time until a loss is repaired.
    fn window(&self, timing: &Timing) -> u64 {
        let span = timing.hold + timing.rtt;
        let auto = self.rate().map_or(u64::MAX, |rate| rate.bytes_in(span).saturating_mul(2));
        auto.max(MIN_WINDOW).min(self.most_copies)
    }

    fn has_window(&self, timing: &Timing) -> bool {
        self.sender.has_window(self.window(timing))
    }

    /// What the link carries as far as it is known.
    pub fn rate(&self) -> Option<Rate> {
        self.link_rate.of_link(&self.egress)
    }

    /// Sends whatever the link has time for: repairs first.
    pub fn send_due(&mut self, cx: &mut Context<'_>, timing: &Timing, in_reach: bool) {
        self.link_rate.follow(cx.now(), timing.rtt, &mut self.egress);
        let answered_within = self.answered_within(timing);
        self.is_out_of_touch = self.unanswered_since.is_some_and(|since| since + answered_within <= cx.now());
        while self.egress.is_free(cx.now()) {
            let is_sent = self.repair(cx, timing)
                || self.send_spare(cx)
                || self.send_code(cx)
                || self.send_new(cx, timing, in_reach)
                || self.send_last_again(cx);
            if !is_sent {
                break;
            }
        }
        self.egress.discard_dropped(cx);
    }

    /// Sends the oldest packet again that was lost. False if there is none, or it must wait.
    fn repair(&mut self, cx: &mut Context<'_>, timing: &Timing) -> bool {
        let Some((packet, frame)) = self.sender.repair(cx) else { return false };
        let time = self.egress.transmission(packet.wire_len());
        if !self.repairs.take(cx.now(), time, timing.hold) {
            cx.emit(events::REPAIR_DELAYED);
            cx.discard(packet, DropReason::QUEUE_FULL);
            return false;
        }
        let kind = self.ahead.kind(&packet);
        if !self.transmit(cx, packet, &self.shim(frame, kind)) {
            return false;
        }
        cx.emit(Event::REPAIR);
        let now = cx.now();
        self.on_loss(now, timing);
        if let Some((sequence, tries)) = self.sender.on_repaired(now) {
            self.plan_spares(now, sequence, tries, timing);
        }
        true
    }

    fn on_loss(&mut self, now: Instant, timing: &Timing) {
        self.framing.on_loss(now);
        self.lossy.on_loss(now, &mut self.egress, timing.rtt + timing.guard);
    }

    /// The fewer tries are left in the time that packets wait, the more copies of a repair go out. They are sent some time
    /// apart, as losses come in bursts.
    fn plan_spares(&mut self, now: Instant, sequence: Position, tries: u8, timing: &Timing) {
        let repairs = u64::from(tries) - 1;
        let spares = if repairs >= timing.rounds() { 2 } else { u64::from(repairs > 1) };
        self.plan_copies(now, sequence, spares, timing);
    }

    fn plan_copies(&mut self, now: Instant, sequence: Position, copies: u64, timing: &Timing) {
        for n in 1..=copies {
            if self.spares.len() < MOST_SPARES {
                self.spares.push_back((now + timing.rtt * n / 8, sequence));
            }
        }
    }

    /// Sends a planned copy whose time has come, of what nobody acknowledged so far.
    fn send_spare(&mut self, cx: &mut Context<'_>) -> bool {
        while let Some((_, sequence)) = self.spares.front().copied().filter(|(due, _)| *due <= cx.now()) {
            self.spares.pop_front();
            if self.send_again(cx, sequence) {
                return true;
            }
        }
        false
    }

    /// Sends a code whose turn has come.
    fn send_code(&mut self, cx: &mut Context<'_>) -> bool {
        while self.ahead.is_due() {
            let Some((code, packet)) = self.ahead.take(self.sender.next_number()) else { continue };
            let frame = self.sender.other_frame(code.first);
            let packet = cx.create(packet, events::CODE);
            if !self.transmit(cx, packet, &self.shim(frame, Kind::Code { count: code.count })) {
                return false;
            }
            cx.emit(events::CODE_SENT);
            return true;
        }
        false
    }

    /// The end of a burst again: nothing behind it would show its loss.
    fn send_last_again(&mut self, cx: &mut Context<'_>) -> bool {
        let last = self.last.take_if(|(from, _)| *from <= cx.now());
        last.is_some_and(|(_, sequence)| self.send_again(cx, sequence))
    }

    fn send_again(&mut self, cx: &mut Context<'_>, sequence: Position) -> bool {
        let Some((packet, frame)) = self.sender.again(cx, sequence, CreateReason::REPAIR) else { return false };
        let kind = self.ahead.kind(&packet);
        if !self.transmit(cx, packet, &self.shim(frame, kind)) {
            return false;
        }
        cx.emit(events::SPARE_COPY);
        self.sender.on_sent_again(sequence, cx.now());
        true
    }

    /// Something left.
    fn on_departure(&mut self, cx: &mut Context<'_>, name: Name, bytes: u32) {
        self.ahead.on_departure(cx.now(), self.egress.transmission(bytes));
        self.link_rate.on_departure(cx, name, Lane::Queue, &mut self.egress);
    }

    /// A frame left.
    fn on_frame(&mut self, now: Instant) {
        self.block.on_frame();
        self.unanswered_since.get_or_insert(now);
    }

    /// Frames are answered, or there are none.
    fn on_answer(&mut self) {
        self.block.on_answer();
        (self.probes, self.unanswered_since) = (0, None);
    }

    /// What a frame says, as short as the other end can read it. While nobody answers it may have lost the thread.
    fn shim(&self, frame: Frame, kind: Kind) -> Shim {
        let is_short = !self.is_out_of_touch && self.sender.is_in_step();
        let short = Form::Short { tells_back: self.sender.is_awaited_in_vain() };
        Shim { frame, kind, form: if is_short { short } else { Form::Whole } }
    }

    /// Sends a packet that was made here, in its frame.
    fn transmit(&mut self, cx: &mut Context<'_>, mut packet: Packet, shim: &Shim) -> bool {
        packet.push_shim(&encode_shim(shim));
        let bytes = packet.wire_len();
        match self.egress.send(cx, packet) {
            Ok(()) => {
                self.on_frame(cx.now());
                self.on_departure(cx, Name::numbered(shim.frame.number.0, bytes), bytes);
                true
            }
            // It is made again when there is room.
            Err(packet) => {
                cx.discard(packet, DropReason::QUEUE_FULL);
                false
            }
        }
    }

    fn send_new(&mut self, cx: &mut Context<'_>, timing: &Timing, in_reach: bool) -> bool {
        let in_reach = self.helps(cx.now(), timing, in_reach);
        if in_reach && !self.has_window(timing) {
            return false;
        }
        self.link_rate.allow_for_silence(cx.now(), &mut self.egress);
        let Some(departure) = self.egress.pop(cx) else { return false };
        let is_tolerant = in_reach && self.tolerates_loss(cx.now(), &departure.packet);
        let in_reach = in_reach && !is_tolerant && self.needs_frame(cx.now(), &departure.packet, timing.rtt);
        let sequence = self.sender.next_sequence();
        let mut copy = departure.packet.clone();
        let flow = if in_reach { self.flows.find(&copy) } else { None };
        let before = flow.and_then(|flow| self.flows.last(flow));
        // The next acknowledgment says what a lost one said.
        let has_content = copy.tcp().is_none() || copy.sequence_len() > 0;
        let room = if self.ahead.is_active() { &self.code_room } else { &self.shim_room };
        let tail = if in_reach { room.split_off_tail(&mut copy) } else { None };
        let place = Place { before, part: if tail.is_some() { Part::Head } else { Part::Whole } };
        let frame = self.sender.next_frame(place);
        let mut framed = copy.clone();
        let shim = self.shim(frame, self.ahead.kind(&copy));
        let is_framed = in_reach && self.shim_room.push_shim(cx, &mut framed, &encode_shim(&shim));
        let bytes = framed.wire_len();
        let name = if is_framed { Name::numbered(frame.number.0, bytes) } else { Name::of(&framed) };
        if self.egress.send(cx, framed).is_err() {
            self.egress.put_back(departure);
            return false;
        }
        if is_tolerant {
            cx.emit(events::TOLERANT);
        }
        let now = cx.now();
        let time = self.egress.transmission(bytes);
        let lost = self.link_rate.lost(now);
        let is_copied = is_framed && self.lossy.is_lossy(now) && self.twice.take(now, &copy, &self.flows, time, lost);
        if is_copied {
            self.plan_copies(now, sequence, 1, timing);
        }
        if is_framed {
            self.cover(sequence, &frame, &copy);
            self.sender.on_sent(copy, place, now);
            self.on_frame(now);
            self.largest_window = self.largest_window.max(self.window(timing));
        }
        self.on_departure(cx, name, bytes);
        let tail = tail.filter(|_| is_framed);
        let (is_whole, mut newest) = (tail.is_none(), sequence);
        if let Some(tail) = tail {
            newest = self.send_tail(cx, sequence, tail);
        }
        if let Some(flow) = flow.filter(|_| is_framed) {
            self.flows.set_last(flow, newest);
        }
        let may_repeat = is_framed && !is_copied && is_whole && has_content;
        self.use_spare_time(now, sequence, may_repeat, timing);
        true
    }

    /// A new packet left, which may go out once more; codes may follow it, if the link has time.
    fn use_spare_time(&mut self, now: Instant, sequence: Position, may_repeat: bool, timing: &Timing) {
        let has_time = self.egress.is_empty() && self.link_rate.has_time();
        if has_time {
            self.ahead.on_spare_time();
        }
        let is_last = may_repeat && !self.ahead.is_due() && self.redundancy;
        // Codes that left before it may mend it, too, and the next packet may bring some.
        let wait = if self.ahead.covers() { timing.rtt / 8 } else { Duration::ZERO };
        self.last = (has_time && is_last && self.lossy.is_lossy(now)).then_some((now + wait, sequence));
    }

    /// False for an acknowledgment that the next one makes up for.
    fn needs_frame(&mut self, now: Instant, packet: &Packet, rtt: Duration) -> bool {
        self.flows.of_ack(packet).is_none_or(|flow| self.acks.need_frame(now, flow, rtt))
    }

    /// True for data of a flow that a loss does not slow down.
    fn tolerates_loss(&mut self, now: Instant, packet: &Packet) -> bool {
        if self.always_framed || packet.tcp().is_none() || packet.sequence_len() == 0 {
            return false;
        }
        let Some(lost) = self.link_rate.lost(now) else { return false };
        self.tolerance.goes_without_repair(self.flows.place(packet), lost, !self.sender.has_lost())
    }

    /// Puts a new packet into codes, if it leaves room for them.
    fn cover(&mut self, sequence: Position, frame: &Frame, packet: &Packet) {
        if self.code_room.fits(packet) {
            self.ahead.on_sent(sequence, frame, packet);
        }
    }

    /// Sends what was cut off the packet with this number, behind it: its own number.
    fn send_tail(&mut self, cx: &mut Context<'_>, head: Position, tail: Packet) -> Position {
        let sequence = self.sender.next_sequence();
        let place = Place { before: Some(head), part: Part::Tail };
        let frame = self.sender.next_frame(place);
        let copy = tail.clone();
        let tail = cx.create(tail, events::CUT_OFF);
        // Where the ring has no room for it, it is lost at once, and repaired.
        let kind = self.ahead.kind(&copy);
        self.transmit(cx, tail, &self.shim(frame, kind));
        self.cover(sequence, &frame, &copy);
        self.sender.on_sent(copy, place, cx.now());
        sequence
    }

    /// What came at the other end.
    pub fn on_feedback(&mut self, cx: &mut Context<'_>, ack: &Ack, news: &LinkNews, timing: &Timing) {
        self.begin(cx.now(), timing, true);
        if self.is_out_of_touch && self.sender.catch_up(ack) {
            self.ahead.forget();
        }
        let is_ours = self.sender.is_of(ack);
        if is_ours && news.losses.is_none() {
            self.ahead.on_short_hop();
        }
        let mending = news.losses.filter(|_| is_ours).and_then(|losses| {
            self.ahead.on_feedback(ack, losses.arrived, self.sender.oldest(), timing.rtt, self.rate());
            let patience = self.ahead.patience(times::packet_time(self.rate()))?;
            let at_most = patience * 2 + timing.rtt + timing.guard;
            Some(Mending { patience, deficit: losses.deficit.into(), at_most })
        });
        let untold = self.answered_within(timing);
        if let Some(sample) = self.sender.on_ack(cx, ack, mending, untold) {
            self.on_answer();
            self.answers.add(sample);
        }
        if let Some(report) = news.report.as_ref().filter(|_| is_ours)
            && self.link_rate.on_report(cx, report, timing.rtt, &mut self.egress)
        {
            self.on_loss(cx.now(), timing);
        }
        self.tell_oldest(cx);
    }

    /// `echoed`: when the latest message left that the other end has heard.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, timing: &Timing, in_reach: bool, echoed: Instant) {
        self.begin(cx.now(), timing, in_reach);
        if self.block.on_echo(cx.now(), echoed) {
            cx.emit(events::FRAMES_BLOCKED);
            self.forget_sent();
        }
        self.link_rate.on_echo(cx, echoed, &mut self.egress);
        self.probe(cx, timing);
        self.send_due(cx, timing, in_reach);
    }

    /// Nothing was acknowledged although it was time: what left last goes out again, and its acknowledgment will tell what
    /// else is missing. Resending all would fill a link that only stood still.
    fn probe(&mut self, cx: &mut Context<'_>, timing: &Timing) {
        let Some((sequence, sent_at)) = self.sender.newest_in_air() else { return };
        let now = cx.now();
        let has_room = self.egress.next_free().is_some() && self.spares.len() < MOST_SPARES;
        if sent_at + self.probe_after(timing) <= now && has_room {
            self.probes += 1;
            self.spares.push_front((now, sequence));
        }
    }

    /// An acknowledgment that takes longer than any of late, and a guard, does not come.
    fn answered_within(&self, timing: &Timing) -> Duration {
        self.answers.longest(timing.rtt + timing.ack_delay) + timing.guard
    }

    /// Each time that nobody answers twice as long.
    fn probe_after(&self, timing: &Timing) -> Duration {
        self.answered_within(timing).saturating_mul(1 << self.probes.min(MOST_DOUBLINGS))
    }

    /// What was given up must not be waited for. If the message is lost, the next frame says it.
    fn tell_oldest(&mut self, cx: &mut Context<'_>) {
        if let Some((incarnation, oldest)) = self.sender.take_oldest() {
            self.tell(cx, &Message::Oldest(incarnation, oldest));
        }
    }

    /// Sends a message to the other end, and says how many bytes it has on the link.
    pub fn tell(&mut self, cx: &mut Context<'_>, message: &Message) -> u32 {
        self.messages.send(cx, &mut self.egress, &mut self.link_rate, &message.encode())
    }

    /// True if packets leave in frames.
    fn helps(&self, now: Instant, timing: &Timing, in_reach: bool) -> bool {
        in_reach && !self.block.is_on(now) && (self.always_framed || self.framing.is_needed(now, timing.rtt))
    }

    fn forget_sent(&mut self) {
        self.sender.clear();
        self.spares.clear();
        self.last = None;
        self.on_answer();
        self.ahead.forget();
    }

    /// The other end is gone, or is another one.
    pub fn forget(&mut self) {
        self.forget_sent();
        self.block = Block::default();
        self.answers = Answers::default();
        self.link_rate.forget();
        self.framing = Framing::default();
    }

    pub fn poll_timeout(&self, timing: &Timing, in_reach: bool) -> Option<Instant> {
        let free = self.egress.next_free();
        let repair_from = self.sender.has_lost().then(|| self.repairs.free_from(timing.hold));
        let repair = repair_from.zip(free).map(|(from, free)| from.max(free));
        let has_new = !self.egress.is_empty() && (self.has_window(timing) || !in_reach);
        let send = free.filter(|_| has_new || self.ahead.is_due());
        let last = self.last.zip(free).map(|((from, _), free)| from.max(free));
        let spare = self.spares.front().map(|(due, _)| *due).zip(free).map(|(due, free)| due.max(free));
        let probe =
            self.sender.last_sent().filter(|_| self.spares.is_empty()).map(|sent| sent + self.probe_after(timing));
        let probe = probe.zip(free).map(|(due, _)| due);
        let told = self.link_rate.poll_timeout().filter(|_| !self.egress.is_empty());
        [send, last, repair, spare, probe, told].into_iter().flatten().min()
    }

    pub fn memory(&self) -> u64 {
        self.egress.backlog().bytes
            + self.sender.memory()
            + self.link_rate.memory()
            + self.ahead.memory()
            + super::TABLES
    }

    pub fn check(&self) -> Result<(), &'static str> {
        self.egress.check()?;
        self.sender.check(self.largest_window)
    }
}
