//! Header-first dropping (DEC-22 to DEC-25): what the queue does to single packets, and what becomes of circuits that share it.
//!
//! The circuits here are as simple as can be: a window of virtual segments that opens by acknowledgments and is halved by
//! a lost header, a header packet behind the data of each. Those with real control TCPs are tested in the simulator.

use crate::common::{at, link, send};
use airtcp_core::{
    CONTROL_DSCP, DropReason, Duration, Instant, Packet, Rng, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions,
    Timestamps,
};
use airtcp_link::Link;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const VMSS: u32 = 1500;

/// A header packet of 52 bytes, or data of `len` bytes, of circuit `circuit`.
fn packet(circuit: u16, sequence: u32, is_header: bool, len: u32) -> Packet {
    let options = TcpOptions { timestamps: Some(Timestamps::default()), ..TcpOptions::default() };
    let tcp = TcpHeader {
        source_port: circuit,
        destination_port: 80,
        sequence: SeqNum(sequence),
        acknowledgment: SeqNum(1),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
        options,
    };
    let address = Ipv4Addr::LOCALHOST.into();
    let traffic_class = if is_header { CONTROL_DSCP << 2 } else { 0 };
    let segment = Segment { source: address, destination: address, traffic_class, tcp };
    Packet::tcp_virtual(&segment, 1, 0, if is_header { 0 } else { len - 52 })
}

fn header() -> Packet {
    packet(1, 0, true, 0)
}

fn data() -> Packet {
    packet(1, 0, false, 1500)
}

/// Sends at time 0 and says what was dropped, by number.
fn send_all(link: &mut Link, packets: &[Packet]) -> Vec<(usize, DropReason)> {
    let verdicts = packets.iter().enumerate().map(|(n, packet)| Some((n, send(link, at(0), packet.clone())?)));
    verdicts.flatten().collect()
}

#[test]
fn dec_22_data_and_headers_share_one_fifo() {
    let mut link = link(&[("rate", "10Mbit"), ("queue", "{ kind = \"header-first\", limit = \"50packets\" }")]);
    let sent = [data(), header(), data(), data(), header()];
    assert_eq!(send_all(&mut link, &sent), []);
    let mut lengths = Vec::new();
    while let Some(now) = link.next_event() {
        lengths.extend(link.receive(now).map(|packet| packet.wire_len()));
    }
    assert_eq!(lengths, [1500, 52, 1500, 1500, 52]);
}

#[test]
fn dec_23_a_header_above_the_threshold_is_dropped_and_data_is_not() {
    let queue = "{ kind = \"header-first\", limit = \"50packets\", threshold = 2 }";
    let mut link = link(&[("rate", "10Mbit"), ("queue", queue)]);
    // The first is in transmission; two headers wait.
    let sent = [data(), data(), header(), data(), header(), data(), header(), data(), header()];
    assert_eq!(send_all(&mut link, &sent), [(6, DropReason::AQM), (8, DropReason::AQM)]);
    let levels = link.header_levels(at(0)).unwrap();
    assert_eq!((levels.threshold, levels.waiting, levels.most), (2, 2, 2));
    let counters = link.counters();
    assert_eq!((counters.dropped_by_queue(), counters.headers_dropped_by_queue()), (2, 2));
    assert_eq!(counters.first_queue_drop, Some(at(0)));
}

#[test]
fn dec_23_a_header_is_counted_until_its_transmission_begins() {
    let queue = "{ kind = \"header-first\", limit = \"50packets\", threshold = 1 }";
    let mut link = link(&[("rate", "12Mbit"), ("queue", queue)]);
    assert_eq!(send_all(&mut link, &[data(), header(), header()]), [(2, DropReason::AQM)]);
    let end = at(1_000_000);
    assert_eq!(send(&mut link, end - Duration::from_nanos(1), header()), Some(DropReason::AQM));
    assert_eq!(link.header_levels(end - Duration::from_nanos(1)).unwrap().waiting, 1);
    assert_eq!(link.header_levels(end).unwrap().waiting, 0);
    assert_eq!(send(&mut link, end, header()), None, "the one before it is being sent");
    let waited = link.header_levels(at(2_000_000)).unwrap().waited;
    // 1 ms of the first; the second waited for the first's 52 bytes, 34.7 us.
    assert_eq!(waited.as_nanos(), 1_000_000 + 34_667 - 1);
}

#[test]
fn dec_22_without_room_data_and_headers_are_dropped_alike() {
    let queue = "{ kind = \"header-first\", limit = \"2packets\", threshold = 9 }";
    for queue in [queue, "2packets"] {
        let mut link = link(&[("rate", "10Mbit"), ("queue", queue)]);
        let dropped = send_all(&mut link, &[data(), data(), header(), data(), header()]);
        assert_eq!(dropped, [(3, DropReason::QUEUE_FULL), (4, DropReason::QUEUE_FULL)]);
        let counters = link.counters();
        assert_eq!((counters.dropped_by_queue(), counters.headers_dropped_by_queue()), (2, 1), "in any kind of queue");
    }
}

