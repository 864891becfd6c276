//! What happened: one list from which counters, traces, capture comments and the live view
//! are derived.

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $label:literal,)+) => {
        /// Something an element did that somebody may want to count or see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Event { $($(#[$doc])* $variant,)+ }

        impl Event {
            /// Every event, in declaration order; `event as usize` indexes it.
            pub const ALL: &[Event] = &[$(Event::$variant),+];
            /// The counter's name in results and metrics.
            pub const fn label(self) -> &'static str {
                match self { $(Event::$variant => $label,)+ }
            }
        }
    };
}

events! {
    /// A cached copy was sent to repair a loss.
    Repair = "repairs",
    /// A second copy was sent ahead of any loss, in time the link had to spare.
    Redundant = "redundant_copies",
    /// A request for missing ranges was sent.
    Nack = "nacks",
    /// A request could not be served: the bytes were lost before this box, or left the cache.
    NotHere = "not_here",
    /// A cached copy had been flushed when it was asked for.
    CacheMiss = "cache_misses",
    /// The other end was asked whether the tail of a flow arrived.
    Poll = "polls",
    /// A packet had to wait for an earlier one.
    Held = "held",
    /// A held packet was passed on because the gap before it was filled.
    ReleasedInOrder = "released_in_order",
    /// A held packet was passed on across a gap that will not be filled.
    ReleasedAcrossGap = "released_across_gap",
    /// A packet was marked instead of dropped (RFC 3168).
    CongestionMark = "congestion_marks",
    /// An acknowledgment was kept from the sender.
    AckSuppressed = "acks_suppressed",
    /// An acknowledgment had to wait.
    AckDelayed = "acks_delayed",
    /// The receiver's latest acknowledgment was sent again, for data it has already.
    AckRepeated = "acks_repeated",
    /// An acknowledgment was marked: the link, not congestion, lost what it asks for (ELN).
    LossNotified = "losses_notified",
    /// Nobody answered in time and a cached copy was sent again.
    LocalTimeout = "local_timeouts",
    /// Copies of an acknowledgment were sent to slow a sender (ICN).
    IncipientCongestion = "incipient_congestion",
    /// A sender sent again what was not lost, because it was notified so (ICN).
    IcnRetransmission = "icn_retransmissions",
    /// A receiver answered such a retransmission with a duplicate acknowledgment or a D-SACK.
    IcnDuplicateAck = "icn_duplicate_acks",
    /// A duplicate acknowledgment had to wait until a repair has come or is given up.
    AckHeld = "acks_held",
    /// A held acknowledgment was passed on: what it tells of will not be repaired here.
    AckReleased = "acks_released",
    /// A repair that was asked for did not come in time.
    RepairTimeout = "repair_timeouts",
    /// The other end came into reach.
    PeerUp = "peer_up",
    /// The other end fell silent; traffic passes untouched.
    PeerDown = "peer_down",
    /// The other end restarted and forgot everything.
    PeerRestart = "peer_restarts",
    /// A flow was seen for the first time.
    FlowNew = "flows_new",
    /// A flow was forgotten to make room for another.
    FlowEvicted = "flows_evicted",
    /// A control message was not understood.
    ControlMalformed = "control_malformed",
    /// A damaged packet was dropped so that it can be repaired.
    ChecksumBad = "checksum_bad",
    /// A packet was given up after its last try on the link.
    GivenUp = "given_up",
    /// A packet left without protection: too long, or of a kind that cannot carry a shim.
    Unprotected = "unprotected",
    /// A packet of redundancy was sent behind the block that it protects.
    Code = "code_packets",
    /// A lost packet was computed from its block.
    Recovered = "recovered",
    /// A packet was lost in a block that lost more than its redundancy.
    NotRecovered = "not_recovered",
    /// An acknowledgment was made of the medium's own (AS-TCP).
    AckEmulated = "acks_emulated",
    /// A box began to leave frames unacknowledged (AS-TCP).
    Silenced = "silenced",
    /// A new flow passes untouched because the table is full.
    FlowPassed = "flows_passed",
    /// The forward queue reached a threshold (Fast-TCP).
    Congested = "congested",
    /// An acknowledgment had waited as long as one may and left out of turn (Fast-TCP).
    AckOverdue = "acks_overdue",
    /// An acknowledgment left early, ahead of a packet of its flow that may not wait (Fast-TCP).
    AckFlushed = "acks_flushed",
    /// A part of an acknowledgment was sent ahead of it (Fast-TCP).
    AckPart = "ack_parts",
    /// A packet left a tunnel queue by the credit of a control TCP (TCP Decoupling).
    Tunnelled = "tunnelled_packets",
    /// A packet left a tunnel queue within its guaranteed bandwidth (TCP Decoupling).
    Guaranteed = "guaranteed_packets",
    /// A header packet was sent (TCP Decoupling).
    HeaderPacket = "header_packets",
    /// Of those, one was sent again.
    HeaderRetransmission = "header_retransmissions",
    /// A header packet was sent as what changed since the one before (TCP Decoupling).
    HeaderCompressed = "headers_compressed",
    /// A header packet was sent whole, so that the other end knows it (TCP Decoupling).
    HeaderFull = "headers_full",
    /// A header packet was restored by the guess that one before it was lost (TCP Decoupling).
    TwiceFirst = "twice_first_guess",
    /// A header packet was restored by the guess that several before it were lost (TCP Decoupling).
    TwiceLater = "twice_later_guess",
    /// A compressed header packet could not be restored (TCP Decoupling).
    HeaderLost = "headers_undecodable",
}

macro_rules! gauges {
    ($($(#[$doc:meta])* $variant:ident = $label:literal,)+) => {
        /// A level an element can be asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Gauge { $($(#[$doc])* $variant,)+ }

        impl Gauge {
            /// Every gauge, in declaration order.
            pub const ALL: &[Gauge] = &[$(Gauge::$variant),+];
            /// The name used in results and metrics.
            pub const fn label(self) -> &'static str {
                match self { $(Gauge::$variant => $label,)+ }
            }
        }
    };
}

gauges! {
    /// Flows with state.
    Flows = "flows",
    /// Bytes of memory the element accounts for, all tables included.
    MemoryBytes = "memory_bytes",
    /// Bytes waiting in the element's own queue.
    QueueBytes = "queue_bytes",
    /// Most bytes that ever waited in the element's own queue.
    QueueBytesMax = "queue_bytes_max",
    /// Bytes held back: packets until an earlier one arrives, acknowledgments until their time has come.
    HeldBytes = "held_bytes",
    /// Most bytes that were ever held back.
    HeldBytesMax = "held_bytes_max",
    /// Bytes kept for repairs.
    CacheBytes = "cache_bytes",
    /// Measured round trip between the two boxes, in ns.
    LinkRttNs = "link_rtt_ns",
    /// Segments that were acknowledged to their sender and could not be taken: lost (AS-TCP).
    AcknowledgedLost = "acknowledged_lost",
    /// 1 when the other end is in reach.
    PeerInReach = "peer_in_reach",
    /// Longest time that an acknowledgment waited, in ns.
    AckDelayNsMax = "ack_delay_ns_max",
    /// Congestion windows of a circuit's control TCPs together, in virtual bytes (TCP Decoupling).
    CircuitWindowBytes = "circuit_window_bytes",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_index_their_own_table() {
        for (index, event) in Event::ALL.iter().enumerate() {
            assert_eq!(*event as usize, index);
        }
    }
}
