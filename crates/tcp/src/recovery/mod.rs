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

use crate::config::{Config, Holes, RecoveryKind};
use crate::congestion::TcpSock;
use crate::scoreboard::Scoreboard;
use crate::sent::{SendOrder, Sent};
use crate::stats::Stats;
use airtcp_core::{Duration, Instant};
use alloc::boxed::Box;
use core::fmt::Debug;

/// Segments that must overtake a hole before it counts as lost (RFC 5681, RFC 6675).
pub const DUP_THRESH: u32 = 3;

/// What an acknowledgment delivered.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// The transmission of the segment sent last.
    pub order: SendOrder,
    /// Time from sending to acknowledgment of the segment looked at last: the highest, and those acknowledged
    /// cumulatively after those SACKed.
    pub rtt: Duration,
}

/// What an acknowledgment reported, as far as loss detection is concerned.
#[derive(Clone, Copy, Debug)]
pub struct AckView {
    /// Now.
    pub now: Instant,
    /// The cumulative acknowledgment advanced.
    pub una_advanced: bool,
    /// It is a duplicate: nothing more is acknowledged, or only selectively.
    pub duplicate: bool,
    /// Duplicates after which what was sent again is sent again once more.
    pub repeat_after: u32,
}

/// See the module.
pub trait LossDetector: Debug + Send {
    /// Segments were delivered: what happens before [`LossDetector::detect`] is asked.
    fn on_delivered(&mut self, _newest: Newest) {}
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
    fn spares(&self, _sent: &Sent, _now: Instant) -> bool {
        false
    }
    /// True if never more retransmissions are in flight than segments are lost.
    fn limits_repairs(&self) -> bool {
        false
    }
    /// True if it asks in which order segments were sent, or how much had been delivered then: whoever is told of rounds, or marks
    /// segments by either.
    fn reads_order(&self) -> bool {
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
    /// A segment was seen overtaken by later ones and yet arrived.
    fn on_reordering(&mut self) {}
    /// A segment that was sent again arrived twice.
    fn on_duplicate(&mut self) {}
    /// An acknowledgment after one that reported a duplicate. The newest segment that it delivered was sent when `delivered_then`
    /// segments had been delivered; now `delivered` have been.
    fn on_round(&mut self, _delivered_then: u32, _delivered: u32) {}
    /// A reduction was taken back, because of duplicates or otherwise: what was judged may be judged again.
    fn on_undone(&mut self, _by_duplicates: bool) {}
    /// Recovery ended, and the reduction stays.
    fn on_recovered(&mut self) {}
    /// [`LossDetector::detect`] will look at everything again.
    fn look_again(&mut self) {}
}

/// What a configuration says of it.
#[derive(Clone, Copy, Debug)]
pub struct Repair {
    kind: RecoveryKind,
    /// See [`Config::repair_holes`].
    holes: Holes,
    /// See [`Config::repair_again`].
    again: bool,
}

impl Repair {
    /// What `config` says.
    pub fn of(config: &Config) -> Repair {
        Repair { kind: config.recovery, holes: config.repair_holes, again: config.repair_again }
    }
}

/// The detector for a connection; without SACK only NewReno and its elders can work.
pub fn make(repair: Repair, has_sack: bool) -> Box<dyn LossDetector> {
    match repair.kind {
        RecoveryKind::OneSegment => Box::new(one_segment::OneSegment::new(repair, has_sack)),
        RecoveryKind::Rack if has_sack => Box::new(rack::Rack::default()),
        RecoveryKind::Sack if has_sack => Box::new(sack::Sack::default()),
        RecoveryKind::Reno => Box::new(classic::Reno),
        RecoveryKind::Tahoe => Box::new(classic::Tahoe),
        RecoveryKind::Rack => Box::new(newreno::NewReno { adapts: true }),
        RecoveryKind::Sack | RecoveryKind::NewReno => Box::new(newreno::NewReno { adapts: false }),
    }
}
