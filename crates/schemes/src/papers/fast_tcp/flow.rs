//! What is known of one connection's data over the link, and which of its acknowledgments can wait without harm.
//!
//! The guard of modern mode. Only a bare acknowledgment of more bytes can wait. Whatever else the receiver sends leaves at
//! once, behind what waits of its flow, so that the sender sees everything in the order it was sent.

use super::split::{Said, Series};
use crate::acks::is_pure;
use crate::position::{self, Position};
use airtcp_core::{Duration, Instant, Packet, Rate, TcpFlags, TcpHeader};

/// Largest shift of a window (RFC 7323 2.3).
const MAX_SCALE: u8 = 14;

/// What to do with a packet from the receiver.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It tells the sender something that may not wait.
    Now,
    /// It acknowledges so many segments more than anything before it.
    Later(Progress),
}

/// An acknowledgment of more bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Time that the data it acknowledges took on the link.
    pub distance: Duration,
    /// How it can be sent in parts.
    pub series: Option<Series>,
}

/// The data direction of a connection over the link, with its acknowledgments.
#[derive(Debug)]
pub(super) struct Flow {
    /// One past the last byte that went to the link.
    sent: Position,
    /// Everything before this was sent again, or may have been: its acknowledgment ends a recovery.
    recovery: Position,
    /// The highest acknowledgment.
    acked: Option<Position>,
    /// The highest right edge that the receiver promised, where its scale is known.
    edge: Position,
    /// Longest payload and IP packet of a data segment.
    mss: u32,
    packet: u32,
    /// The sender's SYN offered window scaling.
    offers_scale: bool,
    /// The receiver's shift, once both SYNs are seen.
    scale: Option<u8>,
    /// Waiting as long as they may did not slow the sender down.
    pub is_unmoved: bool,
    pub last_used: Instant,
}

impl Flow {
    /// A flow of which `packet`, on its way to the link, is the first that is seen.
    pub fn new(packet: &Packet, tcp: &TcpHeader, now: Instant) -> Self {
        let first = position::first(tcp.sequence);
        let mut flow = Flow {
            sent: first,
            recovery: first,
            acked: None,
            edge: 0,
            mss: 1,
            packet: 0,
            offers_scale: tcp.flags.syn() && tcp.options.window_scale.is_some(),
            scale: None,
            is_unmoved: false,
            last_used: now,
        };
        flow.on_data(packet, tcp, now);
        flow
    }

    /// A segment goes to the link.
    pub fn on_data(&mut self, packet: &Packet, tcp: &TcpHeader, now: Instant) {
        self.last_used = now;
        let begin = position::near(self.sent, tcp.sequence);
        if begin < self.sent {
            self.recovery = self.sent;
        }
        self.sent = self.sent.max(begin + u64::from(packet.sequence_len()));
        if packet.payload_len() > 0 {
            self.mss = self.mss.max(packet.payload_len());
            self.packet = self.packet.max(packet.wire_len());
        }
    }

    /// Judges a segment from the receiver.
    pub fn judge(&mut self, packet: &Packet, tcp: &TcpHeader, pacing: &Pacing, now: Instant) -> Verdict {
        self.last_used = now;
        if tcp.flags.syn() {
            self.scale = tcp.options.window_scale.filter(|_| self.offers_scale).map(|scale| scale.min(MAX_SCALE));
        }
        let number = position::near(self.sent, tcp.acknowledgment);
        // What never went to the link cannot be acknowledged: another path, or forged.
        if !tcp.flags.ack() || number > self.sent {
            return Verdict::Now;
        }
        let before = self.acked;
        self.acked = before.max(Some(number));
        let scale = self.scale.filter(|_| !tcp.flags.syn());
        let promised = self.edge;
        if let Some(scale) = scale {
            self.edge = promised.max(number + (u64::from(tcp.window) << scale));
        }
        // A first acknowledgment, a duplicate, a window update, or one that was overtaken.
        let Some(from) = before.filter(|from| number > *from) else { return Verdict::Now };
        if !can_wait(packet, tcp) {
            return Verdict::Now;
        }
        let segments = (number - from).div_ceil(u64::from(self.mss));
        let said = scale.map(|scale| Said { from, to: number, window: tcp.window, scale, promised });
        let may_split = pacing.split > 0
            && segments > u64::from(pacing.split)
            && from >= self.recovery
            && has_only_timestamps(packet, tcp);
        let packet_time = pacing.of_packet(self.packet);
        Verdict::Later(Progress {
            distance: packet_time.saturating_mul(segments),
            series: said.filter(|_| may_split).and_then(|said| Series::of(&said, self.mss, packet_time)),
        })
    }
}

