//! What an acknowledgment reports selectively: SACK blocks (RFC 2018), and the duplicate before them (RFC 2883), as
//! Linux's `tcp_sacktag_write_queue()` takes them; and the degree of reordering that follows.

use super::ack::{AckFacts, AckInput};
use super::delivery::Delivery;
use super::{Sender, Step};
use crate::congestion::CaState;
use crate::recovery::DUP_THRESH;
use airtcp_core::SackBlocks;

/// Most segments a hole may be overtaken by (Linux `tcp_max_reordering`).
pub(super) const MAX_REORDERING: u32 = 300;
/// Blocks of one segment.
const MOST: usize = 4;

/// A block in offsets.
type Block = (i64, i64);

impl Sender {
    /// Takes an acknowledgment with blocks, on a connection with SACK. Returns how many segments are reported delivered,
    /// those that arrived twice included.
    pub(super) fn take_blocks(
        &mut self,
        input: &AckInput,
        facts: &mut AckFacts,
        delivery: &mut Delivery,
        step: &mut Step,
    ) -> u32 {
        let (mut blocks, count) = self.offsets(&input.tcp.options.sack);
        let blocks = &mut blocks[..count];
        let duplicates = self.take_duplicate(blocks, input.ack, facts, step);
        let (una, nxt, lowest) = (self.una as i64, self.nxt as i64, facts.prior_una as i64);
        if duplicates > 0 && blocks[0].1 > lowest {
            self.mark_duplicate(blocks[0], delivery);
        }
        blocks.sort_unstable();
        for (left, right) in blocks.iter().copied() {
            // A block outside of what is in flight is ignored (RFC 2018 section 8); one that begins with the oldest
            // segment contradicts the acknowledgment.
            if left <= una || right <= left || right > nxt || right <= lowest {
                continue;
            }
            self.board
                .mark_sacked(left as u64, right as u64, &mut self.sk, |sent, rate| delivery.on_sacked(sent, rate));
        }
        facts.data_sacked = delivery.sacked > 0;
        let may_learn = self.sk.icsk_ca_state != CaState::Loss || self.undo.is_possible();
        if let Some(lowest) = delivery.lowest_sacked.filter(|_| may_learn) {
            self.check_reordering(lowest);
        }
        delivery.sacked + if self.follows_linux { duplicates } else { 0 }
    }

    fn offsets(&self, blocks: &SackBlocks) -> ([Block; MOST], usize) {
        let mut offsets = [(0, 0); MOST];
        for (offset, (left, right)) in offsets.iter_mut().zip(blocks.as_slice()) {
            *offset = (self.sequence.offset(*left, self.una), self.sequence.offset(*right, self.una));
        }
        (offsets, blocks.as_slice().len())
    }

    /// How many segments the first block reports as duplicates (Linux `tcp_check_dsack()`). More of them than were ever
    /// sent again are not of our making: the network repeats packets.
    fn take_duplicate(&mut self, blocks: &[Block], ack: u64, facts: &mut AckFacts, step: &mut Step) -> u32 {
        let (left, right) = blocks[0];
        let is_inside = blocks.get(1).is_some_and(|outer| left >= outer.0 && right <= outer.1);
        let len = right - left;
        if left >= ack as i64 && !is_inside || len <= 0 || len > self.peer.largest as i64 {
            return 0;
        }
        step.stats.dsacks_received += 1;
        let mss = i64::from(self.sk.mss_cache.max(1));
        let segments = u32::try_from((len + mss - 1) / mss).unwrap_or(u32::MAX);
        let is_of_probe = segments == 1 && self.probe.outstanding().is_some_and(|end| end as i64 == right);
        self.duplicates_reported += u64::from(segments);
        facts.dsack_of_probe = is_of_probe;
        if self.duplicates_reported > step.stats.retransmitted_segments {
            return 0;
        }
        facts.dsack = true;
        if !is_of_probe {
            self.detector.on_duplicate();
            self.round_due = true;
        }
        if right <= facts.prior_una as i64 {
            self.undo.on_duplicate(right.max(0) as u64, segments);
        }
        segments
    }

    /// A duplicate of what is in flight, or was until now: it lies above what is acknowledged, or all below.
    fn mark_duplicate(&mut self, (left, right): Block, delivery: &mut Delivery) {
        let (una, nxt) = (self.una as i64, self.nxt as i64);
        if right > nxt || left <= una && right > una {
            return;
        }
        let Sender { board, sk, undo, .. } = self;
        board.mark_duplicate(left.max(0) as u64, right as u64, sk, |sent| {
            undo.on_duplicate(sent.end, 1);
            delivery.on_duplicate(sent);
        });
    }

    /// A segment at `lowest` was overtaken by all that is SACKed above it (Linux `tcp_check_sack_reordering()`).
    #[inline(never)]
    pub(super) fn check_reordering(&mut self, lowest: u64) {
        let highest = self.board.highest_sacked().max(self.una);
        if lowest >= highest {
            return;
        }
        let mss = u64::from(self.sk.mss_cache.max(1));
        let by = u32::try_from((highest - lowest).div_ceil(mss)).unwrap_or(u32::MAX);
        self.sk.reordering = self.sk.reordering.max(by.min(MAX_REORDERING)).max(DUP_THRESH);
        self.detector.on_reordering();
    }
}
