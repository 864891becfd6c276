//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A packet of redundancy was sent behind the block that it protects.
    CODE = "code_packets",
    /// A packet was lost in a block that lost more than its redundancy.
    NOT_RECOVERED = "not_recovered",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// Redundancy of an erasure code, consumed at the other end of the link.
    PARITY = "code",
}
