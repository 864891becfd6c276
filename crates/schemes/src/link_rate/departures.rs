//! The sending end's memory of what left, until the other end reports it.

use super::{Name, Report};
use crate::egress::{Lane, time_on_link};
use airtcp_core::{Duration, Instant, Rate};
use alloc::collections::VecDeque;

/// More would be the packets of a long outage.
const MOST: usize = 4096;

/// Reports come sooner, but for those of a link that stood still and was given little.
const OLD: Duration = Duration::from_secs(2);

/// A packet that left and may be reported.
#[derive(Clone, Copy, Debug)]
struct Departure {
    name: u32,
    at: Instant,
    /// Bytes that had left, with this packet.
    sent: u64,
    /// The same without messages.
    packets: u64,
    bytes: u32,
    /// The longest pause since the packet that is remembered before.
    pause: Duration,
}

/// One packet, seen at both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// When it left, by the clock here.
    pub left: Instant,
    /// When it came, by the clock there, in ns.
    pub came: u64,
    /// IP bytes that had left, with it.
    pub sent: u64,
    /// The same without messages.
    pub packets: u64,
    /// IP bytes of packets that had come, with it.
    pub received: u64,
    /// Its own bytes.
    pub bytes: u32,
    /// The longest time in which nothing was sent since the sample before.
    pub pause: Duration,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Departures {
    log: VecDeque<Departure>,
    most: usize,
    /// One packet in so many is remembered.
    one_in: u32,
    /// All bytes that left.
    pub sent: u64,
    /// The same without messages.
    packets: u64,
    /// All that left has left by then.
    busy_until: Instant,
    /// The longest pause of those that no remembered packet ended.
    pause: Duration,
}

impl Departures {
    pub fn new(memory: u64) -> Self {
        let most = (memory as usize / size_of::<Departure>() / 2).min(MOST);
        Departures {
            log: VecDeque::new(),
            most,
            one_in: 1,
            sent: 0,
            packets: 0,
            busy_until: Instant::ZERO,
            pause: Duration::ZERO,
        }
    }

    /// A packet left at `rate`. Of a repair and its original nobody knows which one came, so neither is remembered; a spare
    /// copy follows its original at once.
    pub fn add(&mut self, now: Instant, name: Name, lane: Lane, rate: Option<Rate>) {
        self.sent += u64::from(name.bytes);
        self.packets += u64::from(name.bytes);
        self.pause = self.pause.max(now.saturating_since(self.busy_until));
        let time = time_on_link(rate, name.bytes);
        self.busy_until = self.busy_until.max(now) + time;
        if !name.is_one_in(self.one_in) || self.most == 0 {
            return;
        }
        match lane {
            Lane::Queue => self.remember(now, name),
            Lane::Repair => self.forget(|departure| departure.name == name.number),
            Lane::Spare => {}
        }
    }

    fn remember(&mut self, at: Instant, name: Name) {
        if self.log.len() == self.most {
            self.one_in = self.one_in.saturating_mul(2);
            let one_in = self.one_in;
            self.forget(|departure| !departure.name.is_multiple_of(one_in));
            self.log.truncate(self.most - 1);
        }
        let pause = core::mem::take(&mut self.pause);
        let (sent, packets) = (self.sent, self.packets);
        self.log.push_back(Departure { name: name.number, at, sent, packets, bytes: name.bytes, pause });
    }

    fn forget(&mut self, is_gone: impl Fn(&Departure) -> bool) {
        let pause = &mut self.pause;
        self.log.retain(|departure| {
            let is_kept = !is_gone(departure);
            if !is_kept {
                *pause = (*pause).max(departure.pause);
            }
            is_kept
        });
    }

    /// The packet of a report, unless two had this name. What left before it came or is lost.
    pub fn find(&mut self, report: &Report) -> Option<Sample> {
        let Some(place) = self.log.iter().rposition(|departure| departure.name == report.name) else {
            self.remember_more();
            return None;
        };
        let Departure { at, sent, packets, bytes, .. } = self.log[place];
        let (mut is_unique, mut pause) = (true, Duration::ZERO);
        for (index, departure) in self.log.drain(..=place).enumerate() {
            is_unique &= index == place || departure.name != report.name;
            pause = pause.max(departure.pause);
        }
        if self.log.len() < self.most / 4 {
            self.one_in = (self.one_in / 2).max(1);
        }
        if !is_unique {
            self.pause = self.pause.max(pause);
            return None;
        }
        Some(Sample { left: at, came: report.stamp, sent, packets, received: report.received, bytes, pause })
    }

    /// Packets are reported that are not remembered, as few are after a time without reports: what nobody reported for so long nobody
    /// will, and there is room for more.
    fn remember_more(&mut self) {
        let Some(newest) = self.log.back().filter(|_| self.one_in > 1).map(|newest| newest.at) else { return };
        let mut pause = Duration::ZERO;
        while let Some(old) = self.log.front().filter(|first| first.at + OLD < newest) {
            pause = pause.max(old.pause);
            self.log.pop_front();
        }
        if let Some(first) = self.log.front_mut() {
            first.pause = first.pause.max(pause);
        }
        if self.log.len() < self.most / 4 {
            self.one_in /= 2;
        }
    }

    /// What left after the packet that was found last: when, and the bytes that had left by then, with it.
    pub fn later(&self) -> impl Iterator<Item = (Instant, u64)> {
        self.log.iter().map(|departure| (departure.at, departure.sent))
    }

    pub fn clear(&mut self) {
        self.log.clear();
    }

    pub fn memory(&self) -> u64 {
        (self.log.capacity() * size_of::<Departure>()) as u64
    }
}
