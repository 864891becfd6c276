//! Whose packets are taken on a link that many may share: those to and from the other gateway, or the router before it; or
//! those of the networks that the configuration says are behind it.

use crate::sys::netlink::Questions;
use std::net::IpAddr;

/// Which packets are a peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// None, as long as the next hop's hardware address is not known.
    Nobodys,
    /// Those to and from this hardware address.
    NextHops([u8; 6]),
    /// Those to and from its networks.
    Networks,
    /// All on the link.
    WholeLink,
}

/// How a peer's packets are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// There is one peer, and nobody else on the link.
    Link,
    /// By the hardware address of the next hop. `alone` says that there is one peer.
    NextHop {
        /// There is one peer.
        alone: bool,
    },
    /// By networks.
    Networks,
    /// The link has no hardware addresses, and there are several peers without networks.
    Nothing,
}

/// Why a peer's packets are not known, with what to do.
pub const NO_ADDRESSES: &str =
    "the link has no hardware addresses by which peers could be told apart: set `networks` of each [[peer]]";
/// The same where frames on the link have the addresses of those who sent them.
pub const BRIDGED: &str =
    "the next hop to it is not on the link but on a bridge or another interface: set its `networks`";
/// The same where one next hop leads to two peers.
pub const SHARED: &str = "the next hop to it is also that of another peer: set `networks` of both";

/// Finds the next hops to peers.
pub struct NextHops {
    link: u32,
    questions: Option<Questions>,
}

impl NextHops {
    /// On the link with this index.
    pub fn new(link: u32) -> NextHops {
        NextHops { link, questions: None }
    }

    /// What of a peer is to be taken now, given what was before; and why nothing, if there is something to do about it.
    pub fn look(&mut self, known_by: KnownBy, peer: Option<IpAddr>, before: Whose) -> (Whose, Option<&'static str>) {
        let alone = match known_by {
            KnownBy::Link => return (Whose::WholeLink, None),
            KnownBy::Networks => return (Whose::Networks, None),
            KnownBy::Nothing => return (Whose::Nobodys, Some(NO_ADDRESSES)),
            KnownBy::NextHop { alone } => alone,
        };
        let Some(peer) = peer else { return (Whose::Nobodys, None) };
        if self.questions.is_none() {
            self.questions = Questions::open().ok();
        }
        let Some(questions) = &self.questions else { return (before, None) };
        match questions.next_hop(peer) {
            // A bridge is between: the link's frames have the addresses of those who sent them.
            Ok(hop) if hop.interface != self.link && alone => (Whose::WholeLink, None),
            Ok(hop) if hop.interface != self.link => (Whose::Nobodys, Some(BRIDGED)),
            // A neighbour that is forgotten for a moment has not changed its address.
            Ok(hop) => (questions.hardware_address(hop).ok().flatten().map_or(before, Whose::NextHops), None),
            Err(_) => (before, None),
        }
    }
}
