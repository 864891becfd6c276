//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A second copy was sent ahead of any loss, in time the link had to spare.
    REDUNDANT = "redundant_copies",
    /// A request for missing ranges was sent.
    NACK = "nacks",
    /// A request could not be served: the bytes were lost before this box, or left the cache.
    NOT_HERE = "not_here",
    /// A repair was not sent, as repairs had taken their share of the link.
    REPAIR_REFUSED = "repairs_refused",
    /// A question or a request was not sent to the other gateway, as they had taken their share of the link.
    MESSAGE_REFUSED = "messages_refused",
    /// A segment passed whose numbers do not belong to its connection; nothing was concluded from it.
    DOUBTED = "doubted_segments",
    /// A cached copy had been flushed when it was asked for.
    CACHE_MISS = "cache_misses",
    /// The other end was asked whether the tail of a flow arrived.
    POLL = "polls",
    /// Copies of an acknowledgment were sent to slow a sender (ICN).
    INCIPIENT_CONGESTION = "incipient_congestion",
    /// A sender sent again what was not lost, because it was notified so (ICN).
    ICN_RETRANSMISSION = "icn_retransmissions",
    /// A receiver answered such a retransmission with a duplicate acknowledgment or a D-SACK.
    ICN_DUPLICATE_ACK = "icn_duplicate_acks",
    /// A duplicate acknowledgment had to wait until a repair has come or is given up.
    ACK_HELD = "acks_held",
    /// A held acknowledgment was passed on: what it tells of will not be repaired here.
    ACK_RELEASED = "acks_released",
    /// A repair that was asked for did not come in time.
    REPAIR_TIMEOUT = "repair_timeouts",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// A second copy of a packet, sent while the link had nothing else to do.
    REDUNDANT_COPY = "redundant",
}
