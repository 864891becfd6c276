//! What the buckets of a ladder are made of.

use super::key::{Key, Record};
use crate::fetch::fetch;

/// Entries of a chunk: four cache lines, and as many as are put in order at once. Of 16, 24 and 32 swept with 700 to 3,000
/// events pending (a program made for that): 16 take longer, 24 as long.
pub(super) const CHUNK: usize = 32;

/// Says that a source may be due, by the low half of the time in nanoseconds. It is so only if its record agrees: an entry
/// stays where it is when its source is set anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    /// Behind the last of a run.
    pub const NOBODY: Entry = Entry(u64::MAX);

    #[inline]
    pub fn new(key: Key) -> Entry {
        Entry(key.at << 32 | key.source)
    }

    #[inline]
    pub fn low(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub fn source(self) -> u32 {
        self.0 as u32
    }

    /// What it says if that is less than 2^32 ns after `start`.
    #[inline]
    pub fn after(self, start: u64) -> Key {
        let after = self.low().wrapping_sub(start as u32);
        Key { at: start + u64::from(after), source: u64::from(self.source()) }
    }

    /// What its source is due for if that is before `limit` and may be what it says.
    #[inline]
    pub fn pending(self, limit: u64, records: &[Record]) -> Option<Key> {
        let at = records.get(self.source() as usize)?.at;
        (at as u32 == self.low() && at < limit).then_some(Key { at, source: u64::from(self.source()) })
    }
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Chunk(pub [Entry; CHUNK]);

/// A list of full chunks in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List(u32);

impl List {
    pub const EMPTY: List = List(u32::MAX);
}

/// Full chunks of all buckets.
#[derive(Debug, Default)]
pub(super) struct Pool {
    chunks: Vec<Chunk>,
    /// What comes behind each in its list.
    next: Vec<List>,
    /// Those in no list. The last is the one that has just been read.
    free: Vec<u32>,
}

impl Pool {
    /// Chunks in lists.
    pub fn used(&self) -> usize {
        self.chunks.len() - self.free.len()
    }

    pub fn add(&mut self, chunk: &Chunk, list: &mut List) {
        let index = match self.free.pop() {
            Some(index) => {
                self.chunks[index as usize] = *chunk;
                self.next[index as usize] = *list;
                index
            }
            None => {
                self.chunks.push(*chunk);
                self.next.push(*list);
                (self.chunks.len() - 1) as u32
            }
        };
        *list = List(index);
    }

    pub fn take(&mut self, list: &mut List) -> Option<Chunk> {
        let index = list.0;
        let chunk = *self.chunks.get(index as usize)?;
        *list = self.next[index as usize];
        if let Some(next) = self.chunks.get(list.0 as usize) {
            fetch(next);
        }
        self.free.push(index);
        Some(chunk)
    }
}
