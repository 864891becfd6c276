//! Parameters of a TCP endpoint. The defaults are those of a Linux host of today.

use crate::congestion::ControllerChoice;
use airtcp_core::{ByteSize, Duration};
use alloc::format;
use alloc::string::String;

airtcp_core::choices! {
    /// How lost segments are found and how the window shrinks meanwhile.
    pub enum RecoveryKind {
        /// RACK (RFC 8985) with proportional rate reduction (RFC 6937), as Linux; falls back to
        /// NewReno where the peer has no SACK.
        Rack = "rack",
        /// Three SACKed segments above a hole (RFC 6675).
        Sack = "sack",
        /// Three duplicate acknowledgments and partial acknowledgments (RFC 6582), SACK unused.
        NewReno = "newreno",
        /// Three duplicate acknowledgments, and recovery ends with the first acknowledgment that
        /// advances (RFC 2581); no SACK, no limited transmit.
        Reno = "reno",
        /// Three duplicate acknowledgments, then slow start from one segment (Jacobson 1988); no
        /// SACK, no limited transmit.
        Tahoe = "tahoe",
        /// Three duplicate acknowledgments or SACKed segments, then one segment for each trigger, also after a
        /// timeout, and again after more duplicates: for a sender whose window does not limit it.
        OneSegment = "one-segment",
    }
}

airtcp_core::choices! {
    /// What the recovery `one-segment` repairs.
    pub enum Holes {
        /// The oldest segment not acknowledged.
        First = "first",
        /// Every segment that SACK shows to be missing.
        All = "all",
    }
}

airtcp_core::choices! {
    /// Where the minimum RTO applies.
    pub enum RtoRule {
        /// RTO = SRTT + max(4 RTTVAR, minimum), with Linux's slow decay of the variance.
        Linux = "linux",
        /// RTO = max(SRTT + 4 RTTVAR, minimum) (RFC 6298).
        Rfc6298 = "rfc6298",
        /// RTO = minimum, whatever the round trip takes (DEC-35 as it is written).
        Constant = "constant",
    }
}

airtcp_core::choices! {
    /// What slow start and congestion avoidance count.
    pub enum ByteCounting {
        /// Segments newly delivered, cumulatively or selectively, as Linux.
        Delivered = "delivered",
        /// Segments cumulatively acknowledged, those SACKed before once more: at the end of a
        /// recovery that is a whole window. Nothing for the first acknowledgment after a timeout. As ns-3's
        /// TcpLinuxReno, whose windows are too large.
        Acknowledged = "acknowledged",
        /// One for each acknowledgment that advances, so that a receiver that delays slows growth
        /// (RFC 2581; ns-2, ns-3's TcpNewReno).
        Off = "off",
    }
}

airtcp_core::choices! {
    /// Which habits of Linux a host has of those that are options: the keys of [`Config`] that
    /// [`Config::without_habits`] sets.
    pub enum Habits {
        /// All, as a Linux host.
        Linux = "linux",
        /// None: it acknowledges by RFC 5681 alone, opens its whole window at the start, takes whatever is written, sends
        /// new data as soon as the window lets them, and forgets a closed connection after a second.
        Without = "none",
    }
}

/// How the window shrinks during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// In proportion to what is delivered (RFC 6937).
    Proportional,
    /// At once, and data leave as the pipe drains (RFC 6675, RFC 6582).
    AtOnce,
    /// To one segment, as after a timeout: slow start (Tahoe).
    SlowStart,
}

