//! What leaves: SYN, RST, data, acknowledgments, probes.

use super::input::echo_flags;
use super::{Connection, State};
use crate::receiver::Owed;
use crate::sender::Transmission;
use crate::stream::SegmentPayload;
use crate::timers::Timer;
use airtcp_core::{Ecn, Fields, FlowKey, Instant, Packet, Segment, SeqNum, TcpFlags, TcpHeader, count_one};
use bytes::Bytes;

/// Where the packets of a connection go.
pub trait Outlet {
    /// Takes one.
    fn send(&mut self, packet: Packet);
    /// The memory of a packet that has ended, if there is any.
    fn take_spare(&mut self) -> Option<Packet> {
        None
    }
}

impl<F: FnMut(Packet)> Outlet for F {
    fn send(&mut self, packet: Packet) {
        self(packet);
    }
}

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
        self.poll_segment(now, || None)
    }

    /// False if [`Connection::poll_transmit`] would return nothing and change nothing: for who has several connections, of which
    /// most have nothing to say.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        let has_segment = self.receiver.acks.owed == Owed::Now
            || self.sender.has_something_to_send()
            || self.sender.peer_probe_due
            || self.earlier_ack.is_some();
        has_segment || !self.is_established()
    }

    /// Hands everything that is to be sent now to `outlet`: all that [`Connection::poll_transmit`] would return.
    #[inline]
    pub fn transmit(&mut self, now: Instant, outlet: &mut impl Outlet) {
        if !self.is_established() || self.earlier_ack.is_some() {
            return self.transmit_one_by_one(now, outlet);
        }
        while let Some((packet, is_last)) = self.poll_segment(now, || outlet.take_spare()) {
            outlet.send(packet);
            if is_last {
                return;
            }
        }
    }

    #[cold]
    fn transmit_one_by_one(&mut self, now: Instant, outlet: &mut impl Outlet) {
        core::iter::from_fn(|| self.poll_transmit(now)).for_each(|packet| outlet.send(packet));
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

    /// The next segment of a connection in which data may flow, and whether it is known that none follows it now. Data are
    /// made of what `take_spare` has if nothing else is left to make them of: an acknowledgment may let out more than one.
    #[inline(always)]
    fn poll_segment(&mut self, now: Instant, take_spare: impl FnOnce() -> Option<Packet>) -> Option<(Packet, bool)> {
        let (sends_data, probes) = (self.sender.has_something_to_send(), self.sender.peer_probe_due);
        // A selective report leaves on its own, so that it never makes a data segment too large and
        // a duplicate acknowledgment carries no data.
        let is_only_ack = !sends_data && !probes;
        if self.receiver.acks.owed == Owed::Now && (is_only_ack || self.receiver.has_report()) {
            return Some((self.acknowledge(now), is_only_ack));
        }
        if sends_data {
            let clock = self.options.clock;
            if let Some(transmission) = self.with_sender(now, |sender, step| sender.poll(clock, step)) {
                if self.spare.is_none() {
                    self.spare = take_spare();
                }
                let segment = self.data_segment(now, transmission);
                return Some((segment, transmission.is_last && self.receiver.acks.owed != Owed::Now));
            }
        }
        if self.sender.peer_probe_due {
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
        let FlowKey { source, destination, source_port, destination_port } = self.flow;
        let tcp = TcpHeader { source_port, destination_port, ..TcpHeader::default() };
        let mut segment = Segment { source, destination, traffic_class: 0, tcp };
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
        let mut flags = sent.flags;
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
        let mut ack = self.finish_segment(&fields, None);
        blocks.into_iter().for_each(|blocks| ack.report(blocks));
        ack
    }

    /// A segment before the window, which the peer answers with its window, as Linux does.
    #[cold]
    fn peer_probe(&mut self, now: Instant) -> Packet {
        self.sender.peer_probe_due = false;
        let asks_for_window = self.sender.has_something_to_send();
        self.stats.window_probes += u64::from(asks_for_window);
        self.stats.keepalive_probes += u64::from(!asks_for_window);
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
        let buffer = &self.sender.buffer;
        let payload = sent.map_or_else(|| buffer.no_payload(), |sent| buffer.payload(sent.start - 1, sent.len));
        match payload {
            SegmentPayload::Virtual { stream, offset } => {
                let len = sent.map_or(0, |sent| sent.len);
                Packet::tcp_virtual_in(self.spare.take(), &self.flow, fields, [stream, offset], len)
            }
            SegmentPayload::Bytes(bytes) => Packet::tcp_bytes_in(self.spare.take(), &self.flow, fields, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::connection::{Endpoint, Opening};
    use crate::stream::Stream;
    use airtcp_core::Duration;
    use std::format;
    use std::vec::Vec;

    /// Takes everything, and has any amount of memory.
    struct Pool {
        sent: Vec<Packet>,
        taken: usize,
    }

    impl Outlet for Pool {
        fn send(&mut self, packet: Packet) {
            self.sent.push(packet);
        }

        fn take_spare(&mut self) -> Option<Packet> {
            self.taken += 1;
            Some(Packet::opaque(
                std::net::Ipv4Addr::LOCALHOST.into(),
                std::net::Ipv4Addr::LOCALHOST.into(),
                17,
                Bytes::new(),
            ))
        }
    }

    /// A client and a server between which the handshake is over but for its last acknowledgment, and the packets of it.
    fn pair(now: Instant) -> ([Connection; 2], [Packet; 2]) {
        let opening = |local, remote, id| Opening {
            config: Config::default(),
            local: at(local),
            remote: at(remote),
            initial_sequence: SeqNum(7),
            timestamp_offset: 7,
            source: Stream::Virtual { id },
        };
        let mut client = Connection::connect(&opening(1, 2, 0), now);
        let syn = client.poll_transmit(now).unwrap();
        let mut server = Connection::accept(&opening(2, 1, 1), &syn, now).unwrap();
        let answer = server.poll_transmit(now).unwrap();
        client.handle_segment(now, &answer);
        ([client, server], [syn, answer])
    }

    fn at(last: u8) -> Endpoint {
        Endpoint { address: std::net::Ipv4Addr::new(10, 0, 0, last).into(), port: 1000 }
    }

    #[test]
    fn data_are_made_of_what_ended_here_and_then_of_what_the_outlet_has() {
        let now = Instant::ZERO;
        let ([mut client, _], [syn, answer]) = pair(now);
        client.write_virtual(100_000);
        assert!(client.reuse(syn).is_none() && client.reuse(answer).is_some(), "it keeps one");
        let mut pool = Pool { sent: Vec::new(), taken: 0 };
        client.transmit(now, &mut pool);
        let data: Vec<&Packet> = pool.sent.iter().filter(|packet| packet.payload_len() > 0).collect();
        assert!(data.len() > 5 && pool.taken >= data.len() - 1 && pool.taken <= data.len(), "{}", pool.taken);
        assert!(data.iter().all(|packet| packet.tcp().is_some() && packet.ip().destination == at(2).address));
    }

    #[test]
    fn who_may_not_transmit_sends_nothing_and_stays_as_it_is() {
        let mut now = Instant::ZERO;
        let (mut ends, _) = pair(now);
        let mut quiet = 0;
        for step in 0..200 {
            now += Duration::from_millis(7);
            if step % 9 == 0 {
                ends[0].write_virtual(3000);
            }
            for (from, to) in [(0, 1), (1, 0)] {
                if ends[from].poll_timeout().is_some_and(|due| due <= now) {
                    ends[from].handle_timeout(now);
                }
                if !ends[from].may_transmit() {
                    let before = format!("{:?}", ends[from]);
                    assert!(ends[from].poll_transmit(now).is_none());
                    assert_eq!(format!("{:?}", ends[from]), before);
                    quiet += 1;
                }
                while let Some(packet) = ends[from].poll_transmit(now) {
                    ends[to].handle_segment(now, &packet);
                }
            }
        }
        assert!(ends[1].stats().bytes_delivered > 50_000 && quiet > 100, "{quiet}");
    }
}
