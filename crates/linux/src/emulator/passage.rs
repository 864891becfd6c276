//! How long TCP packets take between hosts, as the emulator sees them. It recognizes real packets again where they
//! arrive, so it does not depend on the routers that they pass or on what these report.
//!
//! A packet enters at its source's end of a link and leaves at its destination's. The shortest passage between two
//! hosts counts as the one without waiting. Queues therefore have to be empty for a moment, as they are when flows
//! begin. A packet that a router made, or changed, is not known again; neither is what no longer came.

use airtcp_core::{Duration, FlowKey, Instant, Packet, TcpHeader};
use hdrhistogram::Histogram;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Most packets that are tracked at the same time; further ones are not measured.
const MOST_UNDER_WAY: usize = 1 << 17;
/// What has not arrived by then is lost.
const LOST_AFTER: Duration = Duration::from_secs(20);
/// Clock values of a flow that wait for their echo.
const MOST_STAMPS: usize = 1 << 14;
const HISTOGRAM_MAX_NS: u64 = 60_000_000_000;

/// Percentiles of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// How many were measured.
    pub count: u64,
    /// Half are at most this.
    pub p50: Duration,
    /// 95 of 100 are.
    pub p95: Duration,
    /// 99 of 100 are.
    pub p99: Duration,
}

impl Percentiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| Duration::from_nanos(histogram.value_at_quantile(quantile));
        Percentiles { count: histogram.len(), p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }
}

/// Passages of TCP segments between hosts, of all flows, without the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassageReport {
    /// How long segments with data waited anywhere on their way.
    pub data_wait: Percentiles,
    /// How long bare acknowledgments did.
    pub ack_wait: Percentiles,
    /// From a segment with data entering the network to its echo leaving it (RFC 7323 timestamps): both waits, both
    /// ways, and the receiver's own delay.
    pub round_trip: Percentiles,
}

/// What distinguishes a packet from others in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    flow: FlowKey,
    sequence: u32,
    acknowledgment: u32,
    stamps: (u32, u32),
    len: u32,
}

impl Identity {
    fn of(flow: FlowKey, tcp: &TcpHeader, packet: &Packet) -> Self {
        let stamps = tcp.options.timestamps.map_or((0, 0), |stamps| (stamps.value, stamps.echo));
        let (sequence, acknowledgment) = (tcp.sequence.0, tcp.acknowledgment.0);
        Identity { flow, sequence, acknowledgment, stamps, len: packet.payload_len() }
    }
}

/// Passages from one host to another.
struct Way {
    shortest: Duration,
    times: Histogram<u64>,
}

/// See the module.
pub(super) struct Passages {
    /// Start of the measurement; before it only the shortest passages are recorded.
    warmup: Instant,
    under_way: BTreeMap<Identity, Instant>,
    /// The same, oldest first.
    order: VecDeque<(Instant, Identity)>,
    /// By source, destination, and whether segments with data or bare acknowledgments.
    ways: BTreeMap<(IpAddr, IpAddr, bool), Way>,
    /// Clock values that a sender's flow has sent, oldest first.
    stamps: BTreeMap<FlowKey, VecDeque<(u32, Instant)>>,
    round_trips: Histogram<u64>,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).expect("bounds and precision are constants in range")
}

impl Passages {
    /// Times count from `warmup` on.
    pub fn new(warmup: Instant) -> Self {
        Passages {
            warmup,
            under_way: BTreeMap::new(),
            order: VecDeque::new(),
            ways: BTreeMap::new(),
            stamps: BTreeMap::new(),
            round_trips: histogram(),
        }
    }

