//! Flow queueing with CoDel, FQ-CoDel (RFC 8290).
//!
//! Packets are hashed by flow into queues, each with a CoDel of its own. Queues are served by deficit round robin, a
//! `quantum` of bytes at a time; one that was empty goes into a list of new queues, which is served first, so a flow
//! that sends little never waits behind one that sends much. When all queues together are too long, the longest one in
//! bytes loses its head.
//!
//! With `ways`, a flow whose queue is taken gets another of its set, as in CAKE: of 200 flows in 1024 queues a sixth share
//! one otherwise, and a new connection waits behind all that an old one has sent. With `spares_repeats`, CoDel drops no data that its
//! sender had to send again: the flow would stand still for as long once more. With `head_start`, queues that have
//! sent less than that since they were idle are served before the others, for every second byte, so a request need not wait for a turn of all
//! downloads with each of its packets. Until then such a queue is also new again each time that it was found empty. All three are off in RFC 8290.
//!
//! Difference: overflow drops packets one at a time until the rest fits, where Linux drops up to 64 at once to save
//! the search for the longest queue.

use super::codel::{Control, Law, check_times};
use super::discipline::{Discipline, QueueSettings, QueueSite};
use super::fifo::{Fifo, Waiting};
use super::held::DepartureQueue;
use super::limit::QueueLimit;
use super::signals::Signals;
use airtcp_core::packet::protocol;
use airtcp_core::{Backlog, ByteSize, DropReason, Duration, FlowKey, Instant, Packet, Rng, SeqNum, parameters};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::hash::{Hash, Hasher};
use siphasher::sip::SipHasher13;

parameters! {
    /// Flow queueing with controlled delay.
    pub struct FqCodel {
        /// How much may wait in all queues, not counting the packet in transmission; then the longest loses its head.
        pub limit: QueueLimit = QueueLimit::Packets(10240), "RFC 8290, section 5.2.1";
        /// Memory that waiting packets may take, with what they take beside their bytes.
        pub memory: ByteSize = ByteSize(32 << 20), "Linux, sch_fq_codel";
        /// Number of queues.
        pub flows: u32 = 1024, "RFC 8290, section 5.2.2";
        /// Bytes that a queue may send in its turn.
        pub quantum: u32 = 1514, "RFC 8290, section 5.2.4";
        /// Wait that is acceptable for good.
        pub target: Duration = Duration::from_millis(5), "RFC 8290, section 5.2.5";
        /// Time for which the wait may be longer before the first drop: a round-trip time that most flows have.
        pub interval: Duration = Duration::from_millis(100), "RFC 8290, section 5.2.5";
        /// Whether packets of ECN-capable transports are marked instead of dropped.
        pub ecn: bool = true, "RFC 3168; Linux, sch_fq_codel";
        /// Queues of a set; a flow may have any of its set that is free. 1 is a queue by the hash alone.
        pub ways: u32 = 1, "RFC 8290; Linux, sch_cake, has 8 (Høiland-Jørgensen, Täht and Morton 2018)";
        /// Bytes of a flow that go ahead of flows that have sent more, if it begins or had nothing to send for a second; where several such flows have packets waiting, they have every second byte. 0 lets all take turns.
        pub head_start: u32 = 0, "RFC 8290; ours: least attained service first (Rai, Biersack and Urvoy-Keller 2005), for so much";
        /// Intervals beyond the target after which a packet is dropped, ECN-capable or not, if more than four of its queue wait; never if auto.
        pub overdue: Option<u32> = None, "ours: RFC 7567, section 3, asks for ways to deal with unresponsive flows; Linux has none";
        /// Whether a TCP segment that is sent again is kept, and the packet behind it dropped in its place.
        pub spares_repeats: bool = false, "ours; RFC 8290 knows no such packets";
    }
}

/// As many as Linux allows.
const MAX_FLOWS: u32 = 65_536;
/// A smaller quantum only makes more turns.
const MIN_QUANTUM: u32 = 64;

/// A flow of which nothing came, waited or left for so long begins anew.
const IDLE: Duration = Duration::from_secs(1);

/// A segment further from the end of its stream is of another one.
const STREAM_REACH: i32 = 1 << 24;
/// Guests of a queue that are remembered; the one that came first makes room.
const MAX_GUESTS: usize = 64;
/// Packets of a flow that are not dropped for their wait: one, and three behind it whose acknowledgments show that one was lost.
const OVERDUE_KEPT: usize = 4;

