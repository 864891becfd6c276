//! A client, the box and a server, face to face; what one sends the other has at once, unless the
//! test loses it.

use super::*;
use crate::{End, LinkFacts, MAX_MEMORY};
use airtcp_core::initial_sequence::InitialSequences;
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{DropReason, Rng, SeqNum};
use airtcp_tcp::{CloseReason, Config, Connection, Endpoint, Opening, State, Stream, reset_reply};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;
use std::vec::Vec;

const MS: Duration = Duration::from_millis(1);

struct Bench {
    now: Instant,
    proxy: Harness<Proxy>,
    client: Connection,
    server: Option<Connection>,
    server_refuses: bool,
    /// Where the client is: the server is on the other side.
    side: Port,
    lose: fn(&Packet) -> bool,
    to_server: Vec<Packet>,
    /// Answers the client got before its connection was open.
    flags_to_client: Vec<u16>,
}

fn end(last: u8, port: u16) -> Endpoint {
    Endpoint { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port }
}

fn proxy(text: &[(&str, &str)], max_memory: ByteSize) -> Proxy {
    let mut settings = ProxySettings::default();
    for &(key, value) in text {
        settings.set(key, &value.into()).unwrap();
    }
    let mut rng = Rng::derive(1, "proxy");
    Proxy::new(
        &settings,
        &mut Site { end: End::Near, link: LinkFacts::default(), rng: &mut rng, max_memory, forecast: None },
    )
}

fn host(local: Endpoint, remote: Endpoint, config: &Config) -> Connection {
    let opening = Opening {
        config: config.clone(),
        local,
        remote,
        initial_sequence: SeqNum(u32::MAX - 5_000),
        timestamp_offset: u32::MAX - 20,
        source: Stream::Virtual { id: 1 },
    };
    Connection::connect(&opening, Instant::ZERO)
}

/// The server's answer to `syn` from `client`.
fn server(client: Endpoint, syn: &Packet, now: Instant) -> Option<Connection> {
    let opening = Opening {
        config: Config::without_habits(),
        local: end(2, 80),
        remote: client,
        initial_sequence: SeqNum(77),
        timestamp_offset: 9,
        source: Stream::Virtual { id: 2 },
    };
    Connection::accept(&opening, syn, now)
}

impl Bench {
    fn new(text: &[(&str, &str)]) -> Bench {
        Bench::on(Port::INNER, text)
    }

    fn on(side: Port, text: &[(&str, &str)]) -> Bench {
        let mut bench = Bench {
            now: Instant::ZERO + MS,
            proxy: Harness::new(proxy(text, MAX_MEMORY), "proxy"),
            client: host(end(1, 7), end(2, 80), &Config::without_habits()),
            server: None,
            server_refuses: false,
            side,
            lose: |_| false,
            to_server: Vec::new(),
            flags_to_client: Vec::new(),
        };
        bench.settle();
        bench
    }

    fn established(text: &[(&str, &str)]) -> Bench {
        let mut bench = Bench::new(text);
        bench.run(3);
        assert!(bench.client.is_established() && bench.server().is_established());
        bench
    }

    fn server(&mut self) -> &mut Connection {
        self.server.as_mut().expect("the SYN reached the server")
    }

    /// Milliseconds in which everything moves.
    fn run(&mut self, ms: u32) {
        for _ in 0..ms {
            self.now += MS;
            self.client.handle_timeout(self.now);
            if let Some(server) = &mut self.server {
                server.handle_timeout(self.now);
            }
            self.proxy.tick(self.now);
            self.settle();
        }
    }

    /// Exchanges packets until there are none.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            while let Some(packet) = self.client.poll_transmit(self.now) {
                moved = true;
                self.proxy.packet(self.now, self.side, packet);
            }
            while let Some(packet) = self.server.as_mut().and_then(|server| server.poll_transmit(self.now)) {
                moved = true;
                self.proxy.packet(self.now, self.side.opposite(), packet);
            }
            moved |= self.deliver();
            if !moved {
                return;
            }
        }
    }

    fn deliver(&mut self) -> bool {
        let (inner, link) = (core::mem::take(&mut self.proxy.io.inner), core::mem::take(&mut self.proxy.io.link));
        let (to_client, to_server) = if self.side == Port::INNER { (inner, link) } else { (link, inner) };
        let moved = !to_client.is_empty() || !to_server.is_empty();
        for packet in to_client {
            self.flags_to_client.push(packet.tcp().unwrap().flags.0);
            self.client.handle_segment(self.now, &packet);
        }
        let lose = self.lose;
        for packet in to_server.into_iter().filter(|packet| !lose(packet)) {
            self.deliver_to_server(&packet);
            self.to_server.push(packet);
        }
        moved
    }

    fn deliver_to_server(&mut self, packet: &Packet) {
        if self.server_refuses {
            if let Some(reset) = reset_reply(packet) {
                self.proxy.packet(self.now, self.side.opposite(), reset);
            }
            return;
        }
        match &mut self.server {
            Some(server) => server.handle_segment(self.now, packet),
            None => self.server = server(end(1, 7), packet, self.now),
        }
    }

    fn read_at_server(&mut self) -> u64 {
        let mut total = 0;
        while let Some(chunk) = self.server().read(u64::MAX) {
            total += chunk.len();
        }
        total
    }
}

