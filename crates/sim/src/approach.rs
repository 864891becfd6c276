//! Packets on their way into a link that several others feed, such as the uplink of a router.
//!
//! When a packet will enter such a link is known once it has entered the one before. Nobody sees the link until the first
//! packet could come out of it, the link's delay later. So those on their way wait here, in the order in which they will
//! enter, and many of them enter in one event of the link.

use crate::index::{NodeId, PipeId};
use crate::upcoming::Upcoming;
use airtcp_core::{Duration, Instant, Packet};

/// See the module.
#[derive(Debug)]
pub struct Approach {
    /// The link.
    pub pipe: PipeId,
    /// By the time at which they enter, and where they go.
    pub packets: Upcoming<NodeId, Packet>,
    /// So long after a packet has entered nothing can be seen of it.
    pub unseen: Duration,
}

impl Approach {
    /// To a link that shows nothing of a packet for a time of `unseen`.
    pub fn new(pipe: PipeId, unseen: Duration) -> Approach {
        Approach { pipe, packets: Upcoming::new(), unseen }
    }

    /// When packets have to enter at the latest; the end of time if there are none.
    #[inline]
    pub fn due(&self) -> Instant {
        self.packets.first().0.saturating_add(self.unseen)
    }
}
