//! Parameters of G-Snoop.

use airtcp_core::{ByteSize, Duration, Rate, parameters};

parameters! {
    /// Parameters of the modern mode.
    pub struct Settings {
        /// Rate the queue in front of the link is emptied at, in IP bits; the link's own rate if auto. Without any, packets are not queued here.
        pub rate: Option<Rate> = None, "DESIGN; modern mode (1)";
        /// Limit of the queue in front of the link; the link's own queue limit if auto, else rate x 100 ms.
        pub queue: Option<ByteSize> = None, "modern mode (1): 1 BDP";
        /// Round trip between the two gateways; measured by HELLO if auto.
        pub wireless_rtt: Option<Duration> = None, "GSN-U8";
        /// Time added to the wireless round trip before a repair counts as lost; a quarter of the round trip (at least 1 ms) plus three packet times if auto.
        pub guard: Option<Duration> = None, "GSN-12, GSN-U8";
        /// How often a missing range is asked for.
        pub tries: u8 = 4, "modern mode (2)";
        /// Longest time a packet waits for an earlier one; max(50 ms, 4 x (wireless RTT + guard)), at most 500 ms or time for two tries, whichever is longer, if auto.
        pub hold: Option<Duration> = None, "modern mode (4)";
        /// Bytes kept for repairs; rate x (hold + wireless RTT), doubled, if auto.
        pub cache: Option<ByteSize> = None, "GSN-4, GSN-N3; modern mode (1)";
        /// Send the last packet of a burst twice while the link has nothing else to do and packets were lost lately.
        pub redundancy: bool = true, "ours";
        /// Queue length from which ECN-capable packets are marked CE; never if auto.
        pub ecn_threshold: Option<ByteSize> = None, "RFC 3168; modern mode (7)";
        /// Drop TCP segments whose checksum is wrong when they come off the link, so that they are repaired.
        pub verify_checksum: bool = true, "ours";
        /// Time between two HELLO messages.
        pub hello: Duration = Duration::from_millis(100), "modern mode (6)";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "modern mode (6)";
        /// Silence after which a flow is forgotten.
        pub idle: Duration = Duration::from_secs(60), "GSN-U15";
    }
}
