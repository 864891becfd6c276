//! One end of a trunk between gateways: the sending end, the receiving end, or both for a trunk each way. Its control TCPs
//! travel in messages, or as segments between the two gateways' addresses.
//!
//! The two ends say HELLO to each other. A far end that restarted, or was silent and is back, finds the control TCPs opened
//! anew: no timer that grew during an outage is waited for. While the far end does not answer, or takes no control TCP,
//! packets pass beside the trunk, or wait and are dropped, as [`Fail`] says.

use super::far::Far;
use super::message::{self, FAR, Message, NEAR, Way};
use super::near::Near;
use super::settings::{Carriage, Fail, TrunkSettings};
use super::tunnel::Tunnel;
use crate::egress::flow_queue;
use crate::hop::hello_distance;
use crate::papers::decoupling::settings::MAX_CONTROLS;
use crate::papers::decoupling::{Circuit, CircuitEnd, events};
use crate::peer::{Change, Peer};
use crate::{End, Site};
use airtcp_core::{Backlog, Context, Duration, Element, Event, Gauge, Instant, Packet, Port, Traffic};
use airtcp_core::{OwnSegments, Peer as PeerId};
use airtcp_link::Queue;
use core::net::IpAddr;

/// A far end that answers and takes no control TCP for so long is not set up for it.
const NOT_TAKEN_AFTER: Duration = Duration::from_secs(10);

/// Data that wait so long for a header packet to be acknowledged are held up by something that drops header packets.
const LOST_AFTER: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub struct Station {
    near: Option<Near>,
    far: Option<Far>,
    peer: Peer,
    fail: Fail,
    /// Packets entered the trunk after the last call.
    was_up: bool,
    /// Since when the far end answers and takes no control TCP.
    not_taken_since: Option<Instant>,
    is_not_taken: bool,
    /// Virtual bytes acknowledged, and since when there are no more although data wait.
    acknowledged: (u64, Option<Instant>),
    is_lost: bool,
    /// The control TCPs are segments, and not in messages.
    segments: Option<OwnSegments>,
}

impl Station {
    /// The element at one end, or both ends of a trunk each way; `settings` were checked. The control TCPs are segments
    /// between two addresses, this end's first, or travel in messages.
    pub fn new(settings: &TrunkSettings, site: &mut Site<'_>, addresses: Option<[IpAddr; 2]>) -> Station {
        let ends = &settings.ends;
        let mut peer = Peer::new(ends.hello, ends.peer_timeout, None, site.rng.next_u64());
        peer.keep_distance(hello_distance(site.link.rate));
        let near = (site.end != End::Far).then(|| {
            // It connects when the far end is there.
            let [local, remote] = addresses.unwrap_or([NEAR, FAR]);
            let circuit = Circuit::new(&settings.circuit, local, remote, site.rng, Instant::ZERO);
            let queue = ends.queue.clone().unwrap_or_else(|| Queue::FqCodel(flow_queue()));
            let circuit = circuit.with_queue(&queue, site.max_memory.0 / 4, site.rng);
            if addresses.is_some() {
                return Near::new(circuit, site.max_memory.0);
            }
            let tunnel = (ends.carriage == Carriage::Tunnel).then(|| Tunnel::new(site.link.mtu, ends.clamp_mss));
            Near::by_message(circuit, site.max_memory.0, tunnel)
        });
        let far = (site.end != End::Near).then(|| {
            let [local, remote] = addresses.unwrap_or([FAR, NEAR]);
            let end = CircuitEnd::new(&settings.circuit, local, remote, site.rng);
            if addresses.is_some() { Far::new(end) } else { Far::by_message(end) }
        });
        let (port, ports) = (settings.circuit.port, MAX_CONTROLS.into());
        Station {
            near,
            far,
            peer,
            fail: ends.fail,
            was_up: false,
            not_taken_since: None,
            is_not_taken: false,
            acknowledged: (0, None),
            is_lost: false,
            segments: addresses.map(|[local, remote]| OwnSegments { local, remote, port, ports }),
        }
    }

    /// Packets can cross the trunk.
    fn is_up(&self) -> bool {
        self.peer.in_reach() && self.near.as_ref().is_none_or(|near| near.circuit().is_open())
    }

    /// The other end is another process, or was silent: no control TCP of before is worth its timers. At the other end
    /// their SYNs end what they were; where these are segments that anybody can send, only after a HELLO.
    fn begin_anew(&mut self, cx: &mut Context<'_>) {
        self.far.iter_mut().for_each(Far::expect_anew);
        if let Some(near) = &mut self.near {
            near.reopen(cx.now());
            near.drive(cx);
        }
    }

    /// What follows from the trunk having gone up or down.
    fn follow(&mut self, cx: &mut Context<'_>) {
        let is_up = self.is_up();
        let was_up = core::mem::replace(&mut self.was_up, is_up);
        if was_up && !is_up && self.fail == Fail::Open {
            self.near.iter_mut().for_each(|near| near.release(cx));
        }
        if is_up || !self.peer.in_reach() {
            self.not_taken_since = None;
        } else {
            self.not_taken_since.get_or_insert(cx.now());
        }
        let is_long = |since: Instant| cx.now().saturating_since(since) >= NOT_TAKEN_AFTER;
        self.is_not_taken = self.not_taken_since.is_some_and(is_long);
        self.look_for_acknowledgments(cx.now(), is_up);
    }

