//! Static shortest-path routes by number of hops; ties go to the link declared first.

use std::collections::VecDeque;

/// For each node and destination, the index of the outgoing pipe.
#[derive(Debug)]
pub struct Routes {
    nodes: usize,
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Routes {
    /// Routes for pipes given as (from node, to node).
    pub fn new(nodes: usize, pipes: &[(usize, usize)]) -> Self {
        let mut arriving: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for (pipe, (_, to)) in pipes.iter().enumerate() {
            arriving[*to].push(pipe as u32);
        }
        let mut next = vec![NONE; nodes * nodes];
        let mut frontier = VecDeque::new();
        for destination in 0..nodes {
            let mut reached = vec![false; nodes];
            reached[destination] = true;
            frontier.push_back(destination);
            while let Some(node) = frontier.pop_front() {
                for pipe in &arriving[node] {
                    let from = pipes[*pipe as usize].0;
                    if !std::mem::replace(&mut reached[from], true) {
                        next[from * nodes + destination] = *pipe;
                        frontier.push_back(from);
                    }
                }
            }
        }
        Routes { nodes, next }
    }

    /// The pipe that leads from `node` towards `destination`.
    pub fn towards(&self, node: usize, destination: usize) -> Option<usize> {
        let pipe = *self.next.get(node * self.nodes + destination)?;
        (pipe != NONE).then_some(pipe as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_is_taken_and_islands_have_none() {
        // 0 - 1 - 2, 0 - 2 direct, 3 alone; pipes in both directions.
        let routes = Routes::new(4, &[(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)]);
        assert_eq!(routes.towards(0, 2), Some(4));
        assert_eq!(routes.towards(1, 0), Some(1));
        assert_eq!(routes.towards(0, 3), None);
    }
}
