//! From packets to what is known of a link. No I/O and no clock: any packets may come, at any time.
//!
//! At most [`FLOWS`] flows are known; who was silent longest makes room. A flow's state is of fixed size but for its holes,
//! of which there are 16 at most in each direction: 8 MB in all.

use super::evidence::{Bytes, Evidence, Way};
use super::headers::{self, Content, Glance, Segment};
use super::marks::Marks;
use super::rate::Carried;
use super::series::{Row, Series};
use super::stream::{Side, Stream};
use super::waiting::Waiting;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Duration, FlowKey, Instant, Rng, SeqNum};

/// Flows that are known at once.
const FLOWS: usize = 4096;
/// A flow with so many packets of at least so many bytes in a row is long: more than CUBIC's first two round trips (RFC 6928:
/// 10 and 20 segments).
const LONG_FLOW: u32 = 50;
const LONG_PACKET: u32 = 500;
/// A flow that is silent for longer has paused, unless something of it is on its way: then it waits for a timeout.
const PAUSE: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(3);
/// A number in a tunnel that is further ahead is strange, not a gap.
const FURTHEST_GAP: u64 = 10_000;

const OUT: usize = 0;
const IN: usize = 1;

/// Watches the packets of one link.
pub struct Watcher {
    began: Instant,
    last: Instant,
    flows: FlowTable<Flow>,
    ways: [Seen; 2],
    series: Series,
    own_bytes: u64,
}

/// What is counted of one direction.
#[derive(Default)]
struct Seen {
    way: Way,
    carried: Carried,
    /// Segments that were sent again for nothing.
    needless: u64,
    /// Round trips in nanoseconds times segments, of the far side and of the whole path, and these segments.
    round_trips: [u128; 2],
    timed_segments: u64,
    /// Sum and number of waits, in ms.
    waits: (f64, u64),
}

#[derive(Default)]
struct Flow {
    streams: [Stream; 2],
    waiting: Waiting,
    is_quic: bool,
    /// In each direction: the timestamp that passed last, and those whose echo is waited for.
    stamps: [(Option<u32>, Marks); 2],
    /// The shortest round trip of the near side.
    near: Option<Duration>,
    /// The latest loss event of each direction, outside queues and in one.
    events: [[Option<Instant>; 2]; 2],
    /// Long packets in a row in each direction, and when the last one came.
    long: [(u32, Option<Instant>); 2],
    /// A tunnel's name and the furthest number of what arrives in it.
    tunnel: Option<(u32, u64)>,
}

impl Watcher {
    /// Begins to watch; `seed` keeps others from aiming at the table of flows.
    pub fn new(now: Instant, seed: u64) -> Watcher {
        let flows = FlowTable::new(FLOWS, &mut Rng::derive(seed, "observe"));
        Watcher { began: now, last: now, flows, ways: Default::default(), series: Series::default(), own_bytes: 0 }
    }

    /// A packet passes, of which these are the first bytes.
    pub fn take(&mut self, now: Instant, is_out: bool, bytes: &[u8]) {
        // Times of the kernel may step back by a little.
        self.last = self.last.max(now);
        let now = self.last;
        let Some(glance) = headers::read(bytes) else { return };
        if glance.content == Content::Ours {
            self.own_bytes += u64::from(glance.length);
            return;
        }
        let at = if is_out { OUT } else { IN };
        let slot = self.slot(if is_out { glance.flow } else { glance.flow.reversed() });
        let Some((_, flow)) = self.flows.at_mut(slot) else { return };
        let row = self.series.row(now.saturating_since(self.began).as_nanos() / 1_000_000_000);
        row.bytes[at] += u64::from(glance.length);
        flow.is_quic |= glance.content == Content::Quic;
        count_kind(&mut self.ways[at].way.bytes, flow, &glance);
        let mut look = Look { now, at, flow, ways: &mut self.ways, row };
        match glance.content {
            Content::Tcp(segment) => look.segment(&segment),
            Content::Wireguard(Some(number)) => look.numbered(number, &glance),
            Content::Ipsec(Some((association, number))) => look.numbered((association, number.into()), &glance),
            _ => look.carry(glance.length),
        }
        look.long_packet(glance.length);
    }

    fn slot(&mut self, key: FlowKey) -> u32 {
        match self.flows.slot(&key) {
            Some(slot) => {
                self.flows.touch(slot);
                slot
            }
            None => {
                let (slot, gone) = self.flows.insert(key, Flow::default());
                if let Some((_, mut flow)) = gone {
                    end_runs(&mut flow, &mut self.ways);
                }
                slot
            }
        }
    }