impl QueueSettings for FqCodel {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self) -> Result<(), String> {
        check_times(self.target, self.interval)?;
        if self.flows == 0 || self.flows > MAX_FLOWS {
            return Err("'flows' is the number of queues, 1 to 65536; 1024 is usual".into());
        }
        if self.quantum < MIN_QUANTUM {
            return Err("a quantum below 64 bytes sends nothing in a turn; use 1514, or 300 for slow links".into());
        }
        if self.ways == 0 || !self.flows.is_multiple_of(self.ways) {
            return Err("'ways' has to divide 'flows'; 1 and 8 are usual".into());
        }
        Ok(())
    }

    fn start(&self, site: &QueueSite, mut rng: Rng) -> Discipline {
        Discipline::departure(FqCodelQueue::new(self, site.mtu, &mut rng))
    }
}

/// FQ-CoDel at work.
#[derive(Debug)]
pub(crate) struct FqCodelQueue {
    limit: QueueLimit,
    memory_limit: u64,
    quantum: i64,
    law: Law,
    overdue: Option<u32>,
    spares_repeats: bool,
    ways: usize,
    key: (u64, u64),
    flows: Vec<Flow>,
    /// Queues in order of their turns: those that were empty a short while ago, those that have sent less than a head start, and the
    /// others.
    new: VecDeque<usize>,
    young: VecDeque<usize>,
    old: VecDeque<usize>,
    head_start: u64,
    /// Bytes that young ones sent and old ones have not sent since, two quanta at most.
    owed: i64,
    waiting: Backlog,
    memory: u64,
}

#[derive(Debug, Default)]
struct Flow {
    /// Hash of the flow that was last given this queue.
    owner: Option<u64>,
    /// Hashes of others that came meanwhile, while no queue of their set was free. They stay, or their packets would overtake each other.
    guests: Vec<u64>,
    fifo: Fifo,
    /// The flow that last came, and where its stream ends.
    stream: Option<(FlowKey, SeqNum)>,
    control: Control,
    /// Bytes that it may send before the next queue's turn.
    deficit: i64,
    /// Whether it stands in one of the lists.
    is_listed: bool,
    /// When the latest packet came or left, and bytes that were sent since the last pause.
    latest: Instant,
    sent: u64,
}

/// The lists of queues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    New,
    Young,
    Old,
}

impl FqCodelQueue {
    /// On a link whose packets have at most `mtu` bytes; `rng` seeds the hash.
    pub(crate) fn new(settings: &FqCodel, mtu: u32, rng: &mut Rng) -> Self {
        let FqCodel { limit, memory, flows, quantum, target, interval, ecn, ways, head_start, overdue, spares_repeats } =
            *settings;
        FqCodelQueue {
            limit,
            memory_limit: memory.0,
            quantum: i64::from(quantum),
            law: Law::new(target, interval, mtu, ecn),
            overdue,
            spares_repeats,
            ways: ways.max(1) as usize,
            key: (rng.next_u64(), rng.next_u64()),
            flows: (0..flows.max(1)).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            young: VecDeque::new(),
            old: VecDeque::new(),
            head_start: head_start.into(),
            owed: 0,
            waiting: Backlog::default(),
            memory: 0,
        }
    }

    /// Index of the queue for a packet's flow, and the flow's hash: the queue that it has, or where it is a guest; else the first of its
    /// set, from the one that the hash says, whose turns are over; else that one, with whoever has it.
    fn queue_of(&self, packet: &Packet) -> (usize, u64) {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        let ip = packet.ip();
        (ip.source, ip.destination, ip.protocol, ports(packet)).hash(&mut hasher);
        let hash = hasher.finish();
        let sets = (self.flows.len() / self.ways) as u64;
        let (set, way) = ((hash % sets) as usize * self.ways, (hash / sets) as usize);
        let index = |offset: usize| set + (way + offset) % self.ways;
        let ways = || (0..self.ways).map(index);
        let own = ways().find(|index| self.flows[*index].is_of(hash));
        let free = || ways().find(|index| !self.flows[*index].is_listed);
        (own.or_else(free).unwrap_or(index(0)), hash)
    }

    /// Runs `work` on a queue and keeps the sums over all queues.
    fn change<T>(&mut self, index: usize, work: impl FnOnce(&mut Flow, &Law) -> T) -> T {
        let flow = &mut self.flows[index];
        let (before, memory_before) = (flow.fifo.backlog(), flow.fifo.memory());
        let result = work(flow, &self.law);
        let after = flow.fifo.backlog();
        self.waiting.packets = self.waiting.packets - before.packets + after.packets;
        self.waiting.bytes = self.waiting.bytes - before.bytes + after.bytes;
        self.memory = self.memory - memory_before as u64 + flow.fifo.memory() as u64;
        result
    }

