//! Parameters of link FEC.

use airtcp_core::{Duration, Rate, parameters};
use airtcp_link::Queue;

parameters! {
    /// Parameters of link FEC.
    pub struct FecSettings {
        /// Rate at which the egress queue is emptied, in IP bits; the link's own rate if auto. Without a rate, packets are not queued here.
        pub rate: Option<Rate> = None, "ours";
        /// Egress queue, a limit or a discipline, as the queue of a link; the link's own queue limit if auto, else rate x 100 ms.
        pub queue: Option<Queue> = None, "ours";
        /// Packets of a block, at most 128.
        pub k: u8 = 32, "ours: shorter blocks need more redundancy for the same residual loss";
        /// Redundant packets sent behind each block, which is the number of losses that can be repaired; computed from the measured loss if auto.
        pub r: Option<u8> = None, "ours: mean + 3 standard deviations of the losses";
        /// Age of its first packet at which a block is closed before it is full, if nothing waits for the link; four packet times, 5 to 50 ms, if auto.
        pub timeout: Option<Duration> = None, "ours";
        /// Deliver packets in the order of sending; false delivers them as they arrive.
        pub in_order: bool = true, "RFC 3366 3.3: reordering looks like loss to TCP";
        /// Longest time that packets wait for one gap; twice the time of a block on the link + 50 ms if auto.
        pub hold: Option<Duration> = None, "ours";
        /// Longest IP packet that the link carries; the link's own MTU if auto, else 1500; 41 bytes of it are ours for IPv4 and 61 for IPv6.
        pub mtu: Option<u32> = None, "RFC 894 (Ethernet)";
        /// Time between two HELLO messages, which report the measured loss; longer where they would take more
        /// than a quarter of the link.
        pub hello: Duration = Duration::from_millis(100), "as gsnoop";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "as gsnoop";
    }
}
