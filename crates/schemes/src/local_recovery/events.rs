//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A packet was sent once more although nothing was missing: a repair that may be lost, the end of a burst, or a short packet.
    SPARE_COPY = "spare_copies",
    /// A repair was put off, as repairs had taken their share of the link.
    REPAIR_DELAYED = "repairs_delayed",
    /// A code left, which repairs any one loss among late packets.
    CODE_SENT = "codes",
    /// A segment left as it came, as its flow does not slow down for a loss.
    TOLERANT = "tolerant_segments",
    /// No frame arrives although the other end is heard: packets leave as they came for a while.
    FRAMES_BLOCKED = "frames_blocked",
    /// A message came of an end that speaks another version of local recovery.
    OTHER_VERSION = "other_version",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// A code, consumed at the other end.
    CODE = "code",
    /// The tail of a packet that left no room for a shim, joined again at the other end.
    CUT_OFF = "tail",
}
