//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A shard of a block was sent, of its data or of redundancy.
    SHARD = "shards",
    /// A block was given up, and all its packets with it: too few of its shards came.
    BLOCK_LOST = "blocks_lost",
}

airtcp_core::declare! { CreateReason, CREATE_REASONS:
    /// A part of a block of packets, consumed at the other end of the tunnel.
    PART = "shard",
    /// A packet that came through the tunnel.
    UNPACKED = "unpacked",
}
