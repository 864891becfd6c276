//! Addresses of simulated nodes: the node's index is in the address, so routing needs no lookup.

use crate::index::NodeId;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Most nodes a topology can have.
pub const MAX_NODES: usize = 1 << 16;

/// IP version of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4, 10.0.0.0/8.
    #[default]
    V4,
    /// IPv6, fd00::/64.
    V6,
}

/// The address of a node.
pub fn of_node(node: NodeId, family: Family) -> IpAddr {
    let number = usize::from(node) as u16;
    let [high, low] = number.to_be_bytes();
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, high, low, 1)),
        Family::V6 => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, number, 1)),
    }
}

/// The node that owns `address`, if it is one of ours.
///
/// In whole words: taking single bytes out of an address that was just copied stalls the processor, twice a hop.
#[inline]
pub fn node_of(address: &IpAddr) -> Option<NodeId> {
    match address {
        IpAddr::V4(v4) => {
            let bits = v4.to_bits();
            (bits >> 24 == 10).then_some(NodeId::from((bits >> 8 & 0xffff) as usize))
        }
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            (bits >> 112 == 0xfd00).then_some(NodeId::from((bits >> 16 & 0xffff) as usize))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_node() {
        for node in [0, 1, 255, 256, MAX_NODES - 1].map(NodeId::from) {
            assert_eq!(node_of(&of_node(node, Family::V4)), Some(node));
            assert_eq!(node_of(&of_node(node, Family::V6)), Some(node));
        }
        assert_eq!(node_of(&"192.0.2.1".parse().unwrap()), None);
    }
}
