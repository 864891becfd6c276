//! What leaves: SYN, RST, data, acknowledgments, probes.

use super::input::echo_flags;
use super::mould::blank_segment;
use super::{Connection, State};
use crate::receiver::Owed;
use crate::sender::Transmission;
use crate::stream::SegmentPayload;
use crate::timers::Timer;
use airtcp_core::{Ecn, Fields, Instant, Packet, SeqNum, TcpFlags, TcpHeader, count_one};
use bytes::Bytes;

impl Connection {
    /// The next packet to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.poll_transmit_or_last(now).map(|(packet, _)| packet)
    }

    /// The same, and true with a packet behind which there is none: another call would return nothing and change nothing.
    pub fn poll_transmit_or_last(&mut self, now: Instant) -> Option<(Packet, bool)> {
        if !self.is_established() {
            return self.poll_unestablished(now).map(|packet| (packet, false));
        }
        if let Some(ack) = self.earlier_ack.take() {
            return Some((ack, false));
        }
        self.poll_segment(now)
    }

    /// Hands everything that is to be sent now to `send`: all that [`Connection::poll_transmit`] would return.
    #[inline]
    pub fn transmit(&mut self, now: Instant, mut send: impl FnMut(Packet)) {
        if !self.is_established() || self.earlier_ack.is_some() {
            return core::iter::from_fn(|| self.poll_transmit(now)).for_each(send);
        }
        while let Some((packet, is_last)) = self.poll_segment(now) {
            send(packet);
            if is_last {
                return;
            }
        }
    }

    /// The next packet before data may flow, or when it is over.
    #[cold]
    fn poll_unestablished(&mut self, now: Instant) -> Option<Packet> {
        if let Some(reply) = self.stray_reply.take() {
            count_one(&mut self.stats.segments_sent);
            return Some(reply);
        }
        if self.state == State::Closed { self.poll_reset(now) } else { self.poll_syn(now) }
    }

    /// The next segment of a connection in which data may flow, and whether it is known that none follows it now.
    #[inline(always)]
    fn poll_segment(&mut self, now: Instant) -> Option<(Packet, bool)> {
        // A selective report leaves on its own, so that it never makes a data segment too large and
        // a duplicate acknowledgment carries no data.
        if self.receiver.acks.owed == Owed::Now && self.receiver.has_report() {
            return Some((self.acknowledge(now), false));
        }
        if self.sender.has_something_to_send() {
            let clock = self.options.clock(now);
            if let Some(transmission) = self.with_sender(now, |sender, step| sender.poll(clock, step)) {
                let segment = self.data_segment(now, transmission);
                return Some((segment, transmission.is_last && self.receiver.acks.owed != Owed::Now));
            }
        }
        if self.sender.peer_probe_due {
            self.sender.peer_probe_due = false;
            let asks_for_window = self.sender.has_something_to_send();
            self.stats.window_probes += u64::from(asks_for_window);
            self.stats.keepalive_probes += u64::from(!asks_for_window);
            return Some((self.peer_probe(now), false));
        }
        (self.receiver.acks.owed == Owed::Now).then(|| (self.acknowledge(now), true))
    }

    #[cold]
    fn poll_syn(&mut self, now: Instant) -> Option<Packet> {
        if !core::mem::take(&mut self.syn_due) {
            return None;
        }
        let answers = self.state == State::SynReceived;
        let ack = if answers { TcpFlags::ACK } else { TcpFlags::default() };
        let ecn = self.syn_ecn_flags();
        let mut segment = blank_segment(self.local, self.remote);
        segment.tcp = TcpHeader {
            sequence: self.sender.sequence.at(0),
            acknowledgment: if answers { self.peer_sequence.at(1) } else { SeqNum(0) },
            flags: TcpFlags::SYN.with(ack).with(ecn),
            window: self.receiver.window.announce_on_syn(),
            options: self.syn_options(now),
            ..segment.tcp
        };
        if answers {
            self.options.last_ack_sent = 1;
        }
        if self.syn_transmissions == 0 {
            self.first_syn_at = now;
        }
        self.syn_sent_at = now;
        self.syn_transmissions += 1;
        self.timers.start(Timer::Retransmit, now, self.sender.rtt.rto());
        // RFC 8257 section 3.5.
        let ecn = if ecn.ece() && self.sender.ecn_on_all { Ecn::Ect0 } else { Ecn::NotEct };
        segment.traffic_class = ecn.bits();
        count_one(&mut self.stats.segments_sent);
        Some(Packet::tcp_bytes(&segment, Bytes::new()))
    }

    #[cold]
    fn poll_reset(&mut self, now: Instant) -> Option<Packet> {
        if !core::mem::take(&mut self.reset_due) {
            return None;
        }
        let nxt = self.sender.nxt.max(1);
        let fields = self.acknowledging_fields(now, nxt, TcpFlags::RST, self.ecn_without_new_data());
        Some(self.finish_segment(&fields, None))
    }

    fn data_segment(&mut self, now: Instant, sent: Transmission) -> Packet {
        let mut flags = TcpFlags::default();
        if sent.fin {
            flags = flags.with(TcpFlags::FIN);
        }
        if sent.push && sent.len > 0 {
            flags = flags.with(TcpFlags::PSH);
        }
        // RFC 3168 section 6.1.2: CWR on new data; a retransmission is not ECN-capable.
        let is_new_data = !sent.is_retransmission && sent.len > 0;
        if is_new_data && core::mem::take(&mut self.sender.cwr_due) {
            flags = flags.with(TcpFlags::CWR);
        }
        let ecn = if self.sender.ecn && is_new_data { Ecn::Ect0 } else { self.ecn_without_new_data() };
        let fields = self.acknowledging_fields(now, sent.start, flags, ecn);
        if self.receiver.acks.has_habits {
            self.note_sent_with_habits(now, sent.len);
        } else {
            self.note_acknowledged();
        }
        self.stats.bytes_sent += u64::from(sent.len);
        if sent.len > 0 {
            count_one(&mut self.stats.data_segments_sent);
        }
        self.finish_segment(&fields, Some(sent))
    }

    /// A segment with `len` bytes of data leaves, with an acknowledgment.
    fn note_sent_with_habits(&mut self, now: Instant, len: u32) {
        // What waited to be reported selectively is not in a data segment.
        let reports = self.receiver.acks.is_compressed();
        self.settle_habits(now);
        self.note_acknowledged();
        if reports {
            self.receiver.acks.owe_now();
        }
        if len > 0 {
            self.receiver.acks.on_data_sent(now);
        }
    }

    pub(super) fn acknowledge(&mut self, now: Instant) -> Packet {
        let ecn = self.ecn_without_new_data();
        let fields = self.acknowledging_fields(now, self.sender.nxt, TcpFlags::default(), ecn);
        let reports = self.options.sack && self.receiver.reports();
        let blocks = reports.then(|| {
            let max = if self.options.timestamps { 3 } else { 4 };
            self.receiver.sack_blocks(self.peer_sequence, max)
        });
        if self.receiver.acks.has_habits {
            self.settle_habits(now);
        }
        self.note_acknowledged();
        count_one(&mut self.stats.acks_sent);
        let Some(blocks) = blocks else { return self.finish_segment(&fields, None) };
        count_one(&mut self.stats.segments_sent);
        self.mould.report(&fields, blocks)
    }

    /// A segment before the window, which the peer answers with its window, as Linux does.
    #[cold]
    fn peer_probe(&mut self, now: Instant) -> Packet {
        let ecn = self.ecn_without_new_data();
        let fields = self.acknowledging_fields(now, self.sender.una - 1, TcpFlags::default(), ecn);
        self.finish_segment(&fields, None)
    }

    /// Whether a segment without new data can be marked: not by RFC 3168, but as all segments of Linux's `dctcp`.
    fn ecn_without_new_data(&self) -> Ecn {
        if self.sender.ecn && self.sender.ecn_on_all { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// What a segment at offset `start` of our sequence says, with acknowledgment, window and timestamps.
    #[inline(always)]
    fn acknowledging_fields(&mut self, now: Instant, start: u64, flags: TcpFlags, ecn: Ecn) -> Fields {
        let (nxt, free) = (self.receiver.nxt, self.receiver.free());
        self.options.last_ack_sent = nxt;
        Fields {
            traffic_class: ecn.bits(),
            sequence: self.sender.sequence.at(start),
            acknowledgment: self.peer_sequence.at(nxt),
            flags: flags.with(TcpFlags::ACK).with(echo_flags(self.receiver.acks.echo_mark)),
            window: self.receiver.window.announce(nxt, free, self.sender.sk.mss_cache),
            timestamps: self.options.timestamps.then(|| self.options.stamp(now)),
        }
    }

    #[inline(always)]
    fn note_acknowledged(&mut self) {
        if self.receiver.acks.owed != Owed::Nothing {
            self.timers.stop(Timer::DelayedAck);
        }
        self.receiver.acks.on_acknowledged();
    }

    /// An acknowledgment leaves, for what has come of a batch, too, and with what waited to be reported selectively.
    fn settle_habits(&mut self, now: Instant) {
        if let Some(len) = self.receiver.batch.as_mut().and_then(|batch| batch.take()) {
            self.timers.stop(Timer::Batch);
            self.receiver.grow(now, len, self.sender.sk.mss_cache);
        }
        self.receiver.acks.on_acknowledged_with_habits(now);
    }

    #[inline(always)]
    fn finish_segment(&mut self, fields: &Fields, sent: Option<Transmission>) -> Packet {
        count_one(&mut self.stats.segments_sent);
        let payload = sent.map(|sent| (self.sender.buffer.payload(sent.start - 1, sent.len), sent.len));
        match payload {
            Some((SegmentPayload::Virtual { stream, offset }, len)) => {
                self.mould.virtual_segment(fields, stream, offset, len)
            }
            Some((SegmentPayload::Bytes(bytes), _)) => self.mould.segment(fields, bytes),
            None => self.mould.segment(fields, Bytes::new()),
        }
    }
}