airtcp_core::parameters! {
    /// Parameters of one end of a connection.
    pub struct Config {
        /// Congestion control.
        pub controller: ControllerChoice = ControllerChoice::default(), "Linux";
        /// Loss detection and recovery.
        pub recovery: RecoveryKind = RecoveryKind::Rack, "Linux, RFC 8985";
        /// Which lost segments the recovery `one-segment` sends again.
        pub repair_holes: Holes = Holes::First, "DEC-34, DEC-U9";
        /// The recovery `one-segment` sends a segment again each time as many more duplicate acknowledgments come as the window has segments.
        pub repair_again: bool = true, "DEC-34";
        /// Shrink the window in proportion to what arrives and not at once; auto is with RACK, as Linux; never with Tahoe.
        pub proportional_reduction: Option<bool> = None, "RFC 6937";
        /// Largest IP packet to send and to ask for; the MSS follows from it.
        pub mtu: u32 = 1500, "RFC 894";
        /// Congestion window at the start, segments.
        pub initial_window: u32 = 10, "RFC 6928";
        /// Slow start threshold at the start, segments; auto is unlimited.
        pub initial_ssthresh: Option<u32> = None, "RFC 5681 3.1";
        /// Upper bound of the congestion window, segments; auto is unlimited.
        pub max_cwnd: Option<u32> = None, "Linux snd_cwnd_clamp";
        /// A window that was not used for an RTO shrinks towards the initial one.
        pub slow_start_after_idle: bool = true, "RFC 5681 4.1, RFC 2861; Linux";
        /// What a window grows by.
        pub byte_counting: ByteCounting = ByteCounting::Delivered, "RFC 3465; Linux";
        /// Bytes received in order and not yet read, and out of order, that are kept: the receive window.
        pub receive_buffer: ByteSize = ByteSize(6 << 20), "Linux tcp_rmem";
        /// The window starts at 64 KiB and grows by two segments with each that arrives, each of which is acknowledged at
        /// once, as Linux.
        pub window_growth: bool = true, "Linux tcp_grow_window()";
        /// The buffer starts at 64 KiB, has what fits 128 KiB of memory once segments arrive, 80 KiB of full ones, and
        /// follows what is read in a round trip, up to `receive_buffer`, as Linux's where the application sets none.
        pub receive_autotuning: bool = true, "Linux tcp_moderate_rcvbuf";
        /// Bytes written and not yet acknowledged that are kept; auto is unlimited.
        pub send_buffer: Option<ByteSize> = None, "ours";
        /// The send buffer is twice what the window lets out, 20 segments at least and `send_buffer` at most, as Linux's
        /// where the application sets none.
        pub send_autotuning: bool = true, "Linux tcp_sndbuf_expand()";
        /// Read what arrives in order at once, check it and forget it.
        pub auto_read: bool = false, "ours";
        /// Full segments after which an acknowledgment is sent at once.
        pub delayed_ack_segments: u32 = 2, "RFC 5681 4.2";
        /// Acknowledgments of progress in the lowest round-trip time, at most: beta of TACK, whose L is `delayed_ack_segments`. Losses, marks and window updates are told at once. Auto is no bound; TACK has 4.
        pub acks_per_rtt: Option<u32> = None, "RFC 5681; TACK: Li et al., SIGCOMM 2020";
        /// Longest delay of an acknowledgment.
        pub delayed_ack_timeout: Duration = Duration::from_millis(40), "Linux TCP_DELACK_MIN; RFC 9293 3.8.6.3: below 500 ms";
        /// The delay of an acknowledgment follows the spacing of segments, from `delayed_ack_timeout` up to this, as
        /// Linux's; auto is a constant delay.
        pub delayed_ack_longest: Option<Duration> = Some(Duration::from_millis(200)), "Linux TCP_DELACK_MAX; RFC 9293 3.8.6.3: below 500 ms";
        /// Segments at the start that are acknowledged one by one, so that slow start is not delayed.
        pub quick_acks: u32 = 16, "Linux TCP_MAX_QUICKACKS";
        /// As many again after a pause longer than the RTO and after duplicates, none while both ends talk in turn, and no
        /// more than half the window has segments, as Linux.
        pub quick_acks_after_idle: bool = true, "Linux tcp_event_data_recv()";
        /// Of the acknowledgments of segments above a hole, all after the first three wait for 5 % of the round trip and
        /// leave as one, as Linux; needs SACK.
        pub sack_compression: bool = true, "Linux __tcp_ack_snd_check()";
        /// They wait no longer.
        pub sack_compression_delay: Duration = Duration::from_millis(1), "Linux tcp_comp_sack_delay_ns";
        /// By so much the timer is late that ends their wait.
        pub sack_compression_slack: Duration = Duration::from_micros(100), "Linux tcp_comp_sack_slack_ns";
        /// No more than so many wait.
        pub sack_compression_acks: u32 = 44, "Linux tcp_comp_sack_nr";
        /// Full segments in order that arrive within so long of the first are taken as one, up to 64 KiB: one acknowledgment
        /// answers them (GRO). Auto takes each by itself.
        pub gro_flush_timeout: Option<Duration> = None, "Linux gro_flush_timeout";
        /// Lowest retransmission timeout.
        pub min_rto: Duration = Duration::from_millis(200), "Linux TCP_RTO_MIN; RFC 6298: 1 s";
        /// Highest retransmission timeout.
        pub max_rto: Duration = Duration::from_secs(120), "Linux TCP_RTO_MAX; RFC 6298: at least 60 s";
        /// Retransmission timeout before the first round-trip time is known.
        pub initial_rto: Duration = Duration::from_secs(1), "RFC 6298 2.1";
        /// Tick of the timer: the RTO is rounded up to whole ticks and is two at least; 500 ms is BSD's, auto is none.
        pub rto_tick: Option<Duration> = None, "Stevens, TCP/IP Illustrated 2, 25";
        /// Tick of the host's clock: Linux counts the RTO, timers, idle times and the time of controllers in ticks, and its
        /// timers run out at ticks; 4 ms is that of a kernel with HZ=250. Auto is a host whose times are exact, and whose
        /// controllers count milliseconds.
        pub jiffy: Option<Duration> = None, "Linux CONFIG_HZ";
        /// Each timeout doubles the RTO.
        pub rto_backoff: bool = true, "RFC 6298 5.5";
        /// Where the minimum applies.
        pub rto_rule: RtoRule = RtoRule::Linux, "Linux";
        /// Probe a silent tail after two round trips instead of waiting for the RTO; needs RACK.
        pub tail_loss_probe: bool = true, "RFC 8985 7";
        /// After a timeout, send new data first and undo if it proves spurious; auto is with RACK, as Linux.
        pub frto: Option<bool> = None, "RFC 5682; Linux tcp_frto";
        /// Offer and use window scaling.
        pub window_scaling: bool = true, "RFC 7323 2";
        /// Offer and use timestamps.
        pub timestamps: bool = true, "RFC 7323 3";
        /// Offer and use selective acknowledgments.
        pub sack: bool = true, "RFC 2018";
        /// Believe acknowledgments marked ELN: fast retransmit without taking from the window.
        pub eln: bool = false, "R-10, Balakrishnan & Katz 1998";
        /// Negotiate explicit congestion notification.
        pub ecn: bool = false, "RFC 3168; Linux tcp_ecn = 1";
        /// Agree to explicit congestion notification if the peer asks for it.
        pub ecn_answer: bool = true, "Linux tcp_ecn = 2";
        /// Have new data wait for the next acknowledgment of a train, so that they leave in a burst of what the rate carries in
        /// a millisecond, 64 KiB at most, as Linux does to fill super-frames (TSO).
        pub tso: bool = true, "Linux tcp_tso_should_defer()";
        /// Send in bursts of what the rate carries in a millisecond and at 1.2 times the rate of the window, 2 times in slow
        /// start, whatever the controller, as Linux with `fq` or `SO_MAX_PACING_RATE`. BBR always paces.
        pub pacing: bool = false, "Linux tcp_update_pacing_rate()";
        /// Times a SYN is sent again before the connection fails, beside `syn_linear_timeouts`; it fails earlier after the
        /// time that so many retries take if each interval is twice the one before.
        pub syn_retries: u32 = 6, "Linux tcp_syn_retries";
        /// Times that the connecting end sends its SYN again at a constant interval, before the interval doubles.
        pub syn_linear_timeouts: u32 = 4, "Linux; RFC 6298: 0";
        /// The connection fails after the time that so many timeouts in a row would take, from the minimum RTO on, and
        /// after so many probes of a closed window without an answer.
        pub max_retries: u32 = 15, "Linux tcp_retries2";
        /// Ask a peer that has said nothing for `keepalive_time` whether it is there.
        pub keepalive: bool = false, "RFC 1122 4.2.3.6; Linux SO_KEEPALIVE";
        /// Silence before the first such probe.
        pub keepalive_time: Duration = Duration::from_secs(7200), "RFC 1122 4.2.3.6: 2 h at least; Linux tcp_keepalive_time";
        /// From a probe without an answer to the next.
        pub keepalive_interval: Duration = Duration::from_secs(75), "Linux tcp_keepalive_intvl";
        /// The connection fails, and is reset, after so many probes without an answer.
        pub keepalive_probes: u32 = 9, "Linux tcp_keepalive_probes";
        /// How long the end that closed first answers a late FIN; a simulated host never reuses a port pair.
        pub time_wait: Duration = Duration::from_secs(60), "Linux TCP_TIMEWAIT_LEN; RFC 9293 3.6.1: 2 MSL";
        /// Seed of the connection's own random stream.
        pub random_seed: u64 = 1, "ours";
    }
}

