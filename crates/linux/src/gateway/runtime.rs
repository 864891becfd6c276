//! Runs an element on real packets: calls it with what arrives and what is due. Every packet is accounted for.

use super::config::Role;
use super::control::{ControlChannel, ControlCounters, PeerState};
use super::divert;
use super::estate::Known;
use super::letters::Letters;
use super::outlet::Outlet;
use super::scheme::Scheme;
use super::wifi::{Air, Order, Torn};
use super::world::World;
use crate::device::{Datagram, DeviceCounters, DeviceGone, TunDevice};
use crate::sys::clock;
use airtcp_core::initial_sequence::InitialSequences;
use airtcp_core::{
    Balance, Context, CreateReason, DropReason, Duration, Element, Event, Gauge, Instant, Ledger, Legacy, Packet, Peer,
    Port, Rate, Rng, Traffic,
};
use std::collections::VecDeque;

/// Packets taken from one device before the next gets its turn; more where a super-frame began, as its parts leave
/// together.
const BATCH: usize = 64;
/// What a device keeps for a worker that is busy, in packets.
const DEVICE_QUEUE_PACKETS: usize = divert::DEVICE_QUEUE_PACKETS as usize;
/// Handled timeouts in a row before packets get their turn.
const TIMEOUT_BATCH: usize = 64;

/// How long an element that is to be replaced may go on sending what it holds. Meanwhile what is to leave waits in its device.
const HANDOVER: Duration = Duration::from_millis(500);
/// How long what is to leave waits for an element that took another's place to find the other end.
const SEARCH: Duration = Duration::from_millis(200);

/// Between two looks at the connections of a Wi-Fi link.
const LOOK_EVERY: Duration = Duration::from_secs(1);

airtcp_core::declare! { Event, EVENTS:
    /// A connection was reset that could not go on: what was acknowledged to its station is nowhere.
    TORN = "torn",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// A keep-alive that asks what the other end of a connection has.
    KEEP_ALIVE = "keep_alive",
}

airtcp_core::declare! { DropReason, DROP_REASONS:
    /// An element that was replaced still held it.
    REPLACED = "replaced",
}

fn parse(datagram: Datagram) -> Option<Packet> {
    let mut packet = Packet::parse(datagram.bytes)?;
    if datagram.checksum_is_known_good {
        packet.set_checksum_known_good();
    }
    Some(packet)
}

/// An element on real packets.
pub struct Runtime {
    element: Box<dyn Element>,
    rng: Rng,
    ledger: Ledger,
    world: World,
    /// Takes the element's place once that holds no packet, or at this time.
    successor: Option<(Box<dyn Element>, Instant)>,
    /// What another element leaves to this one; what waits is next to leave.
    left: Legacy,
    /// The element took another's place, to which the other end was in reach, and looks for it until this time at most.
    search: Option<Instant>,
    /// Another process goes on with the devices.
    is_closing: bool,
    /// When connections are looked at next.
    look_at: Instant,
}

impl Runtime {
    /// Puts the scheme's element between the devices: `out` carries what is about to leave through the
    /// link, `arrived` what arrived on it. Connections that it opens begin at one of `sequences`.
    pub fn new(
        scheme: Scheme,
        rng: Rng,
        sequences: InitialSequences,
        [out, arrived]: [TunDevice; 2],
        control: Option<ControlChannel>,
    ) -> Runtime {
        let world = World {
            devices: [arrived, out],
            control,
            air: None,
            torn: None,
            outgoing: Vec::with_capacity(BATCH),
            letters: Letters::default(),
            late_letters: Letters::default(),
            outlet: None,
            statuses: VecDeque::new(),
            passed_unread: [0; 2],
            sequences,
        };
        // What did not happen yet is reported as zero.
        let mut ledger = Ledger::default();
        Event::COMMON.iter().chain(scheme.reports.events).for_each(|event| ledger.events.add(*event, 0));
        CreateReason::COMMON.iter().for_each(|reason| ledger.created.add(*reason, 0));
        DropReason::COMMON.iter().chain(DROP_REASONS).for_each(|reason| ledger.discarded.add(*reason, 0));
        Runtime {
            element: scheme.element,
            rng,
            ledger,
            world,
            successor: None,
            left: Legacy::default(),
            search: None,
            is_closing: false,
            look_at: Instant::ZERO,
        }
    }

