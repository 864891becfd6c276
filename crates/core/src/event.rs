//! What happened, and how much of something there is: the vocabulary from which counters, traces, capture comments and
//! the live view are derived. Here stands what several schemes say; what one scheme alone says, its own folder declares
//! with [`declare!`](crate::declare!) and its line in the table of schemes lists.

use crate::label::labels;

labels! {
    /// Something an element did that somebody may want to count or see.
    Event {
        /// A cached copy was sent to repair a loss.
        REPAIR = "repairs",
        /// A packet had to wait for an earlier one.
        HELD = "held",
        /// A held packet was passed on because the gap before it was filled.
        RELEASED_IN_ORDER = "released_in_order",
        /// A held packet was passed on across a gap that will not be filled.
        RELEASED_ACROSS_GAP = "released_across_gap",
        /// A packet was marked instead of dropped (RFC 3168).
        CONGESTION_MARK = "congestion_marks",
        /// An acknowledgment was kept from the sender.
        ACK_SUPPRESSED = "acks_suppressed",
        /// An acknowledgment had to wait.
        ACK_DELAYED = "acks_delayed",
        /// The other end came into reach.
        PEER_UP = "peer_up",
        /// The other end fell silent; traffic passes untouched.
        PEER_DOWN = "peer_down",
        /// The other end restarted and forgot everything.
        PEER_RESTART = "peer_restarts",
        /// A flow was seen for the first time.
        FLOW_NEW = "flows_new",
        /// A flow was forgotten to make room for another.
        FLOW_EVICTED = "flows_evicted",
        /// The queue before the link is emptied more slowly from now on, as the link carries less.
        RATE_LOWERED = "rate_lowered",
        /// Repairs were stopped for a while, as they did harm.
        LINK_SHARED = "link_shared",
        /// A control message was not understood.
        CONTROL_MALFORMED = "control_malformed",
        /// A damaged packet was dropped so that it can be repaired.
        CHECKSUM_BAD = "checksum_bad",
        /// A packet was given up after its last try on the link.
        GIVEN_UP = "given_up",
        /// A packet left without protection: too long, or of a kind that cannot carry a shim.
        UNPROTECTED = "unprotected",
        /// A lost packet was computed from its block.
        RECOVERED = "recovered",
        /// A new flow passes untouched because the table is full.
        FLOW_PASSED = "flows_passed",
    }
}

labels! {
    /// A level that an element can be asked for.
    Gauge {
        /// Flows with state.
        FLOWS = "flows",
        /// Bytes of memory the element accounts for, all tables included.
        MEMORY_BYTES = "memory_bytes",
        /// Bytes waiting in the element's own queue.
        QUEUE_BYTES = "queue_bytes",
        /// Most bytes that ever waited in the element's own queue.
        QUEUE_BYTES_MAX = "queue_bytes_max",
        /// Bytes held back: packets until an earlier one arrives, acknowledgments until their time has come.
        HELD_BYTES = "held_bytes",
        /// Most bytes that were ever held back.
        HELD_BYTES_MAX = "held_bytes_max",
        /// Bytes kept for repairs.
        CACHE_BYTES = "cache_bytes",
        /// Rate at which the queue before the link is emptied, in bit/s; 0 without one.
        RATE_BPS = "rate_bps",
        /// How long packets wait in the link itself, behind the queue before it, in ns.
        LINK_WAIT_NS = "link_wait_ns",
        /// Measured round trip between the two boxes, in ns.
        LINK_RTT_NS = "link_rtt_ns",
        /// 1 when the other end is in reach.
        PEER_IN_REACH = "peer_in_reach",
    }
}
