//! What ends a connection whose peer is gone: keepalive (RFC 1122 section 4.2.3.6), and how long one waits that the
//! application has left (Linux `tcp_keepalive_timer()`, `tcp_orphan_retries()`, `tcp_fin_time()`).

use super::{CloseReason, Connection, State};
use crate::sender::Limits;
use crate::timers::Timer;
use airtcp_core::{Duration, Instant};

/// Probes and timeouts that are left to an orphan while its wait is not the longest one yet; none once it is.
const ORPHAN_RETRIES: u32 = 8;
/// Nothing is looked at more often.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// How long a connection goes on that the application has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Wait for the peer's FIN in FIN-WAIT-2, three and a half RTOs at least (Linux `tcp_fin_timeout`, `TCP_LINGER2`).
    pub fin_timeout: Duration,
    /// Probes of a closed window, and timeouts as for `max_retries`. `None` is eight while the wait is below the longest
    /// RTO, and none then (Linux `tcp_orphan_retries`).
    pub retries: Option<u32>,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { fin_timeout: Duration::from_secs(60), retries: None }
    }
}

impl Connection {
    /// Nobody will read or write any more: closes our direction once everything written is sent. Data that nobody has
    /// read, or that come later, are lost, and the peer is told by a RST (RFC 1122 section 4.2.2.13).
    pub fn close(&mut self, now: Instant) {
        self.close_with(now, Patience::default());
    }

    /// The same, with other limits.
    pub fn close_with(&mut self, now: Instant, patience: Patience) {
        if self.receiver.readable() > 0 {
            return self.abort();
        }
        self.orphan = Some(patience);
        self.sender.is_orphan = true;
        if self.state == State::FinWait2 {
            self.await_fin(now);
        }
        self.shutdown();
    }

    /// Our FIN is acknowledged, the peer's has not come.
    #[cold]
    pub(super) fn enter_fin_wait_2(&mut self, now: Instant) {
        self.state = State::FinWait2;
        self.await_fin(now);
    }

    /// The application that has left does not wait for ever; one that still reads may.
    fn await_fin(&mut self, now: Instant) {
        let Some(Patience { fin_timeout, .. }) = self.orphan else { return };
        let rto = self.sender.rtt.rto();
        let least = rto.saturating_mul(4).saturating_sub(rto / 2);
        self.timers.start(Timer::Silence, now, fin_timeout.max(least));
    }

    /// How long the peer may be silent, if the next wait for it takes `wait`.
    pub(super) fn limits(&self, wait: Duration) -> Limits {
        let probes = match self.orphan {
            None => self.terms.max_retries,
            Some(Patience { retries: Some(retries), .. }) => retries,
            Some(_) if wait < self.terms.max_rto => ORPHAN_RETRIES,
            Some(_) => 0,
        };
        let time = self.sender.rtt.time_of(probes, self.terms.min_rto);
        Limits { probes, time, doublings: self.terms.max_retries }
    }

    /// Data may flow: begins to watch whether the peer is there, if that is wanted.
    pub(super) fn start_keepalive(&mut self, now: Instant) {
        if self.terms.keepalive {
            self.timers.start(Timer::Silence, now, self.terms.keepalive_time.max(LEAST_WAIT));
        }
    }

    /// The timer of silence ran out: what it is for follows from the state.
    pub(super) fn handle_silence_timeout(&mut self, now: Instant) {
        match self.state {
            State::TimeWait => self.finish(CloseReason::Finished),
            State::FinWait2 if self.orphan.is_some() => self.finish(CloseReason::TimedOut),
            _ => self.keep_alive(now),
        }
    }

    fn keep_alive(&mut self, now: Instant) {
        let (time, interval) = (self.terms.keepalive_time, self.terms.keepalive_interval);
        // Until something is to be sent again this is when the last acknowledgment came; each segment carries one.
        let silence = now.saturating_since(self.sender.sk.tcp_mstamp);
        let wait = if self.sender.has_something_to_send() {
            // What repeats it finds out.
            time
        } else if silence < time {
            time.saturating_sub(silence)
        } else if self.sender.unanswered_probes() < self.terms.keepalive_probes {
            self.sender.ask_peer(now);
            interval
        } else {
            self.reset_due = true;
            return self.finish(CloseReason::TimedOut);
        };
        self.timers.start(Timer::Silence, now, wait.max(LEAST_WAIT));
    }
}