    /// What leaves through the link leaves over the air, with reports.
    pub fn with_air(mut self, air: Air) -> Runtime {
        self.world.air = Some(air);
        self
    }

    /// Watches the connections of a Wi-Fi link for such as cannot go on.
    pub fn with_watch(mut self, role: Role) -> Runtime {
        self.world.torn = Some((role, Torn::new(&mut self.rng)));
        EVENTS.iter().for_each(|event| self.ledger.events.add(*event, 0));
        CREATE_REASONS.iter().for_each(|reason| self.ledger.created.add(*reason, 0));
        self
    }

    /// Asks about connections that stand still, and resets those that cannot go on, at both ends: the element learns of it as
    /// from the station.
    fn look_for_torn(&mut self, now: Instant) {
        let Some((role, torn)) = &mut self.world.torn else { return };
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        let station = if *role == Role::Station { Port::INNER } else { Port::LINK };
        for order in torn.look(now) {
            self.hand_over(now, |element, cx| match order {
                Order::Ask(packet) => {
                    let packet = cx.create(packet, KEEP_ALIVE);
                    cx.send(Port::LINK, packet);
                }
                Order::Reset { near, far } => {
                    cx.emit(TORN);
                    let [near, far] = [near, far].map(|packet| cx.create(packet, CreateReason::TRANSMIT));
                    cx.send(station, near);
                    element.handle_packet(cx, station, far);
                }
            });
        }
    }

    /// Works as another element of the same scheme would: the present one takes over its settings. If it cannot the other takes
    /// its place: what waits goes over to that one, and what is known of the link it begins with. One that cannot leave what it holds
    /// sends it first.
    pub fn renew(&mut self, mut scheme: Scheme) {
        let (now, mut is_adopted) = (clock::now(), false);
        if self.successor.is_none() {
            self.hand_over(now, |element, cx| is_adopted = element.adopt(cx, &mut *scheme.element));
            self.finish(now);
        }
        if is_adopted {
            return;
        }
        // Who is replaced before it took its place leaves its time to the next.
        let by = self.successor.as_ref().map_or(now + HANDOVER, |(_, by)| *by);
        self.successor = Some((scheme.element, by));
        self.surrender(now);
        self.hand_on(now);
    }

    /// True while an element is to be replaced, by one of this process or another, or has to find the other end: nothing that
    /// is to leave is taken.
    pub fn is_changing(&self) -> bool {
        self.successor.is_some() || self.search.is_some() || self.is_closing || !self.left.waiting.is_empty()
    }

    /// Takes no more of what is to leave: another process will, and gets what waits, which is returned.
    pub fn close(&mut self) -> Legacy {
        self.is_closing = true;
        self.surrender(clock::now());
        std::mem::take(&mut self.left)
    }

    /// Begins with what a process before left.
    pub fn inherit(&mut self, legacy: Legacy) {
        legacy.waiting.iter().for_each(|_| self.ledger.receive(Port::INNER));
        legacy.held.iter().flat_map(|flow| &flow.packets).for_each(|_| self.ledger.receive(Port::LINK));
        self.left = legacy;
        self.bequeath(clock::now());
    }

    /// Takes from the element what it can leave.
    fn surrender(&mut self, now: Instant) {
        // What another element left and this one has not seen is older.
        let mut waiting = std::mem::take(&mut self.left.waiting);
        let mut left = Legacy::default();
        self.hand_over(now, |element, cx| left = element.surrender(cx));
        self.finish(now);
        waiting.append(&mut left.waiting);
        self.left = Legacy { waiting, ..left };
    }

    /// Gives the element what was left to it, but for what waits.
    fn bequeath(&mut self, now: Instant) {
        let waiting = std::mem::take(&mut self.left.waiting);
        let legacy = std::mem::replace(&mut self.left, Legacy { waiting, ..Legacy::default() });
        self.hand_over(now, |element, cx| element.inherit(cx, legacy));
        self.finish(now);
    }

    /// What is known of the peer and the way to it.
    pub fn known(&self) -> Known {
        Known { in_reach: self.has_found(), rate_bps: self.level(Gauge::RATE_BPS).filter(|bps| *bps > 0) }
    }

