//! What this scheme alone reports.

airtcp_core::declare! { Event, EVENTS:
    /// A packet left a tunnel queue by the credit of a control TCP (TCP Decoupling).
    TUNNELLED = "tunnelled_packets",
    /// A packet left a tunnel queue within its guaranteed bandwidth (TCP Decoupling).
    GUARANTEED = "guaranteed_packets",
    /// A header packet was sent (TCP Decoupling).
    HEADER_PACKET = "header_packets",
    /// Of those, one was sent again.
    HEADER_RETRANSMISSION = "header_retransmissions",
    /// A packet arrived in a message (TCP Decoupling, a trunk with the carriage tunnel).
    DECAPSULATED = "decapsulated_packets",
    /// A packet was too long for the tunnel and was cut (the same).
    FRAGMENTED = "fragmented_packets",
    /// A packet was too long for the tunnel and may not be cut, and its sender was told (the same).
    TOO_BIG_TOLD = "too_big_told",
}

airtcp_core::declare! { CreateReason, CREATED:
    /// A packet came out of a tunnel.
    ARRIVED = "arrived",
    /// A part of a packet that was cut.
    FRAGMENT = "fragment",
}

airtcp_core::declare! { Gauge, GAUGES:
    /// Congestion windows of a circuit's control TCPs together, in virtual bytes (TCP Decoupling).
    CIRCUIT_WINDOW_BYTES = "circuit_window_bytes",
    /// 1 while packets can cross a trunk between two gateways, else 0 (TCP Decoupling).
    TRUNK_OPEN = "trunk_open",
    /// Longest IP packet that enters a trunk whole, where data leave in messages (TCP Decoupling).
    TUNNEL_MTU = "tunnel_mtu_bytes",
}
