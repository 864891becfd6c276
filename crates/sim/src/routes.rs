//! Static shortest-path routes by number of hops; ties go to the link declared first.
//!
//! Most nodes are leaves: hosts with one neighbour. What is for a leaf goes to its neighbour and one hop on, and what a leaf
//! sends goes to the neighbour. So only the inner nodes have a table, and the memory of many hosts grows with their number,
//! not with its square.

use crate::index::{Hop, NodeId};
use std::collections::VecDeque;
use typed_index_collections::{TiVec, ti_vec};

/// For each node and destination, the outgoing hop.
#[derive(Debug)]
pub struct Routes {
    places: TiVec<NodeId, Place>,
    inner_nodes: usize,
    /// The outgoing hop of each inner node towards each other one.
    next: Vec<Option<Hop>>,
}

/// Where a node is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Number of the inner node that it is, or that a leaf hangs on.
    inner: u32,
    leaf: Option<Leaf>,
}

/// How a leaf hangs on its inner node.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    up: Hop,
    down: Hop,
}

/// A hop that comes from a node.
type Arriving = TiVec<NodeId, Vec<(Hop, NodeId)>>;

impl Routes {
    /// Routes over hops that lead from a node to another; where one leads, another one leads back.
    pub fn new(nodes: usize, hops: &[(Hop, NodeId, NodeId)]) -> Self {
        let mut arriving: Arriving = ti_vec![Vec::new(); nodes];
        for (hop, from, to) in hops {
            arriving[*to].push((*hop, *from));
        }
        let (mut places, mut inner): (TiVec<NodeId, Place>, Vec<NodeId>) =
            (ti_vec![Place::default(); nodes], Vec::new());
        for node in arriving.keys() {
            if only_neighbour(&arriving, node).is_none() {
                places[node].inner = inner.len() as u32;
                inner.push(node);
            }
        }
        for node in arriving.keys() {
            let Some(neighbour) = only_neighbour(&arriving, node) else { continue };
            let hop = |from, to: NodeId| arriving[to].iter().find(|(_, node)| *node == from).map(|(hop, _)| *hop);
            let leaf = hop(node, neighbour).zip(hop(neighbour, node)).map(|(up, down)| Leaf { up, down });
            places[node] = Place { inner: places[neighbour].inner, leaf };
        }
        let mut routes = Routes { places, inner_nodes: inner.len(), next: vec![None; inner.len() * inner.len()] };
        inner.iter().for_each(|destination| routes.lead_to(*destination, &arriving));
        routes
    }

    /// Fills in the routes towards an inner node.
    fn lead_to(&mut self, destination: NodeId, arriving: &Arriving) {
        let mut reached = vec![false; self.inner_nodes];
        let goal = self.places[destination].inner;
        reached[goal as usize] = true;
        let mut frontier = VecDeque::from([destination]);
        while let Some(node) = frontier.pop_front() {
            for (hop, from) in &arriving[node] {
                let Place { inner, leaf } = self.places[*from];
                if leaf.is_none() && !std::mem::replace(&mut reached[inner as usize], true) {
                    let place = self.place(inner, goal);
                    self.next[place] = Some(*hop);
                    frontier.push_back(*from);
                }
            }
        }
    }

    #[inline]
    fn place(&self, inner: u32, goal: u32) -> usize {
        inner as usize * self.inner_nodes + goal as usize
    }

    /// The hop that leads from `node` towards `destination`.
    #[inline]
    pub fn towards(&self, node: NodeId, destination: NodeId) -> Option<Hop> {
        let (from, to) = (&self.places[node], self.places.get(destination)?);
        if from.inner != to.inner {
            let next = self.next[self.place(from.inner, to.inner)]?;
            return Some(from.leaf.map_or(next, |leaf| leaf.up));
        }
        match (from.leaf, to.leaf) {
            _ if node == destination => None,
            (Some(leaf), _) => Some(leaf.up),
            (None, leaf) => leaf.map(|leaf| leaf.down),
        }
    }
}

/// The neighbour of a leaf: of two nodes that have only each other, neither is one.
fn only_neighbour(arriving: &Arriving, node: NodeId) -> Option<NodeId> {
    let only = |node: NodeId| {
        let (_, first) = *arriving[node].first()?;
        arriving[node].iter().all(|(_, other)| *other == first).then_some(first)
    };
    only(node).filter(|neighbour| only(*neighbour).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

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

    /// Length of the way from a node to another, as the routes lead; none if they lead nowhere.
    fn way(routes: &Routes, hops: &[(Hop, NodeId, NodeId)], from: NodeId, to: NodeId) -> Option<usize> {
        let (mut node, mut length) = (from, 0);
        while node != to {
            let hop = routes.towards(node, to)?;
            let (_, start, end) = *hops.iter().find(|(other, ..)| *other == hop).expect("a hop of the network");
            assert_eq!(start, node);
            (node, length) = (end, length + 1);
            assert!(length <= 20, "in circles");
        }
        Some(length)
    }

    /// Least lengths of ways between all nodes (Floyd and Warshall).
    fn least(nodes: usize, hops: &[(Hop, NodeId, NodeId)]) -> Vec<Vec<usize>> {
        let mut least = vec![vec![usize::MAX / 2; nodes]; nodes];
        (0..nodes).for_each(|node| least[node][node] = 0);
        hops.iter().for_each(|(_, from, to)| least[usize::from(*from)][usize::from(*to)] = 1);
        for by in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    least[from][to] = least[from][to].min(least[from][by] + least[by][to]);
                }
            }
        }
        least
    }

    #[test]
    fn in_any_network_every_way_is_as_short_as_can_be() {
        let mut rng = Rng::derive(1, "routes");
        for _ in 0..300 {
            let nodes = 1 + rng.below(12) as usize;
            let (mut hops, links) = (Vec::new(), rng.below(2 * nodes as u64));
            for _ in 0..links {
                let [one, other] = [(); 2].map(|()| NodeId::from(rng.below(nodes as u64) as usize));
                if one != other {
                    let number = hops.len();
                    hops.push((Hop::Wire(number.into()), one, other));
                    hops.push((Hop::Wire((number + 1).into()), other, one));
                }
            }
            let (routes, least) = (Routes::new(nodes, &hops), least(nodes, &hops));
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let expected = Some(least[from][to]).filter(|length| *length < nodes);
                assert_eq!(way(&routes, &hops, from.into(), to.into()), expected, "{hops:?} {from} {to}");
            }
        }
    }
}
