//! Power save as the standard's static mode has it (AST-14, AST-U13): stations sleep but for beacons, the access point keeps
//! what comes for them, and after a beacon they stay awake until they have fetched all of that. They may send at any time.

use super::entry::Entry;
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant};
use std::collections::VecDeque;
use typed_index_collections::TiVec;

/// Beacons, and what waits for them.
#[derive(Debug)]
pub struct PowerSave {
    interval: Duration,
    /// When the next beacon is due.
    due: Instant,
    /// Stations sleep; else there are beacons and nothing more.
    sleeps: bool,
    /// What is kept for each interface.
    kept: TiVec<InterfaceId, VecDeque<Entry>>,
}

impl PowerSave {
    pub fn new(interval: Duration, sleeps: bool, interfaces: usize) -> Self {
        let kept = (0..interfaces).map(|_| VecDeque::new()).collect();
        PowerSave { interval, due: Instant::ZERO + interval, sleeps, kept }
    }

    pub fn due(&self) -> Instant {
        self.due
    }

    /// Whether packets for stations wait for the next beacon.
    pub fn sleeps(&self) -> bool {
        self.sleeps
    }

    pub fn keep(&mut self, entry: Entry) {
        self.kept[entry.to].push_back(entry);
    }

    /// A beacon was sent: everything kept so far, a packet for each station in turn.
    pub fn wake(&mut self) -> Vec<Entry> {
        self.due += self.interval;
        let mut fetched = Vec::new();
        loop {
            let before = fetched.len();
            fetched.extend(self.kept.iter_mut().filter_map(VecDeque::pop_front));
            if fetched.len() == before {
                return fetched;
            }
        }
    }
}
