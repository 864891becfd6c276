//! Static shortest-path routes by number of hops; ties go to the link declared first.

use crate::index::{Hop, NodeId};
use std::collections::VecDeque;
use typed_index_collections::{TiVec, ti_vec};

/// For each node and destination, the outgoing hop.
#[derive(Debug)]
pub struct Routes {
    nodes: usize,
    next: Vec<Option<Hop>>,
}

impl Routes {
    /// Routes over hops that lead from a node to another.
    pub fn new(nodes: usize, hops: &[(Hop, NodeId, NodeId)]) -> Self {
        let mut arriving: TiVec<NodeId, Vec<(Hop, NodeId)>> = ti_vec![Vec::new(); nodes];
        for (hop, from, to) in hops {
            arriving[*to].push((*hop, *from));
        }
        let mut routes = Routes { nodes, next: vec![None; nodes * nodes] };
        let mut frontier = VecDeque::new();
        for destination in arriving.keys() {
            let mut reached: TiVec<NodeId, bool> = ti_vec![false; nodes];
            reached[destination] = true;
            frontier.push_back(destination);
            while let Some(node) = frontier.pop_front() {
                for (hop, from) in &arriving[node] {
                    if !std::mem::replace(&mut reached[*from], true) {
                        let place = routes.place(*from, destination);
                        routes.next[place] = Some(*hop);
                        frontier.push_back(*from);
                    }
                }
            }
        }
        routes
    }

    #[inline]
    fn place(&self, node: NodeId, destination: NodeId) -> usize {
        usize::from(node) * self.nodes + usize::from(destination)
    }

    /// The hop that leads from `node` towards `destination`.
    #[inline]
    pub fn towards(&self, node: NodeId, destination: NodeId) -> Option<Hop> {
        self.next.get(self.place(node, destination)).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_taken_and_islands_have_none() {
        // 0 - 1 - 2, 0 - 2 direct, 3 alone; hops in both directions, the last four in the air.
        let wires = [(0, 1), (1, 0)].map(|ends| (Hop::Wire(ends.0.into()), ends));
        let airs = [(1, 2), (2, 1), (0, 2), (2, 0)].map(|ends| (Hop::Air(ends.0.into()), ends));
        let hops: Vec<_> =
            wires.into_iter().chain(airs).map(|(hop, (from, to))| (hop, from.into(), to.into())).collect();
        let routes = Routes::new(4, &hops);
        let towards = |node: usize, destination: usize| routes.towards(node.into(), destination.into());
        assert_eq!(towards(0, 2), Some(Hop::Air(0.into())));
        assert_eq!(towards(1, 0), Some(Hop::Wire(1.into())));
        assert_eq!(towards(0, 3), None);
    }
}