#[test]
fn dec_12_headers_are_known_by_the_dscp_that_the_queue_is_told() {
    let queue = "{ kind = \"header-first\", limit = \"50packets\", threshold = 1, dscp = 7 }";
    let mut link = link(&[("rate", "10Mbit"), ("queue", queue)]);
    assert_eq!(send_all(&mut link, &[data(), header(), header(), header()]), [], "of another DSCP");
}

#[test]
fn dec_u13_classic_red_can_be_written() {
    let red = "{ kind = \"red\", limit = \"50packets\", min = \"5packets\", max = \"15packets\", max_p = \"10%\", weight = \"0.2%\", gentle = false }";
    let mut link = link(&[("rate", "10Mbit"), ("queue", red)]);
    // A header takes 41.6 us; one comes each 40 us.
    let dropped: Vec<_> = (0..5000).filter_map(|n| send(&mut link, at(n * 40_000), header())).collect();
    assert!(dropped.len() > 50 && dropped.iter().all(|reason| *reason == DropReason::AQM), "{dropped:?}");
    assert_eq!(link.counters().headers_dropped_by_queue(), dropped.len() as u64);
}

/// Something that comes to a circuit.
enum Notice {
    /// A header of this circuit arrived.
    Acked(usize),
    /// The one of this number was lost, which the duplicate acknowledgments tell.
    Lost(usize, u32),
}

/// A control TCP reduced to its window, in virtual segments.
struct Circuit {
    vmss: u32,
    window: f64,
    threshold: f64,
    outstanding: u32,
    sequence: u32,
    /// One halving for all losses before this number.
    recovered: u32,
}

/// Several circuits on one link.
struct Run {
    link: Link,
    round_trip: Duration,
    /// Spreads round trips, or circuits of one round trip keep their phase and one of them meets all drops.
    jitter: Rng,
    spread: Duration,
    circuits: Vec<Circuit>,
    notices: BTreeMap<(Instant, u64), Notice>,
    count: u64,
    /// Bytes of data that arrived, by circuit.
    arrived: Vec<u64>,
}

impl Run {
    fn new(settings: &[(&str, &str)], round_trip_ms: u64, vmss: &[u32]) -> Run {
        let circuit = |&vmss: &u32| Circuit {
            vmss,
            window: 2.0,
            threshold: f64::INFINITY,
            outstanding: 0,
            sequence: 0,
            recovered: 0,
        };
        let circuits: Vec<Circuit> = vmss.iter().map(circuit).collect();
        let (round_trip, arrived) = (Duration::from_millis(round_trip_ms), vec![0; vmss.len()]);
        let jitter = Rng::derive(1, "jitter");
        Run {
            spread: Duration::from_millis(5),
            link: link(settings),
            round_trip,
            jitter,
            circuits,
            notices: BTreeMap::new(),
            count: 0,
            arrived,
        }
    }

    fn note(&mut self, at: Instant, notice: Notice) {
        self.count += 1;
        self.notices.insert((at, self.count), notice);
    }

    fn after_a_round_trip(&mut self, now: Instant) -> Instant {
        now + self.round_trip + Duration::from_nanos(self.jitter.below(self.spread.as_nanos()))
    }

    fn run(mut self, seconds: u64) -> Run {
        let end = Instant::ZERO + Duration::from_secs(seconds);
        let starts = (0..).map(|n| 7 + 13 * n);
        for (index, start) in (0..self.circuits.len()).zip(starts) {
            self.circuits[index].outstanding = 1;
            self.note(Instant::ZERO + Duration::from_millis(start), Notice::Acked(index));
        }
        loop {
            let notice = self.notices.first_key_value().map(|((at, _), _)| *at);
            let Some(now) = notice.into_iter().chain(self.link.next_event()).min().filter(|now| *now <= end) else {
                return self;
            };
            while let Some(packet) = self.link.receive(now) {
                self.arrive(now, &packet);
            }
            while let Some(entry) = self.notices.first_entry().filter(|entry| entry.key().0 <= now) {
                let notice = entry.remove();
                self.hear(now, &notice);
            }
        }
    }

    fn arrive(&mut self, now: Instant, packet: &Packet) {
        let circuit = usize::from(packet.tcp().unwrap().source_port);
        if packet.ip().dscp() == CONTROL_DSCP {
            let at = self.after_a_round_trip(now);
            self.note(at, Notice::Acked(circuit));
        } else {
            self.arrived[circuit] += u64::from(packet.wire_len());
        }
    }

    fn hear(&mut self, now: Instant, notice: &Notice) {
        let (Notice::Acked(index) | Notice::Lost(index, _)) = *notice;
        let circuit = &mut self.circuits[index];
        circuit.outstanding -= 1;
        match notice {
            Notice::Acked(_) if circuit.window < circuit.threshold => circuit.window += 1.0,
            Notice::Acked(_) => circuit.window += 1.0 / circuit.window,
            Notice::Lost(_, sequence) if *sequence >= circuit.recovered => {
                circuit.window = (circuit.window / 2.0).max(1.0);
                circuit.threshold = circuit.window;
                circuit.recovered = circuit.sequence;
            }
            Notice::Lost(..) => {}
        }
        while f64::from(self.circuits[index].outstanding) < self.circuits[index].window.floor() {
            self.send_segment(now, index);
        }
    }

