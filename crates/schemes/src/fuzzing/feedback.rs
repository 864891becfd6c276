//! One end of local recovery, and bytes that say what happens to it: packets to send, time that passes, messages and frames of
//! another end that may say anything, true or not.

use crate::local_recovery::{Kind, Known, Message, Settings, Shim, Station, decode_shim};
use crate::position;
use crate::{End, LinkFacts, MAX_MEMORY, Site};
use airtcp_core::packet::protocol;
use airtcp_core::testing::Harness;
use airtcp_core::{Duration, Element, Gauge, Instant, Packet, Port, Rate, Rng, TakenShim};
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

/// More would take longer and show nothing else.
const MOST_EVENTS: usize = 512;
/// The highest rate, where there is one.
const BOUND: Rate = Rate::from_bps(10_000_000);
/// The other end's epoch; its low bits are the incarnation in its frames.
const EPOCH: u64 = 0x0107;

/// Whatever happens, no packet vanishes, memory and rate stay within bounds, and nothing panics.
pub fn feedback(data: &[u8]) {
    let mut bytes = Bytes(data);
    let has_bound = bytes.byte().is_multiple_of(2);
    let mut world = World::new(has_bound.then_some(BOUND));
    world.look();
    for _ in 0..MOST_EVENTS {
        if bytes.0.is_empty() {
            break;
        }
        world.happen(&mut bytes);
        world.look();
    }
}

/// What is left of the input; zeros behind its end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn take(&mut self, most: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }

    /// A number near `value`: the same, a few more or less, ten times as much or a tenth, about the highest of all, or any.
    fn near(&mut self, value: u64) -> u64 {
        match self.byte() {
            0..100 => value,
            little @ 100..160 => value.wrapping_add(u64::from(little)).wrapping_sub(130),
            160..190 => value.wrapping_mul(10),
            190..220 => value / 10,
            220..230 => u64::MAX - u64::from(self.byte()),
            230..240 => value.wrapping_add(u64::from(self.word())).wrapping_sub(1 << 31),
            _ => u64::from(self.word()) << 32 | u64::from(self.word()),
        }
    }
}

struct World {
    now: Instant,
    bound: Option<Rate>,
    end: Harness<Station>,
    /// The latest frame that left, and bytes of all.
    last: Option<Shim>,
    sent: u64,
    /// The stamp of the latest HELLO that left.
    stamp: u64,
    /// Messages that came.
    heard: Vec<Vec<u8>>,
}

impl World {
    fn new(bound: Option<Rate>) -> World {
        let settings = Settings { rate: bound, ..Settings::default() };
        let mut rng = Rng::derive(1, "feedback");
        let mut site =
            Site { end: End::Near, link: LinkFacts::default(), rng: &mut rng, max_memory: MAX_MEMORY, forecast: None };
        let mut end = Harness::new(Station::new(&settings, &mut site), "feedback");
        let now = Instant::from_nanos(1_000_000_000);
        end.tick(now);
        World { now, bound, end, last: None, sent: 0, stamp: 0, heard: Vec::new() }
    }

    fn happen(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.byte() % 8 {
            0 => {
                let packet = datagram(vec![bytes.byte(); usize::from(bytes.byte()) * 6]);
                self.end.packet(self.now, Port::INNER, packet);
            }
            1 => {
                // Up to some minutes, every magnitude alike.
                self.now += Duration::from_nanos(1 << (bytes.byte() % 38));
                self.end.tick(self.now);
            }
            2 => self.say(self.hello(bytes)),
            3 => {
                let len = usize::from(bytes.byte());
                self.say(bytes.take(len));
            }
            4 => self.say(self.acknowledgment(bytes)),
            5 => {
                let at = usize::from(bytes.byte());
                if let Some(old) = self.heard.get(at % self.heard.len().max(1)).cloned() {
                    self.say(old);
                }
            }
            6 => {
                let sequence = bytes.near(self.last.map_or(0, |shim| shim.frame.sequence.0.into())) as u32;
                self.say([&[2, 3][..], &(EPOCH as u16).to_be_bytes(), &sequence.to_be_bytes()].concat());
            }
            _ => {
                let body = bytes.byte() % 20;
                // A whole frame begins with the incarnation, a short one has its low byte behind what follows.
                let [high, low] = (EPOCH as u16).to_be_bytes();
                let mut shim = if body < 12 { vec![bytes.byte() & 0xfc, low] } else { vec![high, low] };
                shim.extend(bytes.take(body.into()));
                let mut packet = datagram(vec![7; usize::from(bytes.byte()) * 6]);
                packet.push_shim(&shim);
                self.end.packet(self.now, Port::LINK, packet);
            }
        }
    }