    /// What arrived on the link, where segments of the control TCPs do.
    fn handle_arriving(&mut self, cx: &mut Context<'_>, packet: Packet) {
        match (&mut self.near, &mut self.far) {
            (_, Some(far)) if far.owns(&packet) => far.handle_packet(cx, Port::LINK, packet),
            (Some(near), _) if near.circuit().owns(&packet) => {
                // The control TCPs are opened anew when it says HELLO.
                if self.peer.in_reach() {
                    near.handle_answer(cx, &packet);
                }
                message::end(cx, packet);
            }
            _ => cx.send(Port::INNER, packet),
        }
    }

    /// Header packets may be lost while HELLOs are not, which are fewer.
    fn look_for_acknowledgments(&mut self, now: Instant, is_up: bool) {
        let near = self.near.as_ref().filter(|near| is_up && near.held().packets > 0);
        let Some(near) = near else {
            (self.acknowledged.1, self.is_lost) = (None, false);
            return;
        };
        let bytes = near.circuit().acknowledged_bytes();
        let (before, since) = &mut self.acknowledged;
        if core::mem::replace(before, bytes) != bytes {
            *since = None;
        }
        self.is_lost = now.saturating_since(*since.get_or_insert(now)) >= LOST_AFTER;
    }
}

impl Element for Station {
    /// Only what leaves enters a trunk, and what is in one is not looked at where it arrives.
    fn traffic(&self) -> Traffic {
        if self.near.is_some() { Traffic::Leaving } else { Traffic::Nothing }
    }

    fn own_segments(&self) -> Option<OwnSegments> {
        self.segments
    }

    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        let is_up = self.is_up();
        if port == Port::LINK && self.segments.is_some() {
            self.handle_arriving(cx, packet);
            return self.follow(cx);
        }
        match &mut self.near {
            Some(near) if port == Port::INNER && (is_up || self.fail == Fail::Closed) => {
                near.take(cx, packet);
                if self.peer.in_reach() {
                    near.drive(cx);
                }
            }
            _ => cx.send(port.opposite(), packet),
        }
        self.follow(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if let Some(near) = self.near.as_mut().filter(|_| self.peer.in_reach()) {
            near.handle_ready(cx, port);
        }
        self.follow(cx);
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, from: PeerId, bytes: &[u8]) {
        match self.peer.hear(cx, from, bytes, message::decode) {
            Some(Message::Hello(hello)) => {
                if self.peer.on_hello(cx, &hello) != Change::None {
                    self.begin_anew(cx);
                }
            }
            // The other gateway has another `headers`.
            Some(Message::Segment(..)) if self.segments.is_some() => {}
            Some(Message::Segment(Way::Out, segment)) => {
                self.far.iter_mut().for_each(|far| far.handle_segment(cx, &segment));
            }
            // The control TCPs are opened anew when it says HELLO.
            Some(Message::Segment(Way::Back, segment)) if self.peer.in_reach() => {
                self.near.iter_mut().for_each(|near| near.handle_answer(cx, &segment));
            }
            // The sending end decides how its data travel.
            Some(Message::Data(packet)) if self.far.is_some() => {
                cx.emit(events::DECAPSULATED);
                let packet = cx.create(packet, events::ARRIVED);
                cx.send(Port::INNER, packet);
            }
            Some(Message::Data(_)) => cx.emit(Event::CONTROL_MALFORMED),
            Some(Message::Segment(Way::Back, _)) | None => {}
        }
        self.follow(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if let Some(hello) = self.peer.handle_timeout(cx).hello {
            cx.send_control(PeerId::OTHER_END, &message::encode_hello(&hello));
            self.near.iter_mut().for_each(|near| near.look(cx));
        }
        if self.peer.in_reach() {
            self.near.iter_mut().for_each(|near| near.handle_timeout(cx));
            self.far.iter_mut().for_each(|far| far.handle_timeout(cx));
        }
        self.follow(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let near = self.near.as_ref().and_then(Near::poll_timeout);
        let far = self.far.as_ref().and_then(Far::poll_timeout);
        let due = [near, far].into_iter().flatten().filter(|_| self.peer.in_reach());
        due.chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        self.near.as_ref().map_or_else(Backlog::default, Near::held)
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        if let Some(near) = &self.near {
            near.observe(gauge);
        }
        gauge(Gauge::LINK_RTT_NS, self.peer.rtt().as_nanos());
        gauge(events::TRUNK_OPEN, u64::from(self.is_up()));
        // Who is asked to hold back packets holds them back whoever answers.
        if self.fail == Fail::Open || self.near.is_none() {
            gauge(Gauge::PEER_IN_REACH, u64::from(self.is_up()));
        }
    }

    fn advice(&self) -> Option<&'static str> {
        if let Some(advice) = self.peer.advice() {
            return Some(advice);
        }
        if self.is_lost {
            return Some(
                "the other gateway answers, and no header packet of this trunk has been acknowledged for 10 s while packets wait: \
                 something on the path drops most of what the gateways send each other, or what is behind data",
            );
        }
        self.is_not_taken.then_some(if self.segments.is_some() {
            "the other gateway answers and does not take this trunk: it needs `headers = \"tcp\"` and the same `port`, too, \
             a `direction` that is not \"out\", and nothing in between may drop TCP or change its addresses and ports"
        } else {
            "the other gateway answers and does not take this trunk: leave out `direction` there, or write \"in\", and have \
             the same `headers` at both"
        })
    }

    fn check(&self) -> Result<(), &'static str> {
        self.near.iter().try_for_each(Near::check)?;
        self.far.iter().try_for_each(Far::check)
    }
}
