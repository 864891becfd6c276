//! The elements of one scheme with an unreliable link between them, and the checks after every call.

use super::lies::Liar;
use super::oracle::Oracle;
use super::post::Post;
use super::traffic::{self, Direction, Traffic};
use crate::draw::{Draw, Trace};
use crate::site;
use airtcp_core::{
    ByteSize, Context, Duration, Element, Gauge, Instant, Ledger, Legacy, Outcome, Packet, Peer, Port, Rate, Rng,
    Token, TxStatus,
};
use airtcp_schemes::{End, LinkFacts, Placement, SchemeEntry};
use std::fmt;

/// A scheme in its place.
#[derive(Clone)]
pub struct Place {
    /// Its line in the table.
    pub entry: SchemeEntry,
    /// Its parameters.
    pub settings: Vec<(String, String)>,
    /// What the element is told about the link.
    pub link: LinkFacts,
    /// Bound on its memory.
    pub max_memory: ByteSize,
}

impl Place {
    /// What a scheme that learns its link may give it: a tenth more than the bound now and then, to see what it carries.
    fn highest_rate(&self) -> Option<Rate> {
        let own = self.settings.iter().find(|(key, _)| key == "rate").and_then(|(_, value)| value.parse::<Rate>().ok());
        let learns = self.entry.fields().iter().any(|field| field.name == "learn");
        let bound = own.or(self.link.rate).filter(|_| learns)?;
        Some(Rate::from_bps(bound.bps().saturating_add(bound.bps() / 10)))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "max_memory={}, link", self.max_memory)?;
        self.link.rate.map_or(Ok(()), |rate| write!(f, " rate={rate}"))?;
        self.link.round_trip.map_or(Ok(()), |rtt| write!(f, " round_trip={rtt}"))?;
        self.link.queue.map_or(Ok(()), |queue| write!(f, " queue={queue}"))?;
        write!(f, ", {}", self.entry.slug)?;
        self.settings.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

/// One element.
struct Station {
    element: Box<dyn Element + Send>,
    post: Post,
    ledger: Ledger,
    rng: Rng,
}

/// Elements, link and judge.
pub struct Rig {
    /// Where the elements are, as they were told first.
    pub place: Place,
    stations: Vec<Station>,
    /// Packets between the elements: their destination, and the packet.
    air: Vec<(usize, Packet)>,
    /// Control messages between the elements, likewise.
    messages: Vec<(usize, Vec<u8>)>,
    /// Messages seen before, for replays.
    heard: Vec<Vec<u8>>,
    /// Somebody who changes every second message.
    liar: Option<Liar>,
    /// The time of the next call.
    pub now: Instant,
    /// What was sent.
    pub traffic: Traffic,
    oracle: Oracle,
    draw: Draw,
    calls: u64,
    /// The link is never given more.
    highest_rate: Option<Rate>,
    /// Memory of the largest packet offered that is longer than usual: an empty queue takes one, however small its limit.
    largest: u64,
    /// How often an element went on with something else that it was told.
    pub told: u64,
    /// Packets that an element left to another one.
    pub left: u64,
}

/// Timeouts an element may ask for at one instant: one for each flow or packet that is due.
const MAX_TIMEOUTS_AT_ONCE: u32 = 20_000;
/// IP bytes of a packet that every bound has room for.
const ORDINARY: u32 = 1600;
/// Packets and messages that fit into the air; what is too much is lost.
const AIR: usize = 300;
/// Messages kept for replays.
const MAX_HEARD: usize = 64;
/// Calls between two looks at the gauges.
const GAUGE_EVERY: u64 = 16;

impl Rig {
    /// The elements of a scheme.
    ///
    /// # Errors
    /// The scheme does not accept its place or settings.
    pub fn new(place: Place, traffic: Traffic, mut draw: Draw) -> Result<Self, String> {
        let mut stations = Vec::new();
        let ends = match place.entry.placement {
            Placement::BothEnds | Placement::Path => &[End::Near, End::Far][..],
            Placement::NearEnd => &[End::Near][..],
        };
        for end in ends {
            stations.push(Station::new(&place, *end, &mut draw)?);
        }
        let (air, messages, heard) = (Vec::new(), Vec::new(), Vec::new());
        let liar = draw.percent(30).then(|| Liar::new(&mut draw));
        let now = Instant::ZERO;
        let highest_rate = place.highest_rate();
        Ok(Rig {
            place,
            stations,
            air,
            messages,
            heard,
            liar,
            now,
            traffic,
            oracle: Oracle::default(),
            draw,
            calls: 0,
            highest_rate,
            largest: 0,
            told: 0,
            left: 0,
        })
    }

