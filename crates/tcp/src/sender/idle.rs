//! Congestion window validation (RFC 7661's concern, RFC 2861's method, as Linux): a window that
//! the application does not use says nothing about the path any more.

use super::Sender;
use crate::congestion::{CaEvent, CaState};
use airtcp_core::Instant;

/// How the window was used of late.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowUse {
    enabled: bool,
    initial_window: u32,
    /// Most segments out since the window was last full.
    used: u32,
    /// When the window was last full, or changed.
    stamp: Instant,
    /// Whether the window limits sending is judged anew from this offset on.
    judged_until: u64,
}

impl WindowUse {
    pub(super) fn new(enabled: bool, initial_window: u32) -> Self {
        WindowUse { enabled, initial_window, used: 0, stamp: Instant::ZERO, judged_until: 0 }
    }

    pub(super) fn changed(&mut self, now: Instant) {
        self.stamp = now;
    }
}

impl Sender {
    fn is_window_validated(&self) -> bool {
        self.window_use.enabled && !self.has_cong_control
    }

    /// Before data leave: after more than an RTO of silence the window shrinks to what [`Sender::window_after_idle`] says.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        if self.has_been_idle(now) {
            self.restart_window(now);
        }
    }

    #[cold]
    fn restart_window(&mut self, now: Instant) {
        self.controller.cwnd_event(&mut self.sk, CaEvent::CwndRestart);
        self.sk.snd_ssthresh = self.sk.tcp_current_ssthresh();
        self.sk.snd_cwnd = self.window_after_idle(now);
        (self.window_use.used, self.window_use.stamp) = (0, now);
    }

    fn has_been_idle(&self, now: Instant) -> bool {
        if self.sk.packets_out > 0 {
            return false;
        }
        let (rto, idle) = (self.rtt.rto(), self.sk.elapsed(self.sk.lsndtime, now));
        idle > rto && !rto.is_zero() && self.is_window_validated()
    }

    /// The window that data sent now would find: halved for each RTO that passed in silence, down to the initial one
    /// (RFC 5681 section 4.1; Linux `tcp_cwnd_restart()`).
    pub(super) fn window_after_idle(&self, now: Instant) -> u32 {
        let mut window = self.sk.snd_cwnd;
        if !self.has_been_idle(now) {
            return window;
        }
        let rto = self.rtt.rto();
        let mut idle = self.sk.elapsed(self.sk.lsndtime, now).saturating_sub(rto);
        let least = self.window_use.initial_window.min(window);
        while !idle.is_zero() && window > least {
            window >>= 1;
            idle = idle.saturating_sub(rto);
        }
        window.max(least)
    }

    /// After data left: notes whether the window limits sending (Linux `tcp_cwnd_validate()`), because it is full or
    /// because what it lets out waits (`is_held_back`), and takes half of what was not used for an RTO.
    pub(super) fn validate_window(&mut self, is_held_back: bool, now: Instant) {
        let is_limited = is_held_back || self.sk.tcp_packets_in_flight() >= self.sk.snd_cwnd;
        let is_stronger = !self.sk.is_cwnd_limited && self.sk.packets_out > self.sk.max_packets_out;
        if self.una >= self.window_use.judged_until || is_limited || is_stronger {
            self.sk.is_cwnd_limited = is_limited;
            self.sk.max_packets_out = self.sk.packets_out;
            self.window_use.judged_until = self.nxt;
        }
        if self.sk.tcp_is_cwnd_limited() {
            (self.window_use.used, self.window_use.stamp) = (0, now);
        } else {
            self.note_unlimited(now);
        }
    }

    #[inline(never)]
    fn note_unlimited(&mut self, now: Instant) {
        self.window_use.used = self.window_use.used.max(self.sk.packets_out);
        if self.sk.elapsed(self.window_use.stamp, now) >= self.rtt.rto() && self.is_window_validated() {
            self.take_unused_window();
            self.window_use.stamp = now;
        }
    }

    /// Data wait for the window, though none left: it limits sending, which Linux notes then, too.
    #[inline]
    pub(super) fn note_held_back(&mut self, now: Instant) {
        if self.follows_linux && self.unsent() > 0 && self.sk.tcp_packets_in_flight() >= self.sk.snd_cwnd {
            self.validate_window(true, now);
        }
    }

    /// What holds a sender back that its window does not: the application, unless the peer's window leaves it waiting
    /// (Linux `SOCK_NOSPACE`). Within a burst that is known only of a sender that is looked at once it has left.
    fn is_application_limited(&self) -> bool {
        self.unsent() == 0 || self.follows_linux && self.next_fits_peer()
    }

    fn take_unused_window(&mut self) {
        if self.sk.icsk_ca_state != CaState::Open || !self.is_application_limited() {
            return;
        }
        let used = self.window_use.used.max(self.window_use.initial_window);
        if used < self.sk.snd_cwnd {
            self.sk.snd_ssthresh = self.sk.tcp_current_ssthresh();
            self.sk.snd_cwnd = self.sk.snd_cwnd.midpoint(used);
        }
        self.window_use.used = 0;
    }
}
