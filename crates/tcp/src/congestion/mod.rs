//! Congestion control behind Linux's hook names (`struct tcp_congestion_ops`), so that a file here
//! and its BPF twin read side by side.
//!
//! A [`Controller`] sees the connection as a [`TcpSock`] whose fields carry Linux's names and
//! units: windows in segments, times in microseconds or in jiffies of a millisecond. Loss
//! detection, window reduction during recovery and pacing stay outside: a controller says what
//! `ssthresh` becomes and how the window grows, or takes over both in [`Controller::cong_control`].

mod bandwidth;
mod bbr;
mod bbr3;
mod blind45;
mod choice;
mod cubic;
mod dctcp;
mod entry;
mod hystart;
mod minmax;
pub mod newzag;
mod reno;
mod settings;
mod sock;
#[cfg(test)]
mod test_path;
mod unlimited;
mod vegas;
mod veno;
mod westwood;
mod zigzag;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use blind45::Blind45;
pub use choice::ControllerChoice;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use entry::{CONTROLLERS, ControllerEntry, RENO, find};
pub use newzag::Newzag;
pub use reno::Reno;
pub use settings::{ControllerSettings, plain, settings_for};
pub use sock::{CaState, Pacing, RxOpt, TCP_INFINITE_SSTHRESH, TcpSock};
pub use unlimited::Unlimited;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use zigzag::{Zigzag, zigzag};

use core::fmt::Debug;

/// What one acknowledgment showed about the delivery rate (Linux `struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// When the newest delivered segment was sent, `delivered` stood at [`RateSample::prior_delivered`]
    /// since this many microseconds on the run's clock; 0 without a sample.
    pub prior_mstamp_us: u64,
    /// `delivered` when the newest delivered segment was sent.
    pub prior_delivered: u32,
    /// Segments delivered over the interval; negative without a sample.
    pub delivered: i32,
    /// Length of the interval in microseconds; negative without a sample.
    pub interval_us: i64,
    /// Sending side of the interval, microseconds.
    pub snd_interval_us: u32,
    /// Acknowledging side of the interval, microseconds.
    pub rcv_interval_us: u32,
    /// Round-trip time of this acknowledgment in microseconds; negative if unknown.
    pub rtt_us: i64,
    /// Segments newly marked lost by this acknowledgment.
    pub losses: u32,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked_sacked: u32,
    /// Segments in flight before this acknowledgment.
    pub prior_in_flight: u32,
    /// Segments in flight when the newest delivered segment had been sent, itself among them; 0 without a sample.
    pub tx_in_flight: u32,
    /// Segments marked lost since the newest delivered segment was sent.
    pub lost: u32,
    /// The sender had nothing to send when the newest delivered segment left.
    pub is_app_limited: bool,
    /// The newest delivered segment was a retransmission.
    pub is_retrans: bool,
    /// The acknowledgment may have been delayed by the receiver.
    pub is_ack_delayed: bool,
    /// The acknowledgment carries ECE.
    pub is_ece: bool,
}

/// What [`Controller::pkts_acked`] is told (Linux `struct ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments acknowledged.
    pub pkts_acked: u32,
    /// Round-trip time in microseconds; negative if unknown.
    pub rtt_us: i64,
    /// Segments in flight when the newest of them was sent.
    pub in_flight: u32,
}

/// A segment that was found lost (draft-ietf-ccwg-bbr section 5.5.10.2).
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Offset of its first byte.
    pub start: u64,
    /// One past its last offset.
    pub end: u64,
    /// Segments in flight when it had been sent, itself among them.
    pub tx_in_flight: u32,
    /// Segments marked lost since it was sent, itself among them.
    pub lost: u32,
    /// The sender had nothing more to send when it left.
    pub is_app_limited: bool,
}

/// Things that happen to the window besides acknowledgments (Linux `enum tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaEvent {
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

/// Facts about an acknowledgment before it is acted upon (Linux `enum tcp_ca_ack_event_flags`).
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    /// It advances `snd_una` or selectively acknowledges data, in no unusual state.
    pub slow_path: bool,
    /// It changes the window.
    pub window_update: bool,
    /// It carries ECE.
    pub ece: bool,
}

/// A congestion controller: Linux's `struct tcp_congestion_ops` as a trait.
pub trait Controller: Debug + Send {
    /// The connection is established; round-trip time may be known already.
    fn init(&mut self, _sk: &mut TcpSock) {}
    /// The connection is over.
    fn release(&mut self, _sk: &mut TcpSock) {}
    /// The slow start threshold after a loss, in segments.
    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32;
    /// The same after the first mark of a window (RFC 8511 allows it to differ).
    fn ssthresh_after_mark(&mut self, sk: &mut TcpSock) -> u32 {
        self.ssthresh(sk)
    }
    /// Grows the window for `acked` segments acknowledged up to `sk.snd_una`.
    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32);
    /// True if [`Controller::cong_control`] replaces growth and reduction.
    fn has_cong_control(&self) -> bool {
        false
    }
    /// Sets window and pacing rate from a delivery rate sample, in place of `cong_avoid` and of
    /// the reduction during recovery. Only where [`Controller::has_cong_control`] says so are samples kept whole.
    fn cong_control(&mut self, _sk: &mut TcpSock, _sample: &RateSample) {}
    /// False if it never reads the pacing rate: who does not pace need not keep it, then.
    fn reads_pacing_rate(&self) -> bool {
        true
    }
    /// Segments left the network and their round-trip time may be known.
    fn pkts_acked(&mut self, _sk: &mut TcpSock, _sample: &AckSample) {}
    /// The recovery state is about to become `new`; `sk.icsk_ca_state` is still the old one.
    fn set_state(&mut self, _sk: &mut TcpSock, _new: CaState) {}
    /// See [`CaEvent`].
    fn cwnd_event(&mut self, _sk: &mut TcpSock, _event: CaEvent) {}
    /// See [`AckEvent`].
    fn in_ack_event(&mut self, _sk: &mut TcpSock, _event: AckEvent) {}
    /// True if each lost segment is told of by [`Controller::segment_lost`].
    fn wants_losses(&self) -> bool {
        false
    }
    /// A segment was found lost; called once the state of recovery has changed for it.
    fn segment_lost(&mut self, _sk: &mut TcpSock, _lost: &LostSegment) {}
    /// True if it does not work without ECN: ECN is asked for, every segment can be marked, and marks of segments that
    /// arrive are echoed one by one (RFC 8257; Linux `TCP_CONG_NEEDS_ECN`).
    fn needs_ecn(&self) -> bool {
        false
    }
    /// False if it has no answer to marks: its segments cannot be marked, even if ECN is asked for.
    fn answers_marks(&self) -> bool {
        true
    }
    /// The window to return to when a reduction proved unnecessary.
    fn undo_cwnd(&mut self, sk: &mut TcpSock) -> u32 {
        sk.snd_cwnd.max(sk.prior_cwnd)
    }
    /// Smallest burst in segments that pacing releases at once.
    fn min_tso_segs(&mut self, _sk: &mut TcpSock) -> u32 {
        2
    }
    /// The send buffer is so many windows, if it follows them.
    fn sndbuf_expand(&self) -> u32 {
        2
    }
    /// What it counted so far, by name, always the same names in the same order.
    fn get_info(&self, _see: &mut dyn FnMut(&'static str, u64)) {}
}
