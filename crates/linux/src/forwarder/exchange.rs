//! All connections between this forwarder and its peer: no I/O and no clock, so that it can be tested in virtual time.
//!
//! Call [`Exchange::poll_transmit`] until it returns false and [`Exchange::poll_event`] until it returns nothing after every
//! call that takes the time; then ask [`Exchange::poll_timeout`] when to come back. Frames are those that the seal has let
//! through: nobody but the peer wrote them, and each comes once.
//!
//! A connection that breaks at one end is closed at the other by a message, which is sent again until the other end
//! confirms it or is gone: an idle one would not find out by itself. Whatever belongs to a connection that this end does not
//! know is answered by the same message, but for what may be ahead of the opening.

use super::frame::{Front, Kind};
use super::goodbye::Goodbyes;
use super::line::{Line, LineSettings};
use super::line_key::LineKey;
use super::opening::Opening;
use super::tallies::Tallies;
use airtcp_core::{Instant, Rng};
use bytes::{Buf, BufMut, Bytes};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

/// A message says that the connection is over, by which errno.
const CLOSE: u8 = 1;
/// A message says that this was heard.
const CLOSED: u8 = 2;
/// Messages that may wait to be sent; of what is left out, the peer asks again.
const MESSAGES_MAX: usize = 4096;

/// A connection's part of the reserve, each way: never less than a datagram, and no more than it can use.
const PART: RangeInclusive<u64> = 9 << 10..=64 << 10;

/// What bounds the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections, of both ends together.
    pub connections: usize,
    /// Bytes in all buffers. More only where the least parts of all connections are more than a third of it, and by what is read in one turn.
    pub memory: u64,
}

impl Limits {
    /// Bytes for whoever comes first. Beyond them a connection has its part of the reserve: it sends no more than that, and
    /// takes no data that can wait, so that none stands still because of others.
    fn for_all(self) -> u64 {
        self.memory - self.memory / 3
    }

    /// A part of the reserve, each way, among so many connections.
    fn part(self, connections: usize) -> u64 {
        (self.memory / 6 / connections.max(1) as u64).clamp(*PART.start(), *PART.end())
    }
}

/// What the applications' side has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer asks for a connection: answer with [`Exchange::opened`] or [`Exchange::close`].
    Asked(LineKey, Opening),
    /// Something may be read or written, or have ended.
    Changed(LineKey),
    /// It broke, by this errno: the application gets a reset.
    Broken(LineKey, u16),
    /// Both ends have all: the application's socket can be closed in good order.
    Finished(LineKey),
}

/// Why no connection was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

struct Slot {
    line: Line,
    /// Its place in the timers.
    deadline: Option<Instant>,
    /// It waits for its turn to send.
    is_waiting: bool,
    /// [`Event::Changed`] is on its way.
    is_changed: bool,
    memory: u64,
}

/// See the module.
pub struct Exchange {
    settings: LineSettings,
    limits: Limits,
    lines: BTreeMap<LineKey, Slot>,
    timers: BTreeSet<(Instant, LineKey)>,
    /// Those that may have something to send, in turn.
    waiting: VecDeque<LineKey>,
    goodbyes: Goodbyes,
    /// Connection, what, errno.
    messages: VecDeque<(LineKey, u8, u16)>,
    events: VecDeque<Event>,
    memory: u64,
    next_number: u32,
    rng: Rng,
    tallies: Tallies,
}