    /// What is known at `now`; of the peer, the scheme and the hop nothing.
    pub fn evidence(&mut self, now: Instant) -> Evidence {
        for slot in self.flows.slots_oldest_first().collect::<Vec<_>>() {
            if let Some((_, flow)) = self.flows.at_mut(slot) {
                end_runs(flow, &mut self.ways);
            }
        }
        let seconds = now.saturating_since(self.began).as_nanos() as f64 / 1e9;
        let [out, into] = [OUT, IN].map(|at| self.ways[at].told());
        Evidence { seconds, own_bytes: self.own_bytes, out, into, ..Evidence::default() }
    }

    /// What happened over time.
    pub fn rows(&self) -> &[Row] {
        self.series.rows()
    }
}

impl Seen {
    fn told(&self) -> Way {
        let mean = |sum: u128| (self.timed_segments > 0).then(|| sum as f64 / self.timed_segments as f64 / 1e6);
        let (busy_seconds, flow_seconds, busy_bps) = self.carried.busy();
        let lost = self.way.lost.saturating_sub(self.needless);
        Way {
            lost,
            lost_in_queue: self.way.lost_in_queue.min(lost),
            round_trip_ms: mean(self.round_trips[0]),
            path_ms: mean(self.round_trips[1]),
            wait_ms: self.waits.0 / self.waits.1.max(1) as f64,
            busy_seconds,
            flow_seconds,
            busy_bps,
            peak_bps: self.carried.peak_bps(),
            ..self.way.clone()
        }
    }
}

fn count_kind(bytes: &mut Bytes, flow: &Flow, glance: &Glance) {
    let counter = match glance.content {
        Content::Tcp(_) => &mut bytes.tcp,
        Content::Quic => &mut bytes.quic,
        Content::Datagram if flow.is_quic => &mut bytes.quic,
        Content::Wireguard(_) | Content::Ipsec(_) | Content::Vpn => &mut bytes.vpn,
        _ => &mut bytes.other,
    };
    *counter += u64::from(glance.length);
}

/// The far side of the box is behind what leaves and before what arrives.
fn is_far(at: usize, side: Side) -> bool {
    (at == OUT) == (side == Side::Behind)
}

fn end_runs(flow: &mut Flow, ways: &mut [Seen; 2]) {
    for (at, stream) in flow.streams.iter_mut().enumerate() {
        if let Some((length, side)) = stream.end_run()
            && is_far(at, side)
        {
            ways[at].way.count_burst(length);
        }
    }
}

/// A packet of a flow in the direction `at`, and what is to be counted.
struct Look<'a> {
    now: Instant,
    at: usize,
    flow: &'a mut Flow,
    ways: &'a mut [Seen; 2],
    row: &'a mut Row,
}

