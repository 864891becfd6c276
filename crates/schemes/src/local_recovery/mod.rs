//! Local recovery: both ends of a hop repair whatever crosses it, TCP, QUIC, tunnels, anything of IP, and hosts notice
//! nothing. What the IETF's LOOPS drafts call by this name, link ARQ ([`crate::baselines::arq`]) made fit for the field.
//!
//! One feedback loop does all. Every packet has a number in a shim behind its IP header. The far end says which numbers came,
//! and from time to time when and how much in all. From the first follows what has to be sent again, from the second what
//! the link carries (`link_rate`).
//!
//! - *Congestion is not repaired*: the queue before the link is here, so what it drops never had a number. It is FQ-CoDel.
//! - *Order*: a packet waits at the far end only for packets of its own flow, no longer than a bound, and voice never.
//!   The near end says which packet each one goes behind, so the far end need not know what a flow is.
//! - *Long packets* that leave no room for a shim go over the link in two.
//! - *Ends of bursts* go out twice where the link has time. If nothing is acknowledged in the time that acknowledgments take,
//!   what left last goes out again, and its acknowledgment tells what else is missing.
//! - *Short packets* that come one by one go out twice on a link that loses some (`twice.rs`).
//! - *A way that loses all frames* and lets messages through (a firewall that knows no protocol 254) gets packets as they are.
//! - *Clean links* carry packets as they are, until they lose one (`framing.rs`), and others those of flows that a loss does not slow
//!   down (`tolerance.rs`).
//! - *Later tries*: the fewer are left, the more copies go out.
//! - *Long hops*: codes among the packets mend most losses before anybody could ask (`ahead.rs`).

mod ack_frames;
mod ahead;
mod answers;
mod block;
mod covered;
pub mod events;
mod exit;
mod feedback;
mod flows;
mod frame;
mod framing;
mod halves;
mod losses;
mod message;
mod outgoing;
mod restorer;
mod settings;
mod silence;
mod spare_time;
mod timing;
mod tolerance;
mod twice;

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod codes_tests;
#[cfg(test)]
mod tests;

pub use frame::{Form, Kind, Shim, decode_shim, encode_shim};
pub use message::{LinkNews, LossNews, Message};
pub use settings::Settings;