impl Exchange {
    /// Without connections. `settings` were checked.
    pub fn new(settings: LineSettings, limits: Limits, seed: u64) -> Exchange {
        let mut rng = Rng::derive(seed, "forwarder");
        Exchange {
            settings,
            limits,
            lines: BTreeMap::new(),
            timers: BTreeSet::new(),
            waiting: VecDeque::new(),
            goodbyes: Goodbyes::default(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
            memory: 0,
            next_number: rng.below(u64::from(LineKey::NUMBERS)) as u32,
            rng,
            tallies: Tallies::default(),
        }
    }

    /// Asks the peer for a connection.
    ///
    /// # Errors
    /// The table is full.
    pub fn open(&mut self, now: Instant, opening: &Opening) -> Result<LineKey, Full> {
        if self.lines.len() >= self.limits.connections {
            self.tallies.refused_limit += 1;
            return Err(Full);
        }
        let key = self.free_key();
        let line = Line::open(&self.settings, key, opening.encode(), &mut self.rng, now);
        self.tallies.opened += 1;
        self.insert(key, line);
        Ok(key)
    }

    fn free_key(&mut self) -> LineKey {
        loop {
            self.next_number = (self.next_number + 1) % LineKey::NUMBERS;
            let key = LineKey { is_ours: true, number: self.next_number };
            if !self.lines.contains_key(&key) && !self.goodbyes.has(key) {
                return key;
            }
        }
    }

    fn insert(&mut self, key: LineKey, line: Line) {
        let slot = Slot { line, deadline: None, is_waiting: false, is_changed: false, memory: 0 };
        self.lines.insert(key, slot);
        self.touched(key);
    }

    /// Takes a frame.
    pub fn handle_frame(&mut self, now: Instant, mut frame: Bytes) {
        let Some(front) = Front::take(&mut frame) else {
            self.tallies.malformed += 1;
            return;
        };
        match front.kind {
            Kind::Message => self.handle_message(&front, frame),
            Kind::Datagram => self.tallies.malformed += 1,
            _ if self.lines.contains_key(&front.key) => self.handle_segment(now, &front, frame),
            Kind::Open if !front.key.is_ours => self.handle_open(now, &front, frame),
            // A control TCP's SYN, which leaves together with the data TCP's: that one was lost, and comes again.
            Kind::Control => {}
            _ => self.send(front.key, CLOSE, libc::ECONNRESET as u16),
        }
    }

    fn handle_segment(&mut self, now: Instant, front: &Front, mut body: Bytes) {
        let (has_memory, part) = (self.has_memory(), self.limits.part(self.lines.len()));
        let Some(slot) = self.lines.get_mut(&front.key) else { return };
        if !has_memory && slot.line.can_wait(front, &body, part) {
            self.tallies.without_memory += 1;
            return;
        }
        if front.kind == Kind::Open && take_opening(&mut body).is_none() || !slot.line.handle(now, front, body) {
            self.tallies.malformed += 1;
        }
        self.changed(front.key);
    }

    fn handle_open(&mut self, now: Instant, front: &Front, mut body: Bytes) {
        if let Some(errno) = self.goodbyes.errno_of(front.key) {
            // It was refused before; the peer has not heard.
            return self.send(front.key, CLOSE, errno);
        }
        let Some(opening) = take_opening(&mut body).and_then(|bytes| Opening::decode(&bytes)) else {
            self.tallies.malformed += 1;
            return self.send(front.key, CLOSE, libc::EPROTO as u16);
        };
        if self.lines.len() >= self.limits.connections {
            self.tallies.refused_limit += 1;
            return self.send(front.key, CLOSE, libc::ENOBUFS as u16);
        }
        let Some(line) = Line::accept(&self.settings, front, body, &mut self.rng, now) else {
            self.tallies.malformed += 1;
            return;
        };
        self.tallies.asked += 1;
        self.insert(front.key, line);
        self.events.push_back(Event::Asked(front.key, opening));
    }

    fn handle_message(&mut self, front: &Front, mut body: Bytes) {
        match (body.try_get_u8(), body.try_get_u16()) {
            (Ok(CLOSE), Ok(errno)) => {
                self.send(front.key, CLOSED, 0);
                self.end_by_peer(front.key, errno);
            }
            (Ok(CLOSED), Ok(_)) => self.goodbyes.heard(front.key),
            _ => self.tallies.malformed += 1,
        }
    }

    /// The peer says that it is over.
    fn end_by_peer(&mut self, key: LineKey, errno: u16) {
        let Some(slot) = self.lines.get_mut(&key) else { return };
        // A peer that has all has forgotten the connection, although its last acknowledgment was lost.
        let is_read = matches!(slot.line.read(), Ok(None));
        let event =
            if is_read && slot.line.is_settled() { Event::Finished(key) } else { Event::Broken(key, errno.max(1)) };
        self.remove(key);
        self.note_end(event);
    }

    fn note_end(&mut self, event: Event) {
        match event {
            Event::Broken(_, errno) => self.tallies.broken(errno),
            _ => self.tallies.finished += 1,
        }
        self.events.push_back(event);
    }

    fn send(&mut self, key: LineKey, what: u8, errno: u16) {
        if self.messages.len() < MESSAGES_MAX {
            self.messages.push_back((key, what, errno));
        }
    }

    /// The application took the connection that the peer asked for.
    pub fn opened(&mut self, key: LineKey) {
        if let Some(slot) = self.lines.get_mut(&key) {
            slot.line.opened();
            self.touched(key);
        }
    }

    /// Ends a connection that broke on the application's side: its peer gets a reset, by this errno.
    pub fn close(&mut self, now: Instant, key: LineKey, errno: u16) {
        if self.remove(key) {
            self.tallies.broken(errno);
            self.goodbyes.say(now, key, errno.max(1));
        }
    }

    /// The peer is another process than before, or gone: nothing of what was goes on.
    pub fn forget_peer(&mut self, errno: u16) {
        for key in self.lines.keys().copied().collect::<Vec<_>>() {
            self.remove(key);
            self.note_end(Event::Broken(key, errno));
        }
        self.goodbyes = Goodbyes::default();
        self.messages.clear();
    }

    fn remove(&mut self, key: LineKey) -> bool {
        let Some(slot) = self.lines.remove(&key) else { return false };
        self.tallies.add_line(&slot.line);
        self.memory -= slot.memory;
        if let Some(deadline) = slot.deadline {
            self.timers.remove(&(deadline, key));
        }
        true
    }

    /// The connection, to read and write; tell [`Exchange::touched`] afterwards.
    pub fn line(&mut self, key: LineKey) -> Option<&mut Line> {
        Some(&mut self.lines.get_mut(&key)?.line)
    }

    /// True if every connection may have as much as it has room for.
    pub fn has_memory(&self) -> bool {
        self.memory <= self.limits.for_all()
    }

    /// Bytes that may be read from the application of this connection, whatever room it has.
    pub fn may_read(&self, key: LineKey) -> usize {
        if self.has_memory() {
            return usize::MAX;
        }
        let has = self.lines.get(&key).map_or(u64::MAX, |slot| slot.line.memory());
        self.limits.part(self.lines.len()).saturating_sub(has) as usize
    }

    /// Something was done with the connection: it may have something to send, another deadline, or be over.
    pub fn touched(&mut self, key: LineKey) {
        let Some(slot) = self.lines.get_mut(&key) else { return };
        slot.line.flush();
        let memory = slot.line.memory();
        self.memory = self.memory - slot.memory + memory;
        slot.memory = memory;
        self.tallies.memory_max = self.tallies.memory_max.max(self.memory);
        if !slot.is_waiting {
            slot.is_waiting = true;
            self.waiting.push_back(key);
        }
    }

    fn changed(&mut self, key: LineKey) {
        self.touched(key);
        if let Some(slot) = self.lines.get_mut(&key).filter(|slot| !slot.is_changed) {
            slot.is_changed = true;
            self.events.push_back(Event::Changed(key));
        }
    }

    /// What the applications' side has to do next.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Changed(key) = event
            && let Some(slot) = self.lines.get_mut(&key)
        {
            slot.is_changed = false;
        }
        Some(event)
    }

