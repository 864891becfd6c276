//! What is known of one segment that was sent.

use crate::congestion::TcpSock;
use airtcp_core::Instant;

/// Counts transmissions: the order in which segments were sent, exact also where many leave at the
/// same instant. (RFC 8985 compares times, then sequence numbers.)
pub type SendOrder = u64;

/// Marks of a segment; Linux's `TCPCB_*`.
pub mod mark {
    /// Selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// Presumed lost.
    pub const LOST: u8 = 2;
    /// Its latest retransmission is in flight.
    pub const RETRANS: u8 = 4;
    /// Was retransmitted at some time.
    pub const EVER_RETRANS: u8 = 8;
    /// Carries FIN behind its payload.
    pub const FIN: u8 = 16;
    /// Was sent while the application had nothing more (rate sample).
    pub const APP_LIMITED: u8 = 32;
    /// Its delivery was counted already.
    pub const DELIVERED: u8 = 64;
    /// By its time it was found lost: until it is sent again, its time says nothing more.
    pub const JUDGED: u8 = 128;
}

/// One segment in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Offset of its first byte.
    pub start: u64,
    /// One past its last offset, FIN included.
    pub end: u64,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Which transmission of the connection that was; 0 if that is not kept.
    pub order: SendOrder,
    /// Rate sample: `delivered` when it was sent; 0 alike.
    pub delivered: u32,
    /// See [`mark`].
    pub flags: u8,
}

/// What the sample of the delivery rate needs besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// `first_tx_mstamp` when the segment was sent.
    pub first_tx_at: Instant,
    /// `delivered_mstamp` when it was sent.
    pub delivered_at: Instant,
    /// Segments in flight once it was sent.
    pub in_flight: u32,
    /// `lost` when it was sent.
    pub lost: u32,
}

impl Rate {
    /// Of a segment that leaves now.
    #[inline]
    pub fn now(sk: &TcpSock) -> Rate {
        Rate {
            first_tx_at: sk.first_tx_mstamp,
            delivered_at: sk.delivered_mstamp,
            in_flight: sk.tcp_packets_in_flight(),
            lost: sk.lost,
        }
    }
}

impl Sent {
    /// True if any of `flags` is set.
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Bytes of payload.
    pub fn payload_len(&self) -> u32 {
        (self.end - self.start) as u32 - u32::from(self.has(mark::FIN))
    }
}
