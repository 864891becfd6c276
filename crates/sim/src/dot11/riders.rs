//! TCP acknowledgments that ride in the answers to frames: HACK (Salameh, Zhushi, Handley, Jamieson & Karp, *HACK: Hierarchical ACKs
//! for Efficient Wireless Medium Utilization*, USENIX ATC 2014).
//!
//! This file has what waits; `ride` has when it leaves.
//!
//! A receiver does not contend for its TCP acknowledgments while it knows that more frames will come from the same sender: they
//! wait, and leave compressed in the ACK or block ACK that it sends anyway.
//!
//! - Each frame says whether its sender has more for the receiver (the MORE DATA bit). While the last one that arrived did,
//!   acknowledgments wait for an answer. When one does not, those that wait contend as usual, and so do later ones.
//! - The first acknowledgment of a flow contends: it tells the other side the header that later ones are compressed
//!   against. So does one with options other than timestamps and SACK. Whatever else is for the same receiver lets those that
//!   wait go before it.
//! - An answer carries all that wait when the exchange begins. What rode in an answer that was not heard rides again in the next.
//! - [`compressed`] says how long one is. The answer takes so much longer, at the rate of control frames.
//!
//! What a model has to state: the receiver knows at the end of the exchange whether its answer was heard (in HACK the sender's
//! next frame says so); when the sender gives up all that it had, those that wait contend (in HACK by a timer); and the longer
//! answer is damaged as often as a short one.

use super::airtime::FrameKind;
use super::entry::Entry;
use crate::index::InterfaceId;
use airtcp_core::{Backlog, FlowKey, Packet, TcpHeader};
use std::collections::{BTreeMap, VecDeque};

/// What one interface keeps for its answers to one sender.
#[derive(Debug, Default)]
pub struct Waiting {
    /// In order, each with its compressed length.
    pub entries: VecDeque<(Entry, u32)>,
    /// So many of the first ride in the answer that comes next.
    pub boarded: usize,
    /// The sender has said that more will come.
    pub expects_more: bool,
    /// What the sender of frames says when it next sends.
    pub says_more: bool,
}

/// What one interface keeps for its answers.
#[derive(Debug, Default)]
pub struct Riders {
    pub with: BTreeMap<InterfaceId, Waiting>,
    /// The last acknowledgment of each flow: what the next one is compressed against.
    contexts: BTreeMap<FlowKey, TcpHeader>,
    pub backlog: Backlog,
}

/// Flows whose headers are remembered; the contexts of HACK have a number of one byte.
const CONTEXTS: usize = 256;

impl Riders {
    /// The compressed length of a packet that may ride, remembered as what the flow's next one is compressed against.
    pub fn take_in(&mut self, packet: &Packet) -> Option<u32> {
        let (flow, tcp) = (packet.flow()?, packet.tcp()?);
        let may_ride = FrameKind::of(packet) == FrameKind::TcpAck
            && !packet.has_unknown_options()
            && packet.checksum_holds()
            && tcp.urgent == 0;
        if !may_ride {
            return None;
        }
        if !self.contexts.contains_key(&flow) && self.contexts.len() >= CONTEXTS {
            return None;
        }
        let before = self.contexts.insert(flow, *tcp)?;
        Some(compressed(&before, tcp))
    }

    pub fn pop(&mut self, to: InterfaceId, behind: usize) -> Option<Entry> {
        let (entry, _) = self.with.get_mut(&to)?.entries.remove(behind)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(entry.bytes);
        Some(entry)
    }
}

/// Bytes of an acknowledgment behind another one of its flow: the number of its context, flags and a number that counts, a checksum of
/// what results, and what changed. Numbers as differences of 7 bits a byte; SACK blocks as they are. (Ours, in the manner of RFC
/// 4996; HACK compresses with ROHC.)
pub(super) fn compressed(before: &TcpHeader, now: &TcpHeader) -> u32 {
    let difference = |from: u32, to: u32| {
        let value = to.wrapping_sub(from);
        if value == 0 { 0 } else { (32 - value.leading_zeros()).div_ceil(7) }
    };
    let stamps = match (before.options.timestamps, now.options.timestamps) {
        (Some(old), Some(new)) => difference(old.value, new.value) + difference(old.echo, new.echo),
        (None, None) => 0,
        _ => 8,
    };
    3 + difference(before.acknowledgment.0, now.acknowledgment.0)
        + difference(before.sequence.0, now.sequence.0)
        + if before.window == now.window { 0 } else { 2 }
        + stamps
        + 8 * now.options.sack.as_slice().len() as u32
}
