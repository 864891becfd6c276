//! Segments per second of two endpoints connected directly: `cargo run --release -p airtcp-tcp --example throughput`.
//! The figure counts data segments; every second one is acknowledged.
#![allow(clippy::disallowed_methods, reason = "a measurement of real time")]

use airtcp_core::{ByteSize, Duration, Instant, Probability, Rng, SeqNum};
use airtcp_tcp::{Config, Connection, Endpoint, Opening, Stream};
use std::net::{IpAddr, Ipv4Addr};

fn main() {
    for loss in ["0%", "1%", "5%"] {
        let started = std::time::Instant::now();
        let (segments, retransmitted) = run(loss, 2_000_000);
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "loss {loss:>3}: {:.2} M data segments/s ({segments} segments, {retransmitted} retransmitted)",
            segments as f64 / seconds / 1e6
        );
    }
}

/// Rounds of a whole window each way, a millisecond apart.
fn run(loss: &str, segments: u64) -> (u64, u64) {
    let (loss, mut rng): (Probability, _) = (loss.parse().expect("a probability"), Rng::derive(1, "loss"));
    let end = |n| Endpoint { address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)), port: 1000 };
    let config =
        Config { auto_read: true, max_cwnd: Some(500), receive_buffer: ByteSize(64 << 20), ..Config::default() };
    let mut now = Instant::ZERO;
    let opening = |local, remote| Opening {
        config: config.clone(),
        local: end(local),
        remote: end(remote),
        initial_sequence: SeqNum(1),
        timestamp_offset: 1,
        source: Stream::Virtual { id: 1 },
    };
    let mut a = Connection::connect(&opening(1, 2), now);
    let syn = a.poll_transmit(now).expect("a SYN");
    let mut b = Connection::accept(&opening(2, 1), &syn, now).expect("a SYN");
    a.write_virtual(u64::MAX);
    let mut flying = Vec::new();
    while a.stats().data_segments_sent < segments {
        now += Duration::from_millis(1);
        while let Some(packet) = b.poll_transmit(now) {
            a.handle_segment(now, &packet);
        }
        for end in [&mut a, &mut b] {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
            }
        }
        while let Some(packet) = a.poll_transmit(now) {
            flying.push(packet);
        }
        now += Duration::from_millis(1);
        for packet in flying.drain(..) {
            if rng.chance(loss) {
                continue;
            }
            b.handle_segment(now, &packet);
            while let Some(ack) = b.poll_transmit(now) {
                a.handle_segment(now, &ack);
            }
        }
    }
    b.stream_check().expect("the stream arrives as sent");
    (a.stats().data_segments_sent, a.stats().retransmitted_segments)
}
