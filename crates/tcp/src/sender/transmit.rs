//! What to send next: lost segments first, then new data as both windows allow, then FIN.

use super::{Sender, Step};
use crate::congestion::{CaEvent, CaState};
use crate::connection::Clock;
use crate::sent::{Sent, mark};
use crate::timers::Timer;
use airtcp_core::{Instant, TcpFlags};

/// One data segment to send now.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes of payload.
    pub len: u32,
    /// FIN where it stands behind the payload, PSH where nothing that is written is left behind it.
    pub flags: TcpFlags,
    /// It was sent before.
    pub is_retransmission: bool,
    /// The window is full with it, and nothing is sent whatever the window says: another poll would return nothing.
    pub is_last: bool,
}

/// The flags of a segment with data, besides those that tell of what was received.
fn data_flags(fin: bool, push: bool) -> TcpFlags {
    let (fin, push) =
        (if fin { TcpFlags::FIN } else { TcpFlags::default() }, if push { TcpFlags::PSH } else { TcpFlags::default() });
    fin.with(push)
}

impl Sender {
    /// The next data segment, if any may leave now. `clock` is that of our timestamps.
    pub fn poll(&mut self, clock: Clock, step: &mut Step) -> Option<Transmission> {
        self.sk.tcp_mstamp = step.now;
        if core::mem::take(&mut self.head_due) && !self.board.is_empty() {
            let head = self.retransmit(0, clock, step);
            self.end_burst();
            return head;
        }
        if self.probe.due && !self.probes_with_new_data() {
            let probe = self.send_probe(step);
            self.end_burst();
            return probe;
        }
        if let Some(at) = self.paced_until(step.now) {
            if core::mem::take(&mut self.probe.due) {
                // New data that pacing holds back are no probe: the oldest segment's time goes on.
                self.rearm(true, step);
            }
            if self.board.has_waiting() || self.unsent() > 0 {
                step.timers.set(Timer::Pacing, at);
            }
            return None;
        }
        let transmission = self.choose(clock, step);
        if transmission.is_none() {
            self.end_burst();
            self.update_persist(step);
        }
        transmission
    }

    /// Bytes of new full segments that the congestion window and the peer's window let out; pacing is left aside.
    pub fn room(&self, now: Instant) -> u64 {
        if self.fin_sent || self.nxt == 0 {
            return 0;
        }
        let mss = u64::from(self.sk.mss_cache);
        let segments = self.window_after_idle(now).saturating_sub(self.in_flight());
        let taken = self.peer.edge.saturating_sub(self.nxt) / mss.max(1);
        u64::from(segments).min(taken) * mss
    }

    /// True if the next segment with data will be one that was sent before.
    pub fn is_retransmission_due(&self) -> bool {
        let is_open = self.sk.snd_cwnd > self.in_flight() && self.may_repair() || self.force_retransmit;
        self.probe.due || self.head_due || is_open && self.board.has_waiting() && !self.frto.holds()
    }

    /// What is known lost may be sent again as far as the window allows (Linux `tcp_xmit_retransmit_queue()`).
    fn may_repair(&self) -> bool {
        !(self.holds_repairs || self.detector.limits_repairs() && self.sk.retrans_out >= self.sk.lost_out)
    }

    fn choose(&mut self, clock: Clock, step: &mut Step) -> Option<Transmission> {
        if self.probe.due {
            return self.send_probe(step);
        }
        let in_flight = self.sk.tcp_packets_in_flight();
        let quota = self.sk.snd_cwnd.saturating_sub(in_flight + self.held_out());
        if self.frto.holds() {
            let new = if quota > 0 { self.send_new(in_flight, false, step) } else { None };
            if new.is_none() {
                self.give_up_frto();
            }
            if new.is_some() || self.frto.holds() {
                return new;
            }
        }
        if self.board.has_waiting()
            && (quota > 0 && self.may_repair() || self.force_retransmit)
            && let Some(index) = self.board.next_waiting()
        {
            let start = self.board.record(index)?.start;
            // If the peer shrank its window, data beyond it must wait, except the oldest segment.
            if start < self.peer.edge || start == self.una {
                self.force_retransmit = false;
                return self.retransmit(index, clock, step);
            }
        }
        if quota == 0 {
            self.note_held_back(step.now);
            return None;
        }
        if self.tso.on && self.waits_for_burst(quota, step.now) {
            return None;
        }
        if let Some(new) = self.send_new(in_flight, false, step) {
            return Some(new);
        }
        if self.sk.icsk_ca_state == CaState::Recovery {
            let index = self.detector.rescue(&self.board, self.high_seq)?;
            return self.retransmit(index, clock, step);
        }
        None
    }