    /// Writes the next frame to `out`, without number and tag; false if there is none now.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        if let Some((key, what, errno)) = self.messages.pop_front().or_else(|| self.goodbye(now)) {
            Front { kind: Kind::Message, control: 0, key }.put(out);
            out.put_u8(what);
            out.put_u16(errno);
            return true;
        }
        while let Some(key) = self.waiting.pop_front() {
            let Some(slot) = self.lines.get_mut(&key) else { continue };
            if slot.line.poll_transmit(now, out) {
                // One frame each in turn.
                self.waiting.push_back(key);
                return true;
            }
            slot.is_waiting = false;
            self.settle(now, key);
        }
        false
    }

    fn goodbye(&mut self, now: Instant) -> Option<(LineKey, u8, u16)> {
        self.goodbyes.poll(now).map(|(key, errno)| (key, CLOSE, errno))
    }

    /// Nothing more to send for now: when to come back, or how it ended.
    fn settle(&mut self, now: Instant, key: LineKey) {
        let Some(slot) = self.lines.get_mut(&key) else { return };
        if slot.line.is_finished() {
            self.remove(key);
            return self.note_end(Event::Finished(key));
        }
        if slot.line.has_failed() {
            self.close(now, key, libc::ETIMEDOUT as u16);
            return self.events.push_back(Event::Broken(key, libc::ETIMEDOUT as u16));
        }
        let (new, old) = (slot.line.poll_timeout(), slot.deadline);
        if new != old {
            slot.deadline = new;
            if let Some(old) = old {
                self.timers.remove(&(old, key));
            }
            self.timers.extend(new.map(|new| (new, key)));
        }
    }

    /// The earliest deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let line = self.timers.first().map(|(at, _)| *at);
        line.into_iter().chain(self.goodbyes.poll_timeout()).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, key)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, key));
            let Some(slot) = self.lines.get_mut(&key) else { continue };
            slot.deadline = None;
            slot.line.handle_timeout(now);
            self.changed(key);
        }
    }

    /// Connections that there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True without connections.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes in all buffers.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Connections that ended here and that the peer has not heard of.
    pub fn goodbyes(&self) -> usize {
        self.goodbyes.len()
    }

    /// What happened so far, with the connections that there are.
    pub fn tallies(&self) -> Tallies {
        let mut sum = self.tallies.clone();
        self.lines.values().for_each(|slot| sum.add_line(&slot.line));
        sum
    }

    /// What holds at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.memory != self.lines.values().map(|slot| slot.memory).sum::<u64>() {
            return Err("the memory of the connections is not what it is counted as");
        }
        self.lines.values().try_for_each(|slot| slot.line.check())
    }
}

fn take_opening(body: &mut Bytes) -> Option<Bytes> {
    let length = usize::from(body.try_get_u16().ok()?);
    (length <= body.len()).then(|| body.split_to(length))
}