    /// Adds a packet that waits since then to its flow's queue, which it gives back.
    fn place(&mut self, since: Instant, packet: Packet, was_repeat: bool) -> usize {
        let (index, hash) = self.queue_of(&packet);
        let is_watched = self.spares_repeats || self.head_start > 0;
        let goes_back = is_watched && self.flows[index].is_repeat(&packet);
        let is_repeat = self.spares_repeats && goes_back || was_repeat;
        self.change(index, |flow, _| flow.fifo.push(since, packet, is_repeat));
        let flow = &mut self.flows[index];
        // A sender that waited for an acknowledgment in vain has not been idle.
        let was_idle = flow.fifo.backlog().packets == 1 && since >= flow.latest + IDLE && !goes_back;
        if was_idle || !flow.is_listed && !flow.is_of(hash) {
            flow.sent = 0;
        }
        flow.latest = since;
        if !flow.is_listed {
            flow.is_listed = true;
            flow.owner = Some(hash);
            flow.guests.clear();
            flow.deficit = self.quantum;
            self.new.push_back(index);
        } else if self.ways > 1 && !flow.is_of(hash) {
            if flow.guests.len() == MAX_GUESTS {
                flow.guests.remove(0);
            }
            flow.guests.push(hash);
        }
        index
    }

    /// Deals what waits to another number of queues. It waits for as long as before.
    fn deal_anew(&mut self, flows: usize, ways: usize) {
        let drain = |flow: &mut Flow| core::iter::from_fn(|| flow.fifo.pop()).collect::<Vec<_>>();
        let mut waiting: Vec<Waiting> = self.flows.iter_mut().flat_map(drain).collect();
        waiting.sort_by_key(|waiting| waiting.since);
        self.flows = (0..flows).map(|_| Flow::default()).collect();
        (self.new, self.young, self.old, self.ways) = (VecDeque::new(), VecDeque::new(), VecDeque::new(), ways);
        (self.waiting, self.memory) = (Backlog::default(), 0);
        for Waiting { since, packet, is_repeat } in waiting {
            self.place(since, packet, is_repeat);
        }
    }

    /// All queues that are not empty, and some that are.
    fn listed(&self) -> impl DoubleEndedIterator<Item = &usize> {
        self.old.iter().chain(&self.young).chain(&self.new)
    }

    /// The list whose turn it is.
    fn turn(&self) -> List {
        if !self.new.is_empty() {
            List::New
        } else if self.young.is_empty() || self.owed >= self.quantum && !self.old.is_empty() {
            List::Old
        } else {
            List::Young
        }
    }

    fn list(&mut self, list: List) -> &mut VecDeque<usize> {
        match list {
            List::New => &mut self.new,
            List::Young => &mut self.young,
            List::Old => &mut self.old,
        }
    }

    /// Puts a queue behind those with which it takes turns.
    fn line_up(&mut self, index: usize) {
        let is_young = self.flows[index].sent < self.head_start;
        self.list(if is_young { List::Young } else { List::Old }).push_back(index);
    }

    /// A packet of so many bytes leaves a queue of this list.
    fn count(&mut self, now: Instant, index: usize, list: List, bytes: u32) {
        let flow = &mut self.flows[index];
        flow.deficit -= i64::from(bytes);
        (flow.latest, flow.sent) = (now, flow.sent + u64::from(bytes));
        match list {
            List::New => {}
            List::Young => self.owed = (self.owed + i64::from(bytes)).min(self.quantum * 2),
            List::Old => self.owed = (self.owed - i64::from(bytes)).max(0),
        }
    }

    fn is_too_long(&self) -> bool {
        !self.limit.holds(self.waiting) || self.memory > self.memory_limit
    }

    /// Drops the head of the longest queue.
    fn drop_from_longest(&mut self, signals: &mut Signals<'_>) {
        let bytes = |index: &usize| self.flows[*index].fifo.backlog().bytes;
        // All that is not empty is listed. Of equals, the first in the list.
        let Some(longest) = self.listed().copied().rev().max_by_key(bytes) else { return };
        if let Some(waiting) = self.change(longest, |flow, _| flow.fifo.pop_for_room()) {
            signals.drop(waiting.packet, DropReason::QUEUE_FULL);
        }
    }
}

impl Flow {
    fn is_of(&self, hash: u64) -> bool {
        self.owner == Some(hash) || self.is_listed && self.guests.contains(&hash)
    }

