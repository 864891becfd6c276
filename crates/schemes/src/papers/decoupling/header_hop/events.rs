//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A header packet was sent as what changed since the one before (TCP Decoupling).
    HEADER_COMPRESSED = "headers_compressed",
    /// A header packet was sent whole, so that the other end knows it (TCP Decoupling).
    HEADER_FULL = "headers_full",
    /// A header packet was restored by the guess that one before it was lost (TCP Decoupling).
    TWICE_FIRST = "twice_first_guess",
    /// A header packet was restored by the guess that several before it were lost (TCP Decoupling).
    TWICE_LATER = "twice_later_guess",
    /// A compressed header packet could not be restored (TCP Decoupling).
    HEADER_LOST = "headers_undecodable",
}
