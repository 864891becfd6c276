//! An event as queues compare it, and what is known of its source.

use super::{Since, Source};
use airtcp_core::Instant;
use std::hint;

/// From here on a time means never. Every source has a never of its own, so that only events which are due compare as equal.
pub(super) const NEVER: u64 = 1 << 63;
/// Nobody's event.
pub(super) const NOBODY: Key = Key { at: u64::MAX, source: u64::MAX };

/// An event: compared by time, then by what the queue knows of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Nanoseconds.
    pub at: u64,
    pub source: u64,
}

/// What a queue knows of a source. Of two that are due at the same time the lesser is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(align(32))]
pub(super) struct Record {
    /// When it is due, in nanoseconds.
    pub at: u64,
    pub since: Since,
    pub put: u64,
}

impl Record {
    /// Of a source that is not due.
    pub fn new() -> Record {
        Record { at: NEVER, since: Since::default(), put: 0 }
    }

    /// The event of a source that is due.
    pub fn key(&self, source: usize) -> Option<Key> {
        (self.at < NEVER).then_some(Key { at: self.at, source: source as u64 })
    }
}

impl Key {
    pub fn new(at: Instant, source: Source) -> Key {
        Key { at: at.as_nanos(), source: u64::from(source) }
    }

    pub fn never(source: Source) -> Key {
        Key::new(Instant::from_nanos(NEVER + u64::from(source)), source)
    }

    pub fn is_due(self) -> bool {
        self.at < NEVER
    }

    pub fn source(self) -> Source {
        self.source as Source
    }

    /// The earlier of the two. Either is as likely as the other, so this must not become a branch.
    #[inline]
    pub fn earlier(self, other: Key, records: &[Record]) -> Key {
        if other.at == self.at {
            return self.next_for_longer(other, records);
        }
        let is_other = other.at < self.at;
        Key {
            at: hint::select_unpredictable(is_other, other.at, self.at),
            source: hint::select_unpredictable(is_other, other.source, self.source),
        }
    }

    #[cold]
    fn next_for_longer(self, other: Key, records: &[Record]) -> Key {
        let [ours, others] = [self, other].map(|key| records.get(key.source as usize));
        if others < ours { other } else { self }
    }
}
