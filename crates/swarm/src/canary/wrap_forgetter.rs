//! A filter of stale segments: what lies far behind the latest of its flow is an old duplicate from somewhere. The bug
//! compares sequence numbers as plain numbers, so behind the wrap everything is stale.

use super::{Made, relay};
use airtcp_core::parameters::NoParameters;
use airtcp_core::{DropReason, FlowKey, SeqNum};
use airtcp_schemes::Site;
use std::collections::BTreeMap;

/// No window of the swarm's flows is as large.
const STALE: u32 = 16 << 20;
/// Flows that are watched; beyond, everything is forgotten.
const MAX_FLOWS: usize = 1000;

pub fn make<const PLANTED: bool>(_: &NoParameters, _: &mut Site<'_>) -> Made {
    let mut latest: BTreeMap<FlowKey, SeqNum> = BTreeMap::new();
    relay(move |cx, packet| {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp().copied()) else { return Some(packet) };
        if latest.len() > MAX_FLOWS {
            latest.clear();
        }
        let latest = latest.entry(flow).or_insert(tcp.sequence);
        let behind = if PLANTED { latest.0.saturating_sub(tcp.sequence.0) } else { latest.since(tcp.sequence) };
        if behind > STALE {
            cx.discard(packet, DropReason::DUPLICATE);
            return None;
        }
        *latest = if PLANTED { SeqNum(latest.0.max(tcp.sequence.0)) } else { latest.max(tcp.sequence) };
        Some(packet)
    })
}
