//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// The receiver's latest acknowledgment was sent again, for data it has already.
    ACK_REPEATED = "acks_repeated",
    /// Nobody answered in time and a cached copy was sent again.
    LOCAL_TIMEOUT = "local_timeouts",
}
