//! What one acknowledgment delivered: segments, times and the delivery rate sample (Linux
//! `tcp_rate.c`, draft-cheng-iccrg-delivery-rate-estimation).

use crate::congestion::{RateSample, TcpSock};
use crate::recovery::Newest;
use crate::scoreboard::{SendOrder, Sent, mark};
use airtcp_core::{Duration, Instant};

/// Collected while an acknowledgment is processed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Segments removed by the cumulative acknowledgment.
    pub acked: u32,
    /// Segments newly SACKed.
    pub sacked: u32,
    /// A retransmitted segment was cumulatively acknowledged.
    pub resent_acked: bool,
    /// Sending times of the first and the last never retransmitted segment cumulatively acknowledged.
    pub ack_times: Option<(Instant, Instant)>,
    /// The same for segments newly SACKed.
    pub sack_times: Option<(Instant, Instant)>,
    /// Lowest offset of a never retransmitted segment that arrived, however late.
    pub lowest_original: Option<u64>,
    /// The newest segment delivered.
    pub newest: Option<Newest>,
    /// The sample so far.
    pub rate: RateSample,
    rate_order: SendOrder,
    rate_sent_at: Instant,
    now: Instant,
    rtt_min_us: u32,
}

impl Delivery {
    /// Nothing delivered yet by an acknowledgment that arrived at `now`.
    pub fn new(now: Instant, rtt_min_us: u32) -> Self {
        Delivery { now, rtt_min_us, ..Delivery::default() }
    }

    /// A segment was SACKed for the first time.
    pub fn on_sacked(&mut self, sent: &Sent) {
        self.sacked += 1;
        if !sent.has(mark::EVER_RETRANS) {
            widen(&mut self.sack_times, sent.sent_at);
            self.note_original(sent.start);
        }
        self.on_delivered(sent);
    }

    /// A segment was cumulatively acknowledged.
    pub fn on_acked(&mut self, sent: &Sent) {
        self.acked += 1;
        if sent.has(mark::EVER_RETRANS) {
            self.resent_acked = true;
        } else if !sent.has(mark::SACKED) {
            widen(&mut self.ack_times, sent.sent_at);
            self.note_original(sent.start);
        }
        if !sent.has(mark::DELIVERED) {
            self.on_delivered(sent);
        }
    }

    fn note_original(&mut self, start: u64) {
        self.lowest_original = Some(self.lowest_original.map_or(start, |lowest| lowest.min(start)));
    }

    fn on_delivered(&mut self, sent: &Sent) {
        let rtt = self.now.saturating_since(sent.sent_at);
        // RFC 8985 section 6.2 step 2: faster than any round trip means that the original arrived.
        let is_spurious =
            sent.has(mark::EVER_RETRANS) && rtt.as_micros() < u64::from(self.rtt_min_us) && self.rtt_min_us != u32::MAX;
        if !is_spurious && self.newest.is_none_or(|newest| sent.order > newest.order) {
            self.newest = Some(Newest { order: sent.order, rtt });
        }
        if sent.order > self.rate_order {
            self.rate_order = sent.order;
            self.rate_sent_at = sent.sent_at;
            self.rate.prior_delivered = sent.delivered;
            self.rate.prior_mstamp_us = micros(sent.delivered_at).max(1);
            self.rate.is_app_limited = sent.has(mark::APP_LIMITED);
            self.rate.is_retrans = sent.has(mark::EVER_RETRANS);
            self.rate.snd_interval_us = span_us(sent.first_tx_at, sent.sent_at);
        }
    }

    /// Completes the sample once losses are known.
    pub fn finish(&mut self, sk: &mut TcpSock, delivered: u32, losses: u32) -> RateSample {
        let now_us = micros(sk.tcp_mstamp);
        if sk.app_limited != 0 && sk.delivered.wrapping_sub(sk.app_limited) as i32 > 0 {
            sk.app_limited = 0;
        }
        if delivered > 0 {
            sk.delivered_mstamp = sk.tcp_mstamp;
        }
        let rate = &mut self.rate;
        rate.acked_sacked = delivered;
        rate.losses = losses;
        if rate.prior_mstamp_us == 0 {
            rate.delivered = -1;
            rate.interval_us = -1;
            return *rate;
        }
        sk.first_tx_mstamp = self.rate_sent_at;
        rate.delivered = sk.delivered.wrapping_sub(rate.prior_delivered) as i32;
        rate.rcv_interval_us = u32::try_from(now_us.saturating_sub(rate.prior_mstamp_us)).unwrap_or(u32::MAX);
        rate.interval_us = i64::from(rate.snd_interval_us.max(rate.rcv_interval_us));
        // Shorter than a round trip: the sample is a burst of stretched acknowledgments.
        if sk.rtt_min_us != u32::MAX && rate.interval_us < i64::from(sk.rtt_min_us) {
            rate.interval_us = -1;
        }
        *rate
    }

    /// Round-trip time for the estimator (oldest segment) and for controllers (newest segment).
    pub fn round_trips(&self, now: Instant) -> (Option<Duration>, Option<Duration>) {
        let (mut oldest, mut newest) = (None, None);
        if let Some((first, last)) = self.ack_times.filter(|_| !self.resent_acked) {
            oldest = Some(now.saturating_since(first));
            newest = Some(now.saturating_since(last));
        }
        if let Some((first, last)) = self.sack_times {
            oldest = oldest.or(Some(now.saturating_since(first)));
            newest = Some(now.saturating_since(last));
        }
        (oldest, newest)
    }
}

fn widen(times: &mut Option<(Instant, Instant)>, at: Instant) {
    *times = Some(times.map_or((at, at), |(first, _)| (first, at)));
}

fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

fn span_us(from: Instant, to: Instant) -> u32 {
    u32::try_from(to.saturating_since(from).as_micros()).unwrap_or(u32::MAX)
}
