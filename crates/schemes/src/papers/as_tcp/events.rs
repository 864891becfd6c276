//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// An acknowledgment was made of the medium's own (AS-TCP).
    ACK_EMULATED = "acks_emulated",
    /// A box began to leave frames unacknowledged (AS-TCP).
    SILENCED = "silenced",
}

airtcp_core::declare! { Gauge, GAUGES:
    /// Segments that were acknowledged to their sender and could not be taken: lost (AS-TCP).
    ACKNOWLEDGED_LOST = "acknowledged_lost",
    /// Bytes that were acknowledged to their sender because the medium delivered them, and that the station's TCP has not
    /// acknowledged: lost if the station loses them, or ends (AS-TCP, `downloads`).
    ACKNOWLEDGED_AHEAD = "acknowledged_ahead",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// An acknowledgment made of the medium's own (AS-TCP).
    EMULATED_ACK = "emulated_ack",
}
