//! The receiving half: reassembly, the window it allows, and when to acknowledge.

mod acknowledge;
mod autotuning;
mod batch;
mod compression;
mod content;
mod delay;
mod growth;
mod quick;
mod round_trip;
mod spacing;
mod window;

pub use acknowledge::{Acknowledger, Owed};
pub use batch::{Batch, Piece, Taken};
pub use delay::Path;
pub use round_trip::RoundTrip;
pub use window::ReceiveWindow;

use crate::config::Config;
use crate::range_set::{Range, RangeSet};
use crate::sequence::Sequence;
use crate::stats::Stats;
use crate::stream::{Chunk, PIECE_MEMORY, most_pieces};
use airtcp_core::{Duration, Instant, Packet, SackBlocks, count_one};
use alloc::boxed::Box;
use content::Content;

/// What an arriving segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next one expected.
    InOrder,
    /// The next one expected, with more behind it already here.
    FilledHole,
    /// Above a hole.
    OutOfOrder,
    /// Nothing new in it.
    Duplicate,
}

/// Reassembly of one direction. Offsets are those of the peer's sequence: 0 is its SYN.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next offset expected.
    pub nxt: u64,
    /// When to acknowledge, and what to report selectively.
    pub acks: Acknowledger,
    out_of_order: RangeSet,
    /// What was advertised.
    pub window: ReceiveWindow,
    /// First offset the application has not read.
    read: u64,
    auto_read: bool,
    /// Segments that are taken as one, if any are.
    pub batch: Option<Box<Batch>>,
    fin: Option<u64>,
    content: Content,
    /// The round-trip time as the receiver sees it, if a habit asks for it.
    pub round_trip: Option<Box<RoundTrip>>,
}

impl Receiver {
    /// Expects offset 1, the byte behind the SYN.
    pub fn new(config: &Config, window: ReceiveWindow) -> Self {
        let asks_round_trip = config.sack_compression || config.receive_autotuning;
        Receiver {
            nxt: 1,
            window,
            acks: Acknowledger::new(config),
            round_trip: asks_round_trip.then(Box::default),
            batch: Batch::new(config).map(Box::new),
            read: 1,
            auto_read: config.auto_read,
            out_of_order: RangeSet::default(),
            content: Content::default(),
            fin: None,
        }
    }

    /// Bytes in order that the application has not read.
    #[inline]
    pub fn readable(&self) -> u64 {
        debug_assert!(!self.auto_read || self.read == self.data_end(), "what is read on arrival does not wait");
        if self.auto_read { 0 } else { self.data_end() - self.read }
    }

    /// True while something before what was received is missing.
    pub fn has_gap(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Ranges above the first hole.
    pub fn ranges(&self) -> usize {
        self.out_of_order.iter().count()
    }

    /// The round-trip time as the receiver sees it; zero if it is not known.
    pub fn round_trip(&self) -> Duration {
        self.round_trip.as_ref().map_or(Duration::ZERO, |round_trip| round_trip.get())
    }

    /// A segment with data, perhaps a full one, echoes a clock of ours; `clock` is how it stands now, in ms.
    pub fn note_echo(&mut self, clock: u32, echo: u32, is_full: bool) {
        if let Some(spacing) = &mut self.acks.spacing {
            spacing.on_echo(clock, echo);
        }
        let is_read = self.readable() == 0;
        if let Some(round_trip) = self.round_trip.as_mut().filter(|_| is_full) {
            round_trip.on_echo(clock, echo, is_read);
        }
    }

    /// A segment of `len` bytes was taken: the window may grow for it, and the buffer follow what is read.
    pub fn grow(&mut self, now: Instant, len: u32, mss: u32) {
        if self.window.is_constant() {
            return;
        }
        if self.window.on_segment(len, mss, self.readable()) {
            self.acks.quick.owe_one();
        }
        let held = self.out_of_order.last().map_or(0, |last| last.end - self.nxt);
        self.window.tune(now, self.read, held, mss, self.round_trip());
    }

    /// Bytes before offset `limit` that have not arrived although later ones have.
    pub fn missing_below(&self, limit: u64) -> u64 {
        let limit = limit.min(self.out_of_order.last().map_or(0, |last| last.end));
        let above_holes = self.out_of_order.iter().map(|range| range.end.min(limit).saturating_sub(range.start));
        limit.saturating_sub(self.nxt) - above_holes.sum::<u64>()
    }

    /// Memory of what arrived and was not read; virtual bytes count as if they were real.
    pub fn memory(&self) -> u64 {
        let above_holes: u64 = self.out_of_order.iter().map(|range| range.end - range.start).sum();
        self.readable() + above_holes + self.content.pieces() * PIECE_MEMORY
    }

    /// True when the peer's FIN and all before it have arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Bytes free for more.
    pub fn free(&self) -> u64 {
        self.window.buffer().saturating_sub(self.readable())
    }

    /// True if the next acknowledgment reports something selectively, or would if SACK were on.
    pub fn has_report(&self) -> bool {
        self.acks.has_report(&self.out_of_order)
    }

    /// The same, where it leaves now: without anything to report no range is more recent than another.
    #[inline]
    pub fn reports(&mut self) -> bool {
        let has_report = self.has_report();
        if !has_report {
            self.acks.forget_recent();
        }
        has_report
    }

    /// At most `max` SACK blocks for the next acknowledgment.
    #[inline(never)]
    pub fn sack_blocks(&mut self, sequence: Sequence, max: usize) -> SackBlocks {
        self.acks.blocks(&self.out_of_order, sequence, max)
    }

    /// The first mismatch found in what was delivered, if any.
    pub fn fault(&self) -> Option<&'static str> {
        self.content.fault()
    }