#[test]
fn bytes_pass_in_both_directions_and_both_streams_stay_themselves() {
    for side in [Port::INNER, Port::LINK] {
        let mut bench = Bench::on(side, &[]);
        bench.run(3);
        bench.client.write_virtual(300_000);
        bench.server().write_virtual(200_000);
        let (mut at_server, mut at_client) = (0, 0);
        for _ in 0..200 {
            bench.run(1);
            at_server += bench.read_at_server();
            while let Some(chunk) = bench.client.read(u64::MAX) {
                at_client += chunk.len();
            }
        }
        assert_eq!((at_server, at_client), (300_000, 200_000));
        assert_eq!((bench.client.stream_check(), bench.server().stream_check()), (Ok(()), Ok(())));
    }
}

#[test]
fn the_sender_is_acknowledged_before_the_receiver_has_the_bytes() {
    let mut bench = Bench::established(&[]);
    bench.lose = |packet| packet.payload_len() > 0;
    bench.client.write_virtual(10_000);
    bench.run(5);
    assert_eq!(bench.client.unacknowledged(), 0);
    assert_eq!(bench.server().readable(), 0);
    assert_eq!(bench.proxy.gauge(Gauge::HELD_BYTES), Some(10_000));
    bench.lose = |_| false;
    bench.run(300);
    assert_eq!(bench.server().readable(), 10_000);
    assert_eq!(bench.client.stats().retransmitted_segments, 0, "the loss stays on its side");
}

#[test]
fn a_receiver_that_stops_reading_stops_the_sender_two_buffers_later() {
    let mut bench = Bench::established(&[("buffer", "65536B")]);
    let asked = 50_000_000;
    bench.client.write_virtual(asked);
    bench.run(1000);
    let sent = bench.client.stats().bytes_acknowledged;
    let receiver = Config::default().receive_buffer.0;
    assert!(sent >= receiver && sent <= receiver + 2 * 65_536, "{sent}");
    assert!(bench.proxy.gauge(Gauge::HELD_BYTES).unwrap() <= 2 * 65_536);
    let mut read = 0;
    for _ in 0..3000 {
        read += bench.read_at_server();
        bench.run(1);
    }
    assert_eq!(read, asked, "reading starts it again");
}

/// What the buffers of the flow hold once its client has written so much, with buffers of 16 KiB that may grow to 1 MiB. The
/// server gets no data, so that the first window of ten segments stays in flight.
fn buffer_after(written: u64, max_memory: ByteSize) -> u64 {
    let mut bench = Bench::established(&[]);
    bench.lose = |packet| packet.payload_len() > 0;
    let growing = proxy(&[("buffer", "16384B")], max_memory).growing_to(ByteSize(1 << 20));
    bench.proxy = Harness::new(growing, "proxy");
    (bench.client, bench.server) = (host(end(1, 7), end(2, 80), &Config::without_habits()), None);
    bench.run(3);
    bench.client.write_virtual(written);
    bench.run(3);
    let mut buffer = 0;
    bench.proxy.call(bench.now, |proxy, _| buffer = proxy.relays().map(relay::Relay::buffer).sum());
    buffer
}

#[test]
fn buffers_that_hold_a_flow_back_grow_while_half_of_the_memory_is_free() {
    assert_eq!(buffer_after(5_000, MAX_MEMORY), 16_384, "half of it is not in flight");
    assert_eq!(buffer_after(100_000, MAX_MEMORY), 32_768, "then ten segments are less than half of it");
    assert_eq!(buffer_after(100_000, ByteSize(300_000)), 16_384, "the other half is for flows that begin");
}

