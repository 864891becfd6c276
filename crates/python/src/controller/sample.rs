//! What hooks are told beside the connection, with the names of the contract in Rust.

use airtcp_tcp::congestion;
use pyo3::prelude::*;

/// Getters for fields that Python reads as they are.
macro_rules! told {
    ($(#[$about:meta])* $name:ident { $($(#[doc = $doc:literal])+ $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[pyclass(frozen, module = "airtcp")]
        pub(crate) struct $name(pub(super) congestion::$name);

        #[pymethods]
        impl $name {
            $($(#[doc = $doc])+ #[getter] fn $field(&self) -> $type { self.0.$field })+

            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}

/// An enum of the same members as the contract's.
macro_rules! members {
    ($(#[$about:meta])* $name:ident { $($(#[doc = $doc:literal])+ $member:ident,)+ }) => {
        $(#[$about])*
        #[pyclass(frozen, eq, eq_int, ord, hash, module = "airtcp")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $name { $($(#[doc = $doc])+ $member,)+ }

        impl $name {
            pub(super) fn of(member: congestion::$name) -> Self {
                match member { $(congestion::$name::$member => $name::$member,)+ }
            }
        }
    };
}

told! {
    /// What one acknowledgment showed about the delivery rate.
    RateSample {
        /// When the newest delivered segment was sent, `delivered` stood at `prior_delivered` since this many
        /// microseconds; 0 without a sample.
        prior_mstamp_us: u64,
        /// `delivered` when the newest delivered segment was sent.
        prior_delivered: u32,
        /// Segments delivered over the interval; negative without a sample.
        delivered: i32,
        /// Length of the interval in microseconds; negative without a sample.
        interval_us: i64,
        /// Sending side of the interval, microseconds.
        snd_interval_us: u32,
        /// Acknowledging side of the interval, microseconds.
        rcv_interval_us: u32,
        /// Round-trip time of this acknowledgment in microseconds; negative if unknown.
        rtt_us: i64,
        /// Segments newly marked lost by this acknowledgment.
        losses: u32,
        /// Segments newly acknowledged, cumulatively or selectively.
        acked_sacked: u32,
        /// Segments in flight before this acknowledgment.
        prior_in_flight: u32,
        /// Segments in flight when the newest delivered segment had been sent, itself among them; 0 without a sample.
        tx_in_flight: u32,
        /// Segments marked lost since the newest delivered segment was sent.
        lost: u32,
        /// The sender had nothing to send when the newest delivered segment left.
        is_app_limited: bool,
        /// The newest delivered segment was a retransmission.
        is_retrans: bool,
        /// The acknowledgment may have been delayed by the receiver.
        is_ack_delayed: bool,
        /// The acknowledgment carries ECE.
        is_ece: bool,
    }
}

told! {
    /// What `pkts_acked` is told.
    AckSample {
        /// Segments acknowledged.
        pkts_acked: u32,
        /// Round-trip time in microseconds; negative if unknown.
        rtt_us: i64,
        /// Segments in flight when the newest of them was sent.
        in_flight: u32,
    }
}

told! {
    /// A segment that was found lost.
    LostSegment {
        /// Offset of its first byte.
        start: u64,
        /// One past its last offset.
        end: u64,
        /// Segments in flight when it had been sent, itself among them.
        tx_in_flight: u32,
        /// Segments marked lost since it was sent, itself among them.
        lost: u32,
        /// The sender had nothing more to send when it left.
        is_app_limited: bool,
    }
}

told! {
    /// Facts about an acknowledgment before it is acted upon.
    AckEvent {
        /// It advances `snd_una` or selectively acknowledges data, in no unusual state.
        slow_path: bool,
        /// It changes the window.
        window_update: bool,
        /// It carries ECE.
        ece: bool,
    }
}

told! {
    /// Timestamps of the segment received last, in milliseconds from anywhere, wrapping.
    RxOpt {
        /// It carries them.
        saw_tstamp: bool,
        /// The peer's clock.
        rcv_tsval: u32,
        /// Our clock as the peer echoes it.
        rcv_tsecr: u32,
    }
}

members! {
    /// Where loss recovery stands.
    CaState {
        /// Nothing unusual.
        Open,
        /// Duplicate or selective acknowledgments, no segment presumed lost yet.
        Disorder,
        /// The window is being reduced without loss: ECN or a repaired tail.
        Cwr,
        /// Fast recovery.
        Recovery,
        /// After a retransmission timeout.
        Loss,
    }
}

members! {
    /// Things that happen to the window besides acknowledgments.
    CaEvent {
        /// First transmission when nothing was in flight.
        TxStart,
        /// The window was set after an idle period.
        CwndRestart,
        /// A window reduction ended.
        CompleteCwr,
        /// A retransmission timeout.
        Loss,
        /// A segment marked CE arrived.
        EcnIsCe,
        /// A segment without a mark arrived on an ECN-capable connection.
        EcnNoCe,
        /// A tail loss probe repaired a loss.
        TlpRecovery,
    }
}