impl Config {
    /// The defaults but for [`Habits::Without`]: a host of a simulator or a paper, or a TCP that is part of something else.
    pub fn without_habits() -> Config {
        Config {
            delayed_ack_longest: None,
            quick_acks_after_idle: false,
            sack_compression: false,
            window_growth: false,
            receive_autotuning: false,
            send_autotuning: false,
            tso: false,
            time_wait: Duration::from_secs(1),
            ..Config::default()
        }
    }

    /// Whether the receiving half looks at more than the number of segments: habits of Linux, or acknowledgments that are
    /// spaced.
    pub fn has_receive_habits(&self) -> bool {
        self.acks_per_rtt.is_some()
            || self.quick_acks_after_idle
            || self.delayed_ack_longest.is_some()
            || self.sack_compression
            || self.window_growth
            || self.receive_autotuning
            || self.gro_flush_timeout.is_some()
    }

    /// Tick of the host's clock, if it is not exact. A tick of nothing is an exact clock.
    pub fn clock_tick(&self) -> Option<Duration> {
        self.jiffy.filter(|jiffy| !jiffy.is_zero())
    }

    /// Whether selective acknowledgments are offered: never by senders older than they are.
    pub fn offers_sack(&self) -> bool {
        self.sack && !matches!(self.recovery, RecoveryKind::Reno | RecoveryKind::Tahoe)
    }

