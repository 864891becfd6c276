//! Parameters of link ARQ.

use airtcp_core::{ByteSize, Duration, Rate, parameters};
use airtcp_link::Queue;

parameters! {
    /// Parameters of link ARQ.
    pub struct ArqSettings {
        /// Rate at which the egress queue is emptied, in IP bits; the link's own rate if auto. Without a rate, packets are not queued here.
        pub rate: Option<Rate> = None, "ours";
        /// Egress queue, a limit or a discipline, as the queue of a link; the link's own queue limit if auto, else rate x 100 ms.
        pub queue: Option<Queue> = None, "ours";
        /// Transmissions of a packet before it is given up.
        pub tries: u8 = 8, "IEEE 802.11 dot11ShortRetryLimit 7, and the first";
        /// Deliver packets in the order of sending; false delivers them as they arrive.
        pub in_order: bool = true, "RFC 3366 3.3: reordering looks like loss to TCP";
        /// Longest time that packets wait for one gap; 4 x (round trip + guard), 50 to 500 ms, if auto.
        pub hold: Option<Duration> = None, "RFC 3366 3.2: below the retransmission timeout of TCP";
        /// Bytes sent and not acknowledged that are kept; rate x (hold + round trip), doubled, if auto.
        pub window: Option<ByteSize> = None, "ours";
        /// Frames after which an acknowledgment is sent at once.
        pub ack_every: u16 = 8, "ours: 72 bytes for 8 frames";
        /// Longest delay of an acknowledgment; a quarter of the round trip, at least 1 ms, if auto.
        pub ack_delay: Option<Duration> = None, "ours";
        /// Longest IP packet that the link carries; the link's own MTU if auto, else 1500; 16 bytes of it are ours.
        pub mtu: Option<u32> = None, "RFC 894 (Ethernet)";
        /// Time between two HELLO messages; longer where they would take more than a quarter of the link.
        pub hello: Duration = Duration::from_millis(100), "as gsnoop";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "as gsnoop";
    }
}