    /// The element goes on with what another one before it knew.
    pub fn resume(&mut self, known: &Known) {
        if let Some(bps) = known.rate_bps {
            self.element.resume(Rate::from_bps(bps));
        }
        self.search = known.in_reach.then(|| clock::now() + SEARCH);
    }

    fn level(&self, wanted: Gauge) -> Option<u64> {
        let mut level = None;
        self.element.observe(&mut |gauge, value| {
            if gauge == wanted {
                level = Some(value);
            }
        });
        level
    }

    fn hand_on(&mut self, now: Instant) {
        if self.search.is_some_and(|until| now >= until || self.has_found()) {
            self.search = None;
        }
        let held = self.element.held().packets as u64;
        match self.successor.take() {
            Some((element, by)) if held == 0 || now >= by => {
                self.ledger.discarded.add(REPLACED, held);
                let known = self.known();
                self.element = element;
                self.resume(&known);
                self.bequeath(now);
            }
            waiting => self.successor = waiting,
        }
        if self.successor.is_none() && self.search.is_none() {
            for packet in std::mem::take(&mut self.left.waiting) {
                self.hand_over(now, |element, cx| element.handle_packet(cx, Port::INNER, packet));
            }
            self.finish(now);
        }
    }

    /// Lets what leaves through the link wait for its turn, at most so many bytes ([`Runtime::release`]).
    pub fn wait_for_turns(&mut self, limit: u64) {
        self.world.outlet = Some(Outlet::new(limit));
    }

    /// Bytes of what waits for its turn behind `skipped` others.
    pub fn waiting(&self, skipped: usize) -> Option<u32> {
        self.world.outlet.as_ref()?.bytes_at(skipped)
    }

    /// How many packets and messages wait for their turn.
    pub fn waiting_count(&self) -> usize {
        self.world.outlet.as_ref().map_or(0, Outlet::len)
    }

    /// It is the turn of the first `count` that wait.
    pub fn release(&mut self, count: usize) {
        let now = clock::now();
        self.world.release(now, &mut self.ledger, count);
        self.finish(now);
    }

    /// Runs one call of the element; [`Runtime::finish`] does what follows from it.
    fn hand_over(&mut self, now: Instant, call: impl FnOnce(&mut dyn Element, &mut Context<'_>)) {
        call(&mut *self.element, &mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world));
    }

