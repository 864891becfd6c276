//! The view of a connection that congestion controllers read and write, with the names, units and
//! helper functions of Linux's `struct tcp_sock` and `tcp_cong.c`.

use airtcp_core::{Duration, Instant, Rng, SeqNum};

/// `snd_ssthresh` before any loss.
pub const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A jiffy of a host whose clock is exact.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Where loss recovery stands (Linux `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing unusual.
    #[default]
    Open,
    /// Duplicate or selective acknowledgments, no segment presumed lost yet.
    Disorder,
    /// The window is being reduced without loss: ECN or a repaired tail.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Whether segments are spaced at `sk_pacing_rate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// The window alone decides.
    #[default]
    None,
    /// A controller asked for pacing.
    Needed,
}

/// Timestamps of the segment received last (Linux `struct tcp_options_received`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxOpt {
    /// It carries them.
    pub saw_tstamp: bool,
    /// The peer's clock, milliseconds from anywhere, wrapping.
    pub rcv_tsval: u32,
    /// Our clock as the peer echoes it, alike.
    pub rcv_tsecr: u32,
}

/// What of a connection a congestion controller sees. Counts are in segments.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct TcpSock {
    /// Time of the event being handled.
    pub tcp_mstamp: Instant,
    /// When the segment most recently delivered was sent, where the order of sending is kept: with RACK, and for controllers that have
    /// `cong_control` or `segment_lost`. Else when the first of the segments in flight was.
    pub first_tx_mstamp: Instant,
    /// When `delivered` last grew.
    pub delivered_mstamp: Instant,
    /// When data was last sent.
    pub lsndtime: Instant,
    /// Pacing rate in bytes per second; `u64::MAX` is unlimited.
    pub sk_pacing_rate: u64,
    /// Upper bound of the pacing rate in bytes per second.
    pub sk_max_pacing_rate: u64,
    /// Congestion window.
    pub snd_cwnd: u32,
    /// Segments acknowledged towards the next increase.
    pub snd_cwnd_cnt: u32,
    /// Upper bound of the window.
    pub snd_cwnd_clamp: u32,
    /// Slow start threshold.
    pub snd_ssthresh: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of those, selectively acknowledged (or duplicate acknowledgments without SACK).
    pub sacked_out: u32,
    /// Of those, presumed lost.
    pub lost_out: u32,
    /// Of those, retransmitted with the retransmission still in flight.
    pub retrans_out: u32,
    /// Most segments in flight in the last window.
    pub max_packets_out: u32,
    /// Smoothed round-trip time, microseconds << 3; 0 if unknown.
    pub srtt_us: u32,
    /// Mean deviation, microseconds << 2.
    pub mdev_us: u32,
    /// Lowest round-trip time seen lately in microseconds; `u32::MAX` if unknown.
    pub rtt_min_us: u32,
    /// Payload of a full segment in bytes.
    pub mss_cache: u32,
    /// Oldest sequence number not acknowledged.
    pub snd_una: SeqNum,
    /// Next sequence number to send.
    pub snd_nxt: SeqNum,
    /// Segments delivered so far, wrapping.
    pub delivered: u32,
    /// Segments marked lost so far, wrapping.
    pub lost: u32,
    /// `delivered` up to which samples are limited by the application; 0 if they are not.
    pub app_limited: u32,
    /// Segments a hole may be overtaken by before it counts as loss.
    pub reordering: u32,
    /// The window limited sending in the last window.
    pub is_cwnd_limited: bool,
    /// The peer acknowledges selectively.
    pub sack_ok: bool,
    /// Where recovery stands.
    pub icsk_ca_state: CaState,
    /// Whether the pacing rate is obeyed.
    pub sk_pacing_status: Pacing,
    /// Window when the last reduction began.
    pub prior_cwnd: u32,
    /// Threshold before the last reduction; 0 if it must not be undone.
    pub prior_ssthresh: u32,
    /// Of those delivered so far, acknowledged with ECE, wrapping.
    pub delivered_ce: u32,
    /// Timestamps of the acknowledgment being handled.
    pub rx_opt: RxOpt,
    /// When the next paced segment may leave, or the last one left.
    pub tcp_wstamp: Instant,
    /// Tick of the host's clock, if it is not exact.
    pub jiffy: Option<Duration>,
    /// This connection's own random stream.
    pub rng: Rng,
}

impl TcpSock {
    /// A connection before its first segment.
    pub fn new(rng: Rng) -> Self {
        TcpSock {
            snd_cwnd: 10,
            snd_cwnd_cnt: 0,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: TCP_INFINITE_SSTHRESH,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            max_packets_out: 0,
            is_cwnd_limited: false,
            srtt_us: 0,
            mdev_us: 0,
            rtt_min_us: u32::MAX,
            mss_cache: 536,
            snd_una: SeqNum(0),
            snd_nxt: SeqNum(0),
            rx_opt: RxOpt::default(),
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            app_limited: 0,
            tcp_mstamp: Instant::ZERO,
            first_tx_mstamp: Instant::ZERO,
            delivered_mstamp: Instant::ZERO,
            tcp_wstamp: Instant::ZERO,
            lsndtime: Instant::ZERO,
            reordering: 3,
            sack_ok: false,
            icsk_ca_state: CaState::Open,
            sk_pacing_rate: u64::MAX,
            sk_max_pacing_rate: u64::MAX,
            sk_pacing_status: Pacing::None,
            jiffy: None,
            rng,
        }
    }

