//! What sockets over a circuit count.

use super::Circuit;
use airtcp_core::Event;
use airtcp_tcp::Stats;
use alloc::vec::Vec;

airtcp_core::declare! { Event, CIRCUIT:
    /// Header packets sent, those sent again included.
    HEADER_PACKETS = "header_packets",
    /// Of these, sent again.
    HEADERS_RESENT = "headers_resent",
    /// Times a control TCP began a fast recovery.
    FAST_RETRANSMITS = "fast_retransmits",
    /// Retransmission timeouts of control TCPs.
    RTOS = "rtos",
    /// Virtual bytes acknowledged to control TCPs.
    VIRTUAL_BYTES = "virtual_bytes",
    /// Bytes of data that the guaranteed bandwidth let out.
    GUARANTEED_BYTES = "guaranteed_bytes",
    /// Data packets dropped in front of a full tunnel queue.
    TUNNEL_DROPS = "tunnel_drops",
}

/// The counters of [`CIRCUIT`], of which the circuit's user knows the last one.
pub fn of_circuit(circuit: &Circuit, tunnel_drops: u64) -> Vec<(Event, u64)> {
    let sum = |of: fn(&Stats) -> u64| circuit.connections().map(|control| of(control.stats())).sum();
    let counts = [
        sum(|stats| stats.data_segments_sent),
        sum(|stats| stats.retransmitted_segments),
        sum(|stats| stats.fast_recoveries),
        sum(|stats| stats.rtos),
        sum(|stats| stats.bytes_acknowledged),
        circuit.stats().guaranteed_bytes,
        tunnel_drops,
    ];
    CIRCUIT.iter().copied().zip(counts).collect()
}