    /// How the window shrinks during recovery.
    pub fn reduction(&self) -> Reduction {
        match self.recovery {
            RecoveryKind::Tahoe => Reduction::SlowStart,
            kind if self.proportional_reduction.unwrap_or(kind == RecoveryKind::Rack) => Reduction::Proportional,
            _ => Reduction::AtOnce,
        }
    }

    /// Whether spurious timeouts are looked for with new data.
    pub fn uses_frto(&self) -> bool {
        self.frto.unwrap_or(self.recovery == RecoveryKind::Rack)
    }

    /// Whether anything can be sent with these values.
    ///
    /// # Errors
    /// The key, and a sentence that says what to change.
    pub fn check(&self, is_ipv4: bool) -> Result<(), (&'static str, String)> {
        let (headers, version) = if is_ipv4 { (40, 4) } else { (60, 6) };
        let least = headers + MIN_MSS;
        if self.mtu < least {
            let reason = format!("packets of TCP over IPv{version} have {least} bytes or more; use 1500 if in doubt");
            return Err(("mtu", reason));
        }
        for (key, wait) in [("keepalive_time", self.keepalive_time), ("keepalive_interval", self.keepalive_interval)] {
            if wait.is_zero() {
                return Err((key, "probes would never end; write 1s or more".into()));
            }
        }
        let longest = self.delayed_ack_longest.unwrap_or(self.delayed_ack_timeout);
        if longest < self.delayed_ack_timeout || longest > MOST_ACK_DELAY {
            let least = self.delayed_ack_timeout;
            let reason = format!(
                "the delay follows segments from delayed_ack_timeout, {least}, to this, 500 ms at most; write auto for a \
                 constant delay"
            );
            return Err(("delayed_ack_longest", reason));
        }
        if self.gro_flush_timeout.is_some_and(|wait| wait > MOST_ACK_DELAY) {
            return Err((
                "gro_flush_timeout",
                "segments wait for others for 500 ms at most; some 50us are usual".into(),
            ));
        }
        if self.sack_compression_delay.saturating_add(self.sack_compression_slack) > MOST_ACK_DELAY {
            let reason = "acknowledgments wait for 500 ms at most; Linux has 1ms".into();
            return Err(("sack_compression_delay", reason));
        }
        for (key, is_nothing) in [
            ("receive_buffer", self.receive_buffer.0 == 0),
            ("send_buffer", self.send_buffer.is_some_and(|size| size.0 == 0)),
            ("initial_window", self.initial_window == 0),
            ("max_cwnd", self.max_cwnd == Some(0)),
        ] {
            if is_nothing {
                return Err((key, "with zero nothing is ever sent".into()));
            }
        }
        Ok(())
    }

