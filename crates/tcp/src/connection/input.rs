//! A segment arrives (RFC 9293 section 3.10.7.4, RFC 5961, RFC 7323 section 5.3).

use super::{CloseReason, Connection, State, reset_reply};
use crate::config::largest_segment;
use crate::receiver::{Arrival, Owed, Path, Piece, Taken};
use crate::sender::AckInput;
use crate::timers::Timer;
use airtcp_core::{Duration, Ecn, Instant, Packet, TcpFlags, TcpHeader, Timestamps, count_one};
use core::net::IpAddr;

/// At most one challenge in this time, so that two confused ends do not answer each other for ever
/// (Linux `tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

impl Connection {
    /// Takes a segment. One that is damaged, or not of this connection, is counted and dropped.
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) {
        let Some(tcp) = packet.tcp() else {
            self.stats.rejected_segments += 1;
            return;
        };
        if !packet.checksum_holds() {
            self.stats.corrupted_segments += 1;
            return;
        }
        if !self.is_addressee(packet, tcp) || self.state == State::Closed {
            self.stats.rejected_segments += 1;
            return;
        }
        count_one(&mut self.stats.segments_received);
        if self.state == State::SynSent {
            self.handle_in_syn_sent(now, packet, tcp);
        } else {
            self.handle_synchronised(now, packet, tcp);
        }
    }

    /// True if a segment is of this connection, from the other end. Both addresses of an end are of one family, which is looked
    /// at once.
    fn is_addressee(&self, packet: &Packet, tcp: &TcpHeader) -> bool {
        let (ours, ip) = (&self.flow, packet.ip());
        let is_between = match ((&ip.source, &ip.destination), (&ours.destination, &ours.source)) {
            ((IpAddr::V4(from), IpAddr::V4(to)), (IpAddr::V4(peer), IpAddr::V4(here))) => (from, to) == (peer, here),
            ((IpAddr::V6(from), IpAddr::V6(to)), (IpAddr::V6(peer), IpAddr::V6(here))) => (from, to) == (peer, here),
            _ => false,
        };
        is_between && (tcp.source_port, tcp.destination_port) == (ours.destination_port, ours.source_port)
    }

    fn handle_synchronised(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader) {
        let sequence = self.peer_sequence.offset(tcp.sequence, self.receiver.nxt);
        if !self.is_expected(now, tcp, sequence) && !self.is_admitted(now, packet, tcp, sequence) {
            return;
        }
        let len = packet.payload_len();
        if self.take_acknowledgment(now, tcp, sequence, len) {
            self.take_ecn(now, packet, tcp);
            self.take_payload(now, packet, tcp, sequence, len);
        }
    }

    /// True for the segment that nearly all are (Van Jacobson's header prediction): one of a connection in which data flow that
    /// begins in the window, with an acknowledgment and nothing unusual. [`Connection::is_admitted`] is true for it and changes
    /// nothing.
    fn is_expected(&self, now: Instant, tcp: &TcpHeader, sequence: i64) -> bool {
        #[cfg(test)]
        if self.sender.is_thorough {
            return false;
        }
        let nxt = self.receiver.nxt;
        sequence >= nxt as i64
            && sequence <= self.receiver.window.edge().max(nxt) as i64
            && tcp.flags.without(TcpFlags::PSH.with(TcpFlags::EMULATED)) == TcpFlags::ACK
            && self.state != State::SynReceived
            && !self.is_old(now, tcp)
    }

    /// Its stamp says that a segment is older than one that was here.
    fn is_old(&self, now: Instant, tcp: &TcpHeader) -> bool {
        let stamp = tcp.options.timestamps.filter(|_| self.options.timestamps);
        stamp.is_some_and(|stamp| self.options.is_too_old(stamp, now))
    }

    /// Judges any segment: true if what it acknowledges and carries is to be taken.
    #[inline(never)]
    fn is_admitted(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader, sequence: i64) -> bool {
        if !self.is_acceptable(now, packet, tcp, sequence) {
            return false;
        }
        if tcp.flags.rst() || tcp.flags.syn() || !tcp.flags.ack() {
            self.handle_unusual(now, packet, tcp, sequence);
            return false;
        }
        if self.state == State::SynReceived {
            if tcp.acknowledgment != self.sender.sequence.at(1) {
                self.stats.rejected_segments += 1;
                return false;
            }
            self.establish(now, packet);
        }
        true
    }

    /// A segment with RST or SYN, or without an acknowledgment.
    #[cold]
    fn handle_unusual(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader, sequence: i64) {
        if tcp.flags.rst() {
            // RFC 5961 section 3.2: only the exact number resets.
            if sequence == self.receiver.nxt as i64 {
                self.finish(CloseReason::Reset);
            } else {
                self.challenge(now);
            }
        } else if tcp.flags.syn() {
            // RFC 5961 section 4.2; a repeated SYN before the handshake is over gets the answer again.
            match self.state {
                State::SynReceived if sequence == 0 && !tcp.flags.ack() => self.syn_due = true,
                State::SynReceived if sequence == 0 => self.finish_simultaneous_open(now, packet, tcp),
                _ => self.challenge(now),
            }
        } else {
            self.stats.rejected_segments += 1;
        }
    }

    /// A SYN with the acknowledgment of ours, after the SYNs crossed.
    #[cold]
    fn finish_simultaneous_open(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader) {
        if tcp.acknowledgment == self.sender.sequence.at(1) {
            self.establish(now, packet);
            self.receiver.acks.owe_now();
        }
    }

    /// The window and the age test. What fails is answered with an acknowledgment, unless it resets.
    fn is_acceptable(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader, sequence: i64) -> bool {
        let is_old = !tcp.flags.rst() && self.is_old(now, tcp);
        let end = sequence + i64::from(packet.sequence_len());
        let (nxt, edge) = (self.receiver.nxt as i64, self.receiver.window.edge().max(self.receiver.nxt) as i64);
        // Linux's test, as wide as RFC 9293's table 6 where it matters: it ends at or behind what
        // was acknowledged and begins within the window. A SYN repeated before the handshake is over is let through.
        let is_repeated_syn = self.state == State::SynReceived && tcp.flags.syn() && sequence == 0;
        let is_inside = end >= nxt && sequence <= edge || is_repeated_syn;
        if !is_old && is_inside {
            return true;
        }
        if tcp.flags.rst() {
            self.stats.rejected_segments += 1;
            return false;
        }
        self.answer_unacceptable(now, packet, tcp, sequence, is_old);
        false
    }

    #[cold]
    fn answer_unacceptable(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader, sequence: i64, is_old: bool) {
        let has_data = packet.payload_len() > 0 || tcp.flags.fin();
        if !has_data {
            self.stats.rejected_segments += 1;
            // A window probe or keep-alive is a segment before the window: it wants an answer.
            if !is_old && sequence + 1 >= self.receiver.nxt as i64 && sequence < self.receiver.nxt as i64 {
                self.receiver.acks.owe_now();
            } else {
                self.challenge(now);
            }
            return;
        }
        let end = sequence + i64::from(packet.payload_len());
        if end <= self.receiver.nxt as i64 && end > 0 {
            self.stats.duplicate_segments_received += 1;
            self.receiver.acks.report_duplicate(sequence.max(1) as u64, end as u64);
            let window = self.window_segments();
            self.receiver.acks.quick.on_duplicate(window);
        } else {
            self.stats.rejected_segments += 1;
        }
        if self.state == State::TimeWait {
            self.timers.set(Timer::Silence, now.saturating_add(self.terms.time_wait));
        }
        self.receiver.acks.owe_now();
    }

    /// RFC 5961: answer with an acknowledgment; a genuine peer then knows what to do.
    #[cold]
    fn challenge(&mut self, now: Instant) {
        if now >= self.challenge_allowed_at {
            self.challenge_allowed_at = now.saturating_add(CHALLENGE_INTERVAL);
            self.receiver.acks.owe_now();
        }
    }

    /// The acknowledgment field. False if the segment must be dropped.
    fn take_acknowledgment(&mut self, now: Instant, tcp: &TcpHeader, sequence: i64, len: u32) -> bool {
        let ack = self.sender.sequence.offset(tcp.acknowledgment, self.sender.una);
        let una = self.sender.una as i64;
        // Hardly any is old at all, so that is asked first.
        let is_too_old = ack < una && ack < una - self.sender.peer.largest.max(1 << 16) as i64;
        if ack > self.sender.nxt as i64 || is_too_old {
            self.stats.rejected_segments += 1;
            self.challenge(now);
            return false;
        }
        let stamp = tcp.options.timestamps.filter(|_| self.options.timestamps);
        stamp.into_iter().for_each(|stamp| self.note_stamp(now, stamp, sequence, len));
        if self.sender.hears_window_only(ack, tcp) {
            self.with_sender(now, |sender, step| sender.handle_window(tcp, sequence, step));
        } else {
            let (clock, echo) = stamp.map_or((0, None), |stamp| (self.options.clock(now), Some(stamp.echo)));
            let has_data = len > 0 || tcp.flags.fin();
            let input = AckInput { tcp, ack: ack.max(0) as u64, sequence, has_data, clock, echo };
            if ack < una {
                // An acknowledgment that was overtaken; its data is welcome, and so is what it reports.
                self.with_sender(now, |sender, step| sender.handle_old_ack(input, step));
                return true;
            }
            self.with_sender(now, |sender, step| sender.handle_ack(&input, step));
        }
        if self.sender.fin_acknowledged() {
            match self.state {
                State::FinWait1 => self.enter_fin_wait_2(now),
                State::Closing => self.enter_time_wait(now),
                State::LastAck => self.finish(CloseReason::Finished),
                _ => {}
            }
        }
        self.state != State::Closed
    }

    /// Keeps the timestamp of a segment that is one of this connection: a forged one would have the age test drop what
    /// the peer sends next.
    fn note_stamp(&mut self, now: Instant, stamp: Timestamps, sequence: i64, len: u32) {
        self.options.note(stamp, sequence, now);
        if self.receiver.acks.has_habits && len > 0 {
            self.note_echo(now, stamp.echo, len);
        }
    }

    /// Apart: inlined, half of it is reckoned before it is known whether anybody asks.
    #[inline(never)]
    fn note_echo(&mut self, now: Instant, echo: u32, len: u32) {
        let is_full = len >= self.sender.sk.mss_cache;
        self.receiver.note_echo(self.options.clock(now), echo, is_full);
    }

    /// RFC 3168 section 6.1.3: echo a mark until the peer says that it reduced its window.
    fn take_ecn(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader) {
        if !self.options.ecn {
            return;
        }
        if self.receiver.acks.echoes_each_mark {
            return self.take_each_mark(now, packet);
        }
        if tcp.flags.cwr() {
            self.receiver.acks.echo_mark = false;
        }
        if packet.ip().ecn() == Ecn::Ce {
            self.stats.ce_received += 1;
            self.receiver.acks.echo_mark = true;
            self.receiver.acks.owe_now();
        }
    }

    /// RFC 8257 section 3.2: an acknowledgment echoes the mark of the data that it is for. Where marks begin or end, what has
    /// come before is acknowledged by itself, as Linux does.
    #[inline(never)]
    fn take_each_mark(&mut self, now: Instant, packet: &Packet) {
        if packet.payload_len() == 0 {
            return;
        }
        let is_marked = packet.ip().ecn() == Ecn::Ce;
        self.stats.ce_received += u64::from(is_marked);
        if is_marked == self.receiver.acks.echo_mark {
            return;
        }
        self.end_batch(now);
        if self.receiver.acks.owed != Owed::Nothing {
            self.earlier_ack = Some(self.acknowledge(now));
        }
        self.receiver.acks.echo_mark = is_marked;
        self.receiver.acks.owe_now();
    }

    fn take_payload(&mut self, now: Instant, packet: &Packet, tcp: &TcpHeader, sequence: i64, len: u32) {
        if len == 0 && !tcp.flags.fin() {
            // A probe before the window (keep-alive, zero window) wants an answer.
            if sequence < self.receiver.nxt as i64 {
                self.receiver.acks.owe_now();
            }
            return;
        }
        if self.orphan.is_some() && sequence + i64::from(len) > self.receiver.nxt as i64 && len > 0 {
            // Nobody will read it (RFC 9293 section 3.6.1, RFC 1122 section 4.2.2.13).
            self.finish(CloseReason::Aborted);
            self.stray_reply = reset_reply(packet);
            return;
        }
        if len > 0 {
            let arrival = self.receiver.accept(sequence, packet, len, &mut self.stats);
            if arrival == Arrival::InOrder && !self.receiver.acks.depend_on_path() {
                // As nearly always: the number of segments decides alone.
                self.acknowledge_next(now, Path::UNKNOWN, 1, 0);
            } else if self.receiver.batch.is_some() {
                self.batch_arrival(now, arrival, tcp, len);
            } else {
                self.acknowledge_arrival(now, arrival, len, 1);
            }
        }
        if tcp.flags.fin() {
            self.take_fin(now, sequence + i64::from(len));
        } else if self.receiver.is_finished() {
            self.peer_has_closed(now);
        }
    }

    /// Adds a segment in order to the batch that is taken as one; any other ends the batch.
    #[inline(never)]
    fn batch_arrival(&mut self, now: Instant, arrival: Arrival, tcp: &TcpHeader, len: u32) {
        let piece = Piece { len, stamps: tcp.options.timestamps, ends: tcp.flags.psh() || tcp.flags.fin() };
        let joins = arrival == Arrival::InOrder;
        if !joins || self.receiver.batch.as_ref().is_some_and(|batch| batch.refuses(&piece)) {
            self.end_batch(now);
        }
        if !joins {
            self.acknowledge_arrival(now, arrival, len, 1);
            return;
        }
        match self.receiver.batch.as_mut().map(|batch| batch.add(now, &piece)) {
            Some(Taken::Begins(until)) => self.timers.set(Timer::Batch, until),
            Some(Taken::Joins) => {}
            Some(Taken::Ends) | None => self.end_batch(now),
        }
    }

    /// Takes what came together as one segment.
    pub(super) fn end_batch(&mut self, now: Instant) {
        self.timers.stop(Timer::Batch);
        if let Some(len) = self.receiver.batch.as_mut().and_then(|batch| batch.take()) {
            let full = (len / self.largest_segment()).max(1);
            self.acknowledge_arrival(now, Arrival::InOrder, len, full);
        }
    }

    /// Payload of the largest segment that the peer may send.
    fn largest_segment(&self) -> u32 {
        u32::from(largest_segment(self.terms.announced_mss, self.options.timestamps))
    }

    /// The next `full` segments are here: see
    /// [`Acknowledger::on_in_order`](crate::receiver::Acknowledger::on_in_order).
    #[inline(always)]
    fn acknowledge_next(&mut self, now: Instant, path: Path, full: u32, window: u64) {
        if let Some(at) = self.receiver.acks.on_in_order(now, path, full, window) {
            self.timers.start(Timer::DelayedAck, now, at.saturating_since(now));
        }
    }

    /// Decides when to acknowledge a segment with `len` bytes of data, as many as `full` segments have.
    #[inline(never)]
    fn acknowledge_arrival(&mut self, now: Instant, arrival: Arrival, len: u32, full: u32) {
        match arrival {
            Arrival::InOrder => {
                self.time_window(now);
                self.receiver.grow(now, len, self.sender.sk.mss_cache);
                let (path, window) = (self.path(), self.window_segments());
                self.acknowledge_next(now, path, full, window);
                return;
            }
            Arrival::OutOfOrder if self.options.sack && self.receiver.acks.has_habits => {
                self.receiver.grow(now, len, self.sender.sk.mss_cache);
                let known = self.receiver.round_trip();
                let round_trip = self.path().srtt.map_or(known, |srtt| srtt.min(known));
                let (nxt, ranges) = (self.receiver.nxt, self.receiver.ranges());
                if let Some(at) = self.receiver.acks.on_out_of_order(now, nxt, ranges, round_trip) {
                    self.timers.set(Timer::DelayedAck, at);
                }
                return;
            }
            Arrival::FilledHole if self.receiver.acks.has_habits => {
                self.time_window(now);
                self.receiver.grow(now, len, self.sender.sk.mss_cache);
            }
            Arrival::Duplicate => {
                let window = self.window_segments();
                self.receiver.acks.quick.on_duplicate(window);
            }
            Arrival::OutOfOrder | Arrival::FilledHole => {}
        }
        self.receiver.acks.owe_now();
    }

    /// Full segments that our window has room for.
    fn window_segments(&self) -> u64 {
        let room = self.receiver.window.edge().saturating_sub(self.receiver.nxt);
        room / u64::from(self.sender.sk.mss_cache.max(1))
    }

    /// Without timestamps the round-trip time is how long the window takes that the peer was told last.
    fn time_window(&mut self, now: Instant) {
        let Some(round_trip) = &mut self.receiver.round_trip else { return };
        let (nxt, edge) = (self.receiver.nxt, self.receiver.window.edge());
        round_trip.on_data(now, nxt, nxt + edge.saturating_sub(self.options.last_ack_sent));
    }

    #[cold]
    fn take_fin(&mut self, now: Instant, offset: i64) {
        self.end_batch(now);
        self.receiver.acks.owe_now();
        if offset < 1 {
            return;
        }
        self.receiver.accept_fin(offset as u64, &mut self.stats);
        if self.receiver.is_finished() {
            self.peer_has_closed(now);
        }
    }

    /// The peer's FIN and all before it have arrived.
    #[cold]
    fn peer_has_closed(&mut self, now: Instant) {
        self.receiver.acks.owe_now();
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            State::TimeWait => self.timers.set(Timer::Silence, now.saturating_add(self.terms.time_wait)),
            _ => {}
        }
    }

    #[cold]
    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.timers.stop_all();
        self.timers.set(Timer::Silence, now.saturating_add(self.terms.time_wait));
    }
}

/// The flags of a segment that echoes a mark.
pub(super) fn echo_flags(echo: bool) -> TcpFlags {
    if echo { TcpFlags::ECE } else { TcpFlags::default() }
}