    fn say(&mut self, message: Vec<u8>) {
        self.end.control(self.now, &message);
        if self.heard.len() < 64 {
            self.heard.push(message);
        }
    }

    fn hello(&self, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let words = [bytes.near(EPOCH), bytes.near(self.now.as_nanos()), bytes.near(self.stamp), bytes.near(0)];
        [2, 1].into_iter().chain(words.into_iter().flat_map(u64::to_be_bytes)).collect()
    }

    /// One of the latest frame, in the form of `local_recovery/message.rs`.
    fn acknowledgment(&self, bytes: &mut Bytes<'_>) -> Vec<u8> {
        let Some(Shim { frame, .. }) = self.last else { return Vec::new() };
        let mut out = Vec::new();
        out.extend((bytes.near(frame.incarnation.into()) as u16).to_be_bytes());
        out.extend((bytes.near(frame.number.0.into()) as u32).to_be_bytes());
        out.extend((bytes.near(frame.sequence.0.into()) as u32).to_be_bytes());
        let mut follows = 2 + bytes.byte() % 15;
        let came: Vec<u8> = (0..follows).flat_map(|_| [bytes.byte(); 8]).collect();
        if came.iter().all(|byte| *byte == 0xff) {
            follows |= 0x20;
        } else {
            out.extend(came);
        }
        if bytes.byte() < 200 {
            follows |= 0x80;
            out.extend(bytes.word().to_be_bytes());
            out.extend(bytes.word().to_be_bytes());
            out.extend([bytes.byte(), bytes.byte()]);
        }
        if bytes.byte() < 150 {
            follows |= 0x40;
            out.extend((bytes.near(frame.number.0.into()) as u32).to_be_bytes());
            out.extend(bytes.near(self.sent).to_be_bytes());
            // Up to 67 ms before or after.
            let shifted = self.now.as_nanos().saturating_add_signed(i64::from(bytes.byte() as i8) << 19);
            out.extend(bytes.near(shifted).to_be_bytes());
        }
        [&[2, 2, follows][..], &out].concat()
    }

    /// Takes what left, and looks at the bounds.
    fn look(&mut self) {
        for packet in core::mem::take(&mut self.end.io.link) {
            self.sent += u64::from(packet.wire_len());
            if let TakenShim::Body(body) = packet.clone().take_shim() {
                let shim = decode_shim(&body).expect("what leaves can be read");
                let before = self.last.unwrap_or(shim).frame;
                let places = Some((position::first(before.number), position::first(before.sequence)));
                let known = Known { incarnation: before.incarnation, places };
                let shim = shim.completed(&known).expect("the first frame is a whole one");
                self.last = Some(shim).filter(|shim| !matches!(shim.kind, Kind::Code { .. })).or(self.last);
            }
        }
        for message in core::mem::take(&mut self.end.io.control) {
            let read = Message::decode(&message).expect("what leaves can be read");
            assert_eq!(read.encode(), message);
            if let Message::Hello(hello) = read {
                self.stamp = hello.stamp;
            }
        }
        self.end.io.inner.clear();
        let memory = self.end.gauge(Gauge::MEMORY_BYTES).unwrap_or_default();
        assert!(memory <= MAX_MEMORY.0, "{memory} bytes of memory");
        let rate = self.end.gauge(Gauge::RATE_BPS).unwrap_or_default();
        // A trial is a tenth above the bound.
        assert!(self.bound.is_none_or(|bound| rate <= bound.bps() * 11 / 10), "{rate} bit/s");
        assert!(self.end.element.poll_timeout().is_some_and(|due| due > self.now), "HELLOs go on");
    }
}

fn datagram(payload: Vec<u8>) -> Packet {
    let address = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
    Packet::opaque(address(1), address(2), protocol::UDP, payload.into())
}