#[test]
fn one_side_may_close_and_still_receive() {
    let mut bench = Bench::established(&[]);
    bench.client.write_virtual(5_000);
    bench.client.shutdown();
    bench.run(5);
    assert_eq!(bench.read_at_server(), 5_000);
    assert!(bench.server().is_read_finished());
    assert_eq!(bench.client.state(), State::FinWait2);
    bench.server().write_virtual(70_000);
    bench.server().shutdown();
    bench.run(100);
    assert_eq!(bench.client.readable(), 70_000);
    bench.run(1100);
    assert_eq!(bench.proxy.element.flows.len(), 0, "and the flow is forgotten after TIME-WAIT");
    assert_eq!(bench.server().close_reason(), Some(CloseReason::Finished));
}

#[test]
fn a_reset_passes_to_the_other_side() {
    let mut bench = Bench::established(&[]);
    bench.client.abort();
    bench.run(2);
    assert_eq!(bench.server().close_reason(), Some(CloseReason::Reset));
    let mut bench = Bench::established(&[]);
    bench.server().abort();
    bench.run(2);
    assert_eq!(bench.client.close_reason(), Some(CloseReason::Reset));
    assert_eq!(bench.proxy.element.flows.len(), 0);
}

#[test]
fn a_connection_that_the_box_numbers_itself_begins_where_its_world_says() {
    let sequences = InitialSequences::new(&[3; 16]);
    let mut harness = Harness::new(proxy(&[("accept", "at-once")], MAX_MEMORY), "proxy");
    harness.io.sequences = Some(sequences.clone());
    let now = Instant::ZERO + MS * 40;
    let syn = host(end(1, 7), end(2, 80), &Config::without_habits()).poll_transmit(now).unwrap();
    harness.packet(now, Port::INNER, syn.clone());
    let to_client = harness.io.inner[0].tcp().unwrap().sequence;
    assert_eq!(to_client, sequences.at(now, &syn.flow().unwrap().reversed()));
    // The half towards the server goes on with the client's own number.
    assert_eq!(harness.io.link[0].tcp().unwrap().sequence, syn.tcp().unwrap().sequence);
}

#[test]
fn a_refused_connection_is_refused_and_never_accepted() {
    for (accept, was_accepted) in [("after", false), ("at-once", true)] {
        let mut bench = Bench::new(&[("accept", accept)]);
        // The first SYN has reached a server that listens; start over with one that does not.
        bench.proxy = Harness::new(proxy(&[("accept", accept)], MAX_MEMORY), "proxy");
        bench.client = host(end(1, 7), end(2, 80), &Config::without_habits());
        (bench.server, bench.server_refuses) = (None, true);
        bench.flags_to_client.clear();
        bench.run(2);
        assert_eq!(bench.client.close_reason(), Some(CloseReason::Reset), "{accept}");
        let saw_accept = bench.flags_to_client.iter().any(|flags| flags & 0x12 == 0x12);
        assert_eq!(saw_accept, was_accepted, "{accept}");
        assert_eq!(bench.proxy.element.flows.len(), 0);
    }
}

#[test]
fn accepting_after_the_server_leaves_a_dead_server_unanswered() {
    for (accept, answers) in [("after", false), ("at-once", true)] {
        let mut bench = Bench::new(&[("accept", accept)]);
        bench.proxy = Harness::new(proxy(&[("accept", accept)], MAX_MEMORY), "proxy");
        bench.client = host(end(1, 7), end(2, 80), &Config::without_habits());
        bench.server = None;
        bench.lose = |_| true;
        bench.run(50);
        assert_eq!(bench.client.is_established(), answers, "{accept}");
    }
}

#[test]
fn both_halves_carry_the_same_sequence_numbers() {
    let mut bench = Bench::established(&[]);
    bench.client.write_virtual(20_000);
    bench.run(20);
    let first = bench.to_server.iter().find(|packet| packet.payload_len() > 0).unwrap();
    assert_eq!(first.tcp().unwrap().sequence, SeqNum(u32::MAX - 5_000) + 1);
    assert_eq!(bench.read_at_server(), 20_000, "across the wrap");
}

#[test]
fn a_flow_whose_syn_was_not_seen_passes_untouched() {
    let mut old = Bench::established(&[]);
    old.client.write_virtual(100);
    let data = old.client.poll_transmit(old.now).unwrap();
    let mut fresh = Harness::new(proxy(&[], MAX_MEMORY), "fresh");
    fresh.packet(old.now, Port::INNER, data.clone());
    assert_eq!(fresh.io.link[0].to_wire(), data.to_wire());
    fresh.packet(old.now, Port::LINK, Packet::opaque(end(2, 0).address, end(1, 0).address, 17, vec_of(9)));
    assert_eq!((fresh.io.inner.len(), fresh.element.flows.len()), (1, 0));
}

