//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// The forward queue reached a threshold (Fast-TCP).
    CONGESTED = "congested",
    /// An acknowledgment had waited as long as one may and left out of turn (Fast-TCP).
    ACK_OVERDUE = "acks_overdue",
    /// An acknowledgment left early, ahead of a packet of its flow that may not wait (Fast-TCP).
    ACK_FLUSHED = "acks_flushed",
    /// A part of an acknowledgment was sent ahead of it (Fast-TCP).
    ACK_PART = "ack_parts",
}

airtcp_core::declare! { Gauge, GAUGES:
    /// Longest time that an acknowledgment waited, in ns.
    ACK_DELAY_NS_MAX = "ack_delay_ns_max",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// A part of an acknowledgment, sent ahead of the whole (Fast-TCP).
    PARTIAL_ACK = "partial_ack",
}
