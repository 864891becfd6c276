//! Every mode under random packets, messages and pauses: the harness checks after each that no packet vanished or came
//! from nowhere, that the bounds hold and that no timer is busy.

use super::{GsnoopSettings, Hello, Message, Mode, modern, paper};
use crate::{End, LinkFacts, Site};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{
    ByteSize, Duration, Element, FlowKey, Gauge, Instant, Packet, Port, Rate, Rng, SackBlocks, Segment, SeqNum,
    TcpFlags, TcpHeader, TcpOptions,
};
use core::net::{IpAddr, Ipv4Addr};
use std::vec;
use std::vec::Vec;

const MAX_MEMORY: ByteSize = ByteSize(1 << 20);

fn flow(rng: &mut Rng) -> FlowKey {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    // A few busy flows among many that make each other room.
    let flows = if rng.below(4) == 0 { 3000 } else { 4 };
    let port = 1000 + rng.below(flows) as u16;
    FlowKey { source: host(1), destination: host(2), source_port: port, destination_port: 80 }
}

/// Some number within forty segments of the wrap.
fn number(rng: &mut Rng) -> SeqNum {
    SeqNum((u32::MAX - 20_000).wrapping_add(1000 * rng.below(40) as u32 + 7 * rng.below(2) as u32))
}

fn packet(rng: &mut Rng, is_ack: bool) -> Packet {
    let flow = if is_ack { flow(rng).reversed() } else { flow(rng) };
    let rare = [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST, TcpFlags::ECE];
    let flags = if rng.below(20) == 0 { TcpFlags::ACK.with(rare[rng.below(4) as usize]) } else { TcpFlags::ACK };
    let mut sack = SackBlocks::default();
    if is_ack && rng.below(2) == 0 {
        let left = number(rng);
        sack.push(left, left + 1000);
    }
    let tcp = TcpHeader {
        source_port: flow.source_port,
        destination_port: flow.destination_port,
        sequence: if is_ack { SeqNum(9) } else { number(rng) },
        acknowledgment: if is_ack { number(rng) } else { SeqNum(9) },
        flags,
        window: 1000 + rng.below(2) as u16,
        urgent: 0,
        options: TcpOptions { sack, ..TcpOptions::default() },
    };
    let len = if is_ack { 100 * u32::from(rng.below(10) == 0) } else { 1000 };
    let segment = Segment { source: flow.source, destination: flow.destination, traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, 1, 0, len)
}

fn message(rng: &mut Rng, now: Instant) -> Vec<u8> {
    let first = number(rng);
    let range = (first, first + 1000 * (1 + rng.below(3) as u32));
    let flow = flow(rng);
    let message = match rng.below(8) {
        0 => Message::Hello(Hello { epoch: 1, stamp: now.as_nanos(), echo: now.as_nanos() - 1, held: 0 }),
        1 if rng.below(30) == 0 => Message::Hello(Hello { epoch: rng.below(9), stamp: 1, echo: 0, held: 0 }),
        2 => Message::NotHere(flow, vec![range]),
        3 => Message::Poll(flow, range),
        4 => Message::Have(flow, range),
        5 => Message::Resent(flow, range),
        _ => Message::Nack(flow, vec![range]),
    };
    message.encode()
}

fn survives<E: Element>(make: impl Fn(&GsnoopSettings, &mut Site<'_>) -> E, mode: Mode) {
    for seed in 0..12 {
        let mut rng = Rng::derive(seed, "operations");
        let mut settings =
            GsnoopSettings { mode, wireless_rtt: Some(Duration::from_millis(10)), ..GsnoopSettings::default() };
        for (key, choices) in [
            ("ask_again", ["true", "false"]),
            ("repair_place", ["head", "tail"]),
            ("cache_per_flow", ["true", "false"]),
            ("held_acks", ["3", "1000"]),
        ] {
            settings.set(key, &choices[rng.below(2) as usize].into()).unwrap();
        }
        let link =
            LinkFacts { rate: Some(Rate::from_bps(4_000_000)), queue: Some(ByteSize(15_000)), ..LinkFacts::default() };
        let site = &mut Site {
            end: End::Near,
            link,
            rng: &mut Rng::derive(seed, "site"),
            max_memory: MAX_MEMORY,
            forecast: None,
        };
        let mut gateway = Harness::new(make(&settings, site), "gateway");
        let mut now = Instant::from_nanos(1_000_000_000);
        for _ in 0..4000 {
            match rng.below(10) {
                0..=5 => {
                    let port = if rng.below(2) == 0 { Port::INNER } else { Port::LINK };
                    let is_ack = rng.below(2) == 0;
                    gateway.packet(now, port, packet(&mut rng, is_ack));
                }
                6..=7 => gateway.control(now, &message(&mut rng, now)),
                _ => {
                    let pause = if rng.below(300) == 0 { 1_500_000_000 } else { rng.below(8_000_000) };
                    now += Duration::from_nanos(pause);
                    gateway.tick(now);
                }
            }
            assert!(gateway.gauge(Gauge::MEMORY_BYTES).unwrap() <= MAX_MEMORY.0, "seed {seed}");
        }
        // Left alone it lets go of everything.
        for _ in 0..400 {
            now += Duration::from_millis(10);
            gateway.tick(now);
        }
        assert_eq!(gateway.element.held().packets, 0, "seed {seed}");
    }
}

#[test]
fn modern_mode_survives_random_operations() {
    survives(modern::Gateway::new, Mode::Modern);
}

#[test]
fn the_suppression_variant_survives_random_operations() {
    survives(modern::Gateway::new, Mode::Suppression);
}

#[test]
fn paper_mode_survives_random_operations() {
    survives(paper::Gateway::new, Mode::Paper);
}
