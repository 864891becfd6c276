//! Links that packets pass without an event at the node between them.
//!
//! Where all that a link carries comes off one other link in the order in which it was sent there, both links' queues
//! are known when a packet enters the first: it goes through both at once, and the node between them is never called.
//! That is so for the access links of a dumbbell behind its bottleneck, and for every chain of plain routers.

use crate::air::AirHop;
use crate::pipe::Pipe;
use crate::routes::Routes;

/// What feeds a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    Nobody,
    Pipe(usize),
    /// A node itself, or several pipes.
    Others,
}

/// Finds the pipes behind which packets may go straight on, and notes it in them. `ends` are all pairs of nodes that
/// exchange packets, `has_element` says at which nodes somebody takes packets out.
pub fn mark(
    pipes: &mut [Pipe],
    air_hops: &[AirHop],
    routes: &Routes,
    ends: impl Iterator<Item = (usize, usize)>,
    has_element: impl Fn(usize) -> bool,
) {
    let mut feeders = vec![Feeder::Nobody; pipes.len() + air_hops.len()];
    for (from, to) in ends {
        let (mut node, mut feeder) = (from, Feeder::Others);
        while let Some(hop) = routes.towards(node, to) {
            feeders[hop] = match feeders[hop] {
                Feeder::Nobody => feeder,
                same if same == feeder => same,
                _ => Feeder::Others,
            };
            (node, feeder) = match hop.checked_sub(pipes.len()) {
                None => (pipes[hop].to, Feeder::Pipe(hop)),
                Some(air_hop) => (air_hops[air_hop].node, Feeder::Others),
            };
        }
    }
    for next in 0..pipes.len() {
        let Feeder::Pipe(pipe) = feeders[next] else { continue };
        let is_plain = |pipe: &Pipe| pipe.before.is_none() && pipe.after.is_none();
        if is_plain(&pipes[pipe])
            && pipes[pipe].link.is_express()
            && pipes[next].before.is_none()
            && !has_element(pipes[pipe].to)
        {
            pipes[pipe].is_express = true;
            pipes[next].fed_by = Some(pipe);
        }
    }
}