    /// A packet leaves its source.
    pub fn enter(&mut self, now: Instant, packet: &Packet) {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp()) else { return };
        self.forget_lost(now);
        if self.under_way.len() < MOST_UNDER_WAY {
            let identity = Identity::of(flow, tcp, packet);
            // If several packets cannot be distinguished, the first is measured.
            if let Entry::Vacant(place) = self.under_way.entry(identity) {
                place.insert(now);
                self.order.push_back((now, identity));
            }
        }
        let Some(stamp) = tcp.options.timestamps.filter(|_| packet.payload_len() > 0) else { return };
        let sent = self.stamps.entry(flow).or_default();
        if sent.back().is_none_or(|(last, _)| *last != stamp.value) && sent.len() < MOST_STAMPS {
            sent.push_back((stamp.value, now));
        }
    }

    /// A packet arrives at its destination.
    pub fn leave(&mut self, now: Instant, packet: &Packet) {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp()) else { return };
        let has_data = packet.payload_len() > 0;
        let is_bare = !(has_data || tcp.flags.syn() || tcp.flags.fin() || tcp.flags.rst());
        if let Some(entered) = self.under_way.remove(&Identity::of(flow, tcp, packet)).filter(|_| has_data || is_bare) {
            let passage = now.saturating_since(entered);
            let way = (flow.source, flow.destination, has_data);
            let way = self.ways.entry(way).or_insert_with(|| Way { shortest: passage, times: histogram() });
            way.shortest = way.shortest.min(passage);
            if entered >= self.warmup {
                way.times.saturating_record(passage.as_nanos());
            }
        }
        let Some(stamp) = tcp.options.timestamps.filter(|_| tcp.flags.ack()) else { return };
        let Some(sent) = self.stamps.get_mut(&flow.reversed()) else { return };
        while let Some((value, at)) = sent.front().copied() {
            let ahead = value.wrapping_sub(stamp.echo);
            if ahead != 0 && ahead < 1 << 31 {
                return;
            }
            sent.pop_front();
            if ahead == 0 && at >= self.warmup {
                self.round_trips.saturating_record(now.saturating_since(at).as_nanos());
            }
        }
    }

    fn forget_lost(&mut self, now: Instant) {
        while let Some((entered, identity)) = self.order.front().copied() {
            let is_gone = self.under_way.get(&identity) != Some(&entered);
            if !is_gone && now.saturating_since(entered) < LOST_AFTER {
                return;
            }
            self.order.pop_front();
            if !is_gone {
                self.under_way.remove(&identity);
            }
        }
    }

    /// What was measured so far.
    pub fn report(&self) -> PassageReport {
        let waits = |has_data: bool| {
            let mut all = histogram();
            for (_, way) in self.ways.iter().filter(|((.., data), _)| *data == has_data) {
                for step in way.times.iter_recorded() {
                    let wait = step.value_iterated_to().saturating_sub(way.shortest.as_nanos());
                    all.saturating_record_n(wait.max(1), step.count_at_value());
                }
            }
            Percentiles::of(&all)
        };
        PassageReport { data_wait: waits(true), ack_wait: waits(false), round_trip: Percentiles::of(&self.round_trips) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::{Segment, SeqNum, TcpFlags, TcpOptions, Timestamps};
    use bytes::Bytes;
    use std::net::Ipv4Addr;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn near(found: Duration, ms: u64) -> bool {
        found.as_nanos().abs_diff(ms * 1_000_000) <= ms * 2_000 + 2_000
    }

    /// Segment `n` of a flow, or its acknowledgment.
    fn packet(n: u32, is_ack: bool, stamps: (u32, u32)) -> Packet {
        let (a, b) = (Ipv4Addr::new(10, 98, 0, 1).into(), Ipv4Addr::new(10, 98, 0, 2).into());
        let (source, destination, source_port, destination_port) = if is_ack { (b, a, 2, 1) } else { (a, b, 1, 2) };
        let options =
            TcpOptions { timestamps: Some(Timestamps { value: stamps.0, echo: stamps.1 }), ..TcpOptions::default() };
        let tcp = TcpHeader {
            source_port,
            destination_port,
            sequence: SeqNum(if is_ack { 7 } else { n * 1000 }),
            acknowledgment: SeqNum(if is_ack { (n + 1) * 1000 } else { 7 }),
            flags: TcpFlags::ACK,
            window: 100,
            urgent: 0,
            options,
        };
        let payload = Bytes::from(vec![0; if is_ack { 0 } else { 1000 }]);
        Packet::tcp_bytes(&Segment { source, destination, traffic_class: 0, tcp }, payload)
    }

    #[test]
    fn waits_are_what_a_passage_takes_beyond_the_shortest() {
        let mut passages = Passages::new(at(50));
        for n in 0..100u32 {
            let sent = u64::from(n) * 10;
            // The first finds nothing waiting; the others wait 30 ms, their acknowledgments 40 ms.
            let (there, back) = if n == 0 { (5, 5) } else { (35, 45) };
            let (data, ack) = (packet(n, false, (n + 1, 0)), packet(n, true, (500 + n, n + 1)));
            passages.enter(at(sent), &data);
            passages.leave(at(sent + there), &data);
            passages.enter(at(sent + there), &ack);
            passages.leave(at(sent + there + back), &ack);
        }
        let report = passages.report();
        assert!(near(report.data_wait.p50, 30) && near(report.data_wait.p99, 30), "{report:?}");
        assert!(near(report.ack_wait.p95, 40), "{report:?}");
        assert!(near(report.round_trip.p95, 80), "{report:?}");
        assert_eq!(report.data_wait.count, 95, "the warm-up is left out");
    }

    #[test]
    fn what_was_lost_is_forgotten_and_what_a_router_made_is_not_counted() {
        let mut passages = Passages::new(at(0));
        passages.enter(at(0), &packet(1, false, (1, 0)));
        passages.leave(at(10), &packet(2, false, (1, 0)));
        passages.enter(at(30_000), &packet(3, false, (30_000, 0)));
        assert_eq!((passages.under_way.len(), passages.order.len()), (1, 1));
        assert_eq!(passages.report(), PassageReport::default());
    }

    #[test]
    fn a_clock_value_counts_once_and_clocks_wrap() {
        let mut passages = Passages::new(at(0));
        passages.enter(at(0), &packet(1, false, (u32::MAX, 0)));
        passages.enter(at(1), &packet(2, false, (u32::MAX, 0)));
        passages.enter(at(2), &packet(3, false, (0, 0)));
        for (n, echo, ms) in [(1, u32::MAX, 20), (2, u32::MAX, 30), (3, 0, 42)] {
            passages.leave(at(ms), &packet(n, true, (9, echo)));
        }
        let found = passages.report().round_trip;
        assert_eq!(found.count, 2);
        assert!(near(found.p50, 20) && near(found.p99, 40), "{found:?}");
    }
}
