//! Which segments are lost: the one question that variants of loss recovery answer differently.
//!
//! A [`LossDetector`] looks at the scoreboard after an acknowledgment and marks records; the state
//! machine around it (`sender/alert.rs`) is the same for all. A new variant is a file here, a
//! choice in [`RecoveryKind`] and a line in [`make`].

mod classic;
mod newreno;
mod one_segment;
mod rack;
mod sack;

use crate::config::{Config, RecoveryKind};
use crate::congestion::TcpSock;
use crate::scoreboard::{Scoreboard, SendOrder, Sent};
use crate::stats::Stats;
use airtcp_core::{Duration, Instant};
use alloc::boxed::Box;
use core::fmt::Debug;

/// Segments that must overtake a hole before it counts as lost (RFC 5681, RFC 6675).
pub const DUP_THRESH: u32 = 3;

/// The newest segment an acknowledgment delivered.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Which transmission it was.
    pub order: SendOrder,
    /// Time from sending to its acknowledgment.
    pub rtt: Duration,
}

/// What an acknowledgment reported, as far as loss detection is concerned.
#[derive(Clone, Copy, Debug)]
pub struct AckView {
    /// Now.
    pub now: Instant,
    /// The cumulative acknowledgment advanced.
    pub una_advanced: bool,
    /// The newest segment delivered.
    pub newest: Option<Newest>,
    /// It is a duplicate: nothing more is acknowledged, or only selectively.
    pub duplicate: bool,
    /// A duplicate was reported.
    pub dsack: bool,
    /// A segment was seen overtaken by later ones and yet arrived.
    pub reordering_seen: bool,
    /// Offset of the oldest byte not acknowledged, and of the next to send.
    pub una: u64,
    /// See `una`.
    pub nxt: u64,
    /// Duplicates after which what was sent again is sent again once more.
    pub repeat_after: u32,
}

/// See the module.
pub trait LossDetector: Debug + Send {
    /// Marks lost segments. Returns when to check again if nothing arrives before.
    fn detect(&mut self, board: &mut Scoreboard, sk: &mut TcpSock, ack: &AckView, stats: &mut Stats)
    -> Option<Instant>;
    /// True if recovery ends with the first acknowledgment that advances, even in part (RFC 2581).
    fn ends_with_progress(&self) -> bool {
        false
    }
    /// True if duplicate acknowledgments before recovery let new segments out (RFC 3042).
    fn limited_transmit(&self) -> bool {
        true
    }
    /// True if a timeout should leave this segment alone: it is too young to be lost.
    fn spares(&self, _sent: &Sent, _sk: &TcpSock, _now: Instant) -> bool {
        false
    }
    /// True if a timeout retransmits the oldest segment regardless of the window, which the segments not marked lost
    /// fill.
    fn forces_after_timeout(&self) -> bool {
        false
    }
    /// True if the sender probes a silent tail.
    fn probes_tail(&self) -> bool {
        false
    }
    /// A segment not marked lost that may be sent again because nothing else can be.
    fn rescue(&mut self, _board: &Scoreboard, _recovery_point: u64) -> Option<usize> {
        None
    }
    /// A hole was filled by its first transmission although it had been retransmitted.
    fn on_reordering(&mut self) {}
    /// Recovery ended.
    fn on_recovered(&mut self) {}
}

/// The detector for a connection; without SACK only NewReno and its elders can work.
pub fn make(config: &Config, has_sack: bool) -> Box<dyn LossDetector> {
    match config.recovery {
        RecoveryKind::OneSegment => Box::new(one_segment::OneSegment::new(config, has_sack)),
        RecoveryKind::Rack if has_sack => Box::new(rack::Rack::default()),
        RecoveryKind::Sack if has_sack => Box::new(sack::Sack::default()),
        RecoveryKind::Reno => Box::new(classic::Reno),
        RecoveryKind::Tahoe => Box::new(classic::Tahoe),
        RecoveryKind::Rack | RecoveryKind::Sack | RecoveryKind::NewReno => Box::new(newreno::NewReno),
    }
}
