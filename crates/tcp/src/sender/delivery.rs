//! What one acknowledgment delivered: segments, times and the delivery rate sample (Linux
//! `tcp_rate.c`, draft-cheng-iccrg-delivery-rate-estimation).

use crate::congestion::{RateSample, TcpSock};
use crate::recovery::Newest;
use crate::sent::{Rate, SendOrder, Sent, mark};
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
    /// Lowest offset of a never retransmitted segment that was SACKed now, below what was before.
    pub lowest_sacked: Option<u64>,
    /// Lowest offset of a never retransmitted segment that was acknowledged without having been SACKed.
    pub lowest_acked: Option<u64>,
    /// What RACK wants to know.
    pub newest: Option<Newest>,
    /// The sample so far.
    pub rate: RateSample,
    rate_order: SendOrder,
    rate_sent_at: Instant,
    /// `lost` when the newest delivered segment was sent.
    rate_lost: u32,
    now: Instant,
    rtt_min_us: u32,
    /// Highest offset SACKed before.
    highest_before: u64,
    /// How old the segment is that the acknowledgment echoes the clock of, in milliseconds of that clock.
    echo_age: Option<u32>,
}

impl Delivery {
    /// Nothing delivered yet by an acknowledgment that arrived at `now` and echoes a clock `echo_age` milliseconds old;
    /// before it data up to `highest_before` were SACKed.
    pub fn new(now: Instant, rtt_min_us: u32, highest_before: u64, echo_age: Option<u32>) -> Self {
        Delivery { now, rtt_min_us, highest_before, echo_age, ..Delivery::default() }
    }

    /// A segment was SACKed for the first time.
    pub fn on_sacked(&mut self, sent: &Sent, rate: &Rate) {
        self.sacked += 1;
        if !sent.has(mark::EVER_RETRANS) {
            widen(&mut self.sack_times, sent.sent_at);
            lower(&mut self.lowest_original, sent.start);
            if sent.start < self.highest_before {
                lower(&mut self.lowest_sacked, sent.start);
            }
        }
        self.advance(sent);
        self.take_rate(sent, rate);
    }

    /// A SACKed segment that was sent again arrived twice: the first copy was overtaken, not lost.
    pub fn on_duplicate(&mut self, sent: &Sent) {
        if sent.has(mark::SACKED) {
            lower(&mut self.lowest_sacked, sent.start);
        }
    }

    /// A segment was cumulatively acknowledged.
    pub fn on_acked(&mut self, sent: &Sent, rate: &Rate) {
        self.acked += 1;
        if sent.has(mark::EVER_RETRANS) {
            self.resent_acked = true;
        } else if !sent.has(mark::SACKED) {
            widen(&mut self.ack_times, sent.sent_at);
            lower(&mut self.lowest_original, sent.start);
            lower(&mut self.lowest_acked, sent.start);
        }
        if !sent.has(mark::DELIVERED) {
            if !self.is_echo_older_than(sent) {
                self.advance(sent);
            }
            self.take_rate(sent, rate);
        }
    }

    /// The acknowledgment echoes a clock before that of the segment's last transmission: an earlier one arrived.
    fn is_echo_older_than(&self, sent: &Sent) -> bool {
        // The clock counts whole milliseconds, as the difference of the two times in milliseconds does.
        let age = millis(self.now).wrapping_sub(millis(sent.sent_at));
        sent.has(mark::EVER_RETRANS) && self.echo_age.is_some_and(|echo| echo.wrapping_sub(age) as i32 > 0)
    }

    /// RFC 8985 section 6.2 step 2, as Linux: the round-trip time is that of each segment in turn.
    fn advance(&mut self, sent: &Sent) {
        let rtt = self.now.saturating_since(sent.sent_at);
        // Faster than any round trip means that an earlier copy arrived.
        let is_spurious =
            sent.has(mark::EVER_RETRANS) && rtt.as_micros() < u64::from(self.rtt_min_us) && self.rtt_min_us != u32::MAX;
        if !is_spurious {
            let order = self.newest.map_or(sent.order, |newest| newest.order.max(sent.order));
            self.newest = Some(Newest { order, rtt });
        }
    }

    /// The sample is that of the segment sent last. Where the order is not kept, nobody asks for one.
    fn take_rate(&mut self, sent: &Sent, rate: &Rate) {
        if sent.order > self.rate_order {
            self.rate_order = sent.order;
            self.rate_sent_at = sent.sent_at;
            self.rate.prior_delivered = sent.delivered;
            self.rate.prior_mstamp_us = micros(rate.delivered_at).max(1);
            self.rate.is_app_limited = sent.has(mark::APP_LIMITED);
            self.rate.is_retrans = sent.has(mark::EVER_RETRANS);
            self.rate.snd_interval_us = span_us(rate.first_tx_at, sent.sent_at);
            self.rate.tx_in_flight = rate.in_flight;
            self.rate_lost = rate.lost;
        }
    }

    /// Completes the sample once losses are known.
    pub fn finish(&mut self, sk: &mut TcpSock, delivered: u32, losses: u32) -> RateSample {
        let now_us = micros(sk.tcp_mstamp);
        sk.forget_app_limited();
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
        rate.lost = sk.lost.wrapping_sub(self.rate_lost);
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

fn lower(lowest: &mut Option<u64>, start: u64) {
    *lowest = Some(lowest.map_or(start, |known| known.min(start)));
}

/// The clock of timestamps, but for its offset.
fn millis(at: Instant) -> u32 {
    ((at.as_nanos() / 1_000_000) & 0xffff_ffff) as u32
}

fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

fn span_us(from: Instant, to: Instant) -> u32 {
    u32::try_from(to.saturating_since(from).as_micros()).unwrap_or(u32::MAX)
}
