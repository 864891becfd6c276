//! Power save as the standard's static mode has it (AST-14, AST-U13): stations sleep but for beacons, the access point keeps
//! what comes for them, and after a beacon they stay awake until they have fetched all of that. They may send at any time.
//!
//! How they fetch: either the access point sends all that it kept, a packet for each station in turn, or each station asks for
//! one packet after the other (`poll`).

use super::entry::{Entry, Tracked};
use crate::index::InterfaceId;
use airtcp_core::{Duration, Instant, Packet};
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
    /// They ask for each packet.
    pub polls: bool,
    /// What is kept for each interface.
    kept: TiVec<InterfaceId, VecDeque<Kept>>,
}

/// A packet for a station that sleeps.
#[derive(Debug)]
pub struct Kept {
    /// Gone once it has arrived; it is sent again if its ACK was not heard.
    pub packet: Option<Packet>,
    pub tracked: Option<Tracked>,
    /// Of the packet.
    pub bytes: u32,
    /// Transmissions that failed.
    pub tries: u32,
}

impl PowerSave {
    pub fn new(interval: Duration, sleeps: bool, polls: bool, interfaces: usize) -> Self {
        let kept = (0..interfaces).map(|_| VecDeque::new()).collect();
        PowerSave { interval, due: Instant::ZERO + interval, sleeps, polls, kept }
    }

    pub fn due(&self) -> Instant {
        self.due
    }

    /// Whether packets for stations wait for the next beacon.
    pub fn sleeps(&self) -> bool {
        self.sleeps
    }

    pub fn keep(&mut self, entry: Entry) {
        let Entry { packet, bytes, to, tracked, .. } = entry;
        self.kept[to].push_back(Kept { packet: Some(packet), tracked, bytes, tries: 0 });
    }

    /// What is kept for a station, the first of it first.
    pub fn kept_for(&mut self, station: InterfaceId) -> &mut VecDeque<Kept> {
        &mut self.kept[station]
    }

    /// A beacon was sent. Those for whom something is kept, if they ask for it themselves.
    pub fn announce(&mut self) -> Vec<InterfaceId> {
        self.due += self.interval;
        self.kept.iter_enumerated().filter(|(_, kept)| !kept.is_empty()).map(|(station, _)| station).collect()
    }

    /// Everything kept so far, a packet for each station in turn.
    pub fn fetch_all(&mut self) -> Vec<Entry> {
        let mut fetched = Vec::new();
        loop {
            let before = fetched.len();
            for (to, kept) in self.kept.iter_mut_enumerated() {
                let first = kept.pop_front().and_then(|kept| Some(Entry::new(to, kept.packet?, kept.tracked)));
                fetched.extend(first);
            }
            if fetched.len() == before {
                return fetched;
            }
        }
    }
}
