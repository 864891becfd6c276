//! Parameters of the header hop.

use airtcp_core::parameters::ParameterError;
use airtcp_core::{CONTROL_DSCP, Duration, Rate, choices, parameters};
use airtcp_link::Queue;

choices! {
    /// How header packets are compressed.
    pub enum Compress {
        /// Not at all.
        None = "none",
        /// As RFC 1144 does: 3 bytes, and 12 more for timestamps, which are not compressed.
        Headers = "headers",
        /// The same, and timestamps as their low bits: 7 bytes in all.
        Timestamps = "timestamps",
    }
}

parameters! {
    /// Parameters of the header hop.
    pub struct HeaderHopSettings {
        /// DSCP of header packets, 0 to 63.
        pub dscp: u8 = CONTROL_DSCP, "DEC-12, DEC-U10";
        /// Also compress and repair the acknowledgments of header packets, in the opposite direction.
        pub acks: bool = true, "ours: control packets are both (DEC-5)";
        /// How header packets are compressed.
        pub compress: Compress = Compress::Headers, "DEC-41; RFC 1144";
        /// How many lost packets to assume, one after the other, when a checksum fails; 0 discards everything up to the next uncompressed header, as RFC 1144 does.
        pub twice: u8 = 3, "DEC-42; RFC 2507 section 10.1";
        /// Compressed headers after which an uncompressed one is sent; with 0 only if the fields require it, as in RFC 1144.
        pub refresh: u16 = 64, "ours, after RFC 2507 F_MAX_PERIOD 256: a control TCP feels a gap of more";
        /// Connections whose last header is remembered, in each direction.
        pub contexts: u8 = 16, "RFC 1144 section 5.1";
        /// How many earlier headers each header carries again (FEC), at most 15.
        pub copies: u8 = 0, "DEC-43; RFC 2198";
        /// Transmissions of a header before it is given up; 1 for no ARQ.
        pub tries: u8 = 1, "DEC-43; RFC 3366";
        /// Longest time that later headers wait for a lost one; 4 x (round trip + guard), 50 to 500 ms, if auto.
        pub hold: Option<Duration> = None, "as arq";
        /// With FEC or ARQ, rate at which the egress queue is emptied, in IP bits; the link's own rate if auto.
        pub rate: Option<Rate> = None, "as arq: a header that the queue drops is not to be repaired";
        /// Egress queue, a limit or a discipline, as the queue of a link; the link's own queue limit if auto, else rate x 100 ms. Without FEC and ARQ the queue holds only what the link refuses.
        pub queue: Option<Queue> = None, "as arq";
        /// Time between two HELLO messages; longer where they would take more than a quarter of the link.
        pub hello: Duration = Duration::from_millis(100), "as gsnoop";
        /// Silence of the other end after which everything passes untouched.
        pub peer_timeout: Duration = Duration::from_secs(1), "as gsnoop";
    }
}

/// Most headers that one carries again: their number has four bits.
pub(super) const MAX_COPIES: u8 = 15;

impl HeaderHopSettings {
    /// True if a lost header can be had again, so that the queue before the link must be ours.
    pub(super) fn repairs(&self) -> bool {
        self.copies > 0 || self.tries > 1
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let bad = |key, reason: &str| Err(ParameterError::bad(key, reason));
        if self.dscp > 63 {
            return bad("dscp", "a DSCP has 6 bits, 0 to 63; leave it out for the DSCP of our own circuits");
        }
        if self.contexts == 0 {
            return bad("contexts", "nothing can be compressed without a context; write 16 if in doubt");
        }
        if self.copies > MAX_COPIES {
            return bad("copies", "a header carries at most 15 earlier ones; 1 or 2 are enough on most links");
        }
        if self.tries == 0 {
            return bad("tries", "0 would send nothing; write 1 for a link without ARQ");
        }
        Ok(())
    }
}