    /// VMSS bytes of data in packets of at most 1500 bytes, and their header packet.
    fn send_segment(&mut self, now: Instant, index: usize) {
        let circuit = &mut self.circuits[index];
        let sequence = circuit.sequence;
        (circuit.outstanding, circuit.sequence) = (circuit.outstanding + 1, sequence + 1);
        let mut rest = circuit.vmss;
        while rest > 0 {
            let len = rest.min(1500);
            send(&mut self.link, now, packet(index as u16, sequence, false, len));
            rest -= len;
        }
        if send(&mut self.link, now, packet(index as u16, sequence, true, 0)).is_some() {
            let at = self.after_a_round_trip(now);
            self.note(at, Notice::Lost(index, sequence));
        }
    }

    /// Header packets and others that the queue dropped.
    fn drops(&self) -> (u64, u64) {
        let counters = self.link.counters();
        let headers = counters.headers_dropped_by_queue();
        (headers, counters.dropped_by_queue() - headers)
    }
}

/// A buffer of 150 kB before 10 Mbit/s, a round trip of 20 ms: 25 kB are in flight, 40 headers may wait.
const HEADER_FIRST: &str = "{ kind = \"header-first\", limit = \"150kB\", round_trip = \"20ms\" }";

#[test]
fn spec_8_6_overload_drops_headers_and_no_data() {
    for (circuits, seconds) in [(1, 60), (2, 60), (5, 60)] {
        let vmss = vec![VMSS; circuits];
        let run = |queue: &str| Run::new(&[("rate", "10Mbit"), ("queue", queue)], 20, &vmss).run(seconds);
        let special = run(HEADER_FIRST);
        let (headers, data) = special.drops();
        assert!(headers > 0 && data == 0, "{circuits} circuits: {headers} headers and {data} others dropped");
        let (_, data) = run("150kB").drops();
        assert!(data > 0, "{circuits} circuits, drop-tail");
        let share = special.arrived.iter().sum::<u64>() as f64 * 8.0 / 10e6 / seconds as f64;
        assert!(share > 0.9, "{circuits} circuits use {share} of the link");
    }
}

/// DEC-C28: what waits stays at the threshold once headers have been dropped, and is below it again after a drop.
#[test]
fn dec_23_the_headers_that_wait_stay_near_the_threshold_and_never_above() {
    let run = Run::new(&[("rate", "10Mbit"), ("queue", HEADER_FIRST)], 20, &[VMSS; 5]).run(60);
    let end = Instant::ZERO + Duration::from_secs(60);
    let levels = run.link.header_levels(end).unwrap();
    let mean = levels.waited.as_nanos() as f64 / 60e9;
    assert_eq!((levels.threshold, levels.most), (40, 40));
    assert!((20.0..40.0).contains(&mean), "{mean}");
}

/// DEC-C22: equal header rates, so rates as the virtual segment sizes.
///
/// The round trips vary by 50 ms, as many packet times as wait. Where they are all alike, phase decides who meets the
/// drops, as with drop-tail: the same circuits then come to 1.5 to 2.4.
#[test]
fn dec_25_virtual_segment_sizes_divide_a_link_under_header_first_dropping() {
    let queue = "{ kind = \"header-first\", limit = \"300kB\", vmss = \"3kB\", round_trip = \"20ms\" }";
    for seed in 1..=3 {
        let mut run = Run::new(&[("rate", "10Mbit"), ("queue", queue)], 20, &[3000, 3000, 1500, 1500]);
        (run.jitter, run.spread) = (Rng::derive(seed, "jitter"), Duration::from_millis(50));
        let run = run.run(600);
        let ratio = (run.arrived[0] + run.arrived[1]) as f64 / (run.arrived[2] + run.arrived[3]) as f64;
        assert!((ratio / 2.0 - 1.0).abs() < 0.05, "{ratio}, seed {seed}");
        assert_eq!(run.drops().1, 0);
    }
}

/// Where bits err, the air drops headers before the queue has to; what the queue drops is of the first slow start.
#[test]
fn dec_24_header_first_dropping_is_of_use_on_a_wire_and_idle_on_a_bad_radio() {
    let on = |ber: &str| {
        let loss = format!("{{ kind = \"bit-error\", rate = {ber} }}");
        Run::new(&[("rate", "10Mbit"), ("queue", HEADER_FIRST), ("loss", &loss)], 20, &[VMSS; 2]).run(60)
    };
    let (wire, radio) = (on("1e-12"), on("1e-5"));
    assert!(wire.drops().0 > 0 && wire.link.counters().headers_dropped.get(DropReason::LOSS) == 0);
    let in_the_air = radio.link.counters().headers_dropped.get(DropReason::LOSS);
    assert!(in_the_air > 4 * radio.drops().0, "{in_the_air} in the air, {} in the queue", radio.drops().0);
}
