//! What is asked of a peer that keeps its window closed (RFC 9293 section 3.8.6.1, RFC 1122 section 4.2.2.17) or says
//! nothing, and when asking ends (Linux `tcp_probe_timer()`, `tcp_ack_probe()`).

use super::{Sender, Step};
use crate::timers::Timer;
use airtcp_core::{Duration, Instant};

/// How long a peer may be silent.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Probes in a row that it leaves unanswered.
    pub probes: u32,
    /// Time from the first timeout on.
    pub time: Duration,
    /// Times that probes double the wait for the next.
    pub doublings: u32,
}

/// What was asked of the peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    /// An acknowledgment may change something here.
    pub(super) is_active: bool,
    /// Probes of the window since it was open last: each doubles the wait for the next.
    backoff: u32,
    /// Probes since the peer was heard of last (Linux `icsk_probes_out`).
    unanswered: u32,
    /// When the first of these was sent.
    since: Instant,
}

impl Probing {
    fn asked(&mut self, now: Instant) {
        if self.unanswered == 0 {
            self.since = now;
        }
        self.unanswered += 1;
        self.is_active = true;
    }

    fn silence(&self, now: Instant) -> Duration {
        if self.unanswered == 0 { Duration::ZERO } else { now.saturating_since(self.since) }
    }
}

impl Sender {
    /// Something written, or FIN, was never sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.closing && !self.fin_sent
    }

    /// Probes of any kind since the peer was heard of last.
    pub fn unanswered_probes(&self) -> u32 {
        self.probing.unanswered
    }

    /// Time until the next probe of the window, or until asking ends.
    pub fn probe_wait(&self) -> Duration {
        self.rtt.backed_off(self.probing.backoff)
    }

    /// Has a segment below the window leave, which the peer answers.
    pub fn ask_peer(&mut self, now: Instant) {
        self.probing.asked(now);
        self.peer_probe_due = true;
    }

    /// Keeps the zero-window probe armed exactly while nothing is in flight and the peer's window does not allow
    /// waiting data to be sent.
    pub(super) fn update_persist(&mut self, step: &mut Step) {
        if !self.board.is_empty() || !self.has_unsent() {
            step.timers.stop(Timer::Persist);
        } else if step.timers.deadline(Timer::Persist).is_none() {
            step.timers.start(Timer::Persist, step.now, self.probe_wait());
            self.probing.is_active = true;
        }
    }

    /// The window stayed closed: probe it. False if the peer must be given up.
    pub fn handle_persist_timeout(&mut self, limits: &Limits, step: &mut Step) -> bool {
        self.tso.look_again();
        let Probing { backoff, unanswered, .. } = self.probing;
        // Where waits do not double, so many probes are over in no time.
        let is_silent =
            unanswered >= limits.probes && (self.rtt.backs_off() || self.probing.silence(step.now) >= limits.time);
        // An orphan does not wait for ever, not even for a peer that answers.
        let is_too_long = self.is_orphan && backoff >= limits.probes && self.probe_wait() >= self.rtt.longest();
        if is_silent || is_too_long {
            return false;
        }
        self.ask_peer(step.now);
        self.probing.backoff = (backoff + 1).min(limits.doublings);
        true
    }

    /// The peer was heard of (Linux `tcp_ack_probe()`). Looks for it only while there is something to ask.
    #[inline]
    pub(super) fn note_heard(&mut self, step: &mut Step) {
        if self.probing.is_active {
            self.take_answer(step);
        }
    }

    #[cold]
    fn take_answer(&mut self, step: &mut Step) {
        self.probing.unanswered = 0;
        let least = self.unsent().min(u64::from(self.sk.mss_cache)).max(1);
        let waits = self.board.is_empty() && self.has_unsent() && self.nxt + least > self.peer.edge;
        if !waits {
            self.probing = Probing::default();
            step.timers.stop(Timer::Persist);
        } else {
            step.timers.start(Timer::Persist, step.now, self.probe_wait());
        }
    }

    /// The retransmission timer ran out while the window was closed: what is sent again is a probe, too. False if
    /// nothing was heard for twice the longest RTO (Linux `tcp_rtx_probe0_timed_out()`).
    pub(super) fn retransmission_is_probe(&mut self, now: Instant) -> bool {
        if self.probing.silence(now) > self.rtt.longest().saturating_mul(2) {
            return false;
        }
        self.probing.asked(now);
        true
    }
}
