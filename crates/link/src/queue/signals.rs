//! How a queue tells senders about congestion, and where that is counted: a drop, or a mark (RFC 3168).

use crate::counters::LinkCounters;
use airtcp_core::{DropReason, Ecn, Packet};

/// Takes what a link drops and counts what it drops and marks.
pub(crate) struct Signals<'a> {
    pub(crate) counters: &'a mut LinkCounters,
    pub(crate) drops: &'a mut dyn FnMut(Packet, DropReason),
    /// DSCP of header packets (DEC-12), which are counted apart.
    pub(crate) header_dscp: u8,
}

impl Signals<'_> {
    /// A packet goes no further.
    #[cold]
    pub(crate) fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.counters.dropped.add_one(reason);
        if packet.ip().dscp() == self.header_dscp {
            self.counters.headers_dropped.add_one(reason);
        }
        self.counters.bytes_dropped += u64::from(packet.wire_len());
        (self.drops)(packet, reason);
    }

    /// Tells the packet's sender to slow down: marks the packet and gives it back if the queue marks (`ecn`) and the
    /// transport understands marks, else drops it.
    pub(crate) fn signal(&mut self, mut packet: Packet, ecn: bool) -> Option<Packet> {
        if ecn && packet.ip().ecn().is_capable() {
            packet.set_ecn(Ecn::Ce);
            self.counters.marked += 1;
            return Some(packet);
        }
        self.drop(packet, DropReason::AQM);
        None
    }
}
