//! The sending end's memory of what left, until the other end reports it.

use super::{Name, Report};
use crate::egress::Lane;
use airtcp_core::Instant;
use alloc::collections::VecDeque;

/// More would be the packets of a long outage.
const MOST: usize = 4096;

/// A packet that left and may be reported.
#[derive(Clone, Copy, Debug)]
struct Departure {
    name: u32,
    at: Instant,
    /// Bytes that had left, with this packet.
    sent: u64,
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
    /// IP bytes that had come, with it.
    pub received: u64,
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
}

impl Departures {
    pub fn new(memory: u64) -> Self {
        let most = (memory as usize / size_of::<Departure>() / 2).min(MOST);
        Departures { log: VecDeque::new(), most, one_in: 1, sent: 0 }
    }

    /// A packet left. Of a repair and its original nobody knows which one came, so neither is remembered; a spare copy
    /// follows its original at once.
    pub fn add(&mut self, now: Instant, name: Name, lane: Lane) {
        self.sent += u64::from(name.bytes);
        if !name.is_one_in(self.one_in) || self.most == 0 {
            return;
        }
        match lane {
            Lane::Queue => self.remember(Departure { name: name.number, at: now, sent: self.sent }),
            Lane::Repair => self.log.retain(|departure| departure.name != name.number),
            Lane::Spare => {}
        }
    }

    fn remember(&mut self, departure: Departure) {
        if self.log.len() == self.most {
            self.one_in = self.one_in.saturating_mul(2);
            self.log.retain(|departure| departure.name.is_multiple_of(self.one_in));
            self.log.truncate(self.most - 1);
        }
        self.log.push_back(departure);
    }

    /// The packet of a report, unless two had this name. What left before it came or is lost.
    pub fn find(&mut self, report: &Report) -> Option<Sample> {
        let place = self.log.iter().rposition(|departure| departure.name == report.name)?;
        let Departure { at, sent, .. } = self.log[place];
        let is_unique = self.log.drain(..=place).rev().skip(1).all(|departure| departure.name != report.name);
        if self.log.len() < self.most / 4 {
            self.one_in = (self.one_in / 2).max(1);
        }
        is_unique.then_some(Sample { left: at, came: report.stamp, sent, received: report.received })
    }

    pub fn clear(&mut self) {
        self.log.clear();
    }

    pub fn memory(&self) -> u64 {
        (self.log.capacity() * size_of::<Departure>()) as u64
    }
}
