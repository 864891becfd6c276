//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A packet was sent once more although nothing was missing: a repair that may be lost, or the end of a burst.
    SPARE_COPY = "spare_copies",
    /// A repair was put off, as repairs had taken their share of the link.
    REPAIR_DELAYED = "repairs_delayed",
}