use crate::egress::{Egress, EgressSettings, check_rate, link_queue};
use crate::hop::{self, Keep, Order, Turn, incarnation, unwrap};
use crate::link_rate::{Advice, Arrivals, Name, Report};
use crate::peer::{self, Change, Peer};
use crate::position::{self, Position};
use crate::selective_repeat::Receiver;
pub use crate::selective_repeat::{Ack, Arrived, Frame};
use crate::{LEAST_MEMORY, Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{
    Backlog, ByteSize, Context, CreateReason, DropReason, Duration, Element, Event, Gauge, Instant, Legacy, Packet,
    Peer as PeerId, Port, Rate,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use covered::Restored;
use exit::Exit;
use feedback::Feedback;
pub(crate) use frame::Known;
use halves::Halves;
use outgoing::Outgoing;
use restorer::Restorer;
use silence::Silence;
use timing::Timing;

/// The line of local recovery in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "local-recovery",
    about: "Both ends of a hop repair packets of any kind, and learn what it carries",
    source: "LOOPS (draft-li-tsvwg-loops-problem-opportunities); RFC 3366; ours",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

fn make(settings: &Settings, site: &mut Site<'_>) -> Made {
    peer::check_distance(settings.hello, settings.peer_timeout)?;
    settings.mtu.map_or(Ok(()), hop::check_mtu)?;
    if settings.tries == 0 {
        return Err(ParameterError::bad("tries", "0 would send nothing; write 1 for a link without repair"));
    }
    check_rate(settings.rate)?;
    settings.check_told()?;
    Ok(Box::new(Station::new(settings, site)))
}

/// Share for each use of the memory that the tables leave, in sixteenths; the rest is slack for the allocator.
mod share {
    pub const QUEUE: u64 = 3;
    pub const COPIES: u64 = 5;
    pub const HELD: u64 = 4;
}

/// Memory of the tables, which are as large whatever `max_memory` is.
const TABLES: u64 = flows::MEMORY + twice::MEMORY + ack_frames::MEMORY + tolerance::MEMORY;
const _: () = assert!(TABLES <= LEAST_MEMORY.0 / 2, "half of the least memory is for packets");

/// A sixteenth of what the tables leave.
fn sixteenth(max_memory: ByteSize) -> u64 {
    max_memory.0.saturating_sub(TABLES) / 16
}

/// What the operator is told of an end that cannot be understood.
const OTHER_VERSION: &str = "the other end speaks another version of local recovery, so packets pass as they are: run the same airtcp at both ends";

/// So many packets are acknowledged at once.
const ACK_EVERY: u16 = 32;

/// One end of the hop.
#[derive(Debug)]
pub struct Station {
    outgoing: Outgoing,
    receiver: Receiver<Halves>,
    restorer: Restorer,
    arrivals: Arrivals,
    feedback: Feedback,
    silence: Silence,
    peer: Peer,
    /// The latest message was of an end that speaks another version.
    hears_other_version: bool,
    hold: Option<Duration>,
    /// The queue is ours, so packets may wait for a round trip of the link in it.
    has_default_queue: bool,
    max_memory: ByteSize,
}

impl Station {
    /// The element for one end of a link.
    pub fn new(settings: &Settings, site: &mut Site<'_>) -> Self {
        let sixteenth = sixteenth(site.max_memory);
        let queue = settings.queue.clone().unwrap_or_else(|| link_queue(settings.head_start));
        let queue = EgressSettings::within(site, settings.rate, Some(&queue), sixteenth * share::QUEUE);
        let mut egress = Egress::new(queue, site.rng);
        if settings.thin_acks {
            egress.thin_acks();
        }
        let peer = Peer::new(settings.hello, settings.peer_timeout, None, site.rng.next_u64());
        let outgoing = Outgoing::new(settings, site, egress, incarnation(peer.epoch()));
        let exit = Exit::new(settings.catch_up, sixteenth);
        let order = Order::through(Halves::new(exit, sixteenth / 2), Keep::Flows, sixteenth * share::HELD);
        Station {
            outgoing,
            receiver: Receiver::new(order, ACK_EVERY),
            restorer: Restorer::new(sixteenth),
            arrivals: Arrivals::default(),
            feedback: Feedback::default(),
            silence: Silence::default(),
            peer,
            hears_other_version: false,
            hold: settings.hold,
            has_default_queue: settings.queue.is_none(),
            max_memory: site.max_memory,
        }
    }

    /// True if its tables are of the same size, and what has waited leaves as fast.
    fn may_adopt(&self, next: &Station) -> bool {
        self.max_memory == next.max_memory && self.receiver.order.outlet.speed() == next.receiver.order.outlet.speed()
    }

    /// Packets of a queue of our own may wait a round trip at least.
    fn allow_waits(&mut self) {
        if self.has_default_queue {
            let room = self.outgoing.link_rate.room().max(self.peer.rtt());
            self.outgoing.egress.set_least_wait(room);
        }
    }

    /// What the ends wait for now.
    fn timing(&self) -> Timing {
        Timing::new(self.peer.rtt(), &self.outgoing.egress, self.hold)
    }

    /// A packet off the link.
    fn receive(&mut self, cx: &mut Context<'_>, packet: Packet, timing: &Timing) {
        let bytes = packet.wire_len();
        let Some((shim, mut packet)) = unwrap(cx, packet, decode_shim) else {
            // Nobody knows whose frame it was.
            self.silence.on_packet(cx.now(), false);
            return;
        };
        self.outgoing.clamp(cx.now(), &mut packet, timing);
        // A frame of an earlier incarnation of the other end says nothing about the present one.
        let known = self.known();
        self.silence.on_packet(cx.now(), shim.zip(known).is_some_and(|(shim, known)| shim.is_of(&known)));
        let completed = shim.and_then(|shim| shim.completed(known.as_ref()?));
        // A whole packet that will not be sent again passes as it came.
        let is_useless = |shim: Shim| shim.is_partial() || known.is_some_and(|known| shim.comes_again(&known));
        if completed.is_none() && shim.is_some_and(is_useless) {
            return cx.discard(packet, DropReason::CORRUPTED);
        }
        let shim = completed;
        if shim.is_none_or(|shim| !shim.is_partial()) {
            self.outgoing.on_arrival(cx.now(), &packet, timing);
        }
        let name = shim.map_or_else(|| Name::of(&packet), |shim| Name::numbered(shim.frame.number.0, bytes));
        let report = self.arrivals.add(cx.now(), name, feedback::cost(&self.outgoing.egress));
        let is_due = match shim {
            Some(shim) => self.on_frame(cx, &shim, packet, timing),
            None => {
                cx.send(Port::INNER, packet);
                false
            }
        };
        self.answer(cx, is_due, report);
    }

    /// What short frames are read by, once the other end was heard.
    fn known(&self) -> Option<Known> {
        let incarnation = incarnation(self.peer.other_epoch()?);
        Some(Known { incarnation, places: self.receiver.places(incarnation) })
    }

    /// A frame of the present incarnation of the other end. True if an acknowledgment must leave now.
    fn on_frame(&mut self, cx: &mut Context<'_>, shim: &Shim, packet: Packet, timing: &Timing) -> bool {
        let (is_due, computed) = if let Kind::Code { count } = shim.kind {
            let first = position::near(self.receiver.order.expected(), shim.frame.sequence);
            let is_known = self.receiver.follows(shim.frame.incarnation);
            let computed = if is_known { self.restorer.on_code(first, count, shim, &packet) } else { Vec::new() };
            cx.consume(packet);
            (self.receiver.on_other_frame(&shim.frame), computed)
        } else {
            if !self.receiver.follows(shim.frame.incarnation) {
                self.restorer.clear();
                self.let_go(cx);
            }
            let source = (shim.kind != Kind::Packet).then(|| packet.clone());
            let is_due = self.receiver.on_frame(cx, &shim.frame, packet, &timing.patience());
            let at = position::near(self.receiver.order.expected(), shim.frame.sequence);
            (is_due, source.map_or(Vec::new(), |source| self.restorer.on_packet(at, shim, &source)))
        };
        let is_new = self.pass_computed(cx, computed);
        self.settle(cx);
        is_new || is_due
    }

    /// Passes on what was computed and did not come; true if there was any.
    fn pass_computed(&mut self, cx: &mut Context<'_>, computed: Vec<(Position, Restored)>) -> bool {
        let mut is_new = false;
        for (sequence, Restored { after, part, packet }) in computed {
            if self.receiver.order.misses(sequence) {
                cx.emit(Event::RECOVERED);
                let packet = cx.create(packet, CreateReason::RECOVERED);
                is_new |= self.receiver.order.take(cx, Turn { sequence, after, part }, packet);
            }
        }
        is_new
    }

    /// Heads whose tails will not come any more wait no longer.
    fn settle(&mut self, cx: &mut Context<'_>) {
        let expected = self.receiver.order.expected();
        self.receiver.order.outlet.forget_before(cx, expected);
        self.restorer.forget_before(expected);
    }

    /// Tells the other end what came, if there is something to tell and the way back has room for it.
    fn answer(&mut self, cx: &mut Context<'_>, is_due: bool, report: Option<Report>) {
        self.feedback.note(report);
        // Where others want the way back, what the link carried is told with what came.
        let can_wait = !is_due && self.receiver.will_acknowledge() && !self.outgoing.egress.is_empty();
        if is_due || report.is_some() && !can_wait {
            self.feedback.want();
        }
        let Some(report) = self.feedback.take(cx.now()) else { return };
        if let Some(ack) = self.receiver.acknowledge() {
            let losses = self.outgoing.ahead.may_be_long(self.peer.rtt()).then(|| self.losses());
            let bytes = self.outgoing.tell(cx, &Message::Ack((ack, LinkNews { losses, report })));
            self.feedback.charge(cx.now(), self.outgoing.egress.transmission(bytes));
        }
    }

    fn losses(&self) -> LossNews {
        let deficit = self.receiver.order.missing().saturating_sub(self.restorer.rank());
        LossNews { arrived: self.receiver.arrived(), deficit: u16::try_from(deficit).unwrap_or(u16::MAX) }
    }

    /// Nothing waits any longer for what may not come.
    fn let_go(&mut self, cx: &mut Context<'_>) {
        self.receiver.order.release_all(cx);
        self.receiver.order.outlet.clear(cx);
    }

    /// The other end is gone or forgot everything.
    fn start_anew(&mut self, cx: &mut Context<'_>) {
        self.receiver.release_all(cx);
        self.receiver.order.outlet.clear(cx);
        self.restorer.clear();
        self.feedback.clear();
        self.outgoing.forget();
    }
}

impl Element for Station {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        let timing = self.timing();
        if port == Port::LINK {
            self.receive(cx, packet, &timing);
        } else {
            self.outgoing.handle_packet(cx, packet, &timing, self.peer.in_reach());
        }
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.outgoing.egress.on_ready();
            self.outgoing.send_due(cx, &self.timing(), self.peer.in_reach());
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        if message::is_of_another_version(bytes) {
            cx.emit(events::OTHER_VERSION);
            self.hears_other_version = true;
            return;
        }
        let Some(message) = self.peer.hear(cx, peer, bytes, Message::decode) else { return };
        self.hears_other_version = false;
        let timing = self.timing();
        match message {
            Message::Hello(hello) => {
                if self.peer.on_hello(cx, &hello) == Change::Restarted {
                    self.start_anew(cx);
                }
                if self.peer.in_reach() {
                    self.silence.end();
                }
                self.allow_waits();
            }
            Message::Ack((ack, news)) => self.outgoing.on_feedback(cx, &ack, &news, &timing),
            Message::Oldest(incarnation, oldest) => {
                self.receiver.on_oldest(cx, incarnation, oldest);
                self.settle(cx);
            }
        }
        self.outgoing.send_due(cx, &timing, self.peer.in_reach());
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.peer.keep_distance(hop::hello_distance(self.outgoing.rate()));
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            self.outgoing.tell(cx, &Message::Hello(hello));
        }
        if tick.fell_silent {
            self.silence.begin(cx.now());
            self.let_go(cx);
        }
        if self.silence.is_over(cx.now()) {
            self.start_anew(cx);
        }
        let timing = self.timing();
        let is_due = self.receiver.handle_timeout(cx, &timing.patience());
        self.receiver.order.outlet.handle_timeout(cx, timing.hold);
        self.settle(cx);
        self.answer(cx, is_due, None);
        self.outgoing.handle_timeout(cx, &timing, self.peer.in_reach(), self.peer.echoed());
    }

    fn surrender(&mut self, cx: &mut Context<'_>) -> Legacy {
        self.let_go(cx);
        Legacy { waiting: self.outgoing.surrender(cx), ..Legacy::default() }
    }

    fn adopt(&mut self, cx: &mut Context<'_>, next: &mut dyn Any) -> bool {
        let Some(next) = next.downcast_mut::<Station>().filter(|next| self.may_adopt(next)) else { return false };
        (self.hold, self.has_default_queue) = (next.hold, next.has_default_queue);
        self.peer.adopt(&next.peer);
        self.outgoing.adopt(cx, &mut next.outgoing);
        self.allow_waits();
        let timing = self.timing();
        self.outgoing.send_due(cx, &timing, self.peer.in_reach());
        true
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timing = self.timing();
        let outgoing = self.outgoing.poll_timeout(&timing, self.peer.in_reach());
        let incoming = self.receiver.poll_timeout(&timing.patience());
        let outlet = self.receiver.order.outlet.poll_timeout(timing.hold);
        let feedback = self.feedback.poll_timeout();
        [outgoing, incoming, outlet, feedback].into_iter().flatten().chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        let order = &self.receiver.order;
        self.outgoing.egress.backlog() + order.held.waiting + order.outlet.waiting()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let held = &self.receiver.order.held;
        gauge(Gauge::CACHE_BYTES, self.outgoing.sender.memory());
        let incoming = held.memory + self.receiver.order.outlet.memory() + self.restorer.memory();
        gauge(Gauge::MEMORY_BYTES, self.outgoing.memory() + incoming);
        hop::observe(gauge, &self.outgoing.egress, held, &self.peer);
        self.outgoing.link_rate.observe(gauge, &self.outgoing.egress);
    }

    fn resume(&mut self, rate: Rate) {
        self.outgoing.link_rate.resume(rate, &mut self.outgoing.egress);
    }

    fn advice(&self) -> Option<&'static str> {
        if self.hears_other_version {
            return Some(OTHER_VERSION);
        }
        self.peer.advice().or(self.outgoing.link_rate.advice().map(Advice::sentence))
    }

    fn check(&self) -> Result<(), &'static str> {
        self.outgoing.check()?;
        self.restorer.check()?;
        self.receiver.order.outlet.check()?;
        self.receiver.order.check()
    }
}
