//! Parameters of AS-TCP.

use airtcp_core::{ByteSize, choices, parameters};

choices! {
    /// Where a connection is split.
    pub enum Split {
        /// At the near end of the link: the access point, or with a scheme on the link behind it, the router (AST-8, AST-10).
        Near = "near",
        /// Not here: the near end passes everything. Another access point or router splits, or nobody does.
        Elsewhere = "elsewhere",
        /// Nowhere: the station drops the acknowledgments that come over the air (AST-9).
        Nowhere = "nowhere",
    }
}

choices! {
    /// What keeps a station from sending faster than the split can pass on.
    pub enum Balance {
        /// The receive window: emulated acknowledgments promise no more than the split did. The split lets an acknowledgment
        /// pass whenever it can promise much more.
        Window = "window",
        /// The medium: while many packets wait at the split, it acknowledges no frame (AST-11).
        Silence = "silence",
        /// Nothing: packets that do not fit are lost, and counted.
        Nothing = "nothing",
    }
}

parameters! {
    /// Parameters of AS-TCP.
    pub struct AsTcpSettings {
        /// Where connections are split.
        pub split: Split = Split::Near, "AST-8 to AST-10";
        /// Make acknowledgments of what the medium delivered; without, those of the split go over the air.
        pub emulate: bool = true, "AST-5";
        /// Emulate in the other direction, too: the access point acknowledges to the sender what the medium gave to a station, and the
        /// station keeps its own acknowledgments back. What a station loses after its MAC had it, nobody repairs.
        pub downloads: bool = false, "ours, after FastACK: Bhartia et al., IMC 2017; the paper is about uploads";
        /// What keeps a station from sending faster than the split can pass on.
        pub balance: Balance = Balance::Window, "AST-11; SPEC 7.3: the window is what can be deployed";
        /// Packets that wait at the split, in the interface queue and for the wired half together, from which it stops
        /// acknowledging frames; auto is 90 % of the interface queue.
        pub silent_above: Option<u32> = None, "AST-U8, AST-U17";
        /// Packets that wait, below which it acknowledges frames again; auto is 80 % of the interface queue.
        pub silent_below: Option<u32> = None, "AST-U8";
        /// Bytes that the split keeps on each side in each direction: four times this for a flow. Auto is 128 KiB, 100 ms of an
        /// 802.11b cell, or 256 KiB if the rate is not known, and twice as much whenever more than half of it is in flight, up to 4 MiB and as long as flows use less
        /// than half of the memory.
        pub buffer: Option<ByteSize> = None, "ours; Linux tcp_sndbuf_expand(), tcp_wmem";
        /// Segments that a station hands to its interface at a time. More segments wait before it, so that nothing is dropped
        /// before the air, and acknowledgments promise no more than twice as much. Auto hands over everything, as the paper does.
        pub interface: Option<u32> = Some(10), "ours; TSQ of Linux";
        /// After a frame that was given up, emulate duplicate acknowledgments for those that arrive, with SACK blocks where
        /// the connection has them; else only a timeout repairs.
        pub dupack: bool = false, "AST-X2: the paper recovers by timeout";
    }
}