    /// Number of elements.
    pub fn boxes(&self) -> usize {
        self.stations.len()
    }

    /// Everything that the elements did so far.
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::default();
        self.stations.iter().for_each(|station| trace.add(station.post.trace.value()));
        trace
    }

    /// How often any element, since it was last restarted, reported that `event` happened.
    #[cfg(test)]
    pub fn count(&self, event: airtcp_core::Event) -> u64 {
        self.stations.iter().map(|station| station.ledger.events.get(event)).sum()
    }

    /// A packet from outside, on its way in `direction`.
    pub fn offer(&mut self, direction: Direction, packet: Packet) -> Result<(), String> {
        self.oracle.note(&packet);
        if packet.wire_len() > ORDINARY {
            self.largest = self.largest.max(packet.memory() as u64);
        }
        // Packets of the reverse direction enter at the inner port of the far end; without a far end they arrive over
        // the link.
        let (station, port) = match (direction, self.stations.len()) {
            (0, _) => (0, Port::INNER),
            (_, 1) => (0, Port::LINK),
            _ => (1, Port::INNER),
        };
        self.receive(station, port, packet)
    }

    fn receive(&mut self, station: usize, port: Port, packet: Packet) -> Result<(), String> {
        self.stations[station].ledger.receive(port);
        self.call(station, |element, cx| element.handle_packet(cx, port, packet))
    }

    /// Something in the air arrives, is lost, doubled or damaged.
    pub fn stir_air(&mut self) -> Result<(), String> {
        if self.air.is_empty() {
            return Ok(());
        }
        let at = if self.draw.percent(80) { 0 } else { self.draw.index(self.air.len()) };
        let (to, packet) = self.air.remove(at);
        match self.draw.below(100) {
            0..8 => Ok(()),
            8..11 => {
                self.air.push((to, packet.clone()));
                self.receive(to, Port::LINK, packet)
            }
            11..14 => {
                let packet = traffic::damaged(&mut self.draw, packet);
                self.oracle.note(&packet);
                self.receive(to, Port::LINK, packet)
            }
            _ => self.receive(to, Port::LINK, packet),
        }
    }

    /// A message arrives, is lost, or is replaced by a broken, old, invented or untrue one.
    pub fn stir_messages(&mut self) -> Result<(), String> {
        let kind = self.draw.below(100);
        let (to, mut message) = match self.messages.is_empty() {
            false => {
                let at = self.draw.index(self.messages.len());
                self.messages.remove(at)
            }
            true if kind < 50 => return Ok(()),
            true => (self.draw.index(self.stations.len()), Vec::new()),
        };
        match kind {
            0..10 => return Ok(()),
            10..14 => {
                let keep = self.draw.index(message.len() + 1);
                message.truncate(keep);
            }
            14..20 if !message.is_empty() => {
                let at = self.draw.index(message.len());
                message[at] ^= 1 << self.draw.below(8);
            }
            20..26 if !self.heard.is_empty() => message = self.heard[self.draw.index(self.heard.len())].clone(),
            26..29 => message = (0..self.draw.magnitude(0, 400)).map(|_| self.draw.word() as u8).collect(),
            29..33 => message = Liar::new(&mut self.draw).change(&mut self.draw, message),
            33..66 => {
                if let Some(liar) = self.liar {
                    message = liar.change(&mut self.draw, message);
                }
            }
            _ => {}
        }
        let peer = if self.draw.percent(98) { Peer::OTHER_END } else { Peer(self.draw.below(256) as u8) };
        self.call(to, |element, cx| element.handle_control(cx, peer, &message))
    }

    /// A port accepts more or fewer packets than before. The element is notified if it was refused before, and
    /// sometimes without a reason.
    pub fn stir_ports(&mut self) -> Result<(), String> {
        let (station, side) = (self.draw.index(self.stations.len()), self.draw.index(2));
        let space = self.draw.pick(&[0, 1, 3, usize::MAX]);
        let post = &mut self.stations[station].post;
        post.space[side] = space;
        let is_due = space > 0 && std::mem::take(&mut post.refused[side]);
        if is_due || self.draw.percent(5) {
            return self.call(station, |element, cx| element.handle_ready(cx, Port(side as u8)));
        }
        Ok(())
    }