    /// What counts against the window.
    fn in_flight(&self) -> u32 {
        self.sk.tcp_packets_in_flight() + self.held_out()
    }

    /// What counts besides what is in flight: before limited transmit (RFC 3042) a duplicate acknowledgment outside recovery
    /// let nothing out.
    fn held_out(&self) -> u32 {
        let sacked = self.sk.sacked_out;
        let is_held = sacked > 0 && self.sk.icsk_ca_state < CaState::Recovery && !self.detector.limited_transmit();
        if is_held { sacked } else { 0 }
    }

    /// Retransmits the segment of the record at `index`.
    #[inline(never)]
    fn retransmit(&mut self, index: usize, clock: Clock, step: &mut Step) -> Option<Transmission> {
        self.board.resent(index, true, step.now, &mut self.sk);
        self.undo.on_retransmission(clock.at(step.now));
        if self.sk.tcp_in_cwnd_reduction() {
            self.prr.out = self.prr.out.saturating_add(1);
        }
        let sent = self.board.record(index)?;
        self.pace(sent.payload_len(), step.now);
        if index == 0 && !step.timers.is_set(Timer::Reorder) {
            self.rearm(false, step);
        }
        Some(self.send_again(&sent, step))
    }

    fn send_again(&mut self, sent: &Sent, step: &mut Step) -> Transmission {
        step.stats.retransmitted_segments += 1;
        step.stats.retransmitted_bytes += u64::from(sent.payload_len());
        self.sk.lsndtime = step.now;
        self.describe(sent)
    }

    /// There are new data for a probe, and the peer takes them.
    fn probes_with_new_data(&self) -> bool {
        self.unsent() > 0 && self.next_fits_peer()
    }

    /// The peer's window has room for the next segment of new data.
    pub(super) fn next_fits_peer(&self) -> bool {
        self.nxt + self.unsent().min(u64::from(self.sk.mss_cache)) <= self.peer.edge
    }

    /// The tail loss probe: new data if there is any and the peer takes it, else the last segment again.
    #[cold]
    fn send_probe(&mut self, step: &mut Step) -> Option<Transmission> {
        self.probe.due = false;
        step.stats.loss_probes += 1;
        let new = self.send_new(self.sk.tcp_packets_in_flight(), true, step);
        let is_resent = new.is_none();
        let transmission = match new {
            Some(new) => Some(new),
            None => {
                let last = self.board.tail()?.start;
                let index = self.board.index_of(last)?;
                // It repairs nothing that is known lost: neither the window nor undo counts it.
                self.board.resent(index, false, step.now, &mut self.sk);
                let sent = self.board.record(index)?;
                self.pace(sent.payload_len(), step.now);
                Some(self.send_again(&sent, step))
            }
        };
        self.probe.sent(self.nxt, is_resent);
        self.rearm(false, step);
        transmission
    }