    /// Whether `packet` has data from before the end of its flow's stream, so far.
    fn is_repeat(&mut self, packet: &Packet) -> bool {
        let (Some(tcp), Some(flow)) = (packet.tcp(), packet.flow()) else { return false };
        if packet.payload_len() == 0 && !tcp.flags.syn() || tcp.flags.rst() {
            return false;
        }
        let end = tcp.sequence + packet.sequence_len();
        let is_of_stream = |end: &SeqNum| !tcp.flags.syn() && tcp.sequence.distance_from(*end).abs() < STREAM_REACH;
        let known = self.stream.filter(|(of, end)| *of == flow && is_of_stream(end)).map(|(_, end)| end);
        self.stream = Some((flow, known.map_or(end, |known| known.max(end))));
        known.is_some_and(|known| tcp.sequence.before(known))
    }

    /// Drops packets at the head that waited longer than `longest`, and repeats that waited twice as long. What stays is enough for
    /// acknowledgments that show a loss, however long a turn takes.
    fn drop_overdue(&mut self, now: Instant, longest: Duration, signals: &mut Signals<'_>) {
        let is_overdue = |waiting: &Waiting| {
            let longest = if waiting.is_repeat { longest.saturating_mul(2) } else { longest };
            now.saturating_since(waiting.since) > longest
        };
        while self.fifo.backlog().packets > OVERDUE_KEPT && self.fifo.oldest().is_some_and(is_overdue) {
            let Some(waiting) = self.fifo.pop() else { return };
            signals.drop(waiting.packet, DropReason::AQM);
        }
    }
}

impl DepartureQueue for FqCodelQueue {
    fn adopt(&mut self, next: &dyn Any) -> bool {
        let Some(next) = next.downcast_ref::<Self>() else { return false };
        (self.limit, self.memory_limit, self.quantum) = (next.limit, next.memory_limit, next.quantum);
        self.head_start = next.head_start;
        (self.law, self.overdue, self.spares_repeats) = (next.law, next.overdue, next.spares_repeats);
        if (next.flows.len(), next.ways) != (self.flows.len(), self.ways) {
            self.deal_anew(next.flows.len(), next.ways);
        }
        true
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, whatever_the_limit: bool, signals: &mut Signals<'_>) -> bool {
        let index = self.place(now, packet, false);
        while !whatever_the_limit && self.is_too_long() {
            self.drop_from_longest(signals);
        }
        // Heads are dropped, so the packet is gone only if its whole queue is.
        !self.flows[index].fifo.is_empty()
    }

    fn dequeue(&mut self, now: Instant, signals: &mut Signals<'_>) -> Option<Packet> {
        loop {
            let turn = self.turn();
            let index = self.list(turn).pop_front()?;
            if self.flows[index].deficit <= 0 {
                self.flows[index].deficit += self.quantum;
                self.line_up(index);
                continue;
            }
            if let Some(intervals) = self.overdue {
                self.change(index, |flow, law| flow.drop_overdue(now, law.longest(intervals), signals));
            }
            match self.change(index, |flow, law| flow.control.dequeue(law, now, &mut flow.fifo, signals)) {
                Some(packet) => {
                    self.count(now, index, turn, packet.wire_len());
                    self.list(turn).push_front(index);
                    return Some(packet);
                }
                // Not forgotten at once, or a flow could be new again and again and starve the others; one with a head start may, until that is used.
                None if turn == List::New => self.line_up(index),
                None => self.flows[index].is_listed = false,
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    fn waiting_flows(&self) -> Option<usize> {
        let has_some = |index: &&usize| self.flows[**index].fifo.backlog().packets > 1;
        Some(self.listed().filter(has_some).count())
    }

    fn replace_newest(&mut self, packet: Packet, covers: &dyn Fn(&Packet, &Packet) -> bool) -> Result<Packet, Packet> {
        let (index, _) = self.queue_of(&packet);
        self.change(index, |flow, _| flow.fifo.replace_newest(packet, covers))
    }

    fn allow(&mut self, least: Duration, extra: Duration) {
        self.law.allow(least, extra);
    }
}

/// Ports of TCP and UDP; zero where there are none, or only the first fragment has them.
fn ports(packet: &Packet) -> (u16, u16) {
    if let Some(tcp) = packet.tcp() {
        return (tcp.source_port, tcp.destination_port);
    }
    match packet.payload_bytes().as_deref() {
        Some(&[a, b, c, d, ..]) if packet.ip().protocol == protocol::UDP && !packet.ip().is_fragment => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    }
}