    /// Payload of the largest segment that a peer with the same MTU or a larger one sends.
    pub fn largest_segment(&self, is_ipv4: bool, has_timestamps: bool) -> u16 {
        largest_segment(self.announced_mss(is_ipv4), has_timestamps)
    }

    /// The MSS to announce: the MTU without the fixed headers (RFC 9293 section 3.7.1).
    pub fn announced_mss(&self, is_ipv4: bool) -> u16 {
        let headers = if is_ipv4 { 40 } else { 60 };
        self.mtu.saturating_sub(headers).clamp(MIN_MSS, u32::from(u16::MAX)) as u16
    }
}

/// Payload of the largest segment of who was told this MSS.
pub(crate) fn largest_segment(mss: u16, has_timestamps: bool) -> u16 {
    mss - if has_timestamps { 12 } else { 0 }
}

/// An acknowledgment waits no longer (RFC 9293 section 3.8.6.3).
const MOST_ACK_DELAY: Duration = Duration::from_millis(500);

/// No announced MSS makes segments smaller than this.
pub const MIN_MSS: u32 = 64;

/// MSS of a peer that announced none (RFC 9293 section 3.7.1), IPv4 and IPv6.
pub const fn default_mss(is_ipv4: bool) -> u32 {
    if is_ipv4 { 536 } else { 1220 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::parameters::Parameters;

    #[test]
    fn the_mss_follows_from_the_mtu() {
        let config = Config::default();
        assert_eq!((config.announced_mss(true), config.announced_mss(false)), (1460, 1440));
    }

    #[test]
    fn the_window_shrinks_in_proportion_with_rack_or_if_asked_for() {
        let of = |recovery, proportional_reduction| {
            Config { recovery, proportional_reduction, ..Config::default() }.reduction()
        };
        assert_eq!(of(RecoveryKind::Rack, None), Reduction::Proportional);
        assert_eq!(of(RecoveryKind::Rack, Some(false)), Reduction::AtOnce);
        assert_eq!(of(RecoveryKind::Sack, None), Reduction::AtOnce);
        assert_eq!(of(RecoveryKind::Sack, Some(true)), Reduction::Proportional);
        assert_eq!(of(RecoveryKind::Tahoe, Some(true)), Reduction::SlowStart);
    }

    #[test]
    fn a_host_without_habits_is_linux_but_for_eight_keys() {
        let pairs = Config::default().fields().into_iter().zip(Config::without_habits().fields());
        let habits: Vec<_> = pairs.filter(|(with, without)| with.value != without.value).collect();
        let written =
            habits.iter().map(|(with, without)| format!("{}: {} or {}", with.name, with.value, without.value));
        assert_eq!(
            written.collect::<Vec<_>>(),
            [
                "window_growth: true or false",
                "receive_autotuning: true or false",
                "send_autotuning: true or false",
                "delayed_ack_longest: 200ms or auto",
                "quick_acks_after_idle: true or false",
                "sack_compression: true or false",
                "tso: true or false",
                "time_wait: 60s or 1s",
            ]
        );
        assert!(Config::default().has_receive_habits() && !Config::without_habits().has_receive_habits());
    }

    #[test]
    fn parameters_are_set_by_name() {
        let mut config = Config::default();
        config.set("controller", &"reno".into()).unwrap();
        config.set("recovery", &"newreno".into()).unwrap();
        config.set("min_rto", &"1s".into()).unwrap();
        assert_eq!(config.controller.slug, "reno");
        assert_eq!(config.recovery, RecoveryKind::NewReno);
        assert!(config.set("min_rot", &"1s".into()).unwrap_err().to_string().contains("min_rto"));
        assert!(config.fields().iter().all(|field| !field.about.is_empty() && !field.source.is_empty()));
    }

    use alloc::string::ToString;
    use alloc::vec::Vec;
}
