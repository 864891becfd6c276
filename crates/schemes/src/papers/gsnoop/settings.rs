//! Parameters of G-Snoop. Each mode reads its own and ignores those of the others.

use airtcp_core::{ByteSize, Duration, Rate, choices, parameters};
use airtcp_link::Queue;

choices! {
    /// Which rules the gateways follow.
    pub enum Mode {
        /// B hides the gap until it is repaired; for SACK/RACK senders.
        Modern = "modern",
        /// The paper's own rules; for Reno senders without SACK.
        Paper = "paper",
        /// Modern, but B passes data on at once and hides the acknowledgments that reveal the gap.
        Suppression = "suppression",
    }
}

choices! {
    /// Where a repair enters A's FIFO (GSN-U16).
    pub enum RepairPlace {
        /// Before everything but earlier repairs.
        Head = "head",
        /// Behind everything, dropped if the FIFO is full.
        Tail = "tail",
    }
}

parameters! {
    /// Parameters of every mode.
    pub struct GsnoopSettings {
        /// "modern" hides gaps from SACK/RACK senders, "paper" follows the paper for Reno senders, "suppression" is modern that hides acknowledgments instead of gaps.
        pub mode: Mode = Mode::Modern, "SPEC 7.3";
        /// Rate at which the egress queue is emptied, in IP bits; the link's own rate if auto. Without a rate, packets are not queued here.
        pub rate: Option<Rate> = None, "DESIGN; modern mode (1)";
        /// Follow what the link carries, which the packets themselves tell; if false, the link is given the rate, or without one whatever it takes.
        pub learn: bool = true, "ours";
        /// Egress queue, a limit or a discipline, as the queue of a link. If auto: FQ-CoDel with the target of a round trip between the gateways (at least 100 ms) and the interval of three; in paper mode the link's own limit, else rate x 100 ms.
        pub queue: Option<Queue> = None, "modern mode (1): 1 BDP";
        /// Round trip between the two gateways; measured by HELLO if auto.
        pub wireless_rtt: Option<Duration> = None, "GSN-U8";
        /// Time added to the wireless round trip before a repair counts as lost. If auto: a quarter of the round trip (at least 1 ms) plus three packet times; in paper mode max(half the round trip, four packet times plus what waits before a repair).
        pub guard: Option<Duration> = None, "GSN-12, GSN-U8";
        /// How often a missing range is asked for.
        pub tries: u8 = 4, "modern mode (2)";
        /// Longest time a packet waits for an earlier one; max(50 ms, (tries + 1) x (wireless RTT + guard)), at most 500 ms or time for two tries, whichever is longer, if auto.
        pub hold: Option<Duration> = None, "modern mode (4)";
        /// Bytes kept for repairs; rate x (hold + wireless RTT), doubled, if auto.
        pub cache: Option<ByteSize> = None, "GSN-4, GSN-N3; modern mode (1)";
        /// Send the last packet of a burst twice if the link is otherwise idle and packets were lost recently.
        pub redundancy: bool = true, "ours";
        /// Queue length from which ECN-capable packets are marked CE; if auto, none are.
        pub ecn_threshold: Option<ByteSize> = None, "RFC 3168; modern mode (7)";
        /// Drop TCP segments that arrive over the link with a wrong checksum, so that they are repaired.
        pub verify_checksum: bool = true, "ours";
        /// Time between two HELLO messages.
        pub hello: Duration = Duration::from_millis(100), "modern mode (6)";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "modern mode (6)";
        /// Silence after which a flow is forgotten.
        pub idle: Duration = Duration::from_secs(60), "GSN-U15";
        /// Paper mode: packets that may wait in A's FIFO buffer; the link's own queue limit if auto, in packets of 1500 bytes.
        pub buffer_packets: Option<u32> = None, "GSN-3; the paper's Buf_size, 140";
        /// Paper mode: packets in A's FIFO cache.
        pub cache_packets: u32 = 25, "GSN-4, GSN-U5; the paper's Cache_size";
        /// Paper mode: a cache of this size for each flow instead of one for all.
        pub cache_per_flow: bool = false, "GSN-U6";
        /// Paper mode: where a repair enters A's FIFO.
        pub repair_place: RepairPlace = RepairPlace::Head, "GSN-U16";
        /// Paper mode: answer a request for data that was lost before the link with three copies of the connection's next ACK.
        pub icn: bool = true, "GSN-6";
        /// Paper mode: least time between two such notifications of a connection; the round trip seen in its handshake if auto.
        pub icn_interval: Option<Duration> = None, "GSN-U13";
        /// Paper mode: ask once more if the repair does not arrive in time.
        pub ask_again: bool = false, "GSN-U12";
        /// Paper mode and suppression: duplicate ACKs of one flow that may be held while a repair is under way.
        pub held_acks: u32 = 1024, "GSN-U11";
    }
}
