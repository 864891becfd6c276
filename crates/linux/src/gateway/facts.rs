//! What is known about a link before a gateway measures it.

use airtcp_core::{ByteSize, Duration, Rate};
use airtcp_schemes::LinkFacts;
use serde::{Deserialize, Serialize};

/// The known facts about the link, in base units. The scheme measures unknown ones or does without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Facts {
    /// True at the end that the scenario's link names second; it matters to schemes with one gateway.
    pub far_end: bool,
    /// Rate of the outgoing direction, in IP bits per second.
    pub rate_bps: Option<u64>,
    /// Propagation out and back.
    pub round_trip_ns: Option<u64>,
    /// Limit of the queue in front of the outgoing direction.
    pub queue_bytes: Option<u64>,
    /// The same in packets, where it counts packets.
    pub queue_packets: Option<u64>,
    /// Longest IP packet that the outgoing direction takes, in bytes.
    pub mtu: Option<u32>,
}

impl Facts {
    /// `link` seen from its near end.
    pub fn near(link: LinkFacts) -> Facts {
        Facts {
            far_end: false,
            rate_bps: link.rate.map(Rate::bps),
            round_trip_ns: link.round_trip.map(Duration::as_nanos),
            queue_bytes: link.queue.map(|ByteSize(bytes)| bytes),
            queue_packets: link.queue_packets,
            mtu: link.mtu,
        }
    }

    /// As schemes want it.
    pub fn link(&self) -> LinkFacts {
        LinkFacts {
            rate: self.rate_bps.map(Rate::from_bps),
            round_trip: self.round_trip_ns.map(Duration::from_nanos),
            queue: self.queue_bytes.map(ByteSize),
            queue_packets: self.queue_packets,
            mtu: self.mtu,
            ends: None,
        }
    }
}