impl Look<'_> {
    fn carry(&mut self, bytes: u32) {
        self.ways[self.at].carried.add(self.now, bytes.into());
    }

    fn segment(&mut self, segment: &Segment) {
        let other = 1 - self.at;
        if segment.is_syn {
            if segment.ack.is_none() {
                self.flow.streams[self.at].open(None);
            }
            // What the other end may send is what this one takes.
            self.flow.streams[other].open(segment.mss);
        }
        if let Some(ack) = segment.ack {
            self.acknowledgment(other, ack, segment);
        }
        self.echo(segment);
        if segment.payload > 0 && !segment.is_reset {
            self.data(segment);
        }
    }

    /// What was sent the other way arrived.
    fn acknowledgment(&mut self, other: usize, ack: SeqNum, segment: &Segment) {
        let acked = self.flow.streams[other].acknowledge(self.now, ack, segment.sacked);
        // What arrived on the link is carried; what left is once it is acknowledged.
        if other == OUT {
            self.ways[OUT].carried.add(self.now, acked.bytes.into());
            self.ways[OUT].needless += u64::from(segment.is_duplicate_told);
            if let Some(round_trip) = acked.round_trip {
                self.round_trip(OUT, round_trip);
            }
        }
    }

    /// An echoed timestamp tells how long it took since it passed the other way, if data carry it: acknowledgments may be late.
    fn echo(&mut self, segment: &Segment) {
        let Some((stamp, echoed)) = segment.stamps else { return };
        let shortest = self.flow.waiting.shortest();
        let (last, marks) = &mut self.flow.stamps[self.at];
        // Several packets may have one.
        if last.replace(stamp) != Some(stamp) {
            marks.pass(self.now, SeqNum(stamp), shortest);
        }
        let Some((back, round_trip)) = self.flow.stamps[1 - self.at].1.back(self.now, SeqNum(echoed)) else { return };
        if back.0 != echoed || segment.payload == 0 {
            return;
        }
        if self.at == OUT {
            self.flow.near = Some(self.flow.near.map_or(round_trip, |near| near.min(round_trip)));
        } else if !self.flow.streams[OUT].is_open() {
            self.round_trip(IN, round_trip);
        }
    }

    fn round_trip(&mut self, at: usize, round_trip: Duration) {
        if let Some(wait) = self.flow.waiting.take(round_trip) {
            let (ms, seen) = (wait.as_nanos() as f64 / 1e6, &mut self.ways[at]);
            seen.waits = (seen.waits.0 + ms, seen.waits.1 + 1);
            seen.way.longest_wait_ms = seen.way.longest_wait_ms.max(ms);
            self.row.round_trips += 1;
            self.row.waits_ms += ms;
            self.row.longest_wait_ms = self.row.longest_wait_ms.max(ms);
        }
    }

    fn data(&mut self, segment: &Segment) {
        let (at, shortest) = (self.at, self.flow.waiting.shortest());
        let stream = &mut self.flow.streams[at];
        let passed = stream.pass(self.now, segment.seq, segment.payload, shortest);
        let seen = &mut self.ways[at];
        seen.way.segments += u64::from(passed.segments);
        seen.way.segment_bytes = seen.way.segment_bytes.max(segment.payload.min(stream.segment_bytes()));
        let path = shortest.map(|far| far + self.flow.near.unwrap_or_default());
        for (sum, time) in seen.round_trips.iter_mut().zip([shortest, path]) {
            *sum += u128::from(time.unwrap_or_default().as_nanos()) * u128::from(passed.segments);
        }
        seen.timed_segments += shortest.map_or(0, |_| u64::from(passed.segments));
        if let Some((length, side)) = passed.ended_run
            && is_far(at, side)
        {
            seen.way.count_burst(length);
        }
        match passed.lost {
            Some(side) if is_far(at, side) => {
                seen.way.lost += u64::from(passed.segments);
                self.row.lost[at] += u64::from(passed.segments);
                let waiting = &self.flow.waiting;
                // Of what arrives no round trips are known by their numbers.
                let is_queue = passed.beside.filter(|_| at == OUT);
                let is_queue = is_queue.map_or_else(|| waiting.is_queue(), |beside| waiting.is_queue_at(beside));
                seen.way.lost_in_queue += if is_queue { u64::from(passed.segments) } else { 0 };
                // What is lost within a round trip is one event to a sender (RFC 5348, section 5.2), and so is a run.
                let event = &mut self.flow.events[at][usize::from(is_queue)];
                let is_new = event.is_none_or(|event| self.now.saturating_since(event) > path.unwrap_or_default());
                if passed.is_new_run && is_new {
                    *event = Some(self.now);
                    *(if is_queue { &mut seen.way.events_in_queue } else { &mut seen.way.events }) += 1;
                }
            }
            Some(_) => seen.way.lost_elsewhere += u64::from(passed.segments),
            None => {}
        }
        if at == IN {
            seen.carried.add(self.now, segment.payload.into());
        }
    }

    /// A packet of a tunnel, which has a number that goes up by one with each.
    fn numbered(&mut self, (tunnel, number): (u32, u64), glance: &Glance) {
        self.carry(glance.length);
        if self.at == OUT {
            return;
        }
        let way = &mut self.ways[IN].way;
        way.numbered += 1;
        match &mut self.flow.tunnel {
            Some((name, furthest)) if *name == tunnel && number.abs_diff(*furthest) <= FURTHEST_GAP => {
                if number > *furthest {
                    way.numbers_missing += number - *furthest - 1;
                    *furthest = number;
                } else {
                    // It was late.
                    way.numbers_missing = way.numbers_missing.saturating_sub(1);
                }
            }
            // A tunnel has a new name after each exchange of keys.
            other => *other = Some((tunnel, number)),
        }
    }

    fn long_packet(&mut self, length: u32) {
        if length < LONG_PACKET {
            return;
        }
        let patience = if self.flow.streams[self.at].is_open() { TIMEOUT } else { PAUSE };
        let (count, last) = &mut self.flow.long[self.at];
        let since = last.filter(|last| self.now.saturating_since(*last) <= patience);
        *count = if since.is_some() { count.saturating_add(1) } else { 1 };
        *last = Some(self.now);
        if let Some(since) = since
            && *count >= LONG_FLOW
        {
            self.ways[self.at].carried.long_flow(self.now, since, patience);
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
