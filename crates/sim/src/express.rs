//! Links that packets pass without an event at the node between them.
//!
//! Where all that a link carries comes off one other link in the order in which it was sent there, both links' queues
//! are known when a packet enters the first: it goes through both at once, and the node between them is never called.
//! That is so for the access links of a dumbbell behind its bottleneck, and for every chain of plain routers. Where it comes off
//! several such links, it waits in an [`Approach`] until its turn among the others': so it is for the bottleneck itself.

use crate::air::AirHop;
use crate::approach::Approach;
use crate::index::{AirHopId, ElementId, FanId, Hop, JointId, NodeId, PipeId};
use crate::pipe::{Feed, Pipe};
use crate::routes::Routes;
use crate::upcoming::Upcoming;
use airtcp_core::{Duration, Packet};
use std::collections::{BTreeMap, BTreeSet};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// What feeds a link.
#[derive(Clone, Default)]
struct Feeders {
    pipes: BTreeSet<PipeId>,
    /// A node itself, or a cell.
    others: bool,
}

/// What arrives where packets end, in order of time for all links that one feeds, and at which hosts.
type Fans = TiVec<FanId, Upcoming<ElementId, Packet>>;

/// Finds the pipes behind which packets may go straight on, and notes it in them. `ends` are all pairs of nodes that
/// exchange packets, `has_element` says at which nodes somebody takes packets out, and `is_entered` into which pipes an
/// element sends by itself: such packets do not go straight on, and would come behind all that did. Returns the joints and the
/// fans of the pipes that have one.
pub fn mark(
    pipes: &mut TiSlice<PipeId, Pipe>,
    air_hops: &TiSlice<AirHopId, AirHop>,
    routes: &Routes,
    ends: impl Iterator<Item = (NodeId, NodeId)>,
    has_element: impl Fn(NodeId) -> bool,
    is_entered: impl Fn(PipeId) -> bool,
) -> (TiVec<JointId, Approach>, Fans) {
    let mut feeders: TiVec<PipeId, Feeders> = ti_vec![Feeders::default(); pipes.len()];
    for (from, to) in ends {
        let (mut node, mut feeder) = (from, None);
        while let Some(hop) = routes.towards(node, to) {
            (node, feeder) = match hop {
                Hop::Wire(pipe) => {
                    feeders[pipe].others |= feeder.is_none();
                    feeders[pipe].pipes.extend(feeder);
                    (pipes[pipe].to, Some(pipe))
                }
                Hop::Air(air_hop) => (air_hops[air_hop].node, None),
            };
        }
    }
    let (mut joints, mut fans, mut fan_of) = (TiVec::new(), TiVec::new(), BTreeMap::new());
    for (next, Feeders { pipes: feeding, others }) in feeders.into_iter_enumerated() {
        let goes_on = |pipe: &PipeId| {
            let feeder = &pipes[*pipe];
            let is_plain = feeder.before.is_none() && feeder.after.is_none();
            is_plain && feeder.link.is_express() && !is_entered(*pipe) && !has_element(feeder.to)
        };
        let (Some(first), entered) = (feeding.first().copied(), &pipes[next]) else { continue };
        if others || entered.before.is_some() || !feeding.iter().all(goes_on) {
            continue;
        }
        let feed = if feeding.len() == 1 {
            Feed::Pipe(first)
        } else if entered.link.decides_on_arrival() && feeding.iter().all(|pipe| pipes[*pipe].link.takes_time()) {
            // A nanosecond less, so that what comes out at a time is known before it.
            let unseen = entered.link.least_delay().saturating_sub(Duration::from_nanos(1));
            Feed::Pipes(joints.push_and_get_key(Approach::new(next, unseen)))
        } else {
            continue;
        };
        // Where the way may end, and what comes out is known.
        if entered.after.is_none() && entered.link.is_express() {
            let feeder = if feeding.len() == 1 { first } else { next };
            let fan = *fan_of.entry(feeder).or_insert_with(|| fans.push_and_get_key(Upcoming::new()));
            pipes[next].fan = Some(fan);
        }
        pipes[next].feed = feed;
        feeding.into_iter().for_each(|pipe| pipes[pipe].is_express = true);
    }
    (joints, fans)
}