    /// A report on a tracked packet, or on one that never was.
    pub fn report(&mut self) -> Result<(), String> {
        let station = self.draw.index(self.stations.len());
        let tokens = &mut self.stations[station].post.tokens;
        let token = match tokens.is_empty() {
            false => tokens.remove(self.draw.index(tokens.len())),
            true if self.draw.percent(80) => return Ok(()),
            true => Token(self.draw.word()),
        };
        let outcome = self.draw.pick(&[Outcome::Sent, Outcome::Acked, Outcome::RetryLimit, Outcome::Dropped]);
        let status = TxStatus { token, outcome, tries: self.draw.below(256) as u8, at: self.now };
        self.call(station, |element, cx| element.handle_tx_status(cx, status))
    }

    /// A gateway loses power: what its element held is lost, and the element starts anew.
    pub fn restart(&mut self) -> Result<(), String> {
        let index = self.draw.index(self.stations.len());
        let end = if index == 0 { End::Near } else { End::Far };
        let trace = self.stations[index].post.trace;
        self.stations[index] = Station::new(&self.place, end, &mut self.draw)?;
        self.stations[index].post.trace = trace;
        Ok(())
    }

    /// A gateway is told something else, about a link or the scheme. Its element goes on with that if it can; if not, and if it can
    /// leave what it holds, another one does.
    pub fn tell(&mut self, next: &Place) -> Result<(), String> {
        let index = self.draw.index(self.stations.len());
        let end = if index == 0 { End::Near } else { End::Far };
        let mut station = Station::new(next, end, &mut self.draw)?;
        // Others may be told less, and this one may refuse.
        self.highest_rate = self
            .highest_rate
            .zip(next.highest_rate())
            .map(|(one, other)| if one.bps() > other.bps() { one } else { other });
        let mut is_adopted = false;
        self.call(index, |element, cx| is_adopted = element.adopt(cx, &mut *station.element))?;
        self.told += u64::from(is_adopted);
        if is_adopted {
            return Ok(());
        }
        let (now, former) = (self.now, &mut self.stations[index]);
        let mut legacy = Legacy::default();
        former.call(now, |element, cx| legacy = element.surrender(cx));
        // What another end of a connection is told otherwise may wait for it for ever.
        if legacy.packets() == 0 {
            return self.call(index, |_, _| {});
        }
        self.left += legacy.packets() as u64;
        former.element = station.element;
        let waiting = std::mem::take(&mut legacy.waiting);
        former.call(now, |element, cx| element.inherit(cx, legacy));
        for packet in waiting {
            former.call(now, |element, cx| element.handle_packet(cx, Port::INNER, packet));
        }
        self.call(index, |_, _| {})
    }

    /// The earliest deadline of any element.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.stations.iter().filter_map(|station| station.element.poll_timeout()).min()
    }

    /// Runs what is due now.
    pub fn tick(&mut self) -> Result<(), String> {
        (0..self.stations.len()).try_for_each(|station| self.call(station, |_, _| {}))
    }

    /// Opens every port and lets time pass until nothing is held any more. Between the elements neither packets nor messages
    /// arrive, except if one holds packets until the other answers.
    pub fn drain(&mut self) -> Result<(), String> {
        const MAX_TICKS: u32 = 50_000;
        for station in 0..self.stations.len() {
            self.stations[station].post.space = [usize::MAX; 2];
            self.stations[station].post.refused = [false; 2];
            for port in [Port::INNER, Port::LINK] {
                self.call(station, |element, cx| element.handle_ready(cx, port))?;
            }
        }
        let is_empty = |rig: &Rig| rig.stations.iter().all(|station| station.element.held().packets == 0);
        for _ in 0..MAX_TICKS {
            let arrives = self.place.entry.placement == Placement::Path;
            for (to, packet) in std::mem::take(&mut self.air).into_iter().filter(|_| arrives) {
                self.receive(to, Port::LINK, packet)?;
            }
            for (to, message) in std::mem::take(&mut self.messages).into_iter().filter(|_| arrives) {
                self.call(to, |element, cx| element.handle_control(cx, Peer::OTHER_END, &message))?;
            }
            let Some(next) = self.next_timeout().filter(|_| !is_empty(self)) else { break };
            self.now = self.now.max(next);
            self.tick()?;
        }
        if is_empty(self) { Ok(()) } else { Err("packets are held for ever, with every port open".to_owned()) }
    }

    /// Calls an element, then its due timeouts; collects what it sent and checks it.
    fn call(&mut self, index: usize, work: impl FnOnce(&mut dyn Element, &mut Context<'_>)) -> Result<(), String> {
        let now = self.now;
        let station = &mut self.stations[index];
        station.post.trace.add(now.as_nanos());
        station.call(now, work);
        let mut rounds = 0;
        while station.element.poll_timeout().is_some_and(|due| due <= now) {
            station.call(now, |element, cx| element.handle_timeout(cx));
            rounds += 1;
            if rounds > MAX_TIMEOUTS_AT_ONCE {
                return Err(format!("a handled timeout did not move later: {rounds} of them at {now}"));
            }
        }
        self.calls += 1;
        self.collect(index)?;
        let bounds = (ByteSize(self.place.max_memory.0 + self.largest), self.highest_rate);
        self.stations[index].check(self.calls.is_multiple_of(GAUGE_EVERY), bounds)
    }

    fn collect(&mut self, index: usize) -> Result<(), String> {
        let other = self.stations.len() - 1 - index;
        let is_pair = self.stations.len() == 2;
        for (port, packet) in std::mem::take(&mut self.stations[index].post.sent) {
            if is_pair && port == Port::LINK {
                self.air.push((other, packet));
            } else {
                self.oracle.judge(&packet, &self.traffic, self.place.entry.keeps_end_to_end)?;
            }
        }
        for message in std::mem::take(&mut self.stations[index].post.control) {
            self.heard.push(message.clone());
            self.messages.push((other, message));
        }
        crop(&mut self.air, AIR);
        crop(&mut self.messages, AIR);
        crop(&mut self.heard, MAX_HEARD);
        Ok(())
    }
}

