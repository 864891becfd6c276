//! Static routes: from every node to every other, over the fewest links; between equally short
//! paths, over the link that comes first in the specification.

use super::addresses::{Family, Plan};
use super::spec::TestbedSpec;
use std::collections::VecDeque;

/// `ip route` commands for one node: to every other node's own address and to every link that
/// it is not itself on.
pub(super) fn commands(spec: &TestbedSpec, plan: &Plan, node: usize) -> Vec<String> {
    let first = first_links(spec, node);
    let mut commands = Vec::new();
    for family in Family::BOTH {
        let source = plan.node(node, family);
        let mut route = |to: String, link: usize| {
            let device = &spec.links[link].name;
            commands.push(format!("route add {to} dev {device} src {source}"));
        };
        for (target, link) in first.iter().enumerate() {
            if let Some(link) = link {
                route(plan.node_with_prefix(target, family), *link);
            }
        }
        for (index, far) in spec.links.iter().enumerate() {
            if far.between.contains(&spec.nodes[node].name) {
                continue;
            }
            for (end, owner) in far.between.iter().enumerate() {
                let owner = spec.node_index(owner).expect("checked");
                if let Some(link) = first[owner] {
                    let bits = if family == Family::V4 { 32 } else { 128 };
                    route(format!("{}/{bits}", plan.link_end(index, end, family)), link);
                }
            }
        }
    }
    commands
}

/// For every node, the link over which `from` reaches it; `None` for itself and for nodes that
/// it cannot reach. Paths lead only through nodes that forward.
fn first_links(spec: &TestbedSpec, from: usize) -> Vec<Option<usize>> {
    let mut first: Vec<Option<usize>> = vec![None; spec.nodes.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node != from && !spec.nodes[node].forwards {
            continue;
        }
        for (link, end) in spec.ends_of(node) {
            let next = spec.node_index(&spec.links[link].between[1 - end]).expect("checked");
            if next != from && first[next].is_none() {
                first[next] = first[node].or(Some(link));
                queue.push_back(next);
            }
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::graph;
    use super::*;

    #[test]
    fn the_path_with_fewest_links_is_taken() {
        // 0 s, 1 a, 2 b, 3 r: s-a-b-r, and the shortcut a-r.
        let spec = graph(&[("one", "s", "a"), ("two", "a", "b"), ("three", "b", "r"), ("four", "a", "r")]);
        assert_eq!(first_links(&spec, 0), [None, Some(0), Some(0), Some(0)]);
        assert_eq!(first_links(&spec, 1), [Some(0), None, Some(1), Some(3)]);
    }

    #[test]
    fn hosts_do_not_carry_the_traffic_of_others() {
        let mut spec = graph(&[("one", "s", "h"), ("two", "h", "r")]);
        spec.nodes[1].forwards = false;
        assert_eq!(first_links(&spec, 0), [None, Some(0), None]);
    }

    #[test]
    fn far_link_ends_are_reachable_too() {
        let spec = graph(&[("one", "s", "a"), ("two", "a", "r")]);
        let plan = Plan::new(&spec);
        let commands = commands(&spec, &plan, 0);
        assert!(commands.contains(&"route add 10.99.2.2/32 dev one src 10.98.0.1".to_string()));
        assert!(commands.contains(&"route add fd61:6972:7463::3/128 dev one src fd61:6972:7463::1".to_string()));
    }
}
