//! Random headers, data, carriers, messages and pauses: the harness checks after each that no packet vanished or came
//! from nowhere and that the bounds hold; and whatever the air loses, what comes out was sent.

use super::*;
use crate::{End, LinkFacts};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{ByteSize, CONTROL_DSCP, Duration, Rate, Rng, Segment, TcpHeader, TcpOptions, Timestamps};
use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeSet;

const MAX_MEMORY: ByteSize = ByteSize(1 << 20);

/// Headers of a few circuits that mostly go on and sometimes back, some of them with timestamps; or data.
fn packet(rng: &mut Rng, next: &mut [u32; 40]) -> Packet {
    let circuit = if rng.below(4) == 0 { rng.below(40) } else { rng.below(3) } as usize;
    let steps = [1, 1, 1, 1, 1, 1, 2, u32::MAX, 60];
    next[circuit] = next[circuit].wrapping_add(steps[rng.below(9) as usize]);
    let stamp = Timestamps { value: next[circuit].wrapping_mul(1 + rng.below(2) as u32), echo: 5 };
    let tcp = TcpHeader {
        source_port: 1000 + circuit as u16,
        destination_port: 80,
        sequence: SeqNum(next[circuit].wrapping_mul(1500)),
        acknowledgment: SeqNum(9),
        flags: if rng.below(30) == 0 { TcpFlags::ACK.with(TcpFlags::SYN) } else { TcpFlags::ACK },
        window: 1000 + (rng.below(20) == 0) as u16,
        urgent: 0,
        options: TcpOptions { timestamps: circuit.is_multiple_of(2).then_some(stamp), ..TcpOptions::default() },
    };
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let (is_data, traffic_class) = (rng.below(3) == 0, CONTROL_DSCP << 2);
    let segment = Segment { source: host(1), destination: host(2), traffic_class, tcp };
    if is_data { Packet::tcp_virtual(&segment, 1, 0, 1000) } else { Packet::tcp_bytes(&segment, Bytes::new()) }
}

fn rubbish(rng: &mut Rng) -> Bytes {
    let len = rng.below(30);
    (0..len).map(|_| rng.below(256) as u8).collect::<Vec<u8>>().into()
}

fn settings(rng: &mut Rng) -> HeaderHopSettings {
    let mut settings = HeaderHopSettings::default();
    for (key, choices) in [
        ("compress", ["none", "headers", "timestamps"]),
        ("twice", ["0", "1", "3"]),
        ("refresh", ["0", "8", "64"]),
        ("contexts", ["1", "2", "16"]),
        ("copies", ["0", "0", "3"]),
        ("tries", ["1", "2", "6"]),
    ] {
        settings.set(key, &choices[rng.below(3) as usize].into()).unwrap();
    }
    settings
}

#[test]
fn header_hop_survives_random_operations() {
    for seed in 0..40 {
        let mut rng = Rng::derive(seed, "operations");
        let settings = settings(&mut rng);
        let link =
            LinkFacts { rate: Some(Rate::from_bps(4_000_000)), queue: Some(ByteSize(15_000)), ..LinkFacts::default() };
        let mut ends = ["a", "b"].map(|name| {
            let rng = &mut Rng::derive(seed, name);
            Harness::new(
                Station::new(
                    &settings,
                    &mut Site { end: End::Near, link, rng, max_memory: MAX_MEMORY, forecast: None },
                ),
                name,
            )
        });
        let (mut now, mut next, mut sent) = (Instant::from_nanos(1_000_000_000), [0; 40], BTreeSet::new());
        for step in 0..6000 {
            match rng.below(20) {
                0..=10 => {
                    let packet = packet(&mut rng, &mut next);
                    sent.insert(packet.to_wire());
                    ends[0].packet(now, Port::INNER, packet);
                }
                11 if rng.below(20) == 0 => ends[rng.below(2) as usize].control(now, &rubbish(&mut rng)),
                12 if rng.below(20) == 0 => {
                    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
                    let packet = Packet::opaque(address, address, 253, rubbish(&mut rng));
                    sent.insert(packet.to_wire());
                    ends[1].packet(now, Port::LINK, packet);
                }
                _ => {
                    let pause = if rng.below(1000) == 0 { 1_500_000_000 } else { rng.below(4_000_000) };
                    now += Duration::from_nanos(pause);
                    ends.iter_mut().for_each(|end| end.tick(now));
                }
            }
            exchange(&mut ends, now, &mut rng);
            for packet in ends.iter_mut().flat_map(|end| core::mem::take(&mut end.io.inner)) {
                assert!(sent.contains(&packet.to_wire()), "seed {seed}, step {step}: {packet:?} was never sent");
            }
            for end in &ends {
                assert!(end.gauge(Gauge::MEMORY_BYTES).unwrap() <= MAX_MEMORY.0, "seed {seed}");
            }
        }
        // Left alone they let go of everything.
        for _ in 0..400 {
            now += Duration::from_millis(10);
            ends.iter_mut().for_each(|end| end.tick(now));
        }
        assert!(ends.iter().all(|end| end.element.held().packets == 0), "seed {seed}");
    }
}

/// What the ends sent arrives at the other, but for one of sixteen.
fn exchange(ends: &mut [Harness<Station>; 2], now: Instant, rng: &mut Rng) {
    for from in 0..2 {
        let packets = core::mem::take(&mut ends[from].io.link);
        let messages = core::mem::take(&mut ends[from].io.control);
        for packet in packets.into_iter().filter(|_| rng.below(16) > 0) {
            ends[1 - from].packet(now, Port::LINK, packet);
        }
        for message in messages.into_iter().filter(|_| rng.below(16) > 0) {
            ends[1 - from].control(now, &message);
        }
    }
}