/// Forgets the oldest beyond `limit`.
fn crop<T>(items: &mut Vec<T>, limit: usize) {
    items.drain(..items.len().saturating_sub(limit));
}

impl Station {
    fn new(place: &Place, end: End, draw: &mut Draw) -> Result<Self, String> {
        let mut rng = Rng::derive(draw.word(), "element");
        let element = site::make(&place.entry, &place.settings, end, place.link, place.max_memory, &mut rng)
            .map_err(|error| error.to_string())?;
        Ok(Station { element, post: Post::new(Draw::new(draw.word(), "post")), ledger: Ledger::default(), rng })
    }

    fn call(&mut self, now: Instant, work: impl FnOnce(&mut dyn Element, &mut Context<'_>)) {
        let mut cx = Context::new(now, &mut self.rng, &mut self.ledger, &mut self.post);
        work(self.element.as_mut(), &mut cx);
    }

    /// Checks the element, and now and then that it keeps within its memory and rate.
    fn check(&self, with_gauges: bool, (bound, highest): (ByteSize, Option<Rate>)) -> Result<(), String> {
        let balance = self.ledger.balance(self.element.held().packets);
        if !balance.holds() {
            return Err(format!("conservation: {} packets are missing: {balance:?}", balance.missing()));
        }
        self.element.check()?;
        let (mut memory, mut rate) = (0, 0);
        if with_gauges {
            self.element.observe(&mut |gauge, value| {
                if gauge == Gauge::MEMORY_BYTES {
                    memory = value;
                } else if gauge == Gauge::RATE_BPS {
                    rate = value;
                }
            });
        }
        if highest.is_some_and(|highest| rate > highest.bps()) {
            return Err(format!("{rate} bit/s leave, more than {highest:?} allow"));
        }
        if memory > bound.0 {
            return Err(format!("{memory} bytes of memory are in use, more than the bound of {} bytes", bound.0));
        }
        Ok(())
    }
}

/// A step of time: none, to the deadline, just before it, or past it by anything up to hours.
pub fn step(draw: &mut Draw, now: Instant, due: Option<Instant>) -> Instant {
    let late = match draw.below(100) {
        0..30 => return now,
        30..60 => return now + draw.span(Duration::from_nanos(1), Duration::from_millis(5)),
        60..80 => Duration::ZERO,
        80..85 => return due.map_or(now, |due| due - Duration::from_nanos(1)).max(now),
        85..97 => draw.span(Duration::from_micros(1), Duration::from_millis(500)),
        97..99 => draw.span(Duration::from_millis(500), Duration::from_secs(10)),
        _ => draw.span(Duration::from_secs(10), Duration::from_secs(7200)),
    };
    // A deadline that lies far ahead is approached, not jumped to, in most cases.
    let soon = now + Duration::from_secs(if draw.percent(5) { 7200 } else { 2 });
    due.unwrap_or(now).min(soon).max(now) + late
}