    /// New data or FIN, as far as the peer's window allows, while so many segments are in flight; `is_probe` leaves the timers
    /// alone.
    fn send_new(&mut self, in_flight: u32, is_probe: bool, step: &mut Step) -> Option<Transmission> {
        if self.fin_sent || self.nxt == 0 {
            return None;
        }
        let (unsent, room) = (self.unsent(), self.peer.edge.saturating_sub(self.nxt));
        if unsent == 0 && !self.closing {
            self.note_app_limited();
            return None;
        }
        let len = unsent.min(u64::from(self.sk.mss_cache)).min(room) as u32;
        let fin = self.closing && u64::from(len) == unsent && room > u64::from(len);
        if len == 0 && !fin || self.is_silly(len, unsent) {
            return None;
        }
        self.peer_probe_due = false;
        self.restart_after_idle(step.now);
        if self.sk.packets_out == 0 {
            self.sk.first_tx_mstamp = step.now;
            self.sk.delivered_mstamp = step.now;
        }
        if in_flight == 0 {
            self.controller.cwnd_event(&mut self.sk, CaEvent::TxStart);
        }
        let start = self.nxt;
        if fin {
            self.record_new(len, true, step);
        } else {
            self.record_new(len, false, step);
        }
        self.pace(len, step.now);
        if !is_probe {
            self.arm_for_new(step);
        }
        let is_last = !is_probe && self.is_window_full();
        self.validate_window(false, step.now);
        step.timers.stop(Timer::Persist);
        if is_last {
            self.end_burst();
        }
        let flags = data_flags(fin, len > 0 && u64::from(len) == unsent);
        Some(Transmission { start, len, flags, is_retransmission: false, is_last })
    }

    /// True if nothing may leave behind new data that just left, if they were no probe: what was known lost went before them, and new data
    /// after a timeout have F-RTO wait.
    #[inline]
    fn is_window_full(&self) -> bool {
        self.sk.tcp_packets_in_flight() >= self.sk.snd_cwnd && !self.is_paced()
    }

    /// RFC 9293 section 3.8.6.2.1: a segment cut short by the window waits until it is worth sending.
    fn is_silly(&self, len: u32, unsent: u64) -> bool {
        len < self.sk.mss_cache
            && u64::from(len) < unsent
            && u64::from(len) < self.peer.largest / 2
            && !self.peer_probe_due
    }

    /// Compiled for segments with FIN and for the others.
    #[inline(always)]
    fn record_new(&mut self, len: u32, fin: bool, step: &Step) {
        let app_limited = if self.sk.app_limited != 0 { mark::APP_LIMITED } else { 0 };
        let sent = Sent {
            start: self.nxt,
            end: self.nxt + u64::from(len) + u64::from(fin),
            sent_at: step.now,
            order: 0,
            delivered: self.sk.delivered,
            flags: app_limited | if fin { mark::FIN } else { 0 },
        };
        self.board.push(&sent, &mut self.sk);
        self.nxt = sent.end;
        self.fin_sent |= fin;
        self.sk.snd_nxt = self.sequence.at(self.nxt);
        self.sk.lsndtime = step.now;
        if self.sk.tcp_in_cwnd_reduction() {
            self.prr.out = self.prr.out.saturating_add(1);
        }
    }

    /// Each new segment moves the probe, but not past the retransmission timeout.
    fn arm_for_new(&mut self, step: &mut Step) {
        let probes = step.timers.is_set(Timer::LossProbe);
        if !self.schedule_tail_probe(false, step) && (self.sk.packets_out == 1 || probes) {
            self.rearm(probes, step);
        }
    }

    /// A segment that is sent again.
    fn describe(&self, sent: &Sent) -> Transmission {
        let len = sent.payload_len();
        Transmission {
            start: sent.start,
            len,
            flags: data_flags(sent.has(mark::FIN), len > 0 && sent.start + u64::from(len) == 1 + self.buffer.written),
            is_retransmission: true,
            is_last: false,
        }
    }

    /// The application, not the network, holds the sender back (Linux `tcp_rate_check_app_limited()`).
    fn note_app_limited(&mut self) {
        let is_window_open = self.sk.tcp_packets_in_flight() < self.sk.snd_cwnd;
        if !self.has_more && is_window_open && self.sk.lost_out <= self.sk.retrans_out {
            self.sk.app_limited = self.sk.delivered.wrapping_add(self.sk.tcp_packets_in_flight()).max(1);
        }
    }
}