    /// Segments in the network as far as the sender can tell (RFC 6675 "pipe").
    pub fn tcp_packets_in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// Samples are limited by the application no longer once all is delivered that was in flight when they began to be.
    pub(crate) fn forget_app_limited(&mut self) {
        if self.app_limited != 0 && self.delivered.wrapping_sub(self.app_limited) as i32 > 0 {
            self.app_limited = 0;
        }
    }

    /// True below the slow start threshold.
    pub fn tcp_in_slow_start(&self) -> bool {
        self.snd_cwnd < self.snd_ssthresh
    }

    /// True while the window is being reduced.
    pub fn tcp_in_cwnd_reduction(&self) -> bool {
        matches!(self.icsk_ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// The threshold a reduction starts from.
    pub fn tcp_current_ssthresh(&self) -> u32 {
        if self.tcp_in_cwnd_reduction() {
            self.snd_ssthresh
        } else {
            self.snd_ssthresh.max((self.snd_cwnd >> 1) + (self.snd_cwnd >> 2))
        }
    }

    /// True if the window, not the application, limits sending (RFC 7661's concern).
    pub fn tcp_is_cwnd_limited(&self) -> bool {
        if self.is_cwnd_limited {
            return true;
        }
        // A window that may double is not held back while more than half of it was used.
        self.tcp_in_slow_start() && self.snd_cwnd < self.max_packets_out.saturating_mul(2)
    }

    /// Slow start (RFC 5681 section 3.1); returns what of `acked` is left for congestion avoidance.
    pub fn tcp_slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.snd_cwnd.saturating_add(acked).min(self.snd_ssthresh);
        let left = acked - cwnd.saturating_sub(self.snd_cwnd).min(acked);
        self.snd_cwnd = cwnd.min(self.snd_cwnd_clamp);
        left
    }

    /// One segment more for every `w` acknowledged.
    pub fn tcp_cong_avoid_ai(&mut self, w: u32, acked: u32) {
        let w = w.max(1);
        if self.snd_cwnd_cnt >= w {
            self.snd_cwnd_cnt = 0;
            self.snd_cwnd = self.snd_cwnd.saturating_add(1);
        }
        self.snd_cwnd_cnt = self.snd_cwnd_cnt.saturating_add(acked);
        if self.snd_cwnd_cnt >= w {
            let delta = self.snd_cwnd_cnt / w;
            self.snd_cwnd_cnt -= delta * w;
            self.snd_cwnd = self.snd_cwnd.saturating_add(delta);
        }
        self.snd_cwnd = self.snd_cwnd.min(self.snd_cwnd_clamp);
    }

    /// Reno's growth, the base of many controllers.
    pub fn tcp_reno_cong_avoid(&mut self, mut acked: u32) {
        if !self.tcp_is_cwnd_limited() {
            return;
        }
        if self.tcp_in_slow_start() {
            acked = self.tcp_slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.tcp_cong_avoid_ai(self.snd_cwnd, acked);
    }

    /// Time of the event in jiffies, wrapping. A jiffy is a millisecond unless the host's clock ticks otherwise.
    pub fn tcp_jiffies32(&self) -> u32 {
        self.jiffies_at(self.tcp_mstamp)
    }

    /// `at` in jiffies, wrapping.
    #[inline]
    pub fn jiffies_at(&self, at: Instant) -> u32 {
        self.in_jiffies(at.as_nanos()) as u32
    }

    /// The least number of jiffies that are no shorter than `span` (Linux `usecs_to_jiffies()`).
    pub fn jiffies_in(&self, span: Duration) -> u32 {
        let rounded_up = self.in_jiffies(span.as_nanos().saturating_sub(1)).saturating_add(u64::from(!span.is_zero()));
        u32::try_from(rounded_up).unwrap_or(u32::MAX)
    }

    /// Jiffies in a second.
    pub fn hz(&self) -> u32 {
        u32::try_from(self.in_jiffies(1_000_000_000)).unwrap_or(u32::MAX).max(1)
    }

    /// Whole jiffies in so many nanoseconds. It is asked for each acknowledgment, and by a constant a division is a
    /// multiplication.
    #[inline]
    fn in_jiffies(&self, nanos: u64) -> u64 {
        self.jiffy.map_or(nanos / MILLISECOND.as_nanos(), |jiffy| nanos / jiffy.as_nanos().max(1))
    }

    /// From `since` until `now` as the host counts it: in whole ticks, or exactly.
    #[inline]
    pub fn elapsed(&self, since: Instant, now: Instant) -> Duration {
        let Some(jiffy) = self.jiffy else { return now.saturating_since(since) };
        jiffy.saturating_mul(u64::from(self.jiffies_at(now).wrapping_sub(self.jiffies_at(since))))
    }

    /// Time of the event in microseconds, wrapping.
    pub fn tcp_clock_us(&self) -> u32 {
        self.tcp_mstamp.as_nanos().wrapping_div(1_000) as u32
    }
}