    /// Hands up to `max` bytes to the application. If the stream is broken (`fault`), there may be nothing to return
    /// although bytes count as readable.
    pub fn read(&mut self, max: u64) -> Option<Chunk> {
        let len = max.min(self.readable());
        if len == 0 {
            return None;
        }
        let chunk = Some(self.content.read(self.read - 1, len)).filter(|chunk| !chunk.is_empty())?;
        self.read += chunk.len();
        Some(chunk)
    }

    /// From now on data is checked and dropped on arrival.
    pub fn set_auto_read(&mut self, on: bool) {
        self.auto_read = on;
        self.discard_readable();
    }

    /// Takes a segment's payload, which begins at `start` and holds `len` bytes; `start` may lie
    /// before the SYN. What exceeds the window is cut off.
    pub fn accept(&mut self, start: i64, packet: &Packet, len: u32, stats: &mut Stats) -> Arrival {
        let end = start + i64::from(len);
        if end <= self.nxt as i64 {
            stats.duplicate_segments_received += 1;
            self.acks.report_duplicate(start.max(0) as u64, end.max(0) as u64);
            return Arrival::Duplicate;
        }
        if start == self.nxt as i64 && end <= self.window.edge() as i64 && self.keeps_nothing() {
            return self.pass_on(end as u64, packet, stats);
        }
        let limit = self.fin.unwrap_or(u64::MAX).min(self.window.edge().max(self.nxt)) as i64;
        if start < self.nxt as i64 {
            self.acks.report_duplicate(start.max(1) as u64, self.nxt);
        }
        let from = start.max(self.nxt as i64) as u64;
        let to = end.min(limit).max(0) as u64;
        if from >= to {
            return Arrival::Duplicate;
        }
        // As a rule there are none, and then nobody need know how many there may be.
        let pieces = self.content.pieces();
        if pieces > 0 && pieces >= most_pieces(self.window.buffer()) {
            stats.segments_without_memory += 1;
            return Arrival::Duplicate;
        }
        let had_hole = !self.out_of_order.is_empty();
        if from == self.nxt && !had_hole {
            self.content.check_and_keep(from, to, start, packet, !self.auto_read);
            stats.bytes_received += to - from;
            self.advance(to, stats);
            return Arrival::InOrder;
        }
        self.accept_around_hole(start, from, to, packet, stats)
    }

    /// Whether what comes next is dropped once it is checked, as nearly always: nothing is kept, or known of what follows.
    #[inline]
    fn keeps_nothing(&self) -> bool {
        self.auto_read && self.out_of_order.is_empty() && self.fin.is_none() && self.content.pieces() == 0
    }

    /// Takes what comes next, up to `end`, where nothing is kept.
    #[inline]
    fn pass_on(&mut self, end: u64, packet: &Packet, stats: &mut Stats) -> Arrival {
        let len = end - self.nxt;
        self.content.check_and_keep(self.nxt, end, self.nxt as i64, packet, false);
        self.content.advance(end);
        stats.bytes_received += len;
        stats.bytes_delivered += len;
        (self.nxt, self.read) = (end, end);
        Arrival::InOrder
    }

    fn accept_around_hole(&mut self, start: i64, from: u64, to: u64, packet: &Packet, stats: &mut Stats) -> Arrival {
        if self.out_of_order.covers(from, to) {
            stats.duplicate_segments_received += 1;
            self.acks.report_duplicate(from, to);
            self.acks.note_out_of_order(from);
            return Arrival::Duplicate;
        }
        let mut at = from;
        while at < to {
            let next = self.out_of_order.next_from(at).unwrap_or(Range { start: u64::MAX, end: u64::MAX });
            if next.start < to {
                self.acks.widen_duplicate(next.start.max(from), next.end.min(to));
            }
            if next.start <= at {
                at = next.end;
                continue;
            }
            let gap_end = next.start.min(to);
            // In order and auto-read is dropped at once; above a hole real bytes must be kept.
            self.content.check_and_keep(at, gap_end, start, packet, !self.auto_read || from > self.nxt);
            stats.bytes_received += gap_end - at;
            at = gap_end;
        }
        if from > self.nxt {
            self.out_of_order.insert(from, to);
            self.acks.note_out_of_order(from);
            count_one(&mut stats.out_of_order_segments_received);
            return Arrival::OutOfOrder;
        }
        let reached = self.out_of_order.containing(to).map_or(to, |range| range.end);
        self.advance(reached, stats);
        Arrival::FilledHole
    }

    /// The peer's FIN stands at `offset`; false if it has arrived in full already.
    pub fn accept_fin(&mut self, offset: u64, stats: &mut Stats) -> bool {
        if self.fin.is_none() && offset >= self.nxt {
            self.fin = Some(offset);
        }
        let before = self.nxt;
        self.advance(self.nxt, stats);
        self.nxt != before
    }

    /// Moves `nxt` to `to` and over the FIN if it stands there.
    fn advance(&mut self, to: u64, stats: &mut Stats) {
        stats.bytes_delivered += to - self.nxt;
        self.nxt = to;
        if !self.out_of_order.is_empty() {
            self.out_of_order.remove_below(to);
        }
        self.content.advance(to);
        if self.fin == Some(self.nxt) {
            self.nxt += 1;
        }
        if self.auto_read {
            self.discard_readable();
        }
    }

    fn discard_readable(&mut self) {
        if self.auto_read {
            self.read = self.data_end();
            self.content.discard_below(self.read);
        }
    }

    /// One past the last data offset in order: without the FIN.
    fn data_end(&self) -> u64 {
        self.fin.map_or(self.nxt, |fin| self.nxt.min(fin))
    }
}