fn vec_of(len: usize) -> bytes::Bytes {
    std::vec![7; len].into()
}

#[test]
fn a_syn_of_a_connection_that_is_open_already_does_not_take_it_over() {
    let mut bench = Bench::established(&[]);
    let syn = bench.to_server[0].clone();
    let mut fresh = Harness::new(proxy(&[], MAX_MEMORY), "fresh");
    fresh.packet(bench.now, Port::INNER, syn);
    assert_eq!(fresh.element.flows.len(), 1);
    bench.client.write_virtual(100);
    let data = bench.client.poll_transmit(bench.now).unwrap();
    fresh.packet(bench.now, Port::INNER, data.clone());
    assert_eq!(fresh.element.flows.len(), 0);
    assert_eq!(fresh.io.link.last().unwrap().to_wire(), data.to_wire());
}

#[test]
fn a_full_table_passes_new_flows_and_keeps_the_old() {
    let settings = [("buffer", "65536B")];
    let mut harness = Harness::new(proxy(&settings, ByteSize(2 << 20)), "small");
    let capacity = harness.element.capacity as u16;
    assert!((2..20).contains(&capacity), "{capacity}");
    for port in 0..capacity + 3 {
        let syn = host(end(1, port), end(2, 80), &Config::without_habits()).poll_transmit(Instant::ZERO).unwrap();
        harness.packet(Instant::ZERO + MS, Port::INNER, syn);
    }
    assert_eq!(harness.element.flows.len(), usize::from(capacity));
    assert_eq!((harness.count(Event::FLOW_NEW), harness.count(Event::FLOW_PASSED)), (u64::from(capacity), 3));
    let sources: BTreeMap<u16, usize> = harness.io.link.iter().fold(BTreeMap::new(), |mut counts, packet| {
        *counts.entry(packet.tcp().unwrap().source_port).or_default() += 1;
        counts
    });
    assert_eq!(sources.len(), usize::from(capacity) + 3, "every SYN went on, one way or the other");
    assert!(harness.gauge(Gauge::MEMORY_BYTES).unwrap() <= 2 << 20);
}

#[test]
fn a_flow_silent_beyond_the_limit_is_reset_and_forgotten() {
    let mut bench = Bench::established(&[("idle", "10s")]);
    bench.run(9_000);
    assert_eq!(bench.proxy.element.flows.len(), 1);
    bench.run(1_100);
    assert_eq!(bench.proxy.element.flows.len(), 0);
    assert_eq!(bench.client.close_reason(), Some(CloseReason::Reset));
    assert_eq!(bench.server().close_reason(), Some(CloseReason::Reset));
}

#[test]
fn a_damaged_segment_of_a_split_flow_is_dropped_and_sent_again_on_its_side() {
    let mut bench = Bench::established(&[]);
    bench.client.write_virtual(1_000);
    let mut damaged = bench.client.poll_transmit(bench.now).unwrap();
    damaged.mark_corrupted();
    bench.proxy.packet(bench.now, Port::INNER, damaged);
    assert_eq!(bench.proxy.ledger.discarded.get(DropReason::CORRUPTED), 1);
    bench.run(300);
    assert_eq!(bench.read_at_server(), 1_000);
}

impl Bench {
    /// The port towards the link refuses everything from now on.
    fn fill_ring(&mut self) {
        self.proxy.io.refuses = true;
    }

    fn empty_ring(&mut self) {
        self.proxy.io.refuses = false;
        self.proxy.call(self.now, |proxy, cx| proxy.handle_ready(cx, Port::LINK));
        self.settle();
    }
}

#[test]
fn what_a_full_ring_refuses_waits_and_is_sent_once() {
    let mut bench = Bench::established(&[]);
    bench.fill_ring();
    bench.client.write_virtual(50_000);
    bench.run(10);
    assert_eq!(bench.proxy.element.held().packets, 1, "one packet was made before the ring refused it, the rest waits");
    assert!(bench.client.stats().bytes_acknowledged > 45_000, "the sender is acknowledged all the same");
    bench.to_server.clear();
    bench.empty_ring();
    bench.run(20);
    assert_eq!(bench.read_at_server(), 50_000);
    let sent: u64 = bench.to_server.iter().map(|packet| u64::from(packet.payload_len())).sum();
    assert_eq!((sent, bench.proxy.ledger.discarded.total()), (50_000, 0));
}

