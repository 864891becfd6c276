//! Which address belongs to whom.
//!
//! A node has one address per family of its own (on `lo`), so that flows and routes need not
//! care which link they use; a link's ends have addresses of a small network of their own, for
//! traffic between neighbours. All are private (RFC 1918, RFC 4193) and the same in every
//! testbed: namespaces do not see each other.

use super::spec::TestbedSpec;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both, in the order they are configured.
    pub const BOTH: [Family; 2] = [Family::V4, Family::V6];
}

/// The addresses of a testbed.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    nodes: usize,
}

/// fd61:6972:7463::/48, chosen once ("airtc").
const PREFIX_V6: [u16; 3] = [0xfd61, 0x6972, 0x7463];

impl Plan {
    pub fn new(spec: &TestbedSpec) -> Self {
        Plan { nodes: spec.nodes.len() }
    }

    /// The node's own address: 10.98.0.n, fd61:6972:7463::n, n from 1.
    pub fn node(&self, node: usize, family: Family) -> IpAddr {
        debug_assert!(node < self.nodes);
        let number = node as u16 + 1;
        match family {
            Family::V4 => Ipv4Addr::new(10, 98, 0, number as u8).into(),
            Family::V6 => v6(0, number),
        }
    }

    pub fn node_with_prefix(&self, node: usize, family: Family) -> String {
        let bits = if family == Family::V4 { 32 } else { 128 };
        format!("{}/{bits}", self.node(node, family))
    }

    /// The address of a link's end: 10.99.l.1 and .2, fd61:6972:7463:l::1 and ::2, l from 1.
    pub fn link_end(&self, link: usize, end: usize, family: Family) -> IpAddr {
        let (link, end) = (link as u16 + 1, end as u16 + 1);
        match family {
            Family::V4 => Ipv4Addr::new(10, 99, link as u8, end as u8).into(),
            Family::V6 => v6(link, end),
        }
    }

    pub fn link_end_with_prefix(&self, link: usize, end: usize, family: Family) -> String {
        let bits = if family == Family::V4 { 30 } else { 64 };
        format!("{}/{bits}", self.link_end(link, end, family))
    }
}

fn v6(subnet: u16, host: u16) -> IpAddr {
    let [a, b, c] = PREFIX_V6;
    Ipv6Addr::new(a, b, c, subnet, 0, 0, 0, host).into()
}