/// How much time data take on the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// See `FastTcpSettings::spacing`.
    pub spacing: Option<Duration>,
    /// See `FastTcpSettings::rate`.
    pub rate: Option<Rate>,
    /// See `FastTcpSettings::split`.
    pub split: u16,
}

impl Pacing {
    /// d (FTC-4) where the longest data packet has `bytes` (FTC-U5); zero if nothing tells it.
    pub fn of_packet(&self, bytes: u32) -> Duration {
        let measured = || self.rate.map(|rate| rate.serialisation(bytes, &mut 0));
        self.spacing.or_else(measured).unwrap_or(Duration::ZERO)
    }
}

/// True for a packet that carries an acknowledgment of more bytes and nothing else: no data, SYN, FIN or RST, no SACK
/// blocks, no ECN signal (RFC 3168; with accurate ECN that is every one), and a window that is open.
fn can_wait(packet: &Packet, tcp: &TcpHeader) -> bool {
    is_pure(packet, tcp)
        && tcp.flags.without(TcpFlags::PSH) == TcpFlags::ACK
        && tcp.options.sack.is_empty()
        && tcp.window > 0
}

/// True if an edited copy says what the original says: no option that we do not know.
fn has_only_timestamps(packet: &Packet, tcp: &TcpHeader) -> bool {
    let headers = u32::from(packet.ip().header_len) + 20 + tcp.options.len() as u32;
    let has_others = tcp.options.mss.is_some() || tcp.options.window_scale.is_some() || tcp.options.sack_permitted;
    packet.ip().total_len == headers && !has_others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, at, data, edited, segment};
    use airtcp_core::SeqNum;

    const PACING: Pacing = Pacing { spacing: Some(Duration::from_millis(1)), rate: None, split: 4 };

    /// A connection whose handshake and 100 segments of 1000 bytes were seen.
    fn flow(receiver_scale: Option<u8>) -> Flow {
        let syn = edited(&segment(u32::MAX - 5000, 0, TcpFlags::SYN), |tcp| tcp.options.window_scale = Some(7));
        let mut flow = Flow::new(&syn, syn.tcp().unwrap(), at(0));
        let answer = edited(&ack(u32::MAX - 4999), |tcp| {
            tcp.flags = TcpFlags::SYN.with(TcpFlags::ACK);
            tcp.options.window_scale = receiver_scale;
        });
        assert_eq!(judge(&mut flow, &answer), Verdict::Now);
        for n in 0..100 {
            send(&mut flow, number(n));
        }
        flow
    }

    /// Number of the n-th segment: the fifth crosses the wrap.
    fn number(n: u32) -> u32 {
        (u32::MAX - 4999).wrapping_add(n * 1000)
    }

    fn send(flow: &mut Flow, sequence: u32) {
        let packet = data(sequence);
        flow.on_data(&packet, packet.tcp().unwrap(), at(0));
    }

    fn judge(flow: &mut Flow, packet: &Packet) -> Verdict {
        flow.judge(packet, packet.tcp().unwrap(), &PACING, at(0))
    }

    fn segments(verdict: &Verdict) -> u64 {
        match verdict {
            Verdict::Now => 0,
            Verdict::Later(progress) => progress.distance.as_millis(),
        }
    }

    fn series(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Later(Progress { series: Some(_), .. }))
    }

    #[test]
    fn ftc_8_the_distance_grows_with_the_segments_acknowledged() {
        let mut flow = flow(Some(7));
        let distances = [1, 2, 4, 9, 10].map(|n| segments(&judge(&mut flow, &ack(number(n)))));
        assert_eq!(distances, [1, 1, 2, 5, 1]);
        assert_eq!(segments(&judge(&mut flow, &ack(number(10).wrapping_add(1)))), 1, "a part of a segment is one");
    }

    #[test]
    fn what_is_not_a_bare_acknowledgment_of_more_bytes_may_not_wait() {
        let more = || ack(number(2));
        let with = |edit: fn(&mut TcpHeader)| edited(&more(), edit);
        let cases = [
            ("duplicate", ack(number(1))),
            ("window update", edited(&ack(number(1)), |tcp| tcp.window += 1)),
            ("overtaken", ack(number(0))),
            ("of bytes never sent", ack(number(101))),
            ("SYN", with(|tcp| tcp.flags = TcpFlags::SYN.with(TcpFlags::ACK))),
            ("FIN", with(|tcp| tcp.flags = TcpFlags::FIN.with(TcpFlags::ACK))),
            ("RST", with(|tcp| tcp.flags = TcpFlags::RST.with(TcpFlags::ACK))),
            ("URG", with(|tcp| tcp.flags = TcpFlags::URG.with(TcpFlags::ACK))),
            ("ECE", with(|tcp| tcp.flags = TcpFlags::ECE.with(TcpFlags::ACK))),
            ("CWR", with(|tcp| tcp.flags = TcpFlags::CWR.with(TcpFlags::ACK))),
            ("AE", with(|tcp| tcp.flags = TcpFlags::AE.with(TcpFlags::ACK))),
            ("closed window", with(|tcp| tcp.window = 0)),
            ("SACK", {
                edited(&more(), |tcp| {
                    tcp.options.sack.push(SeqNum(number(3)), SeqNum(number(4)));
                })
            }),
        ];
        for (what, packet) in cases {
            let mut flow = flow(Some(7));
            judge(&mut flow, &ack(number(1)));
            assert_eq!(judge(&mut flow, &packet), Verdict::Now, "{what}");
        }
        let mut flow = flow(Some(7));
        judge(&mut flow, &ack(number(1)));
        assert_eq!(segments(&judge(&mut flow, &with(|tcp| tcp.flags = TcpFlags::PSH.with(TcpFlags::ACK)))), 1);
    }

    #[test]
    fn ftc_9_an_acknowledgment_of_many_segments_becomes_a_series() {
        let mut flow = flow(Some(7));
        assert!(!series(&judge(&mut flow, &ack(number(4)))));
        assert!(series(&judge(&mut flow, &ack(number(9)))));
    }

    #[test]
    fn ftc_9_after_a_repair_an_acknowledgment_is_left_whole() {
        let mut flow = flow(Some(7));
        judge(&mut flow, &ack(number(1)));
        send(&mut flow, number(1));
        assert!(!series(&judge(&mut flow, &ack(number(50)))));
        assert!(!series(&judge(&mut flow, &ack(number(100)))), "100 were out when the repair was sent");
        for n in 100..120 {
            send(&mut flow, number(n));
        }
        assert!(series(&judge(&mut flow, &ack(number(120)))));
    }

    #[test]
    fn without_a_known_scale_there_is_no_series() {
        let mut unscaled = flow(None);
        assert!(!series(&judge(&mut unscaled, &ack(number(50)))));
        let first = data(0);
        let mut unseen = Flow::new(&first, first.tcp().unwrap(), at(0));
        for n in 1..100 {
            send(&mut unseen, n * 1000);
        }
        judge(&mut unseen, &ack(1000));
        assert!(!series(&judge(&mut unseen, &ack(90_000))));
    }

    #[test]
    fn the_distance_is_measured_where_it_is_not_set() {
        let pacing = Pacing { spacing: None, rate: Some(Rate::from_bps(30_000_000)), split: 0 };
        // FTC-N1: 552 bytes at 30 Mbit/s.
        assert_eq!(pacing.of_packet(552).as_nanos(), 147_200);
        assert_eq!(Pacing { rate: None, ..pacing }.of_packet(552), Duration::ZERO);
        assert_eq!(PACING.of_packet(552), Duration::from_millis(1));
    }
}
