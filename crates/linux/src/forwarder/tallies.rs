//! What a forwarder counts of its connections.

use super::line::Line;
use std::collections::BTreeMap;

/// Sums since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Connections that this end opened.
    pub opened: u64,
    /// Connections that the peer asked for.
    pub asked: u64,
    /// Connections whose two applications have all of each other's stream.
    pub finished: u64,
    /// Connections that ended in a reset, by errno.
    pub broken: BTreeMap<u16, u64>,
    /// Connections refused because the table is full.
    pub refused_limit: u64,
    /// Frames of the peer that are none.
    pub malformed: u64,
    /// Data not taken for want of memory.
    pub without_memory: u64,
    /// Segments of data TCPs sent again.
    pub data_resent: u64,
    /// Most bytes that were ever in all buffers.
    pub memory_max: u64,
    /// What circuits count, by name.
    pub circuits: BTreeMap<&'static str, u64>,
}

impl Tallies {
    /// A connection ended in a reset.
    pub fn broken(&mut self, errno: u16) {
        *self.broken.entry(errno).or_default() += 1;
    }

    /// Adds what a connection counted.
    pub fn add_line(&mut self, line: &Line) {
        self.data_resent += line.levels().1;
        for (event, count) in line.counts() {
            *self.circuits.entry(event.label()).or_default() += count;
        }
    }

    /// All of them by name.
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let own = [
            ("opened", self.opened),
            ("asked", self.asked),
            ("finished", self.finished),
            ("broken", self.broken.values().sum()),
            ("refused_limit", self.refused_limit),
            ("malformed", self.malformed),
            ("without_memory", self.without_memory),
            ("data_resent", self.data_resent),
        ];
        own.into_iter().chain(self.circuits.iter().map(|(name, count)| (*name, *count))).collect()
    }
}
