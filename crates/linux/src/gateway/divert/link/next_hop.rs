//! Whose packets are taken on a link that many may share: those to and from the other gateway, or the router before it.

use crate::sys::netlink::Questions;
use std::net::IpAddr;

/// Whose packets are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Nobody's, as long as the next hop's hardware address is not known.
    Nobodys,
    /// Those to and from this hardware address.
    NextHops([u8; 6]),
    /// All on the link.
    WholeLink,
}

/// Keeps track of the next hop to the other gateway.
pub struct NextHop {
    link: u32,
    /// The other gateway, if it makes a difference.
    peer: Option<IpAddr>,
    questions: Option<Questions>,
}

impl NextHop {
    /// On the link with this index. Without `peer` the whole link is taken.
    pub fn new(link: u32, peer: Option<IpAddr>) -> NextHop {
        NextHop { link, peer, questions: None }
    }

    /// What is to be taken now, given what was before.
    pub fn look(&mut self, before: Whose) -> Whose {
        let Some(peer) = self.peer else { return Whose::WholeLink };
        if self.questions.is_none() {
            self.questions = Questions::open().ok();
        }
        let Some(questions) = &self.questions else { return before };
        match questions.next_hop(peer) {
            // A bridge is between: the link's frames have the addresses of those who sent them.
            Ok(hop) if hop.interface != self.link => Whose::WholeLink,
            // A neighbour that is forgotten for a moment has not changed its address.
            Ok(hop) => questions.hardware_address(hop).ok().flatten().map_or(before, Whose::NextHops),
            Err(_) => before,
        }
    }
}