#[test]
fn a_full_ring_closes_the_window_of_the_sender() {
    let mut bench = Bench::established(&[("buffer", "65536B")]);
    bench.fill_ring();
    bench.client.write_virtual(1_000_000);
    bench.run(2_000);
    assert!(bench.client.stats().bytes_acknowledged <= 2 * 65_536);
    bench.empty_ring();
    let mut read = 0;
    for _ in 0..3_000 {
        read += bench.read_at_server();
        bench.run(1);
    }
    assert_eq!((read, bench.proxy.ledger.discarded.total()), (1_000_000, 0));
}

#[test]
fn resets_wait_for_a_full_ring_and_the_flow_with_them() {
    for idle in ["10s", "0s"] {
        let mut bench = Bench::established(&[("idle", "10s")]);
        bench.proxy.element.settings.set("idle", &idle.into()).unwrap();
        bench.fill_ring();
        bench.client.write_virtual(100);
        bench.run(25_000);
        assert_eq!((bench.proxy.element.flows.len(), bench.server().is_closed()), (1, false));
        bench.empty_ring();
        assert_eq!((bench.proxy.element.flows.len(), bench.server().close_reason()), (0, Some(CloseReason::Reset)));
    }
}

#[test]
fn a_refusal_waits_for_a_full_ring() {
    let mut bench = Bench::on(Port::LINK, &[]);
    bench.proxy = Harness::new(proxy(&[], MAX_MEMORY), "proxy");
    bench.client = host(end(1, 7), end(2, 80), &Config::without_habits());
    (bench.server, bench.server_refuses) = (None, true);
    bench.fill_ring();
    bench.run(2);
    assert!(!bench.client.is_closed());
    bench.empty_ring();
    assert_eq!((bench.client.close_reason(), bench.proxy.element.flows.len()), (Some(CloseReason::Reset), 0));
}

/// Opens a flow of each source port through one box, and gives each of them bytes to send over a full ring.
fn crowd(ports: &[u16], bytes: u64) -> Harness<Proxy> {
    let now = Instant::ZERO + MS;
    let mut harness = Harness::new(proxy(&[], MAX_MEMORY), "crowd");
    let mut clients: BTreeMap<u16, Connection> =
        ports.iter().map(|port| (*port, host(end(1, *port), end(2, 80), &Config::without_habits()))).collect();
    let pass = |harness: &mut Harness<Proxy>, clients: &mut BTreeMap<u16, Connection>| {
        for client in clients.values_mut() {
            while let Some(packet) = client.poll_transmit(now) {
                harness.packet(now, Port::INNER, packet);
            }
        }
        for packet in core::mem::take(&mut harness.io.inner) {
            let to = packet.tcp().unwrap().destination_port;
            clients.get_mut(&to).unwrap().handle_segment(now, &packet);
        }
    };
    pass(&mut harness, &mut clients);
    for syn in core::mem::take(&mut harness.io.link) {
        let client = end(1, syn.tcp().unwrap().source_port);
        let mut server = server(client, &syn, now).unwrap();
        harness.packet(now, Port::LINK, server.poll_transmit(now).unwrap());
    }
    pass(&mut harness, &mut clients);
    harness.io.link.clear();
    harness.io.refuses = true;
    for client in clients.values_mut() {
        client.write_virtual(bytes);
    }
    pass(&mut harness, &mut clients);
    harness
}

#[test]
fn flows_that_wait_for_a_ring_are_served_in_turn() {
    let mut harness = crowd(&[11, 22, 33], 4 * 1448);
    assert_eq!((harness.io.link.len(), harness.element.held().packets), (0, 1));
    harness.io.refuses = false;
    harness.call(Instant::ZERO + MS, |proxy, cx| proxy.handle_ready(cx, Port::LINK));
    let order: Vec<u16> = harness.io.link.iter().map(|packet| packet.tcp().unwrap().source_port).collect();
    assert_eq!(order, [11, 11, 22, 33, 11, 22, 33, 11, 22, 33, 22, 33], "what was refused, then all in turn");
}

#[test]
fn a_flow_that_ends_gives_up_its_turn() {
    let mut harness = crowd(&[11, 22, 33], 1448);
    let key = |slot: &u32| harness.element.flows.at(*slot).is_some_and(|(key, _)| key.source_port == 22);
    let slot = harness.element.flows.slots_oldest_first().find(key).unwrap();
    harness.element.remove(slot);
    harness.io.refuses = false;
    harness.call(Instant::ZERO + MS, |proxy, cx| proxy.handle_ready(cx, Port::LINK));
    let order: Vec<u16> = harness.io.link.iter().map(|packet| packet.tcp().unwrap().source_port).collect();
    assert_eq!(order, [11, 33]);
}
