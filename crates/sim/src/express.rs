//! Links that packets pass without an event at the node between them.
//!
//! Where all that a link carries comes off one other link in the order in which it was sent there, both links' queues
//! are known when a packet enters the first: it goes through both at once, and the node between them is never called.
//! That is so for the access links of a dumbbell behind its bottleneck, and for every chain of plain routers.

use crate::air::AirHop;
use crate::index::{AirHopId, Hop, NodeId, PipeId};
use crate::pipe::Pipe;
use crate::routes::Routes;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// What feeds a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Nobody,
    Pipe(PipeId),
    /// A node itself, or several pipes.
    Others,
}

/// Finds the pipes behind which packets may go straight on, and notes it in them. `ends` are all pairs of nodes that
/// exchange packets, `has_element` says at which nodes somebody takes packets out, and `is_entered` into which pipes an
/// element sends by itself: such packets do not go straight on, and would come behind all that did.
pub fn mark(
    pipes: &mut TiSlice<PipeId, Pipe>,
    air_hops: &TiSlice<AirHopId, AirHop>,
    routes: &Routes,
    ends: impl Iterator<Item = (NodeId, NodeId)>,
    has_element: impl Fn(NodeId) -> bool,
    is_entered: impl Fn(PipeId) -> bool,
) {
    let mut feeders: TiVec<PipeId, Feeder> = ti_vec![Feeder::Nobody; pipes.len()];
    for (from, to) in ends {
        let (mut node, mut feeder) = (from, Feeder::Others);
        while let Some(hop) = routes.towards(node, to) {
            (node, feeder) = match hop {
                Hop::Wire(pipe) => {
                    feeders[pipe] = match feeders[pipe] {
                        Feeder::Nobody => feeder,
                        same if same == feeder => same,
                        _ => Feeder::Others,
                    };
                    (pipes[pipe].to, Feeder::Pipe(pipe))
                }
                Hop::Air(air_hop) => (air_hops[air_hop].node, Feeder::Others),
            };
        }
    }
    for (next, feeder) in feeders.into_iter_enumerated() {
        let Feeder::Pipe(pipe) = feeder else { continue };
        let is_plain = |pipe: &Pipe| pipe.before.is_none() && pipe.after.is_none();
        if is_plain(&pipes[pipe])
            && !is_entered(pipe)
            && pipes[pipe].link.is_express()
            && pipes[next].before.is_none()
            && !has_element(pipes[pipe].to)
        {
            pipes[pipe].is_express = true;
            pipes[next].fed_by = Some(pipe);
        }
    }
}
