//! Opening (RFC 9293 section 3.5): options offered and agreed, SYN retransmission, simultaneous open.

use super::{CloseReason, Connection, State, reset_reply};
use crate::config::{MIN_MSS, default_mss};
use crate::sequence::Sequence;
use crate::timers::Timer;
use airtcp_core::{Duration, Instant, Packet, TcpFlags, TcpHeader, TcpOptions};

/// After an answer to what we never sent the SYN is sent again soon (Linux `TCP_TIMEOUT_MIN`).
const SYN_AFTER_STRAY: Duration = Duration::from_millis(2);

impl Connection {
    /// The options of our SYN: those that the configuration offers; in an answer, only those that the peer offered,
    /// too.
    pub(super) fn syn_options(&self, now: Instant) -> TcpOptions {
        let answers = self.state == State::SynReceived;
        TcpOptions {
            mss: Some(self.terms.announced_mss),
            window_scale: if answers {
                self.options.our_shift
            } else {
                self.terms.window_scaling.then(|| self.receiver.window.wanted_shift())
            },
            sack_permitted: if answers { self.options.sack } else { self.terms.offers_sack },
            timestamps: (if answers { self.options.timestamps } else { self.terms.timestamps })
                .then(|| self.options.stamp(now)),
            ..TcpOptions::default()
        }
    }

    /// The ECN bits of our SYN (RFC 3168 section 6.1.1).
    pub(super) fn syn_ecn_flags(&self) -> TcpFlags {
        match self.state {
            State::SynReceived if self.options.ecn => TcpFlags::ECE,
            State::SynSent if self.terms.ecn && self.syn_retries == 0 => TcpFlags::ECE.with(TcpFlags::CWR),
            _ => TcpFlags::default(),
        }
    }

    /// Takes the peer's SYN: numbering, options, window.
    pub(super) fn take_peer_syn(&mut self, tcp: &TcpHeader) {
        self.peer_sequence = Sequence::new(tcp.sequence);
        let theirs = &tcp.options;
        self.options.timestamps = self.terms.timestamps && theirs.timestamps.is_some();
        self.options.sack = self.terms.offers_sack && theirs.sack_permitted;
        let scales = self.terms.window_scaling && theirs.window_scale.is_some();
        self.options.our_shift = scales.then(|| self.receiver.window.wanted_shift());
        self.receiver.window.set_shift(self.options.our_shift.unwrap_or(0));
        let may_answer = self.terms.ecn_answer && !tcp.flags.ack();
        self.options.ecn = (self.terms.ecn || may_answer) && tcp.flags.ece() && (tcp.flags.cwr() != tcp.flags.ack());
        if let Some(stamp) = theirs.timestamps.filter(|_| self.options.timestamps) {
            self.options.note(stamp, 0, Instant::ZERO);
        }
        let is_ipv4 = self.flow.source.is_ipv4();
        let theirs_mss = theirs.mss.map_or(default_mss(is_ipv4), u32::from).max(MIN_MSS);
        let mss = theirs_mss.min(u32::from(self.terms.announced_mss));
        self.sender.sk.mss_cache = mss - if self.options.timestamps { 12 } else { 0 };
        let shift = if scales { theirs.window_scale.unwrap_or(0) } else { 0 };
        self.sender.peer.start(tcp.window, shift, 1);
    }

    /// A segment while our SYN is out and the peer's has not come (RFC 9293 section 3.10.7.3).
    #[cold]
    pub(super) fn handle_in_syn_sent(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader) {
        let ours = self.sender.sequence;
        if tcp.flags.ack() && tcp.acknowledgment != ours.at(1) {
            self.stats.rejected_segments += 1;
            self.stray_reply = reset_reply(packet);
            if self.syn_retries == 0 {
                // The peer has an old connection of ours; it forgets it by our RST.
                self.timers.start(Timer::Retransmit, now, SYN_AFTER_STRAY);
            }
            return;
        }
        if tcp.flags.rst() {
            if tcp.flags.ack() {
                self.finish(CloseReason::Reset);
            }
            return;
        }
        if !tcp.flags.syn() {
            self.stats.rejected_segments += 1;
            return;
        }
        self.take_peer_syn(tcp);
        if tcp.flags.ack() {
            self.establish(now, packet);
            self.receiver.acks.owe_now();
        } else {
            // Simultaneous open: both SYNs cross; ours is sent again with an acknowledgment.
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    /// Our SYN is acknowledged by `packet`.
    #[cold]
    pub(super) fn establish(&mut self, now: Instant, packet: &Packet) {
        self.state = State::Established;
        self.syn_due = false;
        self.timers.stop(Timer::Retransmit);
        self.sender.ecn = self.options.ecn && self.sender.controller.answers_marks();
        self.sample_handshake(now, packet);
        self.sender.start(self.options.sack, now);
        self.options.last_ack_sent = self.options.last_ack_sent.max(1);
        self.start_keepalive(now);
        if self.sender.closing {
            self.state = State::FinWait1;
        }
    }

    /// The handshake's round-trip time, or what its loss means (RFC 6298 section 5.7, RFC 5681 section 3.1).
    fn sample_handshake(&mut self, now: Instant, packet: &Packet) {
        self.sender.sk.tcp_mstamp = now;
        let echo = packet.tcp().and_then(|tcp| tcp.options.timestamps).filter(|_| self.options.timestamps);
        let rtt = if self.syn_transmissions <= 1 {
            Some(now.saturating_since(self.syn_sent_at))
        } else {
            let elapsed = echo.map(|stamp| self.options.clock(now).wrapping_sub(stamp.echo));
            elapsed.filter(|ms| (*ms as i32) >= 0).map(|ms| Duration::from_millis(u64::from(ms.max(1))))
        };
        if let Some((spacing, rtt)) = self.receiver.acks.spacing.as_mut().zip(rtt) {
            spacing.on_sample(rtt);
        }
        match rtt {
            Some(rtt) => {
                self.sender.rtt.on_sample(&mut self.sender.sk, rtt, rtt, 0, 1);
                self.stats.rtt_samples += 1;
                self.stats.latest_rtt = rtt;
            }
            None => {
                self.sender.rtt.forget_timeouts();
                self.sender.rtt.set_base(Duration::from_secs(3).max(self.terms.initial_rto));
            }
        }
        // As Linux: one lost SYN may be chance, two say that the path is in trouble.
        if self.syn_retries > 1 {
            self.sender.sk.snd_cwnd = 1;
        }
    }

    /// Our SYN was not answered in time. False if the peer must be given up.
    pub(super) fn handle_syn_timeout(&mut self, now: Instant) -> bool {
        let linear = if self.state == State::SynSent { self.terms.syn_linear_timeouts } else { 0 };
        let most = self.terms.syn_retries.saturating_add(linear);
        if self.syn_retries >= most || linear > 0 && self.has_waited_for_syns(now) {
            return false;
        }
        self.syn_retries += 1;
        if self.syn_retries > linear {
            self.sender.rtt.back_off();
        }
        self.stats.rtos += 1;
        self.stats.retransmitted_segments += 1;
        self.syn_due = true;
        true
    }

    /// Our first SYN was sent as long ago as all `syn_retries` take if each interval is twice the one before, and has
    /// been sent again (Linux `retransmits_timed_out()`).
    fn has_waited_for_syns(&self, now: Instant) -> bool {
        let time = self.sender.rtt.time_of(self.terms.syn_retries, self.terms.initial_rto);
        self.syn_retries > 0 && now.saturating_since(self.first_syn_at) >= time
    }
}