    /// Writes what was sent, and tells the element what became of it.
    fn finish(&mut self, now: Instant) {
        self.world.flush(now, &mut self.ledger);
        while let Some(status) = self.world.statuses.pop_front() {
            let mut context = Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world);
            self.element.handle_tx_status(&mut context, status);
            self.world.flush(now, &mut self.ledger);
        }
    }

    /// Takes a batch from each device and hands it to the element; true if more may wait.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_packets(&mut self) -> Result<bool, DeviceGone> {
        let leaving = !self.is_changing() && self.handle_device(Port::LINK)?;
        Ok(self.handle_device(Port::INNER)? || leaving)
    }

    /// The device that packets for one port leave through brings those that came in at the other.
    fn handle_device(&mut self, device: Port) -> Result<bool, DeviceGone> {
        let (index, arrival) = (device.index(), device.opposite());
        let (mut now, mut left) = (clock::now(), BATCH);
        while left > 0 || self.world.devices[index].is_in_frame() {
            let Some(datagram) = self.world.devices[index].receive()? else { break };
            left = left.saturating_sub(1);
            match parse(datagram) {
                Some(packet) => {
                    self.ledger.receive(arrival);
                    self.world.note_received(arrival, &packet);
                    now = clock::now();
                    self.hand_over(now, |element, cx| element.handle_packet(cx, arrival, packet));
                }
                None => {
                    self.world.passed_unread[arrival.index()] += 1;
                    self.world.devices[index].send_back();
                }
            }
        }
        self.finish(now);
        Ok(left == 0)
    }

    /// Hands control messages to the element. Packets that arrived before them come first: a message that asks about a
    /// packet must not overtake it in here.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_messages<'a>(&mut self, messages: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<(), DeviceGone> {
        if messages.len() == 0 {
            return Ok(());
        }
        for _ in 0..DEVICE_QUEUE_PACKETS / BATCH {
            if !self.handle_device(Port::INNER)? {
                break;
            }
        }
        let mut now = clock::now();
        for message in messages {
            self.hand_over(now, |element, cx| element.handle_control(cx, Peer::OTHER_END, message));
            now = clock::now();
        }
        self.finish(now);
        Ok(())
    }

    /// Runs what is due; a bounded number, so that a confused element cannot stop the packets. What was sent is written
    /// after the last.
    pub fn handle_timeouts(&mut self) {
        let mut now = clock::now();
        if let Some(control) = &mut self.world.control {
            control.handle_timeout(now);
        }
        self.world.handle_reports(now);
        self.look_for_torn(now);
        self.finish(now);
        for _ in 0..TIMEOUT_BATCH {
            if self.element.poll_timeout().is_none_or(|due| due > now) {
                break;
            }
            self.hand_over(now, |element, cx| element.handle_timeout(cx));
            now = clock::now();
        }
        self.finish(now);
        self.hand_on(now);
    }

    /// How long until something is due; `None` for never.
    pub fn until_timeout(&self) -> Option<Duration> {
        let control = self.world.control.as_ref().map(ControlChannel::poll_timeout);
        let change = self.successor.as_ref().map(|(_, by)| *by).into_iter().chain(self.search);
        let look = self.world.torn.as_ref().map(|_| self.look_at);
        let report = self.world.air.as_ref().and_then(Air::deadline);
        let may_feed = self.search.is_none() && self.successor.is_none();
        let left = (may_feed && !self.left.waiting.is_empty()).then_some(Instant::ZERO);
        let due = self.element.poll_timeout().into_iter();
        let due = due.chain(control).chain(change).chain(report).chain(look).chain(left).min();
        due.map(|due| due.saturating_since(clock::now()))
    }

    /// True if the scheme can work: the other end is in reach, as the scheme and the control channel say, or the scheme
    /// has none. It is taken to be where it was for one that took another's place a moment ago.
    pub fn is_in_reach(&self) -> bool {
        self.search.is_some() || self.has_found()
    }

    fn has_found(&self) -> bool {
        let level = self.level(Gauge::PEER_IN_REACH);
        let answers = self.world.control.as_ref().is_none_or(|control| control.is_in_reach(clock::now()));
        level.is_none_or(|level| level == 1 && answers)
    }

    /// What is known of the other gateway.
    pub fn peer_state(&self) -> Option<PeerState> {
        self.world.control.as_ref().map(|control| control.peer_state(clock::now()))
    }

    /// The air, of a station.
    pub fn air(&self) -> Option<&Air> {
        self.world.air.as_ref()
    }

    /// The devices, first that of what arrived.
    pub fn devices(&self) -> &[TunDevice; 2] {
        &self.world.devices
    }

    /// The way to the peer.
    pub fn control(&self) -> Option<&ControlChannel> {
        self.world.control.as_ref()
    }

    /// The way to the peer, to be given what arrives.
    pub fn control_mut(&mut self) -> Option<&mut ControlChannel> {
        self.world.control.as_mut()
    }

    /// What an operator should do about the way to the peer or the settings, if anything.
    pub fn advice(&self) -> Option<&'static str> {
        self.element.advice().or_else(|| self.world.control.as_ref().and_then(ControlChannel::advice))
    }

    /// Which packets are to be taken. On a Wi-Fi link only TCP's: all else passes in the kernel.
    pub fn traffic(&self) -> Traffic {
        if self.world.torn.is_some() { Traffic::Tcp } else { self.element.traffic() }
    }

    /// The element.
    pub fn element(&self) -> &dyn Element {
        &*self.element
    }

    /// The accounts of the element.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Datagrams that are no IP packet we can read, passed on as they came, by arrival port.
    pub fn passed_unread(&self) -> [u64; 2] {
        self.world.passed_unread
    }

    /// What the devices did so far, by the port that packets leave through.
    pub fn device_counters(&self) -> [DeviceCounters; 2] {
        [self.world.devices[0].counters(), self.world.devices[1].counters()]
    }

    /// What the control channel did so far.
    pub fn control_counters(&self) -> Option<ControlCounters> {
        self.world.control.as_ref().map(ControlChannel::counters)
    }

    /// Packets that wait in here, but for those that wait for their turn.
    pub fn held(&self) -> usize {
        self.element.held().packets + self.left.packets()
    }

    /// The balance of packets.
    pub fn balance(&self) -> Balance {
        self.ledger.balance(self.held())
    }
}
